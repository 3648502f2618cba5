//! One call of a function of the service: `/v1/call/{function}`.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use rego_platform::{Value, functions};

use super::query::prepare;
use crate::answer::{Refusal, json, object};
use crate::app::App;
use crate::body::Members;
use crate::decide::{Asking, Question, decide};
use crate::decision_log::Subject;
use crate::parameters::Parameters;

/// Answers with what a policy would get from the same call: `{"arguments": […]}` in, `result` out.
pub(super) async fn post(
    State(app): State<App>,
    asking: Asking,
    Path(name): Path<String>,
    parameters: Parameters,
    body: Members,
) -> Result<Response, Refusal> {
    let arguments = body.get("arguments").unwrap_or_else(Value::new_array);
    let count = arguments.as_array().map(rego_platform::rego::value::Array::len);
    let count = count.ok_or_else(|| Refusal::invalid("`arguments` isn't an array"))?;
    let set = app.policies.current();
    let Some(function) = functions::function(&name) else {
        let known = functions::FUNCTIONS.iter().map(|function| function.name);
        let known = known.collect::<Vec<_>>().join(", ");
        let message = format!("there is no such function; there are {known}");
        return Err(Refusal::new(StatusCode::NOT_FOUND, "resource_not_found", message));
    };
    let operands: Vec<String> = (0..count).map(|index| format!("input[{index}]")).collect();
    let full = set.policies.product().function(function.name);
    let text = format!("result := {full}({})", operands.join(", "));
    let question = Question {
        prepared: prepare(&set, &text).await?,
        subject: Subject::Query(text),
        input: Some(arguments),
        parsing: body.parsing,
        is_strict: true,
        batch: None,
    };
    let decision = decide(&app, &set, &asking, question).await?;
    let row = decision.output.rows.first();
    let answer = object([
        ("decision_id", decision.id),
        ("result", row.and_then(|row| row.bindings.get("result")).cloned()),
    ]);
    json(StatusCode::OK, &answer, parameters.is_pretty(), app.bounds.answer)
}
