//! Result documents and how they are written.

use regorus::Value;

use crate::{Error, ErrorKind};

/// `value` as compact JSON, as OPA writes it: keys sorted by what they are, sets as sorted arrays.
pub(crate) fn compact(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => {
            let _ = number;
            out.push_str(&crate::evaluate::output::number(value)?);
        }
        Value::String(text) => quote(text, out),
        Value::Array(array) => list(array.iter(), out)?,
        Value::Set(set) => list(set.iter_sorted(), out)?,
        Value::Object(object) => {
            out.push('{');
            for (index, (key, member)) in object.iter_sorted().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                self::key(key, out)?;
                out.push(':');
                write(member, out)?;
            }
            out.push('}');
        }
        Value::Undefined => return Err(undefined()),
    }
    Ok(())
}

fn undefined() -> Error {
    Error::new(ErrorKind::Internal, "a value that is undefined can't be written")
}

fn list<'a>(members: impl Iterator<Item = &'a Value>, out: &mut String) -> Result<(), Error> {
    out.push('[');
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(member, out)?;
    }
    out.push(']');
    Ok(())
}

/// An object's key: a string as it is, anything else as the text of its JSON.
fn key(key: &Value, out: &mut String) -> Result<(), Error> {
    if let Value::String(text) = key {
        quote(text, out);
    } else {
        quote(&compact(key)?, out);
    }
    Ok(())
}

fn number(value: &Value) -> Result<String, Error> {
    let Value::Number(number) = value else { return Err(undefined()) };
    if number.as_big().is_some() {
        return Ok(number.format_decimal());
    }
    match number.as_f64() {
        Some(float) if float.is_finite() => Ok(serde_json::Number::from_f64(float)
            .map_or_else(|| number.format_decimal(), |number| number.to_string())),
        _ => {
            let message = "a number is larger than JSON can say";
            Err(Error::new(ErrorKind::TooLarge, message))
        }
    }
}

fn quote(text: &str, out: &mut String) {
    match serde_json::to_string(text) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => out.push_str("\"\""),
    }
}
