//! Explanations of failed tests: the expression at which a test failed, with its operands.
//!
//! Owns the search: the test is evaluated again with the recorded answers, under a tracer. The
//! expression is the last of the reached statements of its body that never succeeded. A rule with
//! `else` isn't explained, since no single expression decided its value.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::suite::{Member, Suite, TestRun};
use super::{Cause, Operand, TestOutcome, cases};
use crate::evaluate::EvaluateOptions;
use crate::explain::{Documents, LastFailed, generated_locals, operand_values, replaying, verdict};
use crate::load::position;
use crate::rego::Value;
use crate::rego::internal::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::syntax::tree::{Rule, Span, Term, TermKind, With};

/// The most tests that are explained.
const MAX_EXPLAINED: usize = 100;

/// The time limit of the evaluation that explains.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Adds causes to failures. A failure whose cause isn't found remains as it is.
pub(super) fn failures(
    suite: &Suite,
    done: &mut BTreeMap<usize, TestRun>,
    options: &EvaluateOptions,
) {
    let mut options = options.clone();
    options.budget.timeout = options.budget.timeout.min(TIME_LIMIT);
    let mut explained = 0;
    for (index, ran) in done {
        let Some(member) = suite.members.get(*index) else { continue };
        if explained == MAX_EXPLAINED {
            break;
        }
        let cause = cause(suite, member, ran, &options);
        if let (TestOutcome::Failed(failure), Some(cause)) = (&mut ran.outcome, cause) {
            failure.cause = Some(cause);
            explained += 1;
        }
    }
}

fn cause(
    suite: &Suite,
    member: &Member,
    ran: &TestRun,
    options: &EvaluateOptions,
) -> Option<Cause> {
    let TestOutcome::Failed(failure) = &ran.outcome else { return None };
    if failure.reason.is_some() || ran.cases.is_empty() != ran.failed.is_none() {
        return None;
    }
    let module = suite.policies.program().modules().get(member.found.module)?;
    let rule = module.rules.get(member.found.rule)?;
    if rule.else_rule.is_some() {
        return None;
    }
    let program = suite.policies.program();
    let made = generated_locals(program, rule);
    let options = replaying(ran.evaluated.as_ref()?, options).ok()?;
    let keys = ran.failed.as_deref().unwrap_or_default();
    let tracer = BodyTracer { rule, keys, failed: RefCell::default(), held: Cell::new(false) };
    let query = suite.policies.query_path(&member.path());
    suite.policies.evaluate_watched(&query, None, &options, &tracer);
    let (failed, held) = (tracer.failed.into_inner(), tracer.held.get());
    let texts = suite.policies.program().sources();
    let statement = match failed.place {
        Some(index) => rule.body.get(index)?,
        // The body holds, so the rule's value isn't `true`.
        None if held => {
            let value = rule.head.value.as_ref()?;
            let values = match &value.kind {
                TermKind::Var(name) => failed.bound.of_author(program, name),
                _ => None,
            };
            let values = values
                .or_else(|| made.get(&value.span).and_then(|local| failed.bound.get(local)))
                .or_else(|| {
                    let whole = ran.evaluated.as_ref()?.result.as_ref().ok()?.value()?;
                    keys.is_empty().then(|| vec![whole.clone()])
                });
            let text = texts.text(value.span).to_owned();
            let operand = Operand { text, values: values.unwrap_or_default() };
            let operands = if value.is_scalar() { Vec::new() } else { vec![operand] };
            return Some(Cause {
                case: keys.iter().map(cases::name).collect(),
                position: position(texts, value.span),
                verdict: "is false".to_owned(),
                operands,
            });
        }
        None => return None,
    };
    let documents = Documents {
        policies: &suite.policies,
        input: None,
        options: &options,
        until: Instant::now() + TIME_LIMIT,
    };
    let document = |with: &[&With], term: &Term| documents.value(module, with, term);
    let shown = operand_values(program, statement, (&made, &failed.bound), &document);
    let undefined = shown.iter().any(|operand| operand.values.is_empty());
    Some(Cause {
        case: keys.iter().map(cases::name).collect(),
        position: position(texts, statement.span),
        verdict: verdict(statement, undefined).to_owned(),
        operands: shown,
    })
}

/// A tracer of the body of one rule.
struct BodyTracer<'a> {
    rule: &'a Rule,
    /// The keys of the failed case of a table.
    keys: &'a [Value],
    failed: RefCell<LastFailed>,
    /// Set once the body has held.
    held: Cell<bool>,
}

impl BodyTracer<'_> {
    /// Returns the index of the statement of the rule's own body that contains a span.
    fn statement(&self, span: Span) -> Option<usize> {
        let within = |outer: Span| {
            outer.file == span.file && outer.start <= span.start && span.end <= outer.end
        };
        self.rule.body.iter().position(|expr| within(expr.span))
    }
}

impl Tracer for BodyTracer<'_> {
    fn wants_all(&self) -> bool {
        true
    }

    fn event(&self, event: &TraceEvent<'_>) {
        let is_exit = event.op == TraceOp::Exit && event.node == TraceNode::Rule;
        if is_exit && event.span == self.rule.span {
            self.held.set(true);
            // The body holds; the variables that it bound make up the rule's value.
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
        // In a table, events of other cases are irrelevant.
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
