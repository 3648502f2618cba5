//! A run as a list of test cases, for formats such as `JUnit` and TAP.
//!
//! Owns the translation, and a guarantee: a run that didn't pass has a case that doesn't pass, even
//! if no single policy is to blame (nothing was evaluated, or every policy was skipped). A reason
//! that many inputs have for being without a verdict is stated once: the other cases refer to it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rego_platform_client::text::counted;

use super::facts;
use super::words::line;
use crate::report::model::{Failure, Input, Outcome, Run, Status, Verdict, Violation};

/// A case: the verdict of one policy over one input, or the result of an input or of the run.
#[derive(Debug)]
pub(super) struct Case<'a> {
    /// The input; `None` for the run as a whole.
    pub input: Option<&'a Input>,
    /// The policy; `None` for the input as a whole.
    pub policy: Option<&'a str>,
    /// The policy's verdict; `None` for the input as a whole.
    pub verdict: Option<&'a Verdict>,
    pub state: State,
    /// A summary in one line; empty if it passed.
    pub summary: String,
    /// The error, if there is no verdict because of one.
    pub error: Option<&'a Failure>,
    /// The number of cases with the same error if this case is the first, otherwise 0.
    pub alike: usize,
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

impl<'a> Case<'a> {
    /// Creates a case without details.
    fn new(input: Option<&'a Input>, state: State) -> Self {
        Self {
            input,
            policy: None,
            verdict: None,
            state,
            summary: String::new(),
            error: None,
            alike: 1,
            kind: String::new(),
            details: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the name of the input, or a placeholder.
    pub fn input_name(&self) -> String {
        self.input.map_or_else(|| "(run)".to_owned(), |input| line(&input.name))
    }

    /// Returns the name of the policy, or a placeholder.
    pub fn policy_name(&self) -> String {
        self.policy.map_or_else(|| "(verdict)".to_owned(), line)
    }

    /// Returns the reasons for its state, and the number of other inputs with the same one.
    pub fn reasons(&self) -> Vec<String> {
        self.details.iter().cloned().chain(self.more(0)).collect()
    }

    /// Returns a line about further inputs with the same error, unless a group of this input and `others`
    /// shows them.
    pub fn more(&self, others: usize) -> Option<String> {
        let more = self.alike.saturating_sub(1);
        (more > others)
            .then(|| format!("{} for the same reason", counted(more as u64, "more input")))
    }
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

/// Returns the cases of a run in the order of its inputs, followed by a case for the entire run.
pub(super) fn cases(run: &Run) -> Vec<Case<'_>> {
    let mut all: Vec<Case<'_>> = run.inputs.iter().flat_map(|input| of_input(run, input)).collect();
    let state = State::of(run.outcome);
    let unexplained = state != State::Passed && all.iter().all(|case| case.state < state);
    if unexplained || all.is_empty() {
        all.push(Case {
            summary: match &run.failure {
                Some(failure) => line(&failure.message),
                None if state == State::Passed => String::new(),
                None => facts::headline(run),
            },
            error: run.failure.as_ref(),
            kind: run.failure.as_ref().map_or_else(
                || facts::outcome(run.outcome).replace(' ', "-"),
                |failure| line(&failure.kind),
            ),
            details: match &run.failure {
                Some(failure) => facts::failure(failure),
                None => run.reasons.iter().map(|reason| line(reason)).collect(),
            },
            ..Case::new(None, state)
        });
    }
    state_errors_once(&mut all);
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
        let own = if input.error.is_some() { State::Error } else { state };
        cases.push(Case {
            summary: if state == State::Passed { String::new() } else { summary },
            error: input.error.as_ref(),
            kind: input.error.as_ref().map_or_else(|| word.replace(' ', "-"), |e| line(&e.kind)),
            details,
            ..Case::new(Some(input), own)
        });
    }
    cases
}

fn of_verdict<'a>(run: &'a Run, input: &'a Input, verdict: &'a Verdict) -> Case<'a> {
    let describe = |found: &Violation| facts::violation_in_full(run, found);
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
        (None, status) => {
            let word = if status == Status::Skipped { "skipped" } else { "ignored" };
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            (State::Skipped, word.to_owned(), format!("{word}: {reason}"), Vec::new())
        }
    };
    Case {
        policy: Some(&verdict.policy),
        verdict: Some(verdict),
        summary,
        error: verdict.error.as_ref(),
        kind,
        details,
        notes,
        ..Case::new(Some(input), state)
    }
}

/// Replaces repeated errors by a reference to the first case with the same error.
fn state_errors_once(cases: &mut [Case<'_>]) {
    let mut first = HashMap::new();
    for (index, case) in cases.iter_mut().enumerate() {
        let (Some(error), Some(input)) = (case.error, case.input) else { continue };
        match first.entry((case.policy, error)) {
            Entry::Vacant(entry) => {
                entry.insert((index, line(&input.name), 1));
            }
            Entry::Occupied(mut entry) => {
                let (_, name, alike) = entry.get_mut();
                *alike += 1;
                case.alike = 0;
                case.summary = format!("{}, for the same reason as {name}", case.kind);
                case.details.clear();
            }
        }
    }
    for (index, _, alike) in first.into_values() {
        if let Some(case) = cases.get_mut(index).filter(|_| alike > 1) {
            case.alike = alike;
        }
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
