package image_baseline.add_remote_test

import data.image_baseline.add_remote
import data.lib.fixtures_test as fixtures

test_passes if {
	every document in [fixtures.dockerfile] {
		add_remote.result == {"skipped": false, "violations": set()} with input as document
	}
}

test_fails if {
	every address in ["https://x.example/a.tar.gz", "http://x.example/a", "ftp://x.example/a"] {
		fixtures.messages(add_remote.result) == {sprintf("`ADD %s` in the document has no checksum", [address])} with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, "add", ["b", address, "/a"])])
	}
}

test_other_sources if {
	every words in [["a.tar.gz", "/a"], ["a", "https://x.example"]] {
		add_remote.result.violations == set() with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, "add", words)])
	}
	add_remote.result.violations == set() with input as array.concat(fixtures.dockerfile, [fixtures.instruction(1, "copy", ["https://x.example/a", "/a"])])
	checked := object.union(fixtures.instruction(1, "add", ["https://x.example/a", "/a"]), {"Flags": ["--checksum=sha256:24454f83"]})
	add_remote.result.violations == set() with input as array.concat(fixtures.dockerfile, [checked])
	owned := object.union(checked, {"Flags": ["--chown=app"]})
	count(add_remote.result.violations) == 1 with input as array.concat(fixtures.dockerfile, [owned])
}

test_skips_other_documents if {
	every document in fixtures.not_configurations {
		add_remote.result.skipped with input as document
		add_remote.result.violations == set() with input as document
	}
}

test_unreadable_configuration_next_to_a_readable_one if {
	fixtures.unreadable_configuration in add_remote.result.violations with input as fixtures.with_unreadable_configuration
}
