//! The operations of AI responses, which have to be polled before they end.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::dataset::PromptOutcome;
use super::scalars::Timestamp;

/// The operations that were started.
#[derive(Default)]
pub(super) struct Operations(pub(super) Mutex<HashMap<String, Operation>>);

pub(super) struct Operation {
    pub organization: usize,
    pub pending: u32,
    pub running: u32,
    pub outcome: PromptOutcome,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

impl Operation {
    /// Returns status, output and error message for one more poll.
    pub fn advance(&mut self) -> (&'static str, String, String) {
        if self.pending > 0 {
            self.pending -= 1;
            return ("PENDING", String::new(), String::new());
        }
        let now = Timestamp::now();
        self.started_at.get_or_insert(now);
        if self.running > 0 {
            self.running -= 1;
            return ("RUNNING", String::new(), String::new());
        }
        self.finished_at.get_or_insert(now);
        let done = |output: Value| ("SUCCEEDED", output.to_string(), String::new());
        match &self.outcome {
            PromptOutcome::Violations(list) => {
                done(json!({ "skipped": false, "violations": list }))
            }
            PromptOutcome::Skipped(_) => done(json!({ "skipped": true, "violations": [] })),
            PromptOutcome::Output(text) => ("SUCCEEDED", text.clone(), String::new()),
            PromptOutcome::Failed(message) => ("FAILED", String::new(), message.clone()),
            PromptOutcome::Cancelled(message) => ("CANCELLED", String::new(), message.clone()),
        }
    }
}
