//! The state that all requests share.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rego_platform::Value;
use rego_platform::evaluate::{EvaluateOptions, Pool, SharedMemory};

use super::access::Access;
use super::admission::Queue;
use super::answer::object;
use super::decision_log::DecisionLog;
use super::journal::Journal;
use super::metrics::Metrics;
use super::options::{Bounds, GateRun};
use super::policy_set::PolicyStore;

/// The state that all requests share. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub access: Access,
    pub evaluate: EvaluateOptions,
    pub gate: GateRun,
    pub bounds: Bounds,
    pub journal: Arc<dyn Journal>,
    pub policies: PolicyStore,
    pub pool: Pool,
    pub queue: Queue,
    pub memory: SharedMemory,
    pub metrics: Arc<Metrics>,
    pub decision_log: Option<DecisionLog>,
    /// The time for which decisions about images are kept.
    pub decision_cache: Option<Duration>,
    /// Names this server in the log of decisions and in its configuration.
    pub id: String,
    pub requests: AtomicU64,
}

impl App {
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }
}

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// Returns the number of a new request.
    pub fn number(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns what names this server and its version.
    pub fn labels(&self) -> Value {
        let version = Value::from(env!("CARGO_PKG_VERSION"));
        object([("id", Some(Value::from(self.id.as_str()))), ("version", Some(version))])
    }
}
