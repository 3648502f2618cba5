# Evidence of a release in the service, with the checks that each rule about it needs.
package lib.evidence

import data.lib.documents

# The result of a rule about a release's evidence.
verdict(violations) := {"skipped": true, "skip_reason": "the input is no release: `project`, `version` and `project_version_id`", "violations": violations} if {
	documents.shape != "release"
} else := {"skipped": false, "violations": violations}

# The evidence of the release: the latest of each kind and name.
latest := documents.evidence(true) if {
	documents.shape == "release"
} else := []

kinds := {row.kind | some row in latest}

# When the service received some evidence. Rows of evidence have no time.
created(digest, kind) := platform.discover(digest, kind).createdAt

# The evaluations of the release's requirements.
evaluations := platform.project_compliance({"project_version_id": input.project_version_id}).evaluations if {
	documents.shape == "release"
} else := []
