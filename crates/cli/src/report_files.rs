//! Reading the JSON reports that the gate wrote.

use std::path::Path;
use std::time::Duration;

use rego_platform::Error;
use rego_platform_client::text::escape_path;
use rego_platform_gate::model::{Run, VERSION};

use super::option_files;

/// The largest report, in bytes.
const MAX_REPORT: u64 = 1 << 30;

/// Reads a JSON report of the gate.
pub(super) fn read(path: &Path, timeout: Duration) -> Result<Run, Error> {
    let bytes = option_files::read("the report", path, MAX_REPORT, timeout)?;
    let shown = escape_path(path);
    let hint = "`rego-platform gate -o json=FILE` writes one";
    let run: Run = serde_json::from_slice(&bytes).map_err(|error| {
        Error::configuration(format!("`{shown}` isn't a JSON report of the gate"))
            .with_source(error)
            .with_hint(hint)
    })?;
    if run.schema_version != VERSION {
        let version = run.schema_version;
        return Err(Error::configuration(format!(
            "unsupported version of the report `{shown}`: expected {VERSION}, found {version}"
        ))
        .with_hint("write and read it with the same version of `rego-platform`"));
    }
    Ok(run)
}
