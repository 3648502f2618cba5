//! The paths of policies, as arguments name them.
//!
//! Owns globs, and telling the addresses of policies from elsewhere apart from paths.

use std::path::PathBuf;

use rego_platform::Error;
use rego_platform::sources::glob::is_glob;
use rego_platform::sources::split;
use rego_platform_client::text::escape;
use rego_platform_gate::expand;
use rego_platform_remote::Address;

/// Returns the paths to read, with the matches of globs such as `policies/*.rego` in their place. A file or
/// folder with the glob's own name is one of them. A path may have a prefix for its place below `data`, before
/// a colon. An address isn't a glob.
pub(super) fn expanded(paths: &[PathBuf]) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    for path in paths {
        let text = utf8(path.clone())?;
        let (prefix, file) = split(&text);
        if !is_glob(&text) || is_address(&text) {
            all.push(text);
            continue;
        }
        let before = all.len();
        for path in expand(&file)? {
            let path = utf8(path)?;
            all.push(match prefix.as_slice() {
                [] => path,
                prefix => format!("{}:{path}", prefix.join(".")),
            });
        }
        if all.len() == before {
            let message = format!("no file matches the glob: `{}`", escape(&text));
            return Err(Error::configuration(message));
        }
    }
    Ok(all)
}

/// Returns the paths to read, the current folder if neither any nor a bundle is given.
pub(super) fn or_here(paths: &[PathBuf], more: &[PathBuf], bundles: &[PathBuf]) -> Vec<PathBuf> {
    match paths.iter().chain(more).cloned().collect::<Vec<_>>() {
        all if all.is_empty() && bundles.is_empty() => vec![PathBuf::from(".")],
        all => all,
    }
}

/// Returns a path as text, for errors and reports.
pub(super) fn utf8(path: PathBuf) -> Result<String, Error> {
    path.into_os_string().into_string().map_err(|path| {
        let shown = path.to_string_lossy().into_owned();
        Error::configuration(format!("the path `{shown}` isn't UTF-8"))
    })
}

/// Returns `true` for the address of a source, with or without the place of its data before a colon:
/// it isn't a path, whatever is on the disk.
pub(super) fn is_address(argument: &str) -> bool {
    address(argument).is_some()
}

/// Returns the address that an argument names, and the place of its data with the colon behind it.
pub(super) fn address(argument: &str) -> Option<(&str, Result<Address, Error>)> {
    if let Some(address) = Address::parse(argument) {
        return Some(("", address));
    }
    let end = argument.find(':')? + 1;
    let (prefix, rest) = argument.split_at_checked(end)?;
    Some((prefix, Address::parse(rest)?))
}
