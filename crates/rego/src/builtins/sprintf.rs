//! `sprintf`.

use super::go_format::{Argument, printf};
use super::operands::{answer, array, string};
use super::{Answer, Context, Error, Value};
use crate::value::Number;

pub(super) fn sprintf(context: &dyn Context, args: &[Value]) -> Answer {
    let format = string(args, 0)?;
    let mut arguments = Vec::new();
    for value in array(args, 1)? {
        if value.is_collection() {
            context.charge(value.size())?;
        }
        arguments.push(argument(value)?);
    }
    let text = printf(context, format, &arguments)?;
    context.charge(text.len() as u64)?;
    answer(text)
}

/// Returns the value as the type that OPA passes to Go.
fn argument(value: &Value) -> Result<Argument<'_>, Error> {
    Ok(match value {
        Value::String(text) => Argument::Text((&**text).into()),
        Value::Number(number) => of_number(number)?,
        other => Argument::Text(other.to_string().into()),
    })
}

fn of_number(number: &Number) -> Result<Argument<'_>, Error> {
    Ok(if !number.is_integer_text() {
        match number.as_finite_f64() {
            Some(value) => Argument::Float(value),
            None => Argument::Text(number.text()),
        }
    } else if let Some(value) = number.as_i64() {
        Argument::Int64(value)
    } else {
        match number.to_bigint()? {
            Some(value) => Argument::Big(value),
            None => Argument::Text(number.text()),
        }
    })
}
