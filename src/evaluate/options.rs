//! The options of one evaluation.

use std::sync::Arc;

use super::budget::{Answers, Budget};
use super::cancellation::Cancellation;
use super::memory::SharedMemory;
use super::pool::Pool;
use crate::http::Http;
use crate::observe::Observer;
use crate::rego::internal::engine::InputKind;
use crate::{NotFound, Platform, TraceParent};

/// The options of one evaluation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvaluateOptions {
    /// The source of answers to calls.
    pub answers: Answers,
    /// The limits on its cost.
    pub budget: Budget,
    /// Set if an error of a built-in ends the evaluation; `true` by default. A failed call always
    /// ends it.
    pub strict_builtin_errors: bool,
    /// The result of a call for which the service answers "not found".
    pub not_found: NotFound,
    /// The client for `http.send` and `net.lookup_ip_addr`, with the hosts that it allows. None by
    /// default: a policy that makes such a call ends with an error.
    pub http: Option<Http>,
    /// Set to record the evaluated lines; `false` by default.
    pub coverage: bool,
    /// Set to record the statements that the evaluation reached and couldn't judge ([`Evaluated::reached`]);
    /// `false` by default.
    ///
    /// [`Evaluated::reached`]: super::Evaluated::reached
    pub reached: bool,
    /// The properties of the input that this record needs.
    #[doc(hidden)]
    pub input_kind: InputKind,
    /// A handle that ends the evaluation early.
    pub cancellation: Option<Cancellation>,
    /// The threads for [`Policies::evaluate_async`]; a pool shared by the process by default.
    ///
    /// [`Policies::evaluate_async`]: super::Policies::evaluate_async
    pub pool: Option<Pool>,
    /// The observer that is notified of its result and of the calls that it sends; by default that
    /// of the answering platform.
    pub observer: Option<Arc<dyn Observer>>,
    /// The parent of its requests in the caller's trace. A call that several evaluations share
    /// belongs to the one that sent it.
    pub trace: Option<TraceParent>,
    /// The memory that it shares with other evaluations, in addition to its own budget; none by default.
    pub memory: Option<SharedMemory>,
}

impl EvaluateOptions {
    /// Creates options with the defaults.
    pub fn new(answers: Answers) -> Self {
        let (not_found, observer) = match &answers {
            Answers::Service(platform) => (platform.not_found(), platform.observer().clone()),
            _ => (NotFound::Error, None),
        };
        Self {
            answers,
            budget: Budget::default(),
            strict_builtin_errors: true,
            not_found,
            http: None,
            coverage: false,
            reached: false,
            input_kind: InputKind::default(),
            cancellation: None,
            pool: None,
            observer,
            trace: None,
            memory: None,
        }
    }
}

impl Platform {
    /// Returns the options of evaluations whose calls this platform answers, with the defaults.
    pub fn options(&self) -> EvaluateOptions {
        EvaluateOptions::new(Answers::Service(self.clone()))
    }
}
