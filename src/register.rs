//! The functions on a host's own [`regorus::Engine`].
//!
//! [`Platform::register`] puts them there; a [`Registration`] evaluates with the engine. An
//! evaluation runs in passes, as those of [`Policies`](crate::evaluate::Policies) do, with the same
//! options: independent calls travel together, a failed call ends it whatever the policy makes of the
//! failure, and what it used can be recorded and replayed.
//!
//! Owns the public interface. The calls of a pass belong to `calls`, the engine between the passes to
//! `pass`, values to `values`.

mod builtins;
mod calls;
mod check;
mod command;
mod pass;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use regorus::Engine;

use crate::evaluate::{
    Answers, Callable, Ended, EvaluateOptions, Evaluation, HostFunction, Ledger, Pool, Record,
    Recording, cancel_on_drop,
};
use crate::load::LoadOptions;
use crate::observe::EvaluationSpan;
use crate::runtime::refuse_blocking;
use crate::{Error, Platform};

#[doc(hidden)]
pub use command::{engine_of, query};
use pass::{EnginePasses, PassResult};

/// The functions on an engine that was passed to [`Platform::register`], and on its clones. Cheap to
/// clone and usable from any thread.
#[derive(Debug, Clone)]
pub struct Registration {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Tells apart the functions of two registrations on one thread.
    number: u64,
    platform: Option<Platform>,
    options: LoadOptions,
    callable: Callable,
}

/// The result of an evaluation on regorus, with its prints and its ledger.
#[derive(Debug)]
#[non_exhaustive]
pub struct Evaluated<T> {
    /// The value that the closure returned in the exact pass, or the error that ended the evaluation.
    pub result: Result<T, Error>,
    /// The policy's `print` output, as regorus words it: `file:line: text`.
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

    /// Returns the result, the prints, and what remains for the ledger and a recording.
    #[doc(hidden)]
    pub fn into_parts(self) -> (Result<T, Error>, Vec<String>, (Ledger, Record)) {
        (self.result, self.prints, (self.ledger, self.record))
    }

    fn failed(error: Error) -> Self {
        let (ledger, record) = (Ledger::default(), Record::default());
        Self { result: Err(error), prints: Vec::new(), ledger, record }
    }

    fn of(ended: Ended<PassResult<T>>) -> Self {
        let Ended { result, ledger, record } = ended;
        match result {
            Ok(PassResult { result, prints }) => Self { result, prints, ledger, record },
            Err(error) => Self { ledger, ..Self::failed(error) },
        }
    }
}

impl Platform {
    /// Registers the functions on `engine`: those of the service that are enabled on this platform,
    /// and in place of regorus' own `time.now_ns`, `uuid.rfc4122`, `rand.intn`, `http.send` and
    /// `net.lookup_ip_addr`, since passes must agree on their results. Makes the errors of built-ins
    /// strict.
    ///
    /// Clones of the engine share the registration. The functions answer only within an evaluation of
    /// the [`Registration`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when one of the service's functions is on the engine already.
    pub fn register(&self, engine: &mut Engine) -> Result<Registration, Error> {
        self.register_with(engine, [])
    }

    /// Registers the functions as [`register`](Self::register) does, and functions of the host's
    /// beside them. Asynchronous ones are batched, remembered within an evaluation and recorded.
    ///
    /// # Errors
    /// As [`register`](Self::register); and when a name isn't valid or already taken.
    pub fn register_with(
        &self,
        engine: &mut Engine,
        functions: impl IntoIterator<Item = HostFunction>,
    ) -> Result<Registration, Error> {
        let mut options = LoadOptions::of_platform(self);
        options.host_functions = functions.into_iter().collect();
        Registration::new(engine, options, Some(self.clone()))
    }
}

impl Registration {
    fn new(
        engine: &mut Engine,
        options: LoadOptions,
        platform: Option<Platform>,
    ) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let wrong = HostFunction::invalid(&options.host_functions, &options.product);
        if !wrong.is_empty() {
            return Err(Error::policy(wrong));
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // The engine stays as it is if a name is taken.
        let mut registered = engine.clone();
        registered.set_strict_builtin_errors(true);
        calls::add(&mut registered, number, &options)?;
        builtins::add_fixed(&mut registered);
        *engine = registered;
        let callable = Callable::new(options.product.clone(), options.host_functions.clone());
        Ok(Self { inner: Arc::new(Inner { number, platform, options, callable }) })
    }

    /// Evaluates with `engine`, or a clone of it, and waits for the result.
    ///
    /// `evaluate` runs once a pass, each time on the same engine. It may set the input, but must
    /// neither add policies nor change the data. The budget's time is the engine's execution timer
    /// meanwhile. Prints are gathered; those of passes that aren't the last are dropped.
    ///
    /// Works on any thread, even inside an async runtime, whose thread it then blocks.
    ///
    /// ```no_run
    /// use rego_platform::evaluate::{Answers, EvaluateOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let platform = rego_platform::Platform::builder().build()?;
    /// let mut engine = rego_platform::regorus::Engine::new();
    /// let functions = platform.register(&mut engine)?;
    /// engine.add_policy_from_file("release.rego")?;
    /// let options = EvaluateOptions::new(Answers::Service(platform));
    /// functions.check(&engine, &options)?;
    /// let evaluated =
    ///     functions.evaluate(&mut engine, &options, |e| e.eval_rule("data.release.deny".into()));
    /// println!("{}\n{}", evaluated.result?, evaluated.ledger.table());
    /// # Ok(())
    /// # }
    /// ```
    pub fn evaluate<T>(
        &self,
        engine: &mut Engine,
        options: &EvaluateOptions,
        evaluate: impl FnMut(&mut Engine) -> anyhow::Result<T>,
    ) -> Evaluated<T> {
        let span = span(options);
        let prepared = refuse_blocking()
            .and_then(|()| self.check_answers(options))
            .and_then(|()| EnginePasses::new(self.inner.number, engine, options, evaluate));
        let mut passes = match prepared {
            Ok(passes) => passes,
            Err(error) => return refused(span, error),
        };
        let evaluation = Evaluation::new(&self.inner.callable, options, true, span);
        let ended = evaluation.run(|scope| passes.pass(scope));
        passes.restore();
        Evaluated::of(ended)
    }

    /// Evaluates without blocking the calling task, and without holding a thread while it waits for
    /// the service. Passes run on [`EvaluateOptions::pool`].
    ///
    /// Dropping the future cancels the evaluation, and its requests unless another evaluation waits
    /// for them. Works with any runtime.
    pub async fn evaluate_async<T: Send + 'static>(
        &self,
        engine: Engine,
        mut options: EvaluateOptions,
        evaluate: impl FnMut(&mut Engine) -> anyhow::Result<T> + Send + 'static,
    ) -> Evaluated<T> {
        let span = span(&options);
        let _dropped = cancel_on_drop(&mut options);
        let prepared = self
            .check_answers(&options)
            .and_then(|()| EnginePasses::new(self.inner.number, engine, &options, evaluate));
        let passes = match prepared {
            Ok(passes) => std::sync::Mutex::new(passes),
            Err(error) => return refused(span, error),
        };
        let evaluation = Evaluation::new(&self.inner.callable, &options, true, span);
        let pool = options.pool.clone().unwrap_or_else(Pool::shared);
        let pass = move |scope| {
            let passes = passes.lock();
            passes.unwrap_or_else(std::sync::PoisonError::into_inner).pass(scope)
        };
        Evaluated::of(evaluation.run_on(Some(pool), pass).await)
    }

    /// Evaluates with `engine`, or a clone of it, in a single pass: each call blocks until it is
    /// answered. For closures that can't be run again; [`evaluate`](Self::evaluate) sends independent
    /// calls together. The limits are those of [`Budget::default`](crate::evaluate::Budget).
    ///
    /// # Errors
    /// The failed call's error, even if the interpreter ignored that failure; otherwise the
    /// interpreter's as [`ErrorKind::Policy`](crate::ErrorKind::Policy).
    pub fn run<T>(
        &self,
        engine: &mut Engine,
        evaluate: impl FnOnce(&mut Engine) -> anyhow::Result<T>,
    ) -> Result<T, Error> {
        let answers = self.inner.platform.clone().map_or_else(
            || Answers::Unavailable("evaluate with answers".to_owned()),
            Answers::Service,
        );
        let mut options = EvaluateOptions::new(answers);
        options.budget.one_at_a_time = true;
        let mut once = Some(evaluate);
        let evaluate = |engine: &mut Engine| match once.take() {
            Some(evaluate) => evaluate(engine),
            None => anyhow::bail!("an evaluation that can't be repeated was repeated"),
        };
        self.evaluate(engine, &options, evaluate).result
    }

    /// Checks the policies and data of an engine as [`Policies::load`] does: misspelt functions,
    /// wrong numbers of arguments, literal arguments that the service would refuse, unsafe variables,
    /// conflicts; and functions that regorus doesn't have. Finds also what no evaluation reaches.
    ///
    /// The engine's own extensions count as functions.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with every problem and its position; [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when
    /// the options don't fit the registration.
    ///
    /// [`Policies::load`]: crate::evaluate::Policies::load
    pub fn check(&self, engine: &Engine, options: &EvaluateOptions) -> Result<(), Error> {
        self.check_answers(options)?;
        let findings = check::errors(engine, &self.inner.options)?;
        if findings.is_empty() { Ok(()) } else { Err(Error::policy(findings)) }
    }

    /// Puts this crate's built-in functions over those of the engine, so that they give OPA's
    /// answers, are bounded, and never panic. Functions that the host registered before are kept.
    /// Returns the number of functions that were replaced or added.
    ///
    /// Their last argument can't be an output any more: `count(x, n)` is `n := count(x)`.
    pub fn replace_builtins(&self, engine: &mut Engine) -> usize {
        builtins::add_all(engine)
    }

    /// Refuses a platform that answers for another product, or lacks a function that was registered.
    fn check_answers(&self, options: &EvaluateOptions) -> Result<(), Error> {
        let registered = self.inner.options.enabled.iter().map(|function| function.name);
        let whose = "the engine's functions";
        self.inner.callable.check_answered_by(&options.answers, whose, registered)
    }
}

fn span(options: &EvaluateOptions) -> EvaluationSpan {
    EvaluationSpan::begin(&Arc::from("regorus"), options.observer.clone())
}

fn refused<T>(span: EvaluationSpan, error: Error) -> Evaluated<T> {
    span.end(0, 0, Some(error.kind()));
    Evaluated::failed(error)
}

fn configuration(message: impl Into<String>) -> Error {
    Error::configuration(message.into())
}
