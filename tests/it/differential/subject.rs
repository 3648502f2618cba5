//! The answers of this crate.

use std::time::Duration;

use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{DataSource, ModuleSource, Sources};
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, QueryOutput, Row};
use rego_platform::{Error, regorus};
use regorus::Value;

use super::answer::Answer;
use super::generate::{Case, Question};

/// Our answers to every question of `case`.
pub(crate) fn answers(case: &Case) -> Vec<Answer> {
    let module =
        |(path, text): &(String, String)| ModuleSource { path: path.clone(), text: text.clone() };
    let sources = Sources {
        modules: case.modules.iter().map(module).collect(),
        data: vec![DataSource {
            path: "data.json".to_owned(),
            value: Value::from(case.data.clone()),
        }],
    };
    let policies = match Policies::load(&sources, LoadOptions::default()) {
        Ok(policies) => policies,
        Err(error) => return vec![failed(&error); case.questions.len()],
    };
    let input = Value::from(case.input.clone());
    case.questions.iter().map(|question| answer(&policies, question, &input)).collect()
}

fn answer(policies: &Policies, question: &Question, input: &Value) -> Answer {
    let text = match question {
        Question::Document(path) => {
            path.iter().fold("data".to_owned(), |text, key| format!("{text}[\"{key}\"]"))
        }
        Question::Bindings(query) => query.clone(),
    };
    let mut options = EvaluateOptions::new(Answers::Nobody("nothing is asked".to_owned()));
    options.budget.timeout = Duration::from_secs(20);
    let output = policies
        .query(&text)
        .and_then(|query| policies.evaluate(&query, Some(input), &options).result);
    match output {
        Err(error) => failed(&error),
        Ok(output) => form(question, &output),
    }
}

fn form(question: &Question, output: &QueryOutput) -> Answer {
    let json = |value: &Value| {
        let text = value.to_json_str().expect("a value as json");
        serde_json::from_str(&text).expect("json")
    };
    match question {
        Question::Document(_) => match output.value() {
            None => Answer::Undefined,
            Some(value) => Answer::Document(json(value)),
        },
        Question::Bindings(_) if output.is_undefined() => Answer::Undefined,
        Question::Bindings(_) => {
            let row = |row: &Row| {
                let bindings = row.bindings.iter().map(|(name, v)| (name.clone(), json(v)));
                serde_json::Value::Object(bindings.collect())
            };
            Answer::Bindings(output.rows.iter().map(row).collect())
        }
    }
}

fn failed(error: &Error) -> Answer {
    let mut reasons: Vec<String> =
        error.diagnostics().iter().map(rego_platform::Diagnostic::headline).collect();
    if reasons.is_empty() {
        reasons.push(error.report());
    }
    Answer::Error(reasons.join("; "))
}
