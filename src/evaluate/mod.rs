//! Evaluation of policies: what OPA would answer, or an error with its reason.
//!
//! Owns the way from sources to a result: reading (`sources`), loading (`load`, `policies`), passes
//! (`drive`, `batch`), recordings and the ledger. What a policy means belongs to [`crate::rego`],
//! what a call asks the service to `builtins` and `client`.

mod asks;
mod batch;
mod blocking;
mod budget;
mod builder;
mod call;
mod cancellation;
mod carrier;
mod covered;
mod drive;
mod fetch;
mod ledger;
mod met;
mod network;
mod output;
mod policies;
mod pool;
mod query;
mod recorded;
mod recording;
mod scope;
mod session;

pub use crate::load::{self, HostFunction};
pub use crate::sources;
pub use budget::{Answers, Budget, FunctionCall, Responder};
pub use builder::PoliciesBuilder;
pub use cancellation::Cancellation;
pub use ledger::{Entry, Ledger, Origin};
pub use output::{Format, write};
pub use policies::{EvaluateOptions, Evaluated, Policies, Print, Query, Site};
pub use pool::Pool;
pub use query::{Expression, QueryOutput, Row};
pub use recording::{Recording, Replay};

use cancellation::cancelled;
pub(crate) use covered::Covered;
#[cfg(feature = "cli")]
pub(crate) use network::is_network;
#[cfg(feature = "cli")]
pub(crate) use output::compact;
#[cfg(feature = "cli")]
pub(crate) use recorded::says_everything_once;
