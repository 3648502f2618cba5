# METADATA
# title: Tests ran, and none failed
# description: >-
#   A release without tests, or with failing ones, isn't ready. Reads JUnit's XML. In the
#   service's text of it, elements are counted, so that the rule may count too many.
# custom:
#   severity: high
#   remediation: >-
#     Fix the failing tests, and make sure that the report is of the whole run.
#   controls:
#     osps: [OSPS-QA-06.01]
#     ssdf: [PW.8.2]
#     nist_800_53: [SA-11]
#   input: [junit, release]
#   functions: [evidence, download_artifact]
package compliance.tests

import data.lib.tests

result := tests.verdict(deny)

deny contains {"message": message} if {
	some report in tests.reports
	report.tests == 0
	message := sprintf("%s has no tests", [report.label])
}

deny contains {"message": message} if {
	some report in tests.reports
	report.failed > 0
	message := sprintf("%s has failed tests: %d", [report.label, report.failed])
}
