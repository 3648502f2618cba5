//! The machine: takes a compiled core, an input and a host, and gives results.
//!
//! Owns what OPA's evaluator decides: the order of evaluation, what is cached, where one answer is
//! enough, what `with` replaces, and which error is the result's.

mod cache;
mod call;
mod closures;
mod context;
mod deferred;
mod error;
mod groups;
mod guess;
mod host;
mod machine;
mod matches;
mod partial;
mod reached;
mod reading;
mod reading_state;
mod reference;
mod replaced;
mod results;
mod rules;
mod survey;
mod trace;
mod unify;
mod whole;
mod with;

use std::collections::{BTreeMap, HashSet};

use context::EvalContext;
use machine::{Machine, Stop};
use reached::{ClosedObjects, SurveyState};
use reading_state::ReadingState;

use crate::builtins::CompiledPatterns;
use crate::core::{Core, Marks, QueryCore, Slot, Term};
use crate::value::Value;
use crate::value::meter::Meter;

pub use error::{ErrorCode, EvalError};
pub use host::{Halt, Host, HostAnswer, HostCall, NoHost};
pub use reached::{ClosedObject, InputKind, Misordered, Misshapen, Survey, Unmade};
pub use reading_state::{Missing, Read, Reading};
pub(crate) use survey::has_objects;
pub use trace::{Locals, TraceEvent, TraceNode, TraceOp, Tracer};

/// The limits of an evaluation.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size, in bytes, of all values that it makes; counted approximately.
    pub memory: u64,
    /// The maximum depth to which bodies, rules and functions are nested during the evaluation.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 4 << 30, depth: 20_000 }
    }
}

/// The settings of an evaluation.
pub struct Settings<'r> {
    /// The host: its functions, its clock, its network.
    pub host: &'r dyn Host,
    /// `true` if an error of a built-in function fails the evaluation.
    pub strict: bool,
    /// The bounds on memory and depth.
    pub limits: Limits,
    /// The compiled patterns, which outlive the evaluation.
    pub patterns: &'r CompiledPatterns,
    /// The receiver of trace events.
    pub tracer: Option<&'r dyn Tracer>,
    /// The known properties of the input.
    pub input: &'r InputKind,
    /// Set for a survey.
    pub survey: Option<Surveyed>,
    /// Set for a reading.
    pub reading: Option<Reading>,
}

/// The kinds of surveys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surveyed {
    /// Of calls only.
    Calls,
    /// Of calls, and of references to fields of the input.
    CallsAndFields,
}

/// The outcome of an evaluation.
pub struct Evaluated {
    /// For each solution, the values of the slots that were asked for; or the error that ended the
    /// evaluation.
    pub result: Result<Vec<Vec<Option<Value>>>, EvalError>,
    /// The errors of built-in functions.
    pub errors: Vec<EvalError>,
    /// The number of times each call site was reached.
    pub calls: BTreeMap<u32, u64>,
    /// The marks of expressions that were undefined or spared, into which a survey and readings look.
    pub suspects: Marks,
    /// The orderings of values of different types.
    pub misordered: Vec<Misordered>,
    /// The values that were given to functions that decode.
    pub decoded: HashSet<Value>,
    /// `true` if a reference to a field of the input found something.
    pub found_field: bool,
    /// The findings, of a survey.
    pub survey: Survey,
    /// The expressions that a reading interpreted differently.
    pub read: Read,
    /// The number of steps it took.
    pub steps: u64,
    /// The approximate number of bytes that it made.
    pub memory: u64,
}

/// Evaluates a query and returns, for each solution, the values of the given slots of its frame.
pub fn evaluate(
    core: &Core,
    query: &QueryCore,
    input: Option<&Value>,
    slots: &[Slot],
    settings: &Settings<'_>,
) -> Evaluated {
    let meter = Meter::install(settings.host.goes_on());
    let context = EvalContext::new(settings.host, settings.limits, settings.patterns);
    let mut machine = Machine::new(core, &context, settings.tracer, input.cloned());
    machine.survey = settings
        .survey
        .map(|kind| Box::new(SurveyState::new(kind == Surveyed::CallsAndFields, settings.input)));
    machine.closed = ClosedObjects::new(settings.input, input);
    machine.reading = settings.reading.map(|reading| Box::new(ReadingState::new(reading)));
    let base = machine.enter_frame(&query.scope);
    let run = machine.query_run(&query.body, &query.scope, base);
    let mut solutions = Vec::new();
    machine.trace(TraceOp::Enter, TraceNode::Body, &run, query.span);
    let flow = machine.run(&run, 0, &mut |machine| {
        machine.trace(TraceOp::Exit, TraceNode::Body, &run, query.span);
        machine.context.spend(64)?;
        let values = slots.iter().map(|slot| machine.owned_value(&Term::Var(*slot), base));
        solutions.push(values.collect());
        machine.trace(TraceOp::Redo, TraceNode::Body, &run, query.span);
        Ok(())
    });
    let errors = std::mem::take(&mut machine.errors);
    let flow = if meter.has_ended() { machine.ended() } else { flow };
    let result = match flow {
        // As in OPA, the first error of a built-in function takes precedence over what ended it.
        _ if settings.strict && !errors.is_empty() && !meter.has_ended() => {
            errors.first().cloned().map_or_else(|| Ok(Vec::new()), Err)
        }
        Err(Stop::Fatal(error)) => Err(*error),
        Ok(()) | Err(Stop::Exit(_)) => Ok(solutions),
    };
    Evaluated {
        result,
        errors,
        calls: std::mem::take(&mut machine.calls),
        suspects: machine.suspects.get(),
        misordered: machine.misordered.take(),
        decoded: machine.decoded.take(),
        found_field: machine.found_field.get(),
        survey: machine.survey.take().map(|survey| survey.found).unwrap_or_default(),
        read: machine.reading.take().map(|reading| reading.found).unwrap_or_default(),
        steps: machine.steps,
        memory: context.memory(),
    }
}
