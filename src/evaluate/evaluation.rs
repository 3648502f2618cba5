//! One evaluation, whatever engine runs its passes.
//!
//! Owns where passes run, on the calling thread or on a pool, and what remains of an evaluation: the
//! ledger, the observer's event, and the answers for a recording. When passes end belongs to
//! `pass_loop`.

use std::collections::HashSet;
use std::future::ready;
use std::sync::Arc;

use tracing::Instrument as _;

use super::blocking::block_on;
use super::budget::Answers;
use super::cancellation::{CancelOnDrop, Cancellation, cancelled};
use super::environment::{Environment, Fixed};
use super::ledger::Ledger;
use super::memory::SharedMemory;
use super::options::EvaluateOptions;
use super::pass_loop::{FinalPass, PassOutcome, WaitMode, run_passes};
use super::pool::Pool;
use super::recording::Recording;
use super::scope::Scope;
use super::session::Session;
use crate::flight::{CallOutcome, Key};
use crate::functions::ContentForm;
use crate::load::HostFunction;
use crate::observe::EvaluationSpan;
use crate::rego::Value;
use crate::runtime::LazyRuntime;
use crate::{Error, Product};

/// The functions that an evaluation can call, in addition to Rego's own.
#[derive(Debug, Clone)]
pub(crate) struct Callable {
    pub(crate) product: Product,
    pub(crate) functions: Arc<[HostFunction]>,
    /// The thread of the asynchronous ones.
    pub(crate) host: Arc<LazyRuntime>,
}

impl Callable {
    pub(crate) fn new(product: Product, functions: Vec<HostFunction>) -> Self {
        let host = Arc::new(LazyRuntime::of_host());
        Self { product, functions: functions.into(), host }
    }

    /// Refuses a platform that doesn't answer all of the functions `called` by `whose`.
    pub(crate) fn check_answered_by<'a>(
        &self,
        answers: &Answers,
        whose: &str,
        mut called: impl Iterator<Item = &'a str>,
    ) -> Result<(), Error> {
        let Answers::Service(platform) = answers else { return Ok(()) };
        let (ours, theirs) = (&self.product, platform.product());
        let message = if ours != theirs {
            format!("product mismatch: {whose} have `{ours}`, the platform has `{theirs}`")
        } else if let Some(name) = called.find(|name| !platform.functions().has(name)) {
            format!("{whose} call `{ours}.{name}`, which isn't enabled on the platform")
        } else {
            return Ok(());
        };
        Err(Error::configuration(message).with_hint("load and evaluate with the same platform"))
    }
}

/// An evaluation that is about to run.
pub(crate) struct Evaluation {
    session: Arc<Session>,
    environment: Arc<Environment>,
    span: EvaluationSpan,
    can_call: bool,
    cancellation: Option<Cancellation>,
    memory: Option<SharedMemory>,
}

/// A finished evaluation: its result and its records.
pub(crate) struct Ended<T> {
    pub(crate) result: Result<T, Error>,
    pub(crate) ledger: Ledger,
    pub(crate) record: Record,
}

impl Evaluation {
    /// Prepares an evaluation. `can_call` is set if it may make calls.
    pub(crate) fn new(
        callable: &Callable,
        options: &EvaluateOptions,
        can_call: bool,
        span: EvaluationSpan,
    ) -> Self {
        let Callable { product, functions, host } = callable.clone();
        Self {
            session: Arc::new(Session::new(product, functions, host, options)),
            environment: Arc::new(environment(&options.answers)),
            span,
            can_call,
            cancellation: options.cancellation.clone(),
            memory: options.memory.clone(),
        }
    }

    /// Runs `pass` on this thread until one gives the result.
    pub(crate) fn run<T: PassOutcome>(self, mut pass: impl FnMut(Scope) -> T) -> Ended<T> {
        let cancellation = self.cancellation.clone();
        let memory = self.memory.clone();
        let run = |scope: Scope| {
            let scope = scope.cancelled_by(cancellation.clone()).sharing(memory.clone());
            ready(Ok(pass(scope)))
        };
        let waits = WaitMode::WithinPass;
        let driven = run_passes(&self.session, &self.environment, self.can_call, waits, run);
        let last = block_on(driven.instrument(self.span.span.clone()));
        self.end(last)
    }

    /// Runs `pass` on the pool, or within this task if there is none, until one gives the result.
    /// No thread is held while calls are on their way.
    pub(crate) async fn run_on<T, F>(self, pool: Option<Pool>, pass: F) -> Ended<T>
    where
        T: PassOutcome + Send + 'static,
        F: Fn(Scope) -> T + Send + Sync + 'static,
    {
        let pass = Arc::new(pass);
        let run = |scope: Scope| {
            let (pass, pool) = (Arc::clone(&pass), pool.clone());
            let session = Arc::clone(&self.session);
            let scope = scope.cancelled_by(self.cancellation.clone());
            let scope = scope.sharing(self.memory.clone());
            async move {
                let Some(pool) = pool else { return Ok(pass(scope)) };
                let ends = (session.ended()?, session.overdue()?);
                match pool.run(move || pass(scope), ends).await? {
                    Some(done) => Ok(done),
                    None if session.is_cancelled() => Err(cancelled()),
                    None => Err(session.out_of_time()),
                }
            }
        };
        let waits = WaitMode::BetweenPasses;
        let driven = run_passes(&self.session, &self.environment, self.can_call, waits, run);
        let last = driven.instrument(self.span.span.clone()).await;
        self.end(last)
    }

    fn end<T: PassOutcome>(self, last: FinalPass<T>) -> Ended<T> {
        let failure = match &last.result {
            Ok(done) => done.failure(),
            Err(error) => Some(error),
        };
        self.span.end(last.passes, last.used.len(), failure.map(Error::kind));
        let ledger = self.session.ledger(&last.used, last.passes);
        let record = match &last.result {
            Ok(_) => {
                let (answers, of_readings) = self
                    .session
                    .answers_of(&last.used)
                    .into_iter()
                    .partition(|(key, _)| last.used.get(key).is_some_and(|uses| *uses > 0));
                Record { answers, of_readings, fixed: self.environment.given() }
            }
            Err(_) => Record::default(),
        };
        Ended { result: last.result, ledger, record }
    }
}

/// Cancels an evaluation when the returned guard is dropped; a pass that runs on a pool then stops
/// too.
pub(crate) fn cancel_on_drop(options: &mut EvaluateOptions) -> CancelOnDrop {
    let cancellation = options.cancellation.get_or_insert_default().child();
    options.cancellation = Some(cancellation.clone());
    CancelOnDrop(cancellation)
}

/// The data that a replay of an evaluation reads.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Record {
    answers: Vec<(Key, CallOutcome)>,
    /// The calls that only a reading made.
    of_readings: Vec<(Key, CallOutcome)>,
    fixed: Vec<Fixed>,
}

impl Record {
    /// Returns the answered calls that the result depends on, each as function and answer.
    #[doc(hidden)]
    pub fn answered(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.answers.iter().filter_map(|(key, outcome)| {
            let answer = outcome.result.as_ref().ok()?;
            Some((&*key.function, &answer.value))
        })
    }

    /// Returns the functions whose response is content that isn't text, and isn't among what was decoded.
    pub(crate) fn undecoded(&self, decoded: &HashSet<Value>) -> Vec<String> {
        let answers = self.answers.iter().chain(&self.of_readings).filter_map(|(key, outcome)| {
            let answer = outcome.result.as_ref().ok()?;
            let open = answer.form == Some(ContentForm::Base64) && !decoded.contains(&answer.value);
            open.then(|| key.function.to_string())
        });
        answers.collect()
    }

    pub(crate) fn asked(&self) -> impl Iterator<Item = &str> {
        let called = self.answers.iter().map(|(key, _)| &*key.function);
        called.chain(self.fixed.iter().map(|(function, ..)| *function))
    }

    pub(crate) fn recording(&self) -> Result<Recording, Error> {
        let mut recording = Recording::new();
        for (key, outcome) in self.answers.iter().chain(&self.of_readings) {
            recording.add(key, outcome)?;
        }
        for (function, arguments, value) in &self.fixed {
            let arguments = super::output::compact(&Value::from(arguments.clone()))?;
            recording.add_value((*function).to_owned(), arguments, value)?;
        }
        Ok(recording)
    }
}

/// Returns the time and randomness of an evaluation: the recorded ones in a replay, otherwise new
/// ones.
fn environment(answers: &Answers) -> Environment {
    let environment = Environment::now();
    if let Answers::Replay(replay) = answers {
        for (function, arguments, value) in replay.fixed() {
            environment.preset(function, arguments, value);
        }
    }
    environment
}
