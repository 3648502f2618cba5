//! Reports in the format of GitLab's code quality, which a merge request shows next to its changes.
//!
//! Owns the translation. What counts is an issue at its input, and so is a missing verdict, the worst:
//! GitLab takes an issue that disappears for one that was mended. Waived, excepted and disregarded findings are
//! none.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rego_platform::Position;
use serde_json::{Value, json};

use super::facts;
use super::results::{
    NO_VERDICT, file_of, fingerprint, fingerprint_of_none, rule_id, somewhere, unexplained,
};
use super::words::line;
use super::{Report, write_json};
use crate::report::model::{Effect, Input, Run, Severity, Verdict, Violation};
use crate::report::paths::{relative, slashes};

/// The report for GitLab's code quality.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GitLab {
    /// Paths below this folder become relative to it.
    pub folder: PathBuf,
}

impl Report for GitLab {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &issues(run, &self.folder))
    }
}

fn issues(run: &Run, folder: &Path) -> Vec<Value> {
    let counted = run.violations().filter(|(.., found)| counts(found.effect));
    let mut issues: Vec<Value> =
        counted.map(|(input, verdict, found)| issue(run, input, verdict, found, folder)).collect();
    issues.extend(unexplained(run).into_iter().map(|(case, message)| {
        let position = case.error.and_then(|error| error.position.as_ref());
        let place = place(run, case.input, position);
        one(NO_VERDICT, &message, "blocker", place, folder, &fingerprint_of_none(&case, folder))
    }));
    issues
}

fn issue(run: &Run, input: &Input, verdict: &Verdict, found: &Violation, folder: &Path) -> Value {
    let message = format!("{} ({})", facts::violation(run, found), line(&input.name));
    let id = rule_id(&verdict.policy, &found.rule);
    let place = place(run, Some(input), found.position.as_ref());
    // GitLab shows one of several issues with the same fingerprint.
    let print = fingerprint(&id, found, input, folder);
    one(&id, &message, severity(found), place, folder, &print)
}

/// Returns the file of the input, or else the position, or else any path of the run.
fn place<'a>(
    run: &'a Run,
    input: Option<&'a Input>,
    position: Option<&'a Position>,
) -> (&'a str, u32) {
    let input = input.and_then(|input| file_of(&input.name)).map(|file| (file, 1));
    let rule = position.map(|position| (position.file.as_str(), position.line));
    input.or(rule).unwrap_or_else(|| (somewhere(run), 1))
}

/// Returns `true` for an effect that GitLab counts as an open issue.
const fn counts(effect: Effect) -> bool {
    !matches!(effect, Effect::Waived | Effect::Excepted | Effect::Disregarded)
}

/// Returns the severity on GitLab's scale: at least major for violations that fail, at most minor for others.
fn severity(found: &Violation) -> &'static str {
    let own = found.severity.as_deref().and_then(Severity::parse);
    match (found.effect, own) {
        (Effect::Fails, Some(Severity::Critical)) => "blocker",
        (Effect::Fails, Some(Severity::High)) => "critical",
        (Effect::Fails, _) => "major",
        (Effect::Warns, _) => "minor",
        _ => "info",
    }
}

fn one(
    check: &str,
    message: &str,
    severity: &str,
    (file, at): (&str, u32),
    folder: &Path,
    fingerprint: &str,
) -> Value {
    json!({
        "check_name": check,
        "description": message,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": line(&slashes(&relative(file, folder))), "lines": {"begin": at}},
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};
    use crate::report::model::{Failure, Tool};

    fn read(run: &Run) -> Vec<Value> {
        serde_json::from_str(&written(&GitLab::default(), run)).unwrap()
    }

    #[test]
    fn what_counts_is_an_issue_and_so_is_a_missing_verdict() {
        let run = sample();
        let issues = read(&run);
        let verdicts = || run.inputs.iter().flat_map(|input| &input.verdicts);
        let found = verdicts().flat_map(|verdict| &verdict.violations);
        let counted = found.filter(|found| counts(found.effect)).count();
        let unknown = issues.iter().filter(|issue| issue["check_name"] == NO_VERDICT);
        assert!(unknown.clone().count() > 0);
        assert!(unknown.clone().all(|issue| issue["severity"] == "blocker"));
        assert_eq!(issues.len(), counted + unknown.count());
        let mut prints: Vec<_> =
            issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), issues.len());
        for issue in &issues {
            assert!(!issue["description"].as_str().unwrap().is_empty());
            assert!(!issue["location"]["path"].as_str().unwrap().is_empty());
            assert!(issue["location"]["lines"]["begin"].as_u64().unwrap() > 0);
        }
    }

    #[test]
    fn a_run_that_evaluated_nothing_has_an_issue() {
        let tool = Tool { name: "t".into(), version: "1".into(), commit: None };
        let failure = Failure { message: "no policy".into(), ..Failure::default() };
        let issues = read(&Run::without_verdict(tool, failure));
        assert_eq!(issues.len(), 1);
        assert_eq!(issues[0]["severity"], "blocker");
    }

    #[test]
    fn foreign_text_stays_text() {
        for payload in HOSTILE {
            assert_clean(&written(&GitLab::default(), &hostile(payload)), payload);
        }
    }
}
