//! A gate's verdict over inputs: `/v1/gate`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use rego_platform::evaluate::{CancelOnDrop, Cancellation};
use rego_platform::{Error, Value};
use rego_platform_gate::InputSource;
use rego_platform_gate::model::Exit;

use crate::answer::{Refusal, json};
use crate::app::App;
use crate::body::Members;
use crate::decide::Asking;
use crate::parameters::Parameters;

/// Answers with the report of a run over `{"inputs": {NAME: INPUT, …}}`. One without a verdict is an error.
pub(super) async fn post(
    State(app): State<App>,
    asking: Asking,
    parameters: Parameters,
    body: Members,
) -> Result<Response, Refusal> {
    let inputs = body.get("inputs");
    let inputs = inputs.as_ref().and_then(Value::as_object).filter(|inputs| !inputs.is_empty());
    let Some(inputs) = inputs else {
        return Err(Refusal::invalid("`inputs` isn't an object with an input for each name"));
    };
    let sources: Vec<InputSource> = inputs
        .iter()
        .map(|(name, input)| {
            let name = name.as_str().unwrap_or_default().to_owned();
            InputSource::Document(name, input.to_json().into_bytes())
        })
        .collect();
    let set = app.policies.current();
    // Its client may leave.
    let cancel = CancelOnDrop(Cancellation::new());
    let time = asking.options(&app).budget.timeout;
    let (running, cancellation) = (app.clone(), cancel.0.clone());
    let run = tokio::task::spawn_blocking(move || {
        let mut options = asking.options(&running);
        options.cancellation = Some(cancellation);
        let refuse = |error: &Error| Refusal::of_evaluation(error, None);
        let gate = set.gate.as_ref().map_err(refuse)?;
        let run = (running.gate.0)(options);
        let (run, _) = gate.run(sources, &run, &mut ()).map_err(|e| refuse(&e))?;
        let value = Value::from_serialize(&run);
        let value = value.map_err(|error| Refusal::internal(error.to_string()))?;
        Ok::<_, Refusal>((run.exit, value))
    });
    // The time of a run is that of all its inputs together.
    let timed_out = |_| Refusal::of_evaluation(&Error::timed_out("the run", time), None);
    let run = tokio::time::timeout(time, run).await.map_err(timed_out)?;
    let (exit, report) = run.map_err(|_| Refusal::internal("the run panicked"))??;
    let status = match exit {
        Exit::Passed | Exit::Failed => StatusCode::OK,
        Exit::NoVerdict => StatusCode::INTERNAL_SERVER_ERROR,
    };
    json(status, &report, parameters.is_pretty(), app.bounds.answer)
}
