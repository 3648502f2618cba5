//! Responses shared between evaluations, for a time set by the host.
//!
//! Owns the answers that outlive an evaluation: successes only, for a limited time, within a bound
//! on memory. Failures and answers that cost money are never kept here; artifacts have a cache of
//! their own (`client::cache`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::{CallOutcome, Key};

/// The bound on all remembered responses of a platform, in bytes.
const CAPACITY: u64 = 64 << 20;

/// The remembered responses of one platform.
pub(super) struct Shared {
    lifetime: Duration,
    answers: Cache<Key, (Instant, Arc<CallOutcome>), Bytes>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("lifetime", &self.lifetime).finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, (Instant, Arc<CallOutcome>)> for Bytes {
    fn weight(&self, key: &Key, (_, outcome): &(Instant, Arc<CallOutcome>)) -> u64 {
        let key = (key.function.len() + key.arguments.len()) as u64;
        outcome.memory.saturating_add(key).saturating_add(256)
    }
}

impl Shared {
    pub fn new(lifetime: Duration) -> Self {
        // The number of entries is an estimate for sizing the tables; the weight is the bound.
        Self { lifetime, answers: Cache::with_weighter(4096, CAPACITY, Bytes) }
    }

    pub fn get(&self, key: &Key) -> Option<CallOutcome> {
        let (since, outcome) = self.answers.get(key)?;
        if since.elapsed() > self.lifetime {
            self.answers.remove_if(key, |(now, _)| *now == since);
            return None;
        }
        Some((*outcome).clone())
    }

    pub fn put(&self, key: &Key, outcome: &CallOutcome) {
        if outcome.result.is_ok() {
            // The answer's age counts from the moment the request was sent.
            let asked = Instant::now().checked_sub(outcome.latency).unwrap_or_else(Instant::now);
            self.answers.insert(key.clone(), (asked, Arc::new(outcome.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Error;
    use crate::call::Answer;
    use rego::Value;

    fn key(arguments: &str) -> Key {
        Key { function: "platform.discover".into(), arguments: arguments.into() }
    }

    fn outcome(memory: u64) -> CallOutcome {
        let result = Ok(Answer::from(Value::from(1)));
        let latency = Duration::ZERO;
        CallOutcome { result, attempts: 1, bytes: 1, memory, latency, kept: false }
    }

    #[test]
    fn successes_are_remembered_until_they_expire() {
        let minute = Duration::from_mins(1);
        let shared = Shared::new(minute);
        let failure = Err(Error::not_found("no"));
        shared.put(&key("failed"), &CallOutcome { result: failure, ..outcome(1) });
        assert!(shared.get(&key("failed")).is_none());
        shared.put(&key("fine"), &outcome(1));
        assert!(shared.get(&key("fine")).is_some());
        let slow = CallOutcome { latency: minute, ..outcome(1) };
        shared.put(&key("slow"), &slow);
        assert!(shared.get(&key("slow")).is_none(), "its age counts from the request");
        let short = Shared::new(Duration::from_millis(1));
        short.put(&key("fine"), &outcome(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(short.get(&key("fine")).is_none());
    }

    #[test]
    fn remembered_answers_are_bounded_by_their_size() {
        let shared = Shared::new(Duration::from_mins(1));
        let each = CAPACITY / 16;
        for index in 0..64 {
            shared.put(&key(&index.to_string()), &outcome(each));
        }
        assert!(shared.answers.weight() <= CAPACITY);
        assert!((1..=16).contains(&shared.answers.len()), "{}", shared.answers.len());
        shared.put(&key("huge"), &outcome(CAPACITY));
        assert!(shared.get(&key("huge")).is_none());
    }
}
