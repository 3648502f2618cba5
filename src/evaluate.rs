//! Evaluation of policies: the result that OPA would give, or an error with its reason.
//!
//! Owns the path from sources to a result: reading (`sources`), loading (`load`, `policies`),
//! passes (`pass_loop`, `batch`), recordings and the ledger. The meaning of a policy belongs to
//! [`crate::rego`], the request behind a call to `functions` and `client`.

mod answered_calls;
mod batch;
mod blocking;
mod budget;
mod builder;
mod call;
mod cancellation;
mod coverage;
mod difference;
mod dispatcher;
mod environment;
mod evaluation;
mod fetch;
mod inconclusive;
mod ledger;
mod memory;
mod network;
mod opa_error;
mod options;
mod output;
mod pass_loop;
mod policies;
mod pool;
mod query;
mod reachable_calls;
mod recording;
mod recording_checks;
mod scope;
mod session;
mod survey;

pub use crate::load::{self, HostFunction};
pub use crate::sources;
pub use budget::{Answers, Budget, FunctionCall, Responder};
pub use builder::PoliciesBuilder;
#[doc(hidden)]
pub use cancellation::CancelOnDrop;
pub use cancellation::Cancellation;
pub use ledger::{CallRecord, Ledger, Origin};
pub use memory::SharedMemory;
pub use options::EvaluateOptions;
pub use output::{OutputFormat, write};
pub use policies::{Evaluated, Policies, Query, Site};
pub use pool::Pool;
pub use query::{Expression, QueryOutput, Row};
pub use recording::{Recording, Replay};
pub use scope::Print;
pub use survey::{
    AbsentMember, MisorderedValues, MisshapenInput, MissingOperand, OtherReading, Reached,
    UnmadeCall,
};

use cancellation::cancelled;
pub(crate) use coverage::{CoverageTracer, Covered, Shortcut};
pub(crate) use environment::Environment;
pub(crate) use evaluation::{Callable, Ended, Evaluation, Record, cancel_on_drop};
#[doc(hidden)]
pub use network::is_network;
#[doc(hidden)]
pub use opa_error::{OpaError, OpaLocation};
#[doc(hidden)]
pub use output::{compact, pretty};
#[cfg(feature = "regorus-core")]
pub(crate) use policies::{Role, SecondEngine};
pub(crate) use {
    pass_loop::PassOutcome,
    scope::{Calls, Scope},
};
