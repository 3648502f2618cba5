//! `product_compliance(filters)`: the compliance of a product's version with its frameworks.

use super::lists::Listing;
use super::{Argument, Cost, Field, Function, Origin, Type};
use crate::client::{PRODUCT_COMPLIANCE, Paging, refuse_beside_list, refuse_further_list};
use crate::rego::Value;
use crate::resources::FrameworkCompliance;

static FILTERS: &[Field] = &[
    Field::required("product_version_id", Type::String, "the identifier of the product's version"),
    Field::optional(
        "framework_ids",
        Type::Array(&Type::String),
        "only these frameworks; all frameworks of the version by default",
    ),
];

static RESULT: &[Field] = &[Field::required(
    "frameworks",
    Type::Array(&Type::Object(&FrameworkCompliance)),
    "each framework, with an evaluation for each of its requirements",
)];

pub(crate) static LISTING: Listing = Listing {
    endpoint: PRODUCT_COMPLIANCE,
    paging: Paging::Whole,
    filters: FILTERS,
    result: RESULT,
    checked: &[
        ("framework_ids", "framework_id"),
        ("product_version_id", "evaluations.product_version_id"),
    ],
    contradiction,
};

/// Reports a framework whose metrics count other requirements than it has evaluations, or that says
/// that there are more. Requirements that aren't applicable have neither.
fn contradiction(framework: &Value) -> Option<String> {
    let incomplete = framework.as_object().and_then(|fields| {
        refuse_beside_list(fields, &FrameworkCompliance)
            .and_then(|()| refuse_further_list(fields, &FrameworkCompliance))
            .err()
    });
    incomplete.or_else(|| miscounted(framework))
}

fn miscounted(framework: &Value) -> Option<String> {
    let metrics = framework.get_str("metrics")?;
    let evaluations = match framework.get_str("evaluations") {
        Some(Value::Array(evaluations)) => evaluations.len() as u64,
        _ => 0,
    };
    let count = |name: &str| metrics.get_str(name).and_then(Value::as_u64).unwrap_or(0);
    let counted: u64 = COUNTED.iter().map(|(name, _)| count(name)).fold(0, u64::saturating_add);
    if counted > evaluations {
        return Some(format!(
            "`metrics` counts {counted} requirements, but there are {evaluations} evaluations"
        ));
    }
    // A service that leaves the metrics out counts nothing.
    let by_status = COUNTED
        .iter()
        .filter(|_| counted > 0)
        .map(|(name, status)| (name, status, count(name), with_status(framework, status)));
    by_status.into_iter().find_map(|(name, status, counted, found)| {
        (counted != found).then(|| {
            format!("`{name}` is {counted}, but {found} evaluations have the status `{status}`")
        })
    })
}

/// Returns the number of a framework's evaluations with a status.
fn with_status(framework: &Value, status: &str) -> u64 {
    let Some(Value::Array(evaluations)) = framework.get_str("evaluations") else { return 0 };
    let has = |it: &&Value| it.get_str("overall_status").and_then(Value::as_str) == Some(status);
    evaluations.iter().filter(has).count() as u64
}

/// The metrics that count requirements with a status, and the status.
const COUNTED: [(&str, &str); 4] = [
    ("failing_requirements", "fail"),
    ("partial_requirements", "partial"),
    ("passing_requirements", "pass"),
    ("pending_requirements", "pending"),
];

pub(super) static FUNCTION: Function = Function {
    name: "product_compliance",
    arguments: &[Argument {
        name: "filters",
        ty: Type::Object(FILTERS),
        doc: "the product's version, which is required, and frameworks",
    }],
    result: Type::Object(RESULT),
    summary: "the compliance of a product version with its frameworks, over all its projects",
    doc: "The worst of a requirement's projects is its overall status; requirements that are not \
          applicable are left out by the service. A nested resource, such as `override`, is \
          absent when the service leaves it out. Interface sections 2.14 and 4.6; needs a paid \
          plan.",
    cost: Cost::Request,
    paid_plan: true,
    optional: true,
    origin: Origin::Composed,
    parse: |arguments| LISTING.parse(arguments),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_count_the_evaluations() {
        let cases = [
            (
                r#"{"evaluations": [{"overall_status": "fail"}], "metrics": {"failing_requirements": 1}}"#,
                false,
            ),
            (
                r#"{"evaluations": [{"overall_status": "fail"}], "metrics": {"passing_requirements": 1}}"#,
                true,
            ),
            (
                r#"{"evaluations": [{"overall_status": "pass"}, {"overall_status": "fail"}],
                "metrics": {"passing_requirements": 1}}"#,
                true,
            ),
            (r#"{"evaluations": [{"overall_status": "fail"}], "metrics": {}}"#, false),
            (r#"{"evaluations": [], "metrics": {"inactive_requirements": 2}}"#, false),
            (r#"{"evaluations": [], "metrics": {"total_requirements": 2}}"#, false),
            (r#"{"evaluations": [{}]}"#, false),
            (r#"{"evaluations": [], "metrics": {"failing_requirements": 1}}"#, true),
            (r#"{"metrics": {"partial_requirements": 1}}"#, true),
            (
                r#"{"evaluations": [{}], "metrics": {"passing_requirements": 1, "failing_requirements": 1}}"#,
                true,
            ),
        ];
        for (framework, contradicts) in cases {
            let value = Value::from_json(framework).unwrap_or(Value::Null);
            assert_eq!(contradiction(&value).is_some(), contradicts, "{framework}");
        }
    }
}
