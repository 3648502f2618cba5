//! Calls on their way: one request for equal calls that are asked at the same moment.
//!
//! Owns single flight over everything that shares a platform. What is remembered after an answer
//! has come belongs to the evaluation that asked (`session`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::call::{Call, Key};
use crate::builtins::Answer;
use crate::client::{Allowance, Context};
use crate::{Error, ErrorKind, Platform};

/// What came of a call.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub result: Result<Answer, Error>,
    pub attempts: u32,
    pub bytes: u64,
    pub latency: Duration,
    /// Whether the content came from the cache.
    pub cached: bool,
}

/// A call on its way, or arrived. Dropped by everybody who waits for it, it is given up.
#[derive(Debug)]
pub(crate) struct Flight {
    arrived: OnceLock<Outcome>,
    deadline: Instant,
    guess: bool,
    /// Whether it may be given up: not once money may have been spent.
    abandon: AtomicBool,
    task: OnceLock<AbortHandle>,
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.abandon.load(Ordering::Relaxed)
            && let Some(task) = self.task.get()
        {
            task.abort();
        }
    }
}

impl Flight {
    pub fn outcome(&self) -> Option<&Outcome> {
        self.arrived.get()
    }

    /// Whether it was granted what a guess may cost.
    pub const fn is_guess(&self) -> bool {
        self.guess
    }
}

/// Wakes an evaluation that waits for several flights, and says which arrived.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    arrived: Mutex<Vec<Key>>,
    condition: Condvar,
}

impl Bell {
    fn ring(&self, key: &Key) {
        lock(&self.arrived).push(key.clone());
        self.condition.notify_all();
    }

    /// Hands what arrived to `done` until that is satisfied or it is `until`.
    pub fn wait(&self, until: Instant, mut done: impl FnMut(Vec<Key>) -> bool) {
        loop {
            let mut arrived = lock(&self.arrived);
            while arrived.is_empty() {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return;
                }
                arrived = match self.condition.wait_timeout(arrived, left) {
                    Ok((guard, _)) => guard,
                    Err(poisoned) => poisoned.into_inner().0,
                };
            }
            let keys = std::mem::take(&mut *arrived);
            drop(arrived);
            if done(keys) {
                return;
            }
        }
    }
}

type Bells = Vec<Weak<Bell>>;

/// Flights with those who wait for them.
type UnderWay = HashMap<Key, (Weak<Flight>, Arc<Mutex<Bells>>)>;

/// The calls on their way of everything that shares a platform.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    under_way: Mutex<UnderWay>,
}

/// A place on a flight.
#[derive(Debug)]
pub(crate) struct Boarded {
    pub flight: Arc<Flight>,
    /// Whether somebody else's grant pays for it.
    pub joined: bool,
}

/// What an evaluation grants a call that it sends.
pub(crate) struct Grant {
    pub deadline: Instant,
    pub allowance: Arc<Allowance>,
    /// Whether only an inexact pass asked for it.
    pub guess: bool,
}

impl Flights {
    /// Sends `call`, or joins an equal call that is on its way and was granted as much.
    pub fn board(
        self: &Arc<Self>,
        platform: &Platform,
        call: &Call,
        grant: Grant,
        bell: &Arc<Bell>,
    ) -> Result<Boarded, Error> {
        let mut under_way = self.lock();
        if let Some((flight, bells)) = under_way.get(&call.key)
            && let Some(flight) = flight.upgrade()
        {
            let enough = flight.deadline >= grant.deadline && (!flight.guess || grant.guess);
            if enough && flight.arrived.get().is_none() {
                // It leaves the map before it rings, and the map is locked: no bell is missed.
                lock(bells).push(Arc::downgrade(bell));
                return Ok(Boarded { flight, joined: true });
            }
        }
        let bells = Arc::new(Mutex::new(vec![Arc::downgrade(bell)]));
        let flight = Arc::new(Flight {
            arrived: OnceLock::new(),
            deadline: grant.deadline,
            guess: grant.guess,
            abandon: AtomicBool::new(call.function.cost != crate::builtins::Cost::Prompt),
            task: OnceLock::new(),
        });
        if under_way.len() >= 1024 {
            // Flights that were given up never landed.
            under_way.retain(|_, (flight, _)| flight.strong_count() > 0);
        }
        under_way.insert(call.key.clone(), (Arc::downgrade(&flight), Arc::clone(&bells)));
        drop(under_way);
        let task = self.task(platform, call, grant, Arc::downgrade(&flight), bells);
        let handle = platform.runtime()?.handle().spawn(task).abort_handle();
        let _ = flight.task.set(handle);
        Ok(Boarded { flight, joined: false })
    }

    fn task(
        self: &Arc<Self>,
        platform: &Platform,
        call: &Call,
        grant: Grant,
        flight: Weak<Flight>,
        bells: Arc<Mutex<Bells>>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let client = Arc::clone(platform.client());
        let (key, request) = (call.key.clone(), Arc::clone(&call.request));
        let flights = Arc::clone(self);
        async move {
            let started = Instant::now();
            let context = Context::new(grant.deadline, Some(grant.allowance));
            let result = match started.checked_duration_since(grant.deadline) {
                Some(_) => Err(Error::new(ErrorKind::TimedOut, "no time is left for the call")),
                None => request.send(&client, &context).await,
            };
            let outcome = Outcome {
                result,
                attempts: context.attempts.load(Ordering::Relaxed),
                bytes: context.bytes.load(Ordering::Relaxed),
                latency: started.elapsed(),
                cached: context.cached.load(Ordering::Relaxed),
            };
            flights.land(&key, &flight);
            if let Some(flight) = flight.upgrade() {
                let _ = flight.arrived.set(outcome);
            }
            for bell in lock(&bells).drain(..) {
                if let Some(bell) = bell.upgrade() {
                    bell.ring(&key);
                }
            }
        }
    }

    /// Takes a flight off the list, unless a newer one took its place.
    fn land(&self, key: &Key, flight: &Weak<Flight>) {
        let mut under_way = self.lock();
        if under_way.get(key).is_some_and(|(other, _)| other.ptr_eq(flight)) {
            under_way.remove(key);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, UnderWay> {
        lock(&self.under_way)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
