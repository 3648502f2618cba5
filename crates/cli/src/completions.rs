//! `completions`: the script with which a shell completes the command line.

use clap::Args;
use clap_complete::Shell;
use rego_platform::Error;

use super::{Exit, output};

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Example: rego-platform completions bash > \
    ~/.local/share/bash-completion/completions/rego-platform")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script for `command`.
pub(super) fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "rego-platform", &mut text);
    output::to_stdout(&text)?;
    Ok(Exit::Passed)
}
