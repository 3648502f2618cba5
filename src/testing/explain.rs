//! Why a test failed: at which expression, and what its operands were.
//!
//! Owns the search: the test is evaluated again, with the answers that it had, and watched. The
//! statement of its body that comes last among those that were reached, and that nothing got
//! past, is the one. Only where a rule has one body: with `else`, no single expression decided.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use super::run::{Ran, replaying};
use super::suite::{Member, Suite};
use super::{Cause, Operand, Outcome, cases};
use crate::evaluate::{EvaluateOptions, position};
use crate::rego::Value;
use crate::rego::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::syntax::tree::{Expr, ExprKind, Name, Rule, Span, Term, TermKind};
use crate::rego::syntax::visit::walk_exprs;

/// How many tests are explained; more is more than anyone reads.
const MOST: usize = 100;

/// How long an explaining evaluation may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Different values that are kept of an operand.
const VALUES: usize = 4;

/// Finds the causes of failures. What can't be found is left out: the verdict stands.
pub(super) fn failures(suite: &Suite, done: &mut BTreeMap<usize, Ran>, options: &EvaluateOptions) {
    let mut options = options.clone();
    options.budget.timeout = options.budget.timeout.min(PATIENCE);
    let mut explained = 0;
    for (index, ran) in done {
        let Some(member) = suite.members.get(*index) else { continue };
        if explained == MOST {
            break;
        }
        let cause = cause(suite, member, ran, &options);
        if let (Outcome::Failed(failure), Some(cause)) = (&mut ran.outcome, cause) {
            failure.cause = Some(cause);
            explained += 1;
        }
    }
}

fn cause(suite: &Suite, member: &Member, ran: &Ran, options: &EvaluateOptions) -> Option<Cause> {
    let Outcome::Failed(failure) = &ran.outcome else { return None };
    if failure.reason.is_some() || ran.cases.is_empty() != ran.failed.is_none() {
        return None;
    }
    let module = suite.policies.program().modules().get(member.found.module)?;
    let rule = module.rules.get(member.found.rule)?;
    if rule.else_rule.is_some() {
        return None;
    }
    let made = made(suite, rule);
    let options = replaying(ran.evaluated.as_ref()?, options).ok()?;
    let keys = ran.failed.as_deref().unwrap_or_default();
    let watch = Watch { rule, keys, state: RefCell::default() };
    let query = suite.policies.query_path(&member.path());
    suite.policies.evaluate_watched(&query, None, &options, &watch);
    let state = watch.state.into_inner();
    let texts = suite.policies.program().sources();
    let statement = match state.failed {
        Some(index) => rule.body.get(index)?,
        // The body holds: the rule's value is what isn't true.
        None => {
            let value = rule.head.value.as_ref()?;
            let values = match &value.kind {
                TermKind::Var(name) => state.of_author(suite, name),
                _ => made.get(&value.span).and_then(|local| state.locals.get(&**local)).cloned(),
            };
            let text = texts.text(value.span).to_owned();
            let operand = Operand { text, values: values.unwrap_or_default() };
            return Some(Cause {
                case: keys.iter().map(cases::name).collect(),
                position: position(texts, value.span),
                verdict: "is false".to_owned(),
                operands: vec![operand],
            });
        }
    };
    let mut shown: Vec<Operand> = Vec::new();
    for term in operands(statement) {
        let values = match &term.kind {
            TermKind::Var(name) => state.of_author(suite, name),
            _ => match (made.get(&term.span), state.field(suite, term)) {
                (Some(local), _) => state.locals.get(&**local).cloned(),
                (None, Some(field)) => Some(Vec::from_iter(field)),
                // Nothing keeps its value: it can't be told.
                (None, None) => continue,
            },
        };
        let text = texts.text(term.span).to_owned();
        if !text.is_empty() && !shown.iter().any(|operand| operand.text == text) {
            shown.push(Operand { text, values: values.unwrap_or_default() });
        }
    }
    let undefined = shown.iter().any(|operand| operand.values.is_empty());
    Some(Cause {
        case: keys.iter().map(cases::name).collect(),
        position: position(texts, statement.span),
        verdict: verdict(statement, undefined).to_owned(),
        operands: shown,
    })
}

/// What is wrong with a statement that nothing got past.
fn verdict(statement: &Expr, undefined: bool) -> &'static str {
    let operator = |name: &str| match &statement.kind {
        ExprKind::Call(terms) => terms.first().is_some_and(|t| is(t, name)),
        _ => false,
    };
    match &statement.kind {
        ExprKind::Every(_) => "doesn't hold for each",
        ExprKind::Not(_) => "is false",
        _ if statement.negated => "is false",
        ExprKind::Some(_) => "finds nothing",
        _ if undefined => "is undefined",
        _ if operator("assign") || operator("eq") => "has no match",
        _ => "is false",
    }
}

fn is(term: &Term, name: &str) -> bool {
    match &term.kind {
        TermKind::Var(var) => &**var == name,
        TermKind::Ref(parts) => matches!(parts.as_slice(), [only] if is(only, name)),
        _ => false,
    }
}

/// The parts of a statement whose values a reader wants to see.
fn operands(statement: &Expr) -> Vec<&Term> {
    let mut found = Vec::new();
    match &statement.kind {
        ExprKind::Term(term) => operand(term, &mut found),
        ExprKind::Call(terms) => {
            for term in terms.iter().skip(1) {
                operand(term, &mut found);
            }
        }
        ExprKind::Some(declared) => {
            for symbol in &declared.symbols {
                if let TermKind::Call(terms) = &symbol.kind
                    && let Some(list) = terms.last()
                {
                    operand(list, &mut found);
                }
            }
        }
        ExprKind::Every(every) => operand(&every.domain, &mut found),
        ExprKind::Not(not) => {
            for expr in &not.body {
                found.extend(operands(expr));
            }
        }
        ExprKind::And(_) | ExprKind::Or(_) => {}
    }
    found
}

/// A term with a value of its own, then the variables within it.
fn operand<'a>(term: &'a Term, found: &mut Vec<&'a Term>) {
    match &term.kind {
        TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) | TermKind::String(_) => {}
        TermKind::Group(inner) => operand(inner, found),
        TermKind::Var(name) if name.starts_with('$') || matches!(&**name, "data" | "input") => {}
        TermKind::Var(_) => found.push(term),
        TermKind::Call(terms) => {
            found.push(term);
            for term in terms.iter().skip(1) {
                operand(term, found);
            }
        }
        TermKind::Ref(parts) => {
            found.push(term);
            for part in parts {
                if matches!(part.kind, TermKind::Var(_)) {
                    operand(part, found);
                }
            }
        }
        _ => found.push(term),
    }
}

/// The variables that compile stages made for the terms of a rule, by where these stand.
fn made(suite: &Suite, rule: &Rule) -> BTreeMap<Span, Name> {
    let mut made = BTreeMap::new();
    let modules = &suite.policies.program().compiled().modules;
    let own = modules.iter().filter(|module| module.span.file == rule.span.file);
    let Some(compiled) = own.flat_map(|m| &m.rules).find(|other| other.span == rule.span) else {
        return made;
    };
    walk_exprs(compiled, &mut |expr| {
        if let ExprKind::Call(terms) = &expr.kind {
            match terms.as_slice() {
                [operator, left, right] if is(operator, "eq") && expr.generated => {
                    for (one, other) in [(left, right), (right, left)] {
                        if let (TermKind::Var(name), false) =
                            (&one.kind, matches!(other.kind, TermKind::Var(_)))
                        {
                            made.entry(other.span).or_insert_with(|| Name::clone(name));
                        }
                    }
                }
                [_, .., Term { kind: TermKind::Var(name), .. }] if expr.generated => {
                    made.entry(expr.span).or_insert_with(|| Name::clone(name));
                }
                _ => {}
            }
        }
        true
    });
    made
}

/// Watches the body of one rule.
struct Watch<'a> {
    rule: &'a Rule,
    /// The case that failed, of a table.
    keys: &'a [Value],
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The last statement that failed, by its place in the body.
    failed: Option<usize>,
    /// The values of variables when it failed, by the names that the compiler gave them.
    locals: BTreeMap<String, Vec<Value>>,
}

impl State {
    /// What a reference of names leads to in a variable that has one value; what it doesn't lead to
    /// is undefined. `None` of anything else, whose value can't be told.
    fn field(&self, suite: &Suite, term: &Term) -> Option<Option<Value>> {
        let TermKind::Ref(parts) = &term.kind else { return None };
        let (head, rest) = parts.split_first()?;
        let TermKind::Var(name) = &head.kind else { return None };
        let values = self.of_author(suite, name)?;
        let [value] = values.as_slice() else { return None };
        let mut found = Some(value);
        for part in rest {
            let TermKind::String(key) = &part.kind else { return None };
            found = found.and_then(|value| value.get_str(key));
        }
        Some(found.cloned())
    }

    /// The values of a variable by its author's name.
    fn of_author(&self, suite: &Suite, name: &str) -> Option<Vec<Value>> {
        let renamed = &suite.policies.program().compiled().rewritten;
        let found = self.locals.iter().find(|(local, _)| {
            let local: Name = local.as_str().into();
            renamed.get(&local).is_some_and(|author| &**author == name)
        });
        found.map(|(_, values)| values.clone()).or_else(|| self.locals.get(name).cloned())
    }
}

impl Watch<'_> {
    /// The statement of the rule's own body that a span is in.
    fn statement(&self, span: Span) -> Option<usize> {
        let within = |outer: Span| {
            outer.file == span.file && outer.start <= span.start && span.end <= outer.end
        };
        self.rule.body.iter().position(|expr| within(expr.span))
    }
}

impl Tracer for Watch<'_> {
    fn event(&self, event: &TraceEvent<'_>) {
        let is_exit = event.op == TraceOp::Exit && event.node == TraceNode::Rule;
        if is_exit && event.span == self.rule.head.span {
            // The body holds: what it bound is what the rule's value is made of.
            let mut state = self.state.borrow_mut();
            if state.failed.is_none() {
                keep_all(&mut state, event);
            }
            return;
        }
        if event.node != TraceNode::Expression || event.op != TraceOp::Fail {
            return;
        }
        let Some(index) = self.statement(event.span) else { return };
        // Of a table, what belongs to other cases says nothing of this one.
        if !self.keys.is_empty() && !mentions(event, self.keys) {
            return;
        }
        let mut state = self.state.borrow_mut();
        if state.failed.is_none_or(|known| known < index) {
            state.locals.clear();
            state.failed = Some(index);
        }
        if state.failed == Some(index) {
            keep_all(&mut state, event);
        }
    }
}

fn mentions(event: &TraceEvent<'_>, keys: &[Value]) -> bool {
    let mut left: Vec<&Value> = keys.iter().collect();
    event.locals.each(&mut |_, value| left.retain(|key| *key != value));
    left.is_empty()
}

fn keep_all(state: &mut State, event: &TraceEvent<'_>) {
    event.locals.each(&mut |name, value| {
        let values = state.locals.entry(name.to_owned()).or_default();
        if values.len() < VALUES && !values.contains(value) {
            values.push(value.clone());
        }
    });
}
