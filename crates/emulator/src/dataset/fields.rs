//! JSON objects of data files: their texts, fields that replace others, and absent ones.

use serde_json::{Map, Value};

/// Returns the text of a field; empty if it is absent.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns `base` with these fields, which replace those of the same name.
pub(crate) fn with<const N: usize>(mut base: Value, fields: [(&str, Value); N]) -> Value {
    if let Value::Object(base) = &mut base {
        base.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    }
    base
}

/// Returns `record` without `null` fields.
pub(super) fn compact(record: Value) -> Value {
    match record {
        Value::Object(fields) => {
            let there = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.collect::<Map<_, _>>())
        }
        other => other,
    }
}
