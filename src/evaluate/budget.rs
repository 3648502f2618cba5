//! What an evaluation may cost, and who answers its calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::recording::Replay;
use crate::rego::Value;
use crate::{Error, Platform};

/// What one evaluation may cost. What the exact evaluation needs is counted, not guesses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Budget {
    /// How long it may take; 60 s by default.
    pub timeout: Duration,
    /// The number of passes it may take; 200 by default.
    pub passes: u32,
    /// The number of different calls; 20,000 by default.
    pub calls: usize,
    /// The number of bytes of answers; 1 GiB by default.
    pub bytes: u64,
    /// The number of bytes of values it may make, about; 4 GiB by default. What isn't counted: the
    /// input and the data, and the stack.
    pub memory: u64,
    /// True if a prompt may be sent before it is certain that the policy asks for it.
    pub eager_prompts: bool,
    /// True if each call is sent only once the one before it is answered: nothing is guessed then,
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

/// A call that a [`Responder`] answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FunctionCall {
    /// The function's full name, such as `platform.discover`.
    pub function: Arc<str>,
    /// Its arguments: checked, and in the one form in which equal calls are equal.
    pub arguments: Vec<Value>,
}

/// Answers calls in place of the service: a set of independent calls in, an answer for each out.
///
/// Answers are held to the documented types of the functions, as those of recordings are.
pub trait Responder: Send + Sync + std::fmt::Debug {
    /// Answers `calls`, in their order. It should be done by `deadline`; an answer that is missing
    /// is an error of its call.
    fn answer<'a>(
        &'a self,
        calls: &'a [FunctionCall],
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, Error>>> + Send + 'a>>;
}

/// Who answers the calls of an evaluation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Answers {
    /// The service.
    Service(Platform),
    /// A recording, and nothing else.
    Replay(Arc<Replay>),
    /// The host itself.
    Responder(Arc<dyn Responder>),
    /// Nothing: every call is an error that gives this advice, with the function's full name for
    /// `{function}`.
    Nobody(String),
}
