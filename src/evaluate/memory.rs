//! Memory that parallel evaluations share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Limit};

/// A limit on the bytes of values that evaluations hold at the same time. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: u64,
    used: AtomicU64,
}

impl SharedMemory {
    /// A limit of `most` bytes in all.
    pub fn new(most: u64) -> Self {
        Self(Arc::new(Shared { most, used: AtomicU64::new(0) }))
    }
}

/// The part of the shared memory that one evaluation holds, until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Reservation {
    of: Option<SharedMemory>,
    held: AtomicU64,
}

impl Reservation {
    /// Creates a reservation of no bytes; without shared memory, there is no limit.
    pub fn new(of: Option<SharedMemory>) -> Self {
        Self { of, held: AtomicU64::new(0) }
    }

    /// A reservation of the same memory, which holds nothing so far.
    pub fn sibling(&self) -> Self {
        Self::new(self.of.clone())
    }

    /// Extends the reservation to at least `bytes`.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) if the other evaluations hold the rest.
    pub fn hold(&self, bytes: u64) -> Result<(), Error> {
        let Some(SharedMemory(shared)) = &self.of else { return Ok(()) };
        let more = bytes.saturating_sub(self.held.load(Ordering::Relaxed));
        let take = |used: u64| used.checked_add(more).filter(|used| *used <= shared.most);
        if shared.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            let most = crate::text::size(shared.most);
            let message = format!("values of all evaluations too large: the limit is {most}");
            return Err(Error::too_large(message).at_limit(Limit::Memory));
        }
        self.held.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(SharedMemory(shared)) = &self.of {
            shared.used.fetch_sub(self.held.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_free_again() {
        let shared = SharedMemory::new(10);
        let one = Reservation::new(Some(shared.clone()));
        let other = Reservation::new(Some(shared));
        assert!(one.hold(6).is_ok() && one.hold(5).is_ok() && other.hold(5).is_err());
        assert!(other.hold(4).is_ok() && one.hold(7).is_err());
        drop(one);
        assert!(other.hold(10).is_ok() && other.hold(11).is_err());
        assert!(Reservation::default().hold(u64::MAX).is_ok());
    }
}
