//! Which lines the tests evaluated, in the form of OPA's report.
//!
//! Owns which lines count: those on which a statement or a rule's value begins, in every loaded
//! module, also in those that no test reached. The interpreter says which were evaluated.

use std::collections::{BTreeMap, BTreeSet};

use regorus::unstable as ast;

use ast::{Expr, Query, Rule, RuleHead};

use super::source;
use crate::Error;
use crate::evaluate::load::on_large_stack;
use crate::evaluate::sources::ModuleSource;

/// How much of the policies the tests evaluated.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CoverageReport {
    /// By path.
    pub files: BTreeMap<String, FileCoverage>,
    /// Lines that were evaluated.
    pub covered_lines: usize,
    /// Lines that weren't.
    pub not_covered_lines: usize,
    /// The part that was evaluated, in percent.
    pub coverage: f64,
}

/// How much of a file was evaluated.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct FileCoverage {
    /// Lines that were evaluated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Range>,
    /// Lines that weren't.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<Range>,
    /// How many lines were evaluated.
    #[serde(skip_serializing_if = "is_zero")]
    pub covered_lines: usize,
    /// How many weren't.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_covered_lines: usize,
    /// The part that was evaluated, in percent.
    pub coverage: f64,
}

/// Lines that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Range {
    /// The first.
    pub start: Row,
    /// The last.
    pub end: Row,
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Row {
    /// Its number, from 1.
    pub row: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Lines by file.
pub(super) type Lines = BTreeMap<String, BTreeSet<u32>>;

/// Adds one evaluation's lines.
pub(super) fn add(lines: &mut Lines, more: Lines) {
    for (file, more) in more {
        lines.entry(file).or_default().extend(more);
    }
}

/// The report over `modules`, of which `lines` were evaluated.
pub(super) fn report(
    modules: &[ModuleSource],
    v0: bool,
    lines: &Lines,
) -> Result<CoverageReport, Error> {
    let none = BTreeSet::new();
    let files: BTreeMap<String, FileCoverage> = on_large_stack(|| {
        modules
            .iter()
            .map(|module| {
                let evaluated = lines.get(&module.path).unwrap_or(&none);
                let spans = source::parsed(module, v0, |syntax, _| spans(syntax))?;
                Ok((module.path.clone(), file(&spans, evaluated)))
            })
            .collect::<Result<_, Error>>()
    })??;
    let covered_lines = files.values().map(|file| file.covered_lines).sum();
    let not_covered_lines = files.values().map(|file| file.not_covered_lines).sum();
    let coverage = percent(covered_lines, not_covered_lines);
    Ok(CoverageReport { files, covered_lines, not_covered_lines, coverage })
}

/// A line counts as evaluated when any line of what begins on it was.
fn file(spans: &[(u32, u32)], evaluated: &BTreeSet<u32>) -> FileCoverage {
    let (mut covered, mut not_covered) = (BTreeSet::new(), BTreeSet::new());
    for &(first, last) in spans {
        let reached = evaluated.range(first..=last.max(first)).next().is_some();
        if reached { &mut covered } else { &mut not_covered }.insert(first);
    }
    // Two statements on a line, of which the second wasn't reached: a line is what counts.
    not_covered.retain(|line| !covered.contains(line));
    FileCoverage {
        covered_lines: covered.len(),
        not_covered_lines: not_covered.len(),
        coverage: percent(covered.len(), not_covered.len()),
        covered: ranges(&covered),
        not_covered: ranges(&not_covered),
    }
}

fn ranges(lines: &BTreeSet<u32>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for &row in lines {
        match ranges.last_mut() {
            Some(range) if range.end.row + 1 == row => range.end.row = row,
            _ => ranges.push(Range { start: Row { row }, end: Row { row } }),
        }
    }
    ranges
}

#[allow(clippy::cast_precision_loss, reason = "no policy has 2^52 lines")]
fn percent(covered: usize, not_covered: usize) -> f64 {
    match covered + not_covered {
        0 => 100.0,
        all => 100.0 * covered as f64 / all as f64,
    }
}

/// First and last line of every statement and every value of a rule.
fn spans(module: &ast::Module) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for rule in &module.policy {
        match rule.as_ref() {
            Rule::Default { value, .. } => term(value, &mut found),
            Rule::Spec { head, bodies, .. } => {
                let value = match head {
                    RuleHead::Compr { assign, .. } | RuleHead::Func { assign, .. } => {
                        assign.as_ref().map(|assign| &assign.value)
                    }
                    RuleHead::Set { key, .. } => key.as_ref(),
                };
                let others = bodies.iter().filter_map(|b| Some(&b.assign.as_ref()?.value));
                for value in value.into_iter().chain(others) {
                    term(value, &mut found);
                }
                for body in bodies {
                    query(&body.query, &mut found);
                }
            }
        }
    }
    found
}

/// A value that a rule has.
fn term(expr: &ast::ExprRef, found: &mut Vec<(u32, u32)>) {
    found.push((expr.span().line, last_line(expr)));
    bodies_within(expr, found);
}

fn query(query: &Query, found: &mut Vec<(u32, u32)>) {
    for statement in &query.stmts {
        let expressions = source::expressions(&statement.literal);
        if let Some(last) = expressions.iter().map(|expr| last_line(expr)).max() {
            found.push((statement.span.line, last));
        }
        for expr in expressions {
            bodies_within(expr, found);
        }
        if let ast::Literal::Every { query: body, .. } = &statement.literal {
            self::query(body, found);
        }
    }
}

fn bodies_within(expr: &Expr, found: &mut Vec<(u32, u32)>) {
    let (children, body) = source::children(expr);
    if let Some(body) = body {
        query(body, found);
    }
    for child in children {
        bodies_within(child, found);
    }
}

fn last_line(expr: &Expr) -> u32 {
    let (children, _) = source::children(expr);
    children.into_iter().map(|child| last_line(child)).fold(expr.span().line, u32::max)
}
