package sbom.banned_packages_test

import data.lib.fixtures_test as fixtures
import data.sbom.banned_packages

test_passes if {
	every document in [fixtures.syft, fixtures.syft_spdx, fixtures.spdx3] {
		banned_packages.result == {"skipped": false, "violations": set()} with input as document
	}
}

banned(bans) := names if {
	names := {violation.package | some violation in banned_packages.result.violations} with input as fixtures.syft
		with data.parameters as {"banned_packages": bans}
}

test_fails if {
	every ban in ["Requests", "requests@2.32.3", "requests@2.*", "pkg:pypi/requests@2.32.3", "pkg:pypi/*", "*quest*"] {
		banned([ban]) == {"requests@2.32.3"}
	}
	banned(["requests", "libssl3"]) == {"requests@2.32.3", "libssl3@3.0.15"}
	every ban in ["request", "requests@2.32", "pkg:pypi/requests", ""] {
		banned([ban]) == set()
	}
}

test_message if {
	fixtures.messages(banned_packages.result) == {"`requests@2.32.3` in the document is banned by `Requests`"} with input as fixtures.syft
		with data.parameters as {"banned_packages": ["Requests"]}
}

test_groups if {
	component := {"bom-ref": "a", "type": "library", "group": "org.apache.logging.log4j", "name": "log4j-core", "version": "2.14.1"}
	count(banned_packages.result.violations) == 1 with input as fixtures.with_value(fixtures.syft, "components/0", component)
		with data.parameters as {"banned_packages": ["org.apache.logging.log4j/log4j-core@2.14.1"]}
}

test_skips_other_documents if {
	every document in fixtures.not_sboms {
		banned_packages.result.skipped with input as document
		banned_packages.result.violations == set() with input as document
	}
}

test_unreadable_sbom_next_to_a_readable_one if {
	fixtures.unreadable in banned_packages.result.violations with input as fixtures.image([fixtures.syft, {"bomFormat": "CycloneDX"}])
}
