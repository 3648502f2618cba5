//! The forms in which the parts of the machine hand values to one another.

use std::cell::RefCell;

use crate::core::{Comprehension, Op, Ref, Term};
use crate::value::Value;

/// The result of evaluating an expression under the assumption that it has at most one answer.
/// `Many` if it may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SingleResult {
    Yes,
    No,
    Many,
}

impl From<bool> for SingleResult {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// The result of evaluating a rule under the assumption that it has at most one value.
pub(super) enum SingleValue {
    Value(Value),
    /// No value.
    Undefined,
    /// There may be more to evaluate after the value has been used.
    Many,
}

pub(super) enum RuleValue<'p> {
    Value(Value),
    /// A term of the rule's frame whose elements aren't in the order of their values (see
    /// [`Machine::irregular`](super::machine::Machine::irregular)).
    Term(&'p Term, u32),
}

/// The other side: the term, reference or condition that a reference's value is unified with.
#[derive(Clone, Copy)]
pub(super) enum OtherSide<'o, 'p> {
    /// A term of the frame that begins at the given slot.
    Term(&'p Term, u32),
    /// The same, with the expressions that follow in the body.
    Element(&'p Term, u32, &'p [Op]),
    /// Another reference.
    Ref(&'p Ref),
    Comprehension(&'p Comprehension),
    Value(&'o Value),
    /// Anything but `false`: the reference stands by itself.
    Truth,
    /// Any value, which is stored in the cell.
    Any(&'o RefCell<Option<Value>>),
}

#[inline]
pub(super) fn is_false(value: &Value) -> bool {
    matches!(value, Value::Bool(false))
}

/// The keys of a value.
pub(super) fn keys(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => (0_i64..).map(Value::from).take(items.len()).collect(),
        Value::Object(members) => members.keys().cloned().collect(),
        Value::Set(items) => items.iter().cloned().collect(),
        _ => Vec::new(),
    }
}
