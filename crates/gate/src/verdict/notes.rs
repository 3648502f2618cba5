//! Counts over a run's inputs, and the completion of a run with totals, notes and outcome.
//!
//! Owns the wording of the notes that are counts. A run that was made of parts ends as any other.

use std::collections::{BTreeMap, BTreeSet};

use rego_platform::functions::known_fields::STATUSES;
use rego_platform_client::text::escape;

use super::outcome::{self, Hint};
use super::rule_values::excepts;
use crate::provenance::inventory;
use crate::report::formats::facts;
use crate::report::model::{Run, Tally, Unread};

/// The maximum number of notes of one kind. Each unknown status or name has a note.
const SHOWN: usize = 10;

/// Completes a run with its inputs and failure, adding totals, notes and the outcome.
pub(crate) fn finish(run: &mut Run, tally: &Tally, hint: Hint) {
    run.notes.extend(tally.notes());
    outcome::totals(run);
    inventory::settle(run, tally);
    let (stated, waivers): (Vec<_>, Vec<_>) = run
        .waivers
        .iter()
        .filter(|waiver| waiver.matched == 0)
        .partition(|waiver| waiver.vex.is_some());
    let more = stated.len().saturating_sub(SHOWN);
    let stated = stated.into_iter().take(SHOWN);
    run.notes.extend(waivers.into_iter().chain(stated).map(facts::unused));
    if more > 0 {
        run.notes.push(format!("{more} more unused VEX statements"));
    }
    run.notes.extend(exception_notes(run));
    outcome::run(run, hint);
}

/// Returns a note for each unknown rule name in a policy's exceptions.
fn exception_notes(run: &Run) -> Vec<String> {
    let verdicts = run.inputs.iter().flat_map(|input| &input.verdicts);
    let names = verdicts.flat_map(|own| own.exceptions.iter().map(|name| (&own.policy, name)));
    let is_unknown = |(policy, name): &(&String, &String)| {
        let mut rules =
            run.policies.iter().filter(|own| own.name == **policy).flat_map(|own| &own.rules);
        !rules.any(|rule| excepts(name, &rule.name))
    };
    let unknown: BTreeSet<_> = names.filter(is_unknown).collect();
    let note = |(policy, name): (&String, &String)| {
        let (policy, name) = (escape(policy), escape(name));
        format!("unknown rule in `exception` of the policy `{policy}`: `{name}`")
    };
    let more = unknown.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more unknown rules in exceptions"));
    unknown.into_iter().take(SHOWN).map(note).chain(more).collect()
}

impl Tally {
    /// Adds the counts of another shard. `place` gives the place of an input among all, by its name.
    pub(crate) fn add(&mut self, other: Self, place: impl Fn(&str) -> usize) {
        // Reports of parts may say anything: no sum overflows.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        for (field, counts) in other.unknown_statuses {
            let known = self.unknown_statuses.entry(field).or_default();
            for (status, count) in counts {
                add(known.entry(status).or_default(), count);
            }
        }
        for (sum, more) in [
            (&mut self.undefined, other.undefined),
            (&mut self.swallowed, other.swallowed),
            (&mut self.skipped, other.skipped),
            (&mut self.cut, other.cut),
            (&mut self.base64, other.base64),
            (&mut self.requests, other.requests),
        ] {
            add(sum, more);
        }
        for (remark, unread) in other.remarks {
            let place = place(&unread.first);
            self.add_remark(remark, Unread { place, ..unread });
        }
        for (policy, unread) in other.unread {
            let place = place(&unread.first);
            self.add_unread(policy, Unread { place, ..unread });
        }
    }

    /// Adds inputs that a policy passed without a read of their values.
    pub(crate) fn add_unread(&mut self, policy: usize, more: Unread) {
        add_inputs(&mut self.unread, policy, more);
    }

    /// Adds inputs that passed with a remark about their policy.
    pub(crate) fn add_remark(&mut self, remark: String, more: Unread) {
        add_inputs(&mut self.remarks, remark, more);
    }

    fn notes(&self) -> impl Iterator<Item = String> {
        let remarks = self.remarks.iter().take(SHOWN).map(|(remark, own)| remark_note(remark, own));
        let unread = self.unread.values().map(unread_note).chain(remarks);
        let skipped = skipped_note(self.skipped);
        unread
            .chain(skipped)
            .chain(status_notes(&self.unknown_statuses))
            .chain(self.limited_notes())
    }

    /// Returns the notes about incomplete responses.
    fn limited_notes(&self) -> impl Iterator<Item = String> + use<> {
        let counted = |count, one: &str, many: &str| match count {
            0 => None,
            1 => Some(one.to_owned()),
            count => Some(format!("{count} {many}")),
        };
        let cut = counted(self.cut, "a list was", "lists were").map(|what| {
            format!("{what} cut at the policies' own `limit`: further rows weren't read")
        });
        let base64 = counted(self.base64, "an artifact isn't", "artifacts aren't").map(|what| {
            format!("{what} UTF-8: given as base64, where a text search finds nothing")
        });
        cut.into_iter().chain(base64)
    }
}

/// Adds inputs to those that are counted under a key.
fn add_inputs<K: Ord>(known: &mut BTreeMap<K, Unread>, key: K, more: Unread) {
    let Some(known) = known.get_mut(&key) else {
        known.insert(key, more);
        return;
    };
    known.inputs = known.inputs.saturating_add(more.inputs);
    if more.place < known.place {
        (known.place, known.first) = (more.place, more.first);
    }
}

/// Returns a remark about a policy, with its inputs.
fn remark_note(remark: &str, own: &Unread) -> String {
    match own.inputs {
        1 => format!("{remark}: {}", escape(&own.first)),
        inputs => format!("{remark}: {inputs} inputs, such as {}", escape(&own.first)),
    }
}

/// Returns the note about inputs that passed without a read of their values: probably documents of a
/// different kind.
fn unread_note(unread: &Unread) -> String {
    let (policy, first) = (escape(&unread.policy), escape(&unread.first));
    match unread.inputs {
        1 => format!("the policy `{policy}` passed `{first}` without reading any of its values"),
        inputs => {
            format!(
                "the policy `{policy}` passed {inputs} inputs without reading any of their values, such as `{first}`"
            )
        }
    }
}

/// Returns the note about skipped AI analyses: a policy that doesn't read `skipped` passes.
fn skipped_note(count: u64) -> Option<String> {
    let what = match count {
        0 => return None,
        1 => "an AI analysis was skipped".to_owned(),
        count => format!("{count} AI analyses were skipped"),
    };
    Some(format!("{what}: its result is empty; check that the policy reads `skipped`"))
}

/// Returns the notes about results with an unknown status: a policy that compares with `fail` ignores them.
fn status_notes(unknown: &BTreeMap<String, BTreeMap<String, u64>>) -> Vec<String> {
    let known = STATUSES.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let note = |(field, status, count): (&String, &String, &u64)| {
        let rows = match count {
            1 => "an evaluation".to_owned(),
            count => format!("{count} evaluations"),
        };
        let how = match status.as_str() {
            "" => format!("without a `{field}`"),
            status => format!("with the unknown `{field}` `{status}`"),
        };
        format!(
            "the service sent {rows} {how}, which a policy that compares with `fail` ignores; known statuses are {known}"
        )
    };
    let each = unknown.iter().flat_map(|(field, counts)| {
        counts.iter().map(move |(status, count)| (field, status, count))
    });
    each.take(SHOWN).map(note).collect()
}
