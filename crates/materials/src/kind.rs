//! The table of kinds.

use crate::file::File;
use crate::kinds::{
    api, attestation, cobertura, csaf, cyclonedx, evidence, ghas, graphql, helm, image, jacoco,
    junit, openvex, platform, sarif, scans, secrets, spdx, zap,
};
use crate::material::{Material, NotOfKind};

/// Reads a file as a kind.
type Read = fn(&File<'_>) -> Result<Material, NotOfKind>;

/// A kind of materials.
#[derive(Debug)]
pub struct Kind {
    /// The name, such as `SARIF`.
    pub name: &'static str,
    /// `true` if a policy may name the kind.
    pub for_policies: bool,
    /// `true` if detection considers the kind: it doesn't accept every file.
    pub detected: bool,
    /// `true` if an empty file may be of the kind.
    may_be_empty: bool,
    /// `None` for a kind that isn't supported.
    read: Option<Read>,
}

/// All kinds, by name.
const KINDS: &[Kind] = &[
    Kind {
        for_policies: false,
        detected: false,
        ..kind("ARTIFACT", |file| Ok(evidence::read_artifact(file)))
    },
    kind("ASYNCAPI_SPEC", api::read_asyncapi),
    kind("ATTESTATION", attestation::read),
    kind("BLACKDUCK_SCA_JSON", scans::read_blackduck),
    unsupported("CERTCC_DRANZER"),
    kind("CHAINLOOP_AI_AGENT_CONFIG", platform::read_agent_config),
    kind("CHAINLOOP_AI_CODING_SESSION", platform::read_coding_session),
    kind("CHAINLOOP_PR_INFO", platform::read_pull_request),
    kind("CHAINLOOP_RUNNER_CONTEXT", platform::read_runner_context),
    kind("CHECKMARX_JSON", scans::read_checkmarx),
    kind("COBERTURA_XML", cobertura::read),
    kind("CONTAINER_IMAGE", image::read),
    kind("CSAF_INFORMATIONAL_ADVISORY", csaf::read_informational_advisory),
    kind("CSAF_SECURITY_ADVISORY", csaf::read_security_advisory),
    kind("CSAF_SECURITY_INCIDENT_RESPONSE", csaf::read_security_incident_response),
    kind("CSAF_VEX", csaf::read_vex),
    Kind { detected: false, ..kind("EVIDENCE", |file| Ok(evidence::read(file))) },
    kind("GHAS_CODE_SCAN", ghas::read_code),
    kind("GHAS_DEPENDENCY_SCAN", ghas::read_dependency),
    kind("GHAS_SECRET_SCAN", ghas::read_secret),
    kind("GITLAB_SECURITY_REPORT", scans::read_gitlab),
    kind("GITLEAKS_JSON", secrets::read_gitleaks),
    kind("GRAPHQL_SPEC", graphql::read),
    kind("HELM_CHART", helm::read),
    kind("JACOCO_XML", jacoco::read),
    kind("JUNIT_XML", junit::read),
    kind("OPENAPI_SPEC", api::read_openapi),
    kind("OPENVEX", openvex::read),
    kind("OSSF_SCORECARD_JSON", scans::read_scorecard),
    unsupported("RADAMSA_CRASHES"),
    unsupported("RADAMSA_REPORT"),
    kind("SARIF", sarif::read),
    kind("SBOM_CYCLONEDX_JSON", cyclonedx::read),
    kind("SBOM_SPDX_JSON", spdx::read),
    kind("SLSA_PROVENANCE", attestation::read_provenance),
    Kind {
        detected: false,
        may_be_empty: true,
        ..kind("STRING", |file| Ok(evidence::read_string(file)))
    },
    unsupported("SYSINTERNALS_ACCESSCHK"),
    unsupported("SYSINTERNALS_SIGCHECK"),
    Kind { may_be_empty: true, ..kind("TRUFFLEHOG_JSON", secrets::read_trufflehog) },
    kind("TWISTCLI_SCAN_JSON", scans::read_twistcli),
    kind("YELP_DETECT_SECRETS_BASELINE", secrets::read_detect_secrets),
    kind("ZAP_DAST_ZIP", zap::read),
];

/// A kind that refuses empty files.
const fn kind(name: &'static str, read: Read) -> Kind {
    Kind { name, for_policies: true, detected: true, may_be_empty: false, read: Some(read) }
}

/// A kind whose files aren't read.
const fn unsupported(name: &'static str) -> Kind {
    Kind { name, for_policies: true, detected: false, may_be_empty: false, read: None }
}

impl Kind {
    /// Returns all kinds, ordered by name.
    pub fn all() -> &'static [Self] {
        KINDS
    }

    /// Returns the kind with a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Returns `true` if files of the kind can be read.
    pub fn is_supported(&self) -> bool {
        self.read.is_some()
    }

    /// Returns the kinds that accept a file, without those that accept any.
    pub fn detect(file: &File<'_>) -> Vec<&'static Self> {
        let accepts = |kind: &&Self| kind.detected && kind.read(file).is_ok();
        KINDS.iter().filter(accepts).collect()
    }

    /// Reads a file as the kind.
    ///
    /// # Errors
    /// For a file that isn't of the kind, and for a kind that isn't supported.
    pub fn read(&self, file: &File<'_>) -> Result<Material, NotOfKind> {
        let Some(read) = self.read else {
            return Err(NotOfKind::new(format!("unsupported kind {}", self.name)));
        };
        if file.bytes.is_empty() && file.folder.is_none() && !self.may_be_empty {
            return Err(NotOfKind::new("the file is empty"));
        }
        read(file)
    }
}
