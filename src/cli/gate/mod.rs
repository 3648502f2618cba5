//! `gate`: policies over one or many inputs, one verdict, and the reports of it.
//!
//! Owns the options and what excludes what. What a verdict is belongs to [`crate::gate`], how the
//! reports look to a file for each form, and where they go to `outputs`.

mod attest;
mod human;
mod json;
mod outputs;
mod progress;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::args::{FunctionsArgs, Options};
use super::context::Context;
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, evaluation};
use crate::evaluate::Answers;
use crate::gate::model::{AnsweredBy, Outcome, Rules, Run, Severity, Tool};
use crate::gate::{DocumentOptions, Gate, GateOptions, Place, RunOptions, Waivers, find};
use crate::text::escape;
use crate::{Error, ErrorKind, Product};
use attest::Attest;
use outputs::{Format, Look, Output};

/// How long answers are shared among the inputs of a run.
const SHARED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Let policies decide over one or many inputs
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Exit status: 0 passed, 1 violations, 2 no verdict (something is wrong).\n\n\
    Examples:\n  \
    rego-platform gate -d policies -i image.json\n  \
    rego-platform gate -d policies -i 'sboms/*.json' --output json=gate.json\n  \
    rego-platform gate -d policy.yaml --arg severity=high -i scan.sarif.json"
)]
pub(super) struct GateArgs {
    /// Policies: Rego and data, folders, OPA bundles (`.tar.gz`), policy documents (`kind:
    /// Policy`); may be repeated
    #[arg(short, long, value_name = "PATH", required = true)]
    data: Vec<PathBuf>,
    /// An input: file, folder, glob, or `-` for standard input; may be repeated
    #[arg(short, long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// A package, or the name of a policy document, whose verdict counts; may be repeated
    #[arg(short, long, value_name = "PACKAGE")]
    namespace: Vec<String>,
    /// How the report on standard output is written
    #[arg(short, long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// A further report, such as `json=gate.json`; may be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    output: Vec<Output>,
    /// Warnings fail
    #[arg(long)]
    fail_on_warn: bool,
    /// Only what is at least this severe fails; what has no known severity fails too
    #[arg(long, value_name = "SEVERITY", value_enum)]
    fail_on: Option<FailOn>,
    /// Stop at the first input that doesn't pass
    #[arg(long)]
    fail_fast: bool,
    /// An input that every policy skips passes
    #[arg(long)]
    allow_skipped: bool,
    /// Hand an array to policies as `{"elements": [...]}`
    #[arg(long)]
    wrap_arrays: bool,
    /// What `input.args` holds; with commas or line breaks an array; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    arg: Vec<String>,
    /// The inputs are in-toto statements, alone or in DSSE envelopes; signatures aren't checked
    #[arg(long)]
    attestation: bool,
    /// Evaluate all inputs as one: an array of objects with `path` and `contents`
    #[arg(long)]
    combine: bool,
    /// The kind of the inputs, such as `SARIF`: policies for other kinds are left out
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Violations that somebody answers for, until a day (YAML)
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    #[command(flatten)]
    attest: Attest,
    /// Read policies as Rego v0
    #[arg(long, visible_alias = "v0")]
    v0_compatible: bool,
    /// Take a built-in function's error as undefined; failed calls of the service stay errors
    #[arg(long)]
    no_strict_builtin_errors: bool,
    #[command(flatten)]
    functions: FunctionsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl From<FailOn> for Severity {
    fn from(severity: FailOn) -> Self {
        match severity {
            FailOn::Info => Self::Info,
            FailOn::Low => Self::Low,
            FailOn::Medium => Self::Medium,
            FailOn::High => Self::High,
            FailOn::Critical => Self::Critical,
        }
    }
}

pub(super) fn run(args: GateArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    args.attest.check(options)?;
    outputs::check(&args.output, args.attest.file.as_deref())?;
    let mut stdin = Stdin::default();
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let gate = load(&args, &context.product)?;
    let places = places(&args, &mut stdin)?;
    let run_options = run_options(&args, options, &context)?;
    let platform = match &run_options.evaluate.answers {
        Answers::Service(platform) => Some(platform.clone()),
        _ => None,
    };
    let mut observer = progress::Progress::new(reporter, platform, !options.quiet);
    let (run, recording) = gate.run(places, &run_options, &mut observer)?;
    observer.finish();
    if let Some(path) = &options.record {
        recording.save(path)?;
    }
    report(&run, &args, options.verbose > 0)?;
    Ok(match run.outcome {
        Outcome::Passed => Exit::Passed,
        Outcome::Failed => Exit::Violations,
        Outcome::NoVerdict => Exit::NoVerdict,
    })
}

fn report(run: &Run, args: &GateArgs, calls: bool) -> Result<(), Error> {
    let mut summary = outputs::Summary::from_env();
    // Files first: standard output may be a pipe that is closed.
    for output in &args.output {
        let bytes =
            outputs::write(output.format, run, Look { colour: false, calls }, &mut summary)?;
        output::to_file(&output.file, &bytes)?;
    }
    if let Some(path) = &args.attest.file {
        output::to_file(path, args.attest.statement(run)?.as_bytes())?;
    }
    let colour = output::is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    output::to_stdout(&outputs::write(args.format, run, Look { colour, calls }, &mut summary)?)
}

fn load(args: &GateArgs, product: &Product) -> Result<Gate, Error> {
    let paths: Vec<String> =
        args.data.iter().cloned().map(evaluation::utf8).collect::<Result<_, _>>()?;
    let options = GateOptions {
        product: product.clone(),
        enabled: args.functions.set(),
        rego_v0: args.v0_compatible,
        packages: args.namespace.clone(),
        kind: args.kind.clone(),
        arguments: arguments(&args.arg)?,
    };
    Gate::load(&paths, &options)
}

fn arguments(given: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let wrong = |message: String| Error::new(ErrorKind::Configuration, message);
    let mut found = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(wrong(format!("`--arg {}` has no value", escape(text)))
                .with_hint("write `--arg KEY=VALUE`"));
        };
        if found.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(wrong(format!("`--arg {}` is given twice", escape(name)))
                .with_hint("several values are written with commas"));
        }
    }
    Ok(found)
}

fn places(args: &GateArgs, stdin: &mut Stdin) -> Result<Vec<Place>, Error> {
    let mut places = Vec::new();
    for path in &args.input {
        if path.as_os_str() == "-" {
            stdin.take("`--input -`")?;
            let stream = std::io::BufReader::new(std::io::stdin());
            places.push(Place::Stream("<stdin>".to_owned(), Box::new(stream)));
        } else {
            places.extend(find(&evaluation::utf8(path.clone())?)?);
        }
    }
    Ok(places)
}

fn run_options(args: &GateArgs, options: &Options, context: &Context) -> Result<RunOptions, Error> {
    let strict = !args.no_strict_builtin_errors;
    let mut evaluate = evaluation::options(context, options, strict)?;
    let answered_by = match &evaluate.answers {
        Answers::Replay(_) => AnsweredBy::Replay,
        _ if options.local.is_some() => AnsweredBy::Emulator,
        _ => AnsweredBy::Service,
    };
    if let Answers::Service(platform) = &mut evaluate.answers {
        *platform = context.builder(options)?.share_answers(SHARED).build()?;
    }
    let tool = Tool {
        name: "rego-platform".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("REGO_PLATFORM_COMMIT").filter(|c| !c.is_empty()).map(str::to_owned),
    };
    let mut run = RunOptions::new(evaluate, answered_by, tool);
    run.rules = Rules {
        fail_on_warn: args.fail_on_warn,
        fail_on: args.fail_on.map(Into::into),
        allow_skipped: args.allow_skipped,
    };
    run.documents = DocumentOptions {
        wrap_arrays: args.wrap_arrays,
        attestation: args.attestation,
        combine: args.combine,
    };
    if let Some(path) = &args.waivers {
        run.waivers = Waivers::read(path, chrono::Utc::now().date_naive())?;
    }
    run.fail_fast = args.fail_fast;
    run.record = options.record.is_some();
    Ok(run)
}
