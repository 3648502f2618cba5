//! The options of a run, and the observer of its progress.

use super::documents::DocumentOptions;
use super::model::{AnsweredBy, Input, Inventory, Rules, Tool};
use super::waivers::Waivers;
use crate::builtins::ContentForm;
use crate::evaluate::{Entry, EvaluateOptions, Print};
use crate::explain::Explanation;

/// Options of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// The options of each evaluation; the time limit is per input.
    pub evaluate: EvaluateOptions,
    /// The source of answers, for reports.
    pub answered_by: AnsweredBy,
    /// The rules by which an input fails, besides violations.
    pub rules: Rules,
    /// The options for passing documents to policies.
    pub documents: DocumentOptions,
    /// The waivers.
    pub waivers: Waivers,
    /// Set to evaluate policies that look at `input` without one, if no input is given. Otherwise
    /// such a run is an error: a list that is empty by mistake would pass.
    pub without_input: bool,
    /// Set to end the run at the first input that doesn't pass.
    pub fail_fast: bool,
    /// Set to require that a package that can call the service does so for each input that it
    /// doesn't skip.
    pub require_calls: bool,
    /// Set to keep every answer for a recording.
    pub record: bool,
    /// Set to explain the verdicts to the observer.
    pub explain: bool,
    /// The tool, for reports.
    pub tool: Tool,
    /// The calls that reports list.
    pub calls: ListedCalls,
    /// The inventory as far as it is known before the run, which completes it.
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
            fail_fast: false,
            require_calls: false,
            record: false,
            explain: false,
            calls: ListedCalls::default(),
            inventory: Inventory::default(),
            tool,
        }
    }
}

/// The calls that reports list; totals count all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListedCalls {
    /// None.
    None,
    /// Calls that failed, or whose answer was cut or skipped, is base64 or couldn't be compared.
    #[default]
    Failed,
    /// All calls.
    All,
}

impl ListedCalls {
    pub(super) fn lists(self, entry: &Entry) -> bool {
        match self {
            Self::None => false,
            Self::Failed => {
                let plain = entry.form != Some(ContentForm::Base64) && entry.unchecked == 0;
                entry.outcome != "ok" || entry.cut || entry.skipped || !plain
            }
            Self::All => true,
        }
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
