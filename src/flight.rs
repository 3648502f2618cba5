//! Calls on their way: one request for equal calls that are made at the same moment.
//!
//! Owns single flight over everything that shares a platform, and answers that evaluations share
//! (`shared`). It knows nothing of what carries a call, which is given as a future. An answer that
//! has come belongs to the evaluation that asked.

mod shared;

use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::task::AtomicWaker;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tracing::{Instrument as _, Span};

use crate::builtins::{Answer, Cost};
use crate::client::{Allowance, Context};
use crate::observe::{Calling, Observers};
use crate::{Error, ErrorKind, TraceParent};
use shared::Shared;

/// What makes calls equal: the function and its normalised arguments.
///
/// The arguments are in the form of OPA's decision logs: the JSON text of the argument array,
/// keys sorted, compact. It is the form of recordings too.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The full name, such as `platform.discover`.
    pub function: Arc<str>,
    pub arguments: Arc<str>,
}

/// The result of a call, with what it took.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub result: Result<Answer, Error>,
    pub attempts: u32,
    pub bytes: u64,
    pub latency: Duration,
    /// True if the content came from the cache.
    pub cached: bool,
}

/// A call on its way, or arrived. Dropped by everybody who waits for it, it is given up.
#[derive(Debug)]
pub(crate) struct Flight {
    arrived: OnceLock<Outcome>,
    deadline: Instant,
    task: OnceLock<AbortHandle>,
    span: Span,
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl Flight {
    pub fn outcome(&self) -> Option<&Outcome> {
        self.arrived.get()
    }

    /// When whoever sent it gives up waiting.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// Wakes an evaluation that waits for several flights, and says which arrived.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    arrived: Mutex<Vec<Key>>,
    waiting: Arc<AtomicWaker>,
}

impl Bell {
    fn ring(&self, key: &Key) {
        lock(&self.arrived).push(key.clone());
        self.waiting.wake();
    }

    /// What is woken when something arrives.
    pub fn waker(&self) -> &Arc<AtomicWaker> {
        &self.waiting
    }

    /// What arrived since the last time, as soon as there is something; nothing once it is
    /// `until`, or `is_over`. The timer is that of `runtime`, wherever this is polled.
    pub async fn wait(
        &self,
        runtime: &Handle,
        until: Instant,
        is_over: impl Fn() -> bool,
    ) -> Vec<Key> {
        let timer = {
            let _entered = runtime.enter();
            tokio::time::sleep_until(until.into())
        };
        let mut timer = pin!(timer);
        poll_fn(|cx| {
            self.waiting.register(cx.waker());
            let arrived = std::mem::take(&mut *lock(&self.arrived));
            if !arrived.is_empty() || is_over() {
                return Poll::Ready(arrived);
            }
            timer.as_mut().poll(cx).map(|()| Vec::new())
        })
        .await
    }
}

type Bells = Arc<Mutex<Vec<Weak<Bell>>>>;

/// The calls on their way of everything that shares a platform.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    under_way: Mutex<UnderWay>,
    shared: Option<Shared>,
}

#[derive(Debug, Default)]
struct UnderWay {
    flights: HashMap<Key, (Weak<Flight>, Bells)>,
    /// At how many flights those that were given up are looked for.
    sweep_at: usize,
}

/// A place on a flight.
#[derive(Debug)]
pub(crate) struct Boarded {
    pub flight: Arc<Flight>,
    /// True if another call's grant pays for it.
    pub joined: bool,
}

/// A call as far as flights are concerned.
#[derive(Clone, Copy)]
pub(crate) struct SharedCall<'a> {
    pub key: &'a Key,
    pub cost: Cost,
    /// True if sending it changes nothing, so that equal calls can be one.
    pub reads: bool,
}

/// What an evaluation grants a call that it sends.
pub(crate) struct Grant {
    pub deadline: Instant,
    pub allowance: Option<Arc<Allowance>>,
    /// Where its requests belong in the sender's trace.
    pub trace: Option<TraceParent>,
    /// Who is told how it ended.
    pub observer: Observers,
}

impl Flights {
    /// Flights whose answers are remembered for `lifetime`, if that is not zero.
    pub fn new(lifetime: Duration) -> Self {
        let shared = (!lifetime.is_zero()).then(|| Shared::new(lifetime));
        Self { under_way: Mutex::default(), shared }
    }

    /// The answer of an earlier evaluation, where the host lets evaluations share them.
    pub fn remembered(&self, key: &Key) -> Option<Outcome> {
        self.shared.as_ref()?.get(key)
    }

    /// The number of calls that are on their way.
    pub fn under_way(&self) -> usize {
        let under_way = lock(&self.under_way);
        under_way.flights.values().filter(|(flight, _)| flight.strong_count() > 0).count()
    }

    /// Sends a call by `send` on `runtime`, or joins an equal call that is on its way, whoever
    /// sent it: what it fails with because of the sender's limits is for the caller to tell apart.
    pub fn board<F>(
        self: &Arc<Self>,
        call: SharedCall<'_>,
        runtime: &Handle,
        grant: Grant,
        bell: &Arc<Bell>,
        send: impl FnOnce(Arc<Context>) -> F + Send + 'static,
    ) -> Boarded
    where
        F: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let mut under_way = lock(&self.under_way);
        // What changes something is sent for each that asks.
        if call.reads
            && let Some((flight, bells)) = under_way.flights.get(call.key)
            && let Some(flight) = flight.upgrade()
        {
            // It leaves the map before it rings, and the map is locked: no bell is missed.
            lock(bells).push(Arc::downgrade(bell));
            Span::current().follows_from(&flight.span);
            return Boarded { flight, joined: true };
        }
        let bells = Arc::new(Mutex::new(vec![Arc::downgrade(bell)]));
        let calling = Calling::begin(&call.key.function, &grant.observer);
        let span = calling.span.clone();
        let flight = Arc::new(Flight {
            arrived: OnceLock::new(),
            deadline: grant.deadline,
            task: OnceLock::new(),
            span: span.clone(),
        });
        if call.reads {
            under_way.add(call.key, &flight, &bells);
        }
        drop(under_way);
        // Once money may have been spent, a flight holds itself: it isn't given up, and whoever
        // asks the same meanwhile joins it.
        let held = (call.cost == Cost::Prompt).then(|| Arc::clone(&flight));
        let task = self.task(call, grant, Arc::downgrade(&flight), bells, calling, send);
        let task = runtime.spawn(
            async move {
                task.await;
                drop(held);
            }
            .instrument(span),
        );
        let _ = flight.task.set(task.abort_handle());
        Boarded { flight, joined: false }
    }

    fn task<F>(
        self: &Arc<Self>,
        call: SharedCall<'_>,
        grant: Grant,
        flight: Weak<Flight>,
        bells: Bells,
        calling: Calling,
        send: impl FnOnce(Arc<Context>) -> F + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static
    where
        F: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let key = call.key.clone();
        let shares = call.cost == Cost::Request;
        let flights = Arc::clone(self);
        async move {
            let started = Instant::now();
            let context = Context::new(grant.deadline, grant.allowance).traced(grant.trace);
            let context = Arc::new(context);
            let result = match started.checked_duration_since(grant.deadline) {
                Some(_) => Err(Error::new(ErrorKind::TimedOut, "no time is left for the call")),
                // Whoever waits must hear of a panic too.
                None => AssertUnwindSafe(send(Arc::clone(&context)))
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|_| {
                        Err(Error::new(ErrorKind::Internal, "the call panicked on its way"))
                    }),
            };
            let (attempts, bytes) = context.taken();
            calling.end(attempts, bytes, result.as_ref().err().map(Error::kind));
            let outcome = Outcome {
                result,
                attempts,
                bytes,
                latency: started.elapsed(),
                cached: context.cached.load(Ordering::Relaxed),
            };
            if let Some(shared) = flights.shared.as_ref().filter(|_| shares) {
                shared.put(&key, &outcome);
            }
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
        let mut under_way = lock(&self.under_way);
        if under_way.flights.get(key).is_some_and(|(other, _)| other.ptr_eq(flight)) {
            under_way.flights.remove(key);
        }
    }
}

impl UnderWay {
    fn add(&mut self, key: &Key, flight: &Arc<Flight>, bells: &Bells) {
        if self.flights.len() >= self.sweep_at.max(64) {
            // Flights that were given up never landed.
            self.flights.retain(|_, (flight, _)| flight.strong_count() > 0);
            self.sweep_at = self.flights.len() * 2;
        }
        self.flights.insert(key.clone(), (Arc::downgrade(flight), Arc::clone(bells)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
