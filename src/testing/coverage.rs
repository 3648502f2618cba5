//! The coverage of policies by tests, in the form of OPA's report.
//!
//! Owns counting: the heads of rules that gave a value and the evaluated expressions, out of all
//! heads and expressions, including those of modules that no test reached.

use std::collections::{BTreeMap, BTreeSet};

use super::places::Places;
use crate::evaluate::Covered;
use crate::rego::program::Program;
use crate::rego::syntax::tree::{ExprKind, Rule, Span};
use crate::rego::syntax::visit;

/// The coverage of policies by tests.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct CoverageReport {
    /// The coverage of each file, by path.
    pub files: BTreeMap<String, FileCoverage>,
    /// The number of lines that were evaluated.
    pub covered_lines: usize,
    /// The number of lines that weren't evaluated.
    pub not_covered_lines: usize,
    /// The percentage of lines that were evaluated.
    pub coverage: f64,
}

/// The coverage of a file.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct FileCoverage {
    /// The heads and expressions that were evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Range>,
    /// The heads and expressions that weren't evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<Range>,
    /// The number of lines that were evaluated.
    #[serde(skip_serializing_if = "is_zero")]
    pub covered_lines: usize,
    /// The number of lines that weren't evaluated.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_covered_lines: usize,
    /// The percentage of lines that were evaluated.
    #[serde(skip_serializing_if = "is_none")]
    pub coverage: f64,
}

/// The range of a rule's head or of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Range {
    /// The beginning.
    pub start: Place,
    /// The end.
    pub end: Place,
}

/// A line and column in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Place {
    /// The line, from 1.
    pub row: u32,
    /// The column, from 1.
    pub col: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(percent: &f64) -> bool {
    *percent == 0.0
}

/// Returns the coverage of all modules of a program.
pub(super) fn report(program: &Program, covered: Covered) -> CoverageReport {
    let mut files = BTreeMap::new();
    for module in program.modules() {
        let Some(source) = program.sources().get(module.span.file) else { continue };
        let places = Places::new(source, module);
        let mut heads = BTreeMap::new();
        module.rules.iter().for_each(|rule| find_heads(rule, &mut heads));
        // A rule that gave a value covers its head; its body and `else` branches count for themselves.
        // Generated expressions have no extent.
        let own =
            covered.spans().filter(|span| span.file == module.span.file && span.start < span.end);
        let reached: BTreeSet<Range> = own
            .filter_map(|span| match heads.get(span) {
                Some(head) => Some(places.plain(*head)),
                None => places.range(*span),
            })
            .collect();
        let mut missing = BTreeSet::new();
        let mut look = |wanted: Range| {
            if !reached.iter().any(|r| r.start <= wanted.start && wanted.end <= r.end) {
                missing.insert(wanted);
            }
        };
        heads.values().for_each(|head| look(places.plain(*head)));
        visit::walk_exprs(module, &mut |expr| {
            if !matches!(&expr.kind, ExprKind::Some(_)) {
                look(places.statement(expr.span));
            }
            true
        });
        files.insert(source.path().to_owned(), file(reached, missing));
    }
    let covered_lines = files.values().map(|file: &FileCoverage| file.covered_lines).sum();
    let not_covered_lines = files.values().map(|file| file.not_covered_lines).sum();
    let coverage = percent(covered_lines, not_covered_lines);
    CoverageReport { files, covered_lines, not_covered_lines, coverage }
}

/// Finds the heads of a rule and of its `else` branches, by the spans of the whole rules.
fn find_heads(rule: &Rule, heads: &mut BTreeMap<Span, Span>) {
    let mut next = Some(rule);
    while let Some(rule) = next {
        heads.insert(rule.span, rule.head.span);
        next = rule.else_rule.as_deref();
    }
}

fn file(covered: BTreeSet<Range>, not_covered: BTreeSet<Range>) -> FileCoverage {
    let (covered_lines, not_covered_lines) = (lines(&covered), lines(&not_covered));
    FileCoverage {
        covered_lines,
        not_covered_lines,
        coverage: percent(covered_lines, not_covered_lines),
        covered: covered.into_iter().collect(),
        not_covered: not_covered.into_iter().collect(),
    }
}

/// Returns the number of lines that ranges touch.
fn lines(ranges: &BTreeSet<Range>) -> usize {
    let rows: BTreeSet<u32> = ranges.iter().flat_map(|r| r.start.row..=r.end.row).collect();
    rows.len()
}

#[allow(clippy::cast_precision_loss, reason = "no policy has 2^52 lines")]
fn percent(covered: usize, not_covered: usize) -> f64 {
    match covered + not_covered {
        0 => 0.0,
        all => 100.0 * covered as f64 / all as f64,
    }
}
