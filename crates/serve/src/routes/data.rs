//! Documents: `/v1/data`, `/v0/data`, and `/` for the default decision.

use std::time::Instant;

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use rego_platform::Value;

use crate::answer::{Refusal, json, object};
use crate::body::{self, Document, Members};
use crate::decide::{Asked, Decision, Question, decide};
use crate::decision_log::Subject;
use crate::parameters::Parameters;
use crate::policy_set::{POLICIES, PolicySet};

/// The path of the default decision.
pub(super) const DEFAULT: &str = "system/main";

/// Returns the document's path in an address, as it is written there.
pub(super) fn path<'a>(uri: &'a Uri, at: &str) -> &'a str {
    let rest = uri.path().strip_prefix(at).unwrap_or_default();
    rest.trim_matches('/')
}

pub(super) async fn get_v1(asked: Asked) -> Result<Response, Refusal> {
    let began = Instant::now();
    let value = asked.parameters.last("input").map(body::of_parameter).transpose()?;
    let input = Document { value, parsing: began.elapsed() };
    v1(&asked, input, None).await
}

pub(super) async fn post_v1(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let input = body.input();
    // A client probably forgot it.
    let is_missing = input.value.is_none();
    let warning = is_missing.then(|| warning("'input' key missing from the request"));
    v1(&asked, input, warning).await
}

async fn v1(asked: &Asked, input: Document, warning: Option<Value>) -> Result<Response, Refusal> {
    let Asked { asking, parameters, uri } = asked;
    let path = path(uri, "/v1/data");
    let question = Question {
        subject: Subject::Document(path.to_owned()),
        prepared: asking.set.document(path)?,
        input: input.value,
        parsing: input.parsing,
        is_strict: parameters.is_set("strict-builtin-errors"),
        batch: None,
    };
    let decision = decide(asking, question).await?;
    let answer = answer(decision, parameters, &asking.set, warning);
    json(StatusCode::OK, &answer, parameters.is_pretty(), asking.app.bounds.answer)
}

/// Returns what is wrong with how a client asks.
pub(super) fn warning(message: &str) -> Value {
    object([("code", Some("api_usage_warning".into())), ("message", Some(message.into()))])
}

/// Returns the answer of `/v1/data` to a question.
pub(super) fn answer(
    decision: Decision,
    parameters: &Parameters,
    set: &PolicySet,
    warning: Option<Value>,
) -> Value {
    object([
        ("decision_id", decision.id),
        ("provenance", parameters.is_set("provenance").then(|| provenance(set))),
        ("metrics", parameters.metrics(decision.metrics)),
        ("result", decision.output.value().cloned()),
        ("warning", warning),
    ])
}

/// Returns which version decided by which policies.
pub(super) fn provenance(set: &PolicySet) -> Value {
    let revision = object([("revision", Some(set.revision.as_str().into()))]);
    object([
        ("version", Some(env!("CARGO_PKG_VERSION").into())),
        ("build_commit", Some("".into())),
        ("build_timestamp", Some("".into())),
        ("build_hostname", Some("".into())),
        ("bundles", Some(object([(POLICIES, Some(revision))]))),
    ])
}

pub(super) async fn post_v0(asked: Asked, body: Document) -> Result<Response, Refusal> {
    v0(&asked, path(&asked.uri, "/v0/data"), body).await
}

pub(super) async fn default_decision(asked: Asked, body: Document) -> Result<Response, Refusal> {
    v0(&asked, DEFAULT, body).await
}

/// Answers with the document alone; the body is the input.
async fn v0(asked: &Asked, path: &str, body: Document) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let question = Question {
        subject: Subject::Document(path.to_owned()),
        prepared: asking.set.document(path)?,
        // An empty body is `null`, as in OPA.
        input: Some(body.value.unwrap_or_default()),
        parsing: body.parsing,
        is_strict: false,
        batch: None,
    };
    let decision = decide(asking, question).await?;
    match decision.output.value() {
        Some(value) => {
            json(StatusCode::OK, value, parameters.is_pretty(), asking.app.bounds.answer)
        }
        None => Err(asking.set.undefined(path)),
    }
}
