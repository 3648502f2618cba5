//! Hoists calls within terms into statements of their own, before the statement that needs their
//! results.
//!
//! `f(g(x)) == 1` becomes `g(x, __local0__); f(__local0__, __local1__); __local1__ == 1`.

use crate::syntax::tree::{Body, Expr, ExprKind, Name, Term, TermKind, With};
use crate::syntax::visit::{VisitMut, walk_kind_mut, walk_term_mut};
use crate::value::deeper;

use super::comprehension_terms::replace_by_var;
use super::names::{LocalVarGenerator, NameMap};
use super::{Compiler, exprs, order};
use crate::syntax::walk;

/// Hoists calls out of terms.
pub struct ExprTerms<'a> {
    generator: &'a mut LocalVarGenerator,
    /// The terms that generated variables stand for, as the author wrote them.
    subjects: &'a mut NameMap<Term>,
    /// The statements so far of the current body.
    support: Body,
}

impl VisitMut for ExprTerms<'_> {
    fn body(&mut self, body: &mut Body) {
        let outer = std::mem::replace(&mut self.support, Vec::with_capacity(body.len()));
        for mut expr in std::mem::take(body) {
            self.expr(&mut expr);
            self.support.push(expr);
        }
        *body = std::mem::replace(&mut self.support, outer);
    }

    fn expr(&mut self, expr: &mut Expr) {
        for with in &mut expr.with {
            self.term(&mut with.value);
        }
        let start = self.support.len();
        match &mut expr.kind {
            ExprKind::Some(_) => {}
            ExprKind::Every(every) => {
                let span = every.domain.span;
                let var = exprs::var(self.generator.generate(), span);
                let domain = std::mem::replace(&mut every.domain, var.clone());
                let mut equality = exprs::equality(var, domain, span);
                equality.generated = true;
                equality.with.clone_from(&expr.with);
                self.expr(&mut equality);
                // The domain must be evaluated under the same `with` as the equality.
                expr.with.clone_from(&equality.with);
                self.support.push(equality);
                deeper(|| self.body(&mut every.body));
            }
            kind => {
                // The name of a called function remains.
                if let ExprKind::Call(terms) = kind {
                    terms.iter_mut().skip(1).for_each(|term| self.term(term));
                } else {
                    walk_kind_mut(self, kind);
                }
                if !kind.has_bodies() {
                    apply_with(&expr.with, &mut self.support, start);
                }
            }
        }
    }

    /// Rewrites a term; the statements that must be evaluated first are added to `support`.
    fn term(&mut self, term: &mut Term) {
        let span = term.span;
        match &mut term.kind {
            TermKind::Template(_) | TermKind::Group(_) => {}
            TermKind::Call(terms) => {
                deeper(|| terms.iter_mut().skip(1).for_each(|term| self.term(term)));
                let output = exprs::var(self.generator.generate(), span);
                let mut terms = std::mem::take(terms);
                terms.push(output.clone());
                let mut call = Expr::new(ExprKind::Call(terms), span);
                call.generated = true;
                self.support.push(call);
                *term = output;
            }
            TermKind::Ref(terms) => deeper(|| self.reference(terms)),
            TermKind::Comprehension(_, inner) => deeper(|| {
                for term in inner.key.iter_mut().chain([&mut inner.value]) {
                    self.hoist(term, &mut inner.body);
                }
                self.body(&mut inner.body);
            }),
            _ => {
                walk_term_mut(self, term);
                order::sort(term);
            }
        }
    }
}

impl<'a> ExprTerms<'a> {
    /// Creates a rewriter.
    pub fn new(generator: &'a mut LocalVarGenerator, subjects: &'a mut NameMap<Term>) -> Self {
        Self { generator, subjects, support: Vec::new() }
    }

    /// Rewrites a term, and appends the statements that must be evaluated first to a body.
    fn hoist(&mut self, term: &mut Term, body: &mut Body) {
        let outer = std::mem::take(&mut self.support);
        self.term(term);
        exprs::append(body, std::mem::replace(&mut self.support, outer));
    }

    fn reference(&mut self, terms: &mut [Term]) {
        for term in terms.iter_mut() {
            let subject = matches!(term.kind, TermKind::Call(_)).then(|| term.clone());
            self.term(term);
            if let (TermKind::Var(name), Some(subject)) = (&term.kind, subject) {
                self.subjects.insert(Name::clone(name), subject);
            }
        }
        let Some(head) = terms.first_mut() else { return };
        if matches!(head.kind, TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_))
            || head.is_comprehension()
        {
            let subject = head.clone();
            let equality = replace_by_var(self.generator, head);
            if let TermKind::Var(name) = &head.kind {
                self.subjects.insert(Name::clone(name), subject);
            }
            self.support.push(equality);
        }
    }
}

/// Gives the statements hoisted out of an expression its `with`.
fn apply_with(with: &[With], result: &mut Body, start: usize) {
    if !with.is_empty() {
        for expr in result.iter_mut().skip(start) {
            expr.with = with.to_vec();
        }
    }
}

impl Compiler<'_> {
    /// Hoists calls out of the terms of all rules.
    pub(super) fn rewrite_expr_terms(&mut self) {
        let mut rewriter = ExprTerms::new(&mut self.generator, &mut self.subjects);
        walk::rules_mut(&mut self.modules, |rule| {
            let head = &mut rule.head;
            for term in head.args.iter_mut().chain(&mut head.key).chain(&mut head.value) {
                rewriter.hoist(term, &mut rule.body);
            }
            rewriter.body(&mut rule.body);
        });
    }
}
