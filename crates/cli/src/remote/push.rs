//! `push`: a folder's policies and data, or a bundle, to a registry.

use std::path::{Path, PathBuf};

use clap::Args;
use rego_platform::Error;
use rego_platform::sources::walk::{MAX_FOLDERS, entries};
use rego_platform::sources::{ReadOptions, Sources};
use rego_platform_client::text::{escape, escape_path};
use rego_platform_client::unreadable::unreadable;
use rego_platform_remote::{Address, Content, File};

use super::RemoteArgs;
use super::pull::parse;
use crate::options::{NetworkArgs, Options};
use crate::output::{self, Reporter};
use crate::{Exit, paths, watchdog};

/// Store policies and data in a registry
#[derive(Debug, Args)]
#[command(
    after_help = "A folder's files (`.rego`, `.json`, `.yaml`, `.yml`) are stored as conftest does; an \
    archive (`.tar.gz`) as the bundle that OPA pulls. Prints the digest, which is the same for equal files.\n\n\
    Exit status: 0 if it is stored, 2 otherwise.\n\n\
    Example:\n  rego-platform push oci://registry.example/acme/policies:v1 policies"
)]
pub(crate) struct PushArgs {
    /// Where to: `oci://REGISTRY/REPOSITORY[:TAG]`
    #[arg(value_name = "SOURCE")]
    to: String,
    /// A folder, or a bundle (`.tar.gz`)
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    network: NetworkArgs,
}

const ENDINGS: [&str; 4] = ["rego", "json", "yaml", "yml"];

pub(crate) fn run(args: &PushArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let Address::Registry(reference) = parse(&args.to)? else {
        let message = format!("`{}` isn't in a registry", escape(&args.to));
        return Err(Error::configuration(message).with_hint("begin its address with `oci://`"));
    };
    // What can't be read isn't stored.
    let mut read = ReadOptions::default();
    read.skip_verify = true;
    Sources::read_with([paths::utf8(args.path.clone())?], read)?;
    let content = if args.path.is_dir() {
        let mut files = Vec::new();
        collect(&args.path, &mut Vec::new(), &mut files, reporter)?;
        Content::Files(files)
    } else {
        Content::Bundle(bytes(&args.path)?.into())
    };
    let how = RemoteArgs::default().fetcher(&args.network, options, false).how;
    let remote = how.remote()?;
    // The registry has the whole time.
    watchdog::again(options.timeout)?;
    let digest = remote.push(&reference, &content)?;
    output::to_stdout(format!("{digest}  {reference}\n").as_bytes())?;
    Ok(Exit::Passed)
}

fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| unreadable("the file", path, error))
}

/// Collects the policies and data of a folder. What else is there is left out, and said.
fn collect(
    folder: &Path,
    open: &mut Vec<String>,
    files: &mut Vec<File>,
    reporter: Reporter,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| unreadable("the folder", folder, error);
    let refused = |path: &Path, why: &str| {
        let shown = escape_path(path);
        Error::configuration(format!("`{shown}` {why}")).with_hint("name a folder without it")
    };
    for entry in entries(folder).map_err(failed)? {
        let path = entry.path();
        let name = paths::utf8(PathBuf::from(entry.file_name()))?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_symlink() || open.len() >= MAX_FOLDERS {
            return Err(refused(&path, "is a link, or nested too deeply"));
        }
        if kind.is_dir() {
            open.push(name);
            collect(&path, open, files, reporter)?;
            open.pop();
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            let name = [open.as_slice(), &[name]].concat().join("/");
            files.push(File::new(name, bytes(&path)?.into()));
        } else {
            let shown = escape_path(path);
            reporter.note(&format!("`{shown}` is left out: it is neither policy nor data"));
        }
    }
    Ok(())
}
