//! Values on their way between regorus and this crate.
//!
//! They arrive without loss, or not at all: sets within other values stay sets, keys stay what they
//! are, and a number that regorus would round is an error.

use regorus::Value as EngineValue;
use regorus::value::Object as EngineObject;

use crate::Error;
use crate::rego::Value;
use crate::rego::internal::deeper;
use crate::rego::value::{Number, object_of, set_of};
use crate::text::shorten;

/// Converts the arguments of a call.
pub(super) fn all_from_engine(values: &[EngineValue]) -> Result<Vec<Value>, Error> {
    values.iter().map(from_engine).collect()
}

/// Converts a value of regorus.
pub(super) fn from_engine(value: &EngineValue) -> Result<Value, Error> {
    let wrong = |what: &str| Error::policy_failed(format!("regorus gave {what}"));
    Ok(match value {
        EngineValue::Null => Value::Null,
        EngineValue::Bool(value) => Value::Bool(*value),
        EngineValue::String(text) => Value::from(&**text),
        EngineValue::Number(number) => match number.as_i64() {
            Some(small) => Value::from(small),
            None => {
                let text = number.format_decimal();
                let number = Number::parse(&text);
                number.map(Value::Number).ok_or_else(|| wrong(&format!("the number {text}")))?
            }
        },
        EngineValue::Array(items) => {
            let items = deeper(|| items.iter().map(from_engine).collect::<Result<Vec<_>, _>>());
            Value::from(items?)
        }
        EngineValue::Set(items) => {
            let items = deeper(|| items.iter().map(from_engine).collect::<Result<Vec<_>, _>>());
            Value::from(set_of(items?))
        }
        EngineValue::Object(members) => {
            let member = |(key, value): (&EngineValue, &EngineValue)| {
                Ok((from_engine(key)?, from_engine(value)?))
            };
            let members = deeper(|| members.iter().map(member).collect::<Result<Vec<_>, Error>>());
            Value::from(object_of(members?))
        }
        EngineValue::Undefined => return Err(wrong("an undefined value")),
    })
}

/// Converts a value to regorus'.
pub(super) fn to_engine(value: &Value) -> Result<EngineValue, Error> {
    Ok(match value {
        Value::Null => EngineValue::Null,
        Value::Bool(value) => EngineValue::Bool(*value),
        Value::String(text) => EngineValue::from(&**text),
        Value::Number(number) => match number.as_small() {
            Some(small) => EngineValue::from(small),
            None => to_engine_number(number)?,
        },
        Value::Array(items) => {
            let items = deeper(|| items.iter().map(to_engine).collect::<Result<Vec<_>, _>>());
            EngineValue::from(items?)
        }
        Value::Set(items) => {
            let items = deeper(|| items.iter().map(to_engine).collect::<Result<_, Error>>());
            EngineValue::Set(regorus::Rc::new(items?))
        }
        Value::Object(members) => {
            let member = |(key, value): (&Value, &Value)| Ok((to_engine(key)?, to_engine(value)?));
            let members =
                deeper(|| members.iter().map(member).collect::<Result<EngineObject, Error>>());
            EngineValue::Object(regorus::Rc::new(members?))
        }
    })
}

/// Regorus has integers of any length, and binary floating-point numbers.
fn to_engine_number(number: &Number) -> Result<EngineValue, Error> {
    let text = number.text();
    let converted = EngineValue::from_numeric_string(&text).ok();
    let exact = converted.filter(|value| match from_engine(value) {
        Ok(Value::Number(again)) => again == *number,
        _ => false,
    });
    exact.ok_or_else(|| {
        let message = format!("regorus would round the number {}", shorten(&text, 80));
        Error::policy_failed(message)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn values_cross_without_loss() {
        let tower = (0..2000).fold(Value::Null, |inner, _| Value::from(vec![inner]));
        for value in [
            Value::from_json(r#"[null, true, "", "a\u0000b", {"a": {"b": []}}]"#).unwrap(),
            Value::from_json(
                "[0, -1, 9007199254740993, 18446744073709551615, 0.1, -2.5e-7, 1e300]",
            )
            .unwrap(),
            Value::from_json("123456789012345678901234567890123456789012345678901234567890")
                .unwrap(),
            Value::from(set_of(vec![
                Value::from(set_of(vec![Value::from(1), Value::from("1")])),
                Value::from(vec![Value::from(set_of(Vec::new()))]),
            ])),
            Value::from(object_of([(Value::from(1), Value::from(set_of(vec![Value::Null])))])),
            tower,
        ] {
            let there = to_engine(&value).unwrap();
            assert!(from_engine(&there).unwrap() == value, "{value}");
        }
    }

    #[test]
    fn a_number_that_would_be_rounded_is_an_error() {
        for text in ["0.1000000000000000000001", "3.14159265358979323846", "1e-400"] {
            let error = to_engine(&Value::from_json(text).unwrap()).unwrap_err();
            assert!(error.to_string().contains("would round the number"), "{text}: {error}");
        }
    }
}
