//! Where regorus differs from this crate, over stored programs: each difference belongs to a
//! row of `docs/reference/regorus.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rego_platform::check::check_for_regorus;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{DataSource, ModuleSource, RegoVersion, Sources};
use rego_platform::evaluate::{Answers, EvaluateOptions, HostFunction, Policies, Replay};
use rego_platform::rego::value::{Object, Set};
use rego_platform::regorus::{Engine, Value as Theirs};
use rego_platform::{Error, ErrorKind, Platform, Value};

use super::case::{Case, HOST, HostAnswer};
use super::{case_file, subject};

/// The rows that aren't visible in a policy's text.
const NUMBERS: &str = "numbers";
const ORDER: &str = "order of evaluation";
const SOME_IN: &str = "`some … in`";
const INFIX: &str = "infix operators";
const CONFLICTS: &str = "conflicts";
const NAMES: &str = "names again";
const PARENTHESES: &str = "a line that begins with `(`";
const WITH_RULES: &str = "`with` on rules";

/// The beginning of the codes of rows that are visible in a policy.
const PREFIX: &str = "regorus/";

/// What the errors of regorus say, and the row that each belongs to: with a code, if that is visible too.
const ERRORS: &[(&str, &str)] = &[
    ("could not find function", "regorus/function"),
    ("could not find function", "regorus/mock"),
    ("could not find function", PARENTHESES),
    ("undefined rule", "regorus/mock"),
    ("undefined rule", WITH_RULES),
    ("incorrect number of parameters", "regorus/result-argument"),
    ("undefined variable", "regorus/result-argument"),
    ("undefined variable", "regorus/mock"),
    ("undefined variable", "regorus/function"),
    ("incompatible destructuring patterns", "regorus/every"),
    ("else cannot be used", "regorus/second-body"),
    ("is unsafe (path", "regorus/with-open"),
    ("is unsafe (path", NAMES),
    ("not a valid ref", "regorus/head"),
    ("used before definition", "regorus/shadow"),
    ("used before definition", NAMES),
    ("duplicated definition of local variable", NAMES),
    ("expecting", "regorus/syntax"),
    ("invalid character", "regorus/syntax"),
    ("unexpected keyword", "regorus/syntax"),
    ("some .. in collection", SOME_IN),
    ("regorus gave an undefined value", NUMBERS),
    ("regorus would round the number", NUMBERS),
    ("floating-point number", NUMBERS),
    ("expects numeric argument", INFIX),
    ("expects set argument", INFIX),
    ("divide by zero", INFIX),
    ("rule conflicts with rule", CONFLICTS),
    ("generated multiple times", CONFLICTS),
    ("not an object", CONFLICTS),
    ("eval_type_error", ORDER),
    ("eval_builtin_error", ORDER),
    ("svc.fail: no answer", ORDER),
    ("svc.stop: stopped", ORDER),
];

/// The differences over many cases.
#[derive(Default)]
pub struct Differences {
    /// The number of answers that were compared.
    pub answers: usize,
    /// The number of differences of each row.
    pub rows: BTreeMap<String, usize>,
    /// Those that belong to no row.
    pub unknown: Vec<String>,
}

impl Differences {
    /// Compares every `every`th case of some files.
    pub fn of_files(paths: &[String], every: usize) -> std::io::Result<Self> {
        let mut found = Self::default();
        for path in paths {
            for stored in case_file::cases(path, every)? {
                found.add(&stored?.0);
            }
        }
        Ok(found)
    }

    /// Returns the table of the documentation.
    pub fn table(&self) -> String {
        let rows = self.rows.iter().map(|(row, count)| format!("| {row} | {count} |\n"));
        format!("| row | of {} answers |\n|---|---|\n{}", self.answers, rows.collect::<String>())
    }

    /// Compares all documents that a case asks for.
    pub fn add(&mut self, case: &Case) {
        let (sources, mut options) = (sources(case), LoadOptions::default());
        options.host_functions = functions();
        // What this crate refuses isn't evaluated at all.
        let Ok(policies) = Policies::load(&sources, options.clone()) else { return };
        let codes: BTreeSet<&str> =
            check_for_regorus(&sources, options).iter().map(|found| found.code).collect();
        let engine = engine(&sources);
        let inputs = case
            .inputs
            .iter()
            .map(|text| if case.term_inputs { subject::term(text) } else { subject::json(text) });
        let inputs: Vec<Option<Value>> = inputs.collect();
        let mut how = EvaluateOptions::new(Answers::Unavailable("no calls".to_owned()));
        how.strict_builtin_errors = case.strict_errors;
        for query in case.queries.iter().filter(|query| is_document(query)) {
            // A query isn't part of the policies, whose references are looked at.
            let mut codes = codes.clone();
            let asked_for = policies
                .packages()
                .find(|package| package.path.join(".") == query["data.".len()..]);
            if asked_for.is_some_and(|package| package.files.len() > 1) {
                codes.insert("regorus/whole-package");
            }
            let Ok(asked) = policies.query(query) else { continue };
            for input in &inputs {
                let evaluated = policies.evaluate(&asked, input.as_ref(), &how);
                // Time and randomness are those of the recording.
                let mut how = how.clone();
                if let Ok(recording) = evaluated.recording() {
                    how.answers = Answers::Replay(Arc::new(Replay::new(recording)));
                }
                let ours = evaluated.result.map(|output| output.value().cloned());
                let theirs = match &engine {
                    Ok((engine, registration)) => {
                        let mut engine = engine.clone();
                        engine.set_input(input.as_ref().map_or(Theirs::Undefined, to_theirs));
                        let answer = |engine: &mut Engine| {
                            let results = engine.eval_query(query.clone(), false)?;
                            let first =
                                results.result.first().and_then(|row| row.expressions.first());
                            Ok(first.map_or(Theirs::Undefined, |first| first.value.clone()))
                        };
                        let result = registration.evaluate(&mut engine, &how, answer).result;
                        result.map(|value| from_theirs(&value)).map_err(|error| error.report())
                    }
                    Err(error) => Err(error.clone()),
                };
                self.answers += 1;
                let beyond = input.as_ref().is_some_and(is_beyond);
                let Some(row) = row(&ours, &theirs, &codes, beyond) else { continue };
                match row {
                    Ok(row) => *self.rows.entry(row).or_default() += 1,
                    Err(why) => self.unknown.push(format!(
                        "{why}\n{query} with {input:?}\nhere {ours:?}, on regorus {theirs:?}\n{}",
                        case.show()
                    )),
                }
            }
        }
    }
}

/// Compares answers with and without a record of what is reached, over every `every`th case of some files:
/// returns their number, and those that differ.
pub fn surveyed(paths: &[String], every: usize) -> std::io::Result<(usize, Vec<String>)> {
    let (mut answers, mut different) = (0, Vec::new());
    for path in paths {
        for stored in case_file::cases(path, every)? {
            survey(&stored?.0, &mut answers, &mut different);
        }
    }
    Ok((answers, different))
}

fn survey(case: &Case, answers: &mut usize, different: &mut Vec<String>) {
    let mut options = LoadOptions::default();
    options.host_functions = functions();
    let Ok(policies) = Policies::load(&sources(case), options) else { return };
    let mut plain = EvaluateOptions::new(Answers::Unavailable("no calls".to_owned()));
    plain.strict_builtin_errors = case.strict_errors;
    let mut surveyed = plain.clone();
    surveyed.reached = true;
    for query in &case.queries {
        let Ok(asked) = policies.query(query) else { continue };
        for text in &case.inputs {
            let input = if case.term_inputs { subject::term(text) } else { subject::json(text) };
            let [one, other] = [&plain, &surveyed].map(|how| {
                let result = policies.evaluate(&asked, input.as_ref(), how).result;
                result.map_err(|error| error.report())
            });
            *answers += 1;
            if one != other {
                different.push(format!("{query}: {one:?}, surveyed {other:?}\n{}", case.show()));
            }
        }
    }
}

fn is_document(query: &str) -> bool {
    query.starts_with("data.")
        && query.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c))
}

/// Returns the row that a difference belongs to, or the reason why it belongs to none; `None` if there is
/// no difference. `beyond` is set if the input has numbers that regorus writes otherwise.
fn row(
    ours: &Result<Option<Value>, Error>,
    theirs: &Result<Option<Value>, String>,
    codes: &BTreeSet<&str>,
    beyond: bool,
) -> Option<Result<String, String>> {
    let visible =
        |wanted: &[&'static str]| wanted.iter().copied().find(|code| codes.contains(code));
    match (ours, theirs) {
        (Err(_), Err(_)) => None,
        (Ok(left), Ok(right)) if left == right => None,
        (_, Ok(right)) => {
            if let Ok(left) = ours
                && left.as_ref().map(rounded) == right.as_ref().map(rounded)
            {
                return Some(Ok(NUMBERS.to_owned()));
            }
            let answers = [
                "regorus/every",
                "regorus/head",
                "regorus/membership",
                "regorus/second-body",
                "regorus/shadow",
                "regorus/with-open",
                "regorus/negated-operand",
                "regorus/object-pattern",
                "regorus/whole-package",
                "regorus/import",
                "regorus/with-some",
                "regorus/with-undefined",
                "regorus/with-function",
                "regorus/walk",
                "regorus/package-import",
            ];
            match (visible(&answers), ours) {
                (Some(found), _) => Some(Ok(format!("`{found}`"))),
                (None, Err(_)) => Some(Ok(ORDER.to_owned())),
                (None, Ok(left)) if beyond || left.as_ref().is_some_and(is_beyond) => {
                    Some(Ok(NUMBERS.to_owned()))
                }
                (None, Ok(_)) => Some(Err("another answer, and no row is visible".to_owned())),
            }
        }
        (Ok(_), Err(error)) => {
            let mut rows = ERRORS.iter().filter(|(text, _)| error.contains(text));
            let found = rows.find(|(_, row)| !row.starts_with(PREFIX) || codes.contains(row));
            Some(match found {
                Some((_, row)) if row.starts_with(PREFIX) => Ok(format!("`{row}`")),
                Some((_, row)) => Ok((*row).to_owned()),
                None => Err("another error, and no row is visible".to_owned()),
            })
        }
    }
}

/// Returns `true` for a value with a number that regorus writes otherwise.
fn is_beyond(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let text = value.to_json();
            let plain = text.parse::<i64>().map(|number| number.to_string());
            text != plain.unwrap_or_else(|_| number.as_f64().to_string())
        }
        Value::Array(items) => items.iter().any(is_beyond),
        Value::Set(items) => items.iter().any(is_beyond),
        Value::Object(members) => members.iter().any(|(k, v)| is_beyond(k) || is_beyond(v)),
        _ => false,
    }
}

/// Returns a value with its numbers as regorus computes them.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            subject::json(&format!("{:e}", number.as_f64())).unwrap_or_else(|| value.clone())
        }
        // `json.marshal` and `sprintf` write numbers.
        Value::String(text) => match subject::json(text) {
            Some(number @ Value::Number(_)) => rounded(&number),
            _ => value.clone(),
        },
        Value::Array(items) => Value::from(items.iter().map(rounded).collect::<Vec<_>>()),
        Value::Set(items) => Value::from(items.iter().map(rounded).collect::<Set>()),
        Value::Object(members) => {
            Value::from(members.iter().map(|(k, v)| (rounded(k), rounded(v))).collect::<Object>())
        }
        other => other.clone(),
    }
}

fn sources(case: &Case) -> Sources {
    let mut sources = Sources::default();
    for (path, text) in &case.files {
        let version = if case.version == "v0" { RegoVersion::V0 } else { RegoVersion::V1 };
        sources.versions.insert(path.clone(), version);
        sources.modules.push(ModuleSource::new(path, text));
    }
    let value = subject::json(&case.data).unwrap_or_else(Value::new_object);
    sources.data.push(DataSource::new("data.json", value));
    sources
}

/// Returns regorus with a case's policies and data, or why it refuses them.
fn engine(sources: &Sources) -> Result<(Engine, rego_platform::Registration), String> {
    let local = "http://127.0.0.1:1";
    let platform = Platform::builder().controlplane_url(local).base_url(local).build().unwrap();
    let mut engine = Engine::new();
    let registration = platform.register_with(&mut engine, functions()).unwrap();
    registration.replace_builtins(&mut engine);
    for module in &sources.modules {
        engine.set_rego_v0(sources.versions[&module.path] == RegoVersion::V0);
        engine
            .add_policy(module.path.clone(), module.text.clone())
            .map_err(|error| error.to_string())?;
    }
    let data = to_theirs(&sources.data[0].value);
    engine.add_data(data).map_err(|error| error.to_string())?;
    Ok((engine, registration))
}

/// The functions of the host, as the oracle answers them.
fn functions() -> Vec<HostFunction> {
    let failed = |message: &str| Error::new(ErrorKind::Policy, message.to_owned());
    let functions = HOST.iter().map(|function| {
        let arity = u8::try_from(function.args.len()).unwrap();
        HostFunction::pure(function.name, arity, move |arguments| {
            let text = subject::canonical(&Value::from(arguments.to_vec()));
            match function.answer {
                HostAnswer::Echo => Ok(arguments.first().cloned()),
                HostAnswer::Undefined => Ok(None),
                HostAnswer::Error(message) | HostAnswer::Halt(message) => Err(failed(message)),
                HostAnswer::Hash => {
                    let hash = text.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
                        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
                    });
                    Ok(Some(Value::from(hash % 1000)))
                }
                HostAnswer::Cases(cases) => match cases.iter().find(|(key, _)| *key == text) {
                    None => Ok(None),
                    Some((_, "!")) => Err(failed("no answer")),
                    Some((_, value)) => Ok(subject::json(value)),
                },
            }
        })
    });
    functions.collect()
}

fn to_theirs(value: &Value) -> Theirs {
    match value {
        Value::Array(items) => Theirs::from(items.iter().map(to_theirs).collect::<Vec<_>>()),
        Value::Set(items) => Theirs::from(items.iter().map(to_theirs).collect::<BTreeSet<_>>()),
        Value::Object(members) => Theirs::from(
            members.iter().map(|(k, v)| (to_theirs(k), to_theirs(v))).collect::<BTreeMap<_, _>>(),
        ),
        scalar => Theirs::from_json_str(&scalar.to_json()).unwrap_or(Theirs::Undefined),
    }
}

fn from_theirs(value: &Theirs) -> Option<Value> {
    Some(match value {
        Theirs::Undefined => return None,
        Theirs::Array(items) => {
            Value::from(items.iter().filter_map(from_theirs).collect::<Vec<_>>())
        }
        Theirs::Set(items) => Value::from(items.iter().filter_map(from_theirs).collect::<Set>()),
        Theirs::Object(members) => Value::from(
            members
                .iter()
                .filter_map(|(k, v)| Some((from_theirs(k)?, from_theirs(v)?)))
                .collect::<Object>(),
        ),
        scalar => subject::json(&scalar.to_json_str().ok()?)?,
    })
}
