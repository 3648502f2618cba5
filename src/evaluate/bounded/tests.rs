#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::evaluate::contain;
use crate::evaluate::scope::Limits;
use crate::evaluate::scope::tests::scope;

/// The value of `expression` with every built-in replaced; `None` when it is undefined.
pub(in crate::evaluate) fn eval_in(scope: Scope, expression: &str) -> Result<Option<Value>, Error> {
    let scope = Arc::new(scope.within(Duration::from_secs(20)));
    let mut engine = Engine::new();
    install(&mut engine, &[("platform.echo".to_owned(), 1)], |_| true).unwrap();
    let expression = format!("answer__ := {expression}");
    let inner = Arc::clone(&scope);
    contain::evaluate(&scope, &Arc::new(engine), move |engine| {
        let results = engine.eval_query(expression, false).map_err(|error| {
            contain::limit(Some(&inner), &error)
                .unwrap_or_else(|| Error::new(ErrorKind::Policy, error.to_string()))
        })?;
        Ok(results.result.first().map(|row| row.bindings["answer__"].clone()))
    })
}

pub(in crate::evaluate) fn eval(expression: &str) -> Result<Option<Value>, Error> {
    eval_in(scope(), expression)
}

/// Where the number is the same and its text isn't: regorus keeps numbers, OPA their digits. And
/// texts that only people read.
const KNOWN: &[&str] = &[
    "sum([0.1, 0.2])",
    "array.slice([1, 2, 3], 1, 1.0)",
    "json.marshal(1.0)",
    "json.marshal(1e3)",
    "json.marshal(1e21)",
    "sprintf(\"%d\", [1.0])",
    "sprintf(\"%d\", [3.00])",
    "sprintf(\"%s\", [-0.0])",
    "sprintf(\"%v\", [1e20])",
    "sprintf(\"%v\", [1e21])",
    "sprintf(\"%g\", [1e21])",
];

/// Equal, with numbers compared as numbers.
fn same(ours: &serde_json::Value, theirs: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (ours, theirs) {
        (Number(a), Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Array(a), Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Object(a), Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => ours == theirs,
    }
}

/// Each line of `answers.txt` is an expression, a tab, and OPA's answer: JSON, `undefined` or
/// `error`. Ours is the same or an error, and an error for few of them.
#[test]
fn answers_are_opas_or_errors() {
    let mut wrong = Vec::new();
    let mut refused = Vec::new();
    for line in include_str!("answers.txt").lines().filter(|line| !line.starts_with('#')) {
        let (expression, answer) = line.split_once('\t').unwrap();
        match (eval(expression), answer) {
            (Err(error), answer) => {
                if answer != "error" {
                    refused.push(format!("{expression}: {error}, OPA's {answer}"));
                }
            }
            (Ok(None), "undefined") => {}
            (Ok(Some(value)), answer) if answer != "error" && answer != "undefined" => {
                let ours = crate::evaluate::output::compact(&value).unwrap();
                let ours: serde_json::Value = serde_json::from_str(&ours).unwrap();
                let theirs: serde_json::Value = serde_json::from_str(answer).unwrap();
                if !same(&ours, &theirs) && !KNOWN.contains(&expression) {
                    wrong.push(format!("{expression}: ours {ours}, OPA's {theirs}"));
                }
            }
            (_, _) if KNOWN.contains(&expression) => {}
            (ours, theirs) => wrong.push(format!("{expression}: ours {ours:?}, OPA's {theirs}")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(refused.len() < 100, "\n{}", refused.join("\n"));
}
