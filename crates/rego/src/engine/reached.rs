//! What a survey records, and its state.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use crate::core::SetId;
use crate::syntax::tree::Span;
use crate::value::Value;

/// The findings of a survey.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The reached calls that couldn't be made, the first operand of each.
    pub unmade: Vec<Unmade>,
    /// The reached references to fields of values that aren't objects.
    pub misshapen: Vec<Misshapen>,
    /// `true` if a reference to a field of the input was reached.
    pub read_fields: bool,
    /// `true` if one of them found something.
    pub found_field: bool,
}

/// A call that couldn't be made, because an operand is undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmade {
    /// The call in the policy.
    pub call: Span,
    /// The operand that is undefined.
    pub operand: Span,
    /// The reference to the input for lack of which it is undefined, if there is one.
    pub field: Option<Span>,
}

/// A reference to a field of the input, or of an element of it, that isn't an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misshapen {
    /// The reference in the policy.
    pub reference: Span,
    /// `true` if it is an element of the input, `false` for the input itself.
    pub of_element: bool,
    /// The type that is there.
    pub found: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct SurveyState {
    pub(super) found: Survey,
    /// `true` to spare nothing in bodies from which no call site is reached either.
    pub(super) fields: bool,
    /// Set while the expression being evaluated depends on an answer that isn't known.
    pub(super) unknown: bool,
    /// The last reference to the input that found nothing.
    pub(super) missing: Option<Span>,
    /// The same for each rule that is undefined.
    pub(super) missing_of: BTreeMap<SetId, Option<Span>>,
    /// The elements of the input, once they are asked for.
    pub(super) elements: Option<Elements>,
}

/// The elements of an input, by which they are told.
#[derive(Debug)]
pub(super) struct Elements {
    /// The places in memory of collections and strings.
    pub(super) places: HashSet<usize>,
    /// The others.
    pub(super) scalars: HashSet<Value>,
}

/// The fate of the look-ups of a reference that computes an operand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lookups {
    /// A collection was iterated over.
    pub(super) iterated: bool,
    /// An operand wasn't found.
    pub(super) missed: bool,
}

/// The look-ups of the expression that is being run, where they matter.
pub(super) type Watched = Option<Rc<Cell<Lookups>>>;

impl SurveyState {
    pub(super) fn new(fields: bool) -> Self {
        Self { fields, ..Self::default() }
    }
}
