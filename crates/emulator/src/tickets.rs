//! The tickets of the content store, which are valid for a short time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use super::refusal::Refusal;
use super::scalars::{Digest, Timestamp};

/// Issues and checks the tickets of the content store.
pub(super) struct Tickets {
    /// Random at each start: no ticket outlives its emulator.
    key: Vec<u8>,
    lifetime: Duration,
}

impl Tickets {
    pub fn new(lifetime: Duration) -> Self {
        let random = || RandomState::new().build_hasher().finish().to_le_bytes();
        Self { key: [random(), random(), random(), random()].concat(), lifetime }
    }

    pub fn write(&self, digest: &Digest) -> String {
        let lifetime = i64::try_from(self.lifetime.as_millis()).unwrap_or(i64::MAX);
        let end = Timestamp::now().0.timestamp_millis().saturating_add(lifetime);
        format!("{end}.{}", self.signature(digest, end))
    }

    pub fn check(&self, digest: &Digest, ticket: &str) -> Result<(), Refusal> {
        let invalid_link = || Refusal::unauthenticated("the link is not valid");
        let (end, signature) = ticket.split_once('.').ok_or_else(invalid_link)?;
        let end: i64 = end.parse().map_err(|_| invalid_link())?;
        if signature != self.signature(digest, end) {
            return Err(invalid_link());
        }
        if end <= Timestamp::now().0.timestamp_millis() {
            return Err(Refusal::unauthenticated("the link has expired"));
        }
        Ok(())
    }

    fn signature(&self, digest: &Digest, end: i64) -> String {
        let text = format!("{digest} {end}");
        super::hex(&super::hmac_sha256(&self.key, text.as_bytes()))
    }
}
