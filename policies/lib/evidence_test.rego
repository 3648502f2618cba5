package lib.evidence_test

import data.lib.evidence
import data.lib.fixtures_test as fixtures

test_release if {
	rows := [fixtures.row("SARIF", "scan", "sha256:1"), fixtures.row("OPENVEX", "vex", "sha256:2")]
	evidence.latest == rows with input as fixtures.release with platform.evidence as {"results": rows}
	evidence.kinds == {"SARIF", "OPENVEX"} with input as fixtures.release with platform.evidence as {"results": rows}
	evidence.verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.release
	evidence.evaluations == [{"status": "pass"}] with input as fixtures.release
		with platform.project_compliance as evaluated
}

evaluated({"project_version_id": "9b2d"}) := {"evaluations": [{"status": "pass"}]}

discovered("sha256:1", "SARIF") := {"createdAt": "2026-03-01T12:00:00Z"}

test_created if {
	evidence.created("sha256:1", "SARIF") == "2026-03-01T12:00:00Z" with platform.discover as discovered
}

test_other_inputs if {
	every document in [{}, [], null, fixtures.image([])] {
		evidence.latest == [] with input as document
		evidence.evaluations == [] with input as document
		evidence.verdict({1}).skipped with input as document
		evidence.verdict({1}).violations == {1} with input as document
	}
}
