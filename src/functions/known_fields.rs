//! Fields and values that the service is known to send beyond its documented interface.
//!
//! Owns one table: fields that aren't documented and exist all the same, and the values that fields
//! are known to have. It words hints, warnings and notes. No answer is judged by it: the service may
//! send something else tomorrow.

use std::collections::BTreeMap;

use super::{Field, Type, discover, evidence, findings, project_compliance};
use crate::rego::Value;
use crate::resources::{ProjectEvaluation, RequirementEvaluation};
use crate::text::shorten;

/// A field that the service is known to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownField {
    pub name: &'static str,
    pub ty: Type,
    /// The values that it is known to have; empty if it can have any.
    pub values: &'static [&'static str],
}

/// Material types, and the other kinds of digests.
pub(crate) static KINDS: &[&str] = &[
    "STRING",
    "CONTAINER_IMAGE",
    "ARTIFACT",
    "SBOM_CYCLONEDX_JSON",
    "SBOM_SPDX_JSON",
    "JUNIT_XML",
    "OPENVEX",
    "CSAF_VEX",
    "CSAF_INFORMATIONAL_ADVISORY",
    "CSAF_SECURITY_ADVISORY",
    "CSAF_SECURITY_INCIDENT_RESPONSE",
    "SARIF",
    "HELM_CHART",
    "EVIDENCE",
    "ATTESTATION",
    "GIT_HEAD_COMMIT",
    "GITLAB_SECURITY_REPORT",
    "ZAP_DAST_ZIP",
    "BLACKDUCK_SCA_JSON",
    "TWISTCLI_SCAN_JSON",
    "GHAS_CODE_SCAN",
    "GHAS_SECRET_SCAN",
    "GHAS_DEPENDENCY_SCAN",
    "JACOCO_XML",
    "COBERTURA_XML",
    "SLSA_PROVENANCE",
    "GITLEAKS_JSON",
    "TRUFFLEHOG_JSON",
    "OPENAPI_SPEC",
    "ASYNCAPI_SPEC",
    "GRAPHQL_SPEC",
    "OSSF_SCORECARD_JSON",
    "CHECKMARX_JSON",
    "CHAINLOOP_RUNNER_CONTEXT",
    "CHAINLOOP_PR_INFO",
    "CHAINLOOP_AI_AGENT_CONFIG",
    "CHAINLOOP_AI_CODING_SESSION",
    "YELP_DETECT_SECRETS_BASELINE",
    "SYSINTERNALS_SIGCHECK",
    "SYSINTERNALS_ACCESSCHK",
    "CERTCC_DRANZER",
    "RADAMSA_REPORT",
    "RADAMSA_CRASHES",
];

/// Statuses of requirements: those that `ComplianceMetrics` counts.
#[doc(hidden)]
pub static STATUSES: &[&str] = &["pass", "fail", "pending", "partial", "inactive"];

/// Booleans that are sent as strings.
pub(crate) static BOOLEANS: &[&str] = &["true", "false"];

const KIND: KnownField = KnownField { name: "kind", ty: Type::String, values: KINDS };

/// Severities of findings, as the service spells them.
pub(crate) static SEVERITIES: &[&str] = &[
    "FINDING_SEVERITY_CRITICAL",
    "FINDING_SEVERITY_HIGH",
    "FINDING_SEVERITY_MEDIUM",
    "FINDING_SEVERITY_LOW",
    "FINDING_SEVERITY_INFO",
];

/// Statuses of findings, as the service spells them.
pub(crate) static FINDING_STATUSES: &[&str] =
    &["FINDING_STATUS_OPEN", "FINDING_STATUS_IN_PROGRESS", "FINDING_STATUS_RESOLVED"];

static FINDING: &[KnownField] = &[
    KnownField { name: "severity", ty: Type::String, values: SEVERITIES },
    KnownField { name: "status", ty: Type::String, values: FINDING_STATUSES },
];

/// Severities and statuses in a request, where their prefix may be left out.
static FINDING_FILTERS: &[KnownField] = &[
    KnownField { name: "severity", ty: Type::String, values: SEVERITY_FILTERS },
    KnownField { name: "status", ty: Type::String, values: STATUS_FILTERS },
];

static SEVERITY_FILTERS: &[&str] = &[
    "CRITICAL",
    "HIGH",
    "MEDIUM",
    "LOW",
    "INFO",
    "FINDING_SEVERITY_CRITICAL",
    "FINDING_SEVERITY_HIGH",
    "FINDING_SEVERITY_MEDIUM",
    "FINDING_SEVERITY_LOW",
    "FINDING_SEVERITY_INFO",
];

static STATUS_FILTERS: &[&str] = &[
    "OPEN",
    "IN_PROGRESS",
    "RESOLVED",
    "FINDING_STATUS_OPEN",
    "FINDING_STATUS_IN_PROGRESS",
    "FINDING_STATUS_RESOLVED",
];

static KIND_ONLY: &[KnownField] = &[KIND];

pub(super) static METADATA: &[Field] = &[
    Field::optional("name", Type::String, "its name"),
    Field::optional("organization", Type::String, "the organization's name"),
    Field::optional("project", Type::String, "the project's name"),
    Field::optional("projectVersion", Type::String, "the version of the project"),
    Field::optional("workflow", Type::String, "the workflow's name"),
    Field::optional("hasPolicyViolations", Type::String, "`\"true\"` or `\"false\"`"),
];

static DISCOVERED: &[KnownField] = &[
    KIND,
    KnownField { name: "metadata", ty: Type::Object(METADATA), values: &[] },
    KnownField { name: "annotations", ty: Type::Map(&Type::String), values: &[] },
];

static METADATA_FIELDS: &[KnownField] = &[
    KnownField { name: "hasPolicyViolations", ty: Type::String, values: BOOLEANS },
    KnownField { name: "hasGatedPolicyViolations", ty: Type::String, values: BOOLEANS },
    KnownField { name: "projectVersionPrerelease", ty: Type::String, values: BOOLEANS },
    KnownField { name: "team", ty: Type::String, values: &[] },
    KnownField { name: "contractName", ty: Type::String, values: &[] },
    KnownField { name: "contractVersion", ty: Type::String, values: &[] },
];

static EVALUATION: &[KnownField] =
    &[KnownField { name: "status", ty: Type::String, values: STATUSES }];

static OVERALL: &[KnownField] =
    &[KnownField { name: "overall_status", ty: Type::String, values: STATUSES }];

/// Returns the known fields of an object, documented ones included. The object is identified by the
/// address of its table of documented fields.
pub(crate) fn known_fields(fields: &'static [Field]) -> &'static [KnownField] {
    let table: [(&[Field], &'static [KnownField]); 10] = [
        (discover::RESULT, DISCOVERED),
        (discover::REFERENCE, DISCOVERED),
        (METADATA, METADATA_FIELDS),
        (evidence::EVIDENCE_ROW, KIND_ONLY),
        (evidence::FILTERS, KIND_ONLY),
        (project_compliance::EVALUATION, EVALUATION),
        (findings::FINDING, FINDING),
        (findings::REQUEST, FINDING_FILTERS),
        (&ProjectEvaluation, EVALUATION),
        (&RequirementEvaluation, OVERALL),
    ];
    let found = table.into_iter().find(|(documented, _)| std::ptr::eq(*documented, fields));
    found.map_or(&[], |(_, known)| known)
}

/// Returns the known field of this name.
pub(crate) fn known_field(fields: &'static [Field], name: &str) -> Option<&'static KnownField> {
    known_fields(fields).iter().find(|known| known.name == name)
}

/// Counts the evaluations of an answer whose status isn't a known one: a policy that looks for `fail`
/// finds nothing in them. By field and value; an empty one was left out.
#[doc(hidden)]
pub fn count_unknown_statuses(
    ty: Type,
    answer: &Value,
    counts: &mut BTreeMap<(&'static str, String), u64>,
) {
    match (ty, answer) {
        (Type::Array(item), Value::Array(items)) if matches!(item, Type::Object(_)) => {
            items.iter().for_each(|value| count_unknown_statuses(*item, value, counts));
        }
        // It has no status, rightly.
        (_, Value::Object(_)) if answer.get_str("not_applicable") == Some(&Value::Bool(true)) => {}
        (Type::Object(fields), Value::Object(_)) => {
            let is_status = |known: &&KnownField| std::ptr::eq(known.values, STATUSES);
            for known in known_fields(fields).iter().filter(is_status) {
                let value = answer.get_str(known.name).and_then(Value::as_str).unwrap_or_default();
                if !known.values.contains(&value) {
                    *counts.entry((known.name, shorten(value, 80))).or_default() += 1;
                }
            }
            for field in fields.iter().filter(|field| matches!(field.ty, Type::Array(_))) {
                if let Some(value) = answer.get_str(field.name) {
                    count_unknown_statuses(field.ty, value, counts);
                }
            }
        }
        _ => {}
    }
}

/// Returns the values that an argument of a function is known to take.
pub(crate) fn argument(function: &str, name: &str) -> &'static [&'static str] {
    if (function, name) == ("discover", "kind") { KINDS } else { &[] }
}
