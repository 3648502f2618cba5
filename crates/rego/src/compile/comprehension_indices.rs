//! Finds the variables by which a comprehension can be indexed, so that its results are computed
//! once for all their values.

use crate::syntax::tree::{Body, Expr, ExprKind, Name, Term, TermKind};
use crate::syntax::visit::Visit;
use crate::threads;

use super::functions::{Arity, function_name};
use super::names::VarSet;
use super::safety::output_vars_for_body;
use super::vars::{self, SAFETY, Vars, VarsParams};
use super::{Compiler, exprs};
use crate::syntax::walk::{self, Node, NodeMut};

/// Sets the keys of the comprehensions of a body. The variables in `candidates` have values before
/// it.
pub fn build(arity: &dyn Arity, candidates: VarSet, body: &mut Body) {
    let mut candidates = candidates;
    walk::change(body, None, |node| {
        if let NodeMut::Body(body) = node {
            for expr in body {
                if let Some(keys) = comprehension(expr)
                    .and_then(|comprehension| keys(arity, &candidates, comprehension))
                {
                    set_keys(expr, keys);
                }
                let mut vars = Vars::from(SAFETY, std::mem::take(&mut candidates));
                vars.expr(expr);
                candidates = vars.take();
            }
        }
        false
    });
}

/// The comprehension of `x = [… | …]`.
fn comprehension(expr: &Expr) -> Option<&Term> {
    if !exprs::is_equality(expr) || expr.negated || !expr.with.is_empty() {
        return None;
    }
    let [left, right, ..] = exprs::operands(expr) else { return None };
    let is_var = |term: &Term| matches!(term.kind, TermKind::Var(_));
    if is_var(left) && right.is_comprehension() {
        Some(right)
    } else if is_var(right) && left.is_comprehension() {
        Some(left)
    } else {
        None
    }
}

fn set_keys(expr: &mut Expr, keys: Vec<Name>) {
    let ExprKind::Call(terms) = &mut expr.kind else { return };
    for term in terms.iter_mut().skip(1) {
        if let Some(comprehension) = term.comprehension_mut() {
            comprehension.keys = keys;
            return;
        }
    }
}

fn keys(arity: &dyn Arity, candidates: &VarSet, term: &Term) -> Option<Vec<Name>> {
    let body = &term.comprehension()?.body;
    let reserved = VarSet::reserved();
    let outputs = output_vars_for_body(body, arity, &reserved);
    if !vars::of(body, SAFETY).iter().all(|name| outputs.contains(name) || reserved.contains(name))
    {
        return None;
    }
    if would_iterate(body, candidates) || closes_over(body, candidates) {
        return None;
    }
    let keys = candidates.intersect(&outputs).sorted();
    (!keys.is_empty()).then_some(keys)
}

/// Returns `true` if indexing would iterate over a reference for a variable that has a value.
fn would_iterate(body: &Body, candidates: &VarSet) -> bool {
    let mut seen = VarSet::default();
    let mut iterates = false;
    walk::read(body, |node| {
        if iterates {
            return true;
        }
        let uses_candidate = |found: &VarSet, seen: &VarSet| {
            found.iter().any(|name| candidates.contains(name) && !seen.contains(name))
        };
        match node {
            Node::Expr(expr) => {
                let walk = exprs::operator(expr)
                    .and_then(function_name)
                    .is_some_and(|name| name == "walk");
                if let (true, Some(output)) = (walk, exprs::operands(expr).get(1)) {
                    iterates = uses_candidate(&vars::of_term(output), &seen);
                }
            }
            Node::Term(term) => match &term.kind {
                TermKind::Ref(terms) => {
                    let mut vars = Vars::new(VarsParams { skip_ref_head: true, ..vars::ALL });
                    vars.reference(terms);
                    iterates = uses_candidate(vars.found(), &seen);
                }
                TermKind::Var(name) => {
                    seen.add(name);
                }
                _ if term.is_comprehension() => return true,
                _ => {}
            },
            _ => {}
        }
        iterates
    });
    iterates
}

/// Returns `true` if a comprehension within the body uses variables from outside.
fn closes_over(body: &Body, candidates: &VarSet) -> bool {
    let mut found = false;
    walk::read(body, |node| {
        let Node::Term(term) = node else { return found };
        if found || !term.is_comprehension() {
            return found;
        }
        let uses = vars::of(term, VarsParams { skip_ref_head: true, ..vars::ALL });
        found = !uses.intersect(candidates).is_empty();
        true
    });
    found
}

impl Compiler<'_> {
    /// Finds the keys of all comprehensions.
    pub(super) fn build_comprehension_indices(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        let arities = self.arities();
        threads::map(modules.iter_mut().collect(), |module| {
            walk::rules_mut(std::slice::from_mut(module), |rule| {
                let mut vars = Vars::from(vars::ALL, VarSet::reserved());
                vars.values(&rule.head.args);
                build(&arities, vars.take(), &mut rule.body);
            });
        });
        self.modules = modules;
    }
}
