//! Reports in Markdown, as GitHub and GitLab render it.
//!
//! Owns the escaping: foreign text is put in code spans, which can't contain markup, HTML, links or
//! mentions. The size may be bounded; then the least important parts, which come last, are left
//! out, and the report states so.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::Report;
use super::errors::errors;
use super::facts;
use super::view::View;
use super::words::line;
use crate::report::model::{Input, Outcome, Run, Verdict, Violation};

/// The maximum size of a comment on a pull request, in bytes. GitHub has the lowest limit, 65,536 characters.
pub(super) const COMMENT: usize = 60_000;

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
pub(super) struct Page {
    text: String,
    limit: usize,
    left_out: u64,
}

impl Page {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, left_out: 0 }
    }

    /// Adds a block if all of it fits; otherwise counts it as left out.
    pub(super) fn add(&mut self, block: &str) {
        // Reserves room for the sentence about what was left out.
        if self.text.len().saturating_add(block.len()).saturating_add(600) > self.limit {
            self.left_out += 1;
        } else {
            self.text.push_str(block);
        }
    }

    /// Returns the text. `complete` names the report with the omitted blocks.
    pub(super) fn finish(mut self, complete: &str) -> String {
        if self.left_out > 0 {
            let _ = write!(
                self.text,
                "\n**{} parts of this report were left out: size limit reached.**\n\n- {}\n",
                self.left_out,
                code(&format!("everything is {complete}"))
            );
        }
        if self.text.len() > self.limit { String::new() } else { self.text }
    }
}

/// Returns the report in at most `limit` bytes, or an empty string if not even the first lines fit.
pub(super) fn render(run: &Run, view: &View, limit: usize) -> String {
    let mut page = Page::new(limit);
    page.add(&format!("## rego-platform gate: {}\n\n{}\n\n", word(run), facts::headline(run)));
    for reason in facts::reasons(run) {
        page.add(&format!("- {}\n", code(&reason)));
    }
    let errors = errors(run);
    if !errors.is_empty() {
        page.add("\n### No verdict\n\n");
    }
    for stated in errors {
        let policy = stated.policy.map(|policy| format!(" {}", code(policy)));
        let mut block = format!("- {}{}\n", code(&stated.input.name), policy.unwrap_or_default());
        for text in facts::failure(stated.error).into_iter().chain(stated.more()) {
            let _ = writeln!(block, "  - {}", code(&text));
        }
        page.add(&block);
    }
    let (listed, rest) = view.inputs(run);
    let verdicts: Vec<_> = listed
        .iter()
        .flat_map(|one| one.input.verdicts.iter().map(move |verdict| (one.input, verdict)))
        .collect();
    let found = |page: &mut Page, title, fails| found(page, (run, view), title, &verdicts, fails);
    found(&mut page, "Violations", true);
    found(&mut page, "Found, but doesn't fail", false);
    if let Some(rest) = rest {
        page.add(&format!("\n- {}\n", code(&rest)));
    }
    if !run.notes.is_empty() {
        page.add("\n### Notes\n\n");
    }
    for note in &run.notes {
        page.add(&format!("- {}\n", code(note)));
    }
    page.finish(&view.complete_report())
}

const fn word(run: &Run) -> &'static str {
    match run.outcome {
        Outcome::Passed => "✅ passed",
        Outcome::Failed => "❌ failed",
        Outcome::NoVerdict => "⚠️ no verdict",
    }
}

/// Returns a violation: its severity, message, place, other fields, and why it doesn't fail.
fn violation(run: &Run, found: &Violation) -> String {
    let mut out = String::new();
    out.extend(found.severity.as_ref().map(|severity| format!("{} ", code(severity))));
    if let Some(id) = found.id.as_ref().filter(|id| !found.message.contains(id.as_str())) {
        let _ = write!(out, "{} ", code(id));
    }
    let _ = write!(out, "{}", code(&found.message));
    if let Some(position) = &found.position {
        let _ = write!(out, " at {}", code(&facts::place(position)));
    }
    out.extend(facts::fields(found).map(|fields| format!(" with {}", code(&fields))));
    out.extend(facts::effect(run, found).map(|effect| format!(": {}", code(&effect))));
    out
}

/// Adds the violations that fail, or the others.
fn found(
    page: &mut Page,
    (run, view): (&Run, &View),
    title: &str,
    verdicts: &[(&Input, &Verdict)],
    fails: bool,
) {
    let mut begun = false;
    for (input, verdict) in verdicts {
        let all: Vec<_> =
            verdict.violations.iter().filter(|found| found.fails() == fails).collect();
        if all.is_empty() {
            continue;
        }
        if !std::mem::replace(&mut begun, true) {
            page.add(&format!("\n### {title}\n\n"));
        }
        let mut block = format!("- {} {}\n", code(&input.name), code(&verdict.policy));
        let number = all.len();
        let shown = View::heaviest(all);
        for found in &shown {
            let _ = writeln!(block, "  - {}", violation(run, found));
        }
        block.extend(view.more(number - shown.len()).map(|more| format!("  - {}\n", code(&more))));
        page.add(&block);
    }
}

/// Returns a code span. A text with a long run of backticks, which some renderers don't accept as a
/// delimiter, has its backticks escaped; an empty text, for which there is no code span, is written
/// as `(empty)`.
pub(super) fn code(text: &str) -> String {
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
    use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};

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
            "### No verdict\n\n- `<stdin>`\n",
            "### Violations\n\n- `build/sbom.json` `release.licences`\n  - `high` `L-1` `` license",
            "the waiver of ops expired on 2026-01-31: was urgent",
            "waived until 2027-12-31 by ops, matched by the input's digest: being replaced",
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
