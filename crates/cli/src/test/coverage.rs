//! The coverage for people: each file's share, and the lines that no test evaluated.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rego_platform::testing::{CoverageReport, NotCovered};
use rego_platform_client::text::escape;

/// Appends a table of the files.
pub(super) fn human(report: &CoverageReport, out: &mut String) {
    let _ = writeln!(out, "\ncoverage: {:.2} %", report.coverage);
    for (path, file) in &report.files {
        let all = file.covered_lines + file.not_covered_lines;
        let _ = write!(
            out,
            "  {}: {:.2} % ({}/{all} lines)",
            escape(path),
            file.coverage,
            file.covered_lines
        );
        if !file.not_covered.is_empty() {
            let _ = write!(out, ", not covered: {}", lines(&file.not_covered));
        }
        out.push('\n');
    }
}

/// Returns line numbers in the form `3, 5-7`.
fn lines(parts: &[NotCovered]) -> String {
    let rows: BTreeSet<u32> =
        parts.iter().flat_map(|part| part.range.start.row..=part.range.end.row).collect();
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for row in rows {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == row => *last = row,
            _ => spans.push((row, row)),
        }
    }
    let each =
        spans.iter().map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        );
    each.collect::<Vec<_>>().join(", ")
}
