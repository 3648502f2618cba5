//! The kinds of materials that documents can name.

use rego_platform_client::text;
use rego_platform_materials::Kind;

/// The kind that means any.
pub(super) const UNSPECIFIED: &str = "MATERIAL_TYPE_UNSPECIFIED";

pub(super) fn is_known(name: &str) -> bool {
    Kind::named(name).is_some()
}

pub(super) fn nearest(name: &str) -> Option<&'static str> {
    text::nearest(&name.to_ascii_uppercase(), Kind::all().iter().map(|kind| kind.name))
}
