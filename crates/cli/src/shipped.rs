//! The repository's policies, inputs and data of a service, which the command contains.
//!
//! Owns the list of the files, and the product whose functions they call. The build script writes the list, so
//! that no file is left out.

use std::borrow::Cow;
use std::path::Path;

use rego_platform::Product;

// `FILES: &[(&str, &[u8])]`: the path of each file, and the content.
include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Returns the content of a file. Policies call the functions of `product`.
pub(super) fn of_product(
    path: &str,
    content: &'static [u8],
    product: &Product,
) -> Cow<'static, [u8]> {
    match std::str::from_utf8(content) {
        Ok(text) if is_rego(path) && *product != Product::default() => {
            let prefix = format!("{}.", product.as_str());
            text.replace("platform.", &prefix).into_bytes().into()
        }
        _ => content.into(),
    }
}

/// Returns `true` for the path of a module.
pub(super) fn is_rego(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rego")
}
