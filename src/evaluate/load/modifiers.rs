//! Replacements of `with`, bound in front of the statement that they are for.
//!
//! The interpreter evaluates a replacement inside the statement: a rule that the replacement
//! needed first is undefined there afterwards, and of several undefined replacements it remembers
//! the last one alone. Owns the edits that evaluate each of them before, as Rego does:
//!
//! ```text
//! allow if p with input as {"i": d}  →  allow if { __with := {"i": d}; p with input as __with }
//! ```
//!
//! What is edited is the rewritten text, in which names mean what they mean to the interpreter.

use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, LiteralStmt, Query, Rule, RuleHead, WithModifier};

use super::pieces::{opening, range, single_line};
use super::scope;
use super::terms::closures;
use super::text::Edit;
use super::vars::expressions;

/// Whether a path below `data` is a function's, which has no value to bind.
pub(super) type IsFunction<'a> = &'a dyn Fn(&[Arc<str>]) -> bool;

/// How new variables are called, and what is left alone.
#[derive(Clone, Copy)]
pub(super) struct Binding<'a> {
    /// What the variables' names start with: nothing of the author's does.
    pub(super) prefix: &'a str,
    /// Tells apart the variables of one step from those of the next.
    pub(super) step: usize,
    pub(super) is_function: IsFunction<'a>,
}

/// A start of names that no name in `text` has.
pub(super) fn prefix(text: &str) -> String {
    let mut prefix = "__with".to_owned();
    while text.contains(&prefix) {
        prefix.push('_');
    }
    prefix
}

/// The edits of a module. What stands in a replacement comes first: ask again, with another step,
/// until there is nothing left to do.
pub(super) fn module(module: &ast::Module, binding: Binding<'_>) -> Vec<Edit> {
    let mut walk = Walk { binding, edits: Vec::new() };
    for rule in &module.policy {
        let Rule::Spec { head, bodies, .. } = rule.as_ref() else { continue };
        let value = match head {
            RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => {
                assign.as_ref().map(|a| &a.value)
            }
            RuleHead::Set { key, .. } => key.as_ref(),
        };
        let others = bodies.iter().filter_map(|b| Some(&b.assign.as_ref()?.value));
        for term in value.into_iter().chain(others) {
            walk.expr(term);
        }
        for body in bodies {
            // Without braces a body has one statement only.
            let bare = body
                .query
                .stmts
                .first()
                .is_some_and(|first| body.query.span.start == first.span.start);
            walk.query(&body.query, bare);
        }
    }
    walk.edits
}

/// The edits of a query, as those of a module.
pub(super) fn query(query: &Query, binding: Binding<'_>) -> Vec<Edit> {
    let mut walk = Walk { binding, edits: Vec::new() };
    walk.query(query, false);
    walk.edits
}

impl Binding<'_> {
    fn needs_binding(&self, modifier: &WithModifier) -> bool {
        let replaces_function = match scope::path(&modifier.refr) {
            Some((root, path)) => match root.as_ref() {
                "input" => false,
                "data" => (self.is_function)(&path),
                _ => true,
            },
            None => false,
        };
        match modifier.r#as.as_ref() {
            // A name in a function's place may be a function; what is bound needs no more.
            Expr::Var { span, .. } => !replaces_function && !span.text().starts_with(self.prefix),
            Expr::RefDot { .. } | Expr::RefBrack { .. } => match scope::path(&modifier.r#as) {
                Some((root, path)) if root.as_ref() == "data" => !(self.is_function)(&path),
                _ => !replaces_function,
            },
            other => !is_constant(other),
        }
    }
}

struct Walk<'a> {
    binding: Binding<'a>,
    edits: Vec<Edit>,
}

impl Walk<'_> {
    fn query(&mut self, query: &Query, bare: bool) {
        for statement in &query.stmts {
            let before = self.edits.len();
            for expr in expressions(statement) {
                self.expr(expr);
            }
            if let Literal::Every { query, .. } = &statement.literal {
                self.query(query, false);
            }
            // The binding copies the replacement's text: what stands in it must be done.
            if self.edits.len() == before {
                self.statement(statement, bare);
            }
        }
    }

    fn expr(&mut self, expr: &ExprRef) {
        let mut found = Vec::new();
        closures(expr, &mut found);
        for (_, query) in found {
            self.query(query, false);
        }
    }

    fn statement(&mut self, statement: &LiteralStmt, bare: bool) {
        let binding @ Binding { prefix, step, .. } = self.binding;
        let mut bound = String::new();
        for modifier in statement.with_mods.iter().filter(|m| binding.needs_binding(m)) {
            let Some(text) = value(modifier) else { continue };
            let end = scope::end(&modifier.span);
            let start = end - text.len();
            let name = format!("{prefix}{step}_{start}");
            bound.extend([name.as_str(), " := ", &single_line(text), "; "]);
            opening(modifier.span.source.get_contents(), (start, end), &name, &mut self.edits);
        }
        let Some(last) = statement.with_mods.last().filter(|_| !bound.is_empty()) else { return };
        let start = range(&statement.span).0;
        if bare {
            self.edits.push(Edit::new(start, start, format!("{{ {bound}")));
            let end = scope::end(&last.span);
            self.edits.push(Edit::new(end, end, " }"));
        } else {
            self.edits.push(Edit::new(start, start, bound));
        }
    }
}

/// Whether an expression is the same value whatever is asked.
pub(super) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. } => true,
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().all(|item| is_constant(item))
        }
        Expr::Object { fields, .. } => {
            fields.iter().all(|(_, key, value)| is_constant(key) && is_constant(value))
        }
        _ => false,
    }
}

/// The text after `as`.
fn value(modifier: &WithModifier) -> Option<&str> {
    let text = modifier.span.source.contents();
    let rest = text.get(scope::end(modifier.refr.span())..scope::end(&modifier.span))?;
    Some(rest.trim_start().strip_prefix("as")?.trim_start())
}
