# METADATA
# title: Every verification summary passed
# description: >-
#   A verification summary says that a verifier checked the artifact and its provenance, and which
#   level of SLSA it found.
# custom:
#   severity: high
#   remediation: >-
#     Look into the verifier's report, and release only what it passed.
#   controls:
#     slsa: ["Build L2"]
#     ssdf: [PS.2.1]
#     nist_800_53: [SR-4]
#   parameters:
#     - name: min_build_level
#       description: The least level of the build track.
#       default: 2
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.summary

import data.lib.parameters
import data.lib.provenance

result := provenance.summary_verdict(deny)

min_level := parameters.get("min_build_level", 2)

deny contains {"message": message} if {
	some summary in provenance.summaries
	not summary.passed
	message := sprintf("%s: the verification failed", [summary.label])
}

deny contains {"message": message} if {
	some summary in provenance.summaries
	summary.passed
	level(summary) < min_level
	message := sprintf("%s has the build level %d: expected at least %v", [summary.label, level(summary), min_level])
}

level(summary) := max({0} | {to_number(digits) |
	some found in summary.levels
	some digits in regex.find_n(`[0-9]$`, concat("", regex.find_n(`^SLSA(_BUILD)?_LEVEL_[0-9]$`, found, 1)), 1)
})
