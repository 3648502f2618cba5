//! Visits all nodes below a node, to read or to change them, by a closure.
//!
//! Both kinds of visits follow OPA's order: terms before bodies, an expression before its `with`.
//! If a closure returns `true`, the nodes below the current one are skipped. The reference of a head
//! isn't visited.

use super::tree::{Body, Expr, Head, Module, Rule, Term, With};
use super::visit::{self, Visit, VisitMut};

/// A node that is read.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// A body, of a rule or of a closure.
    Body,
    /// An expression.
    Expr(&'a Expr),
    Term(&'a Term),
    With(&'a With),
}

struct Reader<F>(F);

impl<F: FnMut(Node<'_>) -> bool> Visit for Reader<F> {
    fn term(&mut self, term: &Term) {
        if !(self.0)(Node::Term(term)) {
            visit::walk_term(self, term);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        if !(self.0)(Node::Expr(expr)) {
            visit::walk_expr(self, expr);
        }
    }

    fn body(&mut self, body: &Body) {
        if !(self.0)(Node::Body) {
            visit::walk_body(self, body);
        }
    }

    fn with(&mut self, with: &With) {
        if !(self.0)(Node::With(with)) {
            visit::walk_with(self, with);
        }
    }

    fn head(&mut self, head: &Head) {
        for term in head.args.iter().chain(&head.key).chain(&head.value) {
            self.term(term);
        }
    }
}

/// Calls `f` with a node and the nodes in it.
pub fn read<N: visit::Node + ?Sized>(node: &N, f: impl FnMut(Node<'_>) -> bool) {
    node.accept(&mut Reader(f));
}

/// Collects what `find` finds in a node and the nodes in it.
pub fn collect<T, N: visit::Node + ?Sized>(
    node: &N,
    mut find: impl FnMut(Node<'_>) -> Option<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    read(node, |node| {
        found.extend(find(node));
        false
    });
    found
}

/// Returns `true` if `found` returns `true` for the node or a node in it.
pub fn any<N: visit::Node + ?Sized>(node: &N, mut found: impl FnMut(Node<'_>) -> bool) -> bool {
    let mut hit = false;
    read(node, |node| {
        hit = hit || found(node);
        hit
    });
    hit
}

/// Returns `true` if `found` returns `true` for a term of the node.
pub fn any_term<N: visit::Node + ?Sized>(node: &N, found: impl Fn(&Term) -> bool) -> bool {
    any(node, |node| matches!(node, Node::Term(term) if found(term)))
}

/// A node that can be changed.
pub enum NodeMut<'a> {
    /// A body, of a rule or of a closure.
    Body(&'a mut Body),
    /// An expression.
    Expr(&'a mut Expr),
    Term(&'a mut Term),
}

struct Changer<F> {
    change: F,
    sort: Option<fn(&mut Term)>,
}

impl<F: FnMut(NodeMut<'_>) -> bool> VisitMut for Changer<F> {
    fn term(&mut self, term: &mut Term) {
        if !(self.change)(NodeMut::Term(term)) {
            visit::walk_term_mut(self, term);
            if let Some(sort) = self.sort {
                sort(term);
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        if !(self.change)(NodeMut::Expr(expr)) {
            visit::walk_expr_mut(self, expr);
        }
    }

    fn body(&mut self, body: &mut Body) {
        if !(self.change)(NodeMut::Body(body)) {
            visit::walk_body_mut(self, body);
        }
    }

    fn head(&mut self, head: &mut Head) {
        for term in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
            self.term(term);
        }
    }
}

/// Calls `change` with a node and the nodes in it. After its parts were visited, a term is sorted by
/// `sort`, if it's given: OPA does so in some stages, and in others keeps the order.
pub fn change<N: visit::Node + ?Sized>(
    node: &mut N,
    sort: Option<fn(&mut Term)>,
    change: impl FnMut(NodeMut<'_>) -> bool,
) {
    node.accept_mut(&mut Changer { change, sort });
}

/// Calls `f` with each rule and then with its `else` branches.
pub fn rules_mut(modules: &mut [Module], mut f: impl FnMut(&mut Rule)) {
    for rule in modules.iter_mut().flat_map(|module| &mut module.rules) {
        let mut next = Some(rule);
        while let Some(rule) = next {
            f(rule);
            next = rule.else_rule.as_deref_mut();
        }
    }
}
