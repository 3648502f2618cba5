//! Merging the data documents of a load.
//!
//! Owns merging as OPA does: objects are merged recursively, any other two values at the same path
//! are a conflict.

use super::DataSource;
use crate::Diagnostic;
use crate::rego::Value;
use crate::rego::value::Shared;

/// Merges all documents into one.
pub(super) fn merge(sources: &[DataSource], found: &mut Vec<Diagnostic>) -> Value {
    let mut root = Value::new_object();
    for source in sources {
        if !matches!(source.value, Value::Object(_)) {
            let message = format!(
                "`{}` holds {} at the top of the data, not an object",
                source.path,
                crate::functions::describe(&source.value)
            );
            found.push(Diagnostic::error("data-conflict", message));
            continue;
        }
        let mut path = Vec::new();
        if !join(&mut root, &source.value, &mut path) {
            let message = format!(
                "conflicting values of `{}`: in `{}` and in an earlier document",
                crate::text::data_reference(&path),
                source.path
            );
            found.push(
                Diagnostic::error("data-conflict", message)
                    .with_hint("keep one of them: only objects are merged"),
            );
        }
    }
    root
}

/// Merges `from` into `into`. Returns `false` on a conflict, with its path in `path`.
fn join(into: &mut Value, from: &Value, path: &mut Vec<String>) -> bool {
    let (Value::Object(object), Value::Object(members)) = (into, from) else { return false };
    if object.is_empty() {
        *object = members.clone();
        return true;
    }
    let object = Shared::make_mut(object);
    for (key, value) in members.iter() {
        path.push(key.as_str().map_or_else(|| key.to_string(), str::to_owned));
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
