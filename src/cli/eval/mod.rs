//! `eval`: a query over policies, data and an input, answered as `opa eval` does.
//!
//! Owns the options and the exit status. How policies are evaluated belongs to the library, the
//! reading of the input to `input`.

mod format;
mod input;
mod unknown;

use std::path::PathBuf;

use clap::Args;

use super::args::{FunctionsArgs, NetworkArgs, Options};
use super::context::Context;
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, evaluation, watchdog};
use crate::evaluate::load::LoadOptions;
use crate::text::{escape_for_log, escape_lines};
use crate::{Error, evaluate};
use format::Format;

/// Evaluate a query over policies, data and an input
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Exit status: 0 when there is an answer, undefined included; 1 when `--fail` \
    or `--fail-defined` says so; 2 on an error.\n\n\
    Example:\n  rego-platform eval -d policies -i input.json 'data.release.violations'"
)]
pub(super) struct EvalArgs {
    /// The query
    query: String,
    /// Policies (`.rego`) and data (`.json`, `.yaml`), files or folders; may be repeated
    #[arg(short, long, value_name = "PATH")]
    data: Vec<PathBuf>,
    /// The input, JSON or YAML; `-` for standard input
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// How the answer is written; `raw` leaves strings unquoted
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// End with status 1 when the answer is undefined or empty; `false` is an answer
    #[arg(long, conflicts_with = "fail_defined")]
    fail: bool,
    /// End with status 1 when there is an answer
    #[arg(long)]
    fail_defined: bool,
    /// Read policies as Rego v0
    #[arg(long, visible_alias = "v0")]
    v0_compatible: bool,
    /// Take a built-in function's error as undefined; failed calls of the service stay errors
    #[arg(long)]
    no_strict_builtin_errors: bool,
    #[command(flatten)]
    functions: FunctionsArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(super) fn run(args: EvalArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let input = args.input.as_deref().map(|path| input::read(path, &mut stdin)).transpose()?;
    let evaluated = {
        let _watchdog = watchdog::start(options.timeout)?;
        let load = LoadOptions {
            product: context.product.clone(),
            enabled: args.functions.set(),
            rego_v0: args.v0_compatible,
            ..LoadOptions::default()
        };
        let policies = evaluation::load(&args.data, load)?;
        let query = policies.query(&args.query)?;
        if let Some(warning) = unknown::warning(&policies, &args.query) {
            reporter.warning(&warning);
        }
        let strict = !args.no_strict_builtin_errors;
        let how = evaluation::options(&context, options, &args.network, strict)?;
        policies.evaluate(&query, input.as_ref(), &how)
    };
    evaluation::report(&evaluated, options, reporter)?;
    let answer = evaluation::answer(evaluated)?;
    let mut text = evaluate::write(&answer, args.format.into())?;
    if args.format == Format::Raw {
        // Strings of policies and the service, as they are: on their own lines, and no commands.
        text = escape_for_log(&text);
    } else if output::is_terminal() {
        text = escape_lines(&text);
    }
    output::to_stdout(text.as_bytes())?;
    let defined = !answer.is_undefined();
    Ok(if args.fail && !defined || args.fail_defined && defined {
        Exit::Violations
    } else {
        Exit::Passed
    })
}
