//! Helpers that inspect and build expressions, terms and heads.

use crate::syntax::tree::{Body, Expr, ExprKind, Head, Name, Span, Term, TermKind, is_root};
use crate::syntax::visit::is_ground;

use super::functions::function_name;
use super::names::is_wildcard;
use crate::syntax::walk::{self, Node};

/// The name of the function that an expression calls.
pub fn operator(expr: &Expr) -> Option<&[Term]> {
    match &expr.kind {
        ExprKind::Call(terms) => match terms.first() {
            Some(Term { kind: TermKind::Ref(operator), .. }) => Some(operator),
            // A literal, which isn't a function.
            other => other.map(std::slice::from_ref),
        },
        _ => None,
    }
}

/// The arguments of a call.
pub fn operands(expr: &Expr) -> &[Term] {
    match &expr.kind {
        ExprKind::Call(terms) => terms.get(1..).unwrap_or_default(),
        _ => &[],
    }
}

/// Returns `true` if a reference consists of just this name.
pub fn is_name(reference: &[Term], name: &str) -> bool {
    matches!(reference, [Term { kind: TermKind::Var(var), .. }] if **var == *name)
}

/// Returns `true` if an expression is `… = …`.
pub fn is_equality(expr: &Expr) -> bool {
    operator(expr).is_some_and(|called| is_name(called, "eq"))
}

/// Returns `true` if an expression is `… := …`.
pub fn is_assignment(expr: &Expr) -> bool {
    operator(expr).is_some_and(|called| is_name(called, "assign"))
}

/// Returns `true` if an expression calls the function with this name.
pub fn calls(expr: &Expr, name: &str) -> bool {
    operator(expr)
        .is_some_and(|called| function_name(called).is_some_and(|called_name| called_name == name))
}

/// Makes a variable.
pub fn var(name: Name, span: Span) -> Term {
    Term { kind: TermKind::Var(name), span }
}

/// Makes the name of a function without dots, in the form that it has in a call.
pub fn function(name: &str, span: Span) -> Term {
    Term { kind: TermKind::Ref(vec![var(name.into(), span)]), span }
}

/// Makes `left = right`.
pub fn equality(left: Term, right: Term, span: Span) -> Expr {
    Expr::new(ExprKind::Call(vec![function("eq", span), left, right]), span)
}

/// Makes the expression `true`.
pub fn truth(span: Span) -> Expr {
    Expr::new(ExprKind::Term(Box::new(Term { kind: TermKind::Bool(true), span })), span)
}

/// Returns `true` if a body consists of just `true`.
pub fn is_empty_body(body: &Body) -> bool {
    matches!(
        body.as_slice(),
        [Expr { kind: ExprKind::Term(term), .. }] if matches!(term.kind, TermKind::Bool(true))
    )
}

/// Appends to a body, replacing a lone `true`.
pub fn append(body: &mut Body, more: impl IntoIterator<Item = Expr>) {
    let mut more = more.into_iter().peekable();
    if more.peek().is_some() && is_empty_body(body) {
        body.clear();
    }
    body.extend(more);
}

/// Returns `true` if a statement has a body or a comprehension in it.
pub fn has_closures(expr: &Expr) -> bool {
    walk::any(expr, |node| match node {
        Node::Expr(expr) => expr.kind.has_bodies(),
        Node::Term(term) => term.is_comprehension(),
        _ => false,
    })
}

/// Returns `true` if the operands of a reference have no variables.
pub fn is_ground_ref(terms: &[Term]) -> bool {
    terms.iter().skip(1).all(is_ground)
}

/// A reference up to its first operand with a variable.
pub fn ground_prefix(terms: &[Term]) -> &[Term] {
    let end =
        terms.iter().skip(1).position(|term| !is_ground(term)).map_or(terms.len(), |at| at + 1);
    terms.get(..end).unwrap_or(terms)
}

/// Returns `true` if a term contains a reference or a comprehension.
pub fn requires_eval(term: &Term) -> bool {
    !term.is_scalar()
        && walk::any_term(term, |part| {
            matches!(part.kind, TermKind::Ref(_)) || part.is_comprehension()
        })
}

/// Returns `true` if a head contains any term that isn't a scalar.
pub fn head_may_have_vars(head: &Head) -> bool {
    let reference = head.reference.iter().skip(1);
    head.args
        .iter()
        .chain(&head.key)
        .chain(&head.value)
        .chain(reference)
        .any(|term| !term.is_scalar())
}

/// Returns `true` if a rule defines elements of a set.
pub fn is_multi_value(head: &Head) -> bool {
    head.value.is_none() && head.key.is_some()
}

/// The name of the document if a term is just `data` or `input`.
pub fn root_document(term: &Term) -> Option<&Name> {
    let TermKind::Ref(terms) = &term.kind else { return None };
    match terms.as_slice() {
        [Term { kind: TermKind::Var(name), .. }] if is_root(name) => Some(name),
        _ => None,
    }
}

/// The name of a variable in messages.
pub fn show_var(name: &str) -> &str {
    if is_wildcard(name) { "_" } else { name }
}
