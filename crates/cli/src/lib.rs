//! The command `rego-platform`: options in, library call, report out. The binary and the Python package run it.
//!
//! Owns the last resort against panics, and the choice of the subcommand. Each
//! subcommand has a file of its own; `context` owns the settings and their origins, `output` the
//! printing.

#![forbid(unsafe_code)]

mod api;
mod args;
mod attest;
mod auth;
mod cache;
mod call;
mod capabilities;
mod check;
mod collections;
mod completions;
mod context;
mod destinations;
mod emulate;
mod errors;
mod eval;
mod evaluation;
mod explain;
mod fmt;
mod gate;
mod hint;
mod interrupt;
mod keys;
mod local;
mod logging;
mod lsp;
mod man;
mod new;
mod option_files;
mod options;
mod output;
mod parse_config;
mod paths;
mod policies;
mod remote;
mod report;
mod report_files;
mod run;
mod serve;
mod service_options;
mod settings;
mod shipped;
mod signals;
mod stdin;
mod test;
mod unfinished;
mod values;
mod waivers;
mod watch;
mod watchdog;

#[cfg(test)]
#[allow(dead_code)]
#[path = "../../gate/src/report/formats/fixture.rs"]
mod fixture;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};

use rego_platform::Error;
use rego_platform_gate::model::Exit;

use args::{AuthCommand, Cli, Command};
use output::Reporter;

// The names under which the gate's fixture knows them.
#[cfg(test)]
use rego_platform_gate::{model, reports};

/// The stack of the thread that runs the command, whatever the system's limit is for the first thread.
const STACK: usize = 8 << 20;

/// The variable with the stack of the other threads, in bytes, and the least that it may be.
const THREAD_STACK: &str = "RUST_MIN_STACK";
const LEAST_STACK: usize = 1 << 20;

/// Runs the command with the process's arguments, the program's name first. Returns the exit status.
pub fn main(arguments: Vec<OsString>) -> u8 {
    let main = move || guarded(|| stack_suffices().map_or_else(|| run(arguments), exit_of));
    let started = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK).spawn(main);
    let exit = match started {
        Ok(thread) => thread.join().unwrap_or(Exit::NoVerdict),
        Err(error) => {
            output::plain_error(&format!("a thread can't be started: {error}"));
            Exit::NoVerdict
        }
    };
    exit.code()
}

/// Returns an error if the stack of threads would be too small: it would overflow, which ends the process.
fn stack_suffices() -> Option<Result<Exit, Error>> {
    let bytes: usize = std::env::var(THREAD_STACK).ok()?.parse().ok()?;
    (bytes < LEAST_STACK).then(|| {
        let message = format!("`{THREAD_STACK}` is too small: {bytes} bytes");
        Err(Error::configuration(message)
            .with_hint(format!("unset it, or set it to {LEAST_STACK} at least")))
    })
}

fn run(arguments: Vec<OsString>) -> Exit {
    // What scripts ask at each start needs no options.
    if let [_, only] = arguments.as_slice()
        && (only == "--version" || only == "-V")
    {
        return exit_of(printed(&format!("rego-platform {}\n", args::version())));
    }
    let cli = match args::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe isn't a failure of `--help`.
            let _ = error.print();
            return if error.exit_code() == 0 { Exit::Passed } else { Exit::NoVerdict };
        }
    };
    // Some subcommands use the first `-v` for a report of their own, which logs would bury.
    let own = matches!(cli.command, Command::Eval(_) | Command::Gate(_) | Command::Test(_));
    logging::start(cli.options.verbose.saturating_sub(u8::from(own)));
    let reporter = Reporter::new(cli.options.quiet);
    // Whatever a subcommand reads first may be a pipe.
    exit_of(watchdog::begin(cli.options.timeout).and_then(|()| dispatch(cli, reporter)))
}

/// Returns the exit status of a subcommand, and prints its error.
fn exit_of(result: Result<Exit, Error>) -> Exit {
    result.unwrap_or_else(|error| {
        output::error(&error);
        Exit::NoVerdict
    })
}

/// Prints a text that is the whole answer.
fn printed(text: &str) -> Result<Exit, Error> {
    output::to_stdout(text.as_bytes()).map(|()| Exit::Passed)
}

fn dispatch(cli: Cli, reporter: Reporter) -> Result<Exit, Error> {
    let options = cli.options;
    match cli.command {
        Command::Eval(args) => eval::run(args, &options, reporter),
        Command::Test(args) => test::run(args, &options, reporter),
        Command::New(args) => new::run(&args, &options),
        Command::Check(args) => check::run(args, &options, reporter),
        Command::Run(args) => run::run(args, &options, reporter),
        Command::Fmt(args) => fmt::run(args, reporter),
        Command::Capabilities(args) => capabilities::run(args, &options),
        Command::Gate(args) => gate::run(*args, &options, reporter),
        Command::Policies(args) => policies::run(&args),
        Command::Pull(args) => remote::pull::run(&args, &options),
        Command::Push(args) => remote::push::run(&args, &options, reporter),
        Command::Vendor(args) => remote::vendor::run(&args, &options),
        Command::Diff(args) => gate::diff::run(*args, &options, reporter),
        Command::Serve(args) => serve::run(*args, &options, reporter),
        Command::Lsp(args) => lsp::run(args, &options),
        Command::Attest(args) => attest::run(&args, &options),
        Command::Report(command) => report::run(&command, &options, reporter),
        Command::Config(command) => settings::run(&command, args::command, reporter),
        Command::Waivers(command) => waivers::run(&command, &options),
        Command::Call(args) => call::run(args, &options, reporter),
        Command::Api(command) => api::run(command, &options, reporter),
        Command::Auth(AuthCommand::Status(args)) => auth::run(args, &options, reporter),
        Command::Emulate(args) => emulate::run(args, &options, reporter),
        Command::Cache(command) => cache::run(&command, &options),
        Command::Completions(args) => completions::run(&args, args::command()),
        Command::Man(args) => man::run(&args, args::command()),
        Command::Version => {
            printed(&format!("rego-platform {}\nRego as in OPA 1.22.4\n", args::version()))
        }
    }
}

/// Turns a panic into status 2 and one line without the panic's message, which may contain
/// anything.
fn guarded(main: impl FnOnce() -> Exit) -> Exit {
    // Panics of the interpreter are caught and reported where policies are evaluated: the hook only
    // logs the position, and only for `--verbose`.
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("{}:{}", library_path(l.file()), l.line()));
        let place = place.unwrap_or_default();
        tracing::debug!(%place, "panic");
        LAST_PANIC.set(Some(place));
    }));
    panic::catch_unwind(AssertUnwindSafe(main)).unwrap_or_else(|_| {
        let place = LAST_PANIC.take().unwrap_or_default();
        output::bug(&place);
        Exit::NoVerdict
    })
}

/// Strips a source file's path down to its package: the rest is from the machine that built it.
fn library_path(file: &str) -> &str {
    let rest = file.split_once("/registry/src/").map_or(file, |(_, rest)| rest);
    if rest.len() == file.len() { file } else { rest.split_once('/').map_or(rest, |(_, f)| f) }
}

thread_local! {
    static LAST_PANIC: std::cell::Cell<Option<String>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic)]
    fn a_panic_is_not_a_verdict() {
        assert_eq!(guarded(|| panic!("canary")), Exit::NoVerdict);
        assert_eq!(guarded(|| Exit::Failed), Exit::Failed);
        let _ = panic::take_hook();
    }

    #[test]
    fn paths_start_at_the_package() {
        assert_eq!(library_path("crates/cli/src/main.rs"), "crates/cli/src/main.rs");
        let path = "/home/x/.cargo/registry/src/index.example-1/regorus-0.14.1/src/a.rs";
        assert_eq!(library_path(path), "regorus-0.14.1/src/a.rs");
    }

    #[test]
    fn the_arguments_are_consistent() {
        args::command().debug_assert();
    }
}
