//! The coverage of policies by tests, in the form of OPA's report.
//!
//! Owns counting: the heads of rules that gave a value and the evaluated expressions, out of all
//! heads and expressions, including those of modules that no test reached.

use std::collections::{BTreeMap, BTreeSet};

use super::places::{Places, Range};
use crate::evaluate::Covered;
use crate::rego::Program;
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

/// The lines of one file that tests evaluated, and those that none did.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct FileCoverage {
    /// The heads and expressions that were evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Range>,
    /// The heads and expressions that weren't evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<NotCovered>,
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

/// A part that wasn't evaluated.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NotCovered {
    /// The lines and columns that no test evaluated.
    #[serde(flatten)]
    pub range: Range,
    /// The reasons why, if they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<CoverageKind>,
}

/// A reason why a part wasn't evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CoverageKind {
    /// The rule index excluded the definition: its body can't hold.
    IndexExcluded,
    /// Another definition had determined the value.
    EarlyExit,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_none(percent: &f64) -> bool {
    *percent == 0.0
}

/// The spans that the tests reached.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// The spans that the tests themselves reached.
    pub(super) spans: Covered,
    /// The spans that are also reached if the rule index excludes no definition.
    pub(super) without_index: Covered,
    /// The spans that are also reached if no definition ends the evaluation of its rule.
    pub(super) without_exits: Covered,
}

/// Returns the coverage of all modules of a program.
pub(super) fn report(program: &Program, covered: &Reached) -> CoverageReport {
    let mut files = BTreeMap::new();
    for module in program.modules() {
        let Some(source) = program.sources().get(module.span.file) else { continue };
        let places = Places::new(source, module);
        let mut heads = BTreeMap::new();
        module.rules.iter().for_each(|rule| find_heads(rule, &mut heads));
        // A rule that gave a value covers its head; its body and `else` branches count for themselves.
        // Generated expressions have no extent.
        let ranges = |covered: &Covered| -> BTreeSet<Range> {
            let own = covered
                .spans()
                .filter(|span| span.file == module.span.file && span.start < span.end);
            own.filter_map(|span| match heads.get(span) {
                Some(head) => Some(places.plain(*head)),
                None => places.range(*span),
            })
            .collect()
        };
        let reached = ranges(&covered.spans);
        let without = [
            (CoverageKind::IndexExcluded, ranges(&covered.without_index)),
            (CoverageKind::EarlyExit, ranges(&covered.without_exits)),
        ];
        let mut missing = BTreeSet::new();
        let mut look = |wanted: Range| {
            if !is_within(wanted, &reached) {
                missing.insert(wanted);
            }
        };
        for head in heads.values() {
            look(places.plain(*head));
        }
        visit::walk_exprs(module, &mut |expr| {
            if !matches!(&expr.kind, ExprKind::Some(_)) {
                look(places.statement(expr.span));
            }
            true
        });
        files.insert(source.path().to_owned(), file(reached, missing, &without));
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

fn is_within(wanted: Range, ranges: &BTreeSet<Range>) -> bool {
    ranges.iter().any(|range| range.start <= wanted.start && wanted.end <= range.end)
}

fn file(
    covered: BTreeSet<Range>,
    not_covered: BTreeSet<Range>,
    without: &[(CoverageKind, BTreeSet<Range>)],
) -> FileCoverage {
    let kinds = |range| {
        let found = without.iter().filter(|(_, ranges)| is_within(range, ranges));
        found.map(|(kind, _)| *kind).collect()
    };
    let (covered_lines, not_covered_lines) = (lines(&covered), lines(&not_covered));
    FileCoverage {
        covered_lines,
        not_covered_lines,
        coverage: percent(covered_lines, not_covered_lines),
        covered: covered.into_iter().collect(),
        not_covered: not_covered
            .into_iter()
            .map(|range| NotCovered { range, kinds: kinds(range) })
            .collect(),
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
