//! Calls of functions of the service: one with `/v1/call/{function}`, many with `/v1/batch/call`.

use std::time::Duration;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use rego_platform::functions::{self, Cost, Function};
use rego_platform::rego::value::Array;
use rego_platform::{ErrorKind, Value};

use super::query::prepare;
use crate::answer::{Refusal, json, object};
use crate::body::Members;
use crate::decide::{Asked, Asking, Decision, Question, Undecided, decide};
use crate::decision_log::Subject;

/// The most calls of a request that are evaluated at the same time. How many requests the service gets at the
/// same time is the platform's own limit.
const TOGETHER: usize = 256;

/// The most calls of a request, the calls that an evaluation makes at most by default.
const MOST: usize = 20_000;

/// Answers with what a policy would get from the same call: `{"arguments": […]}` in, `result` out.
pub(super) async fn post(
    asked: Asked,
    Path(name): Path<String>,
    body: Members,
) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let call = Call::new(&name, body.get("arguments"))?;
    let decision = call.make(&asking, body.parsing, None).await?;
    let answer = object([("result", result(&decision)), ("decision_id", decision.id)]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), asking.app.bounds.answer)
}

/// Answers many calls at once, each as [`post`] does, with a result or an error for each in their order.
///
/// A client that evaluates in passes asks here for what its pass didn't know. Unless its request is `exact`, it
/// doesn't know whether its evaluation makes these calls, and prompts aren't sent.
pub(super) async fn post_many(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let is_exact = match body.get("exact") {
        None => false,
        Some(Value::Bool(is_exact)) => is_exact,
        Some(_) => return Err(Refusal::invalid("`exact` isn't a boolean")),
    };
    let calls = body.get("calls");
    let calls = calls.as_ref().and_then(Value::as_array);
    let calls = calls.ok_or_else(|| Refusal::invalid("`calls` isn't an array"))?;
    if calls.len() > MOST {
        let message = format!("too many calls: {}, expected {MOST} at most", calls.len());
        return Err(Refusal::invalid(message));
    }
    let calls = calls.iter().map(Call::of_batch).collect::<Result<Vec<_>, _>>()?;
    let batch = asking.identity();
    let make_each = calls.into_iter().map(|call| {
        let (asking, batch) = (asking.clone(), batch.clone());
        async move {
            let call = call?;
            if call.function.cost == Cost::Prompt && !is_exact {
                let message = "a prompt is sent only if the request has `\"exact\": true`";
                return Err(failure(ErrorKind::NotAnswered, message));
            }
            let made = call.make(&asking, body.parsing, batch).await;
            made.map_err(|Undecided { refusal, .. }| failure(refusal.kind(), &refusal.reason()))
        }
    });
    let made: Vec<_> = stream::iter(make_each).buffered(TOGETHER).collect().await;
    let results = made.into_iter().map(|made| match made {
        Ok(decision) => object([("result", result(&decision)), ("decision_id", decision.id)]),
        Err(failure) => object([("error", Some(failure))]),
    });
    let answer = object([
        ("batch_decision_id", batch.map(Value::from)),
        ("results", Some(results.collect())),
    ]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), asking.app.bounds.answer)
}

/// A call of a function of the service.
struct Call {
    function: &'static Function,
    arguments: Value,
    /// The number of its arguments.
    count: usize,
}

impl Call {
    fn new(name: &str, arguments: Option<Value>) -> Result<Self, Refusal> {
        let arguments = arguments.unwrap_or_else(Value::new_array);
        let count = arguments.as_array().map(Array::len);
        let count = count.ok_or_else(|| Refusal::invalid("`arguments` isn't an array"))?;
        let function = functions::function(name).ok_or_else(unknown)?;
        Ok(Self { function, arguments, count })
    }

    /// Reads a call of a batch. A function that doesn't exist is an error of this call alone.
    fn of_batch(call: &Value) -> Result<Result<Self, Value>, Refusal> {
        let wrong = || Refusal::invalid("a call isn't an object with `function` and `arguments`");
        let name = call.get_str("function").and_then(Value::as_str).ok_or_else(wrong)?;
        if functions::function(name).is_none() {
            return Ok(Err(failure(ErrorKind::InvalidArgument, &unknown().reason())));
        }
        Self::new(name, call.get_str("arguments").cloned()).map(Ok)
    }

    /// Makes the call as a policy would.
    async fn make(
        self,
        asking: &Asking,
        parsing: Duration,
        batch: Option<String>,
    ) -> Result<Decision, Undecided> {
        let operands: Vec<String> =
            (0..self.count).map(|index| format!("input[{index}]")).collect();
        let full = asking.set.policies.product().function(self.function.name);
        let text = format!("result := {full}({})", operands.join(", "));
        let prepared = prepare(&asking.set, &text).await;
        let question = Question {
            prepared: prepared.map_err(|refusal| Undecided { refusal, id: None })?,
            subject: Subject::Query(text),
            input: Some(self.arguments),
            parsing,
            is_strict: true,
            batch,
        };
        decide(asking, question).await
    }
}

/// Returns the result of a call; `None` if it is undefined.
fn result(decision: &Decision) -> Option<Value> {
    let row = decision.output.rows.first();
    row.and_then(|row| row.bindings.get("result")).cloned()
}

fn unknown() -> Refusal {
    let known = functions::FUNCTIONS.iter().map(|function| function.name);
    let known = known.collect::<Vec<_>>().join(", ");
    let message = format!("unknown function: expected one of {known}");
    Refusal::new(StatusCode::NOT_FOUND, "resource_not_found", message)
}

fn failure(kind: ErrorKind, message: &str) -> Value {
    object([("kind", Some(kind.as_str().into())), ("message", Some(message.into()))])
}
