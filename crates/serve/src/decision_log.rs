//! The log of decisions as OPA has it: lines of JSON, or uploads of them.
//!
//! Owns what becomes of a decision: dropped or masked by the policies in `data.system.log`, or written.

mod event;
mod file;
mod mask;
mod spool;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use rego_platform::evaluate::{EvaluateOptions, compact};
use rego_platform::{Error, Value};

use super::journal::Journal;
use super::policy_set::PolicySet;

pub(crate) use event::{Event, Subject, bindings};
pub use file::LogDestination;
use file::LogFile;
pub use upload::Upload;
pub(crate) use upload::Uploads;

const DROP: [&str; 3] = ["system", "log", "drop"];
const MASK: [&str; 3] = ["system", "log", "mask"];

/// An open log.
#[derive(Debug)]
pub(crate) struct DecisionLog {
    file: LogFile,
}

impl DecisionLog {
    pub fn open(destination: LogDestination, journal: Arc<dyn Journal>) -> Result<Self, Error> {
        Ok(Self { file: LogFile::open(destination, journal)? })
    }

    /// Writes a decision, unless the policies drop it, as they mask it. Returns once it is written.
    pub async fn write(
        &self,
        set: &PolicySet,
        options: &EvaluateOptions,
        event: Event,
    ) -> Result<(), Error> {
        let event = event.value()?;
        if answer(set, &DROP, options, &event).await? == Some(Value::Bool(true)) {
            return Ok(());
        }
        let event = match answer(set, &MASK, options, &event).await? {
            Some(rules) => mask::apply(event, &rules)?,
            None => event,
        };
        let mut line = compact(&event)?;
        line.push('\n');
        self.file.write(line).await
    }

    /// Returns why the log can't be written, if the last attempt failed. No decision is given then.
    pub fn failure(&self) -> Option<String> {
        self.file.failure()
    }

    /// Returns why what was written isn't uploaded, if the last attempt failed.
    pub fn upload_failure(&self) -> Option<String> {
        self.file.uploader.as_ref().and_then(upload::Uploader::failure)
    }

    /// Returns the state of uploads, if there are any.
    pub fn uploads(&self) -> Option<Uploads> {
        self.file.uploader.as_ref().map(upload::Uploader::uploads)
    }

    /// Uploads the queued entries, within a time limit.
    pub fn finish(&self, time: Duration) {
        if let Some(uploader) = &self.file.uploader {
            uploader.finish(time);
        }
    }
}

/// Returns what a document of the policies says about an event. A built-in function's error is one here:
/// what it would have hidden must not be written.
async fn answer(
    set: &PolicySet,
    path: &[&str],
    options: &EvaluateOptions,
    event: &Value,
) -> Result<Option<Value>, Error> {
    if !set.can_have(path) {
        return Ok(None);
    }
    let mut options = options.clone();
    options.strict_builtin_errors = true;
    let query = set.policies.query_path(path);
    let evaluated = set.policies.evaluate_async(query, Some(event.clone()), options).await;
    let output = evaluated.result.map_err(|error| {
        let message = format!("`data.{}` can't be evaluated", path.join("."));
        Error::policy_failed(message).with_source(error)
    })?;
    Ok(output.value().cloned())
}
