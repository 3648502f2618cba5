//! The bound on requests that are evaluated or wait for it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of requests.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Arc<Semaphore>,
    size: usize,
}

/// A request's place, which is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place(#[expect(dead_code, reason = "dropped at the end")] OwnedSemaphorePermit);

impl Queue {
    pub fn new(size: usize) -> Self {
        let size = size.min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(size)), size }
    }

    /// Takes a place, if one is free.
    pub fn take(&self) -> Option<Place> {
        Arc::clone(&self.places).try_acquire_owned().ok().map(Place)
    }

    /// The number of requests that have a place.
    pub fn taken(&self) -> usize {
        self.size.saturating_sub(self.places.available_permits())
    }
}
