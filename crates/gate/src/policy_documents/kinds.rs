//! The kinds of materials that documents can name.

use rego_platform_client::text;

/// The kind that means any.
pub(super) const UNSPECIFIED: &str = "MATERIAL_TYPE_UNSPECIFIED";

/// All kinds, as the vendor's public schema of contracts has them (v1.106.1).
const KINDS: [&str; 42] = [
    "STRING",
    "CONTAINER_IMAGE",
    "ARTIFACT",
    "SBOM_CYCLONEDX_JSON",
    "SBOM_SPDX_JSON",
    "JUNIT_XML",
    "OPENVEX",
    "CSAF_VEX",
    "SARIF",
    "HELM_CHART",
    "EVIDENCE",
    "ATTESTATION",
    "CSAF_INFORMATIONAL_ADVISORY",
    "CSAF_SECURITY_ADVISORY",
    "CSAF_SECURITY_INCIDENT_RESPONSE",
    "GITLAB_SECURITY_REPORT",
    "ZAP_DAST_ZIP",
    "BLACKDUCK_SCA_JSON",
    "TWISTCLI_SCAN_JSON",
    "GHAS_CODE_SCAN",
    "GHAS_SECRET_SCAN",
    "GHAS_DEPENDENCY_SCAN",
    "JACOCO_XML",
    "SLSA_PROVENANCE",
    "CHAINLOOP_RUNNER_CONTEXT",
    "CHAINLOOP_PR_INFO",
    "GITLEAKS_JSON",
    "CHAINLOOP_AI_AGENT_CONFIG",
    "CHAINLOOP_AI_CODING_SESSION",
    "OPENAPI_SPEC",
    "ASYNCAPI_SPEC",
    "GRAPHQL_SPEC",
    "YELP_DETECT_SECRETS_BASELINE",
    "SYSINTERNALS_SIGCHECK",
    "SYSINTERNALS_ACCESSCHK",
    "CERTCC_DRANZER",
    "OSSF_SCORECARD_JSON",
    "RADAMSA_REPORT",
    "RADAMSA_CRASHES",
    "TRUFFLEHOG_JSON",
    "COBERTURA_XML",
    "CHECKMARX_JSON",
];

pub(super) fn is_known(name: &str) -> bool {
    KINDS.contains(&name)
}

pub(super) fn nearest(name: &str) -> Option<&'static str> {
    text::nearest(&name.to_ascii_uppercase(), KINDS.iter().copied())
}
