//! Hoists references and comprehensions within terms into statements of their own; replaces `==` by
//! `=`.

use crate::syntax::tree::{Body, Expr, ExprKind, Name, Term, TermKind, With};

use super::comprehension_terms::generate_equality;
use super::names::LocalVarGenerator;
use super::stack::deep;
use super::walk::{self, NodeMut};
use super::{Compiler, exprs, order};

/// Hoists references and comprehensions out of terms.
pub struct DynamicTerms<'a> {
    pub generator: &'a mut LocalVarGenerator,
}

impl DynamicTerms<'_> {
    /// Rewrites a body.
    pub fn body(&mut self, body: &mut Body) {
        let mut result = Vec::with_capacity(body.len());
        for mut expr in std::mem::take(body) {
            let with = std::mem::take(&mut expr.with);
            self.kind(&mut expr, &with, &mut result);
            expr.with = with;
            result.push(expr);
        }
        *body = result;
    }

    fn kind(&mut self, expr: &mut Expr, with: &[With], result: &mut Body) {
        let equality = exprs::is_equality(expr);
        match &mut expr.kind {
            ExprKind::Call(terms) if equality => {
                if let [_, left, right] = terms.as_mut_slice() {
                    self.in_term(left, with, result);
                    self.in_term(right, with, result);
                }
            }
            ExprKind::Call(terms) => {
                for term in terms.iter_mut().skip(1) {
                    self.hoist_in(term, with, result);
                }
            }
            ExprKind::Every(every) => deep(|| {
                self.hoist_in(&mut every.domain, with, result);
                self.body(&mut every.body);
            }),
            ExprKind::Not(not) => deep(|| self.body(&mut not.body)),
            ExprKind::And(logical) | ExprKind::Or(logical) => deep(|| {
                self.body(&mut logical.left);
                self.body(&mut logical.right);
            }),
            ExprKind::Term(term) => self.in_term(term, with, result),
            ExprKind::Some(_) => {}
        }
    }

    /// Rewrites a term that may itself remain a reference or a comprehension.
    fn in_term(&mut self, term: &mut Term, with: &[With], result: &mut Body) {
        match &mut term.kind {
            TermKind::Ref(terms) => {
                for term in terms.iter_mut().skip(1) {
                    self.hoist_in(term, with, result);
                }
            }
            TermKind::ArrayComprehension(comprehension)
            | TermKind::SetComprehension(comprehension) => {
                deep(|| self.body(&mut comprehension.body));
            }
            TermKind::ObjectComprehension(comprehension) => {
                deep(|| self.body(&mut comprehension.body))
            }
            _ => self.hoist_in(term, with, result),
        }
    }

    fn hoist_in(&mut self, term: &mut Term, with: &[With], result: &mut Body) {
        match &mut term.kind {
            TermKind::Ref(terms) => {
                deep(|| {
                    for term in terms.iter_mut().skip(1) {
                        self.hoist_in(term, with, result);
                    }
                });
                self.hoist(term, with, result);
            }
            TermKind::Array(terms) => deep(|| {
                for term in terms {
                    self.hoist_in(term, with, result);
                }
            }),
            TermKind::Object(pairs) => deep(|| {
                for (key, value) in pairs.iter_mut() {
                    self.hoist_in(key, with, result);
                    self.hoist_in(value, with, result);
                }
                order::sort_object(pairs);
            }),
            TermKind::Set(terms) => deep(|| {
                for term in terms.iter_mut() {
                    self.hoist_in(term, with, result);
                }
                order::sort_set(terms);
            }),
            TermKind::ArrayComprehension(comprehension)
            | TermKind::SetComprehension(comprehension) => {
                deep(|| self.body(&mut comprehension.body));
                self.hoist(term, with, result);
            }
            TermKind::ObjectComprehension(comprehension) => {
                deep(|| self.body(&mut comprehension.body));
                self.hoist(term, with, result);
            }
            _ => {}
        }
    }

    fn hoist(&mut self, term: &mut Term, with: &[With], result: &mut Body) {
        let span = term.span;
        let name: Name = self.generator.generate();
        let hoisted = std::mem::replace(term, exprs::var(Name::clone(&name), span));
        let mut equality = exprs::equality(exprs::var(name, span), hoisted, span);
        equality.generated = true;
        equality.with = with.to_vec();
        result.push(equality);
    }
}

/// Replaces `==` by `=` in a body.
pub fn rewrite_equals(body: &mut Body) {
    walk::body_mut(body, walk::Order::Sorted, &mut replace_equal);
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
                        if matches!(term.kind, TermKind::Ref(_)) || exprs::is_comprehension(term) {
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
                    deep(|| rewrite_test_equalities(generator, &mut every.body))
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
            let head = &mut rule.head;
            let reference = head.reference.iter_mut().skip(1);
            for term in reference.chain(&mut head.args).chain(&mut head.key).chain(&mut head.value)
            {
                walk::term_mut(term, walk::Order::Sorted, &mut replace_equal);
            }
            rewrite_equals(&mut rule.body);
            false
        });
    }

    /// Hoists references and comprehensions out of the terms of all rules.
    pub(super) fn rewrite_dynamic_terms(&mut self) {
        let mut rewriter = DynamicTerms { generator: &mut self.generator };
        walk::rules_mut(&mut self.modules, |rule| {
            rewriter.body(&mut rule.body);
            false
        });
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
            false
        });
    }
}
