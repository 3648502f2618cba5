//! Collects the events of the workers into the model, in the order of the inputs.
//!
//! Owns the inputs that aren't complete yet, the totals of calls, and the bounds on the content of
//! reports. The meaning of verdicts belongs to `outcome`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Receiver;

use rego_platform::evaluate::{CallRecord, Evaluated, Recording, is_network};
use rego_platform::functions::{self, ContentForm, Type, known_fields::count_unknown_statuses};
use rego_platform::{Error, ErrorKind, NotFound};

use super::options::{RunObserver, RunOptions};
use super::worker::{CheckResult, Event, Stop, millis};
use crate::policy::{Gate, vulnerability};
use crate::report::model::{
    Call, CallSite, Input, Inventory, Outcome, Requirement, Run, Tally, Unread, Verdict,
};
use crate::verdict::outcome;

/// The maximum number of calls listed in the reports of a run. Totals count all.
const MAX_CALLS: usize = 100_000;

/// An input with unfinished policies.
struct PendingInput {
    input: Input,
    verdicts: Vec<Option<Verdict>>,
    calls: Vec<(usize, Vec<Call>)>,
    left: usize,
    dropped: bool,
}

/// Collects results, on one thread.
pub(super) struct ResultCollector<'a> {
    gate: &'a Gate,
    options: &'a RunOptions,
    pub run: Run,
    /// The recording of all calls, or the error that prevents it.
    pub recording: Result<Recording, Error>,
    /// The inputs from the first unfinished one; `None` for finished inputs.
    pending: VecDeque<Option<PendingInput>>,
    first: usize,
    pub finished: BTreeMap<usize, Input>,
    /// The number of listed calls.
    listed: usize,
    prompt: String,
    compliance: String,
    /// The functions whose responses have statuses, with their types.
    statuses: [(String, Type); 2],
    /// The rows of responses with an unknown status, by field and status.
    unknown_statuses: BTreeMap<(&'static str, String), u64>,
    tally: Tally,
}

impl<'a> ResultCollector<'a> {
    pub fn new(gate: &'a Gate, options: &'a RunOptions) -> Self {
        let known = gate.inventory();
        let run = Run {
            answers: options.answered_by,
            inventory: Inventory {
                policies: known.policies,
                packages: known.packages,
                call_sites: known.call_sites,
                conditions: options.conditions(),
                ..options.inventory.clone()
            },
            rules: options.rules.clone(),
            policies: gate.policies.clone(),
            sources: gate.sources.clone(),
            waivers: options.waivers.shown(),
            ..Run::new(options.tool.clone())
        };
        Self {
            gate,
            options,
            run,
            recording: Ok(Recording::new()),
            pending: VecDeque::new(),
            first: 0,
            finished: BTreeMap::new(),
            listed: 0,
            prompt: gate.product.function("evidence_prompt"),
            compliance: gate.product.function("project_compliance"),
            statuses: ["project_compliance", "product_compliance"].map(|name| {
                let ty = functions::function(name).map_or(Type::Any, |function| function.result);
                (gate.product.function(name), ty)
            }),
            unknown_statuses: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Returns the counts over the inputs.
    pub fn tally(&mut self) -> Tally {
        for ((field, status), count) in std::mem::take(&mut self.unknown_statuses) {
            let counts = self.tally.unknown_statuses.entry(field.to_owned()).or_default();
            counts.insert(status, count);
        }
        std::mem::take(&mut self.tally)
    }

    /// Collects events until all workers have ended.
    pub fn collect(
        &mut self,
        events: &Receiver<Vec<Event>>,
        stop: &Stop,
        observer: &mut dyn RunObserver,
    ) {
        for event in events.iter().flatten() {
            let index = match event {
                Event::Began(index, input, left) => {
                    observer.began(&input.name);
                    self.pending.push_back(Some(PendingInput {
                        input: *input,
                        verdicts: vec![None; self.gate.checks.len()],
                        calls: Vec::new(),
                        left,
                        dropped: false,
                    }));
                    index
                }
                Event::Done(results) => {
                    let Some(index) = results.first().map(|result| result.index) else { continue };
                    for result in results {
                        self.add(result, observer);
                    }
                    index
                }
                Event::Unreadable(index, failure, checks) => {
                    if let Some(pending) = self.pending(index) {
                        pending.left = pending.left.saturating_sub(checks);
                        pending.input.error = Some(*failure);
                    }
                    index
                }
                Event::Dropped(index, checks) => {
                    if let Some(pending) = self.pending(index) {
                        pending.left = pending.left.saturating_sub(checks);
                        pending.dropped = true;
                    }
                    index
                }
                Event::Left(inputs) => {
                    self.run.totals.not_evaluated += inputs as u64;
                    continue;
                }
            };
            self.complete(index, stop, observer);
        }
        // An input that is still pending has lost its worker, and counts as not evaluated.
        self.run.totals.not_evaluated += self.pending.iter().flatten().count() as u64;
    }

    fn pending(&mut self, index: usize) -> Option<&mut PendingInput> {
        self.pending.get_mut(index.checked_sub(self.first)?)?.as_mut()
    }

    /// Adds the result of one policy for one input.
    fn add(&mut self, mut result: CheckResult, observer: &mut dyn RunObserver) {
        let mut calls = Vec::new();
        self.count_remarks(&mut result);
        if let Some(evaluated) = &result.evaluated {
            self.count_calls(&result.verdict.policy, evaluated, &mut calls);
            self.record(evaluated);
        }
        self.listed += calls.len();
        // Borrows the field alone: the run is needed below.
        let at = result.index.checked_sub(self.first);
        let pending = at.and_then(|at| self.pending.get_mut(at)).and_then(Option::as_mut);
        let Some(pending) = pending else { return };
        let name = &pending.input.name;
        if let Some(evaluated) = &result.evaluated {
            evaluated.prints.iter().for_each(|print| observer.printed(name, print));
            if let Some(explanation) = &result.explanation {
                observer.explained(name, explanation);
            }
            for (function, answer) in evaluated.answered() {
                if function == self.compliance {
                    self.run.add_requirements(Requirement::all_of(answer));
                }
                if let Some((_, ty)) = self.statuses.iter().find(|(name, _)| name == function) {
                    count_unknown_statuses(*ty, answer, &mut self.unknown_statuses);
                }
            }
            let (ledger, all) = (&mut pending.input.ledger, &evaluated.ledger);
            ledger.left_out += (all.calls.len() - calls.len()) as u64;
            for entry in &all.calls {
                ledger.attempts += u64::from(entry.attempts);
                if !entry.is_unsent() {
                    *ledger.origins.entry(origin(entry)).or_default() += 1;
                }
            }
            ledger.passes = ledger.passes.max(all.passes);
        }
        pending.calls.push((result.check, calls));
        if let Some(slot) = pending.verdicts.get_mut(result.check) {
            *slot = Some(result.verdict);
        }
        pending.input.duration_ms = pending.input.duration_ms.max(millis(result.since));
        pending.left = pending.left.saturating_sub(1);
    }

    /// Counts the remarks about a policy that passed.
    fn count_remarks(&mut self, result: &mut CheckResult) {
        if !result.read_nothing && result.remarks.is_empty() {
            return;
        }
        let pending = self.pending(result.index);
        let first = pending.map(|pending| pending.input.name.clone()).unwrap_or_default();
        let unread =
            |policy| Unread { policy, inputs: 1, place: result.index, first: first.clone() };
        if result.read_nothing {
            self.tally.add_unread(result.check, unread(result.verdict.policy.clone()));
        }
        for remark in std::mem::take(&mut result.remarks) {
            self.tally.add_remark(remark, unread(String::new()));
        }
    }

    /// Counts the calls of an evaluation, and lists them up to the limit.
    fn count_calls(&mut self, policy: &str, evaluated: &Evaluated, calls: &mut Vec<Call>) {
        let ledger = &evaluated.ledger;
        let mut packages = self.run.inventory.packages.iter_mut();
        if let Some(package) = packages.find(|package| package.name == policy) {
            // Without a verdict it isn't known which calls were needed, so all count.
            let asked = match &evaluated.result {
                Ok(_) => ledger.asked_of_service(),
                Err(_) => ledger.calls.iter().filter(|call| !is_network(&call.function)).count(),
            };
            package.calls += asked as u64;
        }
        let is_local = |function: &str| vulnerability::is_call(function, &self.gate.product);
        for site in evaluated.sites().into_iter().filter(|site| !is_local(&site.function)) {
            self.run.inventory.reached(CallSite {
                package: policy.to_owned(),
                function: site.function,
                position: site.position,
                reached: Some(site.reached),
            });
        }
        self.run.inventory.asked.extend(evaluated.asked().map(str::to_owned));
        let (tally, totals) = (&mut self.tally, &mut self.run.totals);
        tally.swallowed += evaluated.builtin_errors();
        tally.requests += (ledger.needed().count() - ledger.asked_of_service()) as u64;
        let undefined = self.options.evaluate.not_found == NotFound::Undefined;
        for entry in &ledger.calls {
            let missing = entry.outcome == ErrorKind::NotFound.as_str();
            tally.undefined += u64::from(undefined && entry.needed && missing);
            if entry.needed {
                tally.cut += u64::from(entry.cut);
                self.run.requirements_cut |= entry.cut && entry.function == self.compliance;
                tally.base64 += u64::from(entry.form == Some(ContentForm::Base64));
            }
            totals.calls += 1;
            totals.attempts += u64::from(entry.attempts);
            totals.bytes += entry.bytes;
            let is_ai = entry.function == self.prompt && entry.needed;
            self.run.ai |= is_ai && entry.outcome == "ok" && !entry.skipped;
            tally.skipped += u64::from(is_ai && entry.skipped);
            if self.listed + calls.len() < MAX_CALLS {
                calls.push(call(policy, entry));
            }
        }
    }

    /// Adds the calls of an evaluation to the recording, if there is one.
    fn record(&mut self, evaluated: &Evaluated) {
        if self.options.record
            && let Ok(recording) = &mut self.recording
            && let Err(error) = evaluated.recording().and_then(|more| recording.merge(more))
        {
            self.recording = Err(error);
        }
    }

    /// Completes an input once all its policies are done.
    fn complete(&mut self, index: usize, stop: &Stop, observer: &mut dyn RunObserver) {
        if self.pending(index).is_none_or(|pending| pending.left > 0) {
            return;
        }
        let slot = index.checked_sub(self.first).and_then(|at| self.pending.get_mut(at));
        let Some(mut pending) = slot.and_then(Option::take) else { return };
        while matches!(self.pending.front(), Some(None)) {
            self.pending.pop_front();
            self.first += 1;
        }
        if pending.dropped {
            self.run.totals.not_evaluated += 1;
            return;
        }
        pending.calls.sort_by_key(|(check, _)| *check);
        pending.input.ledger.calls =
            pending.calls.into_iter().flat_map(|(_, calls)| calls).collect();
        pending.input.verdicts = pending.verdicts.into_iter().flatten().collect();
        outcome::input(&mut pending.input, &self.options.rules, self.options.hint);
        if self.options.fail_fast && pending.input.outcome != Outcome::Passed {
            stop.after(index);
        }
        observer.ended(&pending.input);
        self.finished.insert(index, pending.input);
    }
}

/// Returns the origin of a response for reports.
fn origin(entry: &CallRecord) -> String {
    format!("{:?}", entry.origin).to_lowercase()
}

fn call(policy: &str, entry: &CallRecord) -> Call {
    Call {
        policy: policy.to_owned(),
        function: entry.function.clone(),
        arguments: entry.arguments.clone(),
        pass: entry.pass,
        needed: entry.needed,
        origin: origin(entry),
        outcome: entry.outcome.to_owned(),
        cut: entry.cut,
        rereads: Some(entry.rereads).filter(|again| *again > 0),
        skipped: entry.skipped,
        form: entry.form.map(|form| form.as_str().to_owned()),
        attempts: entry.attempts,
        bytes: entry.bytes,
        latency_us: u64::try_from(entry.latency.as_micros()).unwrap_or(u64::MAX),
    }
}
