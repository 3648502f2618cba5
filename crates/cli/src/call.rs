//! `call`: one function from the shell.
//!
//! Owns how answers are written. `arguments` parses the command-line arguments; `functions` has the
//! table of functions.

mod arguments;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rego_platform::functions::{FUNCTIONS, Function};
use rego_platform::load::LoadOptions;
use rego_platform::sources::{Ignore, Sources};
use rego_platform::{Error, ErrorKind, NotFound, Platform, check};

use super::context::Context;
use super::destinations::{self, Reads};
use super::options::{FunctionsArgs, Options};
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, watchdog};

/// Call one function and print its result
#[derive(Debug, Args)]
#[command(after_help = functions_help())]
pub(super) struct CallArgs {
    /// The function, with or without the product's prefix
    function: String,
    /// Arguments: text, `@FILE` or `-`, or filters as JSON or `key=value`
    #[arg(value_name = "ARG")]
    arguments: Vec<String>,
    /// Output format; `raw` is an artifact's bytes (`download_artifact` only)
    #[arg(short, long, value_enum, default_value_t = CallFormat::Json)]
    format: CallFormat,
    /// Write the result to this file, atomically
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    functions: FunctionsArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CallFormat {
    Json,
    Raw,
}

/// Returns the list of functions for `call --help`.
pub(super) fn functions_help() -> String {
    let mut help = "Functions:\n".to_owned();
    for function in FUNCTIONS {
        let _ = writeln!(help, "  {}\n      {}", function.signature(), function.summary);
        if function.optional {
            let _ =
                writeln!(help, "      off by default; `--functions {}` enables it", function.name);
        }
        for argument in function.arguments {
            let _ = writeln!(help, "      {}: {}; {}", argument.name, argument.ty, argument.doc);
            for field in arguments::fields(argument.ty) {
                let _ = writeln!(help, "        {}: {}; {}", field.name, field.ty, field.doc);
            }
        }
    }
    help.push_str(
        "\nExamples:\n  \
        rego-platform call discover sha256:<digest> CONTAINER_IMAGE\n  \
        rego-platform call evidence project_name=api kind=SARIF kind=JUNIT_XML latest=true\n  \
        rego-platform call evidence '{\"project_name\": \"api\", \"limit\": 10}'\n  \
        rego-platform call evidence_prompt @threat-model.md 'does it name an owner?'\n  \
        rego-platform call download_artifact sha256:<digest> --format raw --output sbom.json",
    );
    help
}

pub(super) fn run(args: CallArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    // `-` is standard output.
    let file = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    if let Some(path) = file {
        let read = Reads {
            given: arguments::files(&args.arguments).collect(),
            others: options.read().collect(),
        };
        destinations::check(&[path], &read, &Ignore::default())?;
    }
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let functions = args.functions.set();
    let function = functions.find(bare(&args.function, context.product.as_str()))?;
    if args.format == CallFormat::Raw && function.name != "download_artifact" {
        let message = format!("`--format raw` doesn't support `{}`", function.name);
        return Err(Error::invalid_argument(message)
            .with_hint("leave it out: only `download_artifact` supports it"));
    }
    let values = arguments::parse(function, &context.product, &args.arguments, &mut stdin)
        .map_err(|error| error.in_call(context.product.function(function.name)))?;
    let platform = context.builder(options)?.functions(functions).build()?;
    warn_of_misspelt_values(&platform, function, &values, reporter);
    let answer = {
        watchdog::begin(options.timeout)?;
        ask(&platform, function, &values, args.format, reporter)
    };
    let answer = match answer {
        Err(error)
            if error.kind() == ErrorKind::NotFound && options.not_found == NotFound::Undefined =>
        {
            reporter.note("undefined: not found by the service");
            return Ok(Exit::Passed);
        }
        other => other?,
    };
    match file {
        Some(path) => output::to_file(path, &answer)?,
        None => output::to_stdout(&answer)?,
    }
    Ok(Exit::Passed)
}

/// Returns the bytes to print.
fn ask(
    platform: &Platform,
    function: &Function,
    values: &[rego_platform::rego::Value],
    format: CallFormat,
    reporter: Reporter,
) -> Result<Vec<u8>, Error> {
    if let (CallFormat::Raw, [rego_platform::rego::Value::String(digest)]) = (format, values) {
        return platform.download(digest);
    }
    let product = platform.product();
    let name = product.function(function.name).into();
    let answer = function
        .request(product, values)
        .and_then(|request| platform.send(&name, request, platform.call_deadline()))
        .map_err(|error| error.in_call(name))?;
    if answer.cut {
        reporter.warning("the service had more results than the `limit`");
    }
    let mut text = output::json(&answer.value)?;
    text.push('\n');
    Ok(text.into_bytes())
}

/// The length of a call, as Rego, up to which its arguments are checked for misspelt values.
const MAX_CHECKED: usize = 16 << 10;

/// Warns about kinds and statuses that are nearly a known one, as `check` does for a policy with this
/// call: the service would find nothing.
fn warn_of_misspelt_values(
    platform: &Platform,
    function: &Function,
    values: &[rego_platform::rego::Value],
    reporter: Reporter,
) {
    let arguments: Vec<String> = values.iter().map(ToString::to_string).collect();
    let name = platform.product().function(function.name);
    let text = format!("package call\n\nanswer := {name}({})\n", arguments.join(", "));
    // No kind or status is this long: the argument is content.
    if text.len() > MAX_CHECKED {
        return;
    }
    let sources = Sources::text("call.rego", text);
    for finding in check::check(&sources, LoadOptions::of_platform(platform)) {
        if finding.code == "unknown-value" {
            let hint = finding.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            reporter.warning(&format!("{}{hint}", finding.message));
        }
    }
}

/// Strips the product's prefix from a function's name.
fn bare<'a>(name: &'a str, product: &str) -> &'a str {
    name.strip_prefix(product).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
}
