//! Options of a run, and the observer of its progress.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDate;
use rego_platform::Error;
use rego_platform::evaluate::{Budget, Cancellation, EvaluateOptions, Print};
use rego_platform::explain::Explanation;

use crate::input::DocumentOptions;
use crate::provenance::Shard;
use crate::report::model::{AnsweredBy, Input, Inventory, Rules, Tool};
use crate::verdict::{Hint, Waivers};

/// Returns an error's own hint.
fn own_hint(error: &Error) -> Option<String> {
    let first = error.diagnostics().first().and_then(|first| first.hint.as_deref());
    error.hint().or(first).map(str::to_owned)
}

/// Options of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// The options of each evaluation; the time limit is per input.
    pub evaluate: EvaluateOptions,
    /// The source of responses, for reports.
    pub answered_by: AnsweredBy,
    /// The rules by which an input fails, besides violations.
    pub rules: Rules,
    /// The options for passing documents to policies.
    pub documents: DocumentOptions,
    /// The waivers; none by default.
    pub waivers: Waivers,
    /// Set to evaluate policies that use `input` without an input. Otherwise such a run is an error: a list
    /// that is empty by mistake would pass.
    pub without_input: bool,
    /// The shard of the files to evaluate. [`merge`](crate::merge) combines the reports of all shards.
    pub shard: Option<Shard>,
    /// Set to end the run at the first input that doesn't pass.
    pub fail_fast: bool,
    /// Set to record every response.
    pub record: bool,
    /// Set to explain the verdicts to the observer.
    pub explain: bool,
    /// The wording of hints; the error's own hint by default.
    pub hint: Hint,
    /// The date with which effective dates of rules are compared; the current one (UTC) by default.
    pub today: Option<NaiveDate>,
    /// The tool, for reports.
    pub tool: Tool,
    /// The inventory before the run, which the run completes.
    pub inventory: Inventory,
}

impl RunOptions {
    /// Creates options with the defaults.
    pub fn new(evaluate: EvaluateOptions, answered_by: AnsweredBy, tool: Tool) -> Self {
        Self {
            evaluate,
            answered_by,
            rules: Rules::default(),
            documents: DocumentOptions::default(),
            waivers: Waivers::default(),
            without_input: false,
            shard: None,
            fail_fast: false,
            record: false,
            explain: false,
            hint: own_hint,
            today: None,
            inventory: Inventory::default(),
            tool,
        }
    }
}

impl RunOptions {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.evaluate.cancellation.as_ref().is_some_and(Cancellation::is_cancelled)
    }

    /// Returns settings of reading inputs and limits of an evaluation that differ from the defaults.
    pub(crate) fn conditions(&self) -> BTreeMap<String, String> {
        let (own, usual) = (&self.evaluate.budget, Budget::default());
        let millis = |time: Duration| time.as_millis().to_string();
        let documents = &self.documents;
        let number = |own: &dyn ToString, usual: &dyn ToString| {
            Some(own.to_string()).filter(|own| *own != usual.to_string())
        };
        let set = |is_set: bool| is_set.then(|| "true".to_owned());
        let parser = documents.parser.map(|parser| parser.name().to_owned());
        [
            ("parser", parser),
            ("wrap_arrays", set(documents.wrap_arrays)),
            ("split_arrays", set(documents.split_arrays)),
            ("yaml", documents.yaml.map(|version| version.to_string())),
            ("combine", set(documents.combine)),
            ("timeout_ms", number(&millis(own.timeout), &millis(usual.timeout))),
            ("passes", number(&own.passes, &usual.passes)),
            ("calls", number(&own.calls, &usual.calls)),
            ("bytes", number(&own.bytes, &usual.bytes)),
            ("memory", number(&own.memory, &usual.memory)),
            ("eager_prompts", set(own.eager_prompts)),
            ("one_at_a_time", set(own.one_at_a_time)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
    }
}

/// An observer of a run's progress, called from a single thread.
pub trait RunObserver {
    /// An input was read.
    fn began(&mut self, _name: &str) {}
    /// A policy printed something.
    fn printed(&mut self, _input: &str, _print: &Print) {}
    /// A verdict was explained, if that was requested.
    fn explained(&mut self, _input: &str, _explanation: &Explanation) {}
    /// An input is done.
    fn ended(&mut self, _input: &Input) {}
}

/// Observes nothing.
impl RunObserver for () {}
