package sbom.author_test

import data.lib.fixtures_test as fixtures
import data.sbom.author

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		author.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	fixtures.messages(author.result) == {"the document names neither an author nor a tool"} with input as fixtures.without(fixtures.syft, "metadata/tools")
}

test_fails_with_spdx if {
	fixtures.messages(author.result) == {"the document names neither an author nor a tool"} with input as fixtures.with_value(fixtures.syft_spdx, "creationInfo/creators", ["Tool:", "Acme"])
}

test_fails_with_spdx_3 if {
	fixtures.messages(author.result) == {"the document names neither an author nor a tool"} with input as fixtures.with_value(fixtures.with_value(fixtures.spdx3, "@graph/0/createdBy", []), "@graph/0/createdUsing", [])
}

test_each_author_counts if {
	anonymous := fixtures.without(fixtures.syft, "metadata/tools")
	every member, found in {
		"tools": [{"vendor": "anchore", "name": "syft", "version": "0.80.0"}],
		"tools ": {"services": [{"name": "syft"}]},
		"authors": [{"name": "Dana"}],
		"supplier": {"name": "Acme"},
		"manufacture": {"name": "Acme"},
		"manufacturer": {"name": "Acme"},
	} {
		author.result.violations == set() with input as fixtures.with_value(anonymous, concat("/", ["metadata", trim_space(member)]), found)
	}
	every creator in ["Organization: Acme", "Person: Dana", "Tool: syft"] {
		author.result.violations == set() with input as fixtures.with_value(fixtures.syft_spdx, "creationInfo/creators", [creator])
	}
	author.result.violations == set() with input as fixtures.with_value(fixtures.spdx3, "@graph/0/createdBy", [])
	author.result.violations == set() with input as fixtures.with_value(fixtures.spdx3, "@graph/0/createdUsing", [])
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		author.result.skipped with input as document
		author.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in author.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
