//! The digest of content: SHA-256, in lowercase; or a commit of git.

use std::fmt;

use rego_platform_client::Error;
use rego_platform_client::text::hex;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, which is shown as `sha256:` with 64 lowercase digits. What is in a git repository has
/// that of its commit instead, `sha1:` with 40.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

const PREFIX: &str = "sha256:";
const COMMIT: &str = "sha1:";

/// Returns `true` for this many lowercase hexadecimal digits.
fn are_digits(text: &str, count: usize) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == count && text.bytes().all(is_digit)
}

impl Digest {
    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{PREFIX}{}", hex(&Sha256::digest(bytes))))
    }

    /// Parses `sha256:` and 64 lowercase hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        are_digits(digits, 64).then(|| Self(text.to_owned()))
    }

    /// Returns the digest of a commit by its name in git, 40 lowercase digits.
    pub(crate) fn of_commit(name: &str) -> Option<Self> {
        are_digits(name, 40).then(|| Self(format!("{COMMIT}{name}")))
    }

    /// Parses `sha1:` and the name of a commit.
    pub(crate) fn parse_commit(text: &str) -> Option<Self> {
        Self::of_commit(text.strip_prefix(COMMIT)?)
    }

    /// Returns the digits.
    pub(crate) fn hex(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, digits)| digits)
    }

    /// Refuses a blob with this digest whose size isn't the one that a manifest states.
    pub(crate) fn check_size(&self, bytes: &[u8], size: u64) -> Result<(), Error> {
        match bytes.len() {
            found if found as u64 == size => Ok(()),
            found => Err(Error::tampered(format!(
                "size mismatch of the blob `{self}`: expected {size} bytes, found {found}"
            ))),
        }
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
