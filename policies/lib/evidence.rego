# Evidence of a release in the service, with the checks that each rule about it needs.
package lib.evidence

import data.lib.documents

# The result of a rule about a release's evidence.
verdict(violations) := {"skipped": true, "skip_reason": "the input is no release: `project`, `version` and `project_version_id`", "violations": violations} if {
	documents.shape != "release"
} else := {"skipped": false, "violations": violations}

# The evidence of the release: the latest of each kind and name.
latest := documents.evidence(true) if documents.shape == "release"

# All evidence of the release.
all := documents.evidence(false) if documents.shape == "release"

kinds := {row.kind | some row in latest}

# Kinds without any evidence.
missing(required) := {kind | some kind in required; not kind in kinds}

# When the service received some evidence. Rows of evidence have no time.
created(digest) := platform.discover(digest, "").createdAt

# The evaluations of the release's requirements.
evaluations := platform.project_compliance({"project_version_id": input.project_version_id}).evaluations if {
	documents.shape == "release"
}
