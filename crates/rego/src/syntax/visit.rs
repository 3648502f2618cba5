//! Visitors of the tree: one that reads ([`Visit`]), one that changes ([`VisitMut`]), and shortcuts
//! for the first.
//!
//! Both visit everything, including closures: the bodies of comprehensions, `every`, `not`, `and`,
//! `or` and template strings. To skip a kind of node, override its method without calling the walk
//! function. The order is OPA's: an expression's terms before its `with`, a comprehension's head
//! before its body, a rule's head before its body before its `else`.

use std::collections::BTreeSet;

use super::compare;
use super::tree::{
    Body, Comprehension, Every, Expr, ExprKind, Head, Import, Logical, Module, Name, Not, Rule,
    SomeDecl, Span, Template, TemplatePart, Term, TermKind, With, is_root,
};
use crate::value::deeper;

/// Defines a visitor and its walk functions. Everything is the same for nodes that are read and for
/// nodes that are changed, except for the references.
macro_rules! visitor {
    (
        $(#[$doc:meta])*
        $visitor:ident, &$($mut:ident)?, $walk_term:ident, $walk_parts:ident, $walk_expr:ident,
        $walk_kind:ident, $walk_body:ident, $walk_with:ident, $walk_head:ident, $walk_rule:ident,
        $walk_module:ident
    ) => {
        $(#[$doc])*
        pub trait $visitor {
            /// Visits a term.
            fn term(&mut self, term: &$($mut)? Term) {
                $walk_term(self, term);
            }
            /// Visits a statement.
            fn expr(&mut self, expr: &$($mut)? Expr) {
                $walk_expr(self, expr);
            }
            /// Visits a body.
            fn body(&mut self, body: &$($mut)? Body) {
                $walk_body(self, body);
            }
            /// Visits a `with`.
            fn with(&mut self, with: &$($mut)? With) {
                $walk_with(self, with);
            }
            /// Visits a rule's head.
            fn head(&mut self, head: &$($mut)? Head) {
                $walk_head(self, head);
            }
            /// Visits a rule.
            fn rule(&mut self, rule: &$($mut)? Rule) {
                $walk_rule(self, rule);
            }
            /// Visits an import.
            fn import(&mut self, import: &$($mut)? Import) {
                self.term(&$($mut)? import.path);
            }
            /// Visits a module.
            fn module(&mut self, module: &$($mut)? Module) {
                $walk_module(self, module);
            }
        }

        /// Visits a term's parts.
        pub fn $walk_term<V: $visitor + ?Sized>(v: &mut V, term: &$($mut)? Term) {
            if !term.kind.is_leaf() {
                deeper(|| $walk_parts(v, term));
            }
        }

        fn $walk_parts<V: $visitor + ?Sized>(v: &mut V, term: &$($mut)? Term) {
            match &$($mut)? term.kind {
                TermKind::Null
                | TermKind::Bool(_)
                | TermKind::Number(_)
                | TermKind::String(_)
                | TermKind::Var(_) => {}
                TermKind::Template(Template { parts, .. }) => {
                    for part in parts {
                        match part {
                            TemplatePart::Text(term) => v.term(term),
                            TemplatePart::Expr(expr) => v.expr(expr),
                        }
                    }
                }
                TermKind::Ref(terms)
                | TermKind::Array(terms)
                | TermKind::Set(terms)
                | TermKind::Call(terms) => {
                    for term in terms {
                        v.term(term);
                    }
                }
                TermKind::Object(pairs) => {
                    for (key, value) in pairs {
                        v.term(key);
                        v.term(value);
                    }
                }
                TermKind::Comprehension(_, inner) => {
                    let Comprehension { key, value, body, .. } = &$($mut)? **inner;
                    if let Some(key) = key {
                        v.term(key);
                    }
                    v.term(value);
                    v.body(body);
                }
                TermKind::Group(inner) => v.term(inner),
            }
        }

        /// Visits a statement's parts.
        pub fn $walk_expr<V: $visitor + ?Sized>(v: &mut V, expr: &$($mut)? Expr) {
            $walk_kind(v, &$($mut)? expr.kind);
            for with in &$($mut)? expr.with {
                v.with(with);
            }
        }

        /// Visits a statement's parts, without its `with`.
        pub(crate) fn $walk_kind<V: $visitor + ?Sized>(v: &mut V, kind: &$($mut)? ExprKind) {
            match kind {
                ExprKind::Term(term) => v.term(term),
                ExprKind::Call(terms) | ExprKind::Some(SomeDecl { symbols: terms, .. }) => {
                    for term in terms {
                        v.term(term);
                    }
                }
                ExprKind::Every(every) => {
                    let Every { key, value, domain, body, .. } = &$($mut)? **every;
                    if let Some(key) = key {
                        v.term(key);
                    }
                    v.term(value);
                    v.term(domain);
                    deeper(|| v.body(body));
                }
                ExprKind::Not(Not { body, .. }) => deeper(|| v.body(body)),
                ExprKind::And(logical) | ExprKind::Or(logical) => {
                    let Logical { left, right, .. } = &$($mut)? **logical;
                    deeper(|| {
                        v.body(left);
                        v.body(right);
                    });
                }
            }
        }

        /// Visits a body's statements.
        pub fn $walk_body<V: $visitor + ?Sized>(v: &mut V, body: &$($mut)? Body) {
            for expr in body {
                v.expr(expr);
            }
        }

        /// Visits the target and value of a `with`.
        pub fn $walk_with<V: $visitor + ?Sized>(v: &mut V, with: &$($mut)? With) {
            v.term(&$($mut)? with.target);
            v.term(&$($mut)? with.value);
        }

        /// Visits a head's reference, parameters, key and value. The key of `p[x]` is also part of
        /// the reference.
        pub fn $walk_head<V: $visitor + ?Sized>(v: &mut V, head: &$($mut)? Head) {
            let Head { reference, args, key, value, .. } = head;
            for term in [reference, args].into_iter().flatten().chain(key).chain(value) {
                v.term(term);
            }
        }

        /// Visits a rule's head, body and `else` branch.
        pub fn $walk_rule<V: $visitor + ?Sized>(v: &mut V, rule: &$($mut)? Rule) {
            v.head(&$($mut)? rule.head);
            v.body(&$($mut)? rule.body);
            if let Some(rule) = &$($mut)? rule.else_rule {
                deeper(|| v.rule(rule));
            }
        }

        /// Visits a module's package, imports and rules.
        pub fn $walk_module<V: $visitor + ?Sized>(v: &mut V, module: &$($mut)? Module) {
            for term in &$($mut)? module.package.path {
                v.term(term);
            }
            for import in &$($mut)? module.imports {
                v.import(import);
            }
            for rule in &$($mut)? module.rules {
                v.rule(rule);
            }
        }
    };
}

visitor! {
    /// A visitor that reads nodes. By default, each method visits the node's parts.
    Visit, &, walk_term, walk_parts, walk_expr, walk_kind, walk_body, walk_with, walk_head,
    walk_rule, walk_module
}

visitor! {
    /// A visitor that changes nodes. By default, each method visits the node's parts.
    VisitMut, &mut, walk_term_mut, walk_parts_mut, walk_expr_mut, walk_kind_mut, walk_body_mut,
    walk_with_mut, walk_head_mut, walk_rule_mut, walk_module_mut
}

/// A node that accepts visitors.
pub trait Node {
    /// Calls the visitor's method for this kind of node.
    fn accept<V: Visit + ?Sized>(&self, v: &mut V);
    /// Calls the mutable visitor's method for this kind of node.
    fn accept_mut<V: VisitMut + ?Sized>(&mut self, v: &mut V);
}

macro_rules! node {
    ($($type:ty => $method:ident),+ $(,)?) => {
        $(impl Node for $type {
            fn accept<V: Visit + ?Sized>(&self, v: &mut V) {
                v.$method(self);
            }
            fn accept_mut<V: VisitMut + ?Sized>(&mut self, v: &mut V) {
                v.$method(self);
            }
        })+
    };
}

node! {
    Term => term,
    Expr => expr,
    Body => body,
    With => with,
    Head => head,
    Rule => rule,
    Import => import,
    Module => module,
}

struct Terms<'a>(&'a mut dyn FnMut(&Term) -> bool);

impl Visit for Terms<'_> {
    fn term(&mut self, term: &Term) {
        if (self.0)(term) {
            walk_term(self, term);
        }
    }
}

/// Calls `look` with all terms of a node, outer ones first. If it returns `false`, the parts of the
/// term are skipped.
pub fn walk_terms<N: Node + ?Sized>(node: &N, look: &mut dyn FnMut(&Term) -> bool) {
    node.accept(&mut Terms(look));
}

struct Exprs<'a>(&'a mut dyn FnMut(&Expr) -> bool);

impl Visit for Exprs<'_> {
    fn expr(&mut self, expr: &Expr) {
        if (self.0)(expr) {
            walk_expr(self, expr);
        }
    }
}

/// Calls `look` with all statements of a node, outer ones first. If it returns `false`, the parts
/// of the statement are skipped.
pub fn walk_exprs<N: Node + ?Sized>(node: &N, look: &mut dyn FnMut(&Expr) -> bool) {
    node.accept(&mut Exprs(look));
}

struct Rules<'a>(&'a mut dyn FnMut(&Rule));

impl Visit for Rules<'_> {
    fn rule(&mut self, rule: &Rule) {
        rule.branches().for_each(&mut *self.0);
    }
}

/// Calls `look` with all rules of a node, including `else` branches.
pub fn walk_rules<N: Node + ?Sized>(node: &N, look: &mut dyn FnMut(&Rule)) {
    node.accept(&mut Rules(look));
}

/// All variables in a node, including those in closures, heads of references and names of
/// functions.
pub fn vars<N: Node + ?Sized>(node: &N) -> BTreeSet<Name> {
    let mut vars = BTreeSet::new();
    walk_terms(node, &mut |term| {
        if let TermKind::Var(name) = &term.kind {
            vars.insert(Name::clone(name));
        }
        true
    });
    vars
}

/// Returns `true` if a term has no variables, apart from heads of references. A bare `input` or
/// `data` is a reference.
pub fn is_ground(term: &Term) -> bool {
    match &term.kind {
        TermKind::Var(name) => is_root(name),
        kind if kind.is_leaf() => true,
        kind => deeper(|| is_ground_kind(kind)),
    }
}

fn is_ground_kind(kind: &TermKind) -> bool {
    match kind {
        TermKind::Ref(terms) | TermKind::Call(terms) => terms.iter().skip(1).all(is_ground),
        TermKind::Array(terms) | TermKind::Set(terms) => terms.iter().all(is_ground),
        TermKind::Object(pairs) => {
            pairs.iter().all(|(key, value)| is_ground(key) && is_ground(value))
        }
        TermKind::Comprehension(_, inner) => {
            inner.key.iter().all(is_ground)
                && is_ground(&inner.value)
                && is_ground_body(&inner.body)
        }
        TermKind::Group(inner) => is_ground(inner),
        _ => false,
    }
}

/// Returns `true` if a body has no variables.
pub fn is_ground_body(body: &Body) -> bool {
    body.iter().all(|expr| {
        let withs =
            || expr.with.iter().all(|with| is_ground(&with.target) && is_ground(&with.value));
        match &expr.kind {
            ExprKind::Term(term) => is_ground(term),
            ExprKind::Call(terms) => terms.iter().skip(1).all(is_ground) && withs(),
            ExprKind::Some(_) | ExprKind::Every(_) => false,
            ExprKind::Not(not) => deeper(|| is_ground_body(&not.body)),
            ExprKind::And(logical) | ExprKind::Or(logical) => {
                deeper(|| is_ground_body(&logical.left) && is_ground_body(&logical.right))
            }
        }
    })
}

/// Moves nodes to a position. OPA's visit of a set or an object sorts it.
struct Locate(Span);

impl VisitMut for Locate {
    fn term(&mut self, term: &mut Term) {
        term.span = self.0;
        walk_term_mut(self, term);
        compare::sort(term);
    }
    fn expr(&mut self, expr: &mut Expr) {
        expr.span = self.0;
        walk_expr_mut(self, expr);
    }
}

/// Sets the span of a head and of all nodes in it, and sorts the sets and objects in it.
pub(super) fn locate_head(head: &mut Head, span: Span) {
    head.span = span;
    Locate(span).head(head);
}

/// Sets the span of a body and of all nodes in it, and sorts the sets and objects in it.
pub(super) fn locate_body(body: &mut Body, span: Span) {
    Locate(span).body(body);
}
