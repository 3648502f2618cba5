//! Comprehensions.
//!
//! ```text
//! [x | body]           array slot 0 of body
//! {x: y | body}        object slot 0, slot 1 of body
//! [x | f(y, x)]        the same, remembered by slot 2, where its compile stage says so
//! ```

use crate::rego::core::{
    Body, Comprehension, ComprehensionIndex, ComprehensionKind, Slot,
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
        let index = if keys.is_empty() {
            None
        } else {
            let keys: Box<[Slot]> = keys.iter().map(|name| frame.slot(name)).collect();
            Some(ComprehensionIndex { id: self.add_comprehension(), keys, slots: frame.len() })
        };
        Ok(Comprehension { kind, body, span, index })
    }
}
