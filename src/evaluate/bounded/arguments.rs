//! The types of a built-in's arguments, and typed access to them.
//!
//! A built-in's arguments are one word each, with one letter for each type that is taken:
//! `s`tring, `n`umber, `b`oolean, `0` null, `a`rray, `o`bject, se`t`; `*` takes any.

use std::sync::Arc;

use regorus::Value;
use regorus::value::{Array, Object};

use super::{Fault, operand};

/// The name that OPA gives to the type of `value`.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Set(_) => "set",
        Value::Object(_) => "object",
        Value::Undefined => "undefined",
    }
}

fn letter(value: &Value) -> char {
    match value {
        Value::Null => '0',
        Value::Bool(_) => 'b',
        Value::Number(_) => 'n',
        Value::String(_) => 's',
        Value::Array(_) => 'a',
        Value::Set(_) => 't',
        Value::Object(_) => 'o',
        Value::Undefined => '-',
    }
}

fn spelled(letter: char) -> &'static str {
    match letter {
        '0' => "null",
        'b' => "boolean",
        'n' => "number",
        's' => "string",
        'a' => "array",
        't' => "set",
        'o' => "object",
        _ => "any",
    }
}

/// Whether `args` are of the types that `types` lists, without looking into them.
pub(super) fn check(types: &str, args: &[Value]) -> Result<(), Fault> {
    for (index, (taken, arg)) in types.split_whitespace().zip(args).enumerate() {
        if taken != "*" && !taken.contains(letter(arg)) {
            let names: Vec<_> = taken.chars().map(spelled).collect();
            let wanted = match names.as_slice() {
                [one] => (*one).to_owned(),
                many => format!("one of {{{}}}", many.join(", ")),
            };
            return operand(format!(
                "operand {} must be {wanted} but got {}",
                index + 1,
                type_name(arg)
            ));
        }
    }
    Ok(())
}

/// The string that argument `index` (from 0) is.
pub(super) fn string(args: &[Value], index: usize) -> Result<&Arc<str>, Fault> {
    match args.get(index) {
        Some(Value::String(text)) => Ok(text),
        other => wrong(index, "string", other),
    }
}

/// The array that argument `index` (from 0) is.
pub(super) fn array(args: &[Value], index: usize) -> Result<&Arc<Array>, Fault> {
    match args.get(index) {
        Some(Value::Array(array)) => Ok(array),
        other => wrong(index, "array", other),
    }
}

/// The object that argument `index` (from 0) is.
pub(super) fn object(args: &[Value], index: usize) -> Result<&Arc<Object>, Fault> {
    match args.get(index) {
        Some(Value::Object(object)) => Ok(object),
        other => wrong(index, "object", other),
    }
}

/// Any argument, by its place (from 0).
pub(super) fn any(args: &[Value], index: usize) -> Result<&Value, Fault> {
    args.get(index).map_or_else(|| operand("an argument is missing"), Ok)
}

/// The members of argument `index` (from 0), which is an array or a set.
pub(super) fn members(args: &[Value], index: usize) -> Result<Vec<&Value>, Fault> {
    match args.get(index) {
        Some(Value::Array(array)) => Ok(array.iter().collect()),
        Some(Value::Set(set)) => Ok(set.iter_sorted().collect()),
        other => wrong(index, "one of {array, set}", other),
    }
}

/// The strings that argument `index` (from 0), an array or a set, has.
pub(super) fn strings(args: &[Value], index: usize) -> Result<Vec<&str>, Fault> {
    let text = |value: &'_ Value| match value {
        Value::String(_) => Ok(()),
        other => operand(format!(
            "operand {} must be array of strings but got array containing {}",
            index + 1,
            type_name(other)
        )),
    };
    let members = members(args, index)?;
    members
        .into_iter()
        .map(|member| {
            text(member)?;
            Ok(member.as_string().map_or("", |text| text))
        })
        .collect()
}

/// The whole number that argument `index` (from 0) is; `None` when it needs more than 64 bits.
pub(super) fn integer(args: &[Value], index: usize) -> Result<Option<i64>, Fault> {
    match args.get(index) {
        Some(Value::Number(number)) if number.is_integer() => Ok(number.as_i64()),
        Some(Value::Number(_)) => operand(format!(
            "operand {} must be integer number but got floating-point number",
            index + 1
        )),
        other => wrong(index, "number", other),
    }
}

fn wrong<T>(index: usize, wanted: &str, got: Option<&Value>) -> Result<T, Fault> {
    let got = got.map_or("nothing", type_name);
    operand(format!("operand {} must be {wanted} but got {got}", index + 1))
}
