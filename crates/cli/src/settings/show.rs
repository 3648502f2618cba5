//! `config show`: the options of a gate and the settings of the service, with the origin of each.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::parser::ValueSource;
use clap::{Args, FromArgMatches as _};
use rego_platform::Error;
use rego_platform::context::ContextValue;
use rego_platform_client::environment;
use rego_platform_client::text::escape;

use super::keys::{self, Access, Shape};
use super::{NewCommand, complete};
use crate::context::{Context, is_option};
use crate::options::Options;
use crate::output::Reporter;
use crate::stdin::Stdin;

/// Show the options of a gate and the settings of the service, and where each comes from
#[derive(Debug, Args)]
#[command(after_help = "Example: rego-platform config show --profile release -i image.json")]
pub(crate) struct ShowArgs {
    /// The options of `gate` on its command line
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    #[allow(dead_code, reason = "the whole command line is read")]
    arguments: Vec<OsString>,
    /// The whole command line.
    #[arg(skip)]
    pub(crate) line: Vec<OsString>,
}

/// Returns the command line of the gate that `config show` is about: its own with another subcommand. Options of the
/// service may stand anywhere in it.
fn as_gate(arguments: &[OsString], command: NewCommand) -> Option<Vec<OsString>> {
    let shows = |begun: &[OsString]| {
        let matches = command().try_get_matches_from(begun).ok();
        let config = matches.as_ref().and_then(|matches| matches.subcommand_matches("config"));
        config.is_some_and(|config| config.subcommand_name() == Some("show"))
    };
    let begun = (1..=arguments.len()).filter_map(|end| arguments.get(..end));
    let begun = begun.filter(|begun| begun.last().is_some_and(|last| last == "show"));
    let end = begun.into_iter().find(|begun| shows(begun))?.len();
    let (begun, after) = arguments.split_at_checked(end)?;
    let config = begun.iter().rposition(|word| word == "config")?;
    let words = begun.iter().enumerate().filter(|(at, _)| at + 1 != end);
    let words =
        words.map(|(at, word)| if at == config { OsString::from("gate") } else { word.clone() });
    Some(words.chain(after.iter().cloned()).collect())
}

pub(super) fn text(
    arguments: &[OsString],
    command: NewCommand,
    reporter: Reporter,
) -> Result<String, Error> {
    let given = as_gate(arguments, command)
        .ok_or_else(|| Error::configuration("the subcommand isn't found"))?;
    let parse = |arguments: &[OsString]| {
        command().try_get_matches_from(arguments).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Error::configuration(first.strip_prefix("error: ").unwrap_or(first).to_owned())
        })
    };
    let matches = parse(&given)?;
    let (_, gate) =
        matches.subcommand().ok_or_else(|| Error::configuration("the subcommand isn't found"))?;
    let completed = complete(&given, gate, command)?;
    let mut out = String::new();
    let path = completed.as_ref().map(|own| escape(&own.used.path)).unwrap_or_default();
    for key in keys::all().iter().filter(|key| key.access != Access::Never) {
        let is_given = gate.value_source(&key.id) == Some(ValueSource::CommandLine);
        let entries = completed.iter().flat_map(|own| &own.entries);
        let entry = entries.filter(|_| !is_given).find(|entry| entry.id == key.id);
        let (value, from) = match (entry, &key.default) {
            (Some(entry), _) => (entry.shown(), format!("{path}:{}", entry.line)),
            (None, _) if is_given && key.shape == Shape::Flag => {
                ("true".to_owned(), "command line".to_owned())
            }
            (None, _) if is_given => {
                let values = gate.get_raw(&key.id).into_iter().flatten();
                let values: Vec<_> = values.map(|own| own.to_string_lossy().into_owned()).collect();
                (values.join(", "), "command line".to_owned())
            }
            (None, Some(default)) => (default.clone(), "default".to_owned()),
            (None, None) => continue,
        };
        let _ = writeln!(out, "{} = {} ({from})", key.name, escape(&value));
    }
    let options =
        Options::from_arg_matches(gate).map_err(|error| Error::configuration(error.to_string()))?;
    let context = Context::found(&options, reporter, &mut Stdin::default())?;
    // An address that can't be used may hold a secret: those of a platform were checked.
    for ContextValue { name, value, origin, .. } in context.platform(&options)?.origins() {
        let from = if is_option(origin) { "command line".to_owned() } else { origin.to_string() };
        let _ = writeln!(out, "{} = {} ({from})", escape(name), escape(value));
    }
    // Its address may have a password.
    out.extend(environment::proxy()?.map(|_| "proxy = (set) (environment)\n"));
    Ok(out)
}
