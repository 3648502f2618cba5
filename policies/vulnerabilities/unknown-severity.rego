# METADATA
# title: Every vulnerability has a severity
# description: >-
#   A vulnerability that nobody rated is judged by no threshold.
# custom:
#   severity: medium
#   remediation: >-
#     Rate the vulnerability, and record an exception for it if it isn't severe.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1, RV.2.2]
#     cra: ["Annex I, Part I, 2(a)", "Annex I, Part II, 2"]
#     nist_800_53: [RA-5, SI-2]
#   parameters:
#     - name: vulnerability_exceptions
#       description: Vulnerabilities that don't count, as `ID` or `ID@PACKAGE`.
#       default: []
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.unknown_severity

import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

deny contains vulnerabilities.item(vulnerability, message) if {
	some vulnerability in vulnerabilities.relevant
	vulnerability.severity == "unknown"
	message := sprintf("%s has no severity", [vulnerabilities.title(vulnerability)])
}
