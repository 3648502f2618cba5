//! Asynchronous operations: started once, then polled until they end.
//!
//! Owns the start, which is never retried, the growing pauses between polls, and which statuses
//! mean succeeded, failed and running. The meaning of the output belongs to the function.

use std::time::{Duration, Instant};

use bytes::Bytes;
use rego::Value;

use super::page::{EnvelopeSeed, parse, parse_one};
use super::row::Row;
use super::{ApiRequest, Client, Context, EVALUATE_EVIDENCE, OPERATION};
use crate::resources::types::{Field, Type};
use crate::text::{escape, shorten};
use crate::{Error, ErrorKind, Limit};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The longest id of an operation; it becomes part of a URL.
const MAX_ID_BYTES: usize = 4 << 10;

static OPERATION_FIELDS: &[Field] = &[
    Field::required("id", Type::String, ""),
    Field::required("status", Type::String, ""),
    Field::required("output", Type::String, ""),
    Field::required("error_message", Type::String, ""),
    Field::required("created_at", Type::Timestamp, ""),
    Field::required("started_at", Type::Timestamp, ""),
    Field::required("finished_at", Type::Timestamp, ""),
];

/// Starts the evaluation that `body` requests, waits until it is over, and returns its `output`.
pub async fn run_operation(
    client: &Client,
    context: &Context,
    body: Bytes,
) -> Result<String, Error> {
    let start = ApiRequest {
        body: Some(body),
        idempotent: false,
        ..ApiRequest::get(EVALUATE_EVIDENCE, None)
    };
    let read = |body: &str| parse_one::<String>("operation_id", body);
    let id = client.json(context, &start, read).await?.unwrap_or_default();
    if id.is_empty() {
        return Err(Error::protocol("missing `operation_id` in the service's response"));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(Error::protocol(format!(
            "operation id of the service too long: {} bytes, the limit is {MAX_ID_BYTES}",
            id.len()
        )));
    }
    let question = ApiRequest::get(OPERATION, Some(id.clone()));
    let mut pause = FIRST_PAUSE;
    loop {
        let answer = client
            .json(context, &question, read_operation)
            .await
            .map_err(|error| lost_operation(error, &id))?;
        if let Some(output) = output_if_over(&id, answer)? {
            return Ok(output);
        }
        if Instant::now() + pause >= context.deadline {
            return Err(Error::timed_out(format!(
                "timed out waiting for operation `{}`: no time left to poll again in {pause:.1?}",
                escape(&id),
            ))
            .at_limit(Limit::Timeout));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// Turns "not found" into a protocol error. A started operation can't be unknown, and a host that makes "not
/// found" undefined must not treat it as missing evidence.
fn lost_operation(error: Error, id: &str) -> Error {
    if error.kind() == ErrorKind::NotFound {
        let id = shorten(id, 80);
        return Error::protocol(format!("the service lost operation `{id}`: {error}"));
    }
    error
}

/// Reads the operation from a response.
fn read_operation(body: &str) -> serde_json::Result<Option<Value>> {
    let contents = Row::new(OPERATION_FIELDS, "operation");
    parse(EnvelopeSeed { name: "operation", contents }, body).map(|answer| answer.contents)
}

/// Returns the output once the operation has succeeded, `None` while it runs, and an error if it
/// failed.
fn output_if_over(id: &str, operation: Option<Value>) -> Result<Option<String>, Error> {
    let Some(operation) = &operation else {
        return Err(Error::protocol("missing `operation` in the service's response"));
    };
    let found = text(operation, "id");
    if found.is_empty() && text(operation, "status").is_empty() {
        return Err(Error::protocol(
            "missing `id` and `status` of the operation in the service's response",
        ));
    }
    if !found.is_empty() && found != id {
        return Err(Error::protocol(format!(
            "operation mismatch in the service's response: found `{}`, expected `{}`",
            shorten(&found, 80),
            shorten(id, 80)
        )));
    }
    let status = text(operation, "status");
    match status.strip_prefix("ASYNC_OPERATION_STATUS_") {
        Some("SUCCEEDED" | "COMPLETED") => Ok(Some(text(operation, "output"))),
        Some("FAILED") => Err(failure("failed", operation)),
        Some("CANCELLED") => Err(failure("was cancelled", operation)),
        _ if !text(operation, "finished_at").is_empty() => {
            let how = format!("ended with status `{}`", shorten(&status, 80));
            Err(failure(&how, operation))
        }
        _ => Ok(None),
    }
}

fn failure(how: &str, operation: &Value) -> Error {
    let message = text(operation, "error_message");
    let message = if message.is_empty() {
        format!("the evaluation {how}")
    } else {
        format!("the evaluation {how}: {}", shorten(&message, 1000))
    };
    Error::operation_failed(message)
}

fn text(object: &Value, field: &str) -> String {
    let text = object.get(&Value::from(field)).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn ask(operation: &str) -> Result<Option<String>, ErrorKind> {
        let body = format!(r#"{{"operation":{operation}}}"#);
        let operation = read_operation(&body).map_err(|_| ErrorKind::Protocol)?;
        output_if_over("7", operation).map_err(|e| e.kind())
    }

    #[test]
    fn only_the_documented_statuses_are_over() {
        let with = |rest: &str| ask(&format!(r#"{{"id":"7",{rest}}}"#));
        let done = Ok(Some("x".to_owned()));
        let ok = r#""output":"x","finishedAt":"2026-01-02T03:04:05Z""#;
        assert_eq!(with(&format!(r#"{ok},"status":"ASYNC_OPERATION_STATUS_SUCCEEDED""#)), done);
        assert_eq!(with(&format!(r#"{ok},"status":"ASYNC_OPERATION_STATUS_COMPLETED""#)), done);
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
        assert_eq!(ask("null"), Err(ErrorKind::Protocol));
        assert_eq!(ask("{}"), Err(ErrorKind::Protocol));
        assert_eq!(ask(r#"{"id":"8"}"#), Err(ErrorKind::Protocol));
    }
}
