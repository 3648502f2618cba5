//! The options of a server.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rego_platform::evaluate::EvaluateOptions;
use rego_platform_gate::RunOptions;

use super::access::Access;
use super::decision_log::LogDestination;
use super::journal::Journal;

/// The options of a server.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The address to listen on; `127.0.0.1:8181` by default.
    pub listen: SocketAddr,
    /// The accepted clients; anyone on this machine by default.
    pub access: Access,
    /// The options of each evaluation. Its time limit is that of all evaluations of a request together.
    pub evaluate: EvaluateOptions,
    /// Makes the options of the gate's runs for `POST /v1/gate`.
    pub gate: GateRun,
    /// The bounds on requests.
    pub bounds: Bounds,
    /// The destination of the decision log; none by default.
    pub decision_log: Option<LogDestination>,
    /// The time for which the webhooks keep a verdict about an image; none by default. A changed response of the
    /// service then counts after this time; changed policies count at once.
    pub decision_cache: Option<Duration>,
    /// The receiver of events.
    pub journal: Arc<dyn Journal>,
}

impl ServerOptions {
    /// Creates options with the defaults.
    pub fn new(evaluate: EvaluateOptions, gate: GateRun, journal: Arc<dyn Journal>) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8181)),
            access: Access::default(),
            evaluate,
            gate,
            bounds: Bounds::default(),
            decision_log: None,
            decision_cache: None,
            journal,
        }
    }
}

/// Makes the options of a gate's run from those of its evaluations.
pub struct GateRun(pub Box<dyn Fn(EvaluateOptions) -> RunOptions + Send + Sync>);

impl fmt::Debug for GateRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GateRun(..)")
    }
}

/// The bounds on requests.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Bounds {
    /// The largest body of a request, also once it is decompressed, in bytes; 16 MiB by default.
    pub body: usize,
    /// The most bytes of all bodies, as far as they have arrived, until their requests are answered; 256 MiB by
    /// default. Any more are refused with status 429.
    pub bodies: usize,
    /// The most bytes of all answers that wait to be read; 256 MiB by default. Any more are refused with status
    /// 503.
    pub answers: usize,
    /// The most bytes of the values that all evaluations hold at the same time; 4 GiB by default. The evaluation
    /// that would exceed it ends with an error.
    pub memory: u64,
    /// The largest answer, in bytes; 64 MiB by default.
    pub answer: usize,
    /// The most requests that are evaluated or wait for it; 1,024 by default. Any more are refused with
    /// status 429.
    pub queue: usize,
    /// The most connections; 4,096 by default. Any more wait to be accepted.
    pub connections: usize,
    /// The time for which requests that have begun go on once the server is stopped; 10 s by default.
    pub grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            body: 16 << 20,
            bodies: 256 << 20,
            answers: 256 << 20,
            memory: 4 << 30,
            answer: 64 << 20,
            queue: 1024,
            connections: 4096,
            grace: Duration::from_secs(10),
        }
    }
}
