//! The functions on an engine of the host's own: each call blocks until it is answered.
//!
//! Owns the sticky failure of such evaluations. Hosts that can should use this crate's own
//! evaluation instead, which also loads policies soundly and lets calls travel together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use regorus::{Engine, Value};

use crate::builtins::Function;
use crate::{Error, ErrorKind, NotFound, Platform};

/// The failures of evaluations on an engine that [`Platform::register`] was called with.
///
/// **Ask after every evaluation, on the thread that evaluated**, with [`check`](Self::check) or
/// [`failure`](Self::failure). The interpreter can swallow the error of a function (a second
/// definition of a function that calls it is enough): an evaluation whose `failure` isn't asked
/// for can pass although a call failed. Until it is asked for, the failure stays: every further
/// call on that thread returns it without sending anything.
#[derive(Debug, Clone)]
pub struct Registration {
    failures: Arc<Mutex<HashMap<ThreadId, Error>>>,
}

impl Registration {
    /// The failure of the last evaluation on this thread, if one of its calls failed; asking
    /// clears it, so that the next evaluation starts afresh.
    #[must_use = "a failed call doesn't always end the evaluation with an error"]
    pub fn failure(&self) -> Option<Error> {
        self.lock().remove(&std::thread::current().id())
    }

    /// Turns the result of an evaluation into what it is worth: the failed call's error where
    /// there was one, whatever the interpreter made of it.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let platform = rego_platform::Platform::builder().build()?;
    /// let mut engine = rego_platform::regorus::Engine::new();
    /// let registration = platform.register(&mut engine)?;
    /// let value = registration.check(engine.eval_rule("data.release.allow".to_owned()))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The failed call's error; otherwise the interpreter's as [`ErrorKind::Policy`].
    pub fn check<T>(&self, result: anyhow::Result<T>) -> Result<T, Error> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        result.map_err(|error| {
            Error::new(ErrorKind::Policy, "the evaluation failed").with_source(error.to_string())
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ThreadId, Error>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Platform {
    /// Registers the functions on `engine` and makes its built-in errors strict.
    ///
    /// Each call blocks until it is answered; it works on plain threads and inside async runtimes
    /// of either flavour. Clones of the engine share the registration. Call it once per engine,
    /// before cloning.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] when one of the names is registered on the engine already.
    pub fn register(&self, engine: &mut Engine) -> Result<Registration, Error> {
        engine.set_strict_builtin_errors(true);
        let registration = Registration { failures: Arc::default() };
        for function in self.functions().iter() {
            let name: Arc<str> = self.product().function(function.name).into();
            let state = (self.clone(), registration.clone(), Arc::clone(&name));
            let extension = move |arguments: Vec<Value>| -> anyhow::Result<Value> {
                let (platform, registration, name) = &state;
                Ok(call(platform, registration, function, name, &arguments)?)
            };
            engine.add_extension(name.to_string(), function.arity(), Box::new(extension)).map_err(
                |_| {
                    let message = format!("`{name}` is registered on this engine already");
                    Error::new(ErrorKind::Configuration, message)
                },
            )?;
        }
        Ok(registration)
    }
}

fn call(
    platform: &Platform,
    registration: &Registration,
    function: &Function,
    name: &Arc<str>,
    arguments: &[Value],
) -> Result<Value, Error> {
    let thread = std::thread::current().id();
    if let Some(failure) = registration.lock().get(&thread) {
        return Err(failure.clone());
    }
    let answer = function
        .request(arguments)
        .and_then(|request| platform.send(request, platform.call_deadline()));
    match answer {
        Ok(answer) => Ok(answer.value),
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && platform.not_found() == NotFound::Undefined =>
        {
            Ok(Value::Undefined)
        }
        Err(error) => {
            let error = error.in_call(Arc::clone(name));
            registration.lock().insert(thread, error.clone());
            Err(error)
        }
    }
}
