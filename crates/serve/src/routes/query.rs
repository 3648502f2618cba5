//! Queries: `/v1/query`.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use rego_platform::Value;

use crate::answer::{Refusal, json, object};
use crate::body::{Document, Members};
use crate::decide::{Asked, Question, decide};
use crate::decision_log::{Subject, bindings};
use crate::policy_set::{PolicySet, Prepared};

/// The longest query, in bytes.
const LONGEST: usize = 64 << 10;

pub(super) async fn get(asked: Asked) -> Result<Response, Refusal> {
    let none = Document { value: None, parsing: Duration::ZERO };
    let text = asked.parameters.last("q");
    let text = text.ok_or_else(|| Refusal::invalid("missing parameter 'q'"))?;
    answer(&asked, text.to_owned(), none).await
}

pub(super) async fn post(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let text = body.get("query");
    let text = text.as_ref().and_then(Value::as_str);
    let text = text.ok_or_else(|| Refusal::invalid("the request has no 'query'"))?.to_owned();
    answer(&asked, text, body.input()).await
}

/// Compiles a query on a thread that serves no requests.
pub(super) async fn prepare(set: &Arc<PolicySet>, text: &str) -> Result<Prepared, Refusal> {
    if text.len() > LONGEST {
        return Err(Refusal::invalid(format!("the query has more than {LONGEST} bytes")));
    }
    let (set, text) = (Arc::clone(set), text.to_owned());
    let compiled = tokio::task::spawn_blocking(move || set.text(&text)).await;
    compiled.map_err(|_| Refusal::internal("the query can't be compiled"))?
}

async fn answer(asked: &Asked, text: String, input: Document) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let question = Question {
        prepared: prepare(&asking.set, &text).await?,
        subject: Subject::Query(text),
        input: input.value,
        parsing: input.parsing,
        is_strict: parameters.is_set("strict-builtin-errors"),
        batch: None,
    };
    let decision = decide(asking, question).await?;
    let answer = object([
        ("metrics", parameters.metrics(decision.metrics)),
        ("result", Some(bindings(&decision.output)).filter(|_| !decision.output.is_undefined())),
    ]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), asking.app.bounds.answer)
}
