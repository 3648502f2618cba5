//! Texts in UTF-8, and in YAML.

use rego::Value;
use rego::internal::yaml::{self, Host, Limits};

/// Returns the text of a file.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("invalid UTF-8: {error}"))
}

/// Returns the first document of a YAML file; `None` if there is none.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Option<Value>, String> {
    let read = yaml::read(utf8(bytes)?, &mut Unmetered, Limits::FILE);
    read.map(|document| document.value).map_err(|error| error.message)
}

/// Reads YAML without limits on work, which those on the number of values bound.
struct Unmetered;

impl Host for Unmetered {}
