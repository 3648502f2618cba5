# METADATA
# title: No secret was found
# description: >-
#   Reads Gitleaks, TruffleHog, Trivy, GitHub's alerts, GitLab's reports and SARIF of these
#   scanners. A secret that was committed is known, even if it was removed later.
# custom:
#   severity: critical
#   remediation: >-
#     Revoke the secret, and then remove it.
#   controls:
#     osps: [OSPS-BR-07.01]
#     ssdf: [PW.7.2, PS.1.1]
#     nist_800_53: [IA-5, SA-11]
#   input: [gitleaks, trufflehog, trivy, github-alerts, gitlab-report, sarif, release]
#   functions: [evidence, download_artifact]
package compliance.secrets

import data.lib.scans

result := scans.secrets_verdict(deny)

deny contains {"message": message, "id": finding.rule} if {
	some finding in scans.secrets
	message := sprintf("a secret was found: %s at %s", [finding.rule, finding.place])
}
