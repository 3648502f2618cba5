//! `eval`: a query over policies, data and an input, answered as `opa eval` does.
//!
//! Owns the options and the exit status. Evaluating is `engine`'s, the forms of the answer are
//! `format`'s.

mod engine;
mod format;
mod input;

use std::path::PathBuf;

use clap::Args;

use super::args::Options;
use super::context::Context;
use super::output::{self, Reporter};
use super::stdin::Stdin;
use super::{Exit, watchdog};
use crate::Error;
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
}

pub(super) fn run(args: EvalArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    let input = args.input.as_deref().map(|path| input::read(path, &mut stdin)).transpose()?;
    let platform = context.platform(options)?;
    let evaluated = {
        let _watchdog = watchdog::start(options.timeout)?;
        engine::evaluate(engine::Job {
            paths: &args.data,
            query: &args.query,
            input,
            v0: args.v0_compatible,
            strict: !args.no_strict_builtin_errors,
            timeout: options.timeout,
            platform: &platform,
        })?
    };
    for print in &evaluated.prints {
        output::print(&print.place, &print.message);
    }
    let answer = evaluated.result?;
    output::to_stdout(format::render(&answer, args.format)?.as_bytes())?;
    let defined = !answer.is_empty();
    Ok(if args.fail && !defined || args.fail_defined && defined {
        Exit::Violations
    } else {
        Exit::Passed
    })
}
