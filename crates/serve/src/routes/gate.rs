//! A gate's verdict over inputs: `/v1/gate`.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use rego_platform::evaluate::{CancelOnDrop, Cancellation, Recording};
use rego_platform::{Error, Value};
use rego_platform_gate::InputSource;
use rego_platform_gate::model::Exit;

use crate::answer::{Refusal, json};
use crate::app::App;
use crate::body::Members;
use crate::decide::{Asking, identity};
use crate::decision_log::{Event, Subject};
use crate::parameters::Parameters;
use crate::policy_set::PolicySet;

/// Answers with the report of a run over `{"inputs": {NAME: INPUT, …}}`. One without a verdict is an error.
pub(super) async fn post(
    State(app): State<App>,
    asking: Asking,
    parameters: Parameters,
    body: Members,
) -> Result<Response, Refusal> {
    let inputs = body.get("inputs").unwrap_or_default();
    let named = inputs.as_object().filter(|inputs| !inputs.is_empty());
    let Some(named) = named else {
        return Err(Refusal::invalid("`inputs` isn't an object with an input for each name"));
    };
    let sources: Vec<InputSource> = named
        .iter()
        .map(|(name, input)| {
            let name = name.as_str().unwrap_or_default().to_owned();
            InputSource::Document(name, input.to_json().into())
        })
        .collect();
    let set = app.policies.current();
    let id = identity(&app);
    let began = Instant::now();
    let outcome = run(&app, &set, &asking, sources, id.is_some()).await;
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
            ..asking.event(&app, &set, id, Subject::Gate)
        };
        asking.log(&app, &set, event).await?;
    }
    let (exit, mut report) = outcome?;
    if let (Some(id), Some(members)) = (id, report.as_object_mut()) {
        members.insert("decision_id".into(), id.into());
    }
    let status = match exit {
        Exit::Passed | Exit::Failed => StatusCode::OK,
        Exit::NoVerdict => StatusCode::INTERNAL_SERVER_ERROR,
    };
    json(status, &report, parameters.is_pretty(), app.bounds.answer)
}

/// Runs the gate away from the threads that answer. Dropping the future cancels the run.
async fn run(
    app: &App,
    set: &Arc<PolicySet>,
    asking: &Asking,
    sources: Vec<InputSource>,
    record: bool,
) -> Result<(Exit, Value, Option<Recording>), Refusal> {
    // Its client may leave.
    let cancel = CancelOnDrop(Cancellation::new());
    let time = asking.options(app).budget.timeout;
    let (running, set, asking) = (app.clone(), Arc::clone(set), asking.clone());
    let cancellation = cancel.0.clone();
    let run = tokio::task::spawn_blocking(move || {
        let mut options = asking.options(&running);
        options.cancellation = Some(cancellation);
        // The run as a whole ends in time; the report has the limit that was set, not what was left of it.
        options.budget.timeout = running.evaluate.budget.timeout;
        let refuse = |error: &Error| Refusal::of_evaluation(error, None);
        let gate = set.gate.as_ref().map_err(refuse)?;
        let mut options = (running.gate.0)(options);
        options.record |= record;
        let (run, recording) = gate.run(sources, &options, &mut ()).map_err(|e| refuse(&e))?;
        let report = Value::from_serialize(&run);
        let report = report.map_err(|error| Refusal::internal(error.to_string()))?;
        Ok::<_, Refusal>((run.exit, report, recording))
    });
    // The time of a run is that of all its inputs together.
    let timed_out = |_| Refusal::of_evaluation(&Error::timed_out_after("the run", time), None);
    let run = tokio::time::timeout(time, run).await.map_err(timed_out)?;
    run.map_err(|_| Refusal::internal("the run panicked"))?
}
