//! The part of a run that reports for people show, and where to find the rest.
//!
//! Owns the bounds of such reports, and grouping inputs without a verdict by their reason. Reports
//! for programs are complete.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::words::{count, line};
use crate::builtins::ContentForm;
use crate::gate::model::{Call, Input, Outcome, Run, Severity, Verdict, Violation};

/// The settings of what is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// Set if inputs that passed are counted but not listed.
    pub hide_passed: bool,
    /// Set to count, and not list, inputs that passed if there is nothing else to say about them.
    pub hide_plain: bool,
    /// The file with the complete report, if one is written.
    pub more: Option<String>,
}

/// The most inputs that are listed with their violations.
const MAX_INPUTS: usize = 200;
/// The most violations of one policy that are listed for one input.
const MAX_VIOLATIONS: usize = 50;
/// The most inputs that are named in a group with the same reason.
const MAX_NAMED: usize = 5;

/// An input that is listed.
pub(crate) struct Listed<'a> {
    /// Its index in the run.
    pub index: usize,
    pub input: &'a Input,
    /// The other inputs without a verdict for the same reason, which is stated only once.
    pub alike: Vec<&'a Input>,
}

impl View {
    /// Returns the listed inputs, and a line for each kind of input that isn't listed.
    pub fn inputs<'a>(&self, run: &'a Run) -> (Vec<Listed<'a>>, Vec<String>) {
        let mut listed: Vec<Listed<'a>> = Vec::new();
        let mut reasons: HashMap<String, usize> = HashMap::new();
        let (mut hidden, mut left) = (0, BTreeMap::new());
        // Inputs that passed get the room that the others leave.
        let others = run.inputs.iter().filter(|input| input.outcome != Outcome::Passed).count();
        let mut room = MAX_INPUTS.saturating_sub(others);
        for (index, input) in run.inputs.iter().enumerate() {
            let hide = self.hide_passed || self.hide_plain && is_plain(input);
            if hide && input.outcome == Outcome::Passed {
                hidden += 1;
                continue;
            }
            let reason = reason(input);
            let same = reason.as_ref().and_then(|reason| reasons.get(reason));
            if let Some(first) = same.and_then(|at| listed.get_mut(*at)) {
                first.alike.push(input);
            } else if listed.len() < MAX_INPUTS && (input.outcome != Outcome::Passed || room > 0) {
                room -= usize::from(input.outcome == Outcome::Passed);
                reasons.extend(reason.map(|reason| (reason, listed.len())));
                listed.push(Listed { index, input, alike: Vec::new() });
            } else {
                *left.entry(super::facts::outcome(input.outcome)).or_insert(0) += 1;
            }
        }
        let mut rest = Vec::new();
        if hidden > 0 {
            let what = if listed.is_empty() { "input" } else { "more input" };
            rest.push(format!("{} passed", count(hidden, what)));
        }
        if !left.is_empty() {
            let sums: Vec<String> =
                left.iter().map(|(outcome, number)| format!("{number} {outcome}")).collect();
            let all = left.values().sum();
            rest.push(format!(
                "{} ({}) {}",
                count(all, "more input"),
                sums.join(", "),
                self.complete_report()
            ));
        }
        (listed, rest)
    }

    /// Returns the listed violations of a verdict in its order, and a line about the others, if there
    /// are any. Those are the least severe.
    pub fn violations<'a>(&self, verdict: &'a Verdict) -> (Vec<&'a Violation>, Option<String>) {
        let mut all: Vec<_> = verdict.violations.iter().enumerate().collect();
        let others = all.len().saturating_sub(MAX_VIOLATIONS);
        all.sort_by_key(|(_, found)| Reverse(weight(found)));
        all.truncate(MAX_VIOLATIONS);
        all.sort_by_key(|(number, _)| *number);
        (all.into_iter().map(|(_, found)| found).collect(), self.more(others))
    }

    /// Returns `n more in FILE`, unless `number` is zero.
    pub fn more(&self, number: usize) -> Option<String> {
        (number > 0).then(|| format!("{number} more {}", self.complete_report()))
    }

    /// Returns where to find the complete report.
    pub fn complete_report(&self) -> String {
        match &self.more {
            Some(file) => format!("in {}", line(&crate::text::shorten(file, 200))),
            None => "in the JSON report".to_owned(),
        }
    }
}

/// Returns the weight of a violation, by which reports choose: those that fail come before others,
/// then the severest.
pub(super) fn weight(found: &Violation) -> (bool, Option<Severity>) {
    (found.fails(), found.severity.as_deref().and_then(Severity::parse))
}

impl Listed<'_> {
    /// Returns a line about the other inputs without a verdict for the same reason, if there are
    /// any.
    pub fn same(&self, view: &View) -> Option<String> {
        let number = self.alike.len() as u64;
        let named = self.alike.iter().take(MAX_NAMED).map(|input| line(&input.name));
        let more = view.more(self.alike.len().saturating_sub(MAX_NAMED));
        let names: Vec<String> = named.chain(more).collect();
        let inputs = count(number, "more input");
        (number > 0).then(|| format!("{inputs} for the same reason: {}", names.join(", ")))
    }
}

/// Returns `true` if an input has no violations or warnings, not even ones that don't count, and no
/// answer that limits what its outcome means.
pub(crate) fn is_plain(input: &Input) -> bool {
    let limits = |call: &Call| {
        let base64 = call.form.as_deref() == Some(ContentForm::Base64.as_str());
        call.cut || call.skipped || call.unchecked > 0 || base64
    };
    input.verdicts.iter().all(|verdict| verdict.violations.is_empty())
        && !input.ledger.calls.iter().any(limits)
}

/// Returns the reason why an input has no verdict, as a key for grouping; `None` if it has
/// violations, which a group would not show.
fn reason(input: &Input) -> Option<String> {
    let found = input.verdicts.iter().any(|verdict| !verdict.violations.is_empty());
    if input.outcome != Outcome::NoVerdict || found {
        return None;
    }
    let verdicts: Vec<_> =
        input.verdicts.iter().map(|v| (&v.policy, v.status, &v.reason, &v.error)).collect();
    serde_json::to_string(&(&input.error, verdicts)).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::gate::reports::fixture;

    #[test]
    fn a_shared_reason_is_stated_once_and_lists_are_bounded() {
        let sample = fixture::sample();
        let with = |outcome| sample.inputs.iter().find(|i| i.outcome == outcome).unwrap().clone();
        let mut run = sample.clone();
        run.inputs = vec![with(Outcome::Passed)];
        run.inputs.extend(vec![with(Outcome::NoVerdict); 400]);
        run.inputs.extend(vec![with(Outcome::Failed); 300]);
        let mut view =
            View { hide_passed: true, more: Some("all.json".to_owned()), hide_plain: false };
        let (listed, rest) = view.inputs(&run);
        assert_eq!((listed.len(), listed[0].alike.len()), (MAX_INPUTS, 399));
        assert!(listed[0].same(&view).unwrap().contains("399 more inputs for the same reason"));
        assert_eq!(rest, ["1 more input passed", "101 more inputs (101 failed) in all.json"]);
        view.hide_passed = false;
        assert_eq!(view.inputs(&run).1, ["102 more inputs (101 failed, 1 passed) in all.json"]);
        // Inputs that passed leave room for the others, in the order of the run.
        run.inputs = vec![with(Outcome::Passed); 400];
        run.inputs.extend(vec![with(Outcome::Failed); 55]);
        let (listed, rest) = view.inputs(&run);
        assert_eq!((listed.len(), listed[144].index, listed[145].index), (200, 144, 400));
        assert_eq!(rest, ["255 more inputs (255 passed) in all.json"]);
        // Inputs with violations are never grouped.
        let mut other = with(Outcome::NoVerdict);
        other.verdicts.extend(with(Outcome::Failed).verdicts);
        run.inputs = vec![other; 2];
        assert_eq!(view.inputs(&run).0.len(), 2);
        let verdict = Verdict {
            violations: vec![with(Outcome::Failed).verdicts[0].violations[0].clone(); 60],
            ..with(Outcome::Failed).verdicts[0].clone()
        };
        let (shown, more) = View::default().violations(&verdict);
        assert_eq!(shown.len(), MAX_VIOLATIONS);
        assert!(more.unwrap().starts_with("10 more in the JSON report"));
        // The last one is the only one that is critical.
        let mut verdict = verdict.clone();
        verdict.violations.last_mut().unwrap().severity = Some("critical".to_owned());
        let (shown, _) = View::default().violations(&verdict);
        assert_eq!(shown.last().unwrap().severity.as_deref(), Some("critical"));
    }
}
