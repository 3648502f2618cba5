//! Collecting the events of the reader and the workers into the model, in the order of the inputs.
//!
//! Owns the inputs that aren't complete yet, the totals of calls, and the bounds on the content of
//! reports. The meaning of verdicts belongs to `outcome`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::Receiver;

use rego_platform::evaluate::{Recording, is_network};
use rego_platform::functions::{self, ContentForm, Type, known_fields::count_unknown_statuses};
use rego_platform::{Error, ErrorKind, NotFound};

use super::options::{RunObserver, RunOptions};
use super::worker::{CheckResult, Event, Stop, millis};
use crate::policy::{Gate, vulnerability};
use crate::report::model::{
    Call, CallSite, Exit, Input, Inventory, Outcome, Requirement, Run, Tally, Totals, Unread,
    VERSION, Verdict,
};
use crate::verdict::outcome;

/// The most calls that the reports of one run list; totals count all.
const MAX_CALLS: usize = 100_000;

/// An input for which some policy isn't done.
struct OpenInput {
    input: Input,
    verdicts: Vec<Option<Verdict>>,
    calls: Vec<(usize, Vec<Call>)>,
    left: usize,
    dropped: bool,
}

/// The results collected so far, on one thread.
pub(super) struct RunCollector<'a> {
    gate: &'a Gate,
    options: &'a RunOptions,
    pub run: Run,
    /// The calls of all evaluations; an error if they can't be recorded.
    pub recording: Result<Recording, Error>,
    /// The inputs from the first one that isn't done; `None` for those that are.
    open: VecDeque<Option<OpenInput>>,
    first: usize,
    pub finished: std::collections::BTreeMap<usize, Input>,
    kept: usize,
    prompt: String,
    compliance: String,
    /// The functions whose answers have statuses, with their types.
    statuses: [(String, Type); 2],
    /// The rows of answers without a known status, by field and status.
    unknown_statuses: BTreeMap<(&'static str, String), u64>,
    tally: Tally,
}

impl<'a> RunCollector<'a> {
    pub fn new(gate: &'a Gate, options: &'a RunOptions) -> Self {
        let known = gate.inventory();
        let run = Run {
            schema_version: VERSION,
            tool: options.tool.clone(),
            started: String::new(),
            duration_ms: 0,
            answers: options.answered_by,
            ai: false,
            outcome: Outcome::NoVerdict,
            exit: Exit::NoVerdict,
            reasons: Vec::new(),
            causes: Vec::new(),
            failure: None,
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
            inputs: Vec::new(),
            waivers: options.waivers.shown(),
            requirements: BTreeSet::new(),
            requirements_cut: false,
            requirements_unlisted: 0,
            totals: Totals::default(),
            notes: Vec::new(),
            part: None,
        };
        Self {
            gate,
            options,
            run,
            recording: Ok(Recording::new()),
            open: VecDeque::new(),
            first: 0,
            finished: std::collections::BTreeMap::new(),
            kept: 0,
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

    /// Returns what was counted over the inputs.
    pub fn tally(&mut self) -> Tally {
        for ((field, status), count) in std::mem::take(&mut self.unknown_statuses) {
            let counts = self.tally.unknown_statuses.entry(field.to_owned()).or_default();
            counts.insert(status, count);
        }
        std::mem::take(&mut self.tally)
    }

    pub fn listen(
        &mut self,
        heard: &Receiver<Vec<Event>>,
        stop: &Stop,
        observer: &mut dyn RunObserver,
    ) {
        for event in heard.iter().flatten() {
            let index = match event {
                Event::Began(index, input, left) => {
                    observer.began(&input.name);
                    self.open.push_back(Some(OpenInput {
                        input: *input,
                        verdicts: vec![None; self.gate.checks.len()],
                        calls: Vec::new(),
                        left,
                        dropped: false,
                    }));
                    index
                }
                Event::Done(done) => {
                    let Some(index) = done.first().map(|done| done.index) else { continue };
                    for done in done {
                        self.take(done, observer);
                    }
                    index
                }
                Event::Unreadable(index, failure, checks) => {
                    if let Some(open) = self.slot(index) {
                        open.left = open.left.saturating_sub(checks);
                        open.input.error = Some(*failure);
                    }
                    index
                }
                Event::Dropped(index, checks) => {
                    if let Some(open) = self.slot(index) {
                        open.left = open.left.saturating_sub(checks);
                        open.dropped = true;
                    }
                    index
                }
                Event::Left(inputs) => {
                    self.run.totals.not_evaluated += inputs as u64;
                    continue;
                }
            };
            self.close(index, stop, observer);
        }
        // An input that is still open has lost its worker, and counts as not evaluated.
        self.run.totals.not_evaluated += self.open.iter().flatten().count() as u64;
    }

    fn slot(&mut self, index: usize) -> Option<&mut OpenInput> {
        self.open.get_mut(index.checked_sub(self.first)?)?.as_mut()
    }

    fn take(&mut self, done: CheckResult, observer: &mut dyn RunObserver) {
        let mut calls = Vec::new();
        let (mut passes, mut attempts) = (0, 0);
        let mut origins: BTreeMap<String, u64> = BTreeMap::new();
        if done.read_nothing {
            let first = self.slot(done.index).map(|open| open.input.name.clone());
            let policy = done.verdict.policy.clone();
            let unread =
                Unread { policy, inputs: 1, place: done.index, first: first.unwrap_or_default() };
            self.tally.add_unread(done.check, unread);
        }
        for remark in done.remarks {
            let first = self.slot(done.index).map(|open| open.input.name.clone());
            let first = first.unwrap_or_default();
            let unread = Unread { policy: String::new(), inputs: 1, place: done.index, first };
            self.tally.add_remark(remark, unread);
        }
        if let Some(evaluated) = &done.evaluated {
            passes = evaluated.ledger.passes;
            if let Some(package) = self
                .run
                .inventory
                .packages
                .iter_mut()
                .find(|package| package.name == done.verdict.policy)
            {
                // Without a verdict it isn't known which calls were needed, so all count.
                let asked = match &evaluated.result {
                    Ok(_) => evaluated.ledger.asked_of_service(),
                    Err(_) => {
                        let calls = evaluated.ledger.calls.iter();
                        calls.filter(|entry| !is_network(&entry.function)).count()
                    }
                };
                package.calls += asked as u64;
            }
            let is_local = |function: &str| vulnerability::is_call(function, &self.gate.product);
            for site in evaluated.sites().into_iter().filter(|site| !is_local(&site.function)) {
                self.run.inventory.reached(CallSite {
                    package: done.verdict.policy.clone(),
                    function: site.function.clone(),
                    position: site.position.clone(),
                    reached: Some(site.reached),
                });
            }
            self.run.inventory.asked.extend(evaluated.asked().map(str::to_owned));
            self.tally.swallowed += evaluated.builtin_errors();
            let (all, own) =
                (evaluated.ledger.needed().count(), evaluated.ledger.asked_of_service());
            self.tally.requests += (all - own) as u64;
            let undefined = self.options.evaluate.not_found == NotFound::Undefined;
            for entry in &evaluated.ledger.calls {
                let missing = entry.outcome == ErrorKind::NotFound.as_str();
                self.tally.undefined += u64::from(undefined && entry.needed && missing);
                if !entry.is_unsent() {
                    *origins.entry(format!("{:?}", entry.origin).to_lowercase()).or_default() += 1;
                }
                attempts += u64::from(entry.attempts);
                if entry.needed {
                    self.tally.cut += u64::from(entry.cut);
                    self.run.requirements_cut |= entry.cut && entry.function == self.compliance;
                    self.tally.base64 += u64::from(entry.form == Some(ContentForm::Base64));
                }
                self.run.totals.calls += 1;
                self.run.totals.attempts += u64::from(entry.attempts);
                self.run.totals.bytes += entry.bytes;
                let is_ai = entry.function == self.prompt && entry.needed;
                self.run.ai |= is_ai && entry.outcome == "ok" && !entry.skipped;
                self.tally.skipped += u64::from(is_ai && entry.skipped);
                if self.kept + calls.len() < MAX_CALLS {
                    calls.push(call(&done.verdict.policy, entry));
                }
            }
            if self.options.record
                && let Ok(recording) = &mut self.recording
                && let Err(error) = evaluated.recording().and_then(|more| recording.merge(more))
            {
                self.recording = Err(error);
            }
        }
        self.kept += calls.len();
        let at = done.index.checked_sub(self.first);
        let Some(open) = at.and_then(|at| self.open.get_mut(at)).and_then(Option::as_mut) else {
            return;
        };
        if let Some(evaluated) = &done.evaluated {
            for print in &evaluated.prints {
                observer.printed(&open.input.name, print);
            }
            if let Some(explanation) = &done.explanation {
                observer.explained(&open.input.name, explanation);
            }
            for (function, answer) in evaluated.answered() {
                if function == self.compliance {
                    self.run.add_requirements(Requirement::all_of(answer));
                }
                if let Some((_, ty)) = self.statuses.iter().find(|(name, _)| name == function) {
                    count_unknown_statuses(*ty, answer, &mut self.unknown_statuses);
                }
            }
            let all = evaluated.ledger.calls.len();
            open.input.ledger.left_out += (all - calls.len()) as u64;
            open.input.ledger.attempts += attempts;
            for (origin, number) in origins {
                *open.input.ledger.origins.entry(origin).or_default() += number;
            }
        }
        open.input.ledger.passes = open.input.ledger.passes.max(passes);
        open.calls.push((done.check, calls));
        if let Some(slot) = open.verdicts.get_mut(done.check) {
            *slot = Some(done.verdict);
        }
        open.input.duration_ms = open.input.duration_ms.max(millis(done.since));
        open.left = open.left.saturating_sub(1);
    }

    /// Completes an input once all its policies are done.
    fn close(&mut self, index: usize, stop: &Stop, observer: &mut dyn RunObserver) {
        if self.slot(index).is_none_or(|open| open.left > 0) {
            return;
        }
        let slot = index.checked_sub(self.first).and_then(|at| self.open.get_mut(at));
        let Some(mut open) = slot.and_then(Option::take) else { return };
        while matches!(self.open.front(), Some(None)) {
            self.open.pop_front();
            self.first += 1;
        }
        if open.dropped {
            self.run.totals.not_evaluated += 1;
            return;
        }
        open.calls.sort_by_key(|(check, _)| *check);
        open.input.ledger.calls = open.calls.into_iter().flat_map(|(_, calls)| calls).collect();
        open.input.verdicts = open.verdicts.into_iter().flatten().collect();
        outcome::input(&mut open.input, &self.options.rules, self.options.hint);
        if self.options.fail_fast && open.input.outcome != Outcome::Passed {
            stop.after(index);
        }
        observer.ended(&open.input);
        self.finished.insert(index, open.input);
    }
}

fn call(policy: &str, entry: &rego_platform::evaluate::CallRecord) -> Call {
    Call {
        policy: policy.to_owned(),
        function: entry.function.clone(),
        arguments: entry.arguments.clone(),
        pass: entry.pass,
        needed: entry.needed,
        origin: format!("{:?}", entry.origin).to_lowercase(),
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
