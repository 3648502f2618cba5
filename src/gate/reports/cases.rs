//! A run as a list of test cases, for formats such as `JUnit` and TAP.
//!
//! Owns the translation, and a guarantee: a run that didn't pass has a case that doesn't pass, even
//! if no single policy is to blame (nothing was evaluated, or every policy was skipped).

use super::facts;
use super::words::line;
use crate::gate::model::{Input, Outcome, Run, Status, Verdict, Violation};

/// A case: the verdict of one policy over one input, or the result of an input or of the run.
#[derive(Debug)]
pub(super) struct Case<'a> {
    /// The input; `None` for the run as a whole.
    pub input: Option<&'a Input>,
    /// The policy; `None` for the input as a whole.
    pub policy: Option<&'a str>,
    /// The policy's verdict; `None` for the input as a whole.
    pub verdict: Option<&'a Verdict>,
    /// Its state.
    pub state: State,
    /// A summary in one line; empty if it passed.
    pub summary: String,
    /// The kind of failure, in one word.
    pub kind: String,
    /// The reasons for its state, a line each.
    pub details: Vec<String>,
    /// The violations that don't fail, a line each.
    pub notes: Vec<String>,
}

/// The state of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Passed,
    Skipped,
    Failed,
    Error,
}

impl State {
    const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::NoVerdict => Self::Error,
        }
    }
}

/// Returns the cases of a run, in the order of its inputs; a case for the run as a whole comes
/// last.
pub(super) fn cases(run: &Run) -> Vec<Case<'_>> {
    let mut all: Vec<Case<'_>> = run.inputs.iter().flat_map(|input| of_input(run, input)).collect();
    let state = State::of(run.outcome);
    let unexplained = state != State::Passed && all.iter().all(|case| case.state < state);
    if unexplained || all.is_empty() {
        all.push(Case {
            input: None,
            policy: None,
            verdict: None,
            state,
            summary: match &run.failure {
                Some(failure) => line(&failure.message),
                None if state == State::Passed => String::new(),
                None => facts::headline(run),
            },
            kind: run.failure.as_ref().map_or_else(
                || facts::outcome(run.outcome).replace(' ', "-"),
                |failure| line(&failure.kind),
            ),
            details: match &run.failure {
                Some(failure) => facts::failure(failure),
                None => run.reasons.iter().map(|reason| line(reason)).collect(),
            },
            notes: Vec::new(),
        });
    }
    all
}

fn of_input<'a>(run: &'a Run, input: &'a Input) -> Vec<Case<'a>> {
    let mut cases: Vec<_> =
        input.verdicts.iter().map(|verdict| of_verdict(run, input, verdict)).collect();
    let state = State::of(input.outcome);
    let unexplained = state != State::Passed && cases.iter().all(|case| case.state < state);
    if input.error.is_some() || unexplained || cases.is_empty() {
        let details = input.error.as_ref().map(facts::failure).unwrap_or_default();
        let word = facts::outcome(input.outcome);
        let summary = details.first().cloned().unwrap_or_else(|| format!("this input: {word}"));
        cases.push(Case {
            input: Some(input),
            policy: None,
            verdict: None,
            state: if input.error.is_some() { State::Error } else { state },
            summary: if state == State::Passed { String::new() } else { summary },
            kind: input.error.as_ref().map_or_else(|| word.replace(' ', "-"), |e| line(&e.kind)),
            details,
            notes: Vec::new(),
        });
    }
    cases
}

fn of_verdict<'a>(run: &'a Run, input: &'a Input, verdict: &'a Verdict) -> Case<'a> {
    let describe = |v: &Violation| {
        let text = facts::violation(run, v);
        facts::fields(v).map_or(text.clone(), |fields| format!("{text} {fields}"))
    };
    let failing: Vec<&Violation> = verdict.failing().collect();
    let reason = verdict.reason.as_deref().map(line);
    let notes = verdict.violations.iter().filter(|v| !v.fails()).map(describe).collect();
    let (state, kind, summary, details) = match (&verdict.error, verdict.status) {
        (Some(error), _) => {
            let lines = facts::failure(error);
            (State::Error, line(&error.kind), lines.first().cloned().unwrap_or_default(), lines)
        }
        (None, Status::NoVerdict) => {
            (State::Error, "no-verdict".to_owned(), "no verdict".to_owned(), Vec::new())
        }
        (None, Status::Failed) => failed(&failing, describe),
        // The model never has this combination, but a report must not rely on that.
        (None, _) if !failing.is_empty() => failed(&failing, describe),
        (None, Status::Passed) => (State::Passed, String::new(), String::new(), Vec::new()),
        (None, Status::Skipped) => {
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            (State::Skipped, "skipped".to_owned(), format!("skipped: {reason}"), Vec::new())
        }
        (None, Status::Ignored) => {
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            (State::Skipped, "ignored".to_owned(), format!("ignored: {reason}"), Vec::new())
        }
    };
    Case {
        input: Some(input),
        policy: Some(&verdict.policy),
        verdict: Some(verdict),
        state,
        summary,
        kind,
        details,
        notes,
    }
}

fn failed(
    failing: &[&Violation],
    describe: impl Fn(&Violation) -> String,
) -> (State, String, String, Vec<String>) {
    let first = failing.first();
    let summary = match (first, failing.len().saturating_sub(1)) {
        (None, _) => "failed".to_owned(),
        (Some(first), 0) => line(&first.message),
        (Some(first), more) => format!("{} (and {more} more)", line(&first.message)),
    };
    let kind = first.map_or_else(|| "failed".to_owned(), |first| line(&first.rule));
    (State::Failed, kind, summary, failing.iter().map(|v| describe(v)).collect())
}
