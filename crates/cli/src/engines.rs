//! The engine that the command evaluates with: this crate's own, regorus, or both.
//!
//! Owns the evaluation of loaded policies on regorus, and the comparison of its answers with ours. The
//! road to regorus belongs to `register`.

mod difference;
mod mocks;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rego_platform::evaluate::{
    Answers, EvaluateOptions, Evaluated, OtherEngine, Policies, Print, Query, QueryOutput, Replay,
};
use rego_platform::register::{self, Registration};
use rego_platform::regorus::Engine;
use rego_platform::{Error, ErrorKind, Value};

/// Evaluates on regorus, with this crate's built-in functions.
#[derive(Debug)]
pub(crate) struct Regorus {
    /// Set to evaluate on both engines, and to give an error where their answers differ.
    both: bool,
    /// The engine of each policies, by what identifies them; they are loaded once.
    engines: Mutex<HashMap<usize, Loaded>>,
}

type Loaded = Result<Arc<Prepared>, Error>;

/// Policies on an engine.
struct Prepared {
    engine: Engine,
    registration: Registration,
    /// Keeps what identifies the policies from being used again.
    _policies: Policies,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}

impl Regorus {
    pub(crate) fn new(both: bool) -> Self {
        Self { both, engines: Mutex::default() }
    }

    fn prepared(&self, policies: &Policies) -> Loaded {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.entry(policies.identity()).or_insert_with(|| prepare(policies)).clone()
    }

    fn on_regorus(
        &self,
        policies: &Policies,
        query: &str,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> Evaluated {
        let prepared = match self.prepared(policies) {
            Ok(prepared) => prepared,
            Err(error) => return Evaluated::failed(error),
        };
        let mut engine = prepared.engine.clone();
        if let Err(error) = Registration::set_input(&mut engine, input) {
            return Evaluated::failed(error);
        }
        let answer = |engine: &mut Engine| register::query(engine, query);
        let evaluated = prepared.registration.evaluate(&mut engine, options, answer);
        let (result, prints, rest) = evaluated.into_parts();
        let prints = prints.iter().map(|text| print(text)).collect();
        Evaluated::of_other(policies, result, prints, rest)
    }
}

/// Adds to an evaluation on regorus what our own engine says that it reached, with the same answers: an
/// evaluation that our engine can't judge has no result.
fn judged(
    mut evaluated: Evaluated,
    policies: &Policies,
    query: &Query,
    input: Option<&Value>,
    options: &EvaluateOptions,
) -> Evaluated {
    if evaluated.result.is_err() {
        return evaluated;
    }
    let ours = evaluated.recording().map(|recording| {
        let mut replayed = options.clone();
        replayed.answers = Answers::Replay(Arc::new(Replay::new(recording)));
        policies.evaluate_on_own(query, input, &replayed)
    });
    match ours {
        Ok(Evaluated { result: Ok(_), reached, .. }) => evaluated.reached = reached,
        Ok(Evaluated { result: Err(error), .. }) | Err(error) => evaluated.result = Err(error),
    }
    evaluated
}

fn prepare(policies: &Policies) -> Loaded {
    let (mut sources, options) = policies.sources();
    sources.modules.extend(mocks::stand_ins(policies, &options));
    let (mut engine, registration) = register::engine_of(&sources, &options)?;
    registration.replace_builtins(&mut engine);
    Ok(Arc::new(Prepared { engine, registration, _policies: policies.clone() }))
}

/// Reads a print of regorus: `file:line: text`.
fn print(text: &str) -> Print {
    let place = text.split_once(": ").and_then(|(place, message)| {
        let (file, line) = place.rsplit_once(':')?;
        Some((file, line.parse().ok()?, message))
    });
    let (file, line, message) = place.unwrap_or(("", 0, text));
    Print::new(file, line, message)
}

impl OtherEngine for Regorus {
    fn evaluate(
        &self,
        policies: &Policies,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> Evaluated {
        let regorus =
            |options: &EvaluateOptions| self.on_regorus(policies, query.text(), input, options);
        if !self.both {
            let evaluated = regorus(options);
            return if options.reached {
                judged(evaluated, policies, query, input, options)
            } else {
                evaluated
            };
        }
        let mut ours = policies.evaluate_on_own(query, input, options);
        let is_verdict = |result: &Result<QueryOutput, Error>| match result {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::Policy,
        };
        // A failed call of the service is an error of both.
        if !is_verdict(&ours.result) {
            return ours;
        }
        let theirs = ours.recording().and_then(|recording| {
            let answers = Answers::Replay(Arc::new(Replay::new(recording)));
            let mut replayed = options.clone();
            replayed.answers = answers;
            regorus(&replayed).result
        });
        if let Some(error) = difference::between(&ours.result, &theirs) {
            ours.result = Err(error);
        }
        ours
    }
}
