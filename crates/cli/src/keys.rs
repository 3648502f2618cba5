//! The files of keys and trust roots.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rego_platform::Error;
use rego_platform::sources::BundleKeys;
use rego_platform_gate::TrustRoot;

use crate::{option_files, stdin};

/// The largest file of a key.
const MAX_KEY: u64 = 64 << 10;

/// The largest file of a trust root.
const MAX_TRUST_ROOT: u64 = 4 << 20;

/// Reads the files of public keys. Each comes with its name.
pub(crate) fn key_files(
    paths: &[PathBuf],
    timeout: Duration,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let read = |path: &PathBuf| {
        let pem = option_files::read("the public key", path, MAX_KEY, timeout)?;
        Ok((path.display().to_string(), pem))
    };
    paths.iter().map(read).collect()
}

/// Reads a trust root, or returns that of sigstore.dev.
pub(crate) fn trust_root(path: Option<&Path>, timeout: Duration) -> Result<TrustRoot, Error> {
    let Some(path) = path else { return TrustRoot::public_good() };
    let json = option_files::read("the trust root", path, MAX_TRUST_ROOT, timeout)?;
    TrustRoot::read(&path.display().to_string(), &json)
}

/// Returns the keys that sign bundles, if any are named.
pub(crate) fn bundle_keys(
    paths: &[PathBuf],
    timeout: Duration,
) -> Result<Option<BundleKeys>, Error> {
    if paths.is_empty() {
        return Ok(None);
    }
    let files = key_files(paths, timeout)?;
    let files = files.into_iter().map(|(name, pem)| Ok((stdin::text(pem, &name)?, name)));
    let files: Vec<(String, String)> = files.collect::<Result<_, Error>>()?;
    BundleKeys::new(files.iter().map(|(pem, name)| (name.as_str(), pem.as_str()))).map(Some)
}
