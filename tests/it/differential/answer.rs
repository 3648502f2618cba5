//! What a question was answered with, and when two answers are the same.

use std::collections::BTreeSet;

use rego_platform::regorus::Value;

/// An answer, OPA's or ours.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// There is no such document, or no result.
    Undefined,
    /// The document.
    Document(serde_json::Value),
    /// One object of bindings for each result.
    Bindings(Vec<serde_json::Value>),
    /// The evaluation ends with an error; what it says is nobody's contract.
    Error(String),
}

impl Answer {
    /// OPA's compiler refuses the case for its types.
    pub(crate) fn is_type_error(&self) -> bool {
        matches!(self, Self::Error(text) if text.starts_with("rego_type_error"))
    }

    /// The same answer, whatever an error says, in whatever order results come.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Error(_), Self::Error(_)) => true,
            (Self::Document(a), Self::Document(b)) => value(a) == value(b),
            (Self::Bindings(a), Self::Bindings(b)) => {
                let set = |rows: &[serde_json::Value]| rows.iter().map(value).collect();
                let (a, b): (BTreeSet<Value>, BTreeSet<Value>) = (set(a), set(b));
                a == b
            }
            _ => false,
        }
    }
}

/// As a policy's value, in which `1` and `1.0` are one number.
fn value(json: &serde_json::Value) -> Value {
    Value::from(json.clone())
}
