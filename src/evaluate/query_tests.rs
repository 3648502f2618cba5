#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::evaluate::scope::tests::scope;
use crate::evaluate::{bounded, contain, output};

const POLICY: &str = r#"package p
import rego.v1
allow if input.x == 1
default deny := false
s contains v if some v in ["b", "a"]
o[k] := v if some k, v in {"x": 1, "y": {2, 3}}
f(x) := x
e contains v if { v := 1; v > 2 }
n := 1.5
u if false
t := {[1, 2]: "a", 3: "b", null: 1}
"#;

fn path(text: &str) -> Vec<String> {
    text.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

fn index() -> RuleIndex {
    let rule = |text: &str| RulePath {
        path: path(text),
        reference: format!("data.{text}"),
        is_function: text.rsplit('.').next() == Some("f"),
        is_partial_object: text == "p.o",
    };
    let rules = "p.allow p.deny p.s p.o p.f p.e p.n p.u p.t p.sub.y p.onlyf.f p.nodef.a";
    RuleIndex {
        rules: rules.split(' ').map(rule).collect(),
        packages: ["p", "p.sub", "p.onlyf", "p.nodef"].map(path).to_vec(),
        data: Value::from_json_str(r#"{"base": {"k": [1, 2]}, "p": {"extra": 5}}"#).unwrap(),
    }
}

/// The answer to `query` over the policies above.
pub(in crate::evaluate) fn ask(query: &str) -> Result<QueryOutput, Error> {
    let index = index();
    let bare = query.trim().strip_prefix("data").map(|rest| rest.strip_prefix('.').unwrap_or(rest));
    let form = match bare.map(path) {
        Some(path) if index.rules.iter().any(|rule| rule.path == path) => {
            let found = index.rules.iter().find(|rule| rule.path == path && !rule.is_function);
            found.cloned().map_or(Form::Expression, Form::Rule)
        }
        Some(path) if index.packages.iter().any(|package| package.starts_with(&path)) => {
            Form::Package(path)
        }
        _ => Form::Expression,
    };
    let question =
        Question { text: query.to_owned(), rewritten: query.to_owned(), form, v0: false };
    let mut engine = Engine::new();
    for (name, text) in [
        ("p.rego", POLICY),
        ("sub.rego", "package p.sub\ny := 7"),
        ("onlyf.rego", "package p.onlyf\nf(x) := 1"),
        ("nodef.rego", "package p.nodef\nimport rego.v1\na if false"),
    ] {
        engine.add_policy(name.to_owned(), text.to_owned()).unwrap();
    }
    engine.add_data(index.data.clone()).unwrap();
    bounded::install(&mut engine, &[], |_| true).unwrap();
    let scope = Arc::new(scope().within(Duration::from_secs(20)));
    contain::evaluate(&scope, &Arc::new(engine), move |engine| {
        answer(engine, &question, &index, &|error| Error::new(ErrorKind::Policy, error.to_string()))
    })
}

/// `answers` is a list of queries, each with what `opa eval` prints for it.
#[test]
fn answers_are_opas() {
    let mut wrong = Vec::new();
    for line in include_str!("query_answers.txt").lines() {
        let (query, theirs) = line.split_once('\t').unwrap();
        let ours = match ask(query) {
            Ok(output) => output::document(&output).unwrap(),
            Err(error) => format!("error {error}"),
        };
        let same = match serde_json::from_str::<serde_json::Value>(theirs) {
            Ok(theirs) => {
                serde_json::from_str(&ours).is_ok_and(|ours: serde_json::Value| ours == theirs)
            }
            Err(_) => ours.starts_with("error"),
        };
        if !same {
            wrong.push(format!("{query}\n  ours   {}\n  theirs {theirs}", ours.replace('\n', "")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
