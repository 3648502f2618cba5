//! The answers of this crate.
use rego_platform::regorus::{Engine, Value};

use super::answer::Answer;
use super::generate::{Case, Question};

pub(crate) fn answers(case: &Case) -> Vec<Answer> {
    let mut e = Engine::new();
    e.set_strict_builtin_errors(true);
    for (n, t) in &case.modules {
        if let Err(x) = e.add_policy(n.clone(), t.clone()) {
            return vec![Answer::Error(format!("LOAD {x}")); case.questions.len()];
        }
    }
    e.add_data(Value::from(case.data.clone())).unwrap();
    e.set_input(Value::from(case.input.clone()));
    let e = e;
    case.questions
        .iter()
        .map(|q| {
            let mut e = e.clone();
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
            match e.eval_query(query, false) {
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
                                r.expressions.iter().all(|e| {
                                    !matches!(e.value, Value::Undefined | Value::Bool(false))
                                })
                            })
                            .map(|r| serde_json::from_str(&r.bindings.to_string()).unwrap())
                            .collect();
                        if rows.is_empty() { Answer::Undefined } else { Answer::Bindings(rows) }
                    }
                },
            }
        })
        .collect()
}
