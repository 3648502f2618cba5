//! Membership of what may be undefined.
//!
//! In Rego `x in xs` is a call, undefined where an operand is. The interpreter has `false` for it,
//! and holds `k, x in xs` where neither `x` nor `xs[k]` is defined. Owns the edits that make a call
//! of it:
//!
//! ```text
//! ok := input.user in admins  →  ok := internal.member_2((input.user), (admins))
//! ```
//!
//! A statement `x in xs` stays: undefined or false, it doesn't hold. So does a negated one, which
//! is [`super::negation`]'s. What is edited is the
//! rewritten text, in which names mean what they mean to the interpreter.

use regorus::Value;
use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, Query, Rule, RuleHead};

use super::helpers::{Helper, misused};
use super::parts::{children, within};
use super::pieces::{closing, extent, opening, range, separating};
use super::scope::Globals;
use super::text::Edit;
use super::vars::expressions;

const TWO: &str = "internal.member_2";
const THREE: &str = "internal.member_3";

pub(super) const HELPERS: [Helper; 2] =
    [Helper { name: TWO, arity: 2, run: two }, Helper { name: THREE, arity: 3, run: three }];

fn two(args: Vec<Value>) -> anyhow::Result<Value> {
    match args.as_slice() {
        [value, collection] => Ok(Value::from(is_in(value, collection))),
        _ => misused(TWO),
    }
}

fn three(args: Vec<Value>) -> anyhow::Result<Value> {
    match args.as_slice() {
        [key, value, collection] => Ok(Value::from(is_at(key, value, collection))),
        _ => misused(THREE),
    }
}

/// What `value in collection` means.
fn is_in(value: &Value, collection: &Value) -> bool {
    match collection {
        Value::Array(items) => items.contains(value),
        Value::Set(members) => members.contains(value),
        Value::Object(fields) => fields.values().any(|field| field == value),
        _ => false,
    }
}

/// What `key, value in collection` means.
fn is_at(key: &Value, value: &Value, collection: &Value) -> bool {
    matches!(collection, Value::Array(_) | Value::Object(_)) && collection[key] == *value
}

/// The edits of a module whose references are rewritten already.
pub(super) fn edits(module: &ast::Module, globals: &Globals<'_>) -> Vec<Edit> {
    let text = module.package.span.source.get_contents();
    let mut finder = Finder { text, globals, edits: Vec::new() };
    for rule in &module.policy {
        finder.rule(rule);
    }
    finder.edits
}

/// The edits of a query whose references are rewritten already.
pub(super) fn query_edits(query: &Query) -> Vec<Edit> {
    let globals = Globals::new(&[], &[], None);
    let text = query.span.source.get_contents();
    let mut finder = Finder { text, globals: &globals, edits: Vec::new() };
    finder.query(query);
    finder.edits
}

struct Finder<'a> {
    text: &'a str,
    globals: &'a Globals<'a>,
    edits: Vec<Edit>,
}

impl Finder<'_> {
    fn rule(&mut self, rule: &Rule) {
        let (head, bodies) = match rule {
            Rule::Default { value, .. } => return self.expr(value),
            Rule::Spec { head, bodies, .. } => (head, bodies),
        };
        let (path, value) = match head {
            RuleHead::Compr { refr, assign, .. } | RuleHead::Func { refr, assign, .. } => {
                (refr, assign.as_ref().map(|assign| &assign.value))
            }
            RuleHead::Set { refr, key, .. } => (refr, key.as_ref()),
        };
        self.expr(path);
        let others = bodies.iter().filter_map(|body| Some(&body.assign.as_ref()?.value));
        for value in value.into_iter().chain(others) {
            self.expr(value);
        }
        for body in bodies {
            self.query(&body.query);
        }
    }

    fn query(&mut self, query: &Query) {
        for statement in &query.stmts {
            for (index, expr) in expressions(statement).into_iter().enumerate() {
                // Operands of a negated statement are evaluated in front of it.
                let stays = match (&statement.literal, expr.as_ref()) {
                    (Literal::Expr { .. }, Expr::Membership { key, .. }) => key.is_none(),
                    (Literal::NotExpr { .. }, Expr::Membership { .. }) => true,
                    _ => false,
                };
                if stays && index == 0 {
                    self.parts(expr);
                } else {
                    self.expr(expr);
                }
            }
            if let Literal::Every { query, .. } = &statement.literal {
                self.query(query);
            }
        }
    }

    fn expr(&mut self, expr: &ExprRef) {
        if let Expr::Membership { key, value, collection, .. } = expr.as_ref() {
            let operands: Vec<&ExprRef> = key.iter().chain([value, collection]).collect();
            if !operands.iter().all(|operand| self.is_defined(operand)) {
                self.call(expr, &operands);
            }
        }
        self.parts(expr);
    }

    fn call(&mut self, expr: &Expr, operands: &[&ExprRef]) {
        let (start, end) = range(expr.span());
        let name = if operands.len() == 2 { TWO } else { THREE };
        let mut at = start;
        for (index, operand) in operands.iter().enumerate() {
            let (from, to) = extent(operand);
            if index == 0 {
                opening(self.text, (at, from), &format!("{name}(("), &mut self.edits);
            } else {
                separating(self.text, (at, from), &mut self.edits);
            }
            at = to;
        }
        closing(self.text, (at, end), "))", &mut self.edits);
    }

    fn parts(&mut self, expr: &ExprRef) {
        match expr.as_ref() {
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.expr(term);
                self.query(query);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                self.expr(key);
                self.expr(value);
                self.query(query);
            }
            _ => {
                for part in within(expr) {
                    self.expr(part);
                }
            }
        }
    }

    fn is_defined(&self, expr: &Expr) -> bool {
        match expr {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. }
            | Expr::ArrayCompr { .. }
            | Expr::SetCompr { .. }
            | Expr::ObjectCompr { .. } => true,
            Expr::Var { span, .. } => !self.globals.has(span.text()),
            Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => {
                children(expr).into_iter().all(|child| self.is_defined(child))
            }
            _ => false,
        }
    }
}
