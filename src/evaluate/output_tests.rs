#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
use super::*;
use crate::evaluate::{Answers, EvaluateOptions, Policies};
use crate::load::LoadOptions;
use crate::sources::{DataSource, ModuleSource, Sources};

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

/// Returns the answer to `query` over the policies above.
fn ask(query: &str) -> Result<QueryOutput, Error> {
    let module =
        |(path, text): (&str, &str)| ModuleSource { path: path.to_owned(), text: text.to_owned() };
    let modules = [
        ("p.rego", POLICY),
        ("sub.rego", "package p.sub\ny := 7"),
        ("onlyf.rego", "package p.onlyf\nf(x) := 1"),
        ("nodef.rego", "package p.nodef\nimport rego.v1\na if false"),
    ];
    let value = Value::from_json(r#"{"base": {"k": [1, 2]}, "p": {"extra": 5}}"#).unwrap();
    let data = vec![DataSource { path: "data.json".to_owned(), value }];
    let sources = Sources { modules: modules.map(module).to_vec(), data, ..Sources::default() };
    let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
    let options = EvaluateOptions::new(Answers::Unavailable(String::new()));
    policies.evaluate(&policies.query(query)?, None, &options).result
}

/// Compares with blocks of `== format query`, each followed by the output of `opa eval --format`.
#[test]
fn output_formats_match_opa() {
    let mut wrong = Vec::new();
    for block in include_str!("output_answers.txt").split("\n== ").skip(1) {
        let (head, theirs) = block.split_once('\n').unwrap();
        let (name, query) = head.split_once(' ').unwrap();
        let format = match name {
            "json" => OutputFormat::Json,
            "pretty" => OutputFormat::Pretty,
            "raw" => OutputFormat::Raw,
            "values" => OutputFormat::Values,
            _ => OutputFormat::Bindings,
        };
        let ours = write(&ask(query).unwrap(), format).unwrap();
        if ours != theirs {
            wrong.push(format!("{head}\nours:\n{ours}\ntheirs:\n{theirs}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn keys_that_are_the_same_in_json_are_an_error() {
    let object = Value::from_json(r#"{"1": "b"}"#).unwrap();
    let mut members = object.as_object().unwrap().clone();
    members.insert(Value::from(1), Value::from("a"));
    let error = compact(&Value::from(members));
    assert!(error.unwrap_err().to_string().contains("both `1`"));
}

/// Compares with a list of queries, each with the output of `opa eval`.
#[test]
fn answers_match_opa() {
    let mut wrong = Vec::new();
    for line in include_str!("query_answers.txt").lines() {
        let (query, theirs) = line.split_once('\t').unwrap();
        let ours = match ask(query) {
            Ok(output) => document(&output).unwrap(),
            Err(error) => format!("error {error}"),
        };
        let same = match serde_json::from_str::<serde_json::Value>(theirs) {
            Ok(theirs) => {
                serde_json::from_str(&ours).is_ok_and(|ours: serde_json::Value| ours == theirs)
            }
            Err(_) => ours.starts_with("error"),
        };
        if !same {
            wrong.push(format!("{query}\nours: {ours}\ntheirs: {theirs}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
