//! `pull`: the files of sources, in a folder that has nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use rego_platform::Error;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_remote::Address;

use super::RemoteArgs;
use super::fetch::Source;
use super::write::{files, unwritable, write};
use crate::options::{NetworkArgs, Options};
use crate::{Exit, output, watchdog};

/// Fetch policies from registries, web servers and repositories into a folder
#[derive(Debug, Args)]
#[command(after_help = "Prints the digest of each source.\n\n\
    Exit status: 0 if everything is there, 2 otherwise.\n\n\
    Example:\n  rego-platform pull oci://registry.example/acme/policies:v1 -o policies")]
pub(crate) struct PullArgs {
    /// Addresses: `oci://REPOSITORY[:TAG]`, `https://….tar.gz` or `git+https://…`
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// New or empty folder
    #[arg(short, long, value_name = "DIR", default_value = "policy")]
    output: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

/// Parses the address of a source, which a path isn't.
pub(super) fn parse(text: &str) -> Result<Address, Error> {
    Address::parse(text).unwrap_or_else(|| {
        let message = format!("`{}` isn't the address of a source", escape(text));
        Err(Error::configuration(message)
            .with_hint("begin it with `oci://`, `https://` or `git+https://`"))
    })
}

pub(crate) fn run(args: &PullArgs, options: &Options) -> Result<Exit, Error> {
    let folder = &args.output;
    refuse_full(folder)?;
    let addresses = args.sources.iter().map(|source| parse(source)).collect::<Result<_, _>>()?;
    let how = args.remote.fetcher(&args.network, options, false).how;
    let sources = how.sources(addresses)?;
    // Writing has no limit.
    watchdog::stop();
    let mut all = Vec::new();
    let mut names = BTreeSet::new();
    for Source { address, fetched, .. } in &sources {
        for file in files(address, &fetched.content) {
            if !names.insert(file.name.clone()) {
                let message = format!("file in two sources: `{}`", escape(&file.name));
                return Err(
                    Error::configuration(message).with_hint("pull each into its own folder")
                );
            }
            all.push(file);
        }
    }
    write(folder, &all)?;
    for Source { address, fetched, .. } in &sources {
        output::to_stdout(format!("{}  {address}\n", fetched.digest).as_bytes())?;
    }
    Ok(Exit::Passed)
}

/// Refuses a folder with files: those of an earlier pull would be policies too.
fn refuse_full(folder: &Path) -> Result<(), Error> {
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    let mut entries = std::fs::read_dir(folder).map_err(|error| unwritable(folder, error))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let message = format!("`{}` isn't empty", escape_path(folder));
    Err(Error::configuration(message)
        .with_hint("name a new folder with `--output`, or remove this one"))
}
