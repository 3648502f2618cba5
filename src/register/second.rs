//! regorus as the second engine of loaded policies.
//!
//! Owns the engine, made of the policies' sources or given by a host, and its results in this crate's
//! form. Whose result counts belongs to [`Policies`].

use std::sync::{Arc, OnceLock};

use regorus::{Engine, Value as EngineValue};

use super::engine::{clone_for_pass, error_of, prepare};
use super::running::RunningPass;
use super::{Closure, PassResult, Registration, stand_ins, values};
use crate::Error;
use crate::evaluate::{
    EvaluateOptions, Expression, Policies, Print, Query, QueryOutput, Role, Row, Scope,
    SecondEngine,
};
use crate::load::LoadOptions;
use crate::rego::Value;
use crate::sources::{RegoVersion, Sources};

impl Policies {
    /// Returns the same policies, which regorus evaluates too, with this crate's built-in functions. With `both`, an
    /// evaluation whose result differs is an error with both results; otherwise its result is that of regorus.
    #[doc(hidden)]
    #[must_use]
    pub fn on_regorus(self, both: bool) -> Self {
        let role = if both { Role::Confirms } else { Role::Replaces };
        self.with_second(role, || Arc::new(Regorus::default()))
    }
}

/// regorus, with the same policies.
#[derive(Default)]
pub(super) struct Regorus {
    engine: OnceLock<Result<(Engine, Registration), Error>>,
}

impl Regorus {
    /// Takes an engine that has the policies already.
    pub(super) fn of(mut engine: Engine, registration: Registration) -> Self {
        prepare(&mut engine);
        engine.set_strict_builtin_errors(true);
        engine.set_gather_prints(true);
        Self { engine: OnceLock::from(Ok((engine, registration))) }
    }
}

impl SecondEngine for Regorus {
    fn evaluate(
        &self,
        policies: &Policies,
        scope: Scope,
        query: &Query,
        input: Option<&Value>,
        options: &EvaluateOptions,
    ) -> (Result<QueryOutput, Error>, Vec<Print>) {
        let prepared = self.engine.get_or_init(|| {
            let (engine, registration) = engine_of(policies)?;
            Self::of(engine, registration)
                .engine
                .into_inner()
                .unwrap_or_else(|| Err(Error::internal("an engine without a value")))
        });
        let (engine, registration) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return (Err(error.clone()), Vec::new()),
        };
        let mut engine = clone_for_pass(engine, Some(scope.deadline()));
        if !options.strict_builtin_errors {
            engine.set_strict_builtin_errors(false);
        }
        match input.map_or(Ok(EngineValue::Undefined), values::to_engine) {
            Ok(input) => engine.set_input(input),
            Err(error) => return (Err(error), Vec::new()),
        }
        let running = RunningPass::new(registration.inner.number, scope, options);
        let mut closure = Closure::new(|| self::query(&mut engine, query.text()));
        let PassResult(result) = closure.pass(running);
        let prints = engine.take_prints().unwrap_or_default();
        (result, prints.iter().map(|text| print(text)).collect())
    }
}

/// Makes an engine with the modules and data of policies, and with their functions.
fn engine_of(policies: &Policies) -> Result<(Engine, Registration), Error> {
    let (mut sources, options) = policies.sources();
    sources.modules.extend(stand_ins::of(policies, &options));
    let registration = Registration::new(options.clone(), None, false)?;
    let mut engine = Engine::new();
    registration.add_to(&mut engine)?;
    registration.replace_builtins(&mut engine);
    add_sources(&mut engine, &sources, &options)?;
    Ok((engine, registration))
}

fn add_sources(engine: &mut Engine, sources: &Sources, options: &LoadOptions) -> Result<(), Error> {
    let refused = |what: &str, error: anyhow::Error| {
        let message = format!("regorus refuses {what}");
        Error::policy_failed(message).with_source(error.to_string())
    };
    for module in &sources.modules {
        let v0 = match sources.versions.get(&module.path) {
            Some(version) => *version == RegoVersion::V0,
            None => options.rego_v0,
        };
        engine.set_rego_v0(v0);
        engine
            .add_policy(module.path.clone(), module.text.clone())
            .map_err(|error| refused(&format!("`{}`", module.path), error))?;
    }
    let mut found = Vec::new();
    let data = crate::sources::merged(&sources.data, &mut found);
    if !found.is_empty() {
        return Err(Error::policy(found));
    }
    engine.add_data(values::to_engine(&data)?).map_err(|error| refused("the data", error))?;
    Ok(())
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

/// Answers a query in this crate's form.
fn query(engine: &mut Engine, text: &str) -> Result<QueryOutput, Error> {
    let results = engine.eval_query(text.to_owned(), false).map_err(error_of)?;
    let mut output = QueryOutput::default();
    for result in results.result {
        // An undefined expression is a row in regorus' results.
        if result.expressions.iter().any(|expression| expression.value == EngineValue::Undefined) {
            continue;
        }
        let expression = |expression: regorus::Expression| -> Result<Expression, Error> {
            Ok(Expression {
                value: values::from_engine(&expression.value)?,
                text: expression.text.to_string(),
                row: expression.location.row,
                column: expression.location.col,
            })
        };
        let expressions = result.expressions.into_iter().map(expression);
        let expressions = expressions.collect::<Result<Vec<_>, _>>()?;
        let bindings = match values::from_engine(&result.bindings)? {
            Value::Object(bindings) => bindings
                .iter()
                .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.clone())))
                .collect(),
            _ => std::collections::BTreeMap::new(),
        };
        output.rows.push(Row { expressions, bindings });
    }
    Ok(output)
}
