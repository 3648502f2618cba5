//! The report as XML in the format of `JUnit`: a suite for each package, a case for each test.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use rego_platform::Error;
use rego_platform::testing::{Case, Run, TestOutcome, TestResult};
use rego_platform_client::text::{escape_for_log, shorten};

use super::human;

/// The longest message, in characters; readers of such files show it on one line.
const MAX_MESSAGE: usize = 300;

pub(super) fn report(run: &Run) -> Result<String, Error> {
    let mut suites: BTreeMap<&str, Vec<&TestResult>> = BTreeMap::new();
    for result in &run.results {
        suites.entry(&result.test.package).or_default().push(result);
    }
    let mut report = Report::new("rego-platform test");
    report.set_time(run.results.iter().map(|result| result.duration).sum());
    for (package, results) in suites {
        let mut suite = TestSuite::new(escape_for_log(package));
        suite.set_time(results.iter().map(|result| result.duration).sum());
        suite.add_test_cases(results.into_iter().map(case));
        report.add_test_suite(suite);
    }
    write(&report)
}

/// The report of a run that couldn't begin: one case with the error.
pub(super) fn failure(error: &Error) -> Result<String, Error> {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(escape_for_log(&error.to_string()));
    status.set_description(escape_for_log(&error.report()));
    let mut suite = TestSuite::new("load");
    suite.add_test_case(TestCase::new("load", status));
    let mut report = Report::new("rego-platform test");
    report.add_test_suite(suite);
    write(&report)
}

fn write(report: &Report) -> Result<String, Error> {
    report
        .to_string()
        .map_err(|error| Error::internal("the report can't be written as XML").with_source(error))
}

fn case(result: &TestResult) -> TestCase {
    let position = &result.test.position;
    let mut case = TestCase::new(escape_for_log(&result.test.name), status(result));
    case.set_classname(escape_for_log(&result.test.package));
    case.set_time(result.duration);
    case.extra.insert("file".into(), escape_for_log(&position.file).as_str().into());
    case.extra.insert("line".into(), position.line.to_string().as_str().into());
    if !result.prints.is_empty() {
        let text: Vec<_> = result.prints.iter().map(|print| print.message.as_str()).collect();
        case.set_system_out(escape_for_log(&text.join("\n")));
    }
    case
}

/// Returns the names of the cases that failed, each with the group that it is in: `group/name`.
fn failed(cases: &[Case]) -> Vec<String> {
    let each = cases.iter().filter(|case| !case.passed).flat_map(|case| {
        let within = failed(&case.cases);
        if within.is_empty() {
            return vec![case.name.clone()];
        }
        within.into_iter().map(|name| format!("{}/{name}", case.name)).collect()
    });
    each.collect()
}

fn status(result: &TestResult) -> TestCaseStatus {
    let (kind, message) = match &result.outcome {
        TestOutcome::Passed => return TestCaseStatus::success(),
        TestOutcome::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message("its name begins with `todo_`");
            return status;
        }
        TestOutcome::Failed(failure) => {
            let message = match (&failure.cause, &failure.reason) {
                (_, None) if !result.cases.is_empty() => {
                    format!("failed: {}", shorten(&failed(&result.cases).join(", "), MAX_MESSAGE))
                }
                (Some(cause), _) => {
                    format!("`{}` {}", cause.position.text.trim(), cause.verdict)
                }
                (None, Some(reason)) => reason.clone(),
                (None, None) => "the test isn't true".to_owned(),
            };
            (NonSuccessKind::Failure, message)
        }
        TestOutcome::Error { error, .. } => (NonSuccessKind::Error, error.report()),
        _ => (NonSuccessKind::Error, "the test has no result".to_owned()),
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(escape_for_log(&message));
    let mut details = String::new();
    human::cases(&result.cases, 0, &mut details);
    details.push_str(&human::details(result));
    if !details.is_empty() {
        status.set_description(details);
    }
    status
}
