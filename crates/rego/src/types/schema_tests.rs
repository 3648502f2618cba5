//! Compares the errors of policies with schemas to OPA's stored answers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};

use super::Schemas;
use crate::program::{Options, Program, SourceText};
use crate::syntax::BaseVersion;
use crate::value::Value;

/// One case per line: schemas by the path of their references, a module, and OPA's errors as the
/// oracle answers them, each with its row, column and further lines.
const CASES: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/schemas.jsonl.gz"));

fn errors(case: &Json) -> Json {
    let schemas = case["schemas"].as_object().map(|members| {
        let mut schemas = Schemas::default();
        for (name, schema) in members {
            let path = name.split('.').filter(|part| !part.is_empty()).map(str::to_owned);
            let schema = Value::from_json(&schema.to_string()).unwrap();
            schemas.insert(path.collect(), schema)?;
        }
        Ok::<_, String>(Arc::new(schemas))
    });
    let schemas = match schemas.transpose() {
        Ok(schemas) => schemas,
        Err(why) => return json!([[why, 0, 0]]),
    };
    let text = SourceText {
        path: "a.rego".to_owned(),
        text: case["text"].as_str().unwrap().to_owned(),
        version: BaseVersion::V1,
    };
    let error = match Program::compile(vec![text], &Options { schemas, ..Options::default() }) {
        Ok(_) => return json!([]),
        Err(error) => error,
    };
    let errors = error.problems.iter().map(|problem| {
        let at = error.sources.position(problem.span);
        let mut lines = vec![json!(problem.message), json!(at.line), json!(at.column)];
        lines.extend(problem.details.iter().map(|line| json!(line)));
        Json::from(lines)
    });
    errors.collect()
}

/// Reduces errors to what can be compared: OPA prints a memory address for a schema that can't be
/// merged, and names the arguments of built-in functions.
fn comparable(errors: &Json) -> Vec<String> {
    let text = |error: &Json| match error[0].as_str().unwrap_or_default() {
        text if text.starts_with("type checking: ") => format!("type checking {}", error[1]),
        text if text.ends_with("invalid argument(s)") => {
            format!("{text} {} {}", error[1], error[2])
        }
        _ => error.to_string(),
    };
    let mut all: Vec<String> = errors.as_array().unwrap().iter().map(text).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn policies_with_schemas_have_the_errors_that_opa_gave() {
    let (mut count, mut wrong) = (0, Vec::new());
    let mut cases = String::new();
    GzDecoder::new(CASES).read_to_string(&mut cases).unwrap();
    for line in cases.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let (ours, opa) = (errors(&case), &case["errors"]);
        count += 1;
        if comparable(&ours) != comparable(opa) {
            let (schemas, text) = (&case["schemas"], case["text"].as_str().unwrap());
            wrong.push(format!("{schemas}\n{text}\nOPA:  {opa:#}\nours: {ours:#}\n"));
        }
    }
    let shown: String = wrong.iter().take(4).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {count} differ\n{shown}", wrong.len());
    assert!(count > 500);
}
