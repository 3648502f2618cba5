//! The gate's verdict over inputs, which `/v1/gate` and the webhooks share.

use rego_platform::Error;
use rego_platform::evaluate::{CancelOnDrop, Cancellation, Recording};
use rego_platform_gate::InputSource;
use rego_platform_gate::model::Run;

use super::answer::Refusal;
use super::decide::Asking;

/// Runs the gate away from the threads that answer. Dropping the future cancels the run.
pub(crate) async fn judge(
    asking: &Asking,
    sources: Vec<InputSource>,
    record: bool,
) -> Result<(Run, Option<Recording>), Refusal> {
    // Its client may leave.
    let cancel = CancelOnDrop(Cancellation::new());
    let time = asking.options().budget.timeout;
    let (asking, cancellation) = (asking.clone(), cancel.0.clone());
    let run = tokio::task::spawn_blocking(move || {
        let mut options = asking.options();
        options.cancellation = Some(cancellation);
        // The run as a whole ends in time; the report has the limit that was set, not what was left of it.
        options.budget.timeout = asking.limit();
        let refuse = |error: &Error| Refusal::of_evaluation(error, None);
        let gate = asking.set.gate.as_ref().map_err(refuse)?;
        let mut options = (asking.app.gate.0)(options);
        options.record |= record;
        gate.run(sources, &options, &mut ()).map_err(|error| refuse(&error))
    });
    // The time of a run is that of all its inputs together.
    let timed_out = |_| Refusal::of_evaluation(&Error::timed_out_after("the run", time), None);
    let run = tokio::time::timeout(time, run).await.map_err(timed_out)?;
    run.map_err(|_| Refusal::internal("the run panicked"))?
}
