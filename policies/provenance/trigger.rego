# METADATA
# title: The build was triggered by a trusted event
# description: >-
#   A build of a pull request runs code that nobody has reviewed.
# custom:
#   severity: high
#   remediation: >-
#     Release from a build that a push, a tag or a person triggers.
#   controls:
#     osps: [OSPS-BR-01.03]
#     ssdf: [PS.1.1]
#     nist_800_53: [CM-3, SR-4]
#   parameters:
#     - name: denied_triggers
#       description: Events whose builds fail.
#       default: [pull_request, pull_request_target, merge_request_event]
#   input: [slsa-provenance, verification-summary, attestation, image, release]
#   functions: [evidence, download_artifact]
package provenance.trigger

import data.lib.parameters
import data.lib.provenance

result := provenance.verdict(deny)

denied_triggers := parameters.get("denied_triggers", ["pull_request", "pull_request_target", "merge_request_event"])

deny contains {"message": message, "trigger": statement.trigger} if {
	some statement in provenance.all
	statement.trigger in denied_triggers
	message := sprintf("%s is of a build that the event `%s` triggered", [statement.label, statement.trigger])
}
