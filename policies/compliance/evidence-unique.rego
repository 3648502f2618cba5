# METADATA
# title: Evidence is unambiguous
# description: >-
#   Of two pieces of evidence with one kind and name, nobody knows which one describes the
#   release.
# custom:
#   severity: medium
#   remediation: >-
#     Give the evidence of each workflow its own name.
#   controls:
#     ssdf: [PS.3.1]
#     nist_800_53: [AU-10]
#   input: [release]
#   functions: [evidence]
package compliance.evidence_unique

import data.lib.evidence

result := evidence.verdict(deny)

digests[[row.kind, row.name]] contains row.digest if some row in evidence.latest

deny contains {"message": message} if {
	some [kind, name], found in digests
	count(found) > 1
	message := sprintf("%d pieces of evidence of the kind `%s` have the name `%s`", [count(found), kind, name])
}
