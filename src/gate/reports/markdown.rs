//! Reports in Markdown, as GitHub and GitLab render it.
//!
//! Owns the escaping: foreign text is put in code spans, which can't contain markup, HTML, links or
//! mentions. The size may be bounded; then the least important parts, which come last, are left
//! out, and the report states so.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::cases::{Case, State, cases};
use super::facts;
use super::view::{Listed, View};
use super::words::line;
use crate::gate::model::{Outcome, Run, Verdict, Violation};
use crate::gate::report::Report;

/// The size of a comment on a pull request. GitHub has the lowest limit, 65,536 characters.
const COMMENT: usize = 60_000;

/// The report in Markdown, short enough for a comment on a pull request.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    pub(super) view: View,
}

impl Report for Markdown {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(render(run, &self.view, COMMENT).as_bytes())
    }
}

/// A text with a limit on its size.
struct Page {
    text: String,
    limit: usize,
    left_out: u64,
}

impl Page {
    /// Adds a block if all of it fits; otherwise counts it as left out.
    fn add(&mut self, block: &str) {
        // Reserves room for the sentence about what was left out.
        if self.text.len().saturating_add(block.len()).saturating_add(600) > self.limit {
            self.left_out += 1;
        } else {
            self.text.push_str(block);
        }
    }
}

/// Returns the report in at most `limit` bytes, or an empty text if not even its first lines fit.
pub(super) fn render(run: &Run, view: &View, limit: usize) -> String {
    let mut page = Page { text: String::new(), limit, left_out: 0 };
    page.add(&format!("## rego-platform gate: {}\n\n{}\n\n", word(run), facts::headline(run)));
    for reason in facts::reasons(run) {
        page.add(&format!("- {}\n", code(&reason)));
    }
    let (listed, rest) = view.inputs(run);
    let mut all: Vec<Case<'_>> = Vec::new();
    for mut case in cases(run) {
        let group =
            case.input.map(|input| listed.iter().find(|listed| std::ptr::eq(listed.input, input)));
        // The input isn't listed, or another case states the error and counts this one.
        if matches!(group, Some(None)) || case.alike == 0 {
            continue;
        }
        let others = group.flatten().map_or(0, |listed| listed.alike.len());
        case.details.extend(case.more(others));
        all.push(case);
    }
    section(&mut page, run, "No verdict", &all, State::Error);
    for same in listed.iter().filter_map(|listed| listed.same(view)) {
        page.add(&format!("- {}\n", code(&same)));
    }
    section(&mut page, run, "Violations", &all, State::Failed);
    for rest in &rest {
        page.add(&format!("- {}\n", code(rest)));
    }
    remarks(&mut page, run, &all);
    section(&mut page, run, "Skipped and ignored", &all, State::Skipped);
    if !run.waivers.is_empty() {
        page.add("\n### Waivers\n\n");
        for waiver in &run.waivers {
            page.add(&format!("- {}\n", code(&facts::waiver(waiver))));
        }
    }
    provenance(&mut page, run);
    inputs(&mut page, &listed);
    if page.left_out > 0 {
        let _ = write!(
            page.text,
            "\n**{} parts of this report were left out, since it may not be larger.**\n\n- {}\n",
            page.left_out,
            code(&format!("everything is {}", view.complete_report()))
        );
    }
    if page.text.len() > limit { String::new() } else { page.text }
}

const fn word(run: &Run) -> &'static str {
    match run.outcome {
        Outcome::Passed => "✅ passed",
        Outcome::Failed => "❌ failed",
        Outcome::NoVerdict => "⚠️ no verdict",
    }
}

fn name(case: &Case<'_>) -> String {
    let input = case.input.map_or("(run)", |input| input.name.as_str());
    case.policy.map_or_else(|| code(input), |policy| format!("{} {}", code(input), code(policy)))
}

/// Returns a violation: its severity, message, place, other fields, and why it doesn't fail.
fn violation(run: &Run, found: &Violation) -> String {
    let mut out = String::new();
    if let Some(severity) = &found.severity {
        let _ = write!(out, "{} ", code(severity));
    }
    if let Some(id) = found.id.as_ref().filter(|id| !found.message.contains(id.as_str())) {
        let _ = write!(out, "{} ", code(id));
    }
    let _ = write!(out, "{}", code(&found.message));
    if let Some(position) = &found.position {
        let _ = write!(out, " at {}", code(&facts::place(position)));
    }
    if let Some(fields) = facts::fields(found) {
        let _ = write!(out, " with {}", code(&fields));
    }
    if let Some(effect) = facts::effect(run, found) {
        let _ = write!(out, ": {}", code(&effect));
    }
    out
}

fn section(page: &mut Page, run: &Run, title: &str, all: &[Case<'_>], state: State) {
    let mut found = all.iter().filter(|case| case.state == state).peekable();
    if found.peek().is_some() {
        page.add(&format!("\n### {title}\n\n"));
    }
    for case in found {
        let mut block = format!("- {}\n", name(case));
        let failing = case.verdict.filter(|_| state == State::Failed).into_iter();
        let failing: Vec<_> = failing.flat_map(Verdict::failing).collect();
        for found in &failing {
            let _ = writeln!(block, "  - {}", violation(run, found));
        }
        if failing.is_empty() {
            let summary = std::slice::from_ref(&case.summary);
            let details = if case.details.is_empty() { summary } else { &case.details };
            for detail in details {
                let _ = writeln!(block, "  - {}", code(detail));
            }
        }
        page.add(&block);
    }
}

/// Adds the remarks of cases: violations that don't fail.
fn remarks(page: &mut Page, run: &Run, all: &[Case<'_>]) {
    let mut remarks = all
        .iter()
        .filter_map(|case| Some((case, case.verdict?.violations.iter().filter(|v| !v.fails()))))
        .map(|(case, found)| (case, found.collect::<Vec<_>>()))
        .filter(|(_, found)| !found.is_empty())
        .peekable();
    if remarks.peek().is_some() {
        page.add("\n### Found, but doesn't fail\n\n");
    }
    for (case, found) in remarks {
        let mut block = format!("- {}\n", name(case));
        for found in found {
            let _ = writeln!(block, "  - {}", violation(run, found));
        }
        page.add(&block);
    }
}

fn provenance(page: &mut Page, run: &Run) {
    page.add("\n### About this run\n\n");
    for (name, value) in facts::provenance(run) {
        page.add(&format!("- {name}: {}\n", code(&value)));
    }
    for policy in &run.policies {
        page.add(&format!("- policy: {}\n", code(&facts::policy(policy))));
    }
    for note in &run.notes {
        page.add(&format!("- note: {}\n", code(note)));
    }
}

fn inputs(page: &mut Page, listed: &[Listed<'_>]) {
    page.add("\n### Inputs\n\n");
    for Listed { input, .. } in listed {
        let mut block = format!("- {}: {}\n", code(&input.name), facts::outcome(input.outcome));
        for (name, value) in facts::about(input) {
            let _ = writeln!(block, "  - {name}: {}", code(&value));
        }
        for call in facts::ledger(input) {
            let _ = writeln!(block, "  - call: {}", code(&call));
        }
        page.add(&block);
    }
}

/// Returns a code span. A text with a long run of backticks, which some renderers don't accept as a
/// delimiter, has its backticks escaped; an empty text, for which there is no code span, is written
/// as `(empty)`.
fn code(text: &str) -> String {
    let text = line(text);
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let text = if text.contains("```") { text.replace('`', "\\u{60}") } else { text };
    let fence = if text.contains("``") {
        "```"
    } else if text.contains('`') {
        "``"
    } else {
        return format!("`{text}`");
    };
    format!("{fence} {text} {fence}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::gate::reports::fixture::{HOSTILE, assert_clean, hostile, sample, written};

    /// Returns the text outside code spans; a span ends at as many backticks as it began with.
    fn outside(text: &str) -> String {
        let mut out = String::new();
        for line in text.lines() {
            let mut rest = line;
            while let Some(start) = rest.find('`') {
                out.push_str(&rest[..start]);
                let after = rest[start..].trim_start_matches('`');
                let ticks = rest.len() - start - after.len();
                let mut end = None;
                let mut at = 0;
                while let Some(next) = after[at..].find('`').map(|i| i + at) {
                    let run = after[next..].len() - after[next..].trim_start_matches('`').len();
                    if run == ticks {
                        end = Some(next + run);
                        break;
                    }
                    at = next + run;
                }
                rest = &after[end.unwrap_or_else(|| panic!("a span without an end: {line}"))..];
                out.push_str("CODE");
            }
            out.push_str(rest);
            out.push('\n');
        }
        out
    }

    #[test]
    fn the_report_is_complete() {
        let text = written(&Markdown::default(), &sample());
        for known in [
            "## rego-platform gate: ⚠️ no verdict\n",
            "### No verdict\n\n- `<stdin>` `release.licences`\n",
            "### Violations\n\n- `build/sbom.json` `release.licences`\n  - `high` `L-1` `` license",
            "the waiver of ops expired on 2026-01-31: was urgent",
            "waived until 2027-12-31 by ops, matched by the input's digest: being replaced",
            "`skipped: no image here`",
            "- tool: `rego-platform 0.1.0 (abc1234)`",
            "- answers: `from a recording (replay): not evidence of the present state`",
            "- policy: `` release.licences sha256:2222: Licences (from policy document `licences`) ``",
            "  - digest: `sha256:1111`",
            "list cut at the policy's own limit`",
        ] {
            assert!(text.contains(known), "{known}\n---\n{text}");
        }
    }

    #[test]
    fn a_limit_is_kept_and_the_omission_stated() {
        let run = sample();
        let whole = render(&run, &View::default(), usize::MAX);
        for limit in [0, 100, 600, 1_500, whole.len()] {
            let text = render(&run, &View::default(), limit);
            assert!(text.len() <= limit, "{limit}: {}", text.len());
            assert!(text.is_empty() || text.contains("were left out"), "{limit}: {text}");
        }
        assert!(!whole.contains("were left out"));
    }

    #[test]
    fn hostile_text_never_becomes_markup() {
        let plain = outside(&written(&Markdown::default(), &hostile("plain")));
        for payload in HOSTILE {
            let text = written(&Markdown::default(), &hostile(payload));
            assert_clean(&text, payload);
            let shown = outside(&text).replace("(empty)", "CODE");
            assert_eq!(shown, plain, "{payload:?}");
        }
    }
}
