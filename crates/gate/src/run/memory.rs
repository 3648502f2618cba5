//! A limit on the size of all inputs in memory, independent of the number of workers.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::input::MAX_BYTES;

/// The memory for inputs. An input is read when it fits. An input larger than the limit is read when it is
/// the only one.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryBound(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    taken: Mutex<MemoryUse>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct MemoryUse {
    bytes: usize,
    /// The number of threads that wait for memory.
    waiting: usize,
}

impl MemoryUse {
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(bytes) <= MAX_BYTES
    }
}

/// An input's share of the memory, returned when it is dropped.
#[derive(Debug)]
pub(super) struct MemoryShare {
    bound: MemoryBound,
    bytes: usize,
}

impl MemoryBound {
    /// Returns the number of used bytes.
    pub fn taken(&self) -> usize {
        self.0.taken.lock().bytes
    }

    /// Reserves `bytes` if they fit.
    pub fn try_take(&self, bytes: usize) -> Option<MemoryShare> {
        let mut taken = self.0.taken.lock();
        taken.has_room(bytes).then(|| self.share(&mut taken, bytes))
    }

    /// Waits until `bytes` fit, and reserves them.
    pub fn take(&self, bytes: usize) -> MemoryShare {
        let mut taken = self.0.taken.lock();
        taken.waiting += 1;
        let full = |taken: &mut MemoryUse| !taken.has_room(bytes);
        self.0.changed.wait_while(&mut taken, full);
        taken.waiting -= 1;
        self.share(&mut taken, bytes)
    }

    fn share(&self, taken: &mut MemoryUse, bytes: usize) -> MemoryShare {
        taken.bytes += bytes;
        MemoryShare { bound: self.clone(), bytes }
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        let mut taken = self.bound.0.taken.lock();
        taken.bytes -= self.bytes;
        // Waking nobody would be a system call nevertheless.
        if taken.waiting > 0 {
            self.bound.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_waits_for_room_and_a_large_one_until_it_is_alone() {
        let memory = MemoryBound::default();
        let first = memory.take(MAX_BYTES - 1);
        assert!(memory.try_take(2).is_none());
        let small = memory.try_take(1);
        assert!(small.is_some());
        let other = memory.clone();
        let waiting = std::thread::spawn(move || other.take(MAX_BYTES * 2).bytes);
        drop(small);
        drop(first);
        assert_eq!(waiting.join().ok(), Some(MAX_BYTES * 2));
        assert_eq!(memory.taken(), 0);
    }
}
