//! The functions for an interpreter of the host's own.
//!
//! [`Platform::registration`] has them for any interpreter, without a type of it in the signatures;
//! `Platform::register` puts them on a `regorus::Engine`, and `Platform::regorus` has an engine of its
//! own. An evaluation runs in passes, as those of [`Policies`](crate::evaluate::Policies) do, with the
//! same options: independent calls travel together, a failed call ends it whatever the policy makes of
//! the failure, and what it used can be recorded and replayed.
//!
//! Owns the part of the public interface that needs no interpreter. The calls of a pass belong to
//! `running`; regorus to `engine`, `host`, `check` and `values`.

#[cfg(feature = "regorus-core")]
mod check;
#[cfg(feature = "regorus-core")]
mod engine;
#[cfg(feature = "regorus-core")]
mod host;
mod running;
#[cfg(feature = "regorus-core")]
mod second;
#[cfg(feature = "regorus-core")]
mod stand_ins;
#[cfg(feature = "regorus-core")]
mod values;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::evaluate::{
    Callable, Ended, EvaluateOptions, Evaluation, HostFunction, Ledger, PassOutcome, Pool, Record,
    Recording, Scope, cancel_on_drop,
};
use crate::load::LoadOptions;
use crate::observe::EvaluationSpan;
use crate::rego::Value;
use crate::runtime::refuse_blocking;
use crate::{Error, Platform};

#[cfg(feature = "regorus-core")]
pub use host::RegorusHost;
use parking_lot::Mutex;
use running::RunningPass;

/// The functions for an interpreter: those of the service, the host's, and those of Rego's own whose
/// results the passes of an evaluation must agree on. Cheap to clone and usable from any thread.
///
/// Evaluation with any interpreter takes three steps: register each of [`functions`](Self::functions),
/// with a closure that converts the values and calls [`call`](Self::call); check the policies, as with
/// [`Policies::load`](crate::evaluate::Policies::load); evaluate within [`passes`](Self::passes).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rego_platform::evaluate::{Answers, EvaluateOptions, HostFunction};
/// use rego_platform::{Platform, Value};
///
/// let platform = Platform::builder().build()?;
/// let double = HostFunction::asynchronous("acme.double", 1, |arguments| async move {
///     let text = arguments.first().and_then(Value::as_str).unwrap_or_default();
///     Ok(Value::from(text.repeat(2)))
/// });
/// let registration = platform.registration([double])?;
/// assert!(registration.functions().any(|function| function == ("acme.double", 1)));
/// assert!(registration.functions().any(|function| function == ("platform.discover", 2)));
///
/// // In place of an interpreter: two calls, which travel together.
/// let evaluated = registration.passes(&platform.options(), || {
///     let one = registration.call("acme.double", &["a".into()])?;
///     let other = registration.call("acme.double", &["b".into()])?;
///     Ok::<_, rego_platform::Error>((one, other))
/// });
/// assert_eq!(evaluated.ledger.passes, 2);
/// assert_eq!(evaluated.result?, (Some("aa".into()), Some("bb".into())));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Registration {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Distinguishes the functions of two registrations on one thread.
    number: u64,
    platform: Option<Platform>,
    /// Set if calls outside of an evaluation are answered by the platform.
    direct: bool,
    options: LoadOptions,
    callable: Callable,
    functions: Vec<(Arc<str>, u8)>,
}

/// The result of an evaluation in passes, with its prints and its ledger.
#[derive(Debug)]
#[non_exhaustive]
pub struct Evaluated<T> {
    /// The value that the closure returned in the exact pass, or the error that ended the evaluation.
    pub result: Result<T, Error>,
    /// The policy's `print` output, as regorus formats it: `file:line: text`. Empty for other interpreters.
    pub prints: Vec<String>,
    /// The calls that it made.
    pub ledger: Ledger,
    record: Record,
}

impl<T> Evaluated<T> {
    /// Returns a recording with everything that a replay of this evaluation needs.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when an answer has no JSON text, [`ErrorKind::Internal`](crate::ErrorKind::Internal) when it can't
    /// be recorded.
    pub fn recording(&self) -> Result<Recording, Error> {
        self.record.recording()
    }

    fn failed(error: Error) -> Self {
        let (ledger, record) = (Ledger::default(), Record::default());
        Self { result: Err(error), prints: Vec::new(), ledger, record }
    }

    fn of(ended: Ended<PassResult<T>>) -> Self {
        let Ended { result, ledger, record } = ended;
        let result = result.and_then(|PassResult(result)| result);
        Self { result, prints: Vec::new(), ledger, record }
    }
}

/// The result of the closure in one pass.
struct PassResult<T>(Result<T, Error>);

impl<T> PassOutcome for PassResult<T> {
    fn failure(&self) -> Option<&Error> {
        self.0.as_ref().err()
    }
}

/// An error of a closure that evaluates.
type Source = Box<dyn std::error::Error + Send + Sync>;

/// The stack of a pass, in bytes: interpreters that recurse need more for a deep policy than threads have. The
/// memory is only taken as it is used.
const STACK: usize = 256 << 20;

/// A closure that is run once a pass.
struct Closure<F> {
    evaluate: F,
    /// The error after which it isn't run again.
    panicked: Option<Error>,
}

impl<F> Closure<F> {
    fn new(evaluate: F) -> Self {
        Self { evaluate, panicked: None }
    }

    /// Runs one pass.
    fn pass<T, E: Into<Source>>(&mut self, running: RunningPass) -> PassResult<T>
    where
        F: FnMut() -> Result<T, E>,
    {
        if let Some(error) = &self.panicked {
            return PassResult(Err(error.clone()));
        }
        let running = Rc::new(running);
        let evaluate = || stacker::grow(STACK, || running::within(&running, &mut self.evaluate));
        let evaluate = AssertUnwindSafe(evaluate);
        let Ok(result) = catch_unwind(evaluate) else {
            let error =
                Error::internal("the evaluation panicked, in the closure or the interpreter");
            self.panicked = Some(error.clone());
            return PassResult(Err(error));
        };
        // A failed call counts whatever the interpreter made of it, and so does time that has run out.
        let _ = running.scope.check_running();
        if let Some(failure) = running.scope.failure() {
            return PassResult(Err(failure.clone()));
        }
        PassResult(result.map_err(|error| match error.into().downcast::<Error>() {
            Ok(own) => *own,
            Err(error) => Error::policy_failed(error.to_string()).with_source(error),
        }))
    }
}

impl Platform {
    /// Returns the functions for an interpreter of the host's, with `functions` of the host beside those of the
    /// service. Asynchronous ones are batched, remembered within an evaluation and recorded.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when the name of a function isn't valid or already taken.
    pub fn registration(
        &self,
        functions: impl IntoIterator<Item = HostFunction>,
    ) -> Result<Registration, Error> {
        let mut options = LoadOptions::of_platform(self);
        options.host_functions = functions.into_iter().collect();
        Registration::new(options, Some(self.clone()), false)
    }
}

impl Registration {
    fn new(options: LoadOptions, platform: Option<Platform>, direct: bool) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let wrong = HostFunction::invalid(&options.host_functions, &options.product);
        if !wrong.is_empty() {
            return Err(Error::policy(wrong));
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let service = options
            .enabled
            .iter()
            .map(|function| (options.product.function(function.name).into(), function.arity()));
        let host = options.host_functions.iter();
        let host = host.map(|function| (Arc::from(function.name()), function.arity()));
        let functions = service.chain(host).collect();
        let callable = Callable::new(options.product.clone(), options.host_functions.clone());
        let inner = Inner { number, platform, direct, options, callable, functions };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the name and the number of arguments of each function that the interpreter has to have:
    /// those of the service, those of the host, and in place of Rego's own `time.now_ns`, `uuid.rfc4122`,
    /// `rand.intn`, `http.send` and `net.lookup_ip_addr`.
    pub fn functions(&self) -> impl Iterator<Item = (&str, u8)> {
        let own = self.inner.functions.iter().map(|(name, arity)| (&**name, *arity));
        own.chain(running::shared_builtins().map(|(builtin, arity)| (builtin.name, arity)))
    }

    /// Calls one of the [`functions`](Self::functions), for the interpreter's function of that name. `None`
    /// stands for undefined.
    ///
    /// # Errors
    /// That of the call; the interpreter should end with it. [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) outside of the
    /// closure of [`passes`](Self::passes) or on another thread than the closure's.
    pub fn call(&self, name: &str, arguments: &[Value]) -> Result<Option<Value>, Error> {
        if let Some((builtin, _)) = running::shared_builtins().find(|known| known.0.name == name) {
            return running::call_builtin(builtin, arguments);
        }
        let known = self.inner.functions.iter().find(|known| *known.0 == *name);
        let (name, _) = known.ok_or_else(|| {
            let message = format!("unknown function: `{}`", crate::text::escape(name));
            Error::invalid_argument(message)
        })?;
        running::call(&self.inner, name, arguments)
    }

    /// Returns the time at which the pass that is running on this thread must end; `None` outside of one. For
    /// interpreters with a timer.
    pub fn deadline(&self) -> Option<Instant> {
        running::deadline(self.inner.number)
    }

    /// Evaluates in passes, and waits for the result. `evaluate` runs once a pass, and calls of the interpreter
    /// are answered by [`call`](Self::call) on its thread; only the last pass gives the result. So it must have
    /// no effect beside its result, and mustn't look at the clock.
    ///
    /// An evaluation ends with the first call that failed, whatever the interpreter made of the failure, and with
    /// the budget's time, as soon as `evaluate` calls a function or returns.
    ///
    /// Works on any thread, even inside an async runtime, whose thread it then blocks.
    ///
    /// The options `coverage` and `reached` are refused ([`ErrorKind::Configuration`](crate::ErrorKind::Configuration)): they need this crate's engine.
    pub fn passes<T, E: Into<Source>>(
        &self,
        options: &EvaluateOptions,
        evaluate: impl FnMut() -> Result<T, E>,
    ) -> Evaluated<T> {
        let span = span(options);
        if let Err(error) = refuse_blocking().and_then(|()| self.check_options(options)) {
            return refused(span, error);
        }
        let mut closure = Closure::new(evaluate);
        let evaluation = Evaluation::new(&self.inner.callable, options, true, span);
        Evaluated::of(evaluation.run(|scope| closure.pass(self.running(scope, options))))
    }

    /// Evaluates in passes as [`passes`](Self::passes) does, without blocking the calling task, and without
    /// holding a thread while it waits for the service. Passes run on [`EvaluateOptions::pool`].
    ///
    /// Dropping the future cancels the evaluation, and its requests unless another evaluation waits
    /// for them. Works with any runtime.
    pub async fn passes_async<T: Send + 'static, E: Into<Source>>(
        &self,
        mut options: EvaluateOptions,
        evaluate: impl FnMut() -> Result<T, E> + Send + 'static,
    ) -> Evaluated<T> {
        let span = span(&options);
        if let Err(error) = self.check_options(&options) {
            return refused(span, error);
        }
        let _dropped = cancel_on_drop(&mut options);
        let closure = Mutex::new(Closure::new(evaluate));
        let evaluation = Evaluation::new(&self.inner.callable, &options, true, span);
        let pool = options.pool.clone().unwrap_or_else(Pool::shared);
        let own = self.clone();
        let pass = move |scope| {
            let mut closure = closure.lock();
            closure.pass(own.running(scope, &options))
        };
        Evaluated::of(evaluation.run_on(Some(pool), pass).await)
    }

    fn running(&self, scope: Scope, options: &EvaluateOptions) -> RunningPass {
        RunningPass::new(self.inner.number, scope, options)
    }

    /// Refuses options that have no effect here, and a platform that answers for another product or lacks
    /// a function that was registered.
    fn check_options(&self, options: &EvaluateOptions) -> Result<(), Error> {
        if self.inner.direct {
            let message = "these functions were registered to be called directly";
            return Err(Error::configuration(message)
                .with_hint("register them with `Platform::register` to evaluate in passes"));
        }
        for (set, name) in [(options.coverage, "coverage"), (options.reached, "reached")] {
            if set {
                let message = format!("option not supported on another interpreter: `{name}`");
                return Err(Error::configuration(message)
                    .with_hint("evaluate with `Platform::regorus` or `Policies`"));
            }
        }
        let registered = self.inner.options.enabled.iter().map(|function| function.name);
        let whose = "the interpreter's functions";
        self.inner.callable.check_answered_by(&options.answers, whose, registered)
    }
}

fn span(options: &EvaluateOptions) -> EvaluationSpan {
    EvaluationSpan::begin(&Arc::from("registration"), options.observer.clone())
}

fn refused<T>(span: EvaluationSpan, error: Error) -> Evaluated<T> {
    span.end(0, 0, Some(error.kind()));
    Evaluated::failed(error)
}
