//! A decision as an entry of the log.

use std::net::SocketAddr;

use chrono::{DateTime, Utc};
use rego_platform::evaluate::{QueryOutput, Recording};
use rego_platform::{Error, Value};

use crate::answer::object;
use crate::policy_set::{POLICIES, timestamp};

/// The subject of a decision.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// All policies, as a gate, by the address that asks for its verdict: with a slash before it, as no
    /// document's path has.
    Route(&'static str),
    /// A document, by its path in an address.
    Document(String),
    /// A query, by its text.
    Query(String),
}

/// A decision.
#[derive(Debug)]
pub(crate) struct Event {
    pub labels: Value,
    pub revision: String,
    pub id: String,
    pub batch: Option<String>,
    pub subject: Subject,
    pub input: Option<Value>,
    /// The result, if it is defined, or the error.
    pub outcome: Result<Option<Value>, Value>,
    pub recording: Result<Recording, Error>,
    pub peer: Option<SocketAddr>,
    pub at: DateTime<Utc>,
    pub metrics: Value,
    pub request: u64,
}

impl Event {
    /// Returns the entry.
    ///
    /// # Errors
    /// When a call of the evaluation can't be written as JSON.
    pub fn value(self) -> Result<Value, Error> {
        let (result, error) = match self.outcome {
            Ok(result) => (result, None),
            Err(error) => (None, Some(error)),
        };
        let (path, query) = match self.subject {
            Subject::Route(route) => (Some(route.to_owned()), None),
            Subject::Document(path) => (Some(path), None),
            Subject::Query(text) => (None, Some(text)),
        };
        let revision = object([("revision", Some(self.revision.into()))]);
        Ok(object([
            ("labels", Some(self.labels)),
            ("decision_id", Some(self.id.into())),
            ("batch_decision_id", self.batch.map(Value::from)),
            ("bundles", Some(object([(POLICIES, Some(revision))]))),
            ("path", path.map(Value::from)),
            ("query", query.map(Value::from)),
            ("input", self.input),
            ("result", result),
            ("nd_builtin_cache", calls(&self.recording?)?),
            ("error", error),
            ("requested_by", self.peer.map(|peer| peer.to_string().into())),
            ("timestamp", Some(timestamp(self.at))),
            ("metrics", Some(self.metrics)),
            ("req_id", Some(i64::try_from(self.request).unwrap_or(i64::MAX).into())),
        ]))
    }
}

/// Returns the bindings of each row of an answer.
pub(crate) fn bindings(output: &QueryOutput) -> Value {
    let row = |bindings: &std::collections::BTreeMap<String, Value>| -> Value {
        bindings.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
    };
    output.rows.iter().map(|found| row(&found.bindings)).collect()
}

/// Returns the recorded calls, each function's by its arguments; `None` if there are none.
fn calls(recording: &Recording) -> Result<Option<Value>, Error> {
    if recording.functions().next().is_none() {
        return Ok(None);
    }
    let failed = |error: String| Error::internal("the calls can't be logged").with_source(error);
    let mut text = Vec::new();
    recording.write(&mut text).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| failed(error.to_string()))?;
    let whole = Value::from_json(&text).map_err(|error| failed(error.to_string()))?;
    Ok(whole.get_str("nd_builtin_cache").cloned())
}
