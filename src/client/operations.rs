//! Asynchronous operations: started once, then polled until they are over.
//!
//! Owns the start, which is never retried, the growing pauses between polls, and which statuses
//! mean succeeded, failed and running. The meaning of the output belongs to the function.

use std::time::{Duration, Instant};

use crate::rego::Value;
use bytes::Bytes;

use super::answer::other_digest;
use super::envelope::{refuse_around_list, undocumented, words};
use super::page::parse_envelope;
use super::{ApiRequest, Client, Context, EVALUATE_EVIDENCE, OPERATION, protocol};
use crate::resources::types::{Field, Type};
use crate::text::{escape, shorten};
use crate::{Error, ErrorKind, Limit};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The longest id of an operation; it becomes part of a URL.
const MAX_ID_BYTES: usize = 4 << 10;

/// The `output` of a succeeded operation.
pub(crate) struct OperationOutput(pub String);

static STARTED: &[Field] = &[Field::optional("operation_id", Type::String, "")];
static ANSWER: &[Field] = &[Field::optional("operation", Type::Object(OPERATION_FIELDS), "")];
static OPERATION_FIELDS: &[Field] = &[
    Field::required("id", Type::String, ""),
    Field::required("status", Type::String, ""),
    Field::required("output", Type::String, ""),
    Field::required("error_message", Type::String, ""),
    Field::required("created_at", Type::Timestamp, ""),
    Field::required("started_at", Type::Timestamp, ""),
    Field::required("finished_at", Type::Timestamp, ""),
];

/// Starts the evaluation that `body` requests and waits until it is over.
///
/// `digest` is that of the evidence.
pub(crate) async fn run_operation(
    client: &Client,
    context: &Context,
    body: Bytes,
    digest: &str,
) -> Result<OperationOutput, Error> {
    let start = ApiRequest {
        body: Some(body),
        idempotent: false,
        ..ApiRequest::get(EVALUATE_EVIDENCE, None)
    };
    let answer = client.json(context, &start, |body| parse_envelope(STARTED, body)).await?;
    refuse_result(&answer, STARTED)?;
    let id = text(&answer, "operation_id");
    if id.is_empty() {
        return Err(protocol("the service started no operation: `operation_id` is missing"));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(protocol(format!(
            "the service's operation id is {} bytes long, the limit is {MAX_ID_BYTES}",
            id.len()
        )));
    }
    let question = ApiRequest::get(OPERATION, Some(id.clone()));
    let mut pause = FIRST_PAUSE;
    loop {
        let answer = client
            .json(context, &question, |body| parse_envelope(ANSWER, body))
            .await
            .map_err(|error| lost_operation(error, &id))?;
        if let Some(output) = output_if_over(&id, digest, &answer)? {
            return Ok(OperationOutput(output));
        }
        if Instant::now() + pause >= context.deadline {
            return Err(Error::new(
                ErrorKind::TimedOut,
                format!(
                    "operation `{}` is still running, and the time limit leaves no time to poll again in {pause:.1?}",
                    escape(&id),
                ),
            )
            .at_limit(Limit::Timeout));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// Turns "not found" into a protocol error: an operation that was started can't be unknown, and a
/// host that makes "not found" undefined must not take it for missing evidence.
fn lost_operation(error: Error, id: &str) -> Error {
    if error.kind() == ErrorKind::NotFound {
        let id = shorten(id, 80);
        return protocol(format!("the service lost operation `{id}`: {error}"));
    }
    error
}

/// Returns the output once the operation has succeeded, `None` while it runs, and an error if it
/// failed.
fn output_if_over(id: &str, digest: &str, answer: &Value) -> Result<Option<String>, Error> {
    let Some(operation) = answer.get(&Value::from("operation")) else {
        return Err(protocol("the service's answer has no `operation`"));
    };
    for (object, documented) in [(answer, ANSWER), (operation, OPERATION_FIELDS)] {
        let Value::Object(fields) = object else { continue };
        refuse_result(object, documented)?;
        if let Some(other) = undocumented(fields, documented)
            .find_map(|(_, value)| other_digest(value.as_str()?, &[digest]))
        {
            return Err(protocol(format!(
                "the service evaluated other evidence than was asked for, `{}`",
                escape(other)
            )));
        }
    }
    let found = text(operation, "id");
    if found.is_empty() && text(operation, "status").is_empty() {
        return Err(protocol("the service's answer doesn't describe the operation"));
    }
    if !found.is_empty() && found != id {
        return Err(protocol(format!(
            "the service answered about operation `{}` instead of `{}`",
            shorten(&found, 80),
            shorten(id, 80)
        )));
    }
    let status = text(operation, "status");
    match status.strip_prefix("ASYNC_OPERATION_STATUS_") {
        Some("SUCCEEDED" | "COMPLETED") if text(operation, "error_message").is_empty() => {
            Ok(Some(text(operation, "output")))
        }
        Some("SUCCEEDED" | "COMPLETED") => Err(failure("succeeded with an error", operation)),
        Some("FAILED") => Err(failure("failed", operation)),
        Some("CANCELLED") => Err(failure("was cancelled", operation)),
        _ if !text(operation, "finished_at").is_empty() => {
            let how = format!("ended with status `{}`", shorten(&status, 80));
            Err(failure(&how, operation))
        }
        _ => Ok(None),
    }
}

/// Refuses undocumented keys that say that something failed, or that may be the result: what a policy
/// gets is in the output alone.
fn refuse_result(object: &Value, documented: &[Field]) -> Result<(), Error> {
    let Value::Object(fields) = object else { return Ok(()) };
    // The state of an operation that has just begun.
    let is_begun = |key: &str, value: &Value| {
        let states = words(value.as_str().unwrap_or_default());
        words(key).iter().all(|word| matches!(word.as_str(), "state" | "status"))
            && states.iter().all(|word| BEGUN.contains(&word.as_str()))
    };
    let found = undocumented(fields, documented).filter(|(key, value)| !is_begun(key, value));
    let is_result = |key: &str, value: &Value| {
        let key = key.to_lowercase();
        let trouble = |text: &str| words(text).iter().any(|word| FAILED.contains(&word.as_str()));
        RESULT.iter().any(|word| key.starts_with(word)) || value.as_str().is_some_and(trouble)
    };
    refuse_around_list(found.clone())
        .and_then(|()| match found.into_iter().find(|(key, value)| is_result(key, value)) {
            Some((key, _)) => Err(format!("it has `{}` beside its output", shorten(key, 80))),
            None => Ok(()),
        })
        .map_err(|why| protocol(format!("the service's `operation` can't be read: {why}")))
}

/// The words of states before the end.
const BEGUN: [&str; 12] = [
    "",
    "accepted",
    "async",
    "created",
    "in",
    "operation",
    "pending",
    "progress",
    "queued",
    "running",
    "started",
    "status",
];

/// The words of a text about a failure.
const FAILED: [&str; 13] = [
    "aborted",
    "canceled",
    "cancelled",
    "denied",
    "error",
    "exceeded",
    "failed",
    "failure",
    "incomplete",
    "interrupted",
    "refused",
    "rejected",
    "truncated",
];

/// The beginnings of keys for what an analysis finds.
const RESULT: [&str; 9] = [
    "approved",
    "decision",
    "finding",
    "issue",
    "output",
    "problem",
    "skipped",
    "verdict",
    "violation",
];

fn failure(how: &str, operation: &Value) -> Error {
    let message = text(operation, "error_message");
    let message = if message.is_empty() {
        format!("the evaluation {how}")
    } else {
        format!("the evaluation {how}: {}", shorten(&message, 1000))
    };
    Error::new(ErrorKind::OperationFailed, message)
}

fn text(object: &Value, field: &str) -> String {
    let text = object.get(&Value::from(field)).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn sha256(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    fn ask(operation: &str) -> Result<Option<String>, ErrorKind> {
        let body = format!(r#"{{"operation":{operation}}}"#);
        let answer = parse_envelope(ANSWER, &body).map_err(|_| ErrorKind::Protocol)?;
        output_if_over("7", &sha256('a'), &answer).map_err(|e| e.kind())
    }

    #[test]
    fn nothing_beside_the_id_of_an_operation_is_a_result() {
        let check = |more: &str| {
            let answer = Value::from_json(&format!(r#"{{"operation_id":"7",{more}}}"#)).unwrap();
            refuse_result(&answer, STARTED)
        };
        for bad in [
            r#""skipped":false"#,
            r#""violations":["x"]"#,
            r#""violations":[]"#,
            r#""status":"REJECTED""#,
            r#""message":"aborted""#,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in [
            r#""status":"ASYNC_OPERATION_STATUS_PENDING""#,
            r#""state":"running","request_id":"x","message":"evaluation is pending""#,
        ] {
            assert!(check(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn only_the_documented_statuses_are_over() {
        let with = |rest: &str| ask(&format!(r#"{{"id":"7",{rest}}}"#));
        let done = Ok(Some("x".to_owned()));
        let ok = r#""output":"x","finishedAt":"2026-01-02T03:04:05Z""#;
        assert_eq!(with(&format!(r#"{ok},"status":"ASYNC_OPERATION_STATUS_SUCCEEDED""#)), done);
        assert_eq!(with(&format!(r#"{ok},"status":"ASYNC_OPERATION_STATUS_COMPLETED""#)), done);
        let both =
            format!(r#"{ok},"status":"ASYNC_OPERATION_STATUS_SUCCEEDED","errorMessage":"x""#);
        assert_eq!(with(&both), Err(ErrorKind::OperationFailed));
        for failed in ["FAILED", "CANCELLED"] {
            let status = format!(r#""status":"ASYNC_OPERATION_STATUS_{failed}""#);
            assert_eq!(with(&status), Err(ErrorKind::OperationFailed));
        }
        for other in [
            "SUCCEEDED",
            "ASYNC_OPERATION_STATUS_SUCCEEDED_NOT",
            "",
            "async_operation_status_succeeded",
        ] {
            let status = format!(r#""status":"{other}""#);
            assert_eq!(with(&status), Ok(None), "{other}");
            assert_eq!(with(&format!("{ok},{status}")), Err(ErrorKind::OperationFailed), "{other}");
        }
        let done = format!(r#"{ok},"status":"ASYNC_OPERATION_STATUS_SUCCEEDED""#);
        for more in [
            r#""partial":true"#,
            r#""timed_out":true"#,
            r#""violations":["x"]"#,
            r#""skipped":false"#,
            r#""message":"aborted early""#,
            r#""outputs":["{\"violations\":[\"x\"]}"]"#,
            r#""verdict":"ok""#,
        ] {
            assert_eq!(with(&format!("{done},{more}")), Err(ErrorKind::Protocol), "{more}");
            let body = format!(r#"{{"operation":{{"id":"7",{done}}},{more}}}"#);
            let answer = parse_envelope(ANSWER, &body);
            let over = |answer| output_if_over("7", &sha256('a'), &answer);
            assert!(answer.is_err() || over(answer.unwrap()).is_err(), "{more}");
        }
        for (digest, is_right) in [(sha256('a'), true), (sha256('b'), false)] {
            for key in ["digest", "evidence", "input"] {
                let answer = with(&format!(r#"{done},"{key}":"{digest}""#));
                assert_eq!(answer.is_ok(), is_right, "{key}: {answer:?}");
            }
        }
        assert_eq!(ask("null"), Err(ErrorKind::Protocol));
        assert_eq!(ask("{}"), Err(ErrorKind::Protocol));
        assert_eq!(ask(r#"{"id":"8"}"#), Err(ErrorKind::Protocol));
    }
}
