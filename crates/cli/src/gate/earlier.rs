//! Verdicts of earlier runs: the option, and the options on which a verdict depends.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use rego_platform::Error;
use rego_platform_client::text::escape;
use rego_platform_gate::model::Accepted;
use rego_platform_gate::{EarlierRun, Signatures, VerifyKeys};

use super::VERDICT;
use crate::keys::key_files;
use crate::option_files;
use crate::options::{GENERAL, SERVICE};
use crate::output::Reporter;

/// The largest statement.
const MAX_STATEMENT: u64 = 256 << 20;

/// The options on which no verdict depends: those that choose inputs, which are compared one by one, and reports.
/// Of those about the service, what matters is part of the run.
const APART: [&str; 7] =
    ["accept_verdict", "format", "image", "input", "inputs", "output", "shard"];

#[derive(Debug, Args)]
pub(super) struct EarlierArgs {
    /// Take the verdict of an input that passed before from a statement (`attest --sign-key`) that the public key
    /// KEY verifies, if nothing on which it depends has changed; may be repeated
    #[arg(
        long,
        num_args = 2,
        value_names = ["KEY", "STATEMENT"],
        conflicts_with = "shard",
        hide_short_help = true,
        help_heading = VERDICT
    )]
    accept_verdict: Vec<PathBuf>,
    /// The options that were given.
    #[arg(skip)]
    pub given: BTreeMap<String, Vec<String>>,
}

impl EarlierArgs {
    /// Returns the files that are read because of the option.
    pub fn read(&self) -> impl Iterator<Item = &PathBuf> {
        self.accept_verdict.iter()
    }

    /// Reads the statements.
    pub fn runs(&self, timeout: Duration) -> Result<Vec<EarlierRun>, Error> {
        let read = |pair: &[PathBuf]| {
            let [key, statement] = pair else { return Ok(None) };
            let files = key_files(std::slice::from_ref(key), timeout)?;
            let files = files.iter().map(|(name, pem)| (name.as_str(), pem.as_slice()));
            let signatures = Signatures::Keys(VerifyKeys::new(files, NonZeroUsize::MIN)?);
            let text = option_files::read("the statement", statement, MAX_STATEMENT, timeout)?;
            let source = option_files::source(statement, &text);
            Ok(Some(EarlierRun::read(source, &text, &signatures)))
        };
        self.accept_verdict.chunks(2).filter_map(|pair| read(pair).transpose()).collect()
    }
}

/// Returns the options on which verdicts may depend, as they were given, by the file or on the command line.
pub(crate) fn given(matches: &ArgMatches) -> BTreeMap<String, Vec<String>> {
    let command = super::command();
    let depends = |arg: &&clap::Arg| {
        let is_apart = APART.contains(&arg.get_id().as_str());
        !is_apart && ![Some(GENERAL), Some(SERVICE)].contains(&arg.get_help_heading())
    };
    let ids = command.get_arguments().filter(depends).map(|arg| arg.get_id().to_string());
    let values = ids.filter_map(|id| {
        matches.value_source(&id).filter(|from| *from != ValueSource::DefaultValue)?;
        let raw = matches.get_raw(&id)?;
        Some((id, raw.map(|value| value.to_string_lossy().into_owned()).collect()))
    });
    values.collect()
}

/// Says which statements don't count, and why.
pub(super) fn note(accepted: &[Accepted], reporter: Reporter) {
    for Accepted { path, reason, .. } in accepted {
        if let Some(reason) = reason {
            reporter.note(&format!("`{}` isn't reused: {}", escape(path), escape(reason)));
        }
    }
}
