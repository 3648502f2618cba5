//! How large values are, and the limits on what built-ins make.

use regorus::Value;

use super::{Fault, Scope};
use crate::evaluate::scope::Limits;
use crate::{Error, ErrorKind};

/// What an element of an array, set or object takes, in bytes: the least that is sure.
pub(super) const ELEMENT: u64 = 24;

/// Refuses `count` elements that a built-in would make out of nothing, and charges them.
pub(super) fn elements(scope: &Scope, count: u128) -> Result<(), Fault> {
    let limit = scope.bounds().elements;
    if count > u128::from(limit) {
        return too_large(format!("would make {count} elements, the limit is {limit}"));
    }
    bytes(scope, u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(ELEMENT))
}

/// Refuses a string of `count` bytes that is over the limit, and charges it.
pub(super) fn string(scope: &Scope, count: u64) -> Result<(), Fault> {
    let limit = scope.bounds().string;
    if count > limit {
        return too_large(format!("would make a string of {count} bytes, the limit is {limit}"));
    }
    bytes(scope, count)
}

/// Charges `count` bytes to the pass.
pub(super) fn bytes(scope: &Scope, count: u64) -> Result<(), Fault> {
    scope.charge(count).or_else(|total| {
        let limit = scope.bounds().total;
        too_large(format!(
            "the built-ins of this evaluation would have made {total} bytes, the limit is {limit}"
        ))
    })
}

/// Charges `value` itself, without what it shares with others.
pub(super) fn charge(scope: &Scope, value: &Value) -> Result<(), Fault> {
    bytes(
        scope,
        match value {
            Value::String(text) => text.len() as u64,
            Value::Array(array) => array.len() as u64 * ELEMENT,
            Value::Set(set) => set.len() as u64 * ELEMENT,
            Value::Object(object) => object.len() as u64 * 2 * ELEMENT,
            _ => return Ok(()),
        },
    )
}

pub(super) fn too_large<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Refused(Error::new(ErrorKind::TooLarge, message)))
}

/// What it takes to write a value down.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Written {
    nodes: u64,
    /// Bytes of all strings and numbers, and a few for each node.
    pub(crate) bytes: u64,
}

/// Whether `value` can leave the large stack: not too deep to be dropped, hashed or written by a
/// thread with an ordinary one, and not so large when every shared part is counted each time.
pub(crate) fn fits(value: &Value, limits: &Limits) -> Result<Written, Error> {
    let mut written = Written::default();
    measure(value, limits, 1, &mut written)?;
    Ok(written)
}

fn measure(
    value: &Value,
    limits: &Limits,
    depth: usize,
    written: &mut Written,
) -> Result<(), Error> {
    let too_large = |message: String| Err(Error::new(ErrorKind::TooLarge, message));
    written.nodes += 1;
    written.bytes = written.bytes.saturating_add(4);
    if written.nodes > limits.nodes {
        return too_large(format!("the value has more than {} parts", limits.nodes));
    }
    if depth > limits.depth {
        return too_large(format!("the value nests deeper than {} levels", limits.depth));
    }
    match value {
        Value::String(text) => written.bytes = written.bytes.saturating_add(text.len() as u64),
        Value::Number(_) => written.bytes = written.bytes.saturating_add(16),
        Value::Array(array) => {
            for member in array.iter() {
                measure(member, limits, depth + 1, written)?;
            }
        }
        Value::Set(set) => {
            for member in set.iter() {
                measure(member, limits, depth + 1, written)?;
            }
        }
        Value::Object(object) => {
            for (key, member) in object.iter() {
                measure(key, limits, depth + 1, written)?;
                measure(member, limits, depth + 1, written)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Undefined => {}
    }
    Ok(())
}

/// The bytes that `value` takes as JSON text, about.
pub(super) fn written(scope: &Scope, value: &Value) -> Result<u64, Fault> {
    // Deep values are fine here: this runs, and what it is for runs, on the large stack.
    let limits = Limits { depth: usize::MAX, ..*scope.bounds() };
    Ok(fits(value, &limits)?.bytes)
}
