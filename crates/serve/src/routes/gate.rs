//! A gate's verdict over inputs: `/v1/gate`.

use std::time::Instant;

use axum::http::StatusCode;
use axum::response::Response;
use rego_platform::Value;
use rego_platform_gate::model::Exit;
use rego_platform_gate::{InputSource, ambiguous_scalar};

use crate::answer::{Refusal, json};
use crate::body::Members;
use crate::decide::Asked;
use crate::decision_log::{Event, Subject};
use crate::judgement::judge;

/// The path of the route, and of its entries in the log.
pub(super) const ROUTE: &str = "/v1/gate";

/// Answers with the report of a run over `{"inputs": {NAME: INPUT, …}}`. One without a verdict is an error.
pub(super) async fn post(asked: Asked, body: Members) -> Result<Response, Refusal> {
    let Asked { asking, parameters, .. } = asked;
    let inputs = body.get("inputs").unwrap_or_default();
    let named = inputs.as_object().filter(|inputs| !inputs.is_empty());
    let Some(named) = named else {
        return Err(Refusal::invalid("`inputs` isn't an object with an input for each name"));
    };
    if let Some(error) = named.values().find_map(ambiguous_scalar) {
        return Err(Refusal::invalid(error.report()));
    }
    let sources: Vec<InputSource> = named
        .iter()
        .map(|(name, input)| {
            let name = name.as_str().unwrap_or_default().to_owned();
            InputSource::Document(name, input.to_json().into())
        })
        .collect();
    let id = asking.identity();
    let began = Instant::now();
    let outcome = judge(&asking, sources, id.is_some()).await;
    let outcome = outcome.and_then(|(run, recording)| {
        let report = Value::from_serialize(&run);
        let report = report.map_err(|error| Refusal::internal(error.to_string()))?;
        Ok((run.exit, report, recording))
    });
    let (outcome, recording) = match outcome {
        Ok((exit, report, recording)) => (Ok((exit, report)), recording),
        Err(refusal) => (Err(refusal), None),
    };
    if let Some(id) = id.clone() {
        let report = outcome.as_ref().map(|(_, report)| Some(report.clone()));
        let event = Event {
            input: Some(inputs),
            outcome: report.map_err(Refusal::value),
            recording: Ok(recording.unwrap_or_default()),
            metrics: asking.metrics(body.parsing, began.elapsed()).into_iter().collect(),
            ..asking.event(id, Subject::Route(ROUTE))
        };
        asking.log(event).await?;
    }
    let (exit, mut report) = outcome?;
    if let (Some(id), Some(members)) = (id, report.as_object_mut()) {
        members.insert("decision_id".into(), id.into());
    }
    let status = match exit {
        Exit::Passed | Exit::Failed => StatusCode::OK,
        Exit::NoVerdict => StatusCode::INTERNAL_SERVER_ERROR,
    };
    json(status, &report, parameters.is_pretty(), asking.app.bounds.answer)
}
