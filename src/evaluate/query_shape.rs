//! A query's statements and variables, and its evaluation as the body of a comprehension.
//!
//! regorus evaluates the statements of a query by other code than the bodies of rules, and that
//! code is wrong where it matters: a negation that fails counts as true, and a variable keeps its
//! first value in later rows. In a comprehension the same statements mean what they should.

use std::collections::{BTreeMap, BTreeSet};

use regorus::Value;
use regorus::unstable::{AssignOp, Expr, Literal, LiteralStmt, Parser, Source};

use super::{Expression, Row, broken};
use crate::Error;

/// What a statement contributes to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Its value, which may be `false` when it is the only one.
    Value,
    /// That it is true.
    Truth,
    /// Nothing: it declares variables.
    Nothing,
}

pub(super) struct Statement {
    part: Part,
    /// The variable that it is an assignment to.
    assigns: Option<String>,
    text: String,
    row: u32,
    column: u32,
}

/// A query, as far as its answer depends on its form.
pub(super) struct Shape {
    statements: Vec<Statement>,
    /// Whether it goes through several values.
    iterates: bool,
    variables: BTreeSet<String>,
    /// A name for values that the query doesn't have.
    name: String,
}

impl Shape {
    pub(super) fn of(text: &str, v0: bool) -> anyhow::Result<Self> {
        let source = Source::from_contents("<query>".to_owned(), text.to_owned())?;
        let mut parser = Parser::new(&source)?;
        if !v0 {
            parser.enable_rego_v1()?;
        }
        let query = parser.parse_user_query()?;
        let mut seen = Seen::default();
        for stmt in &query.stmts {
            seen.statement(stmt);
        }
        if seen.unsafe_negation {
            // regorus would take it for "one of them isn't".
            anyhow::bail!("`_` is unsafe in a negation: use a helper rule, or `every`");
        }
        let mut name = String::from("value");
        while text.contains(&name) {
            name.push('_');
        }
        Ok(Self {
            statements: query.stmts.iter().map(|stmt| statement(stmt, text)).collect(),
            iterates: seen.iterates,
            variables: seen.variables,
            name,
        })
    }

    /// A comprehension of the rows: for each the values, and what `authors`' variables are bound to.
    /// `None` when they have other values than `authors`.
    pub(super) fn as_rows(&self, authors: &Shape) -> Option<String> {
        let mut body = String::new();
        let mut values = Vec::new();
        for (index, statement) in self.statements.iter().enumerate() {
            body.push('\n');
            if statement.part == Part::Value {
                let name = format!("{}{index}", self.name);
                body.push_str(&name);
                body.push_str(" := ");
                values.push(name);
            }
            body.push_str(&statement.text);
        }
        let parts = |shape: &Shape| -> Vec<Part> {
            let own =
                |s: &&Statement| s.assigns.as_ref().is_none_or(|v| authors.variables.contains(v));
            shape.statements.iter().filter(own).map(|statement| statement.part).collect()
        };
        if parts(self) != parts(authors) {
            return None;
        }
        let variables: Vec<_> = authors.variables.iter().map(String::as_str).collect();
        Some(format!("[[[{}], [{}]] |{body}\n]", values.join(", "), variables.join(",\n")))
    }

    /// A row as OPA has it, or none when the query isn't true in it.
    pub(super) fn row(&self, row: &Value) -> Result<Option<Row>, Error> {
        let lost = || broken("a row of the query has another form than asked for");
        let half = |index: usize| match row {
            Value::Array(halves) => match halves.get(index) {
                Some(Value::Array(members)) => Ok(members.iter().cloned()),
                _ => Err(lost()),
            },
            _ => Err(lost()),
        };
        let (mut values, bound) = (half(0)?, half(1)?);
        let shown = self.statements.iter().filter(|statement| statement.part != Part::Nothing);
        let keeps_false = shown.clone().count() == 1 && !self.iterates;
        let mut expressions = Vec::new();
        for statement in shown {
            let value = match statement.part {
                Part::Value => values.next().ok_or_else(lost)?,
                Part::Truth | Part::Nothing => Value::from(true),
            };
            if value == Value::from(false) && !keeps_false {
                return Ok(None);
            }
            let (text, row, column) = (statement.text.clone(), statement.row, statement.column);
            expressions.push(Expression { value, text, row, column });
        }
        let bindings: BTreeMap<_, _> = self.variables.iter().cloned().zip(bound).collect();
        if bindings.len() != self.variables.len() {
            return Err(lost());
        }
        Ok(Some(Row { expressions, bindings }))
    }
}

fn statement(stmt: &LiteralStmt, text: &str) -> Statement {
    let part = match &stmt.literal {
        Literal::SomeVars { .. } => Part::Nothing,
        Literal::Expr { expr, .. } => match expr.as_ref() {
            Expr::AssignExpr { op: AssignOp::Eq | AssignOp::ColEq, .. } => Part::Truth,
            Expr::Call { fcn, params, .. } if has_result(fcn.span().text(), params.len()) => {
                Part::Truth
            }
            _ => Part::Value,
        },
        _ => Part::Truth,
    };
    let assigns = match &stmt.literal {
        Literal::Expr { expr, .. } => match expr.as_ref() {
            Expr::AssignExpr { op: AssignOp::ColEq, lhs, .. } => match lhs.as_ref() {
                Expr::Var { span, .. } => Some(span.text().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let span = &stmt.span;
    let quote = |at: Option<usize>| {
        at.and_then(|at| text.as_bytes().get(at)).is_some_and(|byte| matches!(byte, b'"' | b'`'))
    };
    let (mut start, mut end) = (span.start as usize, span.end as usize);
    let mut column = span.col;
    // The interpreter's spans leave out the quotes of a string at either end.
    if quote(start.checked_sub(1)) {
        start -= 1;
        column -= 1;
    }
    if quote(Some(end)) {
        end += 1;
    }
    let text = text.get(start..end).unwrap_or_default().trim_end().to_owned();
    Statement { part, assigns, text, row: span.line, column }
}

/// Whether a call of the built-in `name` with `count` arguments has a pattern for its result.
fn has_result(name: &str, count: usize) -> bool {
    super::super::bounded::arity(name).is_some_and(|arity| usize::from(arity) + 1 == count)
}

/// What is in a query, outside the bodies of comprehensions and `every`.
#[derive(Default)]
struct Seen {
    iterates: bool,
    wildcards: bool,
    unsafe_negation: bool,
    variables: BTreeSet<String>,
}

impl Seen {
    fn statement(&mut self, stmt: &LiteralStmt) {
        match &stmt.literal {
            Literal::SomeVars { vars, .. } => {
                self.variables.extend(vars.iter().map(|name| name.text().to_owned()));
            }
            Literal::SomeIn { key, value, collection, .. } => {
                self.iterates = true;
                if let Some(key) = key {
                    self.expr(key);
                }
                self.expr(value);
                self.expr(collection);
            }
            Literal::Expr { expr, .. } => self.expr(expr),
            // What a negation iterates over, it doesn't bind.
            Literal::NotExpr { expr, .. } => {
                let mut inside = Self::default();
                inside.expr(expr);
                self.iterates |= inside.iterates;
                self.unsafe_negation |= inside.wildcards;
            }
            Literal::Every { domain, .. } => self.expr(domain),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Var { span, .. } => {
                self.wildcards |= span.text() == "_";
                if !matches!(span.text(), "_" | "data" | "input") {
                    self.variables.insert(span.text().to_owned());
                }
            }
            Expr::RefBrack { refr, index, .. } => {
                self.iterates |= matches!(index.as_ref(), Expr::Var { .. });
                self.expr(refr);
                self.expr(index);
            }
            Expr::RefDot { refr, .. } => self.expr(refr),
            Expr::Call { fcn, params, .. } => {
                self.iterates |= fcn.span().text() == "walk";
                for param in params {
                    self.expr(param);
                }
            }
            Expr::Array { items, .. } | Expr::Set { items, .. } => {
                for item in items {
                    self.expr(item);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.expr(key);
                    self.expr(value);
                }
            }
            Expr::UnaryExpr { expr, .. } => self.expr(expr),
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            Expr::Membership { key, value, collection, .. } => {
                if let Some(key) = key {
                    self.expr(key);
                }
                self.expr(value);
                self.expr(collection);
            }
            _ => {}
        }
    }
}
