//! Many inputs for one document: `/v1/batch/data`, as Enterprise OPA has it.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use rego_platform::Value;

use super::data;
use crate::answer::{Refusal, json, object};
use crate::body::Members;
use crate::decide::{Asked, Question, Undecided, decide};
use crate::decision_log::Subject;

/// The most inputs of a request that are evaluated at the same time.
const TOGETHER: usize = 64;

pub(super) async fn post(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let Asked { asking, parameters, uri } = asked;
    let inputs = match body.get("inputs") {
        None => Value::new_object(),
        Some(inputs @ Value::Object(_)) => inputs,
        Some(_) => return Err(Refusal::invalid("`inputs` isn't an object")),
    };
    let common = body.get("common_input");
    let path = data::path(&uri, "/v1/batch/data");
    let prepared = asking.set.document(path)?;
    let batch = asking.identity();
    let inputs = inputs.as_object().cloned().unwrap_or_default();
    let questions: Vec<(Value, Question)> = inputs
        .iter()
        .map(|(name, input)| {
            let question = Question {
                subject: Subject::Document(path.to_owned()),
                prepared: prepared.clone(),
                input: Some(merged(common.as_ref(), input)),
                parsing: Duration::ZERO,
                is_strict: parameters.is_set("strict-builtin-errors"),
                batch: batch.clone(),
            };
            (name.clone(), question)
        })
        .collect();
    let decide_each = questions.into_iter().map(|(name, question)| {
        let asking = asking.clone();
        async move { (name, decide(&asking, question).await) }
    });
    let decided: Vec<_> = stream::iter(decide_each).buffer_unordered(TOGETHER).collect().await;
    let failed = decided.iter().filter(|(_, result)| result.is_err()).count();
    let is_mixed = failed > 0 && failed < decided.len();
    let status = match failed {
        0 => StatusCode::OK,
        _ if is_mixed => StatusCode::MULTI_STATUS,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let responses: BTreeMap<Value, Value> = decided
        .into_iter()
        .map(|(name, result)| {
            let (code, mut response) = match result {
                Ok(decision) => ("200", data::answer(decision, &parameters, &asking.set, None)),
                Err(undecided) => ("500", failure(undecided)),
            };
            if let (true, Some(members)) = (is_mixed, response.as_object_mut()) {
                members.insert("http_status_code".into(), code.into());
            }
            (name, response)
        })
        .collect();
    let warning =
        responses.is_empty().then(|| data::warning("'inputs' key missing from the request"));
    let answer = object([
        ("batch_decision_id", batch.map(Value::from)),
        ("responses", Some(responses.into_iter().collect())),
        ("warning", warning),
    ]);
    json(status, &answer, parameters.is_pretty(), asking.app.bounds.answer)
}

/// Returns an input with the members of the common one that it lacks, if both are objects.
fn merged(common: Option<&Value>, input: &Value) -> Value {
    let (Some(common), Some(own)) = (common.and_then(Value::as_object), input.as_object()) else {
        return input.clone();
    };
    let all = common.iter().chain(own.iter());
    all.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn failure(undecided: Undecided) -> Value {
    let mut value = undecided.refusal.value();
    if let (Some(id), Some(members)) = (undecided.id, value.as_object_mut()) {
        members.insert("decision_id".into(), id);
    }
    value
}
