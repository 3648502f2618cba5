//! Statements that a gate can't judge for some inputs: negated calls on a part of the input that no
//! statement before requires, and orderings of numbers and arguments, which are strings.

use std::collections::HashSet;

use super::model::function_name;
use super::{File, Inspected};
use crate::Diagnostic;
use crate::rego::internal::builtins::lookup;
use crate::rego::internal::types::{Function, Type};
use crate::rego::syntax::tree::{Body, Expr, ExprKind, Term, TermKind};
use crate::rego::syntax::visit::{Visit, walk_rule, walk_terms};

/// The functions that order two values, as the tree has them.
const ORDERINGS: &[&str] = &["lt", "lte", "gt", "gte"];

/// Finds such statements in policies; a test's are about inputs that it chose.
pub(super) fn check(all: &Inspected<'_>, files: &[File<'_>], out: &mut Vec<Diagnostic>) {
    for file in files.iter().filter(|file| !file.is_test) {
        let mut bodies = Bodies { all, known: HashSet::new(), out };
        for rule in &file.module.rules {
            bodies.known.clear();
            walk_rule(&mut bodies, rule);
        }
    }
}

struct Bodies<'a, 'o> {
    all: &'a Inspected<'a>,
    /// The references that statements before require, in this body and those around it.
    known: HashSet<String>,
    out: &'o mut Vec<Diagnostic>,
}

impl Visit for Bodies<'_, '_> {
    fn body(&mut self, body: &Body) {
        let before = self.known.clone();
        for expr in body {
            if expr.negated && expr.with.is_empty() {
                self.negated(expr);
            }
            self.ordering(expr);
            self.expr(expr);
            if !expr.negated {
                walk_terms(expr, &mut |term| {
                    let path = input_path(term);
                    for end in 1..=path.len() {
                        self.known.insert(path.get(..end).unwrap_or_default().join("."));
                    }
                    // What a comprehension or an `every` reads may be missing.
                    !matches!(term.kind, TermKind::Comprehension(..))
                });
            }
        }
        self.known = before;
    }
}

impl Bodies<'_, '_> {
    /// Finds an operand of a negated built-in function that may be missing.
    fn negated(&mut self, expr: &Expr) {
        let ExprKind::Call(terms) = &expr.kind else { return };
        let is_builtin =
            |term: &Term| function_name(term).is_some_and(|name| lookup(&name).is_some());
        let Some((function, operands)) = terms.split_first() else { return };
        // An equality looks its references up itself.
        let equality = matches!(function_name(function).as_deref(), Some("eq" | "equal" | "neq"));
        if !is_builtin(function) || equality {
            return;
        }
        let mut open: Vec<&Term> = operands.iter().collect();
        while let Some(term) = open.pop() {
            match &term.kind {
                TermKind::Call(parts) => match parts.split_first() {
                    Some((function, operands)) if is_builtin(function) => open.extend(operands),
                    _ => {}
                },
                TermKind::Array(items) => open.extend(items),
                TermKind::Group(inner) => open.push(inner),
                _ => {
                    let path = input_path(term);
                    if path.is_empty() || self.known.contains(&path.join(".")) {
                        continue;
                    }
                    let reference = format!("input.{}", path.join("."));
                    let message = format!(
                        "no verdict for an input without `{reference}`: the negation is neither true nor false"
                    );
                    let hint = format!(
                        "state `{reference}` before, or what has to hold without it; or `import future.keywords.not`"
                    );
                    let finding =
                        Diagnostic::warning("unguarded-negation", message).with_hint(hint);
                    self.out.push(finding.at(self.all.position(expr.span)));
                    return;
                }
            }
        }
    }

    /// Finds an ordering of a number and an argument.
    fn ordering(&mut self, expr: &Expr) {
        let ExprKind::Call(terms) = &expr.kind else { return };
        let [function, left, right] = terms.as_slice() else { return };
        let orders = function_name(function).is_some_and(|name| ORDERINGS.contains(&&*name));
        let argument = |term: &Term| match &*input_path(term) {
            [args, name] if args == "args" => Some(name.clone()),
            _ => None,
        };
        let name = match (argument(left), argument(right)) {
            (Some(name), None) if is_number(right) => name,
            (None, Some(name)) if is_number(left) => name,
            _ => return,
        };
        if orders {
            let message = format!("`input.args.{name}` is a string, and is compared with a number");
            let hint = format!("write `to_number(input.args.{name})`");
            let finding = Diagnostic::warning("argument-ordering", message).with_hint(hint);
            self.out.push(finding.at(self.all.position(expr.span)));
        }
    }
}

/// Returns the names that lead from the input to what a reference is; none for any other term.
fn input_path(term: &Term) -> Vec<String> {
    let TermKind::Ref(parts) = &term.kind else { return Vec::new() };
    let is_input = |head: &Term| matches!(&head.kind, TermKind::Var(name) if &**name == "input");
    let Some((_, operands)) = parts.split_first().filter(|(head, _)| is_input(head)) else {
        return Vec::new();
    };
    let name = |part: &Term| match &part.kind {
        TermKind::String(name) => Some(name.to_string()),
        _ => None,
    };
    operands.iter().map_while(name).collect()
}

/// Returns `true` for a number, or a call of a built-in function whose result is one.
fn is_number(term: &Term) -> bool {
    match &term.kind {
        TermKind::Number(_) => true,
        TermKind::Group(inner) => is_number(inner),
        TermKind::Call(parts) => {
            let builtin = parts.first().and_then(function_name).and_then(|name| lookup(&name));
            let types = builtin.and_then(|builtin| Function::parse(builtin.signature).ok());
            types.is_some_and(|types| matches!(types.result, Type::Number))
        }
        _ => false,
    }
}
