//! Escaping of text from elsewhere, and near misses of names.

pub use rego_platform_client::text::{
    FARTHEST, begins_command, escape, escape_for_log, escape_lines, nearest, shorten,
};
#[doc(hidden)]
pub use rego_platform_client::text::data_reference;
pub(crate) use rego_platform_client::text::{hex, size, with_part};
