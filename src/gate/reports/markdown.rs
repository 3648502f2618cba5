//! Markdown, as GitHub and GitLab show it.
//!
//! Owns the escaping: what comes from elsewhere stands in code spans, in which there is no markup,
//! no HTML, no link, no mention. It may be bounded in size, and then says what it left out, the
//! least important last.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::cases::{Case, State, cases};
use super::facts;
use super::view::{Listed, View};
use super::words::line;
use crate::gate::model::{Outcome, Run};
use crate::gate::report::Report;

/// What a comment on a pull request takes, GitHub's being the shortest: 65,536 characters.
const COMMENT: usize = 60_000;

/// Markdown, no longer than a comment on a pull request may be.
#[derive(Debug, Clone, Default)]
pub struct Markdown {
    pub(super) view: View,
}

impl Report for Markdown {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(render(run, &self.view, COMMENT).as_bytes())
    }
}

/// Text that doesn't grow beyond a limit.
struct Page {
    text: String,
    limit: usize,
    left_out: u64,
}

impl Page {
    /// Adds a block as a whole, or counts it as left out.
    fn add(&mut self, block: &str) {
        // Room for the sentence that says that something was left out.
        if self.text.len().saturating_add(block.len()).saturating_add(600) > self.limit {
            self.left_out += 1;
        } else {
            self.text.push_str(block);
        }
    }
}

/// The report in at most `limit` bytes; nothing of it where there is no room for its first lines.
pub(super) fn render(run: &Run, view: &View, limit: usize) -> String {
    let mut page = Page { text: String::new(), limit, left_out: 0 };
    page.add(&format!("## rego-platform gate: {}\n\n{}\n\n", word(run), facts::headline(run)));
    for reason in &run.reasons {
        page.add(&format!("- {}\n", code(reason)));
    }
    let (listed, rest) = view.inputs(run);
    let all: Vec<Case<'_>> = cases(run)
        .into_iter()
        .filter(|case| {
            case.input.is_none_or(|input| listed.iter().any(|l| std::ptr::eq(l.input, input)))
        })
        .collect();
    section(&mut page, "No verdict", &all, State::Error);
    for same in listed.iter().filter_map(|listed| listed.same(view)) {
        page.add(&format!("- {}\n", code(&same)));
    }
    section(&mut page, "Violations", &all, State::Failed);
    for rest in &rest {
        page.add(&format!("- {}\n", code(rest)));
    }
    remarks(&mut page, &all);
    section(&mut page, "Skipped and ignored", &all, State::Skipped);
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
            code(&format!("everything is {}", view.where_()))
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

fn section(page: &mut Page, title: &str, all: &[Case<'_>], state: State) {
    let mut found = all.iter().filter(|case| case.state == state).peekable();
    if found.peek().is_some() {
        page.add(&format!("\n### {title}\n\n"));
    }
    for case in found {
        let mut block = format!("- {}\n", name(case));
        let summary = std::slice::from_ref(&case.summary);
        let details = if case.details.is_empty() { summary } else { &case.details };
        for detail in details {
            let _ = writeln!(block, "  - {}", code(detail));
        }
        page.add(&block);
    }
}

/// What was found and doesn't fail.
fn remarks(page: &mut Page, all: &[Case<'_>]) {
    let mut found = all.iter().filter(|case| !case.notes.is_empty()).peekable();
    if found.peek().is_some() {
        page.add("\n### Found, and does not fail\n\n");
    }
    for case in found {
        let mut block = format!("- {}\n", name(case));
        for note in &case.notes {
            let _ = writeln!(block, "  - {}", code(note));
        }
        page.add(&block);
    }
}

fn provenance(page: &mut Page, run: &Run) {
    page.add("\n### Where this comes from\n\n");
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

/// A code span. Long runs of backticks, which some readers don't take for the end of one, and
/// what has no place in a code span are written out.
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

    /// What stands outside code spans, by the rule that a span ends at as many backticks as it
    /// began with.
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
    fn everything_is_said() {
        let text = written(&Markdown::default(), &sample());
        for known in [
            "## rego-platform gate: ⚠️ no verdict\n",
            "### No verdict\n\n- `<stdin>` `release.licences`\n",
            "### Violations\n\n- `build/sbom.json` `release.licences`\n  - `` license `GPL-3.0` is",
            "the waiver of ops expired on 2026-01-31: was urgent",
            "waived until 2027-12-31 by ops, matched by the input's digest: being replaced",
            "`skipped: no image here`",
            "- tool: `rego-platform 0.1.0 (abc1234)`",
            "- answers: `from a recording (replay): this outcome proves nothing new`",
            "- policy: `` release.licences sha256:2222: Licences (from policy document `licences`) ``",
            "  - digest: `sha256:1111`",
            "list cut at the policy's own limit`",
        ] {
            assert!(text.contains(known), "{known}\n---\n{text}");
        }
    }

    #[test]
    fn a_limit_is_kept_and_said() {
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
    fn nothing_that_is_said_becomes_markup() {
        let plain = outside(&written(&Markdown::default(), &hostile("plain")));
        for payload in HOSTILE {
            let text = written(&Markdown::default(), &hostile(payload));
            assert_clean(&text, payload);
            let said = outside(&text).replace("(empty)", "CODE");
            assert_eq!(said, plain, "{payload:?}");
        }
    }
}
