//! Reads `opa_sample.jsonl`, which stores calls of built-in functions with OPA's answers. Test
//! code, which the generator of calls shares.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::value::{Object, Set, Value};

/// Decodes the sample's notation: `{"$set": […]}` for sets, and `{"$obj": [[key, value], …]}` for
/// objects with keys of other types.
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
