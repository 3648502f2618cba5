//! Lowers references.
//!
//! ```text
//! input.a[x]          input, [const "a", slot 0]
//! x.y                 slot 0, [const "y"]
//! data.a.allow        rules #3 after 2 operands
//! data.base.users[x]  the base document data.base.users, then [slot 0]
//! 1[x]                undefined, whatever the operands
//! data.a[x], data.a   the tree of paths, walked when it is evaluated
//! ```

use crate::core::{Core, Head, InputPart, Ref, Resolved, Term};
use crate::problem::Problem;
use crate::syntax::tree::{self, TermKind};
use crate::value::Value;

use super::frame::Frame;
use super::{Lowering, unexpected};

impl Lowering<'_> {
    /// Lowers a reference from its head and operands.
    pub(super) fn reference(
        &mut self,
        frame: &mut Frame,
        parts: &[tree::Term],
        span: tree::Span,
    ) -> Result<Ref, Problem> {
        let Some((first, rest)) = parts.split_first() else {
            return Err(unexpected(span, "an empty reference"));
        };
        let path = self.terms(frame, rest)?;
        let head = match &first.kind {
            TermKind::Var(name) => match &**name {
                "input" => Head::Input,
                "data" => Head::Data(resolve(self.core(), &path)),
                _ => Head::Var(frame.slot(name)),
            },
            TermKind::Ref(_) | TermKind::Call(_) => {
                return Err(unexpected(first.span, "what this reference begins with"));
            }
            _ => Head::Nothing,
        };
        let part = match head {
            Head::Input => InputPart::Whole,
            Head::Var(slot) => frame.part(slot),
            Head::Data(_) | Head::Nothing => InputPart::None,
        };
        Ok(Ref { head, path: path.into(), part, span })
    }
}

/// Resolves the constant operands at the start of a path.
pub(super) fn resolve(core: &Core, path: &[Term]) -> Resolved {
    let mut node = Core::ROOT;
    for (index, term) in path.iter().enumerate() {
        let Term::Const(key) = term else { return Resolved::Tree };
        let Some(child) = core.child(node, key) else { return base(core, path) };
        node = child;
        if let Some(set) = core.node(node).and_then(|node| node.set) {
            return Resolved::Rules(set, index + 1);
        }
    }
    Resolved::Tree
}

/// Looks up the base document that the constant operands lead to.
fn base(core: &Core, path: &[Term]) -> Resolved {
    let mut value = Some(&core.data);
    let mut count = 0;
    for term in path {
        let Term::Const(key) = term else { break };
        value = value.and_then(|value| member(value, key));
        count += 1;
    }
    Resolved::Base(value.cloned(), count)
}

/// Looks up a member of a base document. The paths in OPA's store are text, so a number finds the
/// member with that name, and a string finds the array element with that index.
pub(crate) fn member<'v>(value: &'v Value, key: &Value) -> Option<&'v Value> {
    match (value, key) {
        (Value::Object(_), Value::Number(number)) => value.get_str(&number.text()),
        (Value::Array(array), Value::String(text)) => {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let plain = digits && (text.len() == 1 || !text.starts_with('0'));
            if plain { array.get(text.parse::<usize>().ok()?) } else { None }
        }
        // Base documents that were read from JSON contain no sets, but those given as values may.
        (Value::Object(_) | Value::Array(_), Value::String(_) | Value::Number(_))
        | (Value::Set(_), _) => value.get(key),
        _ => None,
    }
}
