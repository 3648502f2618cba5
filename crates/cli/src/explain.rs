//! The output of explanations: a statement, its line, its operands.
//!
//! Owns the option `--explain`. The library's `explain` finds the reasons.

use std::fmt::Write as _;

use clap::ValueEnum;
use rego_platform::Position;
use rego_platform::explain::{Explanation, Fail};
use rego_platform::testing::Operand;
use rego_platform_client::text::{beginning, escape, escape_for_log, shorten};

use super::output;

/// The number of characters of a value that are shown.
const MAX_VALUE: usize = 300;

/// The kinds of explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Explain {
    /// The messages of `trace(…)`; those of `print(…)` are printed in any case
    Notes,
    /// For each definition without a value, the statement that ended it, with its operands
    Fails,
}

/// Prints an explanation on standard error; each line begins with `before`.
pub(super) fn show(explanation: &Explanation, explain: Explain, before: &str) {
    for note in &explanation.notes {
        let place = format!("{before}{}:{}", note.position.file, note.position.line);
        output::print(&place, &format!("note: {}", note.message));
    }
    if explain == Explain::Notes {
        return;
    }
    if explanation.fails.is_empty() {
        output::plain_note(&format!("{before}every rule that was evaluated has a value"));
    }
    for fail in &explanation.fails {
        let mut out = String::new();
        one(fail, &mut out);
        let lines = escape_for_log(&out);
        let lines: Vec<String> = lines.lines().map(|line| format!("{before}{line}")).collect();
        output::plain_note(&lines.join("\n"));
    }
}

fn one(fail: &Fail, out: &mut String) {
    let at = |p: &Position| format!("{}:{}:{}", escape(&p.file), p.line, p.column);
    let _ = write!(out, "{}: {} produced no value: ", at(&fail.position), escape(&fail.rule));
    let Some(reason) = &fail.reason else {
        let _ = writeln!(out, "it doesn't apply to these arguments or this input");
        return;
    };
    let _ = writeln!(out, "this {}", reason.verdict);
    source_line(&reason.position, out);
    operands(&reason.operands, out);
}

/// Writes the values of operands, one per line.
pub(super) fn operands(operands: &[Operand], out: &mut String) {
    for operand in operands {
        let text = operand.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let values: Vec<_> =
            operand.values.iter().map(|value| beginning(value, MAX_VALUE)).collect();
        let shown = if values.is_empty() { "undefined".to_owned() } else { values.join(", then ") };
        let _ = writeln!(out, "  {}: {shown}", shorten(&text, MAX_VALUE));
    }
}

/// Writes a line of a policy, with carets under the position.
pub(super) fn source_line(p: &Position, out: &mut String) {
    if p.text.is_empty() {
        return;
    }
    let (gutter, carets) = (p.gutter(), p.carets());
    let _ = writeln!(out, "  {} | {}\n  {gutter} | {carets}", p.line, p.text);
}
