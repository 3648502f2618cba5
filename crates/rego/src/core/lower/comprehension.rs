//! Lowers comprehensions.
//!
//! ```text
//! [x | body]           array slot 0 of body
//! {x: y | body}        object slot 0, slot 1 of body
//! [x | f(y, x)]        the same, cached by slot 2, if the compile stages say so
//! ```

use std::collections::BTreeSet;

use crate::core::{
    Body, Comprehension, ComprehensionIndex, ComprehensionKind, Op, OpKind, Slot, Term,
};
use crate::problem::Problem;
use crate::syntax::tree::{self, Collection, TermKind};

use super::frame::Frame;
use super::slots::named;
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
        let TermKind::Comprehension(of, inner) = &term.kind else {
            return Err(unexpected(span, "what isn't a comprehension"));
        };
        let body = self.body(frame, &inner.body)?;
        let kind = match (of, &inner.key) {
            (_, Some(key)) => ComprehensionKind::Object(
                self.term(frame, key)?,
                self.term(frame, &inner.value)?,
                key.span,
            ),
            (Collection::Set, None) => ComprehensionKind::Set(self.term(frame, &inner.value)?),
            (_, None) => ComprehensionKind::Array(self.term(frame, &inner.value)?),
        };
        frame.leave(before);
        let keys: Box<[Slot]> = inner.keys.iter().map(|name| frame.slot(name)).collect();
        let index = if keys.is_empty() {
            None
        } else {
            let head = open_head(&kind, &body);
            Some(ComprehensionIndex {
                id: self.add_comprehension(),
                keys,
                head,
                slots: frame.len(),
                reaches: false,
            })
        };
        Ok(Comprehension { kind, body, span, index })
    }
}

/// Returns the variables in the head, or none if the body by itself binds all of them.
fn open_head(kind: &ComprehensionKind, body: &Body) -> Box<[Slot]> {
    let (mut bound, mut head) = (BTreeSet::new(), BTreeSet::new());
    for op in body {
        each_binding(op, &mut |term| named(term, &mut bound));
    }
    kind.each_term(&mut |term| named(term, &mut head));
    if head.is_subset(&bound) { Box::default() } else { head.into_iter().collect() }
}

fn each_binding(op: &Op, bind: &mut dyn FnMut(&Term)) {
    match &op.kind {
        OpKind::Call(call) => call.args.iter().chain(&call.output).for_each(bind),
        OpKind::With(_, op) => each_binding(op, bind),
        _ => op.sides().for_each(|side| side.each_operand(bind)),
    }
}
