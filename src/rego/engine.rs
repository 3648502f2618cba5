//! The machine: a compiled core, an input and a host, to results.
//!
//! Owns what OPA's evaluator decides: the order of evaluation, what is remembered, where one
//! answer is enough, what `with` replaces, which error is the result's.

mod cache;
mod call;
mod closures;
mod context;
mod error;
mod host;
mod machine;
mod open;
mod partial;
mod reference;
mod rules;
mod trace;
mod unify;
mod with;

use std::collections::BTreeMap;

use context::World;
use machine::{Machine, Stop};

use crate::rego::core::{Core, QueryCore, Slot, Term};
use crate::rego::value::Value;

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
        Self { memory: 4 << 30, depth: 20_000 }
    }
}

/// How to evaluate.
pub struct Settings<'r> {
    /// The world.
    pub host: &'r dyn Host,
    /// An error of a built-in function is the result's.
    pub strict: bool,
    /// What it may use.
    pub limits: Limits,
    /// Who watches.
    pub tracer: Option<&'r dyn Tracer>,
}

/// What an evaluation gave.
pub struct Evaluated {
    /// The values of the slots that were asked for, for each solution.
    pub result: Result<Vec<Vec<Option<Value>>>, EvalError>,
    /// The errors of built-in functions.
    pub errors: Vec<EvalError>,
    /// The number of times each call site was reached.
    pub calls: BTreeMap<u32, u64>,
    /// The number of steps it took.
    pub steps: u64,
    /// About how many bytes were made.
    pub memory: u64,
}

/// Evaluates a query, and gives the values of these slots of its frame for each solution.
pub fn evaluate(
    core: &Core,
    query: &QueryCore,
    input: Option<&Value>,
    slots: &[Slot],
    settings: &Settings<'_>,
) -> Evaluated {
    let world = World::new(settings.host, settings.limits);
    let mut machine = Machine::new(core, &world, settings.tracer, input.cloned());
    let base = machine.enter_frame(&query.scope);
    let run = machine.query(&query.body, &query.scope, base);
    let mut solutions = Vec::new();
    machine.trace(TraceOp::Enter, TraceNode::Body, &run, query.span);
    let flow = machine.run(&run, 0, &mut |machine| {
        machine.trace(TraceOp::Exit, TraceNode::Body, &run, query.span);
        machine.world.spend(64)?;
        let values = slots.iter().map(|slot| machine.seen(&Term::Var(*slot), base));
        solutions.push(values.collect());
        machine.trace(TraceOp::Redo, TraceNode::Body, &run, query.span);
        Ok(())
    });
    let errors = std::mem::take(&mut machine.errors);
    let result = match flow {
        // As in OPA, the first error of a built-in function comes before what ended it.
        _ if settings.strict && !errors.is_empty() => {
            errors.first().cloned().map_or_else(|| Ok(Vec::new()), Err)
        }
        Err(Stop::Fatal(error)) => Err(*error),
        Ok(()) | Err(Stop::Exit(_)) => Ok(solutions),
    };
    Evaluated {
        result,
        errors,
        calls: std::mem::take(&mut machine.calls),
        steps: machine.steps,
        memory: world.memory(),
    }
}
