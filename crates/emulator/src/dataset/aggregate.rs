//! The compliance of a product version with a framework: project evaluations combined, requirement
//! by requirement (interface 4.6 and 2.14).
//!
//! The worst case wins. A project version that hasn't been evaluated counts as pending: a missing
//! evaluation isn't a pass. A requirement that applies to none of them is left out; a project
//! version that it doesn't apply to is listed, and doesn't count.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::scalars::Id;
use super::compliance::Evaluation;
use super::fields::{compact, text, with};
use super::frameworks::{Framework, Requirement};
use super::projects::Projects;

/// The statuses of an evaluation with their names in metrics and on requirements, the worst first.
/// An unknown status is worse than all of them.
const STATUSES: &[(&str, &str, &str)] = &[
    ("fail", "failing_requirements", "REQUIREMENT_STATUS_FAILING"),
    ("partial", "partial_requirements", "REQUIREMENT_STATUS_PARTIAL"),
    (PENDING, "pending_requirements", "REQUIREMENT_STATUS_PENDING"),
    ("inactive", "inactive_requirements", "REQUIREMENT_STATUS_INACTIVE"),
    ("pass", PASSING, "REQUIREMENT_STATUS_PASSING"),
];
const PASSING: &str = "passing_requirements";
const PENDING: &str = "pending";

/// The compliance with a framework.
pub(super) struct Aggregate {
    /// A `FrameworkCompliance`.
    pub json: Value,
    /// The status of each requirement, as the requirement itself shows it.
    pub status: HashMap<Id, &'static str>,
}

/// Returns the rank of a status: 0 is the worst.
fn rank(status: &str) -> usize {
    STATUSES.iter().position(|(known, ..)| *known == status).map_or(0, |index| index + 1)
}

pub(super) fn aggregate(
    framework: &Framework,
    product_version: &Id,
    project_versions: &[&Id],
    projects: &Projects,
    evaluations: &[Evaluation],
) -> Aggregate {
    // The project versions that have to comply with the framework.
    let concerned = |id: &&Id| {
        let found = projects.version(id);
        found.is_some_and(|(_, version)| version.frameworks.contains(&framework.id))
    };
    let concerned: Vec<&Id> = project_versions.iter().copied().filter(concerned).collect();
    let (mut rows, mut status) = (Vec::new(), HashMap::new());
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let requirements = framework.requirements.iter().filter(|_| !framework.not_applicable);
    for requirement in requirements {
        let known = evaluations.iter().filter(|row| {
            row.requirement.id == requirement.id
                && project_versions.contains(&&row.project_version_id)
        });
        let known: Vec<&Evaluation> = known.collect();
        let Some(worst) = worst(&known, &concerned) else { continue };
        if let Some((_, metric, shown)) = STATUSES.iter().find(|(known, ..)| *known == worst) {
            *counts.entry(metric).or_default() += 1;
            status.insert(requirement.id.clone(), *shown);
        }
        rows.push(row(requirement, product_version, worst, &known));
    }
    Aggregate { json: show(framework, rows, &counts), status }
}

/// Returns the worst status of a requirement; `None` if it applies to no project version.
fn worst<'a>(evaluations: &[&'a Evaluation], concerned: &[&Id]) -> Option<&'a str> {
    let evaluated = |id: &&Id| evaluations.iter().any(|row| row.project_version_id == **id);
    let missing = evaluations.is_empty() || !concerned.iter().all(evaluated);
    let applicable = evaluations.iter().filter(|row| !row.not_applicable);
    let statuses = applicable.map(|row| row.status.as_str()).chain(missing.then_some(PENDING));
    statuses.min_by_key(|status| rank(status))
}

/// Returns a `RequirementEvaluation`.
fn row(
    requirement: &Requirement,
    product_version: &Id,
    worst: &str,
    evaluations: &[&Evaluation],
) -> Value {
    let details = || evaluations.iter().map(|evaluation| &evaluation.detail);
    let lists = |key: &str| -> Value {
        details().filter_map(|detail| detail.get(key)?.as_array()).flatten().cloned().collect()
    };
    let applicable = evaluations.iter().filter(|evaluation| !evaluation.not_applicable);
    let mut levels = applicable.map(|row| text(&row.detail, "automation_level"));
    let level = levels.next().unwrap_or_default();
    // Projects with different levels have no common one.
    let level =
        if level.is_empty() || levels.any(|other| other != level) { "unspecified" } else { level };
    // An override of the product version, not just of one of its project versions.
    let mut overrides = details().filter_map(|detail| detail.get("override"));
    let whole = overrides.find(|one| text(one, "product_version_id") == product_version.as_str());
    compact(json!({
        "requirement_id": requirement.id,
        "requirement_version_id": requirement.version_id,
        "name": requirement.name,
        "display_name": requirement.display_name,
        "description": requirement.description,
        "product_version_id": product_version,
        "requirement_revision": requirement.revision,
        "scope": requirement.scope.as_ref().map_or("UNSPECIFIED", |scope| scope.as_str()),
        "overall_status": worst,
        "automation_level": level,
        "manual_evidence_submissions": lists("manual_evidence_submissions"),
        "expired_tests": lists("expired_tests"),
        "override": whole,
        "project_evaluations": details().collect::<Vec<_>>(),
        "created_at": evaluations.iter().map(|evaluation| evaluation.created_at).max(),
    }))
}

/// Returns a `FrameworkCompliance`.
fn show(framework: &Framework, rows: Vec<Value>, counts: &HashMap<&str, usize>) -> Value {
    let total = rows.len();
    let passing = counts.get(PASSING).copied().unwrap_or_default();
    // In hundredths of a percent; 0 if nothing is required.
    let hundredths = (passing * 10_000).checked_div(total).unwrap_or_default();
    let hundredths = f64::from(u32::try_from(hundredths).unwrap_or_default());
    let counted = STATUSES.iter().map(|(_, metric, _)| {
        ((*metric).to_owned(), json!(counts.get(metric).copied().unwrap_or_default()))
    });
    let metrics = Value::Object(counted.collect());
    let metrics = with(
        metrics,
        [
            ("total_requirements", json!(total)),
            ("compliance_percentage", json!(hundredths / 100.0)),
        ],
    );
    json!({
        "framework_id": framework.id,
        "framework_name": framework.name,
        "framework_display_name": text(&framework.brief(), "display_name"),
        "evaluations": rows,
        "metrics": metrics,
    })
}
