//! Reads `opa_sample.jsonl`: calls of built-in functions with what OPA answered. Test code, of the generator of
//! calls too.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::rego::value::{Object, Set, Value};

/// Reads the sample's notation: `{"$set": […]}`, and `{"$obj": [[key, value], …]}` for objects
/// with keys of other types.
pub(crate) fn decode(value: &Value) -> Value {
    let list = |name| value.get_str(name).and_then(Value::as_array);
    if let Some(elements) = list("$set") {
        return Value::from(elements.iter().map(decode).collect::<Set>());
    }
    if let Some(pairs) = list("$obj") {
        let pair = |pair: &Value| {
            let pair = pair.as_array().unwrap();
            (decode(&pair[0]), decode(&pair[1]))
        };
        return Value::from(pairs.iter().map(pair).collect::<Object>());
    }
    match value {
        Value::Array(array) => Value::from(array.iter().map(decode).collect::<Vec<_>>()),
        Value::Object(object) => {
            Value::from(object.iter().map(|(k, v)| (k.clone(), decode(v))).collect::<Object>())
        }
        other => other.clone(),
    }
}
