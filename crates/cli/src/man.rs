//! `man`: the manual pages, generated from the same declarations as the help.

use std::path::PathBuf;

use clap::Args;
use rego_platform::Error;

use super::{Exit, output, service_options};

/// Print the manual page, or write one for each subcommand into a folder
#[derive(Debug, Args)]
#[command(after_help = "Example: rego-platform man ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// The folder to write the pages into, `rego-platform.1` and so on
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Writes the manual of `command`.
pub(super) fn run(args: &ManArgs, command: clap::Command) -> Result<Exit, Error> {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(service_options::shown(command))
            .render(&mut page)
            .map_err(|error| unwritten(&error))?;
        output::to_stdout(&page)?;
        return Ok(Exit::Passed);
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritten(&error))?;
    clap_mangen::generate_to(service_options::shown(without_help(command)), folder)
        .map_err(|error| unwritten(&error))?;
    Ok(Exit::Passed)
}

/// Removes the subcommands `help`, whose pages would repeat the other ones.
fn without_help(command: clap::Command) -> clap::Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

fn unwritten(error: &std::io::Error) -> Error {
    Error::configuration(format!("can't write the manual: {error}"))
        .with_hint("name a folder that can be written")
}
