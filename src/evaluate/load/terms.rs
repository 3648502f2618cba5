//! Which variables an expression needs and which it binds.
//!
//! Owns the reading of single statements for [`super::vars`], which puts them in an order.

use std::collections::HashSet;
use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, LiteralStmt, Query, Span};

use super::parts::{bound, children, within};
use super::scope::{self, Link};
use super::vars::{Context, Names, Needs, expressions, is_closure};

/// Reads terms with the names that their body declares.
pub(super) struct Terms<'c> {
    context: &'c Context<'c>,
    declared: &'c HashSet<Arc<str>>,
}

impl<'c> Terms<'c> {
    pub(super) fn new(context: &'c Context<'c>, declared: &'c HashSet<Arc<str>>) -> Self {
        Self { context, declared }
    }

    /// Whether a name is a variable, with `known` those around it.
    fn is_variable(&self, name: &str) -> bool {
        self.declared.contains(name) || !self.context.globals.has(name)
    }

    /// What a statement needs and binds when `safe` have values.
    pub(super) fn statement<'a>(
        &self,
        statement: &'a LiteralStmt,
        safe: &Names<'a>,
        known: &Names<'a>,
    ) -> (Needs<'a>, Names<'a>) {
        let (mut needs, mut gives) = (Needs::new(), Names::new());
        let (n, g) = (&mut needs, &mut gives);
        match &statement.literal {
            Literal::SomeVars { .. } => {}
            Literal::SomeIn { key, value, collection, .. } => {
                self.term(collection, true, safe, n, g);
                for part in key.iter().chain([value]) {
                    self.pattern(part, safe, n, g);
                }
            }
            Literal::Expr { expr, .. } => self.expression(expr, safe, n, g),
            Literal::NotExpr { expr, .. } => self.negated(expr, safe, n),
            Literal::Every { key, value, domain, query, .. } => {
                self.term(domain, true, safe, n, g);
                let mut inner = known.clone();
                for span in key.iter().chain([value]) {
                    inner.remove(span.text());
                }
                self.free(&[], query, &inner, n);
            }
        }
        for modifier in &statement.with_mods {
            self.term(&modifier.r#as, true, safe, n, g);
            // A function in a function's place is no variable.
            if let Expr::Var { span, .. } = scope::chain(&modifier.r#as).base.as_ref()
                && (self.context.arity)(&modifier.r#as).is_some()
            {
                n.remove(span.text());
            }
        }
        for expr in expressions(statement) {
            self.closure_needs(expr, known, n);
        }
        (needs, gives)
    }

    fn expression<'a>(
        &self,
        expr: &'a ExprRef,
        safe: &Names<'a>,
        needs: &mut Needs<'a>,
        gives: &mut Names<'a>,
    ) {
        match expr.as_ref() {
            Expr::AssignExpr { op, lhs, rhs, .. } => match op {
                ast::AssignOp::ColEq => {
                    self.term(rhs, true, safe, needs, gives);
                    self.pattern(lhs, safe, needs, gives);
                }
                ast::AssignOp::Eq => self.unify(lhs, rhs, safe, needs, gives),
            },
            Expr::Call { fcn, params, .. } => {
                let output = (self.context.arity)(fcn).is_some_and(|n| n + 1 == params.len());
                let inputs = params.len() - usize::from(output);
                for param in params.iter().take(inputs) {
                    self.term(param, true, safe, needs, gives);
                }
                for param in params.iter().skip(inputs) {
                    self.pattern(param, safe, needs, gives);
                }
            }
            _ => self.term(expr, true, safe, needs, gives),
        }
    }

    /// A negated statement binds nothing; calls within its operands are made before it.
    fn negated<'a>(&self, expr: &'a ExprRef, safe: &Names<'a>, needs: &mut Needs<'a>) {
        let mut gives = Names::new();
        let mut operand = |operand: &'a ExprRef, needs: &mut Needs<'a>| {
            let hoisted = is_operation(operand);
            self.term(operand, hoisted, safe, needs, &mut gives);
        };
        match expr.as_ref() {
            Expr::Call { params, .. } => {
                for param in params {
                    operand(param, needs);
                }
            }
            Expr::BinExpr { lhs, rhs, .. }
            | Expr::BoolExpr { lhs, rhs, .. }
            | Expr::ArithExpr { lhs, rhs, .. }
            | Expr::AssignExpr { lhs, rhs, .. } => {
                operand(lhs, needs);
                operand(rhs, needs);
            }
            Expr::Membership { key, value, collection, .. } => {
                for part in key.iter().chain([value, collection]) {
                    operand(part, needs);
                }
            }
            _ => self.term(expr, false, safe, needs, &mut gives),
        }
        // What the hoisted calls bind is bound for the statement.
        needs.retain(|name, _| !gives.contains(name));
    }

    /// `a = b`: a side whose variables have values gives them to the other's, part by part.
    fn unify<'a>(
        &self,
        a: &'a ExprRef,
        b: &'a ExprRef,
        safe: &Names<'a>,
        needs: &mut Needs<'a>,
        gives: &mut Names<'a>,
    ) {
        let mut pairs = Vec::new();
        flatten(a, b, &mut pairs);
        loop {
            let before = pairs.len();
            pairs.retain(|(a, b)| {
                ![(*b, *a), (*a, *b)].into_iter().any(|(from, to)| {
                    let (mut n, mut g) = (Needs::new(), Names::new());
                    self.term(from, true, safe, &mut n, &mut g);
                    let bound = |name: &&str| {
                        safe.contains(name) || gives.contains(name) || g.contains(name)
                    };
                    let ready = n.keys().all(bound);
                    if ready {
                        needs.append(&mut n);
                        gives.append(&mut g);
                        self.pattern(to, safe, needs, gives);
                    }
                    ready
                })
            });
            if pairs.is_empty() || pairs.len() == before {
                break;
            }
        }
        for (a, b) in pairs {
            self.term(a, true, safe, needs, gives);
            self.term(b, true, safe, needs, gives);
        }
    }

    /// A term that takes the form of a value: its variables are bound.
    fn pattern<'a>(
        &self,
        expr: &'a ExprRef,
        safe: &Names<'a>,
        needs: &mut Needs<'a>,
        gives: &mut Names<'a>,
    ) {
        match expr.as_ref() {
            Expr::Var { span, .. } => {
                if span.text() != "_" && self.is_variable(span.text()) {
                    gives.insert(span.text());
                }
            }
            Expr::Array { items, .. } => {
                for item in items {
                    self.pattern(item, safe, needs, gives);
                }
            }
            Expr::Object { fields, .. } => {
                for (_, key, value) in fields {
                    self.term(key, true, safe, needs, gives);
                    self.pattern(value, safe, needs, gives);
                }
            }
            _ => self.term(expr, true, safe, needs, gives),
        }
    }

    /// A term that is evaluated. `binds`: a variable in brackets iterates; in a negated statement
    /// it needs a value.
    pub(super) fn term<'a>(
        &self,
        expr: &'a ExprRef,
        binds: bool,
        safe: &Names<'a>,
        needs: &mut Needs<'a>,
        gives: &mut Names<'a>,
    ) {
        match expr.as_ref() {
            Expr::Var { span, .. } => {
                if self.is_variable(span.text()) {
                    needs.entry(span.text()).or_insert(span);
                }
            }
            Expr::RefDot { .. } | Expr::RefBrack { .. } => {
                let chain = scope::chain(expr);
                self.term(chain.base, binds, safe, needs, gives);
                for link in chain.steps {
                    match link {
                        Link::Index(index, _) if binds => self.pattern(index, safe, needs, gives),
                        Link::Index(index, _) => {
                            let hoisted = is_operation(index);
                            self.term(index, hoisted, safe, needs, gives);
                        }
                        Link::Field(..) => {}
                    }
                }
            }
            Expr::Call { params, .. } => {
                for param in params {
                    self.term(param, binds, safe, needs, gives);
                }
            }
            _ if is_closure(expr) => {}
            _ => {
                for part in children(expr) {
                    self.term(part, binds, safe, needs, gives);
                }
            }
        }
    }

    /// The variables of `known` that comprehensions in an expression use.
    pub(super) fn closure_needs<'a>(
        &self,
        expr: &'a ExprRef,
        known: &Names<'a>,
        needs: &mut Needs<'a>,
    ) {
        let mut found = Vec::new();
        closures(expr, &mut found);
        for (terms, query) in found {
            self.free(&terms, query, known, needs);
        }
    }

    fn free<'a>(
        &self,
        terms: &[&'a ExprRef],
        query: &'a Query,
        known: &Names<'a>,
        needs: &mut Needs<'a>,
    ) {
        let declared = scope::declared(query);
        let mut visit = |span: &'a Span| {
            let name = span.text();
            if known.contains(name)
                && name != "_"
                && !declared.contains(name)
                && self.is_variable(name)
            {
                needs.entry(name).or_insert(span);
            }
        };
        for term in terms {
            variables(term, true, &mut visit);
        }
        query_variables(query, &mut visit);
    }

    /// The variables of a statement, without those of comprehensions and of the body of `every`.
    pub(super) fn outside_closures<'a>(&self, statement: &'a LiteralStmt, names: &mut Names<'a>) {
        if let Literal::SomeVars { vars, .. } = &statement.literal {
            names.extend(vars.iter().map(Span::text));
        }
        for expr in expressions(statement) {
            variables(expr, false, &mut |span| {
                if self.is_variable(span.text()) {
                    names.insert(span.text());
                }
            });
        }
    }
}

/// The parts of two terms that are made equal: members of arrays and of objects with the same
/// keys, else the terms themselves.
fn flatten<'a>(a: &'a ExprRef, b: &'a ExprRef, pairs: &mut Vec<(&'a ExprRef, &'a ExprRef)>) {
    match (a.as_ref(), b.as_ref()) {
        (Expr::Array { items: x, .. }, Expr::Array { items: y, .. }) if x.len() == y.len() => {
            for (a, b) in x.iter().zip(y) {
                flatten(a, b, pairs);
            }
        }
        (Expr::Object { fields: x, .. }, Expr::Object { fields: y, .. }) if x.len() == y.len() => {
            let other = |key: &ExprRef| {
                let key = scope::key(key)?;
                y.iter().find(|(_, k, _)| scope::key(k).as_ref() == Some(&key))
            };
            let found: Option<Vec<_>> =
                x.iter().map(|(_, key, value)| Some((value, &other(key)?.2))).collect();
            match found {
                Some(found) => {
                    for (a, b) in found {
                        flatten(a, b, pairs);
                    }
                }
                None => pairs.push((a, b)),
            }
        }
        _ => pairs.push((a, b)),
    }
}

/// Calls and operators within an operand are evaluated before the statement.
pub(super) fn is_operation(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Call { .. }
            | Expr::BinExpr { .. }
            | Expr::BoolExpr { .. }
            | Expr::ArithExpr { .. }
            | Expr::UnaryExpr { .. }
            | Expr::Membership { .. }
    )
}

/// The names that a function's parameter binds.
pub(super) fn pattern_names<'a>(expr: &'a ExprRef, names: &mut Names<'a>) {
    bound(expr, &mut |span| {
        names.insert(span.text());
    });
}

/// Every name in an expression that could be a variable; `deep`: in comprehensions too.
pub(super) fn variables<'a>(expr: &'a ExprRef, deep: bool, visit: &mut dyn FnMut(&'a Span)) {
    match expr.as_ref() {
        Expr::Var { span, .. } => visit(span),
        _ if is_closure(expr) => {
            if deep && let Some((terms, query)) = closure(expr) {
                for term in terms {
                    variables(term, deep, visit);
                }
                query_variables(query, visit);
            }
        }
        _ => {
            for part in within(expr) {
                variables(part, deep, visit);
            }
        }
    }
}

/// Every name in a body that could be a variable.
pub(super) fn query_variables<'a>(query: &'a Query, visit: &mut dyn FnMut(&'a Span)) {
    for statement in &query.stmts {
        for expr in expressions(statement) {
            variables(expr, true, visit);
        }
        if let Literal::Every { query, .. } = &statement.literal {
            query_variables(query, visit);
        }
    }
}

/// A comprehension's terms and body.
type Closure<'a> = (Vec<&'a ExprRef>, &'a Query);

fn closure(expr: &Expr) -> Option<Closure<'_>> {
    match expr {
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            Some((vec![term], query))
        }
        Expr::ObjectCompr { key, value, query, .. } => Some((vec![key, value], query)),
        _ => None,
    }
}

/// The outermost comprehensions of an expression.
pub(super) fn closures<'a>(expr: &'a ExprRef, found: &mut Vec<Closure<'a>>) {
    if let Some(closure) = closure(expr) {
        found.push(closure);
        return;
    }
    for part in within(expr) {
        closures(part, found);
    }
}
