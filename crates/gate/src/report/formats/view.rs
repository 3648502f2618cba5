//! The part of a run that reports for people show, and the location of the rest.
//!
//! Owns the bounds of such reports, and grouping inputs without a verdict by their reason. Reports
//! for programs are complete.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use rego_platform_client::text::counted;

use super::words::line;
use crate::report::model::{Input, Outcome, Run, Severity, Verdict, Violation};

/// The settings of a report for people.
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct View {
    /// The file with the complete report, if one is written.
    pub more: Option<String>,
}

/// The maximum number of inputs listed with their violations.
const MAX_INPUTS: usize = 200;
/// The maximum number of violations listed for a policy and an input.
const MAX_VIOLATIONS: usize = 50;
/// The maximum number of inputs named in a group with the same reason.
const MAX_NAMED: usize = 5;

/// An input that is listed.
pub struct Listed<'a> {
    /// The index in the run.
    pub index: usize,
    pub input: &'a Input,
    /// The further inputs without a verdict for the same reason.
    pub alike: Vec<&'a Input>,
}

impl View {
    /// Returns the listed inputs, those without a verdict first, then those that failed; and a line
    /// about the others.
    pub fn inputs<'a>(&self, run: &'a Run) -> (Vec<Listed<'a>>, Option<String>) {
        let mut all: Vec<(usize, &Input)> = run.inputs.iter().enumerate().collect();
        all.sort_by_key(|(_, input)| Reverse(input.outcome));
        let mut listed: Vec<Listed<'a>> = Vec::new();
        let mut reasons: HashMap<String, usize> = HashMap::new();
        let mut left = BTreeMap::new();
        for (index, input) in all {
            let reason = reason(input);
            let same = reason.as_ref().and_then(|reason| reasons.get(reason));
            if let Some(first) = same.and_then(|at| listed.get_mut(*at)) {
                first.alike.push(input);
            } else if listed.len() < MAX_INPUTS {
                reasons.extend(reason.map(|reason| (reason, listed.len())));
                listed.push(Listed { index, input, alike: Vec::new() });
            } else {
                *left.entry(super::facts::outcome(input.outcome)).or_insert(0) += 1;
            }
        }
        if left.is_empty() {
            return (listed, None);
        }
        let sums: Vec<String> =
            left.iter().map(|(outcome, number)| format!("{number} {outcome}")).collect();
        let all = counted(left.values().sum::<u64>(), "more input");
        (listed, Some(format!("{all} ({}) {}", sums.join(", "), self.complete_report())))
    }

    /// Returns the listed violations of a verdict in its order, and a line about the others, if there
    /// are any. Those are the least severe.
    pub fn violations<'a>(&self, verdict: &'a Verdict) -> (Vec<&'a Violation>, Option<String>) {
        let shown = Self::heaviest(verdict.violations.iter().collect());
        let others = verdict.violations.len() - shown.len();
        (shown, self.more(others))
    }

    /// Selects the violations to list, in their order: those that fail first, then the most severe.
    pub fn heaviest(found: Vec<&Violation>) -> Vec<&Violation> {
        let mut all: Vec<_> = found.into_iter().enumerate().collect();
        all.sort_by_key(|(_, found)| Reverse(weight(found)));
        all.truncate(MAX_VIOLATIONS);
        all.sort_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, found)| found).collect()
    }

    /// Returns `n more in FILE`, unless `number` is zero.
    pub fn more(&self, number: usize) -> Option<String> {
        (number > 0).then(|| format!("{number} more {}", self.complete_report()))
    }

    /// Returns the location of the complete report.
    pub fn complete_report(&self) -> String {
        match &self.more {
            Some(file) => format!("in {}", line(&rego_platform_client::text::shorten(file, 200))),
            None => "in the JSON report".to_owned(),
        }
    }
}

/// Returns the weight of a violation for selection: failing violations first, then the most severe.
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
        let inputs = counted(number, "more input");
        (number > 0).then(|| format!("{inputs} for the same reason: {}", names.join(", ")))
    }
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
    use crate::report::formats::fixture;

    #[test]
    fn a_shared_reason_is_stated_once_and_lists_are_bounded() {
        let sample = fixture::sample();
        let with = |outcome| sample.inputs.iter().find(|i| i.outcome == outcome).unwrap().clone();
        let mut run = sample.clone();
        run.inputs = vec![with(Outcome::Passed)];
        run.inputs.extend(vec![with(Outcome::NoVerdict); 400]);
        run.inputs.extend(vec![with(Outcome::Failed); 300]);
        let view = View { more: Some("all.json".to_owned()) };
        let (listed, rest) = view.inputs(&run);
        assert_eq!((listed.len(), listed[0].alike.len()), (MAX_INPUTS, 399));
        assert!(listed[0].same(&view).unwrap().contains("399 more inputs for the same reason"));
        assert_eq!(rest.unwrap(), "102 more inputs (101 failed, 1 passed) in all.json");
        // The worst come first, each outcome in the order of the run.
        run.inputs = vec![with(Outcome::Passed); 400];
        run.inputs.extend(vec![with(Outcome::Failed); 55]);
        let (listed, rest) = view.inputs(&run);
        assert_eq!((listed.len(), listed[0].index, listed[55].index), (200, 400, 0));
        assert_eq!(rest.unwrap(), "255 more inputs (255 passed) in all.json");
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
