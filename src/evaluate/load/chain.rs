//! References, taken apart into what they start from and their steps.
//!
//! Owns nothing but the form; what a reference means is [`super::scope`]'s.

use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Span};

use super::scope::Step;

/// A reference taken apart: the expression it starts from, and its steps.
pub(super) struct Chain<'a> {
    pub(super) base: &'a ExprRef,
    pub(super) steps: Vec<Link<'a>>,
}

/// One step of a [`Chain`].
pub(super) enum Link<'a> {
    Field(&'a Span, usize),
    Index(&'a ExprRef, usize),
}

/// Byte offset of a span's end.
pub(super) fn end(span: &Span) -> usize {
    span.end as usize
}

/// Takes a reference apart, iteratively: it may have thousands of steps.
pub(super) fn chain(expr: &ExprRef) -> Chain<'_> {
    let mut base = expr;
    let mut steps = Vec::new();
    loop {
        match base.as_ref() {
            Expr::RefDot { refr, field, span, .. } => {
                steps.push(Link::Field(&field.0, end(span)));
                base = refr;
            }
            Expr::RefBrack { refr, index, span, .. } => {
                steps.push(Link::Index(index, end(span)));
                base = refr;
            }
            _ => break,
        }
    }
    steps.reverse();
    Chain { base, steps }
}

/// The key that an index is, if it is a quoted string.
pub(super) fn key(index: &Expr) -> Option<Arc<str>> {
    match index {
        Expr::String { value, .. } => value.as_string().ok().map(|s| Arc::from(s.as_ref())),
        _ => None,
    }
}

impl Link<'_> {
    pub(super) fn step(&self) -> Step {
        match self {
            Link::Field(span, _) => Step::Key(span.text().into()),
            Link::Index(index, _) => key(index).map_or(Step::Any, Step::Key),
        }
    }

    pub(super) fn end(&self) -> usize {
        match self {
            Link::Field(_, end) | Link::Index(_, end) => *end,
        }
    }
}

/// The path of a reference that has nothing but keys.
pub(super) fn path(expr: &ExprRef) -> Option<(Arc<str>, Vec<Arc<str>>)> {
    let chain = chain(expr);
    let Expr::Var { span, .. } = chain.base.as_ref() else { return None };
    let keys = chain.steps.iter().map(|link| match link.step() {
        Step::Key(key) => Some(key),
        Step::Any => None,
    });
    Some((span.text().into(), keys.collect::<Option<Vec<_>>>()?))
}
