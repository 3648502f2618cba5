//! Variables that nothing gives a value.
//!
//! Owns Rego's safety check: every variable of a body must be bound by some statement that isn't
//! negated, in whichever order, before it is used otherwise. The interpreter finds such variables
//! only when it reaches them, and takes some negated references for something else. Which name is
//! a variable is [`super::scope`]'s.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Literal, LiteralStmt, Query, Rule, RuleHead, Span};

use super::parts::within;
use super::scope::{self, Globals, Link};
use super::terms::{Terms, closures, is_operation, pattern_names, variables};
use super::text::FileText;
use crate::Diagnostic;

/// Variables with a place where each is used.
pub(super) type Needs<'a> = BTreeMap<&'a str, &'a Span>;
/// Names of variables.
pub(super) type Names<'a> = BTreeSet<&'a str>;

/// Which names are variables, and how many arguments functions take.
pub(super) struct Context<'a> {
    pub(super) globals: &'a Globals<'a>,
    /// The number of arguments of the function that an expression names.
    pub(super) arity: &'a dyn Fn(&ExprRef) -> Option<usize>,
}

/// What surrounds a body.
#[derive(Clone, Default)]
struct Env<'a> {
    /// Variables that belong to the surroundings.
    known: Names<'a>,
    /// Those of them that have a value.
    safe: Names<'a>,
}

/// Checks every rule of a module.
pub(super) fn module(
    module: &ast::Module,
    file: &FileText,
    context: &Context<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let mut check = Check { context, unsafe_vars: BTreeMap::new() };
    for rule in &module.policy {
        check.rule(rule);
    }
    check.report(file, out);
}

/// Checks a query.
pub(super) fn query(
    query: &Query,
    file: &FileText,
    context: &Context<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let mut check = Check { context, unsafe_vars: BTreeMap::new() };
    check.body(query, &[], &Env::default());
    check.report(file, out);
}

struct Check<'c, 'a> {
    context: &'c Context<'c>,
    /// By offset, so that each is reported once and in order.
    unsafe_vars: BTreeMap<u32, &'a Span>,
}

impl<'a> Check<'_, 'a> {
    fn report(self, file: &FileText, out: &mut Vec<Diagnostic>) {
        for span in self.unsafe_vars.values() {
            let name = span.text();
            let (message, hint) = if name == "_" {
                (
                    "`_` is unsafe: it stands where a value is needed".to_owned(),
                    "iterate outside of the negation, with `some … in` or `every`",
                )
            } else {
                (
                    format!("variable `{name}` is unsafe: nothing gives it a value"),
                    "is it a misspelt rule or import? A negated statement binds no variable",
                )
            };
            out.push(
                Diagnostic::error("unsafe-variable", message)
                    .with_hint(hint)
                    .at(file.position(span.start as usize, scope::end(span))),
            );
        }
    }

    fn rule(&mut self, rule: &'a Rule) {
        let Rule::Spec { head, bodies, .. } = rule else { return };
        let mut env = Env::default();
        let mut terms: Vec<&'a ExprRef> = Vec::new();
        let (refr, value) = match head {
            RuleHead::Compr { refr, assign, .. } => (refr, assign.as_ref().map(|a| &a.value)),
            RuleHead::Set { refr, key, .. } => (refr, key.as_ref()),
            RuleHead::Func { refr, args, assign, .. } => {
                for arg in args {
                    pattern_names(arg, &mut env.known);
                }
                env.safe = env.known.clone();
                (refr, assign.as_ref().map(|a| &a.value))
            }
        };
        for link in scope::chain(refr).steps {
            if let Link::Index(index, _) = link {
                terms.push(index);
            }
        }
        if bodies.is_empty() {
            terms.extend(value);
            self.statements(&[], &terms, &HashSet::new(), &env);
        }
        for (number, body) in bodies.iter().enumerate() {
            let mut terms = terms.clone();
            if number == 0 || !body.is_else {
                terms.extend(value);
            }
            terms.extend(body.assign.as_ref().map(|a| &a.value));
            self.body(&body.query, &terms, &env);
        }
    }

    fn body(&mut self, query: &'a Query, terms: &[&'a ExprRef], outer: &Env<'a>) {
        self.statements(&query.stmts, terms, &scope::declared(query), outer);
    }

    /// Checks statements, and terms that are evaluated after them.
    fn statements(
        &mut self,
        statements: &'a [LiteralStmt],
        terms: &[&'a ExprRef],
        declared: &HashSet<Arc<str>>,
        outer: &Env<'a>,
    ) {
        let own = |name: &str| declared.contains(name);
        let mut env = Env {
            known: outer.known.iter().copied().filter(|n| !own(n)).collect(),
            safe: outer.safe.iter().copied().filter(|n| !own(n)).collect(),
        };
        let shown = Terms::new(self.context, declared);
        for statement in statements {
            shown.outside_closures(statement, &mut env.known);
        }
        for term in terms {
            variables(term, false, &mut |span| {
                env.known.insert(span.text());
            });
        }
        let mut waiting: Vec<&'a LiteralStmt> = statements.iter().collect();
        loop {
            let before = waiting.len();
            waiting.retain(|statement| !self.ready(statement, declared, &mut env));
            if waiting.is_empty() || waiting.len() == before {
                break;
            }
        }
        for statement in waiting {
            let (_, lacking) = before(statement, &shown, &env);
            self.blame(lacking, &Names::new(), &env);
            let (needs, gives) = shown.statement(statement, &env.safe, &env.known);
            self.blame(needs, &gives, &env);
        }
        for term in terms {
            let (safe, lacking) = evaluated(&[*term], &shown, &env);
            self.blame(lacking, &Names::new(), &env);
            env.safe = safe;
            let (mut needs, mut gives) = (Needs::new(), Names::new());
            shown.term(term, true, &env.safe, &mut needs, &mut gives);
            shown.closure_needs(term, &env.known, &mut needs);
            self.blame(needs, &gives, &env);
            env.safe.extend(gives);
            self.closures(term, &env);
        }
    }

    /// Whether a statement can be evaluated with the variables that are safe; if so, those that
    /// it binds are safe from now on.
    fn ready(
        &mut self,
        statement: &'a LiteralStmt,
        declared: &HashSet<Arc<str>>,
        env: &mut Env<'a>,
    ) -> bool {
        let shown = Terms::new(self.context, declared);
        let (safe, lacking) = before(statement, &shown, env);
        if !lacking.is_empty() {
            return false;
        }
        let (needs, gives) = shown.statement(statement, &safe, &env.known);
        if !needs.keys().all(|name| safe.contains(name) || gives.contains(name)) {
            return false;
        }
        env.safe = safe;
        env.safe.extend(gives);
        if let Literal::Every { key, value, query, .. } = &statement.literal {
            let mut inner = env.clone();
            for span in key.iter().chain([value]) {
                inner.known.insert(span.text());
                inner.safe.insert(span.text());
            }
            self.body(query, &[], &inner);
        }
        for expr in expressions(statement) {
            self.closures(expr, env);
        }
        true
    }

    fn closures(&mut self, expr: &'a ExprRef, env: &Env<'a>) {
        let mut found = Vec::new();
        closures(expr, &mut found);
        for (terms, query) in found {
            self.body(query, &terms, env);
        }
    }

    fn blame(&mut self, needs: Needs<'a>, gives: &Names<'a>, env: &Env<'a>) {
        for (name, span) in needs {
            if !env.safe.contains(name) && !gives.contains(name) {
                self.unsafe_vars.entry(span.start).or_insert(span);
            }
        }
    }
}

/// The expressions of a statement, outside of the body of `every`.
pub(super) fn expressions(statement: &LiteralStmt) -> Vec<&ExprRef> {
    let mut list: Vec<&ExprRef> = Vec::new();
    match &statement.literal {
        Literal::SomeVars { .. } => {}
        Literal::SomeIn { key, value, collection, .. } => {
            list.extend(key);
            list.extend([value, collection]);
        }
        Literal::Expr { expr, .. } | Literal::NotExpr { expr, .. } => list.push(expr),
        Literal::Every { domain, .. } => list.push(domain),
    }
    list.extend(statement.with_mods.iter().map(|m| &m.r#as));
    list
}

/// What is safe once the calls, operators and comprehensions within a statement are evaluated, and
/// what they need that isn't.
fn before<'a>(
    statement: &'a LiteralStmt,
    shown: &Terms<'_>,
    env: &Env<'a>,
) -> (Names<'a>, Needs<'a>) {
    let expressions = expressions(statement);
    let (safe, mut lacking) = evaluated(&expressions, shown, env);
    for expr in expressions {
        shown.closure_needs(expr, &env.known, &mut lacking);
    }
    lacking.retain(|name, _| !safe.contains(name));
    (safe, lacking)
}

/// What is safe once the calls and operators within expressions are evaluated, which is before
/// their statement, and what they need that isn't. What the statement itself binds is no help:
/// `arr[i] == f(i)` has no value for `i`.
fn evaluated<'a>(
    within: &[&'a ExprRef],
    shown: &Terms<'_>,
    env: &Env<'a>,
) -> (Names<'a>, Needs<'a>) {
    let mut found = Vec::new();
    for expr in within {
        operations(expr, &mut found);
    }
    let mut safe = env.safe.clone();
    let mut done = HashSet::new();
    loop {
        let before = done.len();
        let mut lacking = Needs::new();
        for (index, operation) in found.iter().enumerate() {
            if done.contains(&index) || !(operation.first..index).all(|i| done.contains(&i)) {
                continue;
            }
            let (mut needs, mut gives) = (Needs::new(), Names::new());
            shown.term(operation.expr, true, &safe, &mut needs, &mut gives);
            needs.retain(|name, _| !safe.contains(name) && !gives.contains(name));
            if needs.is_empty() {
                safe.extend(gives);
                done.insert(index);
            }
            lacking.append(&mut needs);
        }
        if done.len() == before {
            return (safe, lacking);
        }
    }
}

/// A call or an operator within a statement.
struct Operation<'a> {
    expr: &'a ExprRef,
    /// Those within it come before it in the list, from here on.
    first: usize,
}

/// The calls and operators below an expression, inner ones first.
fn operations<'a>(expr: &'a ExprRef, found: &mut Vec<Operation<'a>>) {
    if is_closure(expr) {
        return;
    }
    for part in within(expr) {
        let first = found.len();
        operations(part, found);
        if is_operation(part) {
            found.push(Operation { expr: part, first });
        }
    }
}

/// Whether an expression is a comprehension.
pub(super) fn is_closure(expr: &Expr) -> bool {
    matches!(expr, Expr::ArrayCompr { .. } | Expr::SetCompr { .. } | Expr::ObjectCompr { .. })
}
