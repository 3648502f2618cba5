//! YAML as OPA reads and writes it through go-yaml 3: booleans of version 1.2, numbers of both
//! versions, keys as text.

mod read;
mod scalar;
mod tabs;
mod write;

use super::operands::{answer, operand, string};
use super::{Answer, Context, Family, Run, Value};

pub(super) const FUNCTIONS: Family = &[
    ("yaml.marshal", Run::Plain(marshal)),
    ("yaml.unmarshal", Run::Plain(unmarshal)),
    ("yaml.is_valid", Run::Plain(is_valid)),
];

fn marshal(context: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    context.charge(value.size().saturating_mul(2))?;
    answer(write::text(context, value)?)
}

fn unmarshal(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(8))?;
    answer(read::document(context, text)?)
}

fn is_valid(context: &dyn Context, args: &[Value]) -> Answer {
    let Some(text) = operand(args, 0)?.as_str() else { return answer(false) };
    context.charge((text.len() as u64).saturating_mul(8))?;
    match read::document(context, text) {
        Ok(_) => answer(true),
        Err(error) if error.halt => Err(error),
        Err(_) => answer(false),
    }
}

/// Reads the first document of a text, which is how data files are read; the others must be valid
/// YAML.
///
/// # Errors
/// Returns an error if the text isn't YAML, or can't be represented in JSON.
pub fn from_yaml(context: &dyn Context, text: &str) -> Result<Value, super::Error> {
    read::document(context, text)
}
