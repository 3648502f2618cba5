package provenance.base_image_test

import data.lib.fixtures_test as fixtures
import data.provenance.base_image

test_passes if {
	every document in fixtures.provenances {
		base_image.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(base_image.result) == {"the base image `pkg:docker/debian@12` in the document isn't trusted"} with input as fixtures.github_provenance
		with data.parameters as {"base_images": ["alpine@*"]}
	every uri in ["pkg:oci/debian@sha256:1", "docker-image://docker.io/library/debian:12"] {
		count(base_image.result.violations) == 1 with input as fixtures.with_value(fixtures.github_provenance, "predicate/buildDefinition/resolvedDependencies/1/uri", uri)
			with data.parameters as {"base_images": ["alpine@*"]}
	}
}

test_trusted if {
	base_image.result.violations == set() with input as fixtures.github_provenance with data.parameters as {"base_images": ["debian@*"]}
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		base_image.result.skipped with input as document
		base_image.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in base_image.result.violations with input as fixtures.with_unreadable_provenance
}
