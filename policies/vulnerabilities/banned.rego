# METADATA
# title: No vulnerability is banned
# description: >-
#   A list of vulnerabilities that fail whatever their severity, and whatever exceptions there
#   are. Nothing is banned by default.
# custom:
#   severity: critical
#   remediation: >-
#     Update the package, or remove it.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1, RV.2.2]
#     cra: ["Annex I, Part I, 2(a)", "Annex I, Part II, 2"]
#     nist_800_53: [RA-5, SI-2]
#   parameters:
#     - name: banned_vulnerabilities
#       description: Identifiers of vulnerabilities that always fail.
#       default: []
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.banned

import data.lib.parameters
import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

banned_vulnerabilities := {id | some id in parameters.get("banned_vulnerabilities", [])}

deny contains vulnerabilities.item(vulnerability, message) if {
	some vulnerability in vulnerabilities.all
	count((vulnerability.names | {vulnerability.id}) & banned_vulnerabilities) > 0
	message := sprintf("%s is banned", [vulnerabilities.title(vulnerability)])
}
