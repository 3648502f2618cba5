//! Evaluation of policies: what OPA would answer, or an error with its reason.
//!
//! Owns the way from sources to a result: reading (`sources`), loading (`load`), passes (`drive`, `batch`)
//! on contained threads (`contain`), with bounded built-ins (`bounded`), recordings and the
//! ledger. What a call asks the service belongs to `builtins` and `client`.

mod batch;
pub(crate) mod bounded;
mod budget;
mod call;
pub(crate) mod contain;
mod drive;
mod failures;
mod fetch;
mod flight;
mod ledger;
pub mod load;
mod met;
mod output;
mod policies;
mod query;
mod recorded;
mod recording;
pub(crate) mod scope;
mod session;
mod shared;
pub mod sources;
mod workers;

pub use budget::{Answers, Budget};
pub use ledger::{Entry, Ledger, Origin};
pub use output::{Format, write};
pub use policies::{EvaluateOptions, Evaluated, Policies, Print, Query};
pub(crate) use query::reference;
pub use query::{Expression, QueryOutput, Row};
pub use recording::{Recording, Replay};

#[cfg(feature = "cli")]
pub(crate) use contain::set_memory_limit;
pub(crate) use flight::Flights;
#[cfg(feature = "cli")]
pub(crate) use output::compact;
#[cfg(feature = "cli")]
pub(crate) use recorded::says_everything_once;
