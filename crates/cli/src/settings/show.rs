//! `config show`: the options of a gate, and where each comes from.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Args;
use clap::parser::ValueSource;
use rego_platform::Error;
use rego_platform_client::text::escape;

use super::keys::{self, Access, Shape};
use super::{NewCommand, complete, wrong};

/// Show the options of a gate, and where each comes from
#[derive(Debug, Args)]
#[command(after_help = "Example: rego-platform config show --profile release -i image.json")]
pub(crate) struct ShowArgs {
    /// The options of `gate` on its command line
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(super) fn text(shown: &ShowArgs, command: NewCommand) -> Result<String, Error> {
    let begin = ["rego-platform", "gate"].map(OsString::from);
    let given = [&begin[..], &shown.arguments].concat();
    let parse = |arguments: &[OsString]| {
        command().try_get_matches_from(arguments).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            wrong(first.strip_prefix("error: ").unwrap_or(first).to_owned())
        })
    };
    let matches = parse(&given)?;
    let (_, gate) = matches.subcommand().ok_or_else(|| wrong("the subcommand isn't found"))?;
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
    Ok(out)
}
