//! The report for people, in the style of `opa test`: the failures with their reasons, then the
//! counts.

use std::fmt::Write as _;
use std::time::Duration;

use rego_platform::testing::{Case, Cause, Failure, Run, TestOutcome, TestResult};
use rego_platform::{Error, Position};
use rego_platform_client::text::{escape, escape_for_log, shorten};

use super::coverage;
use crate::explain::{operands, source_line};

/// The number of characters of a value that are shown.
const MAX_VALUE: usize = 300;

/// Returns the whole report; with `verbose` also the tests that passed.
pub(super) fn report(run: &Run, verbose: bool) -> String {
    let mut out = tests(run, |result| verbose || !matches!(result.outcome, TestOutcome::Passed));
    if !run.results.is_empty() {
        if !out.is_empty() {
            out.push_str(&"-".repeat(80));
            out.push('\n');
        }
        counts(run, &mut out);
    }
    if let Some(report) = &run.coverage {
        coverage::human(report, &mut out);
    }
    out
}

/// Returns the tests that failed or have no verdict.
pub(super) fn failures(run: &Run) -> String {
    tests(run, |result| {
        matches!(result.outcome, TestOutcome::Failed(_) | TestOutcome::Error { .. })
    })
}

fn tests(run: &Run, shown: impl Fn(&TestResult) -> bool) -> String {
    let mut out = String::new();
    let mut file = None;
    for result in run.results.iter().filter(|result| shown(result)) {
        let own = &result.test.position.file;
        if file != Some(own) {
            let gap = if file.is_some() { "\n" } else { "" };
            let _ = writeln!(out, "{gap}{}:", escape(own));
            file = Some(own);
        }
        test(result, &mut out);
    }
    out
}

fn test(result: &TestResult, out: &mut String) {
    let name = escape(&result.test.full_name());
    let word = match &result.outcome {
        TestOutcome::Passed => "PASS",
        TestOutcome::Failed(_) => "FAIL",
        TestOutcome::Skipped => "SKIPPED",
        _ => "ERROR",
    };
    if matches!(result.outcome, TestOutcome::Skipped) {
        let _ = writeln!(out, "{name}: {word}");
        return;
    }
    let _ = writeln!(out, "{name}: {word} ({})", time(result.duration));
    cases(&result.cases, 1, out);
    out.push_str(&details(result));
}

/// Formats a duration: `1.23ms`.
fn time(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..1_000 => format!("{micros}µs"),
        1_000..1_000_000 => format!("{:.2}ms", duration.as_secs_f64() * 1e3),
        _ => format!("{:.2}s", duration.as_secs_f64()),
    }
}

pub(super) fn cases(cases: &[Case], depth: usize, out: &mut String) {
    for case in cases {
        let word = if case.passed { "PASS" } else { "FAIL" };
        let _ = writeln!(out, "{}{}: {word}", "  ".repeat(depth), shorten(&case.name, MAX_VALUE));
        self::cases(&case.cases, depth + 1, out);
    }
}

/// Returns the reason of a failure and the test's prints, indented; empty for a test that passed
/// without prints.
pub(super) fn details(result: &TestResult) -> String {
    let mut text = match &result.outcome {
        TestOutcome::Failed(failure) => failed(failure),
        TestOutcome::Error { error, position } => errored(error, position.as_ref()),
        _ => String::new(),
    };
    text.extend((!result.prints.is_empty()).then_some("printed:\n"));
    for print in &result.prints {
        let message = print.message.replace('\n', "\n    ");
        let _ = writeln!(text, "  {}:{}: {message}", escape(&print.file), print.line);
    }
    let mut out = String::new();
    for line in escape_for_log(&text).lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn failed(failure: &Failure) -> String {
    let mut out = String::new();
    out.extend(failure.reason.as_ref().map(|reason| format!("{reason}\n")));
    if let Some(cause) = &failure.cause {
        self::cause(cause, &mut out);
    }
    out
}

fn cause(cause: &Cause, out: &mut String) {
    let p = &cause.position;
    if !cause.case.is_empty() {
        let _ = writeln!(out, "case {}:", shorten(&cause.case.join("/"), MAX_VALUE));
    }
    let _ = writeln!(out, "{}:{}:{}: this {}", p.file, p.line, p.column, cause.verdict);
    source_line(p, out);
    operands(&cause.operands, out);
}

fn errored(error: &Error, position: Option<&Position>) -> String {
    let mut out = String::new();
    for diagnostic in error.diagnostics() {
        let _ = writeln!(out, "{}", crate::hint::with_option(diagnostic.clone()).render());
    }
    if error.diagnostics().is_empty() {
        match position {
            Some(p) => {
                let _ = writeln!(out, "{}:{}:{}: {}", p.file, p.line, p.column, error.report());
                source_line(p, &mut out);
            }
            None => {
                let _ = writeln!(out, "{}", error.report());
            }
        }
    }
    out.extend(crate::hint::hint(error).map(|hint| format!("  help: {hint}\n")));
    out
}

fn counts(run: &Run, out: &mut String) {
    let counts = run.counts();
    let all = counts.all();
    for (word, count) in [
        ("PASS", counts.passed),
        ("FAIL", counts.failed),
        ("SKIPPED", counts.skipped),
        ("ERROR", counts.errors),
    ] {
        out.extend((count > 0).then(|| format!("{word}: {count}/{all}\n")));
    }
}
