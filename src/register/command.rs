//! Engines and queries for the command.
//!
//! Owns building an engine from sources, and answers to queries in this crate's form.

use regorus::{Engine, Value as EngineValue};

use super::{Registration, values};
use crate::Error;
use crate::evaluate::{Expression, QueryOutput, Row};
use crate::load::LoadOptions;
use crate::sources::{RegoVersion, Sources};

/// Makes an engine with the modules and data of `sources`, and with the functions that `options`
/// enable.
///
/// # Errors
/// [`ErrorKind::Policy`](crate::ErrorKind::Policy) if regorus refuses a module or the data.
pub fn engine_of(
    sources: &Sources,
    options: &LoadOptions,
) -> Result<(Engine, Registration), Error> {
    let refused = |what: &str, error: anyhow::Error| {
        let message = format!("regorus refuses {what}");
        Error::policy_failed(message).with_source(error.to_string())
    };
    let mut engine = Engine::new();
    let registration = Registration::new(&mut engine, options.clone(), None)?;
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
    Ok((engine, registration))
}

impl Registration {
    /// Sets the input of an engine, or removes it.
    #[doc(hidden)]
    pub fn set_input(engine: &mut Engine, input: Option<&crate::Value>) -> Result<(), Error> {
        engine.set_input(input.map_or(Ok(EngineValue::Undefined), values::to_engine)?);
        Ok(())
    }
}

/// Answers a query; for the closure of [`Registration::evaluate`].
///
/// # Errors
/// The interpreter's.
pub fn query(engine: &mut Engine, text: &str) -> anyhow::Result<QueryOutput> {
    let results = engine.eval_query(text.to_owned(), false)?;
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
            crate::Value::Object(bindings) => bindings
                .iter()
                .filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.clone())))
                .collect(),
            _ => std::collections::BTreeMap::new(),
        };
        output.rows.push(Row { expressions, bindings });
    }
    Ok(output)
}
