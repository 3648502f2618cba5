//! The data documents of a load, merged into one.
//!
//! Owns merging as Rego merges documents: objects join, anything else that meets under one path is
//! a conflict. Where documents come from is [`crate::evaluate::sources`]'.

use std::sync::Arc;

use regorus::Value;

use super::tree::data_path;
use crate::Diagnostic;
use crate::evaluate::sources::DataSource;

/// Merges all documents.
pub(super) fn merge(sources: &[DataSource], out: &mut Vec<Diagnostic>) -> Value {
    let mut root = Value::new_object();
    for source in sources {
        let mut path = Vec::new();
        if !matches!(source.value, Value::Object(_)) {
            let message = format!(
                "`{}` holds {} at the top of the data, not an object",
                source.path,
                type_name(&source.value)
            );
            out.push(Diagnostic::error("data-conflict", message));
            continue;
        }
        if !join(&mut root, &source.value, &mut path) {
            let message = format!(
                "`{}` and a document before it both have a value at `{}`",
                source.path,
                data_path(&path)
            );
            out.push(
                Diagnostic::error("data-conflict", message)
                    .with_hint("keep one of them: only objects are merged"),
            );
        }
    }
    root
}

/// Joins `from` into `into`; on a conflict `path` is left where it is.
fn join(into: &mut Value, from: &Value, path: &mut Vec<Arc<str>>) -> bool {
    let Ok(members) = from.as_object() else { return false };
    let Ok(object) = into.as_object_mut() else { return false };
    for (key, value) in members {
        path.push(match key {
            Value::String(key) => key.clone(),
            other => other.to_string().into(),
        });
        match object.get_mut(key) {
            Some(old) => {
                if !join(old, value, path) {
                    return false;
                }
            }
            None => {
                object.insert(key.clone(), value.clone());
            }
        }
        path.pop();
    }
    true
}

/// `an array` and the like.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Set(_) => "a set",
        Value::Object(_) => "an object",
        Value::Undefined => "nothing",
    }
}
