# METADATA
# title: Every exception is needed
# description: >-
#   An exception that matches no vulnerability is forgotten, and would hide the vulnerability if
#   it came back.
# custom:
#   severity: low
#   remediation: >-
#     Remove the exception from `vulnerability_exceptions`.
#   controls:
#     ssdf: [RV.2.2]
#     nist_800_53: [RA-5]
#   parameters:
#     - name: vulnerability_exceptions
#       description: Vulnerabilities that don't count, as `ID` or `ID@PACKAGE`.
#       default: []
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.exceptions

import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

deny contains {"message": message, "id": exception} if {
	some exception in vulnerabilities.exceptions
	not is_used(exception)
	message := sprintf("the exception `%s` matches no vulnerability", [exception])
}

is_used(exception) if {
	some vulnerability in vulnerabilities.all
	vulnerabilities.matches(vulnerability, exception)
}
