//! The example policies with their inputs and a sample service, as in the repository.
//!
//! Owns where each file is written. The build script lists them, so that none is left out.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rego_platform::Product;

// `FILES: &[(&str, &[u8])]`: the path below the folder that is written, and the content.
include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The folders that are written, with what each is for.
pub(super) const FOLDERS: [(&str, &str); 4] = [
    ("policies", "policies for a release gate, with tests"),
    ("release_gate", "a policy for a whole product, for `--functions all`"),
    ("inputs", "a passing and a failing input for each policy"),
    ("service", "the data of a sample service, for `--local`"),
];

/// Returns the files below `dir`; policies call the functions of `product`.
pub(super) fn files(dir: &Path, product: &Product) -> Vec<(PathBuf, Cow<'static, [u8]>)> {
    let prefix = format!("{}.", product.as_str());
    FILES
        .iter()
        .map(|&(path, content)| {
            let rego = Path::new(path).extension().is_some_and(|extension| extension == "rego");
            let content = match std::str::from_utf8(content) {
                Ok(text) if rego => text.replace("platform.", &prefix).into_bytes().into(),
                _ => content.into(),
            };
            (dir.join(path), content)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_lies_in_one_of_the_folders() {
        for (folder, _) in FOLDERS {
            assert!(FILES.iter().any(|(path, _)| Path::new(path).starts_with(folder)), "{folder}");
        }
        for (path, _) in FILES {
            assert!(
                FOLDERS.iter().any(|(folder, _)| Path::new(path).starts_with(folder)),
                "{path}"
            );
        }
    }
}
