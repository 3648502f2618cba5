//! Reports in `JUnit` XML, which nearly every CI system shows as tests.
//!
//! Owns the translation: an input is a suite, a policy a case. A missing verdict is an error;
//! skipped and ignored cases are skipped. Facts about the run as a whole are properties of the last
//! suite.

use std::io::{self, Write};
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use quick_junit::{
    NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite as Suite,
};

use super::Report;
use super::cases::{Case, State, cases};
use super::facts;
use super::words::line;
use crate::report::model::{Input, Run};

/// The report in `JUnit` XML.
#[derive(Debug, Clone, Copy, Default)]
pub struct JUnit;

impl Report for JUnit {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let started = DateTime::parse_from_rfc3339(&run.started).ok();
        let mut document = Document::new("rego-platform gate");
        document.set_time(Duration::from_millis(run.duration_ms));
        let all = cases(run);
        let mut rest = all.iter().peekable();
        for input in &run.inputs {
            let mut suite = suite_of(input, started);
            while let Some(case) =
                rest.next_if(|case| case.input.is_some_and(|i| std::ptr::eq(i, input)))
            {
                suite.add_test_case(test_case(case));
            }
            document.add_test_suite(suite);
        }
        document.add_test_suite(suite_of_run(run, started, rest));
        document.serialize(out).map_err(io::Error::other)
    }
}

fn suite_of(input: &Input, started: Option<DateTime<FixedOffset>>) -> Suite {
    let mut suite = Suite::new(line(&input.name));
    suite.set_time(Duration::from_millis(input.duration_ms));
    if let Some(started) = started {
        suite.set_timestamp(started);
    }
    property(&mut suite, "outcome", facts::outcome(input.outcome));
    suite
}

fn suite_of_run<'a>(
    run: &Run,
    started: Option<DateTime<FixedOffset>>,
    cases: impl Iterator<Item = &'a Case<'a>>,
) -> Suite {
    let mut suite = Suite::new("(run)");
    suite.set_time(Duration::ZERO);
    if let Some(started) = started {
        suite.set_timestamp(started);
    }
    property(&mut suite, "summary", &facts::headline(run));
    for reason in &run.reasons {
        property(&mut suite, "reason", &line(reason));
    }
    for note in &run.notes {
        property(&mut suite, "note", &line(note));
    }
    suite.add_test_cases(cases.map(test_case).collect::<Vec<_>>());
    suite
}

fn property(suite: &mut Suite, name: &str, value: &str) {
    suite.add_property((name, value));
}

fn test_case(case: &Case<'_>) -> TestCase {
    let status = match case.state {
        State::Passed => TestCaseStatus::success(),
        State::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(case.summary.as_str());
            status
        }
        State::Failed => unsuccessful(NonSuccessKind::Failure, case),
        State::Error => unsuccessful(NonSuccessKind::Error, case),
    };
    let mut test = TestCase::new(case.policy_name(), status);
    if let Some(verdict) = case.verdict {
        test.set_time(Duration::from_millis(verdict.duration_ms));
    }
    test.set_classname(case.input_name());
    if !case.notes.is_empty() {
        test.set_system_out(listed("does not fail:", &case.notes));
    }
    test
}

fn unsuccessful(kind: NonSuccessKind, case: &Case<'_>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(case.kind.as_str());
    status.set_message(case.summary.as_str());
    let reasons = case.reasons();
    if !reasons.is_empty() {
        status.set_description(listed(&format!("{}:", case.kind), &reasons));
    }
    status
}

/// Returns a list under our own heading, so that no line begins with foreign text.
fn listed(heading: &str, lines: &[String]) -> String {
    let mut out = heading.trim_start_matches(':').to_owned();
    for text in lines {
        out.push_str("\n- ");
        out.push_str(text);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeMap;

    use quick_xml::events::Event;
    use quick_xml::{Reader, XmlVersion};

    use super::*;
    use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};
    use crate::report::model::Outcome;

    /// Reads a report with another library. Returns the elements in order, with their attributes
    /// and text.
    fn read(text: &str) -> Vec<(String, BTreeMap<String, String>, String)> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = true;
        let (mut all, mut depth) = (Vec::new(), 0);
        loop {
            let event = reader.read_event().unwrap();
            match &event {
                Event::Start(tag) | Event::Empty(tag) => {
                    let mut list = tag.attributes();
                    let attributes = list.with_checks(true).map(|attribute| {
                        let attribute = attribute.unwrap();
                        let key = attribute.key.as_ref().to_owned();
                        (
                            key,
                            attribute
                                .normalized_value(XmlVersion::Implicit1_0)
                                .unwrap()
                                .into_owned(),
                        )
                    });
                    let name = tag.name().as_ref().to_owned();
                    all.push((name, attributes.collect(), String::new()));
                    depth += i32::from(matches!(event, Event::Start(_)));
                }
                Event::Text(piece) => {
                    if let Some((_, _, text)) = all.last_mut() {
                        text.push_str(piece);
                    }
                }
                Event::GeneralRef(name) => {
                    if let Some((_, _, text)) = all.last_mut() {
                        text.push('&');
                        text.push_str(name);
                    }
                }
                Event::End(_) => depth -= 1,
                Event::Eof => break,
                Event::Decl(_) => {}
                other => panic!("unexpected {other:?}"),
            }
        }
        assert_eq!(depth, 0, "not closed");
        assert!(
            text.chars().all(|c| matches!(c, '\t' | '\n' | '\r')
                || (' '..'\u{fffe}').contains(&c)
                || c > '\u{ffff}'),
            "characters that XML has no place for"
        );
        all
    }

    fn of<'a>(
        all: &'a [(String, BTreeMap<String, String>, String)],
        name: &str,
    ) -> Vec<&'a (String, BTreeMap<String, String>, String)> {
        all.iter().filter(|(found, _, _)| found == name).collect()
    }

    #[test]
    fn cases_show_the_results_of_policies() {
        let text = written(&JUnit, &sample());
        let all = read(&text);
        let root = &of(&all, "testsuites")[0].1;
        assert_eq!(root["tests"], "6", "{text}");
        assert_eq!(root["failures"], "1");
        assert_eq!(root["errors"], "2");
        assert_eq!(root["skipped"], "1");
        let failure = of(&all, "failure")[0];
        assert_eq!(failure.1["message"], "license `GPL-3.0` is not allowed (and 1 more)");
        assert_eq!(failure.1["type"], "violations");
        assert!(failure.2.contains("the waiver of ops expired on 2026-01-31"), "{}", failure.2);
        assert!(of(&all, "skipped")[0].1["message"].contains("skipped: no image here"));
        assert!(text.contains("waived until 2027-12-31 by ops, matched by the input"));
        let errors = of(&all, "error");
        assert_eq!(errors[0].1["type"], "timed-out");
        assert!(of(&all, "testcase").iter().any(|case| case.1["time"] == "0.040"), "{text}");
        let properties: Vec<(&str, &str)> = of(&all, "property")
            .iter()
            .map(|(_, a, _)| (a["name"].as_str(), a["value"].as_str()))
            .collect();
        for known in [("outcome", "failed"), ("reason", "1 input has no verdict")] {
            assert!(properties.contains(&known), "{known:?} in {properties:?}");
        }
    }

    #[test]
    fn a_run_that_did_not_pass_has_a_case_that_did_not_pass() {
        let mut run = sample();
        run.inputs.clear();
        for (outcome, element) in [(Outcome::Failed, "failure"), (Outcome::NoVerdict, "error")] {
            run.outcome = outcome;
            let all = read(&written(&JUnit, &run));
            assert_eq!(of(&all, element).len(), 1, "{all:?}");
        }
        run.outcome = Outcome::Passed;
        let all = read(&written(&JUnit, &run));
        assert_eq!(of(&all, "testsuites")[0].1["tests"], "1");
        assert!(of(&all, "failure").is_empty() && of(&all, "error").is_empty());
    }

    #[test]
    fn hostile_text_never_becomes_markup() {
        let names = |text: &str| read(text).into_iter().map(|(n, _, _)| n).collect::<Vec<_>>();
        let plain = names(&written(&JUnit, &hostile("plain")));
        for payload in HOSTILE {
            let text = written(&JUnit, &hostile(payload));
            assert_eq!(names(&text), plain, "{payload:?}");
            assert_clean(&text, payload);
        }
    }
}
