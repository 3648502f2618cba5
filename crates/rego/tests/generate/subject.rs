//! The same questions to this crate.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::rego::internal::builtins;
use crate::rego::syntax::BaseVersion;
use crate::rego::syntax::tree::Span;
use crate::rego::value::Value;
use crate::rego::{EvalError, Halt, Host, HostAnswer as Given, HostCall};
use crate::rego::{
    HostFunction, LoadError, Options, Outcome as Evaluated, Program, Run, SourceText,
};
use crate::rego::{ProblemCode, Sources};

use super::case::{Answer, Case, CaseOutcome, Fault, HOST, HostAnswer};

/// The time of every evaluation, as in the oracle.
const NOW: i64 = 1_700_000_000_123_456_789;
const TIME: Duration = Duration::from_secs(5);

/// Returns this crate's outcome of a case.
pub fn ask(case: &Case) -> CaseOutcome {
    ask_at(case, NOW)
}

/// Returns this crate's outcome of a case at a time, in nanoseconds since 1970.
pub fn ask_at(case: &Case, now: i64) -> CaseOutcome {
    match catch_unwind(AssertUnwindSafe(|| outcome(case, now))) {
        Ok(outcome) => outcome,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            CaseOutcome::Broken(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

/// Returns a version by the oracle's name for it.
pub fn version(name: &str) -> BaseVersion {
    match name {
        "v0" => BaseVersion::V0,
        "v0v1" => BaseVersion::V0CompatV1,
        "v2" => BaseVersion::V2,
        _ => BaseVersion::V1,
    }
}

/// Parses JSON text to a value.
pub fn json(text: &str) -> Option<Value> {
    Value::from_json(text).ok()
}

/// Parses a constant in Rego's syntax to a value.
pub fn term(text: &str) -> Option<Value> {
    let program = Program::compile(Vec::new(), &Options::default()).ok()?;
    let query = program.query(&format!("x := {text}")).ok()?;
    let outcome = program.evaluate(&query, &Run::default());
    outcome.result.ok()?.first()?.bindings.get("x").cloned()
}

pub fn compile(case: &Case) -> Result<Program, LoadError> {
    let version = version(case.version);
    let sources =
        case.files.iter().map(|(path, text)| SourceText::new(path, text).version(version));
    let mut options = Options::default();
    options.data = json(&case.data).unwrap_or_else(Value::new_object);
    options.host_functions = HOST
        .iter()
        .map(|function| {
            let signature = format!("{} -> {}", function.args.join(", "), function.result);
            HostFunction::new(function.name, signature)
        })
        .collect();
    options.strict = case.strict;
    Program::compile(sources.collect(), &options)
}

fn outcome(case: &Case, now: i64) -> CaseOutcome {
    let program = match compile(case) {
        Ok(program) => program,
        Err(error) => return CaseOutcome::Refused(faults(&error)),
    };
    let inputs: Vec<Option<Value>> = case
        .inputs
        .iter()
        .map(|text| if case.term_inputs { term(text) } else { json(text) })
        .collect();
    let inputs = if inputs.is_empty() { vec![None] } else { inputs };
    let mut answers = Vec::new();
    for text in &case.queries {
        match program.query(text) {
            Err(error) => answers.push(Err(faults(&error))),
            Ok(query) => {
                for input in &inputs {
                    let recorder = Recorder::new(program.sources(), now);
                    let run = Run::new(&recorder)
                        .strict_builtin_errors(case.strict_errors)
                        .input(input.as_ref());
                    let evaluated = program.evaluate(&query, &run);
                    answers.push(Ok(answer(case.strict_errors, evaluated, &recorder)));
                }
            }
        }
    }
    CaseOutcome::Answers(answers)
}

fn answer(strict: bool, evaluated: Evaluated, recorder: &Recorder<'_>) -> Answer {
    let mut answer = Answer {
        calls: recorder.calls.take(),
        prints: recorder.prints.take(),
        ..Answer::default()
    };
    if !strict {
        answer.failure =
            evaluated.builtin_errors.first().map(|error| fault(error, recorder.sources));
    }
    match evaluated.result {
        Err(error) => answer.error = Some(fault(&error, recorder.sources)),
        Ok(solutions) => {
            for solution in solutions {
                let mut row: BTreeMap<String, String> = solution
                    .bindings
                    .iter()
                    .map(|(name, value)| (name.clone(), canonical(value)))
                    .collect();
                if let [value] = solution.expressions.as_slice() {
                    row.insert("value".to_owned(), canonical(&value.value));
                }
                answer.rows.push(row);
            }
            answer.rows.sort();
        }
    }
    answer
}

fn place(span: Span, sources: &Sources) -> (u32, String) {
    let position = sources.position(span);
    (position.line, position.path.to_owned())
}

fn fault(error: &EvalError, sources: &Sources) -> Fault {
    let (row, file) = error.span.map(|span| place(span, sources)).unwrap_or_default();
    Fault { code: error.code.as_str().to_owned(), message: error.message.clone(), row, file }
}

fn faults(error: &LoadError) -> Vec<Fault> {
    let faults = error.problems.iter().map(|problem| {
        let (row, file) = place(problem.span, &error.sources);
        Fault {
            code: problem.code.as_str().to_owned(),
            message: problem.message.clone(),
            row,
            file,
        }
    });
    faults.collect()
}

/// Returns `true` for codes of this crate's own refusals, of what OPA would accept.
pub fn is_refusal(code: &str) -> bool {
    code == ProblemCode::Unsupported.as_str()
        || code == ProblemCode::Limit.as_str()
        || code == "eval_limit_error"
        || code == "eval_unsupported_error"
}

/// A host that answers as the oracle's does, and records its calls.
struct Recorder<'a> {
    sources: &'a Sources,
    calls: RefCell<Vec<String>>,
    prints: RefCell<Vec<(u32, String)>>,
    end: Instant,
    now: i64,
}

impl<'a> Recorder<'a> {
    fn new(sources: &'a Sources, now: i64) -> Self {
        Self {
            sources,
            now,
            calls: RefCell::default(),
            prints: RefCell::default(),
            end: Instant::now() + TIME,
        }
    }
}

impl Host for Recorder<'_> {
    fn call(&self, call: &HostCall<'_>) -> Given {
        let Some(function) = HOST.iter().find(|function| function.name == call.name) else {
            return Given::Error(builtins::Error::failed("no such function"));
        };
        let args = canonical(&Value::from(call.args.to_vec()));
        self.calls.borrow_mut().push(format!("{}{args}", call.name));
        match function.answer {
            HostAnswer::Echo => call.args.first().cloned().map_or(Given::Undefined, Given::Value),
            HostAnswer::Undefined => Given::Undefined,
            HostAnswer::Error(message) => Given::Error(builtins::Error::failed(message)),
            HostAnswer::Halt(message) => Given::fail(message),
            HostAnswer::Hash => {
                let hash = args.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
                    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
                });
                Given::Value(Value::from(hash % 1000))
            }
            HostAnswer::Cases(cases) => match cases.iter().find(|(key, _)| *key == args) {
                None => Given::Undefined,
                Some((_, "!")) => Given::Error(builtins::Error::failed("no answer")),
                Some((_, value)) => json(value).map_or(Given::Undefined, Given::Value),
            },
        }
    }

    fn print(&self, span: Span, text: &str) {
        self.prints.borrow_mut().push((place(span, self.sources).0, text.to_owned()));
    }

    fn check(&self) -> Result<(), Halt> {
        if Instant::now() > self.end { Err(Halt::new("out of time")) } else { Ok(()) }
    }

    fn now_ns(&self) -> i64 {
        self.now
    }
}

/// Returns a value in the oracle's form.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    let list = |out: &mut String,
                open: char,
                close: char,
                items: &mut dyn Iterator<Item = (&Value, Option<&Value>)>| {
        out.push(open);
        for (index, (item, member)) in items.enumerate() {
            if index > 0 {
                out.push(',');
            }
            write(out, item);
            if let Some(member) = member {
                out.push(':');
                write(out, member);
            }
        }
        out.push(close);
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => out.push_str(&value.to_string()),
        Value::String(value) => out.push_str(&serde_json::to_string(&**value).unwrap_or_default()),
        Value::Array(array) => list(out, '[', ']', &mut array.iter().map(|item| (item, None))),
        Value::Set(set) => list(out, '<', '>', &mut set.iter().map(|item| (item, None))),
        Value::Object(object) => {
            list(out, '{', '}', &mut object.iter().map(|(key, value)| (key, Some(value))));
        }
    }
}
