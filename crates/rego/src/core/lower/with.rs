//! Lowers `with` modifiers.
//!
//! ```text
//! p with input.a as x           input ["a"] := slot 0, while p is evaluated
//! p with data.a as x            data ["a"] := slot 0
//! p with http.send as data.f    function http.send := function #4
//! p with http.send as x         function http.send := slot 0
//! p with http.send as data.r    function http.send := rules #5, evaluated at each call
//! ```

use std::sync::Arc;

use crate::core::{Comprehension, Target, With, WithTarget, WithValue};
use crate::problem::{Problem, ProblemCode};
use crate::syntax::tree::{self, TermKind};
use crate::value::Value;

use super::call::function_name;
use super::frame::Frame;
use super::tree::constant;
use super::{Lowering, unexpected};

/// Returns the error for a value with a reference or comprehension within it, which OPA leaves
/// unevaluated: inside a closure of a query, it takes values as written.
fn not_evaluated(with: &tree::With) -> Problem {
    let message = "the value of this `with` must be computed, which isn't done within a query's \
        closures; assign it to a variable first, or move the expression into a rule";
    Problem::new(ProblemCode::Unsupported, with.value.span, message)
}

impl Lowering<'_> {
    /// Lowers a `with` modifier.
    pub(super) fn with(&mut self, frame: &mut Frame, with: &tree::With) -> Result<With, Problem> {
        let target = self.with_target(&with.target)?;
        // Elsewhere, the name of a function is a reference that leads nowhere.
        let function = match target {
            WithTarget::Function(_) => self.replacement(frame, &with.value)?,
            WithTarget::Input(_) | WithTarget::Data(_) => None,
        };
        let value = match function {
            Some((callee, name)) => {
                // The calls that it answers are calls of it.
                let site = self.add_site(callee, &name, with.value.span);
                WithValue::Function(callee, name, site)
            }
            None => {
                let value = match &with.value.kind {
                    TermKind::Ref(parts) => {
                        self.reference(frame, parts, with.value.span).map(WithValue::Ref)
                    }
                    TermKind::Comprehension(..) => {
                        // It is evaluated in other frames, whose variables no result belongs to.
                        self.comprehension(frame, &with.value).map(|value| {
                            WithValue::Comprehension(Comprehension { index: None, ..value })
                        })
                    }
                    _ => self.term(frame, &with.value).map(WithValue::Term),
                };
                value.map_err(|_| not_evaluated(with))?
            }
        };
        Ok(With { target, value, span: with.span })
    }

    fn with_target(&self, target: &tree::Term) -> Result<WithTarget, Problem> {
        let parts = target.ref_parts();
        let name = function_name(target).map(Arc::from);
        if let Some(name) = &name
            && self.core().functions.contains_key(name)
        {
            return Ok(WithTarget::Function(Arc::clone(name)));
        }
        let head = match parts.first().map(|head| &head.kind) {
            Some(TermKind::Var(head)) => &**head,
            _ => "",
        };
        // Only constant strings name a place: any other part is an error of the evaluation, and OPA
        // doesn't even look at its value.
        let path = || {
            let parts = parts.iter().skip(1);
            parts.map(|part| constant(part).unwrap_or(Value::Null)).collect()
        };
        Ok(match (head, name) {
            ("input", _) => WithTarget::Input(path()),
            ("data", _) => WithTarget::Data(path()),
            (_, Some(name)) => WithTarget::Function(name),
            (_, None) => return Err(unexpected(target.span, "what is replaced here")),
        })
    }

    /// Resolves the replacement, if it is a function.
    fn replacement(
        &mut self,
        frame: &Frame,
        value: &tree::Term,
    ) -> Result<Option<(Target, Arc<str>)>, Problem> {
        // A variable of the body is a value, even if a function has the same name.
        let function = match &value.kind {
            TermKind::Ref(_) => true,
            TermKind::Var(name) => !frame.has(name),
            _ => false,
        };
        if !function || function_name(value).is_none() {
            return Ok(None);
        }
        let callee = self.callee(value)?;
        Ok(match callee.target {
            Target::Missing => None,
            target => Some((target, callee.name)),
        })
    }
}
