//! The bounds on what requests hold at the same time: places for evaluations, the bytes of bodies that have
//! arrived, and those of answers that wait to be read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::Refusal;
use super::options::Bounds;

/// The unit in which bytes are counted.
const UNIT: usize = 1 << 10;

/// The limits that all requests share.
#[derive(Debug)]
pub(crate) struct Queue {
    places: Arc<Semaphore>,
    size: usize,
    /// A permit for each unit.
    bodies: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// A place in the queue, which is free again when this is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only dropped")]
pub(crate) struct Place(OwnedSemaphorePermit);

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    from: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
}

impl Queue {
    pub fn new(bounds: &Bounds) -> Self {
        let semaphore = |size: usize| Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        let units = |bytes: usize| semaphore(bytes.div_ceil(UNIT));
        Self {
            places: semaphore(bounds.queue),
            size: bounds.queue,
            bodies: units(bounds.bodies.max(bounds.body)),
            answers: units(bounds.answers.max(bounds.answer)),
        }
    }

    /// Takes a place for a request whose body has arrived, if there is one.
    pub fn take(&self) -> Result<Place, Refusal> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map(Place).map_err(|_| too_many())
    }

    /// The number of requests that have a place.
    pub fn taken(&self) -> usize {
        self.size.saturating_sub(self.places.available_permits())
    }

    /// Begins to count the bytes of a body.
    pub fn body(&self) -> Reserved {
        Reserved { from: Arc::clone(&self.bodies), held: None }
    }

    /// Counts the bytes of an answer until its client has read it.
    pub fn answer(&self, response: Response) -> Result<Response, Refusal> {
        let bytes = response.body().size_hint().lower();
        let mut reserved = Reserved { from: Arc::clone(&self.answers), held: None };
        reserved.reserve(usize::try_from(bytes).unwrap_or(usize::MAX)).ok_or_else(|| {
            let message = "too many unread responses; try again later";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_requests", message)
        })?;
        Ok(response.map(|body| Body::new(Counted { body, _reserved: reserved })))
    }
}

impl Reserved {
    /// Counts this many bytes from now on, if there is room for them.
    pub fn reserve(&mut self, bytes: usize) -> Option<()> {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = u32::try_from(bytes.div_ceil(UNIT).saturating_sub(held)).ok()?;
        let permit = Arc::clone(&self.from).try_acquire_many_owned(more).ok()?;
        match &mut self.held {
            Some(held) => held.merge(permit),
            held => *held = Some(permit),
        }
        Some(())
    }
}

pub(crate) fn too_many() -> Refusal {
    let message = "too many requests are being evaluated; try again later";
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message)
}

/// A body whose bytes count until it is dropped.
struct Counted {
    body: Body,
    _reserved: Reserved,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
