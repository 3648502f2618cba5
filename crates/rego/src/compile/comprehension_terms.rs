//! Hoists terms that must be evaluated out of the heads of comprehensions and rules.
//!
//! `[x[0] | …]` becomes `[__local0__ | …; __local0__ = x[0]]`, and heads of rules are rewritten
//! likewise.

use crate::syntax::tree::{Body, Expr, Name, Term, TermKind, With};
use crate::syntax::visit::{VisitMut, walk_kind_mut, walk_term_mut};

use super::names::LocalVarGenerator;
use super::{Compiler, exprs, order};
use crate::syntax::walk;

/// Generates the statement `__local0__ = term`.
pub fn generate_equality(generator: &mut LocalVarGenerator, term: Term) -> Expr {
    let span = term.span;
    let mut equality = exprs::equality(exprs::var(generator.generate(), span), term, span);
    equality.generated = true;
    equality
}

/// Replaces a term by a new variable, and generates the statement that gives it the term's value.
pub fn replace_by_var(generator: &mut LocalVarGenerator, term: &mut Term) -> Expr {
    let name: Name = generator.generate();
    let span = term.span;
    let term = std::mem::replace(term, exprs::var(Name::clone(&name), span));
    let mut equality = exprs::equality(exprs::var(name, span), term, span);
    equality.generated = true;
    equality
}

/// Moves a term into a body if it must be evaluated.
fn hoist(generator: &mut LocalVarGenerator, term: &mut Term, body: &mut Body) {
    if exprs::requires_eval(term) {
        let equality = replace_by_var(generator, term);
        exprs::append(body, [equality]);
    }
}

/// Rewrites the heads of comprehensions.
pub struct ComprehensionTerms<'a> {
    pub generator: &'a mut LocalVarGenerator,
}

impl VisitMut for ComprehensionTerms<'_> {
    fn body(&mut self, body: &mut Body) {
        // Statements that came from the same statement have the same `with`, which is rewritten
        // once.
        let mut shared: Option<(Vec<With>, Vec<With>)> = None;
        for expr in body {
            walk_kind_mut(self, &mut expr.kind);
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
            if !expr.with.iter().any(|with| walk::any_term(with, Term::is_comprehension)) {
                shared = None;
                continue;
            }
            let before = expr.with.clone();
            for with in &mut expr.with {
                self.with(with);
            }
            shared = Some((before, expr.with.clone()));
        }
    }

    fn term(&mut self, term: &mut Term) {
        if matches!(term.kind, TermKind::Template(_)) {
            return;
        }
        if let Some(inner) = term.comprehension_mut() {
            for term in inner.key.iter_mut().chain([&mut inner.value]) {
                hoist(self.generator, term, &mut inner.body);
            }
        }
        walk_term_mut(self, term);
        order::sort(term);
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
        for rule in self.modules.iter_mut().flat_map(|module| &mut module.rules) {
            if walk::any_term(rule, Term::is_comprehension) {
                rewriter.rule(rule);
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
        });
    }
}
