//! Comprehensions.
//!
//! ```text
//! [x | body]           array slot 0 of body
//! {x: y | body}        object slot 0, slot 1 of body
//! [x | f(y, x)]        the same, remembered by slot 2, where its compile stage says so
//! ```

use std::collections::BTreeSet;

use crate::rego::core::{
    Body, Comprehension, ComprehensionIndex, ComprehensionKind, Head, Op, OpKind, Side, Slot, Term,
};
use crate::rego::problem::Problem;
use crate::rego::syntax::tree::{self, Name, TermKind};

use super::frame::Frame;
use super::{Lowering, unexpected};

impl Lowering<'_> {
    /// Lowers a comprehension.
    pub(super) fn comprehension(
        &mut self,
        frame: &mut Frame,
        term: &tree::Term,
    ) -> Result<Comprehension, Problem> {
        let span = term.span;
        let before = frame.enter();
        let (kind, body, keys): (_, Body, &[Name]) = match &term.kind {
            TermKind::ArrayComprehension(it) => {
                let body = self.body(frame, &it.body)?;
                (ComprehensionKind::Array(self.term(frame, &it.term)?), body, &it.keys)
            }
            TermKind::SetComprehension(it) => {
                let body = self.body(frame, &it.body)?;
                (ComprehensionKind::Set(self.term(frame, &it.term)?), body, &it.keys)
            }
            TermKind::ObjectComprehension(it) => {
                let body = self.body(frame, &it.body)?;
                let key = self.term(frame, &it.key)?;
                let value = self.term(frame, &it.value)?;
                (ComprehensionKind::Object(key, value, it.key.span), body, &it.keys)
            }
            _ => return Err(unexpected(span, "what isn't a comprehension")),
        };
        frame.leave(before);
        let keys: Box<[Slot]> = keys.iter().map(|name| frame.slot(name)).collect();
        let index = if keys.is_empty() {
            None
        } else {
            let head = open_head(&kind, &body);
            Some(ComprehensionIndex {
                id: self.add_comprehension(),
                keys,
                head,
                slots: frame.len(),
            })
        };
        Ok(Comprehension { kind, body, span, index })
    }
}

/// The variables of a head, unless the body by itself gives all of them their values.
fn open_head(kind: &ComprehensionKind, body: &Body) -> Box<[Slot]> {
    let mut given = BTreeSet::new();
    let mut give = |term: &Term| {
        term.each_slot(&mut |slot| {
            given.insert(slot);
        });
    };
    for op in body {
        given_by(op, &mut give);
    }
    let mut head = BTreeSet::new();
    let mut look = |term: &Term| {
        term.each_slot(&mut |slot| {
            head.insert(slot);
        });
    };
    match kind {
        ComprehensionKind::Array(term) | ComprehensionKind::Set(term) => look(term),
        ComprehensionKind::Object(key, value, _) => {
            look(key);
            look(value);
        }
    }
    if head.is_subset(&given) { Box::default() } else { head.into_iter().collect() }
}

fn given_by(op: &Op, give: &mut dyn FnMut(&Term)) {
    let mut side = |side: &Side| match side {
        Side::Term(term) => give(term),
        Side::Ref(reference) => {
            if let Head::Var(slot) = reference.head {
                give(&Term::Var(slot));
            }
            reference.path.iter().for_each(&mut *give);
        }
        Side::Comprehension(_) => {}
    };
    match &op.kind {
        OpKind::Unify(sides) => {
            side(&sides.0);
            side(&sides.1);
        }
        OpKind::Test(it) => side(it),
        OpKind::Call(call) => call.args.iter().chain(&call.output).for_each(give),
        OpKind::With(_, op) => given_by(op, give),
        _ => {}
    }
}
