//! Hoists references and comprehensions within terms into statements of their own; replaces `==` by
//! `=`.

use crate::syntax::tree::{Body, Expr, ExprKind, Term, TermKind, With};
use crate::syntax::visit::{VisitMut, walk_kind_mut, walk_term_mut};
use crate::value::deeper;

use super::comprehension_terms::{generate_equality, replace_by_var};
use super::names::LocalVarGenerator;
use super::{Compiler, exprs, order};
use crate::syntax::walk::{self, NodeMut};

/// Hoists references and comprehensions out of terms.
pub struct DynamicTerms<'a> {
    generator: &'a mut LocalVarGenerator,
    /// The statements so far of the current body.
    result: Body,
    /// The `with` of the current statement.
    with: Vec<With>,
}

impl<'a> DynamicTerms<'a> {
    /// Creates a rewriter.
    pub fn new(generator: &'a mut LocalVarGenerator) -> Self {
        Self { generator, result: Vec::new(), with: Vec::new() }
    }

    /// Rewrites a term that may itself remain a reference or a comprehension.
    fn in_term(&mut self, term: &mut Term) {
        if let TermKind::Ref(terms) = &mut term.kind {
            terms.iter_mut().skip(1).for_each(|term| self.term(term));
        } else if let Some(inner) = term.comprehension_mut() {
            deeper(|| self.body(&mut inner.body));
        } else {
            self.term(term);
        }
    }
}

impl VisitMut for DynamicTerms<'_> {
    fn body(&mut self, body: &mut Body) {
        let result = std::mem::replace(&mut self.result, Vec::with_capacity(body.len()));
        let with = std::mem::take(&mut self.with);
        for mut expr in std::mem::take(body) {
            self.with = std::mem::take(&mut expr.with);
            self.expr(&mut expr);
            expr.with = std::mem::take(&mut self.with);
            self.result.push(expr);
        }
        self.with = with;
        *body = std::mem::replace(&mut self.result, result);
    }

    /// Rewrites a statement, without its `with`.
    fn expr(&mut self, expr: &mut Expr) {
        let equality = exprs::is_equality(expr);
        match &mut expr.kind {
            ExprKind::Call(terms) if equality => {
                if let [_, left, right] = terms.as_mut_slice() {
                    self.in_term(left);
                    self.in_term(right);
                }
            }
            ExprKind::Call(terms) => terms.iter_mut().skip(1).for_each(|term| self.term(term)),
            ExprKind::Term(term) => self.in_term(term),
            ExprKind::Some(_) => {}
            kind => walk_kind_mut(self, kind),
        }
    }

    fn term(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Call(_) | TermKind::Template(_) | TermKind::Group(_) => {}
            TermKind::Array(_) | TermKind::Object(_) | TermKind::Set(_) => {
                walk_term_mut(self, term);
                order::sort(term);
            }
            kind if kind.is_leaf() => {}
            _ => {
                deeper(|| self.in_term(term));
                let mut equality = replace_by_var(self.generator, term);
                equality.with.clone_from(&self.with);
                self.result.push(equality);
            }
        }
    }
}

/// Replaces `==` by `=` in a body.
pub fn rewrite_equals(body: &mut Body) {
    walk::change(body, Some(order::sort), replace_equal);
}

fn replace_equal(node: NodeMut<'_>) -> bool {
    if let NodeMut::Expr(expr) = node
        && exprs::operator(expr).is_some_and(|called| exprs::is_name(called, "equal"))
        && let ExprKind::Call(terms) = &mut expr.kind
        && let [operator, _, _] = terms.as_mut_slice()
    {
        *operator = exprs::function("eq", operator.span);
    }
    false
}

/// Hoists references and comprehensions that a test compares, so that a trace shows their values.
fn rewrite_test_equalities(generator: &mut LocalVarGenerator, body: &mut Body) {
    let mut result = Vec::with_capacity(body.len());
    for mut expr in std::mem::take(body) {
        if !expr.negated && !expr.generated {
            let equality = exprs::is_equality(&expr);
            match &mut expr.kind {
                ExprKind::Call(terms) if equality => {
                    for term in terms.iter_mut().skip(1).take(2) {
                        if matches!(term.kind, TermKind::Ref(_)) || term.is_comprehension() {
                            let mut made = generate_equality(generator, term.clone());
                            made.with.clone_from(&expr.with);
                            if let Some(var) = exprs::operands(&made).first() {
                                *term = var.clone();
                            }
                            result.push(made);
                        }
                    }
                }
                ExprKind::Every(every) => {
                    deeper(|| rewrite_test_equalities(generator, &mut every.body))
                }
                _ => {}
            }
        }
        exprs::append(&mut result, [expr]);
    }
    *body = result;
}

impl Compiler<'_> {
    /// Replaces `==` by `=` in all rules.
    pub(super) fn rewrite_equals(&mut self) {
        walk::rules_mut(&mut self.modules, |rule| {
            for term in rule.head.reference.iter_mut().skip(1) {
                walk::change(term, Some(order::sort), replace_equal);
            }
            walk::change(&mut rule.head, Some(order::sort), replace_equal);
            rewrite_equals(&mut rule.body);
        });
    }

    /// Hoists references and comprehensions out of the terms of all rules.
    pub(super) fn rewrite_dynamic_terms(&mut self) {
        let mut rewriter = DynamicTerms::new(&mut self.generator);
        walk::rules_mut(&mut self.modules, |rule| rewriter.body(&mut rule.body));
    }

    /// Hoists the operands of comparisons in all tests, if the options ask for it.
    pub(super) fn rewrite_test_rules_for_tracing(&mut self) {
        if !self.options.rewrite_test_rules {
            return;
        }
        let generator = &mut self.generator;
        walk::rules_mut(&mut self.modules, |rule| {
            if let [Term { kind: TermKind::Var(name), .. }] = rule.head.reference.as_slice()
                && name.starts_with("test_")
            {
                rewrite_test_equalities(generator, &mut rule.body);
            }
        });
    }
}
