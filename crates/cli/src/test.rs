//! `test`: the rules named `test_*` of policies, run as `opa test` does.
//!
//! Owns the options, the source of answers, and the exit status. The library's `testing` defines a
//! test and when it passes; each format of the report has a file here.

mod coverage;
mod human;
mod json;
mod junit;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rego_platform::evaluate::{Answers, EvaluateOptions};
use rego_platform::rego::internal::builtins::GoRegex;
use rego_platform::testing::{Run, Suite, TestOptions};
use rego_platform::{Error, Product};

use super::context::Context;
use super::errors::Errors;
use super::options::{EvaluationArgs, LoadArgs, Options};
use super::output::{self, Reporter};
use super::remote::RemoteArgs;
use super::stdin::Stdin;
use super::{Exit, evaluation, paths, watch, watchdog};

/// The hint of an error about an unmocked function.
const MOCK: &str = "mock it in the test, with a value or a function: `with {function} as {...}`; or add `--local DIR`, `--replay FILE` or `--live`";

/// Run the tests of policies as `opa test` does
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Tests are rules named `test_*`; those named `todo_test_*` are skipped. A test \
    passes when its value is `true`.\n\n\
    Exit status: 0 if all tests passed; 1 if a test failed or was skipped, or the coverage is below \
    the threshold; 2 on any error, and if there are no tests.\n\n\
    Example:\n  rego-platform test policies --run 'data.release_test.' --coverage"
)]
pub(super) struct TestArgs {
    /// Policies, tests and data: files, folders or globs; `.` by default
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Same as PATH, for consistency with `eval` and `gate`
    #[arg(short, long, value_name = "PATH", short_alias = 'p', alias = "policy")]
    data: Vec<PathBuf>,
    /// Bundles, each as an archive or a folder, instead of PATH
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "paths")]
    bundle: Vec<PathBuf>,
    /// Run only tests whose full name, such as `data.release_test.test_a`, matches
    #[arg(short, long, value_name = "REGEX", value_parser = crate::options::text)]
    run: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TestFormat::Human, short_alias = 'o', alias = "output")]
    format: TestFormat,
    /// Report line coverage; with `--format json`, print nothing else
    #[arg(short, long)]
    coverage: bool,
    /// Exit with status 1 below this coverage of all files; implies `--coverage`
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
    /// Run again whenever a file changes
    #[arg(short, long)]
    watch: bool,
    /// The number of tests to run at a time; by default the number of cores
    #[arg(long, value_name = "N", value_parser = crate::options::number::<usize>)]
    parallel: Option<usize>,
    /// Send calls that aren't mocked to the service
    #[arg(long, conflicts_with_all = ["local", "replay"])]
    live: bool,
    /// Don't exit with status 1 because of skipped tests
    #[arg(short = 'z', long)]
    exit_zero_on_skipped: bool,
    /// Accepted as in OPA; always on
    #[arg(long, hide = true)]
    fail_on_empty: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TestFormat {
    Human,
    Json,
    Junit,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse::<f64>().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

pub(super) fn run(args: TestArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let pattern = args.run.as_deref().map(pattern).transpose()?;
    let mut stdin = Stdin::default();
    let paths = paths::or_here(&args.paths, &args.data, &args.bundle);
    evaluation::check_record(options, &args.load, paths.iter().chain(&args.bundle))?;
    let (product, mut evaluate, _emulator) = answers(&args, options, reporter, &mut stdin)?;
    evaluate.coverage = args.coverage || args.threshold.is_some();
    let work = Work { args: &args, paths, options, reporter, product, evaluate, pattern };
    if args.watch {
        let mut watched = paths::expanded(&work.paths)?;
        watched.extend(paths::expanded(&args.bundle)?);
        watch::run(&watched, || work.once())
    } else {
        work.once()
    }
}

fn pattern(text: &str) -> Result<GoRegex, Error> {
    GoRegex::new(text).map_err(|error| {
        let message = format!(
            "`{}` isn't a valid regular expression",
            rego_platform_client::text::escape(text)
        );
        Error::configuration(message).with_source(error.to_string())
    })
}

type AnswerSource = (Product, EvaluateOptions, Option<rego_platform_emulator::Emulator>);

/// Returns the source of answers: none unless an option names one, and then no other setting is
/// read.
fn answers(
    args: &TestArgs,
    options: &Options,
    reporter: Reporter,
    stdin: &mut Stdin,
) -> Result<AnswerSource, Error> {
    let is_strict = args.evaluation.is_strict();
    if !args.live && options.local.is_none() && options.replay.is_none() {
        let answers = Answers::Unavailable(MOCK.to_owned());
        let certificates = || super::context::certificates(options);
        let http = args.evaluation.network.http(options, certificates)?;
        let evaluate = evaluation::answered_by(answers, options, is_strict, http);
        return Ok((options.product()?, evaluate, None));
    }
    let (context, emulator) = Context::resolve(options, reporter, stdin)?;
    let evaluate = evaluation::options(&context, options, is_strict, &args.evaluation.network)?;
    Ok((context.product, evaluate, emulator))
}

/// The arguments of a run.
struct Work<'a> {
    args: &'a TestArgs,
    paths: Vec<PathBuf>,
    options: &'a Options,
    reporter: Reporter,
    product: Product,
    evaluate: EvaluateOptions,
    pattern: Option<GoRegex>,
}

/// The hint for arguments that look like those of a gate.
const GATE_CHECKS_INPUTS: &str = "`rego-platform gate -d POLICIES -i INPUT` checks inputs";

impl Work<'_> {
    /// Loads the tests, runs them and reports.
    fn once(&self) -> Result<Exit, Error> {
        let run = match self.suite().and_then(|suite| suite.run(&self.run_options())) {
            Ok(run) => run,
            Err(error) => {
                self.report_failure(&error)?;
                return Err(error);
            }
        };
        self.report(&run)?;
        self.warn_of_cut(&run);
        let errors = run.results.iter().map(|result| result.builtin_errors).sum();
        evaluation::warn_of_builtin_errors(errors, self.reporter);
        if let Some(path) = &self.options.record {
            output::recording(path, run.recording.as_ref().map_err(Clone::clone)?)?;
        }
        Ok(self.exit(&run))
    }

    /// Warns once of each call whose response was cut, however many tests made it.
    fn warn_of_cut(&self, run: &Run) {
        let mut seen = HashSet::new();
        let cut = run.results.iter().flat_map(|result| &result.cut);
        let new = cut.filter(|call| seen.insert((&call.function, &call.arguments)));
        evaluation::warn_of_cut(new, self.reporter);
    }

    fn suite(&self) -> Result<Suite, Error> {
        watchdog::begin(self.options.timeout)?;
        let mut load = self.args.load.options(self.product.clone(), self.options.timeout)?;
        let network = &self.args.evaluation.network;
        let fetcher =
            self.args.remote.fetcher(network, self.options, false).without(&self.args.load.ignore);
        let read = evaluation::read(
            &self.paths,
            &self.args.bundle,
            &fetcher,
            &self.product,
            self.reporter,
        );
        let sources = read.map_err(|error| {
            if self.names_inputs() { error.with_hint(GATE_CHECKS_INPUTS) } else { error }
        })?;
        super::parse_config::answer(&mut load.host_functions, &sources);
        let suite = Suite::load(sources, load)?;
        // Each test has a deadline of its own.
        watchdog::stop();
        let mut suite =
            suite.map_policies(|policies| self.args.evaluation.engine.policies(policies));
        let all = suite.tests().count();
        if let Some(pattern) = &self.pattern {
            suite.retain(|name| pattern.is_match(name));
        }
        if all == 0 {
            let error = Error::configuration("no tests found: no rule's name begins with `test_`");
            let folder = "name the folder with the tests";
            return Err(error.with_hint(if self.names_inputs() {
                GATE_CHECKS_INPUTS
            } else {
                folder
            }));
        }
        if suite.tests().count() == 0 {
            return Err(Error::configuration(format!("`--run` matches none of {all} tests"))
                .with_hint(
                    "it is a regular expression for names such as `data.release_test.test_a`",
                ));
        }
        Ok(suite)
    }

    /// Returns `true` if the arguments look like those of a gate: `-p`, or a file that is no policy.
    fn names_inputs(&self) -> bool {
        let is_input = |path: &PathBuf| {
            path.is_file() && path.extension().is_none_or(|extension| extension != "rego")
        };
        !self.args.data.is_empty() || self.args.paths.iter().any(is_input)
    }

    fn run_options(&self) -> TestOptions {
        let mut options = TestOptions::new(self.evaluate.clone());
        let parallel = self.args.parallel.and_then(NonZeroUsize::new);
        options.parallel = parallel.unwrap_or(options.parallel);
        options
    }

    fn report(&self, run: &Run) -> Result<(), Error> {
        let text = match (self.args.format, &run.coverage) {
            // With `--quiet`, a run that passes prints nothing.
            (TestFormat::Human, None) if self.options.quiet && self.exit(run) == Exit::Passed => {
                String::new()
            }
            (TestFormat::Human, _) => human::report(run, self.options.verbose > 0),
            (TestFormat::Json, Some(coverage)) => {
                // As in OPA the report is just the coverage; failures go to standard error.
                self.reporter.note(human::failures(run).trim_end());
                json::coverage(coverage)?
            }
            (TestFormat::Json, None) => json::report(run)?,
            (TestFormat::Junit, _) => junit::report(run)?,
        };
        output::to_stdout(text.as_bytes())
    }

    /// Reports that there was no run, in the formats that programs read.
    fn report_failure(&self, error: &Error) -> Result<(), Error> {
        let text = match self.args.format {
            TestFormat::Human => return Ok(()),
            TestFormat::Json => output::json(&Errors::of(error))? + "\n",
            TestFormat::Junit => junit::failure(error)?,
        };
        output::to_stdout(text.as_bytes())
    }

    fn exit(&self, run: &Run) -> Exit {
        let counts = run.counts();
        let skipped = counts.skipped > 0 && !self.args.exit_zero_on_skipped;
        if counts.errors > 0 {
            return Exit::NoVerdict;
        }
        let reached = run.coverage.as_ref().map_or(100.0, |report| report.coverage);
        let short = self.args.threshold.filter(|threshold| reached < *threshold);
        if let Some(threshold) = short {
            output::plain_error(&format!(
                "coverage is {reached:.2} %, below the threshold of {threshold:.2} %"
            ));
        }
        if counts.failed > 0 || skipped || short.is_some() { Exit::Failed } else { Exit::Passed }
    }
}
