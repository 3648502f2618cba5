//! The terms and functions that `with` replaces, and what stands in for them.
//!
//! Deferred values are terms that are put in place before their variables have a value. OPA
//! substitutes the term after `as` with the bindings that its variables have by then, and evaluates
//! nothing in it. So a variable that gets its value later in the body (which the safety check
//! allows beside a closure) remains a variable: an expression that reads it there is unified with
//! it. Read from another rule, it is a variable of that rule's frame, and no other part of that
//! rule can name it. In the closures of a query, a reference or a comprehension stays as it was
//! written and is evaluated where it is read as a whole.
//!
//! The replaced document itself holds what the rule index would see: an empty object for each part
//! that has no value.

use std::rc::Rc;

use crate::core::{Comprehension, Ref, Scope, Slot, Target, Term, With, WithTarget};
use crate::syntax::tree::Span;
use crate::value::Value;

/// A function and its replacement.
#[derive(Clone)]
pub(super) struct Mock<'p> {
    pub(super) name: &'p str,
    pub(super) by: Standin<'p>,
    /// The modifier.
    pub(super) at: Span,
}

/// The replacement of a function.
#[derive(Clone)]
pub(super) enum Standin<'p> {
    /// A value, for all arguments.
    Value(Value),
    /// Another function, and its call site.
    Function(Target, Option<u32>),
    /// The value of a reference, for all arguments; its variables are those of the frame that
    /// begins at the given slot.
    Ref(&'p Ref, u32),
    /// A term that has no value yet, for all arguments.
    Deferred(Rc<DeferredValue<'p>>),
}

/// The modifiers of an expression that is being evaluated.
pub(super) struct Replaced<'p>(pub(super) &'p [With]);

impl Replaced<'_> {
    /// Returns `true` if a path of data is at or within a replaced document.
    pub(super) fn covers(&self, path: &[Value]) -> bool {
        self.0.iter().any(|with| match &with.target {
            WithTarget::Data(target) => path.starts_with(target),
            _ => false,
        })
    }
}

/// A value that isn't known yet.
#[derive(Clone, Copy)]
pub(super) enum DeferredTerm<'p> {
    /// A term with unbound variables.
    Term(&'p Term),
    /// A reference.
    Ref(&'p Ref),
    Comprehension(&'p Comprehension),
}

/// The position that a deferred value takes.
#[derive(Clone, Copy)]
pub(super) enum DeferredTarget<'p> {
    /// At a path in the input.
    Input(&'p [Value]),
    /// At a path in data.
    Data(&'p [Value]),
    /// A function, for which it stands in.
    Function,
}

/// A term that took the place of a document or a function before it had a value.
pub(super) struct DeferredValue<'p> {
    pub(super) content: DeferredTerm<'p>,
    pub(super) target: DeferredTarget<'p>,
    /// The scope of the frame that its variables belong to.
    pub(super) scope: &'p Scope,
    /// The offset of a copy of that frame within the frames of other rules, after their own slots.
    pub(super) shadow: u32,
    /// The variables that were bound already.
    pub(super) given: Vec<(Slot, Value)>,
}

/// All the deferred values in force.
pub(super) type DeferredValues<'p> = Rc<[Rc<DeferredValue<'p>>]>;

impl<'p> DeferredValue<'p> {
    /// Returns `true` if a value placed at the target would replace it.
    pub(super) fn is_at_or_below(&self, target: DeferredTarget<'_>) -> bool {
        match (self.target, target) {
            (DeferredTarget::Input(own), DeferredTarget::Input(path))
            | (DeferredTarget::Data(own), DeferredTarget::Data(path)) => {
                own.starts_with(path) || (path.starts_with(own) && !self.is_object())
            }
            _ => false,
        }
    }

    /// Returns `true` if the target is within it.
    pub(super) fn is_above(&self, target: DeferredTarget<'_>) -> bool {
        match (self.target, target) {
            (DeferredTarget::Input(own), DeferredTarget::Input(path))
            | (DeferredTarget::Data(own), DeferredTarget::Data(path)) => path.starts_with(own),
            _ => false,
        }
    }

    fn is_object(&self) -> bool {
        matches!(self.content, DeferredTerm::Term(Term::Object(_)))
    }

    pub(super) fn path(&self, input: bool) -> Option<&'p [Value]> {
        match self.target {
            DeferredTarget::Input(path) if input => Some(path),
            DeferredTarget::Data(path) if !input => Some(path),
            _ => None,
        }
    }

    /// Binds, in a frame's copy of the variables, those that were bound already.
    pub(super) fn give(&self, mut bind: impl FnMut(u32, &Value)) {
        for (slot, value) in &self.given {
            bind(self.shadow + slot, value);
        }
    }

    /// The number of shadow slots that frames need from here on.
    pub(super) fn shadow_end(&self) -> u32 {
        self.shadow + self.scope.slots
    }
}
