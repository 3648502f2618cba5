//! Lowers terms.
//!
//! ```text
//! {"a": [1, 2], "b": "c"}      a constant, built once
//! {"a": [x, 2]}                {const: [slot 0, const]}
//! ```

use crate::core::Term;
use crate::problem::Problem;
use crate::syntax::tree::{self, TermKind};
use crate::value::{Value, object_of, set_of};

use super::frame::Frame;
use super::{Lowering, unexpected};

impl Lowering<'_> {
    /// Lowers a term that needs no evaluation.
    pub(super) fn term(&mut self, frame: &mut Frame, term: &tree::Term) -> Result<Term, Problem> {
        crate::value::deeper(|| self.term_within(frame, term))
    }

    fn term_within(&mut self, frame: &mut Frame, term: &tree::Term) -> Result<Term, Problem> {
        Ok(match &term.kind {
            TermKind::Null => Term::Const(Value::Null),
            TermKind::Bool(value) => Term::Const(Value::Bool(*value)),
            TermKind::Number(number) => Term::Const(Value::Number(number.clone())),
            TermKind::String(text) => Term::Const(Value::from(text.clone())),
            TermKind::Var(name) => Term::Var(frame.slot(name)),
            TermKind::Group(inner) => self.term(frame, inner)?,
            TermKind::Array(items) => {
                let items = self.terms(frame, items)?;
                match constants(&items) {
                    Some(values) => Term::Const(Value::from(values)),
                    None => Term::Array(items.into()),
                }
            }
            TermKind::Set(items) => {
                let items = self.terms(frame, items)?;
                match constants(&items) {
                    Some(values) => Term::Const(Value::from(set_of(values))),
                    None => Term::Set(frame.sorted(items, |item| item)),
                }
            }
            TermKind::Object(members) => {
                let keys = self.terms(frame, members.iter().map(|(key, _)| key))?;
                let values = self.terms(frame, members.iter().map(|(_, value)| value))?;
                if let Some((keys, values)) = constants(&keys).zip(constants(&values)) {
                    Term::Const(Value::from(object_of(keys.into_iter().zip(values))))
                } else {
                    let members: Vec<_> = keys.into_iter().zip(values).collect();
                    Term::Object(frame.sorted(members, |(key, _)| key))
                }
            }
            TermKind::Ref(_) => return Err(unexpected(term.span, "a reference within a term")),
            TermKind::Call(_) => return Err(unexpected(term.span, "a call within a term")),
            TermKind::Template(_) => return Err(unexpected(term.span, "a template string")),
            TermKind::Comprehension(..) => {
                return Err(unexpected(term.span, "a comprehension within a term"));
            }
        })
    }

    /// Lowers several terms.
    pub(super) fn terms<'t>(
        &mut self,
        frame: &mut Frame,
        terms: impl IntoIterator<Item = &'t tree::Term>,
    ) -> Result<Vec<Term>, Problem> {
        terms.into_iter().map(|term| self.term(frame, term)).collect()
    }
}

/// Returns the values of `terms`, if all are constants.
fn constants(terms: &[Term]) -> Option<Vec<Value>> {
    let value =
        |term: &Term| if let Term::Const(value) = term { Some(value.clone()) } else { None };
    terms.iter().map(value).collect()
}
