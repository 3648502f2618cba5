//! Fields and values that the service is known to send beyond its documented interface.
//!
//! Owns one table: fields that aren't documented and exist all the same, and the values that fields
//! are known to have. It leads to warnings, never to errors, and no answer is parsed with it: the
//! service may send something else tomorrow.

use super::{Field, Type, discover, evidence, project_compliance};
use crate::resources::{ProjectEvaluation, RequirementEvaluation};

/// A field that the service is known to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownField {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// The values that it is known to have; empty if it can have any.
    pub values: &'static [&'static str],
}

/// Material types, and the other kinds of digests.
static KINDS: &[&str] = &[
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
    "GIT_COMMIT",
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
];

/// Statuses of requirements: those that `ComplianceMetrics` counts.
static STATUSES: &[&str] = &["pass", "fail", "pending", "partial", "inactive"];

/// Booleans that are sent as strings.
pub(crate) static BOOLEANS: &[&str] = &["true", "false"];

const KIND: KnownField = KnownField { name: "kind", ty: Type::String, values: KINDS };

static KIND_ONLY: &[KnownField] = &[KIND];

static METADATA: &[Field] = &[
    Field::optional("name", Type::String, "its name"),
    Field::optional("organization", Type::String, "the organization's name"),
    Field::optional("project", Type::String, "the project's name"),
    Field::optional("projectVersion", Type::String, "the version of the project"),
    Field::optional("workflow", Type::String, "the workflow's name"),
    Field::optional("hasPolicyViolations", Type::String, "`\"true\"` or `\"false\"`"),
];

static DISCOVERED: &[KnownField] =
    &[KIND, KnownField { name: "metadata", ty: Type::Object(METADATA), values: &[] }];

static METADATA_FIELDS: &[KnownField] =
    &[KnownField { name: "hasPolicyViolations", ty: Type::String, values: BOOLEANS }];

static EVALUATION: &[KnownField] =
    &[KnownField { name: "status", ty: Type::String, values: STATUSES }];

static OVERALL: &[KnownField] =
    &[KnownField { name: "overall_status", ty: Type::String, values: STATUSES }];

/// Returns the known fields of an object, documented ones included. The object is identified by the
/// address of its table of documented fields.
pub(crate) fn known_fields(fields: &'static [Field]) -> &'static [KnownField] {
    let table: [(&[Field], &'static [KnownField]); 8] = [
        (discover::RESULT, DISCOVERED),
        (discover::REFERENCE, DISCOVERED),
        (METADATA, METADATA_FIELDS),
        (evidence::EVIDENCE_ROW, KIND_ONLY),
        (evidence::FILTERS, KIND_ONLY),
        (project_compliance::EVALUATION, EVALUATION),
        (&ProjectEvaluation, EVALUATION),
        (&RequirementEvaluation, OVERALL),
    ];
    let found = table.into_iter().find(|(documented, _)| std::ptr::eq(*documented, fields));
    found.map_or(&[], |(_, known)| known)
}

/// Returns the values that an argument of a function is known to take.
pub(crate) fn argument(function: &str, name: &str) -> &'static [&'static str] {
    if (function, name) == ("discover", "kind") { KINDS } else { &[] }
}
