//! The log of decisions, a line of JSON each, as OPA writes it.
//!
//! Owns what becomes of a decision: dropped or masked by the policies in `data.system.log`, or written.

mod event;
mod file;
mod mask;

use rego_platform::evaluate::{EvaluateOptions, compact};
use rego_platform::{Error, ErrorKind, Value};

use super::policy_set::PolicySet;

pub(crate) use event::{Event, Subject, bindings};
pub use file::LogDestination;
use file::LogFile;

const DROP: [&str; 3] = ["system", "log", "drop"];
const MASK: [&str; 3] = ["system", "log", "mask"];

/// An open log.
#[derive(Debug)]
pub(crate) struct DecisionLog {
    file: LogFile,
}

impl DecisionLog {
    pub fn open(destination: LogDestination) -> Result<Self, Error> {
        Ok(Self { file: LogFile::open(destination)? })
    }

    /// Writes a decision, unless the policies drop it, as they mask it. Returns once it is written.
    pub async fn write(
        &self,
        set: &PolicySet,
        options: &EvaluateOptions,
        event: Event<'_>,
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

    /// Returns why the log can't be written, if the last attempt failed.
    pub fn failure(&self) -> Option<String> {
        self.file.failure()
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
        Error::new(ErrorKind::Policy, message).with_source(error)
    })?;
    Ok(output.value().cloned())
}
