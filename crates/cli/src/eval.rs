//! `eval`: a query over policies, data and an input, evaluated as `opa eval` does.
//!
//! Owns the options and the exit status. The library evaluates; `input` reads the input.

pub(super) mod input;
mod unknown;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use rego_platform::evaluate::{OutputFormat, Policies};
use rego_platform::load::LoadOptions;
use rego_platform::rego::internal::compile::QueryContext;
use rego_platform::{Error, evaluate};
use rego_platform_client::text::{escape, escape_raw};
use rego_platform_gate::query_about_file;

use super::context::Context;
use super::errors::Errors;
use super::explain::{self, Explain};
use super::options::{EvaluationArgs, LoadArgs, Options, ParserArgs, one_of};
use super::output::{self, Reporter};
use super::remote::RemoteArgs;
use super::stdin::Stdin;
use super::{Exit, evaluation, paths, values, watch, watchdog};

/// The output formats.
const FORMATS: &[(&str, OutputFormat)] = &[
    ("json", OutputFormat::Json),
    ("pretty", OutputFormat::Pretty),
    ("raw", OutputFormat::Raw),
    ("values", OutputFormat::Values),
    ("bindings", OutputFormat::Bindings),
];

/// Evaluate a query over policies, data and an input
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Exit status: 0 when the query was evaluated, even if its result is undefined; 1 when the \
        condition of `--fail` or `--fail-defined` holds; 2 on an error.\n\n\
    Example:\n  rego-platform eval -d policies -i input.json 'data.release.violations'"
)]
pub(super) struct EvalArgs {
    /// The query
    query: String,
    /// Policies (`.rego`), data (`.json`, `.yaml`), folders and bundles; repeatable
    #[arg(short, long, value_name = "PATH", short_alias = 'p', alias = "policy")]
    data: Vec<PathBuf>,
    /// A bundle, as an archive or a folder; repeatable
    #[arg(short, long, value_name = "PATH")]
    bundle: Vec<PathBuf>,
    /// The input, in the format of its extension; `-` for standard input
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    parser: ParserArgs,
    /// The same as `--input -`
    #[arg(short = 'I', long, conflicts_with = "input")]
    stdin_input: bool,
    /// Put a value into `input` at a path with dots: JSON, or else text; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Package of the query: with `release`, `deny` is `data.release.deny`
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// An import of the query, such as `data.lib.images as i`; repeatable
    #[arg(long = "import", value_name = "PATH")]
    imports: Vec<String>,
    /// Output format; `raw` leaves strings unquoted
    #[arg(short, long, value_parser = one_of(FORMATS), default_value = "json", short_alias = 'o', alias = "output")]
    format: OutputFormat,
    /// Exit with status 1 if the result is undefined; `false` and `[]` are defined
    #[arg(long, conflicts_with = "fail_defined")]
    fail: bool,
    /// Exit with status 1 if the result is defined
    #[arg(long)]
    fail_defined: bool,
    /// Print trace notes, or the reasons why rules have no value, on standard error
    #[arg(long, value_name = "WHAT", value_enum)]
    explain: Option<Explain>,
    /// Evaluate again whenever a file changes
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

pub(super) fn run(args: EvalArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let format = args.format;
    with_errors(format, evaluate(&args, options, reporter))
}

/// Prints errors on standard output as OPA does, where a program reads the answer. A person at a
/// terminal sees them once, as text.
fn with_errors(format: OutputFormat, result: Result<Exit, Error>) -> Result<Exit, Error> {
    if let (OutputFormat::Json, Err(error)) = (format, &result)
        && !std::io::stdout().is_terminal()
    {
        let text = output::json(&Errors::of(error))?;
        output::to_stdout(format!("{text}\n").as_bytes())?;
    }
    result
}

impl EvalArgs {
    fn input(&self) -> Option<&Path> {
        if self.stdin_input { Some(Path::new("-")) } else { self.input.as_deref() }
    }

    /// Returns the query's package and imports.
    fn context(&self, load: &LoadOptions) -> Result<QueryContext, Error> {
        let package = self.package.as_deref();
        let package = package.map(|name| name.strip_prefix("data.").unwrap_or(name));
        let head = |rest: &str| format!("package {}\n{rest}", package.unwrap_or("query"));
        let invalid = |what: &str, text: &str, hint: &str| {
            let message = format!("`{}` isn't {what}", escape(text));
            Error::configuration(message).with_hint(hint)
        };
        if let Some(package) = package
            && evaluation::query_context(&head(""), load).is_none()
        {
            let hint = "`--package` takes a name such as `release.images`";
            return Err(invalid("a package's name", package, hint));
        }
        let mut lines = String::new();
        for import in &self.imports {
            let line = format!("import {import}\n");
            let hint = "`--import` takes a path such as `data.lib.images`";
            evaluation::query_context(&head(&line), load)
                .ok_or_else(|| invalid("a valid import", import, hint))?;
            lines.push_str(&line);
        }
        let whole = evaluation::query_context(&head(&lines), load).unwrap_or_default();
        Ok(QueryContext { package: whole.package.filter(|_| package.is_some()), ..whole })
    }
}

fn evaluate(args: &EvalArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    evaluation::check_record(
        options,
        &args.load,
        args.data.iter().chain(&args.bundle).chain(&args.input),
    )?;
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let work = Work { args, options, reporter, context: &context };
    if !args.watch {
        return work.once(&mut stdin);
    }
    if args.input().is_some_and(|path| path.as_os_str() == "-") {
        let message = "`--watch` can't read standard input again";
        return Err(Error::configuration(message).with_hint("put the input into a file"));
    }
    let mut watched = paths::expanded(&args.data)?;
    watched.extend(paths::expanded(&args.bundle)?);
    if let Some(path) = &args.input {
        watched.push(paths::utf8(path.clone())?);
    }
    watch::run(&watched, || with_errors(args.format, work.once(&mut Stdin::default())))
}

/// The arguments of an evaluation.
struct Work<'a> {
    args: &'a EvalArgs,
    options: &'a Options,
    reporter: Reporter,
    context: &'a Context,
}

impl Work<'_> {
    /// Loads the policies, evaluates the query and prints the answer.
    fn once(&self, stdin: &mut Stdin) -> Result<Exit, Error> {
        let Self { args, options, reporter, context } = *self;
        watchdog::begin(options.timeout)?;
        let values = values::parse(&args.set)?;
        let input =
            args.input().map(|path| input::read(path, args.parser.parser, stdin)).transpose()?;
        let input = values.put_into(input)?;
        let (evaluated, explanation, known) = {
            let load = args.load.options(context.product.clone(), options.timeout)?;
            let within = args.context(&load)?;
            let engine = &args.evaluation.engine;
            if engine.name().is_some() && (args.package.is_some() || !args.imports.is_empty()) {
                let message = "not supported by regorus: `--package` and `--import`";
                return Err(Error::configuration(message)
                    .with_hint("write the whole path, such as `data.release.deny`"));
            }
            let fetcher = args
                .remote
                .fetcher(&args.evaluation.network, options, false)
                .without(&args.load.ignore);
            let sources =
                evaluation::read(&args.data, &args.bundle, &fetcher, &load.product, reporter)?;
            let policies = engine.policies(Policies::load(&sources, load)?);
            let file = args.input.as_deref();
            let (query, reads_file) = query_about_file(&policies, &args.query, within, file)?;
            if reads_file && file.is_none() {
                let message = "undefined without an input: `data.conftest.file`";
                reporter.warning(message);
            }
            let unknown = unknown::warning(&policies, &args.query);
            if let Some(warning) = &unknown {
                reporter.warning(warning);
            }
            let (is_strict, network) = (args.evaluation.is_strict(), &args.evaluation.network);
            let how = evaluation::options(context, options, is_strict, network)?;
            let evaluated = policies.evaluate(&query, input.as_ref(), &how);
            let explanation = args
                .explain
                .map(|what| {
                    let found = policies.explain(&query, input.as_ref(), &evaluated, &how)?;
                    Ok::<_, Error>((what, found))
                })
                .transpose()?;
            // Only rules are explained.
            let known = unknown.is_none() && args.query.contains("data.");
            if !args.watch {
                // The process ends soon, and frees large documents faster than value by value.
                std::mem::forget((policies, sources, query, input));
            }
            (evaluated, explanation, known)
        };
        evaluation::report(&evaluated, options, reporter)?;
        if let Some((what, found)) = &explanation {
            explain::show(found, *what, "");
        }
        let answer = evaluation::answer(evaluated)?;
        let defined = !answer.is_undefined();
        if !defined && args.explain.is_none() {
            let hint = if known { "; `--explain fails` shows why" } else { "" };
            reporter.note(&format!("the result is undefined{hint}"));
        }
        let text = evaluate::write(&answer, args.format)?;
        // Strings of policies and of the service can't control a terminal or a CI system.
        let text = match args.format {
            OutputFormat::Raw => escape_raw(&text).into(),
            _ => output::escape_json(&text),
        };
        output::to_stdout(text.as_bytes())?;
        Ok(if args.fail && !defined || args.fail_defined && defined {
            Exit::Failed
        } else {
            Exit::Passed
        })
    }
}
