//! Time and randomness of an evaluation, which all its passes share.
//!
//! Owns the values that were handed out, for recordings, and those of a replay.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Mutex;

use crate::rego::Value;
use crate::rego::internal::builtins;
use crate::rego::value::Number;

/// A value of a nondeterministic built-in: name, arguments, value. Recordings keep values in this
/// form.
pub(crate) type Fixed = (&'static str, Vec<Value>, Value);

/// The nondeterministic built-ins whose values recordings contain, in addition to calls of functions.
pub(crate) const NONDETERMINISTIC: [&str; 3] = [NOW, "uuid.rfc4122", "rand.intn"];

/// The built-in that returns the time.
pub(crate) const NOW: &str = "time.now_ns";

/// Time and randomness of one evaluation: the same in all its passes, as in one query of OPA.
#[derive(Debug)]
pub(crate) struct Environment {
    now_ns: i64,
    /// Drawn on first use.
    seed: OnceLock<u64>,
    given: Mutex<BTreeMap<(&'static str, Vec<Value>), Value>>,
}

impl Environment {
    /// Creates an environment with the current time and an unpredictable seed.
    pub(crate) fn now() -> Self {
        let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
        Self { now_ns: now, seed: OnceLock::new(), given: Mutex::default() }
    }

    /// Returns the time of the evaluation, which is handed out from now on: some built-ins verify
    /// signatures with it, without a call of `time.now_ns`.
    pub(crate) fn now_ns(&self) -> i64 {
        let now = Value::from(self.now_ns);
        let mut given = self.given.lock();
        let given = given.entry((NOW, Vec::new())).or_insert(now);
        given.as_number().and_then(Number::as_i64).unwrap_or(self.now_ns)
    }

    /// Sets the value of `function(args)`, for a replay.
    pub(crate) fn preset(&self, function: &'static str, args: Vec<Value>, value: Value) {
        self.given.lock().insert((function, args), value);
    }

    /// Returns the values handed out so far, each once.
    pub(crate) fn given(&self) -> Vec<Fixed> {
        let given = self.given.lock();
        given.iter().map(|((name, args), value)| (*name, args.clone(), value.clone())).collect()
    }

    /// Returns the number for `key`, the same whenever it is asked for.
    pub(crate) fn random(&self, key: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed(), key).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the value of a nondeterministic built-in: the one handed out before, or a new one from
    /// `make`.
    ///
    /// # Errors
    /// The error of `make`.
    pub(crate) fn fixed(
        &self,
        function: &'static str,
        args: &[Value],
        make: &mut dyn FnMut() -> builtins::Answer,
    ) -> builtins::Answer {
        if !NONDETERMINISTIC.contains(&function) {
            return make();
        }
        let key = (function, args.to_vec());
        if let Some(value) = self.given.lock().get(&key) {
            return Ok(Some(value.clone()));
        }
        let answer = make()?;
        if let Some(value) = &answer {
            self.given.lock().insert(key, value.clone());
        }
        Ok(answer)
    }

    /// Returns the value of a nondeterministic built-in that was handed out before.
    pub(crate) fn known(&self, function: &'static str, args: &[Value]) -> Option<Value> {
        self.given.lock().get(&(function, args.to_vec())).cloned()
    }

    fn seed(&self) -> u64 {
        *self.seed.get_or_init(|| RandomState::new().hash_one(Instant::now()))
    }
}
