//! The log: every request, and the number of those in flight at once.
//!
//! Owns the record for tests. Never contains a token.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::refusal::Address;

/// The number of requests that are kept, so that an emulator doesn't grow for days.
const MAX_RECORDS: usize = 65_536;

/// The number of bytes that are kept of a request's body.
const MAX_BODY: usize = 64 * 1024;

/// A request that reached the emulator, including refused ones and those affected by a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestRecord {
    /// The address that it was sent to.
    pub api: Address,
    /// The method, in uppercase.
    pub method: String,
    /// Path and query as they were sent; the content store's ticket is left out.
    pub target: String,
    /// `true` if it had an `Authorization` header.
    pub had_authorization: bool,
    /// The organization header.
    pub organization: Option<String>,
    /// The names of all headers, lower case, in the order of sending.
    pub header_names: Vec<String>,
    /// The first 64 KiB of the body.
    pub body: Vec<u8>,
}

impl RequestRecord {
    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// The log of an emulator.
#[derive(Default)]
pub(super) struct Log {
    records: Mutex<VecDeque<RequestRecord>>,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
}

impl Log {
    pub fn add(&self, mut record: RequestRecord) {
        record.body.truncate(MAX_BODY);
        let mut records = self.records.lock();
        if records.len() == MAX_RECORDS {
            records.pop_front();
        }
        records.push_back(record);
    }

    pub fn all(&self) -> Vec<RequestRecord> {
        let records = self.records.lock();
        records.iter().cloned().collect()
    }

    pub fn max_in_flight(&self) -> usize {
        self.max_in_flight.load(Ordering::Acquire)
    }

    /// Removes the requests and resets the high-water mark.
    pub fn clear(&self) {
        self.records.lock().clear();
        self.max_in_flight.store(self.in_flight.load(Ordering::Acquire), Ordering::Release);
    }

    /// Counts a request as in flight until the guard is dropped.
    pub fn enter(&self) -> InFlight<'_> {
        let now = self.in_flight.fetch_add(1, Ordering::AcqRel) + 1;
        self.max_in_flight.fetch_max(now, Ordering::AcqRel);
        InFlight(self)
    }
}

/// A request that is being answered.
pub(super) struct InFlight<'a>(&'a Log);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
