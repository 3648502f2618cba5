//! The evaluation behind `eval`: one engine, each call blocking.
//!
//! Owns nothing but the way from files to an answer, so that another evaluation can take its
//! place. Policies that the interpreter answers wrongly are not refused here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use regorus::{Engine, QueryResults, Value};

use super::input;
use crate::cli::stdin;
use crate::text::escape;
use crate::{Error, ErrorKind, Platform};

/// What is to be evaluated.
pub(super) struct Job<'a> {
    pub paths: &'a [PathBuf],
    pub query: &'a str,
    pub input: Option<Value>,
    pub v0: bool,
    pub strict: bool,
    pub timeout: Duration,
    pub platform: &'a Platform,
}

/// A print statement's message, and where it stands.
pub(super) struct Print {
    pub place: String,
    pub message: String,
}

/// What came out.
pub(super) struct Evaluated {
    pub result: Result<Answer, Error>,
    pub prints: Vec<Print>,
}

/// One row for each way in which the query holds.
pub(super) type Answer = Vec<Row>;

/// A way in which the query holds.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub expressions: Vec<regorus::Expression>,
    pub bindings: Value,
}

pub(super) fn evaluate(job: Job<'_>) -> Result<Evaluated, Error> {
    let mut engine = Engine::new();
    engine.set_rego_v0(job.v0);
    engine.set_gather_prints(true);
    engine.set_execution_timer_config(regorus::utils::limits::ExecutionTimerConfig {
        limit: job.timeout,
        check_interval: std::num::NonZeroU32::MIN,
    });
    let registration = job.platform.register(&mut engine)?;
    engine.set_strict_builtin_errors(job.strict);
    for path in job.paths {
        load(&mut engine, path)?;
    }
    if let Some(input) = job.input {
        engine.set_input(input);
    }
    let result = registration.check(engine.eval_query(job.query.to_owned(), false)).map(rows);
    let prints = engine.take_prints().unwrap_or_default();
    let prints = prints.into_iter().map(|text| split(&text)).collect();
    Ok(Evaluated { result, prints })
}

/// Rows in which every expression holds.
fn rows(results: QueryResults) -> Answer {
    let holds = |row: &Row| {
        let alone = row.expressions.len() == 1;
        row.expressions.iter().all(|e| match e.value {
            Value::Undefined => false,
            Value::Bool(false) => alone,
            _ => true,
        })
    };
    let rows = results.result.into_iter();
    rows.map(|r| Row { expressions: r.expressions, bindings: r.bindings }).filter(holds).collect()
}

/// The interpreter puts `file:line: ` before what was printed.
fn split(text: &str) -> Print {
    let (place, message) = text.split_once(": ").unwrap_or(("", text));
    Print { place: place.to_owned(), message: message.to_owned() }
}

fn load(engine: &mut Engine, path: &Path) -> Result<(), Error> {
    if !path.is_dir() {
        return load_file(engine, path, &[]);
    }
    walk(engine, path, &mut Vec::new())
}

fn walk(engine: &mut Engine, dir: &Path, below: &mut Vec<String>) -> Result<(), Error> {
    let entries = std::fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries: Vec<PathBuf> =
        entries.map_err(|e| unreadable(dir, e))?.into_iter().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            below.push(name);
            walk(engine, &path, below)?;
            below.pop();
        } else if matches!(ending(&path).as_str(), "rego" | "json" | "yaml" | "yml") {
            load_file(engine, &path, below)?;
        }
    }
    Ok(())
}

fn load_file(engine: &mut Engine, path: &Path, below: &[String]) -> Result<(), Error> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
    if ending(path) == "rego" {
        let text = stdin::text(bytes, &name)?;
        engine.add_policy(name, text).map_err(|e| broken(&e))?;
        return Ok(());
    }
    let document = input::document(bytes, &name)?;
    // A folder's data stands where the folder stands.
    let data = below.iter().rev().fold(document, |value, key| {
        Value::from(std::collections::BTreeMap::from([(Value::from(key.as_str()), value)]))
    });
    engine.add_data(data).map_err(|error| {
        Error::new(ErrorKind::Policy, format!("the data in `{}` can't be used", escape(&name)))
            .with_source(error.to_string())
    })
}

fn ending(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}

fn broken(error: &anyhow::Error) -> Error {
    Error::new(ErrorKind::Policy, "the policies can't be loaded").with_source(error.to_string())
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let message = format!("`{}` can't be read", escape(&path.display().to_string()));
    Error::new(ErrorKind::Configuration, message).with_source(error)
}
