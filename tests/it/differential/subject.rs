//! The answers of this crate.
use rego_platform::evaluate::load::{LoadOptions, Loaded, load};
use rego_platform::evaluate::sources::{DataSource, ModuleSource, Sources};
use rego_platform::regorus::{Engine, Value};

use super::answer::Answer;
use super::generate::{Case, Question};

pub(crate) fn answers(case: &Case) -> Vec<Answer> {
    let modules = case
        .modules
        .iter()
        .map(|(path, text)| ModuleSource { path: path.clone(), text: text.clone() });
    let sources = Sources {
        modules: modules.collect(),
        data: vec![DataSource {
            path: "data.json".to_owned(),
            value: Value::from(case.data.clone()),
        }],
    };
    match load(&sources, &LoadOptions::default()) {
        Ok(loaded) => case.questions.iter().map(|q| answer(&loaded, case, q)).collect(),
        Err(error) => {
            let text = error.diagnostics().iter().map(|d| d.headline()).collect::<Vec<_>>();
            let text = format!("LOAD {error} {text:?}");
            vec![Answer::Error(text); case.questions.len()]
        }
    }
}

fn answer(l: &Loaded, case: &Case, q: &Question) -> Answer {
    let query = match q {
        Question::Document(p) => {
            let mut s = "data".to_owned();
            for x in p {
                s += &format!("[\"{x}\"]");
            }
            s
        }
        Question::Bindings(q) => q.clone(),
    };
    let r = match l.rewrite_query(&query) {
        Ok(r) => r,
        Err(e) => return Answer::Error(format!("QUERY {e}")),
    };
    let mut e: Engine = l.engine();
    e.set_input(Value::from(case.input.clone()));
    if let Some((n, t)) = r.module {
        e.set_rego_v0(false);
        e.add_policy(n, t).unwrap();
    }
    match e.eval_query(r.text.clone(), false) {
        Err(x) => Answer::Error(x.to_string()),
        Ok(r) => match q {
            Question::Document(_) => match r.result.first() {
                None => Answer::Undefined,
                Some(r) if r.expressions[0].value == Value::Undefined => Answer::Undefined,
                Some(r) => Answer::Document(
                    serde_json::from_str(&r.expressions[0].value.to_string()).unwrap(),
                ),
            },
            Question::Bindings(_) => {
                let rows: Vec<_> = r
                    .result
                    .iter()
                    .filter(|r| {
                        r.expressions
                            .iter()
                            .all(|e| !matches!(e.value, Value::Undefined | Value::Bool(false)))
                    })
                    .map(|r| serde_json::from_str(&r.bindings.to_string()).unwrap())
                    .collect();
                if rows.is_empty() { Answer::Undefined } else { Answer::Bindings(rows) }
            }
        },
    }
}
