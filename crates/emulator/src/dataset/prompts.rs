//! `prompts.yaml`: canned responses of the AI evaluation.

use serde::Deserialize;

use super::super::scalars::{Digest, Name};
use super::artifacts::Artifacts;
use super::files::{Folder, code};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptsYaml {
    #[serde(default)]
    polls: Polls,
    default: PromptOutcome,
    #[serde(default)]
    answers: Vec<CannedResponse>,
}

/// The number of polls that show an operation waiting, then running, before it is over.
#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
pub(crate) struct Polls {
    pub pending: u32,
    pub running: u32,
}

impl Default for Polls {
    fn default() -> Self {
        Self { pending: 1, running: 1 }
    }
}

/// The outcome of an operation.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum PromptOutcome {
    /// Succeeds with these violations; an empty list is a pass.
    Violations(Vec<String>),
    /// Succeeds without an analysis.
    Skipped(bool),
    /// Fails with this message.
    Failed(String),
    /// Is cancelled with this message.
    Cancelled(String),
    /// Succeeds with this text as its output, valid or not.
    Output(String),
}

impl Default for PromptOutcome {
    fn default() -> Self {
        Self::Skipped(true)
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CannedResponse {
    digest: Option<Digest>,
    content_contains: Option<Name>,
    prompt_contains: Option<Name>,
    polls: Option<Polls>,
    outcome: PromptOutcome,
}

/// The canned responses, tried in the order of the file.
#[derive(Clone, Default)]
pub(crate) struct Prompts {
    polls: Polls,
    default: PromptOutcome,
    answers: Vec<CannedResponse>,
}

impl Prompts {
    /// Returns the first answer that matches, or the default one.
    ///
    /// `content` is the text for the model: the one that was sent, or the artifact's.
    pub fn answer(
        &self,
        digest: Option<&Digest>,
        content: &str,
        prompt: &str,
    ) -> (Polls, PromptOutcome) {
        let prompt = prompt.to_lowercase();
        let fitting = self.answers.iter().find(|answer| {
            answer.digest.as_ref().is_none_or(|wanted| digest == Some(wanted))
                && answer
                    .content_contains
                    .as_ref()
                    .is_none_or(|part| content.contains(part.as_str()))
                && answer
                    .prompt_contains
                    .as_ref()
                    .is_none_or(|part| prompt.contains(&part.as_str().to_lowercase()))
        });
        match fitting {
            Some(answer) => (answer.polls.unwrap_or(self.polls), answer.outcome.clone()),
            None => (self.polls, self.default.clone()),
        }
    }
}

pub(super) fn load(folder: &Folder, artifacts: &Artifacts) -> Prompts {
    let Some((source, file)) = folder.file::<PromptsYaml>("prompts.yaml") else {
        return Prompts::default();
    };
    for digest in file.answers.iter().filter_map(|answer| answer.digest.as_ref()) {
        if !artifacts.by_digest.contains_key(digest) {
            let message = format!("artifact not listed in `artifacts.yaml`: `{digest}`");
            source.report(digest.as_str(), 0, code::REFERENCE, message);
        }
    }
    for outcome in file.answers.iter().map(|answer| &answer.outcome).chain([&file.default]) {
        if matches!(outcome, PromptOutcome::Skipped(false)) {
            let message = "no result next to `skipped: false`: write `violations: []` for a pass";
            source.report("skipped: false", 0, code::CONTENT, message.to_owned());
        }
    }
    Prompts { polls: file.polls, default: file.default, answers: file.answers }
}
