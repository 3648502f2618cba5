# METADATA
# title: Code scanning found nothing severe
# description: >-
#   Reads SARIF, GitHub's alerts and GitLab's reports. A level `error` of SARIF counts as high,
#   `warning` as medium, and `note` as low. Results that the source suppresses count.
# custom:
#   severity: high
#   remediation: >-
#     Fix the finding, or close the alert with its reason.
#   controls:
#     osps: [OSPS-VM-06.02]
#     ssdf: [PW.7.2, PW.8.2]
#     nist_800_53: [SA-11]
#   parameters:
#     - name: code_severity
#       description: The least severity that fails.
#       default: high
#   input: [sarif, github-alerts, gitlab-report, release]
#   functions: [evidence, download_artifact]
package compliance.code_scanning

import data.lib.parameters
import data.lib.scans
import data.lib.vulnerabilities

result := scans.code_verdict(deny)

code_severity := parameters.get("code_severity", "high")

deny contains {"message": message, "id": finding.rule, "severity": finding.severity} if {
	some finding in scans.code
	vulnerabilities.at_least(finding.severity, code_severity)
	message := sprintf("%s: %s at %s: %s", [finding.tool, finding.rule, finding.place, finding.message])
}
