//! Shards of the input files.

use std::str::FromStr;

use rego_platform_client::text::escape;
use sha2::{Digest as _, Sha256};

/// A shard of a run. The digest of each file's name selects its shard, independently of the other files.
///
/// ```
/// let shard: rego_platform_gate::Shard = "2/3".parse()?;
/// assert_eq!((shard.number(), shard.of()), (2, 3));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `NUMBER/OF`, counted from 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let read =
            |text: &str| text.parse().map_err(|_| format!("invalid number `{}`", escape(text)));
        let (number, of) =
            text.split_once('/').ok_or("invalid shard: expected `NUMBER/OF`, such as `1/4`")?;
        let (number, of) = (read(number)?, read(of)?);
        if number == 0 || number > of {
            return Err(format!("invalid shard {number} of {of}: shards count from 1"));
        }
        Ok(Self { number, of })
    }
}

impl Shard {
    /// Returns the number, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Returns the number of shards.
    pub fn of(self) -> u64 {
        self.of
    }

    /// Returns `true` if a file belongs to this shard, by the digest of its name. A new file moves no other
    /// file.
    pub(crate) fn has(self, name: &str) -> bool {
        if self.of == 1 {
            return true;
        }
        let digest = Sha256::digest(name);
        let first = digest.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte));
        first % self.of + 1 == self.number
    }
}
