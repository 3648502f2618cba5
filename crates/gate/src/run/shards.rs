//! Shards of a run: selection of files, and merging of reports.
//!
//! Owns what parts must have in common. A part ends as a run does (`notes`), and so does the run that is
//! made of all of them.

use std::collections::HashMap;

use rego_platform::Error;
use rego_platform_client::text::escape;
use sha2::{Digest as _, Sha256};

use super::options::RunOptions;
use crate::digest;
use crate::input::InputSource;
use crate::provenance::Shard;
use crate::report::model::{
    AnsweredBy, Failure, Inventory, OptionEffect, Part, Run, Tally, Totals, Waiver,
};
use crate::setting;
use crate::verdict::{Hint, NOTES, notes, outcome};

/// Selects the files of a shard, and returns the shard's description.
///
/// # Errors
/// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) if the outcome of a part would depend on other parts.
pub(super) fn select(
    shard: Shard,
    sources: &mut Vec<(u64, InputSource)>,
    options: &RunOptions,
) -> Result<Part, Error> {
    let refuse = |message| Err(Error::configuration(message).by_setting(setting::PARTS));
    if options.documents.combine {
        return refuse("unsupported shards: the run combines its inputs");
    }
    if options.fail_fast {
        return refuse("unsupported shards: the run stops at the first failure");
    }
    if sources.is_empty() {
        return refuse("unsupported shards: the run has no input");
    }
    let mut names = Sha256::new();
    for (_, source) in &*sources {
        if matches!(source, InputSource::Stream(..)) {
            return refuse("unsupported shards: a stream can be read only once");
        }
        names.update(&*source.name());
        // No path has it.
        names.update([0]);
    }
    let files = sources.len() as u64;
    sources.retain(|(_, source)| shard.has(&source.name()));
    let names = digest::finished(names);
    Ok(Part { number: shard.number(), of: shard.of(), files, names, ..Part::default() })
}

fn not_of_one_run(message: String, hint: &str) -> Error {
    Error::configuration(message).with_hint(hint)
}

/// Merges the reports of all shards, in any order. The result is that of a run over all files, except for
/// times, and for the numbers of requests where inputs share answers.
///
/// # Errors
/// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) if a report isn't of a part, a part is missing or there twice, or two
/// differ in more than their inputs, such as in a policy, an option or the version of the tool.
pub fn merge(reports: Vec<(String, Run)>, hint: Hint) -> Result<Run, Error> {
    let again = "run each shard once, with the same command except for `N` in `N/OF`";
    let mut parts = Vec::with_capacity(reports.len());
    for (name, mut run) in reports {
        let shown = escape(&name);
        let Some(part) = run.part.take() else {
            let why = run.failure.as_ref().map(|failure| format!(": {}", failure.message));
            let why = why.unwrap_or_default();
            return Err(not_of_one_run(
                format!("not the report of a shard: `{shown}`{why}"),
                again,
            ));
        };
        parts.push(Report { name, part, run });
    }
    if let Some(Report { name, .. }) = parts.iter().find(|report| !is_consistent(&report.run)) {
        let message =
            format!("inconsistent report `{}`: its totals differ from its inputs", escape(name));
        return Err(not_of_one_run(message, again));
    }
    parts.sort_by_key(|report| report.part.number);
    for pair in parts.windows(2) {
        if let [one, other] = pair
            && let Some(what) = differing(one, other)
        {
            let (one, other) = (escape(&one.name), escape(&other.name));
            return Err(not_of_one_run(
                format!("shards `{one}` and `{other}` differ in `{what}`"),
                again,
            ));
        }
    }
    let of = parts.first().map_or(0, |report| report.part.of);
    let mut numbers = parts.iter().map(|report| report.part.number).peekable();
    for expected in 1..=of {
        if numbers.next_if_eq(&expected).is_none() {
            return Err(not_of_one_run(format!("missing shard {expected} of {of}"), again));
        }
        if numbers.next_if_eq(&expected).is_some() {
            return Err(not_of_one_run(format!("duplicate shard {expected} of {of}"), again));
        }
    }
    if let Some(number) = numbers.next() {
        return Err(not_of_one_run(format!("unexpected shard {number} of {of}"), again));
    }
    let none = || not_of_one_run("no report to merge".to_owned(), again);
    joined(parts, hint).ok_or_else(none)
}

/// The report of a shard, and its shard description.
struct Report {
    name: String,
    part: Part,
    run: Run,
}

impl Report {
    /// Returns the notes that all shards share.
    fn common_notes(&self) -> &[String] {
        let count = usize::try_from(self.part.common_notes).unwrap_or(usize::MAX);
        self.run.notes.get(..count).unwrap_or(&self.run.notes)
    }
}

/// Returns `true` if a shard's outcomes and totals are consistent with its verdicts.
fn is_consistent(run: &Run) -> bool {
    let own = &run.totals;
    let counted = Totals {
        not_evaluated: own.not_evaluated,
        calls: own.calls,
        attempts: own.attempts,
        bytes: own.bytes,
        ..outcome::count(&run.inputs)
    };
    *own == counted && run.inputs.iter().all(|input| outcome::is_concluded(input, &run.rules))
}

/// Returns a field that differs between two shards, apart from their inputs.
fn differing(one: &Report, other: &Report) -> Option<&'static str> {
    let waivers = |run: &Run| -> Vec<_> {
        run.waivers.iter().map(|waiver| Waiver { matched: 0, ..waiver.clone() }).collect()
    };
    let whole = |part: &Part| (part.of, part.files, part.names.clone());
    let (a, b) = (&one.run, &other.run);
    let equal = [
        ("tool", a.tool == b.tool),
        ("policies", a.policies == b.policies),
        ("sources", a.sources == b.sources),
        ("rules", a.rules == b.rules),
        ("waivers", waivers(a) == waivers(b)),
        ("answers", answers(a) == answers(b)),
        ("inventory", inventory(a) == inventory(b)),
        ("part", whole(&one.part) == whole(&other.part)),
        ("notes", one.common_notes() == other.common_notes()),
    ];
    equal.into_iter().find(|(_, is_equal)| !is_equal).map(|(what, _)| what)
}

/// Returns the source of answers. Whether a service is an emulator is known only from an answer.
fn answers(run: &Run) -> AnsweredBy {
    if run.answers == AnsweredBy::Emulator { AnsweredBy::Service } else { run.answers }
}

/// Returns an inventory without what is counted over inputs.
fn inventory(run: &Run) -> Inventory {
    let mut inventory = run.inventory.clone();
    for package in &mut inventory.packages {
        package.calls = 0;
    }
    for option in &mut inventory.options {
        (option.effect, option.times) = (OptionEffect::Recorded, 0);
    }
    inventory.call_sites.clear();
    inventory.asked.clear();
    inventory.service.answered_by = None;
    inventory
}

/// Merges shards of one run; `None` without shards.
fn joined(mut parts: Vec<Report>, hint: Hint) -> Option<Run> {
    let notes = parts.first()?.common_notes().to_vec();
    let mut inputs: Vec<_> =
        parts.iter_mut().flat_map(|report| std::mem::take(&mut report.run.inputs)).collect();
    inputs.sort_by_key(|input| input.place);
    let mut places = HashMap::new();
    for (place, input) in inputs.iter_mut().enumerate() {
        input.place = None;
        places.entry(input.name.clone()).or_insert(place);
    }
    let mut tally = Tally::default();
    let mut runs = Vec::with_capacity(parts.len());
    for Report { part, run, .. } in parts {
        tally.add(part.tally, |name| places.get(name).copied().unwrap_or(usize::MAX));
        runs.push(run);
    }
    let mut runs = runs.into_iter();
    let mut whole = runs.next()?;
    whole.failure = whole.failure.filter(is_of_part);
    for run in runs {
        whole.ai |= run.ai;
        if run.answers == AnsweredBy::Emulator {
            whole.answers = run.answers;
        }
        whole.failure = whole.failure.or(run.failure.filter(is_of_part));
        whole.duration_ms = whole.duration_ms.max(run.duration_ms);
        if run.started < whole.started {
            whole.started = run.started;
        }
        let (all, more) = (&mut whole.totals, run.totals);
        for (sum, more) in [
            (&mut all.not_evaluated, more.not_evaluated),
            (&mut all.calls, more.calls),
            (&mut all.attempts, more.attempts),
            (&mut all.bytes, more.bytes),
            (&mut whole.requirements_unlisted, run.requirements_unlisted),
        ] {
            *sum = sum.saturating_add(more);
        }
        whole.add_requirements(run.requirements);
        whole.requirements_cut |= run.requirements_cut;
        for (package, more) in whole.inventory.packages.iter_mut().zip(run.inventory.packages) {
            package.calls = package.calls.saturating_add(more.calls);
        }
        whole.inventory.asked.extend(run.inventory.asked);
        for site in run.inventory.call_sites {
            whole.inventory.reached(site);
        }
    }
    for waiver in &mut whole.waivers {
        waiver.matched = 0;
    }
    whole.inventory.service.answered_by =
        whole.inventory.service.answered_by.map(|_| whole.answers);
    whole.inputs = inputs;
    whole.notes = notes;
    notes::finish(&mut whole, &tally, hint);
    Some(whole)
}

/// Returns `true` for a failure other than that of notes, which are judged for all shards together.
fn is_of_part(failure: &Failure) -> bool {
    failure.kind != NOTES
}
