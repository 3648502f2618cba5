//! `rego-platform.toml`: a gate's options in a repository.
//!
//! Owns which file is used, and how its options join those of the command line, which replace them. What a
//! key may be is read from the command line's own options (`keys`); `file` reads the text.

mod file;
mod keys;
mod schema;
mod show;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Subcommand};
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;
use rego_platform_gate::model::Source;

use super::output::Reporter;
use super::{Exit, option_files, output};
use file::{FileOption, Trust};

/// The file's name, wherever it lies.
pub(super) const NAME: &str = "rego-platform.toml";

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    Show(show::ShowArgs),
    /// Print the JSON schema of `rego-platform.toml`, for editors
    Schema,
}

/// Returns the command line, without a value of any option.
type NewCommand = fn() -> Command;

pub(super) fn run(
    config: &ConfigCommand,
    command: NewCommand,
    reporter: Reporter,
) -> Result<Exit, Error> {
    let text = match config {
        ConfigCommand::Show(_) => {
            let arguments: Vec<OsString> = std::env::args_os().collect();
            show::text(&arguments, command, reporter)?
        }
        ConfigCommand::Schema => output::json(&schema::schema())? + "\n",
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// A command line with the options of a file.
pub(super) struct Completed {
    pub arguments: Vec<OsString>,
    pub used: Source,
    /// The entries that were taken.
    entries: Vec<FileOption>,
}

/// Adds the options of the file to a command line of `gate`, if there is one.
///
/// # Errors
/// For a file that can't be read, with the line, and for one that loosens the gate without being trusted.
pub(super) fn complete(
    arguments: &[OsString],
    gate: &ArgMatches,
    command: NewCommand,
) -> Result<Option<Completed>, Error> {
    let is_given = |id: &str| gate.value_source(id) == Some(ValueSource::CommandLine);
    let named = gate.get_one::<PathBuf>("settings");
    let profile = gate.get_one::<String>("profile").map(String::as_str);
    let has_policies = is_given("data") || is_given("bundle");
    let found = if named.is_some() || has_policies { None } else { find() };
    let Some(path) = named.or(found.as_ref()) else {
        return match profile {
            None => Ok(None),
            Some(profile) => Err(wrong(format!("`--profile {}` needs a file", escape(profile)))
                .with_hint(format!(
                    "name it with `--settings FILE`; without `-d`, `{NAME}` is found"
                ))),
        };
    };
    let is_trusted = named.is_some() || gate.get_flag("trust_settings");
    let trust = if is_trusted { Trust::Full } else { Trust::None };
    let file = file::read(path, profile, trust)?;
    let mut added = Vec::new();
    let mut entries = file.entries;
    entries
        .retain(|entry| !is_given(&entry.id) && !entry.replaced_by().iter().any(|id| is_given(id)));
    for entry in &entries {
        added.extend(entry.arguments().map(OsString::from));
    }
    let at = place(arguments, command).ok_or_else(|| wrong("the subcommand isn't found"))?;
    let (before, after) = arguments.split_at_checked(at).unwrap_or((arguments, &[]));
    let arguments = [before, &added, after].concat();
    Ok(Some(Completed { arguments, used: file.source, entries }))
}

/// Returns the place behind the subcommand, where its options may stand.
fn place(arguments: &[OsString], command: NewCommand) -> Option<usize> {
    (1..=arguments.len()).find(|end| {
        let begun = arguments.get(..*end).unwrap_or_default();
        begun.last().is_some_and(|last| last == "gate")
            && command()
                .try_get_matches_from(begun)
                .is_ok_and(|matches| matches.subcommand_name() == Some("gate"))
    })
}

/// Finds the file in the current folder or one above it, up to the one with `.git`; without such a folder, in
/// the current one alone.
fn find() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let root = here.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let ups = (0..=root).map(|up| PathBuf::from("../".repeat(up)).join(NAME));
    ups.into_iter().find(|path| path.is_file())
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// Returns what errors call a line of the file.
fn line_of(path: &Path, line: usize) -> String {
    format!("`{}:{line}`", escape(&path.display().to_string()))
}

/// Describes the file for reports.
fn source(path: &Path, bytes: &[u8]) -> Source {
    option_files::source(path, bytes)
}
