//! The budget of an evaluation, and the sources of answers to its calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::recording::Replay;
use crate::rego::Value;
use crate::{Error, Platform};

/// The limits on one evaluation. Only calls that the exact evaluation needs count, not guesses.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Budget {
    /// The time limit; 60 s by default.
    pub timeout: Duration,
    /// The limit on passes; 200 by default. In [`Policies::evaluate_async`](crate::evaluate::Policies::evaluate_async),
    /// which can't wait within a pass, the passes of a chain of calls aren't counted.
    pub passes: u32,
    /// The limit on different calls; 20,000 by default.
    pub calls: usize,
    /// The limit on the size of answers, in bytes; 1 GiB by default.
    pub bytes: u64,
    /// The approximate limit on the memory for values, in bytes; 4 GiB by default. The values that
    /// the policy makes and those of answers each have it to themselves, those of guesses a quarter
    /// of it. Input, data and stack don't count.
    pub memory: u64,
    /// Set if a prompt may be sent before it is certain that the policy needs it.
    pub eager_prompts: bool,
    /// Set to send each call only after the previous one is answered, without guesses or batches.
    pub one_at_a_time: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
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
    /// The call's arguments, checked and normalized: equal calls have equal arguments.
    pub arguments: Vec<Value>,
}

/// Answers calls in place of the service: it gets a batch of independent calls and returns an
/// answer for each.
///
/// Answers are checked against the documented types of the functions, as recorded ones are: fields
/// that aren't documented may not say that the answer is a failure, or that its list isn't whole.
pub trait Responder: Send + Sync + std::fmt::Debug {
    /// Answers `calls`, in their order. It should be done by `deadline`; a missing answer is an
    /// error of its call.
    fn answer<'a>(
        &'a self,
        calls: &'a [FunctionCall],
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Vec<Result<Value, Error>>> + Send + 'a>>;
}

/// The source of answers to the calls of an evaluation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Answers {
    /// The service, over the network.
    Service(Platform),
    /// A recording, and nothing else.
    Replay(Arc<Replay>),
    /// The host.
    Responder(Arc<dyn Responder>),
    /// None: every call fails with this hint, in which `{function}` stands for the function's full
    /// name.
    Unavailable(String),
}
