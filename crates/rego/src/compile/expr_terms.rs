//! Hoists calls within terms into statements of their own, before the statement that needs their
//! results.
//!
//! `f(g(x)) == 1` becomes `g(x, __local0__); f(__local0__, __local1__); __local1__ == 1`.

use crate::syntax::tree::{Body, Expr, ExprKind, Name, Rule, Term, TermKind, With};

use super::names::{LocalVarGenerator, NameMap};
use super::stack::deep;
use super::walk;
use super::{Compiler, exprs, order};

/// Hoists calls out of terms.
pub struct ExprTerms<'a> {
    pub generator: &'a mut LocalVarGenerator,
    /// The terms that generated variables stand for, as the author wrote them.
    pub subjects: &'a mut NameMap<Term>,
}

impl ExprTerms<'_> {
    /// Rewrites a body.
    pub fn body(&mut self, body: &mut Body) {
        let mut result = Vec::with_capacity(body.len());
        for expr in std::mem::take(body) {
            self.expr(expr, &mut result);
        }
        *body = result;
    }

    fn expr(&mut self, mut expr: Expr, result: &mut Body) {
        for with in &mut expr.with {
            self.term(&mut with.value, result);
        }
        let start = result.len();
        match &mut expr.kind {
            ExprKind::Term(term) => {
                self.term(term, result);
                apply_with(&expr.with, result, start);
            }
            ExprKind::Call(terms) => {
                for term in terms.iter_mut().skip(1) {
                    self.term(term, result);
                }
                apply_with(&expr.with, result, start);
            }
            ExprKind::Every(every) => deep(|| {
                let span = every.domain.span;
                let var = exprs::var(self.generator.generate(), span);
                let domain = std::mem::replace(&mut every.domain, var.clone());
                let mut equality = exprs::equality(var, domain, span);
                equality.generated = true;
                equality.with.clone_from(&expr.with);
                self.expr(equality, result);
                if let Some(last) = result.last() {
                    // The domain must be evaluated under the same `with` as the equality.
                    expr.with.clone_from(&last.with);
                }
                self.body(&mut every.body);
            }),
            ExprKind::Not(not) => deep(|| self.body(&mut not.body)),
            ExprKind::And(logical) | ExprKind::Or(logical) => deep(|| {
                self.body(&mut logical.left);
                self.body(&mut logical.right);
            }),
            ExprKind::Some(_) => {}
        }
        result.push(expr);
    }

    /// Rewrites a term; the statements that must be evaluated first are added to `support`.
    pub fn term(&mut self, term: &mut Term, support: &mut Vec<Expr>) {
        let span = term.span;
        match &mut term.kind {
            TermKind::Call(terms) => {
                deep(|| {
                    for term in terms.iter_mut().skip(1) {
                        self.term(term, support);
                    }
                });
                let output = exprs::var(self.generator.generate(), span);
                let mut terms = std::mem::take(terms);
                terms.push(output.clone());
                let mut call = exprs::expr(ExprKind::Call(terms), span);
                call.generated = true;
                support.push(call);
                *term = output;
            }
            TermKind::Ref(terms) => deep(|| self.reference(terms, support)),
            TermKind::Array(terms) => deep(|| {
                for term in terms {
                    self.term(term, support);
                }
            }),
            TermKind::Set(terms) => deep(|| {
                for term in terms.iter_mut() {
                    self.term(term, support);
                }
                order::sort_set(terms);
            }),
            TermKind::Object(pairs) => deep(|| {
                for (key, value) in pairs.iter_mut() {
                    self.term(key, support);
                    self.term(value, support);
                }
                order::sort_object(pairs);
            }),
            TermKind::ArrayComprehension(comprehension)
            | TermKind::SetComprehension(comprehension) => deep(|| {
                let mut support = Vec::new();
                self.term(&mut comprehension.term, &mut support);
                exprs::append(&mut comprehension.body, support);
                self.body(&mut comprehension.body);
            }),
            TermKind::ObjectComprehension(comprehension) => deep(|| {
                let mut support = Vec::new();
                self.term(&mut comprehension.key, &mut support);
                exprs::append(&mut comprehension.body, support);
                let mut support = Vec::new();
                self.term(&mut comprehension.value, &mut support);
                exprs::append(&mut comprehension.body, support);
                self.body(&mut comprehension.body);
            }),
            _ => {}
        }
    }

    fn reference(&mut self, terms: &mut [Term], support: &mut Vec<Expr>) {
        for term in terms.iter_mut() {
            let subject = matches!(term.kind, TermKind::Call(_)).then(|| term.clone());
            self.term(term, support);
            if let (TermKind::Var(name), Some(subject)) = (&term.kind, subject) {
                self.subjects.insert(Name::clone(name), subject);
            }
        }
        let Some(head) = terms.first_mut() else { return };
        if matches!(head.kind, TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_))
            || exprs::is_comprehension(head)
        {
            let name = self.generator.generate();
            self.subjects.insert(Name::clone(&name), head.clone());
            let span = head.span;
            let subject = std::mem::replace(head, exprs::var(name, span));
            let mut equality = exprs::equality(head.clone(), subject, span);
            equality.generated = true;
            support.push(equality);
        }
    }

    fn head(&mut self, rule: &mut Rule) {
        for index in 0..rule.head.args.len() {
            let mut support = Vec::new();
            if let Some(term) = rule.head.args.get_mut(index) {
                self.term(term, &mut support);
            }
            exprs::append(&mut rule.body, support);
        }
        for term in rule.head.key.iter_mut().chain(&mut rule.head.value) {
            let mut support = Vec::new();
            self.term(term, &mut support);
            exprs::append(&mut rule.body, support);
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
        let mut rewriter =
            ExprTerms { generator: &mut self.generator, subjects: &mut self.subjects };
        walk::rules_mut(&mut self.modules, |rule| {
            rewriter.head(rule);
            rewriter.body(&mut rule.body);
            false
        });
    }
}
