//! Parallel work on the modules of a load.
//!
//! Owns the number of threads. Results keep the order of the items, so they don't depend on it.

use std::panic::resume_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// The maximum number of threads.
const MOST: usize = 4;

/// The number of items per thread below which starting a thread isn't worth it.
const WORTHWHILE: usize = 32;

/// The number of items that a thread takes from the queue at a time.
const BATCH: usize = 8;

/// Maps items on several threads, if there are many. Keeps their order.
pub fn map<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_on(threads(items.len()), items, make)
}

fn map_on<T: Send, R: Send>(threads: usize, items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    if threads < 2 {
        return items.into_iter().map(make).collect();
    }
    let count = items.len();
    let queue = Mutex::new(items.into_iter());
    let work = || {
        let mut made: Vec<(usize, Vec<R>)> = Vec::new();
        loop {
            let (left, batch) = {
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                (queue.len(), queue.by_ref().take(BATCH).collect::<Vec<T>>())
            };
            if batch.is_empty() {
                return made;
            }
            made.push((count - left, batch.into_iter().map(&make).collect()));
        }
    };
    let mut made = thread::scope(|scope| {
        // If no thread can be started, this one does all the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut made = work();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        made
    });
    made.sort_unstable_by_key(|(first, _)| *first);
    made.into_iter().flat_map(|(_, made)| made).collect()
}

/// The number of threads for a number of items.
fn threads(items: usize) -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    if items < 2 * WORTHWHILE {
        return 1;
    }
    let processors = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (*PROCESSORS.get_or_init(processors)).min(MOST).min(items / WORTHWHILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for (threads, count) in [(1, 100), (2, 0), (2, 1), (3, 1000), (4, 17)] {
            let made = map_on(threads, (0..count).collect(), |number: usize| number * 2);
            assert_eq!(made, (0..count).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "this one")]
    fn a_panic_is_propagated() {
        map_on(3, (0..100).collect(), |number: usize| assert_ne!(number, 70, "this one"));
    }
}
