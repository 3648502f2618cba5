//! What an evaluation may cost, and who answers its calls.

use std::sync::Arc;
use std::time::Duration;

use super::recording::Replay;
use crate::Platform;

/// What one evaluation may cost. What the exact evaluation needs is counted, not guesses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Budget {
    /// How long it may take; 60 s by default.
    pub timeout: Duration,
    /// How many passes it may take; 200 by default.
    pub passes: u32,
    /// How many different calls; 20,000 by default.
    pub calls: usize,
    /// How many bytes of answers; 1 GiB by default.
    pub bytes: u64,
    /// How many bytes of values it may make, about; 4 GiB by default. What isn't counted: the
    /// input and the data, and the stack.
    pub memory: u64,
    /// Whether a prompt may be sent before it is certain that the policy asks for it.
    pub eager_prompts: bool,
    /// Whether each call is sent only once the one before it is answered: nothing is guessed then,
    /// and nothing travels together.
    pub one_at_a_time: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            passes: 200,
            calls: 20_000,
            bytes: 1 << 30,
            memory: 4 << 30,
            eager_prompts: false,
            one_at_a_time: false,
        }
    }
}

/// Who answers the calls of an evaluation.
#[derive(Debug, Clone)]
pub enum Answers {
    /// The service.
    Service(Platform),
    /// A recording, and nothing else.
    Replay(Arc<Replay>),
    /// Nobody: every call is an error that gives this advice, with the function's full name for
    /// `{function}`.
    Nobody(String),
}
