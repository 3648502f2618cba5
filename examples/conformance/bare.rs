//! A case on regorus as it comes, as a host without this crate would evaluate it.

use std::collections::BTreeMap;

use rego_platform::regorus::{Engine, QueryResult, Value};

use crate::cases::Case;
use crate::judge::Answer;

/// Evaluates `case` on a fresh engine.
pub(crate) fn evaluate(case: &Case) -> Answer {
    match try_evaluate(case) {
        Ok(results) => Answer::Results(results),
        Err(error) => Answer::Error(format!("{error:#}")),
    }
}

fn try_evaluate(case: &Case) -> anyhow::Result<Vec<BTreeMap<String, Value>>> {
    let mut engine = Engine::new();
    engine.set_rego_v0(case.v0);
    engine.set_strict_builtin_errors(case.strict_error);
    for (name, text) in case.modules() {
        engine.add_policy(name, text.clone())?;
    }
    if let Some(data) = &case.data {
        engine.add_data(data.clone())?;
    }
    if let Some(input) = input(case)? {
        engine.set_input(input);
    }
    let answer = engine.eval_query(case.query.clone(), false)?;
    answer.result.iter().filter(|result| holds(result)).map(bindings).collect()
}

/// The input that `case` gives, its term evaluated.
pub(crate) fn input(case: &Case) -> anyhow::Result<Option<Value>> {
    let Some(term) = &case.input_term else {
        return Ok(case.input.clone());
    };
    let answer = Engine::new().eval_query(term.clone(), false)?;
    let value = answer.result.into_iter().next().and_then(|r| r.expressions.into_iter().next());
    match value {
        Some(expression) => Ok(Some(expression.value)),
        None => anyhow::bail!("`input_term` is no term"),
    }
}

fn holds(result: &QueryResult) -> bool {
    result.expressions.iter().all(|e| !matches!(e.value, Value::Undefined | Value::Bool(false)))
}

fn bindings(result: &QueryResult) -> anyhow::Result<BTreeMap<String, Value>> {
    let fields = result.bindings.as_object()?.iter();
    fields.map(|(name, value)| Ok((name.as_string()?.to_string(), value.clone()))).collect()
}
