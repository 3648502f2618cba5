# METADATA
# title: Tests cover enough lines
# description: >-
#   Reads the share of covered lines from Cobertura's and JaCoCo's XML.
# custom:
#   severity: low
#   remediation: >-
#     Add tests for the code that none covers.
#   controls:
#     osps: [OSPS-QA-06.03]
#     ssdf: [PW.8.2]
#     nist_800_53: [SA-11]
#   parameters:
#     - name: min_coverage
#       description: The least share of covered lines, in percent.
#       default: 70
#   input: [cobertura, jacoco, release]
#   functions: [evidence, download_artifact]
package compliance.coverage

import data.lib.parameters
import data.lib.tests

result := tests.coverage_verdict(deny)

min_coverage := parameters.get("min_coverage", 70)

deny contains {"message": message} if {
	some report in tests.coverage
	report.percent < 0
	message := sprintf("%s doesn't say how many lines are covered", [report.label])
}

deny contains {"message": message} if {
	some report in tests.coverage
	report.percent >= 0
	report.percent < min_coverage
	message := sprintf("%s covers %v %% of the lines: expected at least %v %%", [report.label, report.percent, min_coverage])
}
