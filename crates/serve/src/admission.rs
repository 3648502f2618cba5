//! The bound on requests that are evaluated or wait for it, in their number and in the bytes of their bodies.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit in which bodies are counted, in bytes.
const UNIT: usize = 1 << 10;

/// The places of requests.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Arc<Semaphore>,
    size: usize,
    /// A permit for each unit.
    bodies: Arc<Semaphore>,
}

/// A request's place, which is free again when this is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "what it holds is only dropped")]
pub(crate) struct Place(OwnedSemaphorePermit, OwnedSemaphorePermit);

impl Queue {
    pub fn new(size: usize, bodies: usize) -> Self {
        let semaphore = |size: usize| Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        Self { places: semaphore(size), size, bodies: semaphore(bodies.div_ceil(UNIT)) }
    }

    /// Takes a place for a request with a body of this many bytes, if there is one.
    pub fn take(&self, body: usize) -> Option<Place> {
        let units = u32::try_from(body.div_ceil(UNIT)).ok()?;
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(Place(place, Arc::clone(&self.bodies).try_acquire_many_owned(units).ok()?))
    }

    /// The number of requests that have a place.
    pub fn taken(&self) -> usize {
        self.size.saturating_sub(self.places.available_permits())
    }
}
