//! `json.match_schema` and `json.verify_schema`: JSON Schema, drafts 4, 6 and 7.
//!
//! Owns the two functions. A schema is compiled into a list of rules (`schema`), against which
//! documents are validated (`validate`); the type checker sees an outline of the rules (`outline`).
//! The supported keywords, the resolution of references and the descriptions of violations follow
//! OPA rather than the text of a draft. Nothing is ever fetched: a reference to any document except
//! the drafts' own is an error, as in an OPA that may not contact any host.

mod formats;
mod mail;
mod outline;
mod schema;
mod validate;

use std::fmt::Write as _;

use super::operands::{answer, operand};
use super::{Answer, Context, Error};
use crate::value::{JsonLimits, Value};
pub(crate) use outline::{Sketch, outline};
use schema::{Patterns, Schema};

/// Reads a document or schema: JSON text, or a value, which is converted through its JSON text.
fn document(ctx: &dyn Context, value: &Value) -> Result<Value, Error> {
    match value {
        Value::String(text) => {
            ctx.charge(text.len() as u64 * 4)?;
            Value::from_json_bytes(text.as_bytes(), JsonLimits::default())
                .map_err(|_| Error::failed("invalid JSON string"))
        }
        Value::Object(_) | Value::Array(_) => {
            ctx.charge(value.size().saturating_mul(2))?;
            let text = value.to_json();
            Value::from_json(&text).map_err(|error| Error::failed(error.to_string()))
        }
        _ => Err(Error::failed("wrong type, expected string or object")),
    }
}

pub(super) fn verify_schema(ctx: &dyn Context, args: &[Value]) -> Answer {
    let read = document(ctx, operand(args, 0)?)
        .and_then(|document| Schema::read(ctx, &document, Patterns::Compiled));
    match read {
        Ok(_) => answer(vec![Value::from(true), Value::Null]),
        Err(error) if error.halt => Err(error),
        Err(error) => {
            let message = format!("jsonschema: {}", error.message);
            answer(vec![Value::from(false), Value::from(message)])
        }
    }
}

pub(super) fn match_schema(ctx: &dyn Context, args: &[Value]) -> Answer {
    let document = document(ctx, operand(args, 0)?)?;
    let text = operand(args, 1)?;
    let key = text.as_str().map_or_else(|| text.to_json(), str::to_owned);
    let kind = if text.as_str().is_some() { "json schema in text" } else { "json schema" };
    let schema = ctx
        .cache()
        .get(kind, &key, || Schema::read(ctx, &self::document(ctx, text)?, Patterns::Compiled))?;
    let problems = validate::validate(ctx, &schema, &document)?;
    let shown = problems.iter().map(|problem| {
        let mut error = String::new();
        // Writing to a string doesn't fail.
        let _ = write!(error, "{}: {}", problem.field, problem.description);
        Value::from(crate::value::Object::from([
            (Value::from("desc"), Value::from(problem.description.as_str())),
            (Value::from("error"), Value::from(error)),
            (Value::from("field"), Value::from(problem.field.as_str())),
            (Value::from("type"), Value::from(problem.kind)),
        ]))
    });
    let shown: Vec<Value> = shown.collect();
    answer(vec![Value::from(problems.is_empty()), Value::from(shown)])
}

/// Returns the text by which values are compared: their JSON, with numbers as doubles.
///
/// # Errors
/// Returns an error if a number is out of the range of doubles.
fn canonical(value: &Value) -> Result<String, Error> {
    fn rounded(value: &Value) -> Result<Value, Error> {
        Ok(match value {
            Value::Number(number) => {
                let double = number.as_finite_f64().ok_or_else(|| {
                    let kind = "Go value of type float64";
                    Error::failed(format!("json: cannot unmarshal number {number} into {kind}"))
                })?;
                let text = crate::value::go_float::json_float(double);
                crate::value::Number::parse(&text).map_or(Value::Null, Value::from)
            }
            Value::Array(array) => {
                let items = array.iter().map(|item| deeper(|| rounded(item)));
                Value::from(items.collect::<Result<Vec<_>, _>>()?)
            }
            Value::Object(object) => {
                let members =
                    object.iter().map(|(key, value)| Ok((key.clone(), deeper(|| rounded(value))?)));
                Value::from(members.collect::<Result<crate::value::Object, Error>>()?)
            }
            other => other.clone(),
        })
    }
    Ok(rounded(value)?.to_go_json())
}

/// Runs `work`, which descends one level, and grows the stack if need be.
fn deeper<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, work)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn numbers_are_compared_as_doubles() {
        let value = Value::from_json(r#"{"b":[1.0,1e21,1e-7],"a":"<"}"#).unwrap();
        assert_eq!(canonical(&value).unwrap(), r#"{"a":"\u003c","b":[1,1e+21,1e-7]}"#);
        assert!(canonical(&Value::from_json("1e400").unwrap()).is_err());
    }
}
