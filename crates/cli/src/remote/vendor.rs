//! `vendor`: the sources of the lock, as files of the repository.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use rego_platform::Error;
use rego_platform_client::text::escape_path;
use rego_platform_remote::{Address, Content};

use super::RemoteArgs;
use super::fetch::Source;
use super::write::{files, unwritable, write};
use crate::options::{NetworkArgs, Options};
use crate::{Exit, output, watchdog};

/// Copy the policies that the lock pins into a folder, to be used offline
#[derive(Debug, Args)]
#[command(
    after_help = "Writes each source to its own path below the folder, for `-d`, and replaces an earlier copy. Prints these paths.\n\n\
    Exit status: 0 if everything is there, 2 otherwise.\n\n\
    Example:\n  rego-platform vendor && rego-platform gate -d vendor/registry.example/acme/policies@v1 -i image.json"
)]
pub(crate) struct VendorArgs {
    /// The folder
    #[arg(short, long, value_name = "DIR", default_value = "vendor")]
    output: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

pub(crate) fn run(args: &VendorArgs, options: &Options) -> Result<Exit, Error> {
    let lock = args.remote.locked(options.timeout)?;
    let addresses: Vec<Address> = lock.sources().map(|(address, _)| address.clone()).collect();
    if addresses.is_empty() {
        let path = escape_path(args.remote.path());
        let message = format!("the lock `{path}` has no sources");
        return Err(Error::configuration(message).with_hint("write them with `gate --update-lock`"));
    }
    let how = args.remote.fetcher(&args.network, options, true).how;
    let sources = how.sources(addresses)?;
    // Writing has no limit.
    watchdog::stop();
    let mut paths = BTreeSet::new();
    for Source { address, fetched, .. } in &sources {
        let is_bundle = matches!(fetched.content, Content::Bundle(_));
        let mut path = args.output.join(address.folder());
        if is_bundle && matches!(address, Address::Registry(_)) {
            path.as_mut_os_string().push(".tar.gz");
        }
        if !paths.insert(path.clone()) {
            let shown = escape_path(path);
            let message = format!("path of two sources: `{shown}`");
            return Err(
                Error::configuration(message).with_hint("pull one of them into another folder")
            );
        }
        let removed = match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) => std::fs::remove_file(&path),
            Err(_) => Ok(()),
        };
        removed.map_err(|error| unwritable(&path, error))?;
        let mut files = files(address, &fetched.content);
        let folder = if is_bundle { path.parent().unwrap_or(&args.output) } else { &path };
        if let (true, [file], Some(own)) = (is_bundle, files.as_mut_slice(), path.file_name()) {
            file.name = own.to_string_lossy().into_owned();
        }
        write(folder, &files)?;
    }
    for path in paths {
        output::to_stdout(format!("{}\n", escape_path(path)).as_bytes())?;
    }
    Ok(Exit::Passed)
}
