//! Shared code of the commands that evaluate policies.
//!
//! Owns the way from the command's options to an evaluation's, recordings on disk, and the output
//! of `--verbose` and of `print` statements. Each subcommand owns what it evaluates and how it uses
//! the answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rego_platform::evaluate::{
    Answers, CallRecord, EvaluateOptions, Evaluated, QueryOutput, Recording, Replay,
};
use rego_platform::http::Http;
use rego_platform::load::LoadOptions;
use rego_platform::rego::internal::compile::QueryContext;
use rego_platform::rego::syntax::tree::FileId;
use rego_platform::rego::syntax::{ParseOptions, parse_module};
use rego_platform::sources::{Ignore, Sources};
use rego_platform::{Diagnostic, Error, Position, Product};
use rego_platform_client::text::{escape, escape_path};

use super::context::Context;
use super::destinations::{self, Reads};
use super::option_files;
use super::options::{LoadArgs, NetworkArgs, Options};
use super::output::{self, Reporter};
use super::remote::Fetcher;

/// Reads policies and data, and bundles, whose signatures aren't verified. The modules of policy documents are Rego
/// like others.
pub(super) fn read(
    paths: &[PathBuf],
    bundles: &[PathBuf],
    fetcher: &Fetcher,
    product: &Product,
    reporter: Reporter,
) -> Result<Sources, Error> {
    let given = fetcher.given(paths, bundles)?;
    let options = given.options();
    let gathered = Sources::gather(&given.paths, options)?;
    reporter.note_unmatched(&given.ignore);
    if gathered.policy_documents.is_empty() {
        return gathered.sources();
    }
    rego_platform_gate::with_modules(gathered, options.fetched, product)
}

/// Returns the package and imports of a query, as the beginning of a module declares them; `None` if
/// it isn't valid.
pub(super) fn query_context(text: &str, load: &LoadOptions) -> Option<QueryContext> {
    let module = parse_module(FileId(0), text, &ParseOptions::version(load.version())).ok()?;
    let is_head = module.rules.is_empty();
    let (package, imports) = (Some(module.package), module.imports);
    is_head.then_some(QueryContext { package, imports, ..QueryContext::default() })
}

/// Returns the settings of an evaluation, from the command's options.
pub(super) fn options(
    context: &Context,
    options: &Options,
    is_strict: bool,
    network: &NetworkArgs,
) -> Result<EvaluateOptions, Error> {
    let answers = match &options.replay {
        Some(path) => replayed(path, &recording(path, options)?)?,
        None => Answers::Service(context.platform(options)?),
    };
    let http = network.http(options, || context.certificates())?;
    Ok(answered_by(answers, options, is_strict, http))
}

/// Reads a recording's text.
pub(super) fn recording(path: &Path, options: &Options) -> Result<Vec<u8>, Error> {
    option_files::read("the recording", path, option_files::MAX_RECORDING, options.timeout)
}

/// Returns the answers of a recording.
pub(super) fn replayed(path: &Path, text: &[u8]) -> Result<Answers, Error> {
    let recording = Recording::parse(text, path)?;
    if let Some(other) = recording.functions().find(|name| !is_function(name)) {
        let (shown, other) = (escape_path(path), escape(other));
        let message = format!("unknown function in the recording `{shown}`: `{other}`");
        let known = rego_platform::functions::FUNCTIONS.iter().map(|function| function.name);
        let short = other.rsplit('.').next().unwrap_or_default();
        let error = Error::configuration(message);
        return Err(match rego_platform_client::text::nearest(short, known) {
            Some(near) => error.with_hint(format!("did you mean `{near}`? record it again")),
            None => error.with_hint("record it again"),
        });
    }
    Ok(Answers::Replay(Arc::new(Replay::new(recording))))
}

/// Returns `true` for the name of a built-in function, or of one of any product.
fn is_function(name: &str) -> bool {
    rego_platform::rego::internal::builtins::lookup(name).is_some()
        || name
            .split_once('.')
            .is_some_and(|(_, short)| rego_platform::functions::function(short).is_some())
}

/// Returns the settings of an evaluation with these `answers`, whose own requests `http` sends.
pub(super) fn answered_by(
    answers: Answers,
    options: &Options,
    is_strict: bool,
    http: Option<Http>,
) -> EvaluateOptions {
    let mut evaluate = EvaluateOptions::new(answers);
    evaluate.not_found = options.not_found;
    evaluate.strict_builtin_errors = is_strict;
    evaluate.budget.timeout = options.timeout;
    evaluate.budget.calls = usize::try_from(options.max_calls).unwrap_or(usize::MAX);
    evaluate.budget.bytes = options.max_bytes;
    evaluate.budget.passes = options.max_passes;
    evaluate.budget.eager_prompts = options.eager_prompts;
    evaluate.http = http;
    evaluate
}

/// Refuses a recording in the place of something else, before anything is evaluated.
pub(super) fn check_record<'a>(
    options: &'a Options,
    load: &'a LoadArgs,
    read: impl Iterator<Item = &'a PathBuf>,
) -> Result<(), Error> {
    let Some(path) = options.record.as_deref() else { return Ok(()) };
    let read = Reads {
        given: read.map(PathBuf::as_path).collect(),
        others: options.read().chain(load.read()).collect(),
    };
    destinations::check(&[path], &read, &Ignore::default())
}

/// Warns of built-in functions' errors that were treated as undefined.
pub(super) fn warn_of_builtin_errors(count: u64, reporter: Reporter) {
    let what = match count {
        0 => return,
        1 => "1 error of a built-in function was".to_owned(),
        count => format!("{count} errors of built-in functions were"),
    };
    reporter
        .warning(&format!("{what} undefined, as in OPA; `--strict-builtin-errors` stops on them"));
}

/// Prints and saves the outputs of an evaluation other than its result.
pub(super) fn report(
    evaluated: &Evaluated,
    options: &Options,
    reporter: Reporter,
) -> Result<(), Error> {
    for print in &evaluated.prints {
        output::print(&format!("{}:{}", print.file, print.line), &print.message);
    }
    warn_of_builtin_errors(evaluated.builtin_errors(), reporter);
    warn_of_cut(evaluated.ledger.cut(), reporter);
    for call in evaluated.ledger.skipped() {
        reporter.warning(&format!(
            "{}({}): the analysis was skipped, so an empty `violations` isn't a pass",
            call.function, call.arguments
        ));
    }
    if options.verbose > 0 {
        reporter.note(&evaluated.ledger.table());
    }
    match &options.record {
        Some(path) => output::recording(path, &evaluated.recording()?),
        None => Ok(()),
    }
}

/// Warns of lists that are shorter than the service's.
pub(super) fn warn_of_cut<'a>(cut: impl Iterator<Item = &'a CallRecord>, reporter: Reporter) {
    for call in cut {
        reporter.warning(&format!(
            "{}({}): the service had more results than the `limit` of the policy",
            call.function, call.arguments
        ));
    }
}

/// Returns the answer, or the error with its position in the policy.
pub(super) fn answer(evaluated: Evaluated) -> Result<QueryOutput, Error> {
    with_position(evaluated.result, evaluated.failed_at)
}

/// Adds the position to a result's error.
pub(super) fn with_position(
    result: Result<QueryOutput, Error>,
    position: Option<Position>,
) -> Result<QueryOutput, Error> {
    result.map_err(|error| match position {
        Some(position) if error.diagnostics().is_empty() => {
            let mut diagnostic = Diagnostic::error(error.kind().code(), error.report());
            if let Some(hint) = crate::hint::hint(&error) {
                diagnostic = diagnostic.with_hint(hint);
            }
            Error::policy(vec![diagnostic.at(position)])
        }
        _ => error,
    })
}
