package sbom_licences_test

import data.sbom_licences

release := {"project": "shop", "version": "v1", "project_version_id": "1"}

evidence := {"results": [{
	"kind": "SBOM_CYCLONEDX_JSON",
	"name": "sbom",
	"digest": "sha256:1",
	"project_name": "shop",
	"project_version_id": "1",
}]}

denied(content) := messages if {
	denials := sbom_licences.deny with input as release
		with platform.evidence as evidence
		with platform.download_artifact as content
	messages := {denial.message | some denial in denials}
}

cyclonedx(components) := json.marshal({"bomFormat": "CycloneDX", "components": components})

spdx(packages) := json.marshal({"spdxVersion": "SPDX-2.3", "packages": packages})

unreadable := {"SBOM `sbom` is neither CycloneDX nor SPDX with a list of components"}

test_expressions if {
	every expression in [
		"MIT",
		"MIT OR GPL-3.0-only",
		"GPL-3.0-only AND MIT OR ISC",
		"Apache-2.0 AND ISC",
		"(MIT OR ISC) AND Apache-2.0",
	] {
		sbom_licences.acceptable(expression)
	}
	every expression in [
		"",
		"()",
		"(AND)",
		"mit",
		"MIT AND GPL-3.0-only",
		"MIT or GPL-3.0-only",
		"MIT\nOR GPL-3.0-only",
		"(MIT OR GPL-3.0-only) AND GPL-3.0-only",
		"MIT WITH unheard-of-exception",
		"LicenseRef-MIT",
		"NOASSERTION",
	] {
		not sbom_licences.acceptable(expression)
	}
}

test_not_an_sbom if {
	denied("") == unreadable
	denied("UEsDBBQAAAAI") == unreadable
	denied("{}") == unreadable
	denied("[]") == unreadable
	denied("null") == unreadable
	denied(`{"bomFormat": "CycloneDX"}`) == unreadable
	denied(cyclonedx([])) == unreadable
	denied(cyclonedx(null)) == unreadable
	denied(spdx([])) == unreadable
	denied(json.marshal({"spdxVersion": "SPDX-3.0", "packages": [{"licenseConcluded": "MIT"}]})) == unreadable
}

test_nested_components_count if {
	content := cyclonedx([{
		"name": "outer",
		"version": "1",
		"licenses": [{"license": {"id": "MIT"}}],
		"components": [{"name": "inner", "version": "2", "licenses": [{"license": {"id": "AGPL-3.0-only"}}]}],
	}])
	denied(content) == {"`inner@2` in SBOM `sbom` has the licence `AGPL-3.0-only`, which is not approved"}
}

test_every_licence_of_a_component_counts if {
	licences := [{"license": {"id": "MIT"}}, {"license": {"name": "Shareware"}}, {"url": "https://licence.example"}]
	content := cyclonedx([{"name": "a", "version": "1", "licenses": licences}])
	denied(content) == {
		"`a@1` in SBOM `sbom` has the licence `Shareware`, which is not approved",
		"`a@1` in SBOM `sbom` has the licence `(unreadable)`, which is not approved",
	}
}

test_spdx_falls_back_to_what_is_declared if {
	denied(spdx([{"name": "a", "licenseConcluded": "NOASSERTION", "licenseDeclared": "MIT"}])) == set()
	denied(spdx([{"name": "a", "licenseConcluded": "GPL-2.0-only", "licenseDeclared": "MIT"}])) != set()
	denied(spdx([{"name": "a", "licenseConcluded": "NONE"}])) == {"`a@?` in SBOM `sbom` has no licence"}
}
