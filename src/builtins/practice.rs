//! What the service is known to send beyond what its interface documents.
//!
//! Owns one table: fields that aren't documented and are there, and the values that fields are known
//! to have. Warnings come from it, never errors, and no answer is read by it: the service may send
//! something else tomorrow.

use super::{Field, Type, discover, evidence, project_compliance};

/// What is known of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Practice {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// The values that it is known to have; none where it has any.
    pub values: &'static [&'static str],
}

/// Types of materials, and what else a digest may be.
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

static STATUSES: &[&str] = &["pass", "fail", "pending", "partial", "inactive"];

/// Booleans that are sent as strings.
pub(crate) static BOOLEANS: &[&str] = &["true", "false"];

const KIND: Practice = Practice { name: "kind", ty: Type::String, values: KINDS };

static KIND_ONLY: &[Practice] = &[KIND];

static METADATA: &[Field] = &[
    Field::optional("name", Type::String, "what it is called"),
    Field::optional("organization", Type::String, "the organization's name"),
    Field::optional("project", Type::String, "the project's name"),
    Field::optional("projectVersion", Type::String, "the version of the project"),
    Field::optional("workflow", Type::String, "the workflow's name"),
    Field::optional("hasPolicyViolations", Type::String, "`\"true\"` or `\"false\"`"),
];

static DISCOVERED: &[Practice] =
    &[KIND, Practice { name: "metadata", ty: Type::Object(METADATA), values: &[] }];

static METADATA_FIELDS: &[Practice] =
    &[Practice { name: "hasPolicyViolations", ty: Type::String, values: BOOLEANS }];

static EVALUATION: &[Practice] = &[Practice { name: "status", ty: Type::String, values: STATUSES }];

/// What is known of the fields of an object, documented ones included; the object is known by its
/// table of documented fields.
pub(crate) fn practice(fields: &'static [Field]) -> &'static [Practice] {
    let table: [(&[Field], &'static [Practice]); 6] = [
        (discover::RESULT, DISCOVERED),
        (discover::REFERENCE, DISCOVERED),
        (METADATA, METADATA_FIELDS),
        (evidence::EVIDENCE_ROW, KIND_ONLY),
        (evidence::FILTERS, KIND_ONLY),
        (project_compliance::EVALUATION, EVALUATION),
    ];
    let found = table.into_iter().find(|(known, _)| std::ptr::eq(*known, fields));
    found.map_or(&[], |(_, practice)| practice)
}

/// The values that an argument of a function is known to take.
pub(crate) fn argument(function: &str, name: &str) -> &'static [&'static str] {
    if (function, name) == ("discover", "kind") { KINDS } else { &[] }
}
