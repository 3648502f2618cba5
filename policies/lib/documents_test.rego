package lib.documents_test

import data.lib.documents
import data.lib.fixtures_test as fixtures

test_shapes if {
	every expected in [
		{"input": {}, "shape": "document"},
		{"input": [], "shape": "document"},
		{"input": null, "shape": "document"},
		{"input": "text", "shape": "document"},
		{"input": fixtures.image([]), "shape": "image"},
		{"input": {"image": "sha256:1"}, "shape": "document"},
		{"input": {"attestations": []}, "shape": "document"},
		{"input": {"image": "sha256:1", "attestations": {}}, "shape": "document"},
		{"input": {"image": 5, "attestations": []}, "shape": "document"},
		{"input": fixtures.release, "shape": "release"},
		{"input": object.remove(fixtures.release, ["project"]), "shape": "document"},
		{"input": object.remove(fixtures.release, ["version"]), "shape": "document"},
		{"input": object.remove(fixtures.release, ["project_version_id"]), "shape": "document"},
		{"input": fixtures.files({"a.json": 1}), "shape": "files"},
		{"input": [{"path": "a.json"}], "shape": "document"},
		{"input": [{"contents": 1}], "shape": "document"},
		{"input": [{"path": "a.json", "contents": 1}, {}], "shape": "document"},
	] {
		documents.shape == expected.shape with input as expected.input
	}
}

# Every shape supplies the same document.
test_candidates if {
	every document in [{"a": 1}, [1], "text", null] {
		documents.candidates("sbom") == [{"label": "the document", "claim": "", "content": document, "time": "", "digest": "", "kind": ""}] with input as document
		documents.candidates("sbom")[0].content == document with input as fixtures.files({"a.json": document})
	}
	documents.candidates("sbom")[0].label == "`a.json`" with input as fixtures.files({"a.json": 1})
	documents.candidates("sbom") == [{"label": "SBOM 1 of the image", "claim": "sbom", "content": {"a": 1}, "time": "", "digest": "", "kind": ""}] with input as fixtures.image([{"a": 1}])
}

test_attestations if {
	every type in ["https://cyclonedx.org/bom", "https://spdx.dev/Document", "https://spdx.dev/Document/v2.3"] {
		found := documents.candidates("sbom") with input as fixtures.attested(type, {"a": 1})
		found == [{"label": sprintf("the attestation `%s`", [type]), "claim": "sbom", "content": {"a": 1}, "time": "", "digest": "", "kind": ""}]
	}
	scan := {"scanner": {"result": {"a": 1}}, "metadata": {"scanFinishedOn": "2026-03-01T12:00:00Z"}}
	found := documents.candidates("report") with input as fixtures.attested("https://cosign.sigstore.dev/attestation/vuln/v1", scan)
	found[0].content == {"a": 1}
	found[0].claim == "report"
	found[0].time == "2026-03-01T12:00:00Z"
	resultless := documents.candidates("report") with input as fixtures.attested("https://cosign.sigstore.dev/attestation/vuln/v1", {"scanner": {}})
	resultless[0].content.predicateType == "https://cosign.sigstore.dev/attestation/vuln/v1"
	every type in ["https://slsa.dev/provenance/v1", "https://slsa.dev/verification_summary/v1", "chainloop.dev/attestation/v0.2"] {
		statements := documents.candidates("provenance") with input as fixtures.attested(type, {"a": 1})
		statements[0].claim == "provenance"
		statements[0].content.predicate == {"a": 1}
	}
	every type in ["https://example.com/scan/v1", "https://slsa.dev/other/v1", ""] {
		documents.format(type) == ""
	}
}

test_statements_in_files if {
	statement := fixtures.statement("https://cyclonedx.org/bom", {"a": 1})
	every document in [statement, fixtures.files({"a.json": statement})] {
		found := documents.candidates("sbom") with input as document
		found[0].claim == "sbom"
		found[0].content == {"a": 1}
	}
}

test_exported_sbom if {
	documents.opened({"sbom": {"a": 1}}) == [{"a": 1}]
	documents.opened({"sbom": {"a": 1}, "b": 2}) == [{"sbom": {"a": 1}, "b": 2}]
}

# What the service is asked for, and what counts of its rows.
asked(filters) := {"results": [fixtures.row("SBOM_CYCLONEDX_JSON", json.marshal(filters), "sha256:1")]}

test_filters if {
	found := documents.candidates("sbom") with input as fixtures.release
		with platform.evidence as asked
		with platform.download_artifact as `{"a": 1}`
	found == [{
		"label": "`{\"hide_attestation\":true,\"latest\":false,\"project_name\":\"shop\",\"project_version_name\":\"v1\"}`",
		"claim": "sbom",
		"content": {"a": 1},
		"time": "",
		"digest": "sha256:1",
		"kind": "SBOM_CYCLONEDX_JSON",
	}]
	latest := documents.evidence(true) with input as fixtures.release with platform.evidence as asked
	json.unmarshal(latest[0].name).latest == true
}

claims(kind, claim) := found if {
	found := [candidate.claim | some candidate in documents.candidates(claim)] with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row(kind, "a", "sha256:1")]}
		with platform.download_artifact as "{}"
}

test_kinds if {
	every claim, kinds in {
		"sbom": ["SBOM_CYCLONEDX_JSON", "SBOM_SPDX_JSON"],
		"report": ["GHAS_DEPENDENCY_SCAN"],
		"provenance": ["SLSA_PROVENANCE"],
		"scan": ["GHAS_CODE_SCAN"],
		"secrets": ["GHAS_SECRET_SCAN", "GITLEAKS_JSON", "TRUFFLEHOG_JSON"],
		"tests": ["JUNIT_XML"],
		"coverage": ["COBERTURA_XML", "JACOCO_XML"],
		"agent": ["CHAINLOOP_AI_AGENT_CONFIG", "CHAINLOOP_AI_CODING_SESSION"],
	} {
		every kind in kinds {
			claims(kind, claim) == [claim]
		}
	}
	every claim in ["report", "scan", "secrets"] {
		claims("SARIF", claim) == ["sarif"]
		claims("GITLAB_SECURITY_REPORT", claim) == ["gitlab_security_report"]
	}
	claims("SARIF", "sbom") == []
	claims("SARIF", "configuration") == []
}

test_other_versions if {
	every member in [{"project_name": "shop2"}, {"project_version_id": "other"}] {
		documents.evidence(true) == [] with input as fixtures.release
			with platform.evidence as {"results": [object.union(fixtures.row("SARIF", "a", "sha256:1"), member)]}
	}
}

test_decoded if {
	documents.decoded("text") == ["text"]
	documents.decoded("") == [""]
	documents.decoded("{}") == [{}]
	documents.decoded("{}\n") == [{}]
	documents.decoded("{\"a\": 1}\n\n[2]\n") == [[{"a": 1}, [2]]]
	documents.decoded("{}\ntext") == ["{}\ntext"]
	documents.decoded(json.marshal({"payload": base64.encode(`{"a": 1}`)})) == [{"a": 1}]
	documents.decoded(json.marshal({"dsseEnvelope": {"payload": base64.encode(`{"a": 1}`)}})) == [{"a": 1}]
	documents.decoded(`{"payload": "!"}`) == [{"payload": "!"}]
	documents.decoded(json.marshal({"payload": base64.encode("text")})) == [{"payload": base64.encode("text")}]
}
