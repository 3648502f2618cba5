//! The lock as a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rego_platform::Error;
use rego_platform_client::text::{escape, escape_path};
use rego_platform_remote::{Lock, Pin};

use super::RemoteArgs;
use crate::{option_files, output, stdin};

/// The lock, unless an option names another.
const DEFAULT: &str = "policies.lock";

const MAX_BYTES: u64 = 4 << 20;

impl RemoteArgs {
    /// The path of the lock.
    pub fn path(&self) -> PathBuf {
        self.lock.clone().unwrap_or_else(|| PathBuf::from(DEFAULT))
    }

    /// Reads the lock, which is empty where there is none that an option names.
    pub(super) fn locked(&self, timeout: Duration) -> Result<Lock, Error> {
        let path = self.path();
        let may_be_absent = self.lock.is_none() || self.update_lock;
        if may_be_absent && path.symlink_metadata().is_err() {
            return Ok(Lock::default());
        }
        let text = option_files::read("the lock", &path, MAX_BYTES, timeout)?;
        let text = stdin::text(text, &path.display().to_string())?;
        Lock::parse(&text).map_err(|error| option_files::in_file(&path, "can't be used", error))
    }
}

/// Writes the lock if it has changed, and says what has.
pub(super) fn write(path: &Path, before: &Lock, now: &Lock) -> Result<(), Error> {
    if before == now {
        return Ok(());
    }
    output::to_file(path, now.text().as_bytes())?;
    let shown = escape_path(path);
    for (address, Pin { digest, signer }) in now.sources() {
        let old = before.pin(address);
        let note = |what: String| output::plain_note(&format!("{shown}: `{address}` {what}"));
        match old {
            Some(old) if old.digest == *digest => {}
            Some(old) => note(format!("is `{digest}`, was `{}`", old.digest)),
            None => note(format!("is `{digest}`")),
        }
        if let Some(signer) = signer
            && old.is_none_or(|old| old.signer.as_ref() != Some(signer))
        {
            note(format!("has the signer `{}`", escape(&signer.to_string())));
        }
    }
    Ok(())
}
