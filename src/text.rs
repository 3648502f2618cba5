//! Escaping of text from elsewhere, and near misses of names.

pub use rego_platform_client::text::{
    FARTHEST, begins_command, escape, escape_for_log, escape_lines, nearest, shorten,
};
pub(crate) use rego_platform_client::text::{data_reference, hex, size, with_part};
