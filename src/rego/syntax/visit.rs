//! TEMP
use super::tree::{Expr, Rule, Term};
pub fn each_term<'a>(_: &'a Term, _: &mut dyn FnMut(&'a Term)) {}
pub fn each_term_of_expr<'a>(_: &'a Expr, _: &mut dyn FnMut(&'a Term)) {}
pub fn each_term_of_rule<'a>(_: &'a Rule, _: &mut dyn FnMut(&'a Term)) {}
pub fn each_term_of_rules<'a>(_: &'a [Rule], _: &mut dyn FnMut(&'a Term)) {}
pub fn each_expr_of_rules<'a>(_: &'a [Rule], _: &mut dyn FnMut(&'a Expr)) {}
