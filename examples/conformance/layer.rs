//! A case through this crate's loader and evaluation.

use std::collections::BTreeMap;
use std::time::Duration;

use rego_platform::Error;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{DataSource, ModuleSource, Sources};
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::regorus::Value;

use crate::bare;
use crate::cases::Case;
use crate::judge::Answer;

/// Evaluates `case` as the command would, except that errors of built-ins are as strict as the
/// case says.
pub(crate) fn evaluate(case: &Case) -> Answer {
    match try_evaluate(case) {
        Ok(results) => Answer::Results(results),
        Err(error) => Answer::Error(error),
    }
}

fn try_evaluate(case: &Case) -> Result<Vec<BTreeMap<String, Value>>, String> {
    let module = |(path, text): (String, &String)| ModuleSource { path, text: text.clone() };
    let data = |value: &Value| DataSource { path: "data.yaml".to_owned(), value: value.clone() };
    let sources = Sources {
        modules: case.modules().map(module).collect(),
        data: case.data.iter().map(data).collect(),
    };
    let load = LoadOptions { rego_v0: case.v0, ..LoadOptions::default() };
    let policies = Policies::load(&sources, load).map_err(|e| reason(&e))?;
    let query = policies.query(&case.query).map_err(|e| reason(&e))?;
    let input = bare::input(case).map_err(|e| format!("input: {e:#}"))?;
    let mut options = EvaluateOptions::new(Answers::Nobody("no case asks".to_owned()));
    options.strict_builtin_errors = case.strict_error;
    options.budget.timeout = Duration::from_secs(5);
    let output = policies.evaluate(&query, input.as_ref(), &options).result;
    let output = output.map_err(|e| reason(&e))?;
    let holds = |row: &&rego_platform::evaluate::Row| {
        row.expressions.iter().all(|e| !matches!(e.value, Value::Bool(false)))
    };
    Ok(output.rows.iter().filter(holds).map(|row| row.bindings.clone()).collect())
}

fn reason(error: &Error) -> String {
    let all: Vec<String> =
        error.diagnostics().iter().map(|d| format!("[{}] {}", d.code, d.headline())).collect();
    if all.is_empty() { error.report() } else { all.join("; ") }
}
