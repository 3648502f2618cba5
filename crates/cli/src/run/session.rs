//! The state of a session, and the effect of the next line.
//!
//! Owns the rules that were typed, by package, the input, and the last evaluation, which `:explain`
//! and `:calls` are about. Nothing that doesn't load is kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rego_platform::Error;
use rego_platform::evaluate::{
    self, Cancellation, EvaluateOptions, Evaluated, OutputFormat, Policies, Query, Recording,
};
use rego_platform::load::LoadOptions;
use rego_platform::rego::Value;
use rego_platform::rego::internal::compile::QueryContext;
use rego_platform::sources::{ModuleSource, Sources};
use rego_platform_client::text::{escape, escape_for_log, nearest};

use super::statement::{Statement, classify};
use crate::eval::input;
use crate::evaluation;
use crate::explain::{self, Explain};
use crate::output::{self, Reporter};
use crate::remote::Fetcher;
use crate::stdin::Stdin;

/// The current package until another one is named.
const PACKAGE: &str = "repl";

/// The commands and their descriptions.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    (":calls", "the calls of the last query, with the origins of their responses"),
    (":explain [QUERY]", "the reasons why rules have no value, in the last query or this one"),
    (":help", "this list"),
    (":input [FILE]", "take the input from a file; without one, remove it (also `input := …`)"),
    (":load PATH", "load more policies or data"),
    (":quit", "end (also `exit`)"),
    (":reload", "read the files again"),
    (":show", "what was typed into this package"),
    (":trace", "turn the messages of `trace(…)` on or off (also `trace`)"),
    (":unset NAME", "remove the rules of this name that were typed"),
];

pub(super) enum LineResult {
    /// The statement continues on the next line.
    More,
    Done,
    Failed(Error),
    /// The session ends.
    End,
}

/// The imports and rules that were typed into a package.
#[derive(Debug, Clone, Default)]
struct Typed {
    imports: Vec<String>,
    /// The texts of rules, each with the names of the rules in it.
    rules: Vec<(Vec<String>, String)>,
}

impl Typed {
    fn text(&self, package: &str) -> String {
        let mut text = format!("package {package}\n");
        for part in self.imports.iter().chain(self.rules.iter().map(|(_, text)| text)) {
            text.push('\n');
            text.push_str(part);
            text.push('\n');
        }
        text
    }
}

/// The last evaluation.
struct LastQuery {
    query: Query,
    policies: Policies,
    input: Option<Value>,
    evaluated: Evaluated,
}

pub(super) struct Session {
    paths: Vec<PathBuf>,
    bundles: Vec<PathBuf>,
    fetcher: Fetcher,
    load: LoadOptions,
    how: EvaluateOptions,
    reporter: Reporter,
    files: Sources,
    typed: BTreeMap<String, Typed>,
    package: String,
    policies: Policies,
    input: Option<Value>,
    last: Option<LastQuery>,
    trace: bool,
    /// The answers so far, and the file that gets them after each line.
    record: Option<(PathBuf, Recording)>,
}

impl Session {
    pub fn load(
        (paths, bundles, fetcher): (Vec<PathBuf>, Vec<PathBuf>, Fetcher),
        load: LoadOptions,
        how: EvaluateOptions,
        reporter: Reporter,
    ) -> Result<Self, Error> {
        let files = evaluation::read(&paths, &bundles, &fetcher, &load.product, reporter)?;
        let policies = Policies::load(&files, load.clone())?;
        let mut session = Self {
            paths,
            bundles,
            fetcher,
            load,
            how,
            reporter,
            files,
            typed: BTreeMap::new(),
            package: PACKAGE.to_owned(),
            policies,
            input: None,
            last: None,
            trace: false,
            record: None,
        };
        // A rule of the only package can be queried by its name.
        if let Some(package) = only_package(&session.policies) {
            let _ = session.enter_package(&package);
        }
        Ok(session)
    }

    /// Writes every answer to this file.
    pub fn record_to(&mut self, path: &Path) {
        self.record = Some((path.to_owned(), Recording::new()));
    }

    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    pub fn options(&self) -> &LoadOptions {
        &self.load
    }

    /// The names of the rules that were typed into the current package.
    pub fn typed_names(&self) -> impl Iterator<Item = &String> {
        self.typed
            .get(&self.package)
            .into_iter()
            .flat_map(|typed| &typed.rules)
            .flat_map(|(n, _)| n)
    }

    pub fn read_input(&mut self, path: &Path) -> Result<(), Error> {
        self.input = Some(input::read(path, None, &mut Stdin::default())?);
        Ok(())
    }

    /// Sets what cancels the evaluations from now on.
    pub fn cancelled_by(&mut self, cancellation: Cancellation) {
        self.how.cancellation = Some(cancellation);
    }

    /// Executes a text; `last` means that no more lines follow.
    pub fn take(&mut self, text: &str, last: bool) -> LineResult {
        let done = match classify(text, self.load.version(), last) {
            Statement::Nothing => Ok(()),
            Statement::Unfinished => return LineResult::More,
            Statement::Command(word, _) if matches!(&*word, "quit" | "exit" | "q") => {
                return LineResult::End;
            }
            Statement::Command(word, rest) => self.command(&word, &rest),
            Statement::Package(name) => self.enter_package(&name),
            Statement::Import => self.add(|typed| typed.imports.push(text.trim().to_owned())),
            Statement::Rules { names, replaces } => self.add(|typed| {
                if replaces {
                    typed.rules.retain(|(others, _)| *others != names);
                }
                typed.rules.push((names, text.trim_end().to_owned()));
            }),
            Statement::Input(value) => self.set_input(&value),
            Statement::Query => self.query(text.trim()),
        };
        match done {
            Ok(()) => LineResult::Done,
            Err(error) => LineResult::Failed(error),
        }
    }

    fn command(&mut self, word: &str, rest: &str) -> Result<(), Error> {
        match word {
            "help" | "h" => {
                let mut text = String::new();
                for (command, what) in COMMANDS {
                    let _ = writeln!(text, "{command:18} {what}");
                }
                output::to_stdout(text.as_bytes())
            }
            "calls" => {
                let table = self.last()?.evaluated.ledger.table();
                output::to_stdout(format!("{}\n", escape_for_log(table.trim_end())).as_bytes())
            }
            "explain" => {
                if !rest.is_empty() {
                    self.query(rest)?;
                }
                let last = self.last()?;
                let found = last.policies.explain(
                    &last.query,
                    last.input.as_ref(),
                    &last.evaluated,
                    &self.how,
                )?;
                explain::show(&found, Explain::Fails, "");
                Ok(())
            }
            "input" if rest.is_empty() => {
                self.input = None;
                Ok(())
            }
            "input" => self.read_input(Path::new(rest)),
            "load" if !rest.is_empty() => {
                self.paths.push(PathBuf::from(rest));
                self.reload().inspect_err(|_| {
                    self.paths.pop();
                })
            }
            "reload" => self.reload(),
            "show" => {
                let typed = self.typed.get(&self.package).cloned().unwrap_or_default();
                let text = typed.text(&self.package);
                output::to_stdout(escape_for_log(&text).as_bytes())
            }
            "trace" => {
                self.trace = !self.trace;
                let word = if self.trace { "on" } else { "off" };
                output::plain_note(&format!("trace is {word}"));
                Ok(())
            }
            "unset" if !rest.is_empty() => {
                if !self.typed_names().any(|name| name == rest) {
                    let message = format!("no rule `{}` was typed here", escape(rest));
                    return Err(Error::configuration(message)
                        .with_hint("list the typed rules with `:show`"));
                }
                self.add(|typed| typed.rules.retain(|(names, _)| !names.iter().any(|n| n == rest)))
            }
            _ => {
                let known = COMMANDS.iter().filter_map(|(command, _)| {
                    command.split_whitespace().next()?.strip_prefix(':')
                });
                let message = format!("unknown command `:{}`", escape(word));
                let error = Error::configuration(message);
                Err(match nearest(word, known) {
                    Some(near) if near != word => {
                        error.with_hint(format!("did you mean `:{near}`?"))
                    }
                    Some(_) => error.with_hint("add an argument; `:help` lists the commands"),
                    None => error.with_hint("`:help` lists the commands"),
                })
            }
        }
    }

    fn last(&self) -> Result<&LastQuery, Error> {
        self.last.as_ref().ok_or_else(|| {
            Error::configuration("no previous query")
                .with_hint("type one, such as `data.release.deny`")
        })
    }

    fn enter_package(&mut self, name: &str) -> Result<(), Error> {
        self.context_of(name)?;
        name.clone_into(&mut self.package);
        Ok(())
    }

    /// Changes the typed rules of the current package, if everything still loads.
    fn add(&mut self, change: impl FnOnce(&mut Typed)) -> Result<(), Error> {
        let mut typed = self.typed.clone();
        change(typed.entry(self.package.clone()).or_default());
        self.policies = loaded(&self.files, &typed, &self.load)?;
        self.typed = typed;
        Ok(())
    }

    fn reload(&mut self) -> Result<(), Error> {
        let files = evaluation::read(
            &self.paths,
            &self.bundles,
            &self.fetcher,
            &self.load.product,
            self.reporter,
        )?;
        self.policies = loaded(&files, &self.typed, &self.load)?;
        self.files = files;
        Ok(())
    }

    fn set_input(&mut self, term: &str) -> Result<(), Error> {
        let (_, evaluated) = self.evaluate(term)?;
        let answer = evaluation::answer(evaluated)?;
        let value = answer.value().cloned().ok_or_else(|| {
            Error::configuration("the input is undefined")
                .with_hint("`:input` without a file removes the input")
        })?;
        self.input = Some(value);
        Ok(())
    }

    fn context_of(&self, package: &str) -> Result<QueryContext, Error> {
        let typed = self.typed.get(package).cloned().unwrap_or_default();
        let imports = Typed { imports: typed.imports, rules: Vec::new() };
        evaluation::query_context(&imports.text(package), &self.load).ok_or_else(|| {
            let message = format!("`{}` isn't a valid package name", escape(package));
            Error::configuration(message).with_hint("such as `package release`")
        })
    }

    fn evaluate(&mut self, text: &str) -> Result<(Query, Evaluated), Error> {
        let context = self.context_of(&self.package)?;
        let query = self.policies.query_in(text, &context)?;
        let evaluated = self.policies.evaluate(&query, self.input.as_ref(), &self.how);
        if let Some((path, recording)) = &mut self.record {
            recording.replace(evaluated.recording()?);
            output::recording(path, recording)?;
        }
        Ok((query, evaluated))
    }

    fn query(&mut self, text: &str) -> Result<(), Error> {
        let (query, evaluated) = self.evaluate(text)?;
        for print in &evaluated.prints {
            output::print(&format!("{}:{}", print.file, print.line), &print.message);
        }
        evaluation::warn_of_builtin_errors(evaluated.builtin_errors(), self.reporter);
        if self.trace {
            let input = self.input.as_ref();
            let found = self.policies.explain(&query, input, &evaluated, &self.how)?;
            explain::show(&found, Explain::Notes, "");
        }
        let (result, failed_at) = (evaluated.result.clone(), evaluated.failed_at.clone());
        let (policies, input) = (self.policies.clone(), self.input.clone());
        self.last = Some(LastQuery { query, policies, input, evaluated });
        let answer = evaluation::with_position(result, failed_at)?;
        let written = evaluate::write(&answer, OutputFormat::Pretty)?;
        output::to_stdout(escape_for_log(&written).as_bytes())
    }
}

/// Returns the name of the package of all files but tests, if it is one.
fn only_package(policies: &Policies) -> Option<String> {
    let names = policies.packages().map(|package| package.path.join("."));
    let mut names = names.filter(|name| !name.ends_with("_test"));
    names.next().filter(|_| names.next().is_none())
}

/// Loads the files together with what was typed.
fn loaded(
    files: &Sources,
    typed: &BTreeMap<String, Typed>,
    load: &LoadOptions,
) -> Result<Policies, Error> {
    let mut sources = files.clone();
    for (package, typed) in typed {
        let path = format!("<{package}>");
        sources.modules.push(ModuleSource::new(path, typed.text(package)));
    }
    Policies::load(&sources, load.clone())
}
