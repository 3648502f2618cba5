//! References.
//!
//! ```text
//! input.a[x]          input, [const "a", slot 0]
//! x.y                 slot 0, [const "y"]
//! data.a.allow        rules #3 after 2 operands
//! data.base.users[x]  the base document data.base.users, then [slot 0]
//! 1[x]                nothing, whatever the operands
//! data.a[x], data.a   the tree of paths, walked when it is evaluated
//! ```

use crate::rego::core::{Core, Head, Ref, Resolved, Term};
use crate::rego::problem::Problem;
use crate::rego::syntax::tree::{self, TermKind};
use crate::rego::value::Value;

use super::frame::Frame;
use super::{Lowering, unexpected};

impl Lowering<'_> {
    /// Lowers a reference of a head and its operands.
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
        Ok(Ref { head, path: path.into(), span })
    }
}

/// What the constant operands at the beginning of a path lead to.
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

/// The base document that the constant operands lead to.
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

/// What is found in a base document. OPA's store takes numbers for the names of members and names
/// for the indices of arrays, since its paths are text.
pub(in crate::rego) fn member<'v>(value: &'v Value, key: &Value) -> Option<&'v Value> {
    match (value, key) {
        (Value::Object(_), Value::Number(number)) => value.get_str(&number.text()),
        (Value::Array(array), Value::String(text)) => {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let plain = digits && (text.len() == 1 || !text.starts_with('0'));
            if plain { array.get(text.parse::<usize>().ok()?) } else { None }
        }
        // Sets aren't in base documents that were read, but may be in what was given.
        (Value::Object(_) | Value::Array(_), Value::String(_) | Value::Number(_))
        | (Value::Set(_), _) => value.get(key),
        _ => None,
    }
}
