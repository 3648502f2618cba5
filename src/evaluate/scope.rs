//! What one pass of an evaluation carries with it: its deadline, its failure, its limits, its
//! fixed time and randomness, and who answers calls of the product's functions.
//!
//! regorus gives an extension its arguments and nothing else, and one set of extensions is shared
//! by every clone of an engine. So the scope lies in a thread-local while the pass runs on that
//! thread. It owns no thread (that is [`super::contain`]) and answers no call.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::rego::Value;

use crate::{Error, ErrorKind};

/// Answers the calls of the product's functions during a pass.
pub(crate) trait Calls: Send + Sync {
    /// Answers one call. `function` is the full name, such as `platform.discover`; `args` are
    /// complete and defined. `Value::Undefined` makes the call undefined in the policy.
    fn call(&self, function: &str, args: Vec<Value>) -> Result<Value, Error>;
}

/// How much the built-ins may make. Each limit names itself in the error it causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Elements of one array, set or object that a built-in makes out of nothing.
    pub elements: u64,
    /// Bytes of one string that a built-in makes.
    pub string: u64,
    /// Bytes that all built-ins of one pass may make together.
    pub total: u64,
    /// Bits of an integer that a built-in makes.
    pub bits: u64,
    /// Levels of nesting of a value that leaves the evaluation, as a result or an argument.
    pub depth: usize,
    /// Scalars, arrays, sets and objects in a value that leaves the evaluation, shared ones
    /// counted each time: what it takes to print it.
    pub nodes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            elements: 1_000_000,
            string: 256 << 20,
            total: 2 << 30,
            bits: 65_536,
            depth: 500,
            nodes: 20_000_000,
        }
    }
}

/// A value of a built-in that isn't the same every time: name, arguments, value. The form that
/// recordings keep.
pub(crate) type Fixed = (&'static str, Vec<Value>, Value);

/// Time and randomness of one evaluation: the same in all its passes, as OPA fixes them within
/// one query.
#[derive(Debug)]
pub(crate) struct Chance {
    now_ns: i64,
    /// Drawn when it is needed.
    seed: OnceLock<u128>,
    given: Mutex<BTreeMap<(&'static str, Vec<Value>), Value>>,
}

impl Chance {
    /// A time, and the random seed of this evaluation.
    #[cfg(test)]
    pub(crate) fn new(now_ns: i64, seed: u128) -> Self {
        Self { now_ns, seed: seed.into(), given: Mutex::default() }
    }

    /// The clock's time, and a seed that nobody can guess.
    pub(crate) fn now() -> Self {
        let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
        Self { now_ns: now, seed: OnceLock::new(), given: Mutex::default() }
    }

    /// Answers `function(args)` with `value` whenever it is called: what a replay knows.
    pub(crate) fn preset(&self, function: &'static str, args: Vec<Value>, value: Value) {
        self.lock().insert((function, args), value);
    }

    /// The values handed out so far, each once.
    pub(crate) fn given(&self) -> Vec<Fixed> {
        self.lock()
            .iter()
            .map(|((name, args), value)| (*name, args.clone(), value.clone()))
            .collect()
    }

    pub(super) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    pub(super) fn seed(&self) -> u128 {
        *self.seed.get_or_init(random)
    }

    /// The value that `function(args)` has in this evaluation, made by `make` the first time.
    pub(super) fn fixed<E>(
        &self,
        function: &'static str,
        args: &[Value],
        make: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Value, E> {
        let key = (function, args.to_vec());
        let mut given = self.lock();
        if let Some(value) = given.get(&key) {
            return Ok(value.clone());
        }
        let value = make()?;
        given.insert(key, value.clone());
        Ok(value)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, Vec<Value>), Value>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 random bits, from the keys that the standard library draws from the system for its maps.
fn random() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let half = || u128::from(RandomState::new().hash_one(Instant::now()));
    (half() << 64) | half()
}

/// What one pass carries with it.
pub(crate) struct Scope {
    deadline: Option<Instant>,
    timeout: Option<Duration>,
    strict: bool,
    limits: Limits,
    chance: Arc<Chance>,
    calls: Arc<dyn Calls>,
    failure: OnceLock<Error>,
    repeated: AtomicBool,
    site: AtomicU64,
    printed: AtomicU64,
    cancelled: AtomicBool,
    made: AtomicU64,
}

impl Scope {
    /// A scope without a deadline, with strict built-in errors and the default limits.
    pub(crate) fn new(calls: Arc<dyn Calls>, chance: Arc<Chance>) -> Self {
        Self {
            deadline: None,
            timeout: None,
            strict: true,
            limits: Limits::default(),
            chance,
            calls,
            failure: OnceLock::new(),
            repeated: AtomicBool::new(false),
            site: AtomicU64::new(u64::MAX),
            printed: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            made: AtomicU64::new(0),
        }
    }

    /// Ends the pass at `deadline`; `timeout` is what the error says was allowed.
    #[must_use]
    pub(crate) fn until(mut self, deadline: Instant, timeout: Duration) -> Self {
        self.deadline = Some(deadline);
        self.timeout = Some(timeout);
        self
    }

    /// Ends the pass `timeout` from now.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn within(self, timeout: Duration) -> Self {
        let now = Instant::now();
        match now.checked_add(timeout) {
            Some(deadline) => self.until(deadline, timeout),
            None => self,
        }
    }

    /// Whether an error of a built-in ends the evaluation (the default) or is undefined.
    /// A limit that is reached, and a call that fails, end it either way.
    #[must_use]
    pub(crate) fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Other limits for the built-ins.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// When the pass ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The first failure of the pass. It stands whatever regorus made of it.
    pub(crate) fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// Whether something was called after the first failure, and got it again.
    pub(crate) fn was_repeated(&self) -> bool {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Notes `error` unless something failed before; gives back the failure that stands.
    pub(crate) fn fail(&self, error: Error) -> Error {
        self.failure.get_or_init(|| error).clone()
    }

    /// Notes which call of the modules is being made.
    pub(super) fn note_site(&self, site: u64) {
        self.site.store(site, Ordering::Relaxed);
    }

    /// The call that was noted last.
    pub(super) fn site(&self) -> u64 {
        self.site.load(Ordering::Relaxed)
    }

    /// Whether `bytes` more may be printed when all of the pass may be `most`.
    pub(super) fn print(&self, bytes: u64, most: u64) -> bool {
        self.printed.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= most
    }

    /// Ends the pass at its next call of a function or built-in.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The failure that stands, or a new one because the pass is cancelled or out of time.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(error) = self.failure.get() {
            self.repeated.store(true, Ordering::Relaxed);
            return Err(error.clone());
        }
        if self.is_cancelled() {
            return Err(self.fail(Error::new(ErrorKind::TimedOut, "the evaluation was cancelled")));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(self.fail(self.out_of_time()));
        }
        Ok(())
    }

    /// The error of a pass that is out of time.
    pub(crate) fn out_of_time(&self) -> Error {
        match self.timeout {
            Some(timeout) => Error::timed_out("the evaluation", timeout),
            None => Error::new(ErrorKind::TimedOut, "the evaluation timed out"),
        }
        .with_hint("simplify the policy, or allow it more time")
    }

    pub(super) fn is_strict(&self) -> bool {
        self.strict
    }

    pub(crate) fn bounds(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn chance(&self) -> &Chance {
        &self.chance
    }

    pub(super) fn calls(&self) -> &dyn Calls {
        &*self.calls
    }

    /// Charges `bytes` to the pass, before they are made; the total so far when that is too much.
    pub(super) fn charge(&self, bytes: u64) -> Result<(), u64> {
        let before = self.made.fetch_add(bytes, Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        if after > self.limits.total { Err(after) } else { Ok(()) }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Scope>>> = const { RefCell::new(None) };
}

/// Runs `job` with `scope` as the scope of this thread.
pub(crate) fn with<T>(scope: Arc<Scope>, job: impl FnOnce() -> T) -> T {
    /// Puts the earlier scope back, also when `job` panics.
    struct Restore(Option<Arc<Scope>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restore = Restore(CURRENT.replace(Some(scope)));
    job()
}

/// The scope of the pass that runs on this thread.
pub(crate) fn current() -> Option<Arc<Scope>> {
    CURRENT.with_borrow(Clone::clone)
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    /// Answers every call with its arguments.
    pub(crate) struct Echo;
    impl Calls for Echo {
        fn call(&self, _: &str, args: Vec<Value>) -> Result<Value, Error> {
            Ok(Value::from(args))
        }
    }

    pub(crate) fn scope() -> Scope {
        Scope::new(Arc::new(Echo), Arc::new(Chance::new(1_700_000_000_000_000_000, 7)))
    }

    #[test]
    fn the_first_failure_stands() {
        let scope = scope();
        assert!(scope.check().is_ok());
        scope.fail(Error::new(ErrorKind::NotFound, "first"));
        let second = scope.fail(Error::new(ErrorKind::Internal, "second"));
        assert_eq!(second.kind(), ErrorKind::NotFound);
        assert_eq!(scope.check().unwrap_err().to_string(), "first");
    }

    #[test]
    fn a_deadline_and_a_cancellation_end_the_pass() {
        let late = scope().within(Duration::ZERO);
        assert_eq!(late.check().unwrap_err().kind(), ErrorKind::TimedOut);
        let cancelled = scope();
        cancelled.cancel();
        assert_eq!(cancelled.check().unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn the_scope_of_a_thread_is_put_back_after_a_panic() {
        let outer = Arc::new(scope());
        with(Arc::clone(&outer), || {
            let inner = Arc::new(scope());
            let job = std::panic::AssertUnwindSafe(|| with(inner, || panic!("inside")));
            assert!(std::panic::catch_unwind(job).is_err());
            assert!(Arc::ptr_eq(&current().unwrap(), &outer));
        });
        assert!(current().is_none());
    }

    #[test]
    fn charges_add_up() {
        let scope = scope().limits(Limits { total: 10, ..Limits::default() });
        assert_eq!(scope.charge(6), Ok(()));
        assert_eq!(scope.charge(6), Err(12));
    }
}
