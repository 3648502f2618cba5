//! Passes of an evaluation on regorus.
//!
//! Owns the engine between them: it must stay as it is, isn't used again after it panicked, has the
//! budget's time, and prints only for the last pass.

use std::borrow::BorrowMut;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Instant;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Source, Value as EngineValue};

use super::calls::{EngineOptions, RunningPass, within};
use super::configuration;
use crate::Error;
use crate::evaluate::{EvaluateOptions, PassOutcome, Scope};
use crate::rego::Host as _;

/// The extension that marks an engine that panicked, and the clones that are made of it.
const PANICKED: &str = "internal.rego_platform_panicked";

/// The number of the interpreter's steps between two looks at the clock.
const STEPS: NonZeroU32 = NonZeroU32::new(64).unwrap();

pub(super) struct PassResult<T> {
    pub(super) result: Result<T, Error>,
    pub(super) prints: Vec<String>,
}

impl<T> PassOutcome for PassResult<T> {
    fn failure(&self) -> Option<&Error> {
        self.result.as_ref().err()
    }
}

/// An engine, owned or borrowed, with the closure that is run once a pass.
pub(super) struct EnginePasses<E, F> {
    registration: u64,
    engine: E,
    evaluate: F,
    before: Contents,
    options: EngineOptions,
    /// The error after which the engine isn't used any more.
    broken: Option<Error>,
}

impl<E: BorrowMut<Engine>, F> EnginePasses<E, F> {
    pub(super) fn new(
        registration: u64,
        mut engine: E,
        options: &EvaluateOptions,
        evaluate: F,
    ) -> Result<Self, Error> {
        let own = engine.borrow_mut();
        if has_extension(own, PANICKED) {
            return Err(configuration("this engine panicked in an evaluation before")
                .with_hint("make a new engine, or clone one that didn't"));
        }
        own.set_strict_builtin_errors(options.strict_builtin_errors);
        own.set_gather_prints(true);
        let before = Contents::of(own)?;
        Ok(Self {
            registration,
            engine,
            evaluate,
            before,
            options: EngineOptions {
                strict: options.strict_builtin_errors,
                memory: options.budget.memory,
            },
            broken: None,
        })
    }

    /// Makes the engine's timer and prints regorus' defaults again.
    pub(super) fn restore(&mut self) {
        let engine = self.engine.borrow_mut();
        engine.clear_execution_timer_config();
        engine.set_gather_prints(false);
    }

    /// Runs one pass.
    pub(super) fn pass<T>(&mut self, scope: Scope) -> PassResult<T>
    where
        F: FnMut(&mut Engine) -> anyhow::Result<T>,
    {
        let mut prints = Vec::new();
        let result = match self.broken.clone() {
            Some(error) => Err(error),
            None => self.evaluate(scope, &mut prints),
        };
        PassResult { result, prints }
    }

    fn evaluate<T>(&mut self, scope: Scope, prints: &mut Vec<String>) -> Result<T, Error>
    where
        F: FnMut(&mut Engine) -> anyhow::Result<T>,
    {
        let (engine, evaluate) = (self.engine.borrow_mut(), &mut self.evaluate);
        let limit = scope.deadline().saturating_duration_since(Instant::now());
        engine.set_execution_timer_config(ExecutionTimerConfig { limit, check_interval: STEPS });
        let pass = Rc::new(RunningPass::new(self.registration, scope, &self.options));
        let run = AssertUnwindSafe(|| within(&pass, || evaluate(engine)));
        let Ok(result) = catch_unwind(run) else {
            // Its state may be anything; clones that were made before aren't affected.
            let _ =
                engine.add_extension(PANICKED.to_owned(), 0, Box::new(|_| Ok(EngineValue::Null)));
            let error = Error::internal("regorus panicked")
                .with_hint("this engine can't be used again; report the policy to regorus");
            self.broken = Some(error.clone());
            return Err(error);
        };
        *prints = engine.take_prints().unwrap_or_default();
        if !self.before.is_of(engine) {
            let error = configuration("the closure changes the engine's policies or data")
                .with_hint(
                    "the closure runs once per pass: add policies and data before, or use `run`",
                );
            self.broken = Some(error.clone());
            return Err(error);
        }
        // A failed call counts whatever the interpreter made of it, and so does time that has run out.
        if let Some(failure) = pass.scope.failure() {
            return Err(failure.clone());
        }
        if pass.scope.check().is_err()
            && let Some(failure) = pass.scope.failure()
        {
            return Err(failure.clone());
        }
        result.map_err(|error| {
            Error::policy_failed("the evaluation failed").with_source(error.to_string())
        })
    }
}

/// Returns `true` if an engine has an extension of this name.
pub(super) fn has_extension(engine: &Engine, name: &str) -> bool {
    engine.clone().add_extension(name.to_owned(), 0, Box::new(|_| Ok(EngineValue::Null))).is_err()
}

/// The policies and data of an engine.
struct Contents {
    policies: Vec<Source>,
    data: EngineValue,
}

impl Contents {
    fn of(engine: &Engine) -> Result<Self, Error> {
        let policies = engine.get_policies().map_err(|error| {
            Error::internal("regorus doesn't show its policies").with_source(error.to_string())
        })?;
        Ok(Self { policies, data: engine.get_data() })
    }

    fn is_of(&self, engine: &Engine) -> bool {
        let is_same = |(a, b): (&Source, &Source)| {
            std::ptr::eq(a.get_contents(), b.get_contents())
                || (a.get_path() == b.get_path() && a.get_contents() == b.get_contents())
        };
        let same_data = |data: &EngineValue| match (&self.data, data) {
            (EngineValue::Object(a), EngineValue::Object(b)) if regorus::Rc::ptr_eq(a, b) => true,
            (a, b) => a == b,
        };
        let policies = engine.get_policies().unwrap_or_default();
        policies.len() == self.policies.len()
            && self.policies.iter().zip(&policies).all(is_same)
            && same_data(&engine.get_data())
    }
}
