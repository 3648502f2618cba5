//! Statements whose order matters to the interpreter, and not to Rego.
//!
//! Rego evaluates the operands of a negated statement before it: `not startswith(input.user, "a")`
//! fails when there is no `input.user`. The interpreter takes an undefined operand for a statement
//! that doesn't hold, so the negation would pass. Owns the edits that evaluate such operands in
//! front:
//!
//! ```text
//! not startswith(input.user, "a")  →  __not0 := (input.user); not startswith(__not0, "a")
//! ```
//!
//! (a comparison is turned round instead: `not a.b > 1` becomes `a.b <= 1`), and those that move
//! `some x` to the start of its body, since the interpreter can't declare a
//! variable twice, once an iteration. What is edited is the rewritten text, in which names mean
//! what they mean to the interpreter.

use std::collections::HashSet;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, LiteralStmt, Query, Rule, RuleHead, Span};

use super::ahead::{self, Order, Place};
use super::parts::{children, declared, pattern, within};
use super::pieces::{closing, extent, opening, range, single_line};
use super::scope::{Link, chain, path};
use super::terms::closures;
use super::text::{Edit, Rewritten};
use super::tree::Tree;
use super::vars::expressions;
use crate::{Error, ErrorKind};

/// What one look at a text finds.
pub(super) struct Round {
    pub(super) edits: Vec<Edit>,
    /// Whether there may be more in what these edits say again: its own text is to be edited.
    pub(super) more: bool,
}

/// Most negations in comprehensions of negations.
const MAX_ROUNDS: usize = 8;

/// Edits a text until nothing is left.
pub(super) fn rounds(
    rewritten: &mut Rewritten,
    round: impl Fn(&str) -> Result<Round, Error>,
) -> Result<(), Error> {
    for _ in 0..MAX_ROUNDS {
        let Round { edits, more } = round(&rewritten.text)?;
        rewritten.again(edits);
        if !more {
            return Ok(());
        }
    }
    let message = format!(
        "negations stand in comprehensions of negations more than {MAX_ROUNDS} levels deep"
    );
    Err(Error::new(ErrorKind::Policy, message))
}

/// The edits of a module whose references are rewritten already.
pub(super) fn edits(module: &ast::Module, tree: &Tree) -> Round {
    let mut finder =
        Finder::new(module.package.span.source.get_contents(), Order::of_module(module, tree));
    for rule in &module.policy {
        finder.rule(rule);
    }
    Round { edits: finder.edits, more: finder.more }
}

/// The edits of a query whose references are rewritten already.
pub(super) fn query_edits(query: &Query) -> Round {
    let mut finder = Finder::new(query.span.source.get_contents(), Order::of_query());
    finder.depth = 1;
    finder.equal_is_call = true;
    finder.query(query, Braces::Given);
    Round { edits: finder.edits, more: finder.more }
}

/// Whether a query stands in braces, or anything else that takes several statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Braces {
    Given,
    /// A rule's body: `if not x` has none.
    Maybe,
}

struct Finder<'a> {
    text: &'a str,
    edits: Vec<Edit>,
    more: bool,
    /// The local names of each query around.
    locals: Vec<HashSet<&'a str>>,
    /// What the names of the new variables start with.
    prefix: String,
    count: usize,
    order: Order<'a>,
    /// How many queries are around.
    depth: usize,
    /// Whether `==` evaluates its operands first, as other calls do: in modules OPA's compiler
    /// makes `=` of it, in queries it doesn't.
    equal_is_call: bool,
}

impl<'a> Finder<'a> {
    fn new(text: &'a str, order: Order<'a>) -> Self {
        let mut prefix = "__not".to_owned();
        while text.contains(&prefix) {
            prefix.push('_');
        }
        Self {
            text,
            edits: Vec::new(),
            more: false,
            locals: Vec::new(),
            prefix,
            count: 0,
            order,
            depth: 0,
            equal_is_call: false,
        }
    }

    fn rule(&mut self, rule: &'a Rule) {
        let Rule::Spec { head, bodies, .. } = rule else { return };
        let (path, inner, assign) = match head {
            RuleHead::Compr { refr, assign, .. } => (refr, Vec::new(), assign.as_ref()),
            RuleHead::Set { refr, key, .. } => (refr, key.iter().collect(), None),
            RuleHead::Func { refr, args, assign, .. } => {
                (refr, args.iter().collect(), assign.as_ref())
            }
        };
        let mut arguments = HashSet::new();
        if let RuleHead::Func { args, .. } = head {
            for arg in args {
                pattern(arg, &mut arguments);
            }
        }
        self.locals.push(arguments);
        self.locals.push(bodies.first().map(|body| declared(&body.query)).unwrap_or_default());
        self.expr(path);
        for expr in inner {
            self.expr(expr);
        }
        if let Some(assign) = assign {
            self.expr(&assign.value);
        }
        self.locals.pop();
        for body in bodies {
            self.query(&body.query, Braces::Maybe);
            if let Some(assign) = &body.assign {
                self.locals.push(declared(&body.query));
                self.expr(&assign.value);
                self.locals.pop();
            }
        }
        self.locals.pop();
    }

    fn query(&mut self, query: &'a Query, braces: Braces) {
        self.locals.push(declared(query));
        self.depth += 1;
        for (index, stmt) in query.stmts.iter().enumerate() {
            match &stmt.literal {
                Literal::SomeVars { span, .. } if index > 0 => self.declare_first(query, span),
                Literal::SomeVars { .. } => {}
                Literal::SomeIn { collection, .. } => self.expr(collection),
                Literal::Expr { expr, .. } => self.expr(expr),
                Literal::NotExpr { expr, .. } => {
                    let single = braces == Braces::Maybe && query.stmts.len() == 1;
                    if self.negated(stmt, expr, single) {
                        // Part of the text is said again, and edited in the next round.
                        self.more |= expressions(stmt).into_iter().any(has_closure);
                        continue;
                    }
                    self.expr(expr);
                }
                Literal::Every { key, value, domain, query, .. } => {
                    self.expr(domain);
                    let names = key.iter().chain([value]).map(Span::text);
                    self.locals.push(names.collect());
                    self.query(query, Braces::Given);
                    self.locals.pop();
                }
            }
            for modifier in &stmt.with_mods {
                self.expr(&modifier.r#as);
            }
        }
        self.depth -= 1;
        self.locals.pop();
    }

    /// Looks for queries within an expression.
    fn expr(&mut self, expr: &'a ExprRef) {
        match expr.as_ref() {
            Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
                self.comprehension(query, &[term]);
            }
            Expr::ObjectCompr { key, value, query, .. } => {
                self.comprehension(query, &[key, value]);
            }
            _ => {
                for part in within(expr) {
                    self.expr(part);
                }
            }
        }
    }

    fn comprehension(&mut self, query: &'a Query, terms: &[&'a ExprRef]) {
        self.query(query, Braces::Given);
        self.locals.push(declared(query));
        for term in terms {
            self.expr(term);
        }
        self.locals.pop();
    }

    /// Evaluates the operands of a negated statement before it is negated; whether in front of it.
    fn negated(&mut self, stmt: &'a LiteralStmt, expr: &'a ExprRef, single: bool) -> bool {
        if let Literal::NotExpr { span, .. } = &stmt.literal
            && self.order.is_of_module()
            && self.turned(range(span).0, expr)
        {
            return false;
        }
        let mut operands = match expr.as_ref() {
            Expr::BoolExpr { op: ast::BoolOp::Eq, lhs, rhs, .. } if self.equal_is_call => {
                vec![lhs, rhs]
            }
            _ => operands(expr),
        };
        operands.retain(|operand| self.eager(operand));
        let inner = self.depth > 1 || !stmt.with_mods.is_empty();
        let together =
            self.order.matters(&operands, if inner { Place::Inner } else { Place::Rule });
        let operands: Vec<_> = operands.into_iter().map(|operand| extent(operand)).collect();
        let (Some(&(first, _)), Some(&(_, last))) = (operands.first(), operands.last()) else {
            return false;
        };
        let Literal::NotExpr { span, .. } = &stmt.literal else { return false };
        let (start, end) = range(span);
        let modifiers = match (stmt.with_mods.first(), stmt.with_mods.last()) {
            (Some(first), Some(_)) => {
                single_line(self.slice(range(&first.span).0, range(&stmt.span).1))
            }
            _ => String::new(),
        };
        // Without braces a body has one statement only.
        let unbraced = single && !self.closed_after(range(&stmt.span).1);
        let brace = if unbraced { "{ " } else { "" };
        let names: Vec<String> = operands.iter().map(|_| self.name()).collect();
        let (mut open, mut close) =
            (format!("{brace}{} := (", names.first().map_or("", String::as_str)), ")");
        if together {
            open = format!("{brace}[{}] := {}", names.join(", "), ahead::opened(names.len()));
            close = "))";
        }
        opening(self.text, (start, first), &open, &mut self.edits);
        let mut again = single_line(self.slice(start, first));
        for (index, (name, &(_, operand_end))) in names.iter().zip(&operands).enumerate() {
            again.push_str(name);
            let next = operands.get(index + 1).map_or(end, |operand| operand.0);
            again.push_str(&single_line(self.slice(operand_end, next)));
            if let Some(name) = names.get(index + 1) {
                let put = if together {
                    ahead::BETWEEN.to_owned()
                } else {
                    format!(") {modifiers}; {name} := (")
                };
                opening(self.text, (operand_end, next), &put, &mut self.edits);
            }
        }
        closing(self.text, (last, end), &format!("{close} {modifiers}; {again}"), &mut self.edits);
        if unbraced {
            let at = range(&stmt.span).1;
            self.edits.push(Edit::new(at, at, " }"));
        }
        true
    }

    /// Turns a comparison round: `not a > b` becomes `a <= b`, which is undefined where one of the
    /// operands is. Whether it was one, in a module: a query's rows have its statements' form.
    fn turned(&mut self, not: usize, expr: &'a ExprRef) -> bool {
        let Expr::BoolExpr { op, lhs, rhs, .. } = expr.as_ref() else { return false };
        let opposite = match op {
            ast::BoolOp::Lt => ">=",
            ast::BoolOp::Le => ">",
            ast::BoolOp::Ge => "<",
            ast::BoolOp::Gt => "<=",
            ast::BoolOp::Ne => "==",
            ast::BoolOp::Eq => return false,
        };
        // Without the `not`, a bracket or a minus would go on with the statement before.
        let begins = self.slice(not + "not".len(), extent(lhs).1).trim_start();
        let apart = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '`');
        if !begins.starts_with(apart) {
            return false;
        }
        if self.eager(lhs) || self.eager(rhs) {
            let between = (extent(lhs).1, extent(rhs).0);
            let Some(at) = operator(self.slice(between.0, between.1)) else { return false };
            let (start, end) = (between.0 + at.start, between.0 + at.end);
            self.edits.push(Edit::new(not, not + "not".len(), ""));
            self.edits.push(Edit::new(start, end, opposite));
        }
        true
    }

    /// A new variable.
    fn name(&mut self) -> String {
        self.count += 1;
        format!("{}{}", self.prefix, self.count - 1)
    }

    /// Whether an expression is a rule that has a value whatever is asked.
    fn is_sure(&self, expr: &ExprRef) -> bool {
        path(expr)
            .is_some_and(|(first, keys)| !self.is_local(&first) && self.order.is_sure(first, keys))
    }

    fn is_local(&self, name: &str) -> bool {
        self.locals.iter().any(|names| names.contains(name))
    }

    /// Whether an expression may be undefined, or iterate, before what it is an operand of.
    fn eager(&self, expr: &ExprRef) -> bool {
        match expr.as_ref() {
            Expr::String { .. }
            | Expr::RawString { .. }
            | Expr::Number { .. }
            | Expr::Bool { .. }
            | Expr::Null { .. }
            | Expr::ArrayCompr { .. }
            | Expr::SetCompr { .. }
            | Expr::ObjectCompr { .. } => false,
            Expr::Var { span, .. } => {
                let name = span.text();
                name != "_" && !self.is_local(name) && !self.is_sure(expr)
            }
            Expr::RefDot { .. } | Expr::RefBrack { .. } => !self.is_sure(expr),
            Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => {
                children(expr).into_iter().any(|child| self.eager(child))
            }
            _ => true,
        }
    }

    /// Declares what `some` declares in the middle of a query at its start.
    fn declare_first(&mut self, query: &Query, span: &Span) {
        let Some(first) = query.stmts.first() else { return };
        let (start, end) = range(span);
        let declaration = format!("{}; ", single_line(self.slice(start, end)));
        let at = range(&first.span).0;
        self.edits.push(Edit::new(at, at, declaration));
        opening(self.text, (start, end), "true", &mut self.edits);
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Whether what follows `at` closes a body in braces.
    fn closed_after(&self, at: usize) -> bool {
        let mut rest = self.text.get(at..).unwrap_or("").trim_start();
        while rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after.trim_start());
        }
        rest.starts_with(['}', ';'])
    }
}

fn has_closure(expr: &ExprRef) -> bool {
    let mut found = Vec::new();
    closures(expr, &mut found);
    !found.is_empty()
}

/// Where a comparison's operator stands in what is between its operands: parentheses, white space
/// and comments.
fn operator(between: &str) -> Option<std::ops::Range<usize>> {
    let mut from = 0;
    loop {
        let rest = between.get(from..)?;
        let at = from + rest.find(['<', '>', '=', '!', '#'])?;
        let found = between.get(at..)?;
        if found.starts_with('#') {
            from = at + found.find('\n')?;
            continue;
        }
        let length = if found.as_bytes().get(1) == Some(&b'=') { 2 } else { 1 };
        return Some(at..at + length);
    }
}

/// What Rego evaluates before the expression that is negated, in the order of the text.
fn operands(expr: &ExprRef) -> Vec<&ExprRef> {
    match expr.as_ref() {
        Expr::Call { params, .. } => params.iter().collect(),
        Expr::RefDot { .. } | Expr::RefBrack { .. } => {
            let chain = chain(expr);
            let base = (!matches!(chain.base.as_ref(), Expr::Var { .. })).then_some(chain.base);
            let indexes = chain.steps.into_iter().filter_map(|link| match link {
                Link::Index(index, _) => Some(index),
                Link::Field(..) => None,
            });
            base.into_iter().chain(indexes).collect()
        }
        Expr::Array { .. } | Expr::Set { .. } | Expr::Object { .. } => vec![expr],
        Expr::BoolExpr { op: ast::BoolOp::Eq, lhs, rhs, .. }
        | Expr::AssignExpr { op: ast::AssignOp::Eq, lhs, rhs, .. } => {
            [lhs, rhs].into_iter().flat_map(compared).collect()
        }
        other => children(other),
    }
}

/// What is evaluated before a side of an equation. References are read with the equation.
fn compared(side: &ExprRef) -> Vec<&ExprRef> {
    match side.as_ref() {
        Expr::Var { .. } => Vec::new(),
        Expr::RefDot { .. } | Expr::RefBrack { .. } => operands(side),
        _ => vec![side],
    }
}

#[cfg(test)]
#[path = "negation_tests.rs"]
mod tests;
