//! Turns the arguments of `print` into sets, so that it can show undefined values.
//!
//! `print("x:", input.x)` becomes
//! `internal.print([{__local0__ | __local0__ = "x:"}, {__local1__ | __local1__ = input.x}])`.

use crate::problem::Problem;
use crate::syntax::tree::{Body, Collection, Expr, ExprKind, Name, Term, TermKind, With};
use crate::syntax::visit::Visit;

use super::functions::Arity;
use super::names::{LocalVarGenerator, NameMap, VarSet, is_generated};
use super::safety::output_vars_for_body;
use super::vars::{self, Vars};
use super::{Compiler, exprs};
use crate::syntax::walk::{self, Node, NodeMut};

/// Returns `true` if a body or a closure in it calls `print`.
pub fn has_print(body: &Body) -> bool {
    walk::any(body, |node| matches!(node, Node::Expr(expr) if is_print(expr)))
}

fn is_print(expr: &Expr) -> bool {
    exprs::operator(expr).is_some_and(|called| exprs::is_name(called, "print"))
}

/// Rewrites calls of `print`.
pub struct PrintRewriter<'a> {
    pub arity: &'a dyn Arity,
    pub generator: &'a mut LocalVarGenerator,
    pub rewritten: &'a NameMap<Name>,
}

impl PrintRewriter<'_> {
    /// Rewrites a body. The variables in `globals` have values before it.
    pub fn body(&mut self, body: &mut Body, globals: &VarSet) -> Vec<Problem> {
        if !has_print(body) {
            return Vec::new();
        }
        let mut problems = Vec::new();
        for index in 0..body.len() {
            let (before, rest) = body.split_at_mut(index);
            let Some(expr) = rest.first_mut() else { continue };
            if exprs::has_closures(expr) {
                let mut safe = output_vars_for_body(&*before, self.arity, globals);
                safe.update(globals);
                self.closures(expr, &mut safe, &mut problems);
                if !problems.is_empty() {
                    return problems;
                }
            }
        }
        // The variables that have values before a `print` call; determined only where there is one.
        let mut safe = VarSet::default();
        let mut upto = 0;
        for index in 0..body.len() {
            if !body.get(index).is_some_and(is_print) {
                continue;
            }
            let before = body.get(..index).unwrap_or_default();
            let known = output_vars_for_body(before, self.arity, globals);
            let mut found = Vars::from(vars::ALL, VarSet::default());
            for expr in body.get(upto..index).unwrap_or_default() {
                found.expr(expr);
            }
            for name in found.found().iter().filter(|name| is_generated(name)) {
                safe.add(name);
            }
            upto = index;
            let mut visible = safe.clone();
            visible.update(&known);
            visible.update(globals);
            if let Some(expr) = body.get_mut(index) {
                self.print(expr, &visible, &mut problems);
                if !problems.is_empty() {
                    return problems;
                }
            }
        }
        problems
    }

    fn closures(&mut self, expr: &mut Expr, safe: &mut VarSet, problems: &mut Vec<Problem>) {
        walk::change(expr, None, |node| match node {
            NodeMut::Body(_) => false,
            NodeMut::Expr(expr) => {
                match &mut expr.kind {
                    ExprKind::Every(every) => {
                        safe.update(&vars::of_every(every));
                        problems.extend(self.body(&mut every.body, safe));
                    }
                    ExprKind::Not(not) => problems.extend(self.body(&mut not.body, safe)),
                    ExprKind::And(logical) | ExprKind::Or(logical) => {
                        problems.extend(self.body(&mut logical.left, safe));
                        problems.extend(self.body(&mut logical.right, safe));
                    }
                    _ => return false,
                }
                for with in &mut expr.with {
                    self.closures_of(with, safe, problems);
                }
                true
            }
            NodeMut::Term(term) => self.closure(term, safe, problems),
        });
    }

    fn closures_of(&mut self, with: &mut With, safe: &VarSet, problems: &mut Vec<Problem>) {
        walk::change(with, None, |node| match node {
            NodeMut::Term(term) => self.closure(term, safe, problems),
            _ => false,
        });
    }

    /// Rewrites the body of a term that is a closure; returns `true` if it is one.
    fn closure(&mut self, term: &mut Term, safe: &VarSet, problems: &mut Vec<Problem>) -> bool {
        let Some(inner) = term.comprehension_mut() else { return false };
        problems.extend(self.body(&mut inner.body, safe));
        true
    }

    fn print(&mut self, expr: &mut Expr, safe: &VarSet, problems: &mut Vec<Problem>) {
        let span = expr.span;
        let ExprKind::Call(terms) = &mut expr.kind else { return };
        for term in terms.iter().skip(1) {
            problems.extend(vars::undeclared(term, safe, self.rewritten));
        }
        if !problems.is_empty() {
            return;
        }
        let sets = std::mem::take(terms).into_iter().skip(1).map(|term| {
            let span = term.span;
            let var = exprs::var(self.generator.generate(), span);
            let capture = exprs::equality(var.clone(), term, span);
            let kind = TermKind::comprehension(Collection::Set, None, var, vec![capture]);
            Term { kind, span }
        });
        let sets = Term { kind: TermKind::Array(sets.collect()), span };
        *expr = Expr::new(ExprKind::Call(vec![Term::internal("print", span), sets]), span);
    }
}

/// Removes calls of `print` from a body and its closures.
pub fn erase(body: &mut Body) {
    walk::change(body, None, erase_in);
}

fn erase_in(node: NodeMut<'_>) -> bool {
    if let NodeMut::Body(body) = node
        && body.iter().any(is_print)
    {
        let span = body.first().map(|expr| expr.span).unwrap_or_default();
        body.retain(|expr| !is_print(expr));
        if body.is_empty() {
            body.push(exprs::truth(span));
        }
    }
    false
}

impl Compiler<'_> {
    /// Rewrites or removes the `print` calls of all rules.
    pub(super) fn rewrite_print_calls(&mut self) {
        if !self.options.prints {
            for rule in self.modules.iter_mut().flat_map(|module| &mut module.rules) {
                walk::change(rule, None, erase_in);
            }
            return;
        }
        let mut modules = std::mem::take(&mut self.modules);
        let mut generator = self.generator.clone();
        let mut problems = Vec::new();
        walk::rules_mut(&mut modules, |rule| {
            let mut found = Vars::from(vars::ALL, VarSet::reserved());
            found.values(&rule.head.args);
            let globals = found.take();
            let mut rewriter = PrintRewriter {
                arity: &*self,
                generator: &mut generator,
                rewritten: &self.rewritten,
            };
            let mut in_body = |body: &mut Body| {
                let found = rewriter.body(body, &globals);
                let failed = !found.is_empty();
                problems.extend(found);
                failed
            };
            let mut visit = |node: NodeMut<'_>| match node {
                NodeMut::Body(body) => in_body(body),
                _ => false,
            };
            walk::change(&mut rule.head, None, &mut visit);
            if has_print(&rule.body) {
                walk::change(&mut rule.body, None, &mut visit);
            }
        });
        self.generator = generator;
        self.modules = modules;
        self.problems(problems);
    }
}
