//! Calls in flight: equal calls made at the same time share one request.
//!
//! Owns the single flight of all evaluations that share a platform, and the answers that evaluations
//! share (`shared`). The request behind a call is given as a future. An answer that has arrived is
//! remembered by the evaluation that asked.

mod shared;

use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tracing::{Instrument as _, Span};

use crate::call::{Allowance, Answer, Context, Cost};
use crate::observe::{CallSpan, Observers};
use crate::runtime::panicked;
use crate::{Error, Limit, TraceParent};
use shared::Shared;

/// The identity of a call: the function and its normalised arguments.
///
/// The arguments have the form of OPA's decision logs, which recordings use too: the JSON text of
/// the argument array, compact, with sorted keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The full name, such as `platform.discover`.
    pub function: Arc<str>,
    pub arguments: Arc<str>,
}

/// The outcome of a call, with its cost.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    pub result: Result<Answer, Error>,
    pub attempts: u32,
    pub bytes: u64,
    /// The approximate memory of the response's value, in bytes. A value has all fields, even if the text has
    /// few.
    pub memory: u64,
    pub latency: Duration,
    /// `true` if the content came from the cache or the artifact store.
    pub kept: bool,
}

/// A call in flight, or its outcome. It is aborted when the last evaluation that waits for it drops
/// it.
#[derive(Debug)]
pub struct Flight {
    arrived: OnceLock<CallOutcome>,
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
    pub fn outcome(&self) -> Option<&CallOutcome> {
        self.arrived.get()
    }

    /// Returns the time at which its sender stops waiting.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// Wakes an evaluation that waits for several flights, and reports the arrived ones.
#[derive(Debug, Default)]
pub struct Notifier {
    arrivals: Mutex<Arrivals>,
    waiting: Arc<AtomicWaker>,
}

/// The arrived calls, and the number of expected ones.
#[derive(Debug, Default)]
struct Arrivals {
    keys: Vec<Key>,
    last: Option<Instant>,
    wanted: usize,
}

impl Notifier {
    fn notify(&self, key: &Key) {
        let enough = {
            let mut arrivals = self.arrivals.lock();
            arrivals.keys.push(key.clone());
            arrivals.last = Some(Instant::now());
            arrivals.keys.len() >= arrivals.wanted
        };
        if enough {
            self.waiting.wake();
        }
    }

    /// Returns the waker that is woken when a call arrives.
    pub fn waker(&self) -> &Arc<AtomicWaker> {
        &self.waiting
    }

    /// Waits until `wanted` calls have arrived, until `until`, or until `is_over` returns `true`.
    /// Returns the calls that arrived since the last time, and when the last of them did. The timer
    /// runs on `runtime`, whichever runtime polls this future.
    ///
    /// The evaluation isn't woken for each of many calls: that would cost a switch of threads each.
    pub async fn wait(
        &self,
        runtime: &Handle,
        until: Instant,
        wanted: usize,
        is_over: impl Fn() -> bool,
    ) -> (Vec<Key>, Option<Instant>) {
        let timer = {
            let _entered = runtime.enter();
            tokio::time::sleep_until(until.into())
        };
        let mut timer = pin!(timer);
        poll_fn(|cx| {
            self.waiting.register(cx.waker());
            let mut arrivals = self.arrivals.lock();
            arrivals.wanted = wanted;
            let enough = arrivals.keys.len() >= wanted || is_over();
            if enough || timer.as_mut().poll(cx).is_ready() {
                return Poll::Ready((std::mem::take(&mut arrivals.keys), arrivals.last));
            }
            Poll::Pending
        })
        .await
    }
}

type Notifiers = Arc<Mutex<Vec<Weak<Notifier>>>>;

/// The calls in flight of all evaluations that share a platform.
#[derive(Debug, Default)]
pub struct Flights {
    registry: Mutex<Registry>,
    shared: Option<Shared>,
}

#[derive(Debug, Default)]
struct Registry {
    flights: HashMap<Key, (Weak<Flight>, Notifiers)>,
    /// The number of entries at which those of aborted flights are removed.
    sweep_at: usize,
}

/// A call in flight, as one of its evaluations sees it.
#[derive(Debug)]
pub struct InFlightCall {
    pub flight: Arc<Flight>,
    /// `true` if the call of another evaluation was joined, whose allowance it uses.
    pub joined: bool,
}

/// The properties of a call that matter for sharing it.
#[derive(Clone, Copy)]
pub struct SharedCall<'a> {
    pub key: &'a Key,
    pub cost: Cost,
    /// `true` if equal calls of all evaluations can share a response.
    pub shared: bool,
}

/// The resources of an evaluation for a call that it sends.
pub struct Grant {
    pub deadline: Instant,
    pub allowance: Option<Arc<Allowance>>,
    /// The allowance for the memory of the response's value. A response that it isn't enough for is dropped
    /// as soon as it arrives.
    pub memory: Option<Arc<Allowance>>,
    /// The parent of its requests in the sender's trace.
    pub trace: Option<TraceParent>,
    /// The observers that are notified of its outcome.
    pub observer: Observers,
}

impl Flights {
    /// Creates an empty set of flights. Unless `lifetime` is zero, answers are shared with later
    /// evaluations for that long.
    pub fn new(lifetime: Duration) -> Self {
        let shared = (!lifetime.is_zero()).then(|| Shared::new(lifetime));
        Self { registry: Mutex::default(), shared }
    }

    /// Returns the response of an earlier evaluation, if the host lets evaluations share responses.
    pub fn remembered(&self, key: &Key) -> Option<CallOutcome> {
        self.shared.as_ref()?.get(key)
    }

    /// Returns the number of calls in flight.
    pub fn in_flight(&self) -> usize {
        let registry = self.registry.lock();
        registry.flights.values().filter(|(flight, _)| flight.strong_count() > 0).count()
    }

    /// Sends a call by `send` on `runtime`, or joins an equal call in flight of any evaluation. A
    /// joined call may fail because of its sender's limits; the caller has to tell such failures
    /// apart.
    pub fn join_or_send<F>(
        self: &Arc<Self>,
        call: SharedCall<'_>,
        runtime: &Handle,
        grant: Grant,
        notifier: &Arc<Notifier>,
        send: impl FnOnce(Arc<Context>) -> F + Send + 'static,
    ) -> InFlightCall
    where
        F: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let mut registry = self.registry.lock();
        // Others are sent once for each evaluation.
        if call.shared
            && let Some((flight, notifiers)) = registry.flights.get(call.key)
            && let Some(flight) = flight.upgrade()
        {
            // A flight leaves the map before it notifies, and the map is locked here: no
            // notification is missed.
            notifiers.lock().push(Arc::downgrade(notifier));
            Span::current().follows_from(&flight.span);
            return InFlightCall { flight, joined: true };
        }
        let notifiers = Arc::new(Mutex::new(vec![Arc::downgrade(notifier)]));
        let calling = CallSpan::begin(&call.key.function, &grant.observer);
        let span = calling.span.clone();
        let flight = Arc::new(Flight {
            arrived: OnceLock::new(),
            deadline: grant.deadline,
            task: OnceLock::new(),
            span: span.clone(),
        });
        if call.shared {
            registry.add(call.key, &flight, &notifiers);
        }
        drop(registry);
        // A prompt may cost money once it is sent. Its task keeps the flight alive, so that it
        // isn't aborted and equal calls join it meanwhile.
        let held = (call.cost == Cost::Prompt).then(|| Arc::clone(&flight));
        let task = self.task(call, grant, Arc::downgrade(&flight), notifiers, calling, send);
        let task = runtime.spawn(
            async move {
                task.await;
                drop(held);
            }
            .instrument(span),
        );
        let _ = flight.task.set(task.abort_handle());
        InFlightCall { flight, joined: false }
    }

    fn task<F>(
        self: &Arc<Self>,
        call: SharedCall<'_>,
        grant: Grant,
        flight: Weak<Flight>,
        notifiers: Notifiers,
        calling: CallSpan,
        send: impl FnOnce(Arc<Context>) -> F + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static
    where
        F: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let key = call.key.clone();
        let shares = call.shared && call.cost == Cost::Request;
        let flights = Arc::clone(self);
        async move {
            let started = Instant::now();
            let context = Context::new(grant.deadline, grant.allowance)
                .traced(grant.trace)
                .observed(grant.observer);
            let context = Arc::new(context);
            let mut result = match started.checked_duration_since(grant.deadline) {
                Some(_) => Err(Error::timed_out("no time is left for the call")),
                // A panic must reach the waiting evaluations as an error.
                None => AssertUnwindSafe(send(Arc::clone(&context)))
                    .catch_unwind()
                    .await
                    .unwrap_or_else(|_| Err(panicked("the call"))),
            };
            let mut memory = result.as_ref().map_or(0, |answer| answer.value.size());
            if let Some(allowance) = grant.memory.filter(|allowance| !allowance.take(memory)) {
                (result, memory) = (Err(allowance.used_up().at_limit(Limit::Memory)), 0);
            }
            let (attempts, bytes) = context.used();
            calling.end(attempts, bytes, result.as_ref().err().map(Error::kind));
            let outcome = CallOutcome {
                memory,
                result,
                attempts,
                bytes,
                latency: started.elapsed(),
                kept: context.kept.load(Ordering::Relaxed),
            };
            if let Some(shared) = flights.shared.as_ref().filter(|_| shares) {
                shared.put(&key, &outcome);
            }
            flights.deliver(&key, &flight);
            if let Some(flight) = flight.upgrade() {
                let _ = flight.arrived.set(outcome);
            }
            for notifier in notifiers.lock().drain(..) {
                if let Some(notifier) = notifier.upgrade() {
                    notifier.notify(&key);
                }
            }
        }
    }

    /// Removes a flight from the map, unless a newer one has taken its place.
    fn deliver(&self, key: &Key, flight: &Weak<Flight>) {
        let mut registry = self.registry.lock();
        if registry.flights.get(key).is_some_and(|(other, _)| other.ptr_eq(flight)) {
            registry.flights.remove(key);
        }
    }
}

impl Registry {
    fn add(&mut self, key: &Key, flight: &Arc<Flight>, notifiers: &Notifiers) {
        if self.flights.len() >= self.sweep_at.max(64) {
            // Aborted flights never remove themselves.
            self.flights.retain(|_, (flight, _)| flight.strong_count() > 0);
            self.sweep_at = self.flights.len() * 2;
        }
        self.flights.insert(key.clone(), (Arc::downgrade(flight), Arc::clone(notifiers)));
    }
}
