package sbom_test

component := {"name": "a", "version": "1.0.0", "licenses": [{"expression": "MIT"}], "hashes": [{"alg": "SHA-256", "content": "0a"}]}

test_complete_component_passes if data.sbom.deny == set() with input as {"components": [component]}

test_missing_license_is_denied if {
	data.sbom.deny == {"a 1.0.0 has no license"} with input as {"components": [object.remove(component, ["licenses"])]}
}

test_missing_checksum_is_denied if {
	data.sbom.deny == {"a 1.0.0 has no checksum"} with input as {"components": [object.remove(component, ["hashes"])]}
}

test_own_crate_needs_no_checksum if {
	own := object.union(object.remove(component, ["hashes"]), {"name": "rego-platform-gate"})
	data.sbom.deny == set() with input as {"components": [own]}
}
