//! The functions for YAML. Reading belongs to [`crate::yaml`], writing to `write`.

mod write;

use super::operands::{answer, operand, string};
use super::{Answer, Context, Error, Value};
use crate::yaml::{self, Host, Limits};

/// The limits on a document; its size is charged.
const LIMITS: Limits = Limits { depth: 10_000, values: usize::MAX };

pub(super) fn marshal(context: &dyn Context, args: &[Value]) -> Answer {
    let value = operand(args, 0)?;
    context.charge(value.size().saturating_mul(2))?;
    answer(write::text(context, value)?)
}

pub(super) fn unmarshal(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(8))?;
    answer(from_yaml(context, text)?)
}

pub(super) fn is_valid(context: &dyn Context, args: &[Value]) -> Answer {
    let Some(text) = operand(args, 0)?.as_str() else { return answer(false) };
    context.charge((text.len() as u64).saturating_mul(8))?;
    match from_yaml(context, text) {
        Ok(_) => answer(true),
        Err(error) if error.halt => Err(error),
        Err(_) => answer(false),
    }
}

/// An evaluation that reads a text.
struct Evaluation<'a> {
    context: &'a dyn Context,
    calls: u32,
    stopped: Option<Error>,
}

impl Host for Evaluation<'_> {
    fn charge(&mut self, work: u64) -> bool {
        self.calls = self.calls.wrapping_add(1);
        let check = if self.calls.is_multiple_of(256) { self.context.check() } else { Ok(()) };
        self.stopped = check.and_then(|()| self.context.charge(work)).err();
        self.stopped.is_none()
    }
}

/// Reads the first document of a text, which is how data files are read; the others must be valid
/// YAML.
///
/// # Errors
/// Returns an error if the text isn't YAML, or can't be represented in JSON.
pub fn from_yaml(context: &dyn Context, text: &str) -> Result<Value, Error> {
    let mut evaluation = Evaluation { context, calls: 0, stopped: None };
    match yaml::read(text, &mut evaluation, LIMITS) {
        Ok(read) => Ok(read.value.unwrap_or(Value::Null)),
        Err(error) => Err(evaluation
            .stopped
            .unwrap_or_else(|| Error::failed(format!("yaml: {}", error.message)))),
    }
}
