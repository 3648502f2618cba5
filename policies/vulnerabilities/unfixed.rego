# METADATA
# title: No critical vulnerability without a fix
# description: >-
#   A vulnerability of this severity fails even though no fixed version exists yet.
# custom:
#   severity: high
#   remediation: >-
#     Remove the package, mitigate the vulnerability and record an exception with its reason, or
#     wait for the fix.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1, RV.2.2]
#     cra: ["Annex I, Part I, 2(a)", "Annex I, Part II, 2"]
#     nist_800_53: [RA-5, SI-2]
#   parameters:
#     - name: unfixed_severity
#       description: The least severity that fails.
#       default: critical
#     - name: vulnerability_exceptions
#       description: Vulnerabilities that don't count, as `ID` or `ID@PACKAGE`.
#       default: []
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.unfixed

import data.lib.parameters
import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

unfixed_severity := parameters.get("unfixed_severity", "critical")

deny contains vulnerabilities.item(vulnerability, message) if {
	some vulnerability in vulnerabilities.relevant
	vulnerabilities.at_least(vulnerability.severity, unfixed_severity)
	count(vulnerability.fixed) == 0
	message := sprintf("%s has no fix yet", [vulnerabilities.title(vulnerability)])
}
