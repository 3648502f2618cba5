# METADATA
# title: The scan is recent
# description: >-
#   An old scan doesn't know what was found since. The time is the report's own, or its
#   attestation's, or else the time at which the service received it. A time in the future, by
#   more than a day, fails as well.
# custom:
#   severity: medium
#   remediation: >-
#     Scan again before the release. If the scanner writes no time, attest the report or send it
#     to the service.
#   controls:
#     osps: [OSPS-VM-05.02]
#     ssdf: [PW.4.4, RV.1.1]
#     cra: ["Annex I, Part II, 3"]
#     nist_800_53: [RA-5]
#   parameters:
#     - name: max_scan_age_days
#       description: The greatest age of a scan, in days.
#       default: 7
#   input: [trivy, grype, osv-scanner, snyk, github-alerts, gitlab-report, sarif, image, release]
#   functions: [evidence, download_artifact, discover]
package vulnerabilities.scan_age

import data.lib.evidence
import data.lib.parameters
import data.lib.time
import data.lib.vulnerabilities

result := vulnerabilities.verdict(deny)

max_age := parameters.get("max_scan_age_days", 7)

deny contains {"message": message} if {
	some report in vulnerabilities.reports
	not time.valid(scanned(report))
	message := sprintf("%s doesn't say when the scan ran", [report.label])
}

deny contains {"message": message} if {
	some report in vulnerabilities.reports
	time.valid(scanned(report))
	not time.within(scanned(report), max_age)
	message := sprintf("the scan in %s is from %s: expected at most %v days ago", [report.label, scanned(report), max_age])
}

scanned(report) := report.time if {
	report.time != ""
} else := evidence.created(report.digest, report.kind) if {
	report.digest != ""
} else := ""
