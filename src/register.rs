//! The functions on a host's own [`regorus::Engine`]: each call blocks until it is answered.
//!
//! Owns the scope in which they answer. Hosts that can should use this crate's evaluation instead:
//! it gives OPA's answers, which the interpreter doesn't always (`docs/interpreter.md`), and sends
//! independent calls together.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use regorus::{Engine, Value as EngineValue};

use crate::builtins::Function;
use crate::rego::Value;
use crate::{Error, ErrorKind, NotFound, Platform};

/// The functions on an engine that was passed to [`Platform::register`]. They answer only within
/// [`run`](Self::run).
#[derive(Debug, Clone)]
pub struct Registration {
    number: u64,
}

/// The evaluation that is running on a thread.
struct Running {
    registration: u64,
    failure: Option<Error>,
}

thread_local! {
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
}

impl Registration {
    /// Evaluates with `engine`, or a clone of it. Returns the result, or the error of the first
    /// failed call, even if the interpreter ignored that failure.
    ///
    /// After a failed call every further one fails with the same error and nothing is sent. Calls
    /// on other threads fail.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let platform = rego_platform::Platform::builder().build()?;
    /// let mut engine = rego_platform::regorus::Engine::new();
    /// let registration = platform.register(&mut engine)?;
    /// let value = registration.run(&mut engine, |engine| {
    ///     engine.eval_rule("data.release.allow".to_owned())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The failed call's error; otherwise the interpreter's as [`ErrorKind::Policy`].
    pub fn run<T>(
        &self,
        engine: &mut Engine,
        evaluate: impl FnOnce(&mut Engine) -> anyhow::Result<T>,
    ) -> Result<T, Error> {
        /// Ends the scope, even if the evaluation panics.
        struct End;
        impl Drop for End {
            fn drop(&mut self) {
                RUNNING.with_borrow_mut(Vec::pop);
            }
        }
        let running = Running { registration: self.number, failure: None };
        RUNNING.with_borrow_mut(|all| all.push(running));
        let end = End;
        let result = evaluate(engine);
        let failure = RUNNING.with_borrow_mut(|all| all.last_mut().and_then(|r| r.failure.take()));
        drop(end);
        if let Some(failure) = failure {
            return Err(failure);
        }
        result.map_err(|error| {
            Error::new(ErrorKind::Policy, "the evaluation failed").with_source(error.to_string())
        })
    }
}

/// Passes the registration's evaluation on this thread to `work`, if there is one.
fn running<T>(registration: u64, work: impl FnOnce(&mut Running) -> T) -> Option<T> {
    RUNNING.with_borrow_mut(|all| {
        let found = all.iter_mut().rev().find(|running| running.registration == registration);
        found.map(work)
    })
}

impl Platform {
    /// Registers the functions on `engine` and makes its built-in errors strict.
    ///
    /// Each call blocks until it is answered; it works on plain threads and inside async runtimes
    /// of either flavour. Clones of the engine share the registration. Call it once per engine,
    /// before cloning.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when one of the names is already registered on the engine.
    pub fn register(&self, engine: &mut Engine) -> Result<Registration, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        engine.set_strict_builtin_errors(true);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        for function in self.functions().iter() {
            let name: Arc<str> = self.product().function(function.name).into();
            let (platform, full) = (self.clone(), Arc::clone(&name));
            let extension = move |arguments: Vec<EngineValue>| -> anyhow::Result<EngineValue> {
                Ok(call(&platform, number, function, &full, &arguments)?)
            };
            engine.add_extension(name.to_string(), function.arity(), Box::new(extension)).map_err(
                |_| {
                    let message = format!("`{name}` is registered on this engine already");
                    Error::new(ErrorKind::Configuration, message)
                },
            )?;
        }
        Ok(Registration { number })
    }
}

fn call(
    platform: &Platform,
    registration: u64,
    function: &Function,
    name: &Arc<str>,
    arguments: &[EngineValue],
) -> Result<EngineValue, Error> {
    match running(registration, |running| running.failure.clone()) {
        Some(Some(failure)) => return Err(failure),
        Some(None) => {}
        None => {
            let message = "called outside of the scope of its registration";
            return Err(Error::new(ErrorKind::Configuration, message)
                .with_hint("evaluate within `Registration::run`, on the thread that called it")
                .in_call(Arc::clone(name)));
        }
    }
    let answer = arguments
        .iter()
        .map(from_engine)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|arguments| function.request(platform.product(), &arguments))
        .and_then(|request| platform.send(name, request, platform.call_deadline()))
        .and_then(|answer| to_engine(&answer.value));
    match answer {
        Ok(value) => Ok(value),
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && platform.not_found() == NotFound::Undefined =>
        {
            Ok(EngineValue::Undefined)
        }
        Err(error) => {
            let error = error.in_call(Arc::clone(name));
            running(registration, |running| running.failure = Some(error.clone()));
            Err(error)
        }
    }
}

/// Converts an argument without loss.
fn from_engine(value: &EngineValue) -> Result<Value, Error> {
    match value {
        EngineValue::Set(items) => {
            let items: Result<std::collections::BTreeSet<_>, _> =
                items.iter().map(from_engine).collect();
            Ok(Value::from(items?))
        }
        other => {
            let text = other.to_json_str().map_err(|error| {
                Error::new(ErrorKind::InvalidArgument, "an argument has no JSON form")
                    .with_source(error.to_string())
            })?;
            Value::from_json(&text).map_err(|error| {
                Error::new(ErrorKind::InvalidArgument, "an argument has no JSON form")
                    .with_source(error)
            })
        }
    }
}

fn to_engine(value: &Value) -> Result<EngineValue, Error> {
    EngineValue::from_json_str(&value.to_json()).map_err(|error| {
        Error::new(ErrorKind::Internal, "an answer has no form in the interpreter")
            .with_source(error.to_string())
    })
}
