//! The machine: a compiled core, an input and a host, to results.

mod error;
mod host;
mod trace;

pub use error::{ErrorCode, EvalError};
pub use host::{CallSite, Halt, Host, HostAnswer, HostCall, NoHost};
pub use trace::{Locals, TraceEvent, TraceNode, TraceOp, Tracer};

/// What an evaluation may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// About how many bytes all values may have that it makes.
    pub memory: u64,
    /// How deeply bodies, rules and functions may be entered within one another.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 4 << 30, depth: 200_000 }
    }
}
