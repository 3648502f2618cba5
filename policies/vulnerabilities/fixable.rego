# METADATA
# title: No severe vulnerability has a fix
# description: >-
#   A vulnerability of this severity, for which a fixed version exists, has to be fixed before a
#   release. The same vulnerability in several reports counts once.
# custom:
#   severity: high
#   remediation: >-
#     Update the package to a fixed version.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1, RV.2.2]
#     cra: ["Annex I, Part I, 2(a)", "Annex I, Part II, 2"]
#     nist_800_53: [RA-5, SI-2]
#   parameters:
#     - name: fixable_severity
#       description: The least severity that fails.
#       default: high
#     - name: vulnerability_exceptions
#       description: Vulnerabilities that don't count, as `ID` or `ID@PACKAGE`.
#       default: []
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.fixable

import data.lib.parameters
import data.lib.value
import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

fixable_severity := parameters.get("fixable_severity", "high")

deny contains vulnerabilities.item(vulnerability, message) if {
	some vulnerability in vulnerabilities.relevant
	vulnerabilities.at_least(vulnerability.severity, fixable_severity)
	count(vulnerability.fixed) > 0
	message := sprintf("%s is fixed in %s", [vulnerabilities.title(vulnerability), value.names(vulnerability.fixed)])
}
