# METADATA
# title: Few tests are skipped
# description: >-
#   A skipped test checks nothing. By default, none may be skipped.
# custom:
#   severity: low
#   remediation: >-
#     Run the skipped tests, or remove them.
#   controls:
#     osps: [OSPS-QA-06.01]
#     ssdf: [PW.8.2]
#     nist_800_53: [SA-11]
#   parameters:
#     - name: max_skipped_tests
#       description: How many tests of a report may be skipped.
#       default: 0
#   input: [junit, release]
#   functions: [evidence, download_artifact]
package compliance.skipped_tests

import data.lib.parameters
import data.lib.tests

result := tests.verdict(deny)

max_skipped := parameters.get("max_skipped_tests", 0)

deny contains {"message": message} if {
	some report in tests.reports
	report.skipped > max_skipped
	message := sprintf("%s has skipped tests: %d, expected at most %v", [report.label, report.skipped, max_skipped])
}
