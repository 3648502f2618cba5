//! The difference between the answers of two engines.

use std::collections::BTreeSet;

use super::query::QueryOutput;
use crate::rego::value::{Object, Set};
use crate::text::shorten;
use crate::{Error, Value};

/// The longest part of a value that a message shows, in characters.
const SHOWN: usize = 200;

type Answer = Result<QueryOutput, Error>;

/// Returns the error that stands for a difference, with both values: shortened in its message, whole
/// in its source. Two errors don't differ.
pub(super) fn between(ours: &Answer, theirs: &Answer) -> Option<Error> {
    let (path, left, right) = match (ours, theirs) {
        (Err(_), Err(_)) => return None,
        (Ok(one), Ok(other)) => {
            let (left, right) = (rows(one), rows(other));
            if left == right {
                return None;
            }
            if one.rows.is_empty() || other.rows.is_empty() {
                (String::new(), answer(ours), answer(theirs))
            } else {
                let (path, left, right) = first(String::new(), &left, &right);
                (path, shown(left), shown(right))
            }
        }
        (left, right) => (String::new(), answer(left), answer(right)),
    };
    let at = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
    let (left, right) = (shorten(&left, SHOWN), shorten(&right, SHOWN));
    let message = format!("result mismatch{at}: expected `{left}`, found `{right}` from regorus");
    let whole = format!("on regorus {}, and here {}", answer(theirs), answer(ours));
    let hint = "find known differences with `check --engine regorus`";
    Some(Error::policy_failed(message).with_hint(hint).with_source(whole))
}

/// The rows, as values that don't depend on their order.
fn rows(output: &QueryOutput) -> Value {
    let rows: Set = output
        .rows
        .iter()
        .map(|row| {
            let bindings = row.bindings.iter();
            let bindings =
                bindings.map(|(name, value)| (Value::from(name.as_str()), value.clone()));
            let values = row.expressions.iter().map(|expression| expression.value.clone());
            let values: Vec<Value> = values.collect();
            if row.bindings.is_empty() {
                Value::from(values)
            } else {
                Value::from(bindings.collect::<Object>())
            }
        })
        .collect();
    // One row with one value is that value.
    match rows.iter().next() {
        Some(Value::Array(values)) if rows.len() == 1 && values.len() == 1 => {
            values.iter().next().cloned().unwrap_or_else(|| Value::from(rows))
        }
        _ => Value::from(rows),
    }
}

fn answer(answer: &Answer) -> String {
    match answer {
        Ok(output) if output.rows.is_empty() => "undefined".to_owned(),
        Ok(output) => rows(output).to_json(),
        Err(error) => format!("an error: {}", error.report()),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "undefined".to_owned(), Value::to_json)
}

/// Returns the first place at which two values differ.
fn first<'v>(
    path: String,
    left: &'v Value,
    right: &'v Value,
) -> (String, Option<&'v Value>, Option<&'v Value>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&Value> = a.iter().chain(b.iter()).map(|(key, _)| key).collect();
            for key in keys {
                let (one, other) = (a.get(key), b.get(key));
                if one != other {
                    let path = format!("{path}[{}]", key.to_json());
                    return match (one, other) {
                        (Some(one), Some(other)) => first(path, one, other),
                        _ => (path, one, other),
                    };
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b.iter()).enumerate();
            if let Some((at, (one, other))) =
                pairs.into_iter().find(|(_, (one, other))| one != other)
                && a.len() == b.len()
            {
                return first(format!("{path}[{at}]"), one, other);
            }
        }
        _ => {}
    }
    (path, Some(left), Some(right))
}
