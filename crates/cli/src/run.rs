//! `run`: an interactive prompt for rules and queries, a line at a time.
//!
//! Owns the options, the editor and the loop. `session` interprets the lines, `completion`
//! completes names. If standard input isn't a terminal, its lines are read without an editor and
//! without prompts, and a line that fails makes the status 2.

mod completion;
mod interrupt;
mod session;
mod statement;

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use etcetera::BaseStrategy as _;
use rego_platform::Error;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use super::context::Context;
use super::options::{EvaluationArgs, LoadArgs, Options};
use super::output::{self, Reporter};
use super::remote::RemoteArgs;
use super::stdin::Stdin;
use super::{Exit, evaluation, watchdog};
use completion::Completions;
use interrupt::Interrupt;
use session::{LineResult, Session};

/// The number of lines in the history.
const HISTORY: usize = 1_000;

/// Try rules and queries interactively
#[derive(Debug, Args)]
#[command(
    after_help = "A line is a query, a rule, `import` or `package`; `:help` lists the commands. \
        From a pipe, lines are read without prompts.\n\n\
        Exit status: 0 on success; 2 if a file can't be loaded or, with lines from a pipe, one fails.\n\n\
    Example:\n  rego-platform run --local service policies -i input.json"
)]
pub(super) struct RunArgs {
    /// Policies (`.rego`) and data (`.json`, `.yaml`): files, folders or globs
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Same as PATH, for consistency with `eval` and `gate`
    #[arg(short, long, value_name = "PATH", short_alias = 'p', alias = "policy")]
    data: Vec<PathBuf>,
    /// Bundles, each as an archive or a folder, instead of PATH
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "paths")]
    bundle: Vec<PathBuf>,
    /// The input, JSON or YAML
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
}

pub(super) fn run(args: RunArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let read = args.paths.iter().chain(&args.data).chain(&args.bundle).chain(&args.input);
    evaluation::check_record(options, &args.load, read)?;
    let (context, _emulator) = Context::resolve(options, reporter, &mut stdin)?;
    stdin.take("what is typed")?;
    let load = args.load.options(context.product.clone(), options.timeout)?;
    let paths: Vec<PathBuf> = args.paths.iter().chain(&args.data).cloned().collect();
    let (is_strict, network) = (args.evaluation.is_strict(), &args.evaluation.network);
    let how = evaluation::options(&context, options, is_strict, network)?;
    let fetcher =
        args.remote.fetcher(&args.evaluation.network, options, false).without(&args.load.ignore);
    let mut session = Session::load((paths, args.bundle, fetcher), load, how, reporter)?;
    if let Some(path) = &options.record {
        session.record_to(path);
    }
    if let Some(path) = &args.input {
        session.read_input(path)?;
    }
    watchdog::stop();
    if std::io::stdin().is_terminal() {
        edited(&mut session, context.product.as_str())
    } else {
        piped(&mut session)
    }
}

/// Reads lines from a pipe or a file.
fn piped(session: &mut Session) -> Result<Exit, Error> {
    let mut wrong = false;
    let mut pending = String::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| {
            Error::configuration("standard input can't be read").with_source(error)
        })?;
        pending.push_str(&line);
        match session.take(&pending, false) {
            LineResult::More => pending.push('\n'),
            LineResult::End => return Ok(exit(wrong)),
            LineResult::Done => pending.clear(),
            LineResult::Failed(error) => {
                output::error(&error);
                wrong = true;
                pending.clear();
            }
        }
    }
    if let LineResult::Failed(error) = session.take(&pending, true) {
        output::error(&error);
        wrong = true;
    }
    Ok(exit(wrong))
}

fn exit(wrong: bool) -> Exit {
    if wrong { Exit::NoVerdict } else { Exit::Passed }
}

/// Reads lines from a person, with a history and completion.
fn edited(session: &mut Session, product: &str) -> Result<Exit, Error> {
    let broken = |error: ReadlineError| {
        Error::configuration("the terminal can't be used").with_source(error)
    };
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY)
        .map_err(broken)?
        .build();
    let mut editor: Editor<Completions, FileHistory> =
        Editor::with_config(config).map_err(broken)?;
    let history = history(product);
    if let Some(path) = &history {
        // If there is no history yet, or it can't be read, the session starts without one.
        let _ = editor.load_history(path);
    }
    let interrupt = Interrupt::listen()?;
    output::plain_note("`:help` lists the commands, `:quit` ends");
    let mut pending = String::new();
    loop {
        editor.set_helper(Some(Completions::new(session)));
        let line = match editor.readline(if pending.is_empty() { "> " } else { "| " }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                pending.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        };
        // An empty line ends an unfinished statement.
        let last = !pending.is_empty() && line.trim().is_empty();
        pending.push_str(&line);
        let turn = interrupt.during(|cancellation| {
            session.cancelled_by(cancellation);
            session.take(&pending, last)
        });
        match turn {
            LineResult::More => {
                pending.push('\n');
                continue;
            }
            LineResult::End => break,
            LineResult::Done => {}
            LineResult::Failed(error) => output::error(&error),
        }
        if !pending.trim().is_empty() {
            let _ = editor.add_history_entry(pending.trim());
        }
        pending.clear();
    }
    if let Some(path) = &history {
        let folder = path.parent().map(std::fs::create_dir_all);
        if let Some(Err(error)) = folder.map(|made| made.and(Ok(editor.save_history(path)))) {
            tracing::debug!(%error, "the history isn't saved");
        }
    }
    Ok(Exit::Passed)
}

/// Returns the path of the history.
fn history(product: &str) -> Option<PathBuf> {
    let base = etcetera::base_strategy::Xdg::new().ok()?;
    Some(base.state_dir()?.join(product).join("history"))
}
