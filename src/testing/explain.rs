//! Why a test failed: at which expression, and what its operands were.
//!
//! Owns the search: the test is evaluated again, with the answers that it had, and watched. The
//! statement of its body that comes last among those that were reached, and that nothing got
//! past, is the one. Only where a rule has one body: with `else`, no single expression decided.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use super::run::Ran;
use super::suite::{Member, Suite};
use super::{Cause, Operand, Outcome, cases};
use crate::evaluate::EvaluateOptions;
use crate::explain::{LastFailed, made, replaying, shown, verdict};
use crate::load::position;
use crate::rego::Value;
use crate::rego::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::syntax::tree::{Rule, Span, TermKind};

/// The number of tests that are explained; more is more than anyone reads.
const MOST: usize = 100;

/// How long an explaining evaluation may take.
const PATIENCE: Duration = Duration::from_secs(5);

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
    let program = suite.policies.program();
    let made = made(program, rule);
    let options = replaying(ran.evaluated.as_ref()?, options).ok()?;
    let keys = ran.failed.as_deref().unwrap_or_default();
    let watch = Watch { rule, keys, failed: RefCell::default() };
    let query = suite.policies.query_path(&member.path());
    suite.policies.evaluate_watched(&query, None, &options, &watch);
    let failed = watch.failed.into_inner();
    let texts = suite.policies.program().sources();
    let statement = match failed.place {
        Some(index) => rule.body.get(index)?,
        // The body holds: the rule's value is what isn't true.
        None => {
            let value = rule.head.value.as_ref()?;
            let values = match &value.kind {
                TermKind::Var(name) => failed.bound.of_author(program, name),
                _ => made.get(&value.span).and_then(|local| failed.bound.get(local)),
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
    let shown = shown(program, statement, (&made, &failed.bound), &|_| None);
    let undefined = shown.iter().any(|operand| operand.values.is_empty());
    Some(Cause {
        case: keys.iter().map(cases::name).collect(),
        position: position(texts, statement.span),
        verdict: verdict(statement, undefined).to_owned(),
        operands: shown,
    })
}

/// Watches the body of one rule.
struct Watch<'a> {
    rule: &'a Rule,
    /// The case that failed, of a table.
    keys: &'a [Value],
    failed: RefCell<LastFailed>,
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
            let mut failed = self.failed.borrow_mut();
            if failed.place.is_none() {
                failed.bound.keep(event);
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
        self.failed.borrow_mut().note(index, event);
    }
}

fn mentions(event: &TraceEvent<'_>, keys: &[Value]) -> bool {
    let mut left: Vec<&Value> = keys.iter().collect();
    event.locals.each(&mut |_, value| left.retain(|key| *key != value));
    left.is_empty()
}
