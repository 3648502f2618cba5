//! Validation of responses from the service, a recording or the host.
//!
//! Owns the two rules about its content: what is documented has its documented type, and what the
//! question names is what the answer has. Everything else passes through, whatever it is called.

use chrono::DateTime;

use super::types::Type;
use crate::text::shorten;
use rego::Value;

/// Checks that a value, called `name`, has its documented type.
pub fn validate(ty: Type, value: &Value, name: &str) -> Result<(), String> {
    match (ty, value) {
        (Type::Array(item), Value::Array(items)) => {
            items.iter().try_for_each(|value| validate(*item, value, name))
        }
        (Type::Map(item), Value::Object(fields)) => {
            fields.values().try_for_each(|value| validate(*item, value, name))
        }
        (Type::Object(fields), Value::Object(_)) => {
            fields.iter().try_for_each(|field| match value.get_str(field.name) {
                None | Some(Value::Null) if !field.required => Ok(()),
                Some(found) => validate(field.ty, found, field.name),
                None => Err(undocumented(field.name)),
            })
        }
        (Type::Either(one, other), _) => {
            validate(*one, value, name).or_else(|_| validate(*other, value, name))
        }
        _ => match scalar(ty, value.clone()) {
            Ok(same) if same == *value => Ok(()),
            _ => Err(undocumented(name)),
        },
    }
}

fn undocumented(name: &str) -> String {
    format!("has no `{name}` of the documented type")
}

/// Returns a scalar of the documented type, or the value again if it isn't one. Whole numbers may come
/// as text, and counts, which are text, as numbers.
pub fn scalar(ty: Type, value: Value) -> Result<Value, Value> {
    let read = match (ty, &value) {
        (Type::Any, _)
        | (Type::Boolean, Value::Bool(_))
        | (Type::String | Type::Digest | Type::Uuid, Value::String(_))
        | (Type::Number, Value::Number(_))
        | (Type::Null, Value::Null) => return Ok(value),
        (Type::Timestamp, Value::String(text)) => {
            let is_time = text.is_empty() || DateTime::parse_from_rfc3339(text).is_ok();
            return if is_time { Ok(value) } else { Err(value) };
        }
        (Type::Integer, Value::Number(_)) => whole(&value),
        (Type::Integer, Value::String(text)) => integer(text),
        (Type::Count, Value::String(text)) => integer(text).map(|_| value.clone()),
        (Type::Count, Value::Number(_)) => whole(&value).map(|number| number.to_json().into()),
        _ => None,
    };
    read.ok_or(value)
}

/// Returns a whole number of 64 bits, also if it is written as `3.0`.
fn whole(value: &Value) -> Option<Value> {
    if let Some(number) = value.as_u64() {
        return Some(Value::from(number));
    }
    if let Some(number) = value.as_number()?.as_i64() {
        return Some(Value::from(number));
    }
    let float: f64 = value.to_json().parse().ok()?;
    #[allow(clippy::cast_possible_truncation)]
    (float.fract() == 0.0 && float.abs() < 9.0e15).then(|| Value::from(float as i64))
}

/// Reads a whole number of 64 bits from text in its canonical form.
fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits == "0" || !digits.starts_with('0');
    if !canonical || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok()
}

/// The requested values of a field of the response.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The field; a dot leads to a field of the rows in a list.
    pub field: &'a str,
    pub values: Vec<&'a str>,
}

impl Asked<'_> {
    /// Checks that an object has one of the values, if it has the field at all. The case of
    /// identifiers doesn't matter.
    pub fn check(&self, object: &Value) -> Result<(), String> {
        match self.field.split_once('.') {
            None => self.check_one(object.get_str(self.field)),
            Some((list, field)) => match object.get_str(list) {
                Some(Value::Array(rows)) => {
                    rows.iter().try_for_each(|row| self.check_one(row.get_str(field)))
                }
                _ => Ok(()),
            },
        }
    }

    fn check_one(&self, found: Option<&Value>) -> Result<(), String> {
        let found = found.and_then(Value::as_str).unwrap_or_default();
        let is_id = self.field.ends_with("id");
        let is = |asked: &&str| *asked == found || is_id && asked.eq_ignore_ascii_case(found);
        if found.is_empty() || self.values.iter().any(is) {
            return Ok(());
        }
        let values = self.values.iter().map(|value| format!("`{}`", shorten(value, 80)));
        Err(format!(
            "unexpected `{}` in the service's response: found `{}`, expected {}",
            self.field,
            shorten(found, 80),
            values.collect::<Vec<_>>().join(" or ")
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn scalars_have_their_documented_types() {
        let read = |ty, text: &str| {
            scalar(ty, Value::from_json(text).unwrap()).ok().map(|value| value.to_json())
        };
        for (ty, given, read_as) in [
            (Type::Integer, "18446744073709551615", "18446744073709551615"),
            (Type::Integer, "\"-9223372036854775808\"", "-9223372036854775808"),
            (Type::Integer, "3.0", "3"),
            (Type::Count, "7", "\"7\""),
            (Type::Count, "\"7\"", "\"7\""),
            (Type::Number, "1.5", "1.5"),
            (Type::Timestamp, "\"\"", "\"\""),
            (Type::Timestamp, "\"2026-01-02T03:04:05Z\"", "\"2026-01-02T03:04:05Z\""),
        ] {
            assert_eq!(read(ty, given).as_deref(), Some(read_as), "{ty:?} {given}");
        }
        for (ty, bad) in [
            (Type::Integer, "18446744073709551616"),
            (Type::Integer, "\"18446744073709551616\""),
            (Type::Integer, "1.5"),
            (Type::Integer, "\"\""),
            (Type::Integer, "\"01\""),
            (Type::Integer, "\"+1\""),
            (Type::Integer, "\"1e3\""),
            (Type::Count, "true"),
            (Type::Timestamp, "\"yesterday\""),
            (Type::String, "7"),
            (Type::Boolean, "\"true\""),
            (Type::Number, "\"1\""),
        ] {
            assert_eq!(read(ty, bad), None, "{ty:?} {bad}");
        }
    }

    #[test]
    fn a_field_that_is_there_has_a_value_that_was_asked_for() {
        let check = |field: &str, object: &str| {
            let asked = Asked { field, values: vec!["a", "b"] };
            asked.check(&Value::from_json(object).unwrap()).is_ok()
        };
        assert!(check("kind", r#"{"kind":"b"}"#) && check("kind", r#"{"kind":""}"#));
        assert!(check("kind", "{}") && check("framework_id", r#"{"framework_id":"A"}"#));
        assert!(!check("kind", r#"{"kind":"A"}"#) && !check("kind", r#"{"kind":"c"}"#));
        assert!(check("rows.kind", r#"{"rows":[{"kind":"a"},{}]}"#) && check("rows.kind", "{}"));
        assert!(!check("rows.kind", r#"{"rows":[{"kind":"a"},{"kind":"c"}]}"#));
    }
}
