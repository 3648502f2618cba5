//! Code lenses: run a test, evaluate a rule.
//!
//! The input is the nearest `input.json` beside the file or above it, within the folders that the server
//! reads; that file then isn't loaded as data. Nothing answers calls of the service.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lsp_types::{CodeLens, Command};
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, Print, compact, pretty};
use rego_platform::load::LoadOptions;
use rego_platform::testing::{Failure, Suite, TestOptions, TestOutcome};
use rego_platform::text::{data_reference, escape_lines};
use rego_platform::{Error, Value};
use serde_json::json;

use crate::file::File;
use crate::files::Files;

/// The commands.
pub(crate) const TEST: &str = "rego-platform.test";
pub(crate) const EVALUATE: &str = "rego-platform.evaluate";

/// The time limit of an evaluation.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The largest `input.json`.
const MAX_INPUT: u64 = 64 << 20;

/// The maximum number of characters shown of an outcome.
const MAX_SHOWN: usize = 4_000;

/// Returns a lens for the first definition of each rule that isn't a function.
pub(crate) fn lenses(file: &File, uri: &str) -> Vec<CodeLens> {
    let mut seen = std::collections::BTreeSet::new();
    let values = file.names.rules.iter().filter(|rule| rule.arguments.is_none());
    let first = values.filter(|rule| seen.insert(&rule.path));
    let lens = |rule: &crate::names::Declared| {
        let (title, command) =
            if rule.is_test { ("Run this test", TEST) } else { ("Evaluate this rule", EVALUATE) };
        let range = file.text.range(rule.head.0, rule.head.1);
        let arguments = Some(vec![json!(uri), json!(rule.path), json!(range.start.line)]);
        CodeLens {
            range,
            command: Some(Command {
                title: title.to_owned(),
                command: command.to_owned(),
                arguments,
            }),
            data: None,
        }
    };
    first.map(lens).collect()
}

/// A rule to run.
pub(crate) struct Task {
    pub files: Files,
    pub load: LoadOptions,
    /// The folders that the server reads.
    pub folders: Vec<PathBuf>,
    pub file: PathBuf,
    /// The path below `data`.
    pub rule: Vec<String>,
    pub is_test: bool,
}

impl Task {
    /// Runs the rule, and returns the text to show, and `true` for a success.
    pub fn run(&self) -> Result<(String, bool), Error> {
        let (text, is_good) = if self.is_test { self.test() } else { self.evaluate() }?;
        let end = text.char_indices().nth(MAX_SHOWN).map(|(end, _)| end);
        let shown = end.and_then(|end| text.get(..end)).unwrap_or(&text);
        let more = if end.is_some() { "…" } else { "" };
        Ok((format!("{}{more}", escape_lines(shown)), is_good))
    }

    fn evaluate(&self) -> Result<(String, bool), Error> {
        let mut sources =
            self.files.sources(Some(&self.files.needed(std::iter::once(&*self.file))));
        let (input, of) = match self.input() {
            None => (None, String::new()),
            Some(path) => {
                let name = path.display().to_string();
                sources.data.retain(|data| Path::new(&data.path) != path);
                let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (Some(read(&path, &name)?), format!(" with {shown}"))
            }
        };
        let policies = Policies::load(&sources, self.load.clone())?;
        let path: Vec<&str> = self.rule.iter().map(String::as_str).collect();
        let query = policies.query_path(&path);
        let evaluated = policies.evaluate(&query, input.as_ref(), &options());
        let name = data_reference(&path);
        let found = evaluated.result?;
        let value = if found.is_undefined() {
            format!("{name} is undefined{of}")
        } else {
            format!("{name}{of}: {}", pretty(found.required()?)?)
        };
        Ok((with_prints(value, &evaluated.prints), true))
    }

    fn test(&self) -> Result<(String, bool), Error> {
        let sources = self.files.sources(Some(&self.files.needed(std::iter::once(&*self.file))));
        let mut suite = Suite::load(sources, self.load.clone())?;
        suite.retain_rule(&self.rule);
        let run = suite.run(&TestOptions::new(options()))?;
        if run.results.is_empty() {
            let message = format!("no test `{}`", data_reference(&self.rule));
            return Err(Error::policy_failed(message));
        }
        let (mut lines, mut is_good) = (Vec::new(), true);
        for result in run.results {
            let name = result.test.full_name();
            let outcome = match result.outcome {
                TestOutcome::Passed => "passed".to_owned(),
                TestOutcome::Skipped => "skipped".to_owned(),
                TestOutcome::Failed(failure) => {
                    is_good = false;
                    format!("failed{}", reason(&failure))
                }
                TestOutcome::Error { error, .. } => return Err(error),
                _ => "has a different outcome".to_owned(),
            };
            lines.push(with_prints(format!("{name}: {outcome}"), &result.prints));
        }
        Ok((lines.join("\n"), is_good))
    }

    /// Returns the nearest `input.json`.
    fn input(&self) -> Option<PathBuf> {
        let is_read = |folder: &&Path| self.folders.iter().any(|read| folder.starts_with(read));
        let folders = self.file.ancestors().skip(1).take_while(is_read);
        folders.map(|folder| folder.join("input.json")).find(|path| path.is_file())
    }
}

/// Returns options for evaluations without calls of the service.
fn options() -> EvaluateOptions {
    let hint = "the language server doesn't call the service: run `rego-platform eval` or `test`";
    let mut options = EvaluateOptions::new(Answers::Unavailable(hint.to_owned()));
    options.strict_builtin_errors = false;
    options.budget.timeout = TIMEOUT;
    options
}

fn read(path: &Path, name: &str) -> Result<Value, Error> {
    let wrong =
        |error: String| Error::configuration(format!("can't read `{name}`")).with_source(error);
    let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if size > MAX_INPUT {
        return Err(wrong(format!("file too large: {size} bytes, the limit is {MAX_INPUT}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Value::from_json(&text).map_err(|error| wrong(error.to_string()))
}

/// Returns the reason of a failed test.
fn reason(failure: &Failure) -> String {
    let mut text = failure.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    if let Some(cause) = &failure.cause {
        let position = &cause.position;
        let _ =
            write!(text, ": line {}, `{}` {}", position.line, position.text.trim(), cause.verdict);
        for operand in &cause.operands {
            let values = operand.values.iter().map(|value| compact(value).unwrap_or_default());
            let values: Vec<_> = values.collect();
            let values = if values.is_empty() { "undefined".to_owned() } else { values.join(", ") };
            let _ = write!(text, "\n  {}: {values}", operand.text);
        }
    }
    text
}

fn with_prints(mut text: String, prints: &[Print]) -> String {
    for print in prints {
        let _ = write!(text, "\n{}:{}: {}", print.file, print.line, print.message);
    }
    text
}
