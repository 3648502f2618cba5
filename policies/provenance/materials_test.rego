package provenance.materials_test

import data.lib.fixtures_test as fixtures
import data.provenance.materials

test_passes if {
	every document in fixtures.provenances {
		materials.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every digest in [{}] {
		fixtures.messages(materials.result) == {"the material `pkg:docker/debian@12` in the document has no digest"} with input as fixtures.with_value(fixtures.github_provenance, "predicate/buildDefinition/resolvedDependencies/1/digest", digest)
	}
	fixtures.messages(materials.result) == {"the material `pkg:docker/debian@12` in the document has no digest"} with input as fixtures.without(fixtures.github_provenance, "predicate/buildDefinition/resolvedDependencies/1/digest")
	count(materials.result.violations) == 1 with input as fixtures.without(fixtures.generator_provenance, "predicate/materials/0/digest")
}

test_skips_other_documents if {
	every document in fixtures.not_provenance {
		materials.result.skipped with input as document
		materials.result.violations == set() with input as document
	}
}

test_unreadable_statement_next_to_a_readable_one if {
	fixtures.unreadable_provenance in materials.result.violations with input as fixtures.with_unreadable_provenance
}
