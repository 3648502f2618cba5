//! Forms that the interpreter's parser takes and Rego doesn't.
//!
//! Owns refusals that one rule alone gives cause for: default values that aren't constant,
//! parameters that hide `input` or `data`, variables declared twice, late or for nothing.

use std::collections::HashSet;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, Query, Rule, RuleHead, Span};

use super::parts::bound;
use super::scope;
use super::terms::{closures, pattern_names, query_variables, variables};
use super::text::FileText;
use super::vars::{Names, expressions};
use crate::Diagnostic;

/// Checks every rule of a module.
pub(super) fn module(module: &ast::Module, file: &FileText, out: &mut Vec<Diagnostic>) {
    let mut check = Check { file, out };
    if let Some(target) = &module.target {
        let message = format!("`__target__ := {target:?}` isn't Rego");
        check.out.push(Diagnostic::error("parse-error", message).at(file.position(0, 1)));
    }
    for rule in &module.policy {
        check.rule(rule, module.rego_v1);
    }
}

struct Check<'a> {
    file: &'a FileText,
    out: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn push(&mut self, span: &Span, code: &'static str, message: String, hint: &str) {
        let position = self.file.position(span.start as usize, scope::end(span));
        self.out.push(Diagnostic::error(code, message).with_hint(hint).at(position));
    }

    fn rule(&mut self, rule: &Rule, v1: bool) {
        match rule {
            Rule::Default { value, args, .. } => {
                for arg in args {
                    self.parameter(arg);
                }
                self.constant(value);
            }
            Rule::Spec { head, bodies, .. } => {
                let mut terms = Vec::new();
                let (refr, value) = match head {
                    RuleHead::Compr { refr, assign, .. } => {
                        (refr, assign.as_ref().map(|a| &a.value))
                    }
                    RuleHead::Set { refr, key, .. } => (refr, key.as_ref()),
                    RuleHead::Func { refr, args, assign, .. } => {
                        for arg in args {
                            self.parameter(arg);
                        }
                        (refr, assign.as_ref().map(|a| &a.value))
                    }
                };
                if v1 && refr.span().text() == "contains" {
                    let hint = "give the rule another name";
                    let message = "`contains` is a keyword".to_owned();
                    self.push(refr.span(), "parse-error", message, hint);
                }
                terms.extend(value);
                for link in scope::chain(refr).steps {
                    if let scope::Link::Index(index, _) = link {
                        terms.push(index);
                    }
                }
                for term in &terms {
                    self.closures(term);
                }
                for body in bodies {
                    let mut terms = terms.clone();
                    terms.extend(body.assign.as_ref().map(|a| &a.value));
                    self.body(&body.query, &terms);
                }
            }
        }
    }

    fn parameter(&mut self, arg: &ExprRef) {
        let mut names = Names::new();
        pattern_names(arg, &mut names);
        for name in names {
            if matches!(name, "input" | "data") {
                let message = format!("a parameter can't be called `{name}`");
                self.push(arg.span(), "name-collision", message, "use another name");
            }
        }
    }

    fn constant(&mut self, value: &ExprRef) {
        match value.as_ref() {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. }
            | Expr::ArrayCompr { .. }
            | Expr::SetCompr { .. }
            | Expr::ObjectCompr { .. } => {}
            Expr::UnaryExpr { expr, .. } if matches!(expr.as_ref(), Expr::Number { .. }) => {}
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                for item in items {
                    self.constant(item);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.constant(key);
                    self.constant(value);
                }
            }
            other => {
                let message = "a default value must be constant".to_owned();
                let hint = "it may hold values and comprehensions, no references and no calls";
                self.push(other.span(), "default-value", message, hint);
            }
        }
    }

    fn closures(&mut self, expr: &ExprRef) {
        let mut found = Vec::new();
        closures(expr, &mut found);
        for (terms, query) in found {
            self.body(query, &terms);
        }
    }

    fn body(&mut self, query: &Query, terms: &[&ExprRef]) {
        self.declarations(query);
        self.unused(query, terms);
        for statement in &query.stmts {
            for expr in expressions(statement) {
                self.closures(expr);
            }
            if let Literal::Every { key, value, query, .. } = &statement.literal {
                for span in key.iter().chain([value]) {
                    if matches!(span.text(), "input" | "data") {
                        let message = format!("a variable can't be called `{}`", span.text());
                        self.push(span, "name-collision", message, "use another name");
                    }
                }
                self.body(query, &[]);
            }
        }
    }

    /// A name is declared once, and before it is used.
    fn declarations(&mut self, query: &Query) {
        let mut used: HashSet<&str> = HashSet::new();
        let mut declared: HashSet<&str> = HashSet::new();
        for statement in &query.stmts {
            let mut names: Vec<&Span> = Vec::new();
            let mut values: Vec<&ExprRef> = Vec::new();
            match &statement.literal {
                Literal::SomeVars { vars, .. } => names.extend(vars),
                Literal::SomeIn { key, value, collection, .. } => {
                    for part in key.iter().chain([value]) {
                        bound(part, &mut |span| names.push(span));
                    }
                    values.push(collection);
                }
                Literal::Expr { expr, .. } => match expr.as_ref() {
                    Expr::AssignExpr { op: ast::AssignOp::ColEq, lhs, rhs, .. } => {
                        bound(lhs, &mut |span| names.push(span));
                        values.push(rhs);
                    }
                    _ => values.push(expr),
                },
                Literal::NotExpr { expr, .. } => values.push(expr),
                Literal::Every { domain, .. } => values.push(domain),
            }
            for value in values {
                variables(value, false, &mut |span| {
                    used.insert(span.text());
                });
            }
            for span in names {
                let name = span.text();
                if name == "_" {
                    continue;
                }
                let problem = if declared.contains(name) {
                    "is declared already"
                } else if used.contains(name) {
                    "is used before it is declared"
                } else {
                    declared.insert(name);
                    continue;
                };
                let message = format!("variable `{name}` {problem}");
                self.push(span, "variable-conflict", message, "give one of them another name");
            }
        }
    }

    /// `some x` without any `x` is a mistake somewhere.
    fn unused(&mut self, query: &Query, terms: &[&ExprRef]) {
        let declares = |literal: &Literal| matches!(literal, Literal::SomeVars { .. });
        if !query.stmts.iter().any(|s| declares(&s.literal)) {
            return;
        }
        let mut used: HashSet<&str> = HashSet::new();
        query_variables(query, &mut |span| {
            used.insert(span.text());
        });
        for term in terms {
            variables(term, true, &mut |span| {
                used.insert(span.text());
            });
        }
        for statement in &query.stmts {
            if let Literal::SomeVars { vars, .. } = &statement.literal {
                for span in vars.iter().filter(|span| !used.contains(span.text())) {
                    let message = format!("variable `{}` is declared and never used", span.text());
                    self.push(span, "unused-variable", message, "remove it, or is it misspelt?");
                }
            }
        }
    }
}
