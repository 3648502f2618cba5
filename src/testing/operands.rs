//! What can be asked about a statement.
//!
//! Owns which operands a statement has and how their values are asked for. It evaluates nothing.

use std::collections::HashSet;

use regorus::unstable as ast;

use ast::{AssignOp, Expr, ExprRef, Literal, LiteralStmt};

use super::source;
use crate::Position;

/// In which way a statement ends a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// It isn't true.
    Truth,
    /// What it denies is.
    Negation,
    /// There is no value, or it doesn't fit the pattern.
    Binding,
    /// There is nothing to go through, or nothing fits the pattern.
    Iteration,
    /// Some element doesn't.
    Every,
}

/// An operand's text.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub text: String,
    /// The reference that it is the beginning of.
    pub within: Option<String>,
}

/// A statement that is asked about.
pub(super) struct Asked {
    pub sort: Sort,
    pub position: Position,
    pub operands: Vec<Part>,
    whole: String,
    with: String,
}

impl Asked {
    /// Whether a text is all of the statement's expression.
    pub fn is_whole(&self, text: &str) -> bool {
        self.whole == text
    }

    /// Lists of the values of the whole and of each operand, after the statements `before`.
    pub fn terms(&self, before: &str) -> Vec<String> {
        let mut name = String::from("value");
        while before.contains(&name) || self.whole.contains(&name) || self.with.contains(&name) {
            name.push('_');
        }
        std::iter::once(self.whole.as_str())
            .chain(self.operands.iter().map(|operand| operand.text.as_str()))
            .map(|text| format!("[{name} | {before}\n{name} := {text} {}\n]", self.with))
            .collect()
    }
}

/// A module's text, for the operands in it.
pub(super) struct File<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// Names of imports: what they stand for is never taken as a whole.
    pub aliases: HashSet<String>,
}

/// The names that a module's imports bind.
pub(super) fn aliases(module: &ast::Module) -> HashSet<String> {
    module
        .imports
        .iter()
        .map(|import| match (&import.r#as, import.refr.as_ref()) {
            (Some(alias), _) => alias.text().to_owned(),
            (None, Expr::RefDot { field, .. }) => field.0.text().to_owned(),
            (None, other) => other.span().text().to_owned(),
        })
        .collect()
}

impl File<'_> {
    fn of(&self, expr: &Expr) -> String {
        let (start, end) = source::extent(self.text, expr.span());
        self.text.get(start..end).unwrap_or_default().to_owned()
    }

    /// What can be asked about a statement.
    pub fn statement(&self, stmt: &LiteralStmt) -> Asked {
        let (start, end) = source::statement_extent(self.text, stmt);
        let with = stmt.with_mods.first().map(|with| with.span.start as usize);
        let with = with.and_then(|at| self.text.get(at..end)).unwrap_or_default();
        let mut asked = Asked {
            sort: Sort::Truth,
            position: source::position(self.path, self.text, start, end),
            operands: Vec::new(),
            whole: String::new(),
            with: with.to_owned(),
        };
        match &stmt.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { collection, .. } => {
                asked.sort = Sort::Iteration;
                self.operand(collection, &mut asked);
            }
            Literal::Every { domain, .. } => {
                asked.sort = Sort::Every;
                self.operand(domain, &mut asked);
            }
            Literal::NotExpr { expr, .. } => {
                asked.sort = Sort::Negation;
                self.operand(expr, &mut asked);
                self.within(expr, &mut asked);
            }
            Literal::Expr { expr, .. } => {
                asked.whole = self.of(expr);
                if let Expr::AssignExpr { op, lhs, rhs, .. } = expr.as_ref() {
                    asked.sort = Sort::Binding;
                    self.operand(rhs, &mut asked);
                    if matches!(op, AssignOp::Eq) {
                        self.operand(lhs, &mut asked);
                    }
                    self.within(rhs, &mut asked);
                } else {
                    self.within(expr, &mut asked);
                }
            }
        }
        asked
    }

    /// What can be asked about a rule's value.
    pub fn value(&self, expr: &ExprRef) -> Asked {
        let (start, end) = source::extent(self.text, expr.span());
        let mut asked = Asked {
            sort: Sort::Truth,
            position: source::position(self.path, self.text, start, end),
            operands: Vec::new(),
            whole: self.of(expr),
            with: String::new(),
        };
        self.within(expr, &mut asked);
        asked
    }

    /// The operands of an expression.
    fn within(&self, expr: &ExprRef, asked: &mut Asked) {
        match expr.as_ref() {
            Expr::RefDot { .. } | Expr::RefBrack { .. } => self.hangs_on(expr, asked),
            Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::BinExpr { lhs, rhs, .. } => {
                self.operand(lhs, asked);
                self.operand(rhs, asked);
            }
            Expr::Call { params, .. } => {
                for param in params {
                    self.operand(param, asked);
                }
            }
            Expr::Membership { key, value, collection, .. } => {
                for operand in key.iter().chain([value, collection]) {
                    self.operand(operand, asked);
                }
            }
            _ => {}
        }
    }

    /// One operand; what is written out needs no asking.
    fn operand(&self, expr: &ExprRef, asked: &mut Asked) {
        if !varies(expr) {
            return;
        }
        asked.operands.push(Part { text: self.of(expr), within: None });
        self.hangs_on(expr, asked);
    }

    /// The beginnings of a reference, longest first.
    fn hangs_on(&self, expr: &ExprRef, asked: &mut Asked) {
        let whole = self.of(expr);
        let (base, _) = source::parts(expr);
        if base.text() == "data" || self.aliases.contains(base.text()) {
            return;
        }
        let mut at = expr;
        while let Expr::RefDot { refr, .. } | Expr::RefBrack { refr, .. } = at.as_ref() {
            asked.operands.push(Part { text: self.of(refr), within: Some(whole.clone()) });
            at = refr;
        }
    }
}

/// Whether an expression's value isn't plain from its text.
fn varies(expr: &Expr) -> bool {
    match expr {
        Expr::String { .. }
        | Expr::RawString { .. }
        | Expr::Number { .. }
        | Expr::Bool { .. }
        | Expr::Null { .. } => false,
        Expr::Var { span, .. } => span.text() != "_",
        Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } | Expr::UnaryExpr { .. } => {
            source::children(expr).0.into_iter().any(|child| varies(child))
        }
        // `set()` has no other value.
        Expr::Call { fcn, params, .. } => !(params.is_empty() && fcn.span().text() == "set"),
        _ => true,
    }
}

/// The names in an expression that could be variables, outside of comprehensions.
pub(super) fn variables(expr: &Expr, found: &mut Vec<String>) {
    if let Expr::Var { span, .. } = expr {
        found.push(span.text().to_owned());
    }
    for child in source::children(expr).0 {
        variables(child, found);
    }
}
