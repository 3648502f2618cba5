//! Sorts an answer into agrees, refuses and disagrees, by OPA's own rules.
//!
//! OPA's runner compares the bindings of the query's results as a set of objects, after turning
//! Rego values into JSON ones: sets become sorted arrays, keys that are no strings their JSON
//! text. `sort_bindings` sorts a binding that is an array. Results in which an expression is
//! false or undefined are no results.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::regorus::Value;

use crate::cases::Case;

/// What an engine made of a case.
pub(crate) enum Answer {
    /// The bindings of each result.
    Results(Vec<BTreeMap<String, Value>>),
    /// An error, as text.
    Error(String),
}

/// How an answer compares with OPA's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The same results, or an error where OPA has one.
    Agrees,
    /// An error where OPA has results.
    Refuses,
    /// Other results, or results where OPA has an error.
    Disagrees,
}

/// A verdict with its reason; the reason of an agreement is empty.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
}

impl Judgement {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into() }
    }

    /// The process that evaluated the case is gone: no answer, and no wrong one.
    pub(crate) fn gone(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Refuses, reason)
    }
}

/// Judges `answer` by what `case` wants.
pub(crate) fn judge(case: &Case, answer: Answer) -> Judgement {
    let got = match answer {
        Answer::Error(_) if case.wants_error() => return Judgement::new(Verdict::Agrees, ""),
        Answer::Error(text) => return Judgement::new(Verdict::Refuses, text),
        Answer::Results(results) => results,
    };
    let got: BTreeSet<Value> = got.iter().map(|b| binding_object(b, case.sort_bindings)).collect();
    if case.wants_error() {
        let wanted = case.want_error.as_deref().or(case.want_error_code.as_deref());
        let wanted = wanted.unwrap_or_default();
        return Judgement::new(
            Verdict::Disagrees,
            format!("error `{wanted}` expected, got {}", show(&got)),
        );
    }
    let want: BTreeSet<Value> = case
        .want_result
        .iter()
        .flatten()
        .map(|bindings| binding_object(bindings, case.sort_bindings))
        .collect();
    if got == want {
        Judgement::new(Verdict::Agrees, "")
    } else {
        Judgement::new(Verdict::Disagrees, format!("want {}, got {}", show(&want), show(&got)))
    }
}

fn binding_object(bindings: &BTreeMap<String, Value>, sort: bool) -> Value {
    let entries = bindings.iter().map(|(name, value)| {
        let value = match json(value) {
            Value::Array(items) if sort => {
                let mut items: Vec<Value> = items.iter().cloned().collect();
                items.sort();
                Value::from(items)
            }
            value => value,
        };
        (Value::from(name.as_str()), value)
    });
    Value::from(entries.collect::<BTreeMap<_, _>>())
}

/// The value as JSON has it.
fn json(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::from(items.iter().map(json).collect::<Vec<_>>()),
        Value::Set(items) => Value::from(items.iter().map(json).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (json_key(key), json(value)));
            Value::from(fields.collect::<BTreeMap<_, _>>())
        }
        Value::Undefined => Value::from("(undefined)"),
        // A number is what its text says, as in the JSON that OPA's runner compares.
        Value::Number(_) => {
            Value::from_json_str(&value.to_string()).unwrap_or_else(|_| value.clone())
        }
        value => value.clone(),
    }
}

fn json_key(key: &Value) -> Value {
    match key {
        Value::String(_) => key.clone(),
        key => Value::from(json(key).to_string()),
    }
}

fn show(results: &BTreeSet<Value>) -> String {
    let shown: Vec<String> = results.iter().map(Value::to_string).collect();
    format!("[{}]", shown.join(", "))
}
