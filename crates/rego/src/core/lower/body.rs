//! Lowers bodies and their expressions.
//!
//! ```text
//! eq(x, input.a[_])        unify slot 0 with the reference
//! input.a                  test the reference
//! not input.a              negated test; no variable is bound by it
//! every k, v in xs { … }   every slot 1, slot 2 in slot 0 of body
//! ```
//!
//! An expression is *single* if it has at most one solution: all its variables have values by then,
//! and nothing in it yields several. The engine runs single expressions in a loop.

use crate::core::{Body, Every, Head, InputPart, Op, OpKind, Resolved, Side, Term};
use crate::problem::Problem;
use crate::syntax::tree::{self, ExprKind, TermKind};
use crate::value::Value;

use super::frame::Frame;
use super::{Lowering, unexpected};

impl Lowering<'_> {
    /// Lowers a body.
    pub(super) fn body(&mut self, frame: &mut Frame, body: &tree::Body) -> Result<Body, Problem> {
        body.iter().map(|expr| self.expr(frame, expr)).collect()
    }

    fn expr(&mut self, frame: &mut Frame, expr: &tree::Expr) -> Result<Op, Problem> {
        crate::value::deeper(|| self.modified(frame, expr))
    }

    fn modified(&mut self, frame: &mut Frame, expr: &tree::Expr) -> Result<Op, Problem> {
        let with = expr.with.iter().map(|with| self.with(frame, with)).collect::<Result<_, _>>()?;
        let mut op = self.negatable(frame, expr)?;
        if !expr.with.is_empty() {
            let single = op.single;
            op = Op::new(OpKind::With(with, Box::new(op)), expr.span, single);
        }
        op.generated = expr.generated;
        Ok(op)
    }

    fn negatable(&mut self, frame: &mut Frame, expr: &tree::Expr) -> Result<Op, Problem> {
        if !expr.negated {
            return self.plain(frame, expr);
        }
        let before = frame.enter();
        let op = self.plain(frame, expr)?;
        frame.leave(before);
        Ok(Op::new(OpKind::Negated(Box::new(op)), expr.span, true))
    }

    fn plain(&mut self, frame: &mut Frame, expr: &tree::Expr) -> Result<Op, Problem> {
        let span = expr.span;
        let (kind, single) = match &expr.kind {
            ExprKind::Call(terms) => match terms.as_slice() {
                [function, a, b] if matches!(function.ref_parts(), [one] if one.is_var("eq")) => {
                    let a = self.side(frame, a)?;
                    let b = self.side(frame, b)?;
                    let single = is_single(frame, &a) && is_single(frame, &b);
                    bind(frame, &a);
                    bind(frame, &b);
                    stand_for(frame, &a, &b);
                    stand_for(frame, &b, &a);
                    (OpKind::Unify(Box::new((a, b))), single)
                }
                _ => return self.call(frame, terms, span),
            },
            ExprKind::Term(term) => {
                let side = self.side(frame, term)?;
                let single = is_single(frame, &side);
                bind(frame, &side);
                (OpKind::Test(side), single)
            }
            ExprKind::Every(every) => {
                let domain = self.term(frame, &every.domain)?;
                let before = frame.enter();
                let key = every.key.as_ref().map(|key| self.term(frame, key)).transpose()?;
                let value = self.term(frame, &every.value)?;
                for term in key.iter().chain([&value]) {
                    frame.bind(term);
                }
                if let (Term::Var(domain), Term::Var(value)) = (&domain, &value)
                    && frame.part(*domain) == InputPart::Whole
                {
                    frame.set_part(*value, InputPart::Element);
                }
                let body = self.body(frame, &every.body)?;
                frame.leave(before);
                (OpKind::Every(Box::new(Every { key, value, domain, body })), true)
            }
            ExprKind::Not(not) => (OpKind::Not(self.isolated(frame, &not.body)?), true),
            ExprKind::And(logical) => {
                let left = self.isolated(frame, &logical.left)?;
                (OpKind::And(left, self.isolated(frame, &logical.right)?), true)
            }
            ExprKind::Or(logical) => {
                let left = self.isolated(frame, &logical.left)?;
                (OpKind::Or(left, self.isolated(frame, &logical.right)?), true)
            }
            ExprKind::Some(_) => return Err(unexpected(span, "a declaration")),
        };
        Ok(Op::new(kind, span, single))
    }

    /// Lowers a body whose bindings aren't visible outside.
    fn isolated(&mut self, frame: &mut Frame, body: &tree::Body) -> Result<Body, Problem> {
        let before = frame.enter();
        let body = crate::value::deeper(|| self.body(frame, body))?;
        frame.leave(before);
        Ok(body)
    }

    /// Lowers one side of an equality, or a term that stands alone.
    fn side(&mut self, frame: &mut Frame, term: &tree::Term) -> Result<Side, Problem> {
        Ok(match &term.kind {
            TermKind::Group(inner) => self.side(frame, inner)?,
            TermKind::Ref(parts) => Side::Ref(Box::new(self.reference(frame, parts, term.span)?)),
            // The root documents as a whole.
            TermKind::Var(name) if matches!(&**name, "input" | "data") => {
                let parts = std::slice::from_ref(term);
                Side::Ref(Box::new(self.reference(frame, parts, term.span)?))
            }
            TermKind::Comprehension(..) => {
                Side::Comprehension(Box::new(self.comprehension(frame, term)?))
            }
            _ => Side::Term(self.term(frame, term)?),
        })
    }
}

/// Returns `true` if a side has at most one value.
fn is_single(frame: &Frame, side: &Side) -> bool {
    match side {
        Side::Term(_) | Side::Comprehension(_) => true,
        Side::Ref(reference) => {
            let head = match reference.head {
                Head::Var(slot) => frame.is_bound(&Term::Var(slot)),
                Head::Data(Resolved::Tree) => return reference.path.iter().all(Term::is_const),
                Head::Input | Head::Data(_) | Head::Nothing => true,
            };
            head && reference.path.iter().all(|term| frame.is_bound(term))
        }
    }
}

fn bind(frame: &mut Frame, side: &Side) {
    side.each_operand(&mut |term| frame.bind(term));
}

/// Records the part of the input that a variable equals.
fn stand_for(frame: &mut Frame, var: &Side, other: &Side) {
    let (Side::Term(Term::Var(slot)), Side::Ref(reference)) = (var, other) else { return };
    let part = match (reference.part, &*reference.path) {
        (part, []) => part,
        (InputPart::Whole, [Term::Const(Value::String(_))]) => return,
        (InputPart::Whole, [_]) => InputPart::Element,
        _ => return,
    };
    frame.set_part(*slot, part);
}
