//! The kinds of readings, what they find, and the state of one.

use std::collections::HashSet;

use super::reached::Misordered;
use crate::core::Marks;
use crate::syntax::tree::Span;
use crate::value::Value;

/// The kinds of readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Everything as it is.
    Messages,
    /// The conditions as they are; a message without a value changes nothing.
    Conditions,
    /// Negated calls and look-ups with a missing operand hold.
    Negations,
    /// So do comparisons, and negated equalities don't.
    Comparisons,
}

/// The expressions that a reading interpreted differently.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// The messages without a value, of violations whose conditions hold.
    pub unsaid: Vec<Missing>,
    /// The negations and comparisons with a missing operand.
    pub missing: Vec<Missing>,
    /// The first call without a response.
    pub unmade: Option<Span>,
    /// The references to members that objects can't have.
    pub absent: Vec<Span>,
    /// The orderings of values of different types.
    pub misordered: Vec<Misordered>,
    /// The strings that were decoded from base64 or compared with JSON.
    pub decoded: HashSet<Value>,
}

/// An expression for which something is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// The expression in the policy.
    pub expression: Span,
    /// The missing reference or expression.
    pub operand: Span,
}

#[derive(Debug)]
pub(super) struct ReadingState {
    pub(super) kind: Reading,
    pub(super) found: Read,
    /// The variables that are marked as missing, each with what is.
    pub(super) missing: Vec<(u32, Span)>,
    /// The frames of the bodies that hold only with an assumption: an expression taken in another way, in the body
    /// itself or in something that it evaluated.
    pub(super) assumed: Vec<u32>,
    /// The number of assumptions so far.
    pub(super) assumptions: u64,
    /// The last missing reference that makes a computed expression undefined.
    pub(super) last: Option<Span>,
    /// The places in memory of the input's collections and strings, once they are asked for.
    pub(super) places: Option<HashSet<usize>>,
}

impl ReadingState {
    pub(super) fn new(kind: Reading) -> Self {
        Self {
            kind,
            found: Read::default(),
            missing: Vec::new(),
            assumed: Vec::new(),
            assumptions: 0,
            last: None,
            places: None,
        }
    }

    /// The marks of expressions that are evaluated after all conditions.
    pub(super) fn postponed(&self) -> Marks {
        match self.kind {
            Reading::Messages => Marks::ANY_MESSAGE,
            Reading::Conditions | Reading::Negations | Reading::Comparisons => {
                Marks::ANY_MESSAGE.with(Marks::HEAD)
            }
        }
    }

    /// The marks of expressions whose being undefined is read in another way.
    pub(super) fn judges(&self) -> Marks {
        match self.kind {
            Reading::Messages | Reading::Conditions => Marks::NONE,
            Reading::Negations => Marks::NEGATION,
            Reading::Comparisons => Marks::NEGATION.with(Marks::COMPARISON).with(Marks::EQUALITY),
        }
    }
}
