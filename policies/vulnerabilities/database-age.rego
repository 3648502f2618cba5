# METADATA
# title: The scanner's database was recent
# description: >-
#   A scan with an old database misses what was published since. Grype's reports have the time.
# custom:
#   severity: medium
#   remediation: >-
#     Update the scanner's database before the scan: `grype db update`.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1]
#     cra: ["Annex I, Part II, 3"]
#     nist_800_53: [RA-5]
#   parameters:
#     - name: max_database_age_days
#       description: The greatest age of the scanner's database, in days.
#       default: 5
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact]
package vulnerabilities.database_age

import data.lib.parameters
import data.lib.time
import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

max_age := parameters.get("max_database_age_days", 5)

deny contains {"message": message} if {
	some report in vulnerabilities.reports
	report.database != ""
	not time.within(report.database, max_age)
	message := sprintf("the database of the scan in %s is from %s: expected at most %v days ago", [report.label, report.database, max_age])
}
