//! Hoists terms that must be evaluated out of the heads of comprehensions and rules.
//!
//! `[x[0] | …]` becomes `[__local0__ | …; __local0__ = x[0]]`, and heads of rules are rewritten
//! likewise.

use crate::syntax::tree::{Body, Expr, ExprKind, Name, Term, TermKind};

use super::names::LocalVarGenerator;
use super::stack::deep;
use super::walk::{self, Node};
use super::{Compiler, exprs, order};

/// Generates the statement `__local0__ = term`.
pub fn generate_equality(generator: &mut LocalVarGenerator, term: Term) -> Expr {
    let span = term.span;
    let mut equality = exprs::equality(exprs::var(generator.generate(), span), term, span);
    equality.generated = true;
    equality
}

/// Moves a term into a body if it must be evaluated.
fn hoist(generator: &mut LocalVarGenerator, term: &mut Term, body: &mut Body) {
    if exprs::requires_eval(term) {
        let span = term.span;
        let name: Name = generator.generate();
        let term = std::mem::replace(term, exprs::var(Name::clone(&name), span));
        let mut equality = exprs::equality(exprs::var(name, span), term, span);
        equality.generated = true;
        exprs::append(body, [equality]);
    }
}

/// Rewrites the heads of comprehensions.
pub struct ComprehensionTerms<'a> {
    pub generator: &'a mut LocalVarGenerator,
}

impl ComprehensionTerms<'_> {
    /// Rewrites the comprehensions of a body.
    pub fn body(&mut self, body: &mut Body) {
        // Statements that came from the same statement have the same `with`, which is rewritten
        // once.
        let mut shared: Option<(Vec<crate::syntax::tree::With>, Vec<crate::syntax::tree::With>)> =
            None;
        for expr in body {
            self.kind(&mut expr.kind);
            if expr.with.is_empty() {
                shared = None;
                continue;
            }
            if let Some((before, after)) = &shared
                && order::same_withs(before, &expr.with)
            {
                expr.with.clone_from(after);
                continue;
            }
            let closures = expr.with.iter().any(|with| {
                walk::any_in_term(&with.target, exprs::is_comprehension)
                    || walk::any_in_term(&with.value, exprs::is_comprehension)
            });
            if !closures {
                shared = None;
                continue;
            }
            let before = expr.with.clone();
            for with in &mut expr.with {
                self.term(&mut with.target);
                self.term(&mut with.value);
            }
            shared = Some((before, expr.with.clone()));
        }
    }

    fn kind(&mut self, kind: &mut ExprKind) {
        match kind {
            ExprKind::Term(term) => self.term(term),
            ExprKind::Call(terms) => self.terms(terms),
            ExprKind::Some(decl) => self.terms(&mut decl.symbols),
            ExprKind::Every(every) => deep(|| {
                if let Some(key) = &mut every.key {
                    self.term(key);
                }
                self.term(&mut every.value);
                self.term(&mut every.domain);
                self.body(&mut every.body);
            }),
            ExprKind::Not(not) => deep(|| self.body(&mut not.body)),
            ExprKind::And(logical) | ExprKind::Or(logical) => deep(|| {
                self.body(&mut logical.left);
                self.body(&mut logical.right);
            }),
        }
    }

    fn terms(&mut self, terms: &mut [Term]) {
        for term in terms {
            self.term(term);
        }
    }

    /// Rewrites the comprehensions of a term.
    pub fn term(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Null
            | TermKind::Bool(_)
            | TermKind::Number(_)
            | TermKind::String(_)
            | TermKind::Var(_)
            | TermKind::Template(_) => {}
            TermKind::Ref(terms) | TermKind::Array(terms) | TermKind::Call(terms) => {
                deep(|| self.terms(terms))
            }
            TermKind::Set(terms) => deep(|| {
                self.terms(terms);
                order::sort_set(terms);
            }),
            TermKind::Object(pairs) => deep(|| {
                for (key, value) in pairs.iter_mut() {
                    self.term(key);
                    self.term(value);
                }
                order::sort_object(pairs);
            }),
            TermKind::ArrayComprehension(comprehension)
            | TermKind::SetComprehension(comprehension) => deep(|| {
                hoist(self.generator, &mut comprehension.term, &mut comprehension.body);
                self.term(&mut comprehension.term);
                self.body(&mut comprehension.body);
            }),
            TermKind::ObjectComprehension(comprehension) => deep(|| {
                hoist(self.generator, &mut comprehension.key, &mut comprehension.body);
                hoist(self.generator, &mut comprehension.value, &mut comprehension.body);
                self.term(&mut comprehension.key);
                self.term(&mut comprehension.value);
                self.body(&mut comprehension.body);
            }),
            TermKind::Group(term) => deep(|| self.term(term)),
        }
    }
}

impl Compiler<'_> {
    /// Generates the statement `__local0__ = term`.
    pub(super) fn generate_equality(&mut self, term: Term) -> Expr {
        generate_equality(&mut self.generator, term)
    }

    /// Rewrites the heads of all comprehensions.
    pub(super) fn rewrite_comprehension_terms(&mut self) {
        let mut rewriter = ComprehensionTerms { generator: &mut self.generator };
        for module in &mut self.modules {
            let comprehension =
                |node: Node<'_>| matches!(node, Node::Term(term) if exprs::is_comprehension(term));
            for rule in &mut module.rules {
                if !walk::any_in_rule(rule, comprehension) {
                    continue;
                }
                let mut next = Some(rule);
                while let Some(rule) = next {
                    let head = &mut rule.head;
                    let reference = head.reference.iter_mut().skip(1);
                    for term in
                        reference.chain(&mut head.args).chain(&mut head.key).chain(&mut head.value)
                    {
                        rewriter.term(term);
                    }
                    rewriter.body(&mut rule.body);
                    next = rule.else_rule.as_deref_mut();
                }
            }
        }
    }

    /// Rewrites the heads of all rules.
    pub(super) fn rewrite_refs_in_head(&mut self) {
        let generator = &mut self.generator;
        walk::rules_mut(&mut self.modules, |rule| {
            let head = &mut rule.head;
            for term in head.key.iter_mut().chain(&mut head.value).chain(&mut head.args) {
                hoist(generator, term, &mut rule.body);
            }
            false
        });
    }
}
