//! Checks that calls name existing functions and pass as many arguments as these take.

use crate::problem::Problem;
use crate::syntax::tree::{Expr, Name, Term};
use crate::syntax::{print, visit};

use super::functions::Arity;
use super::names::NameMap;
use super::{Compiler, exprs};
use crate::syntax::walk::{self, Node};

impl Compiler<'_> {
    /// Checks that calls name existing functions and pass as many arguments as these take.
    pub(super) fn check_undefined_funcs(&mut self) {
        let mut found = Vec::new();
        for rule in self.modules.iter().flat_map(|module| &module.rules) {
            check_undefined_funcs(self, &self.rewritten, rule, &mut found);
        }
        self.problems(found);
    }
}

/// Checks all calls.
pub fn check_undefined_funcs(
    compiler: &Compiler<'_>,
    rewritten: &NameMap<Name>,
    place: &impl visit::Node,
    found: &mut Vec<Problem>,
) {
    walk::read(place, |node| {
        let Node::Expr(expr) = node else { return false };
        let Some(operator) = exprs::operator(expr) else { return false };
        match check(compiler, rewritten, expr, operator) {
            Some(problem) => {
                found.push(problem);
                true
            }
            None => false,
        }
    });
}

fn check(
    compiler: &Compiler<'_>,
    rewritten: &NameMap<Name>,
    expr: &Expr,
    operator: &[Term],
) -> Option<Problem> {
    let name = || print::RefText(&super::recursion::author_ref(rewritten, operator)).to_string();
    let Some(arity) = compiler.arity(operator) else {
        let mut problem = Problem::types(expr.span, format!("undefined function {}", name()));
        problem.hints.extend(super::hints::unknown_function(compiler, &name()));
        return Some(problem);
    };
    let operands = exprs::operands(expr).len();
    // A call that was hoisted out of a term has an additional operand for its result.
    let given = if expr.generated { operands.saturating_sub(1) } else { operands };
    let fits = if expr.generated {
        exprs::is_equality(expr) || operands == arity + 1
    } else {
        operands == arity || operands == arity + 1
    };
    if fits {
        return None;
    }
    if let Some(function) = compiler.options.functions.by_reference(operator) {
        let (signature, operands) = (&function.signature, exprs::operands(expr));
        return Some(crate::types::arity_mismatch(expr.span, operator, signature, operands));
    }
    let plural = if given == 1 { "argument" } else { "arguments" };
    let message = format!("function {} has arity {arity}, got {given} {plural}", name());
    Some(Problem::types(expr.span, message))
}
