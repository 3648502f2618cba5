//! Escaping of untrusted text, and near misses of names.

#[doc(hidden)]
pub use rego_platform_client::text::data_reference;
pub use rego_platform_client::text::{
    FARTHEST, begins_command, escape, escape_for_log, escape_lines, nearest, shorten,
};
pub(crate) use rego_platform_client::text::{did_you_mean, escape_path, hex, size, with_part};
