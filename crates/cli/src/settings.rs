//! `rego-platform.toml`: a gate's options in a repository.
//!
//! Owns which file is used, and how its options join those of the command line, which replace them. What a
//! key may be is read from the command line's own options (`keys`); `file` reads the text.

mod file;
mod keys;
mod links;
mod schema;
mod show;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Subcommand};
use rego_platform::Error;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_gate::model::Source;

use super::gate::Settings;
use super::options::MAX_DURATION;
use super::output::Reporter;
use super::{Exit, option_files, output};
use file::{FileOption, Trust};

/// The file's name, in any folder.
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
struct Completed {
    arguments: Vec<OsString>,
    used: Source,
    /// The entries that were taken.
    entries: Vec<FileOption>,
    is_trusted: bool,
}

/// Returns `true` if a gate reads a settings file.
pub(super) fn are_read(matches: &ArgMatches) -> bool {
    let gate = matches.subcommand().filter(|(name, _)| *name == "gate");
    gate.is_some_and(|(_, gate)| {
        gate.subcommand_name().is_none() && SettingsFile::of(gate).is_some()
    })
}

/// Puts the options of the file into the command line of a gate, if there is a file.
pub(super) fn used(
    arguments: &[OsString],
    matches: &mut ArgMatches,
    command: NewCommand,
) -> Settings {
    let Some(("gate", gate)) = matches.subcommand() else { return Settings::default() };
    if gate.subcommand_name().is_some() {
        return Settings::default();
    }
    let completed = complete(arguments, gate, command).and_then(|completed| {
        let Some(Completed { arguments, used, entries, is_trusted }) = completed else {
            return Ok(None);
        };
        let parsed = command().try_get_matches_from(arguments).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let path = escape(&used.path);
            Error::configuration(format!(
                "`{path}`: {}",
                first.strip_prefix("error: ").unwrap_or(first)
            ))
        })?;
        let untrusted = entries.into_iter().filter(|_| !is_trusted).map(|entry| entry.id).collect();
        Ok(Some((parsed, Settings { used: Some(used), untrusted, ..Settings::default() })))
    });
    match completed {
        Ok(None) => Settings::default(),
        Ok(Some((parsed, settings))) => {
            *matches = parsed;
            settings
        }
        Err(error) => {
            let outputs =
                SettingsFile::of(gate).map(|place| place.outputs(gate)).unwrap_or_default();
            Settings { failed: Some(error), outputs, ..Settings::default() }
        }
    }
}

/// The path of a gate's settings file, and whether it is trusted.
struct SettingsFile {
    path: PathBuf,
    trust: Trust,
    timeout: Duration,
}

impl SettingsFile {
    /// Finds the file, unless the command line names policies.
    fn of(gate: &ArgMatches) -> Option<Self> {
        let named = gate.get_one::<PathBuf>("settings").cloned();
        let is_trusted = named.is_some() || gate.get_flag("trust_settings");
        let has_policies = ["data", "bundle", "contract"].iter().any(|id| is_given(gate, id));
        let path = if has_policies { named } else { named.or_else(find) }?;
        let timeout = gate.get_one::<Duration>("timeout").copied().unwrap_or(MAX_DURATION);
        Some(Self { path, trust: if is_trusted { Trust::Full } else { Trust::None }, timeout })
    }

    /// Returns the reports that the file names, if it can be read so far: those of an earlier run are replaced.
    fn outputs(&self, gate: &ArgMatches) -> Vec<String> {
        if is_given(gate, "output") {
            return Vec::new();
        }
        file::outputs(&self.path, profile(gate), self.trust, self.timeout).unwrap_or_default()
    }
}

fn is_given(gate: &ArgMatches, id: &str) -> bool {
    gate.value_source(id) == Some(ValueSource::CommandLine)
}

fn profile(gate: &ArgMatches) -> Option<&str> {
    gate.get_one::<String>("profile").map(String::as_str)
}

/// Adds the options of the file to a command line of `gate`, if there is one.
///
/// # Errors
/// For a file that can't be read, with the line, and for one that loosens the gate without being trusted.
fn complete(
    arguments: &[OsString],
    gate: &ArgMatches,
    command: NewCommand,
) -> Result<Option<Completed>, Error> {
    let profile = profile(gate);
    let Some(SettingsFile { path, trust, timeout }) = SettingsFile::of(gate) else {
        return match profile {
            None => Ok(None),
            Some(profile) => {
                Err(Error::configuration(format!("`--profile {}` needs a file", escape(profile)))
                    .with_hint(format!(
                        "name it with `--settings FILE`; without `-d`, `{NAME}` is found"
                    )))
            }
        };
    };
    let file = file::read(&path, profile, trust, timeout)?;
    let mut added = Vec::new();
    let mut entries = file.entries;
    entries.retain(|entry| {
        !is_given(gate, &entry.id) && !entry.replaced_by().iter().any(|id| is_given(gate, id))
    });
    for entry in &entries {
        added.extend(entry.arguments().map(OsString::from));
    }
    let at = place(arguments, command)
        .ok_or_else(|| Error::configuration("the subcommand isn't found"))?;
    let (before, after) = arguments.split_at_checked(at).unwrap_or((arguments, &[]));
    let arguments = [before, &added, after].concat();
    let is_trusted = trust == Trust::Full;
    Ok(Some(Completed { arguments, used: file.source, entries, is_trusted }))
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

/// Returns what errors call a line of the file.
fn line_of(path: &Path, line: usize) -> String {
    format!("`{}:{line}`", escape_path(path))
}

/// Describes the file for reports.
fn source(path: &Path, bytes: &[u8]) -> Source {
    option_files::source(path, bytes)
}
