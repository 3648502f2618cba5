//! The files that options name.
//!
//! Owns what reports say of them, and the errors about their content. A pipe is read once, whatever its content is
//! needed for.

use std::path::Path;

use rego_platform::Error;
pub(super) use rego_platform_client::files::{bounded, is_regular, read};
use rego_platform_client::text::{escape_path, hex};
use rego_platform_client::unreadable::unreadable;
use rego_platform_gate::model::Source;
use sha2::{Digest as _, Sha256};

/// The largest file of JSON, in bytes.
const MAX_JSON: u64 = 64 << 20;

/// The largest file whose content is evaluated, in bytes: an input, an argument.
pub(super) const MAX_INPUT: u64 = 256 << 20;

/// The largest recording, in bytes.
pub(super) const MAX_RECORDING: u64 = 4 << 30;

/// Describes a file with this text for reports.
pub(super) fn source(path: &Path, text: &[u8]) -> Source {
    let digest = format!("sha256:{}", hex(&Sha256::digest(text)));
    Source::new(path.display().to_string(), digest)
}

/// Reads a file of JSON.
pub(super) fn json(path: &Path) -> Result<serde_json::Value, Error> {
    let shown = escape_path(path);
    let failed = |what: &str| Error::configuration(format!("`{shown}` {what}"));
    let bytes = bounded(path, MAX_JSON).map_err(|error| unreadable("", path, error))?;
    serde_json::from_slice(&bytes).map_err(|e| failed("isn't valid JSON").with_source(e))
}

/// Returns the error for a file whose content is wrong; `what` states what it can't be used for.
pub(super) fn in_file(path: &Path, what: &str, error: Error) -> Error {
    let shown = escape_path(path);
    let hint = error.hint().unwrap_or_default().to_owned();
    Error::new(error.kind(), format!("`{shown}` {what}")).with_source(error).with_hint(hint)
}
