package lib.tests_test

import data.lib.fixtures_test as fixtures
import data.lib.tests

test_reports if {
	tests.reports == [{"label": "the document", "tests": 3, "failed": 0, "skipped": 1}] with input as fixtures.junit
	tests.counted(fixtures.junit_text) == {"tests": 2, "failed": 0, "skipped": 1}
	tests.counted(`<testcase/><testcase a="b"/><x:testcase><failure/></x:testcase><testcases/><error>x</error><errors/>`) == {"tests": 3, "failed": 2, "skipped": 0}
	tests.counted({"testsuite": {"testcase": [{"failure": ""}, {"error": [1]}, {"failure": "", "error": ""}, {"skipped": ""}, "x"]}}) == {"tests": 5, "failed": 3, "skipped": 1}
	tests.counted({"testsuite": {}}) == {"tests": 0, "failed": 0, "skipped": 0}
	tests.counted({}) == {"tests": 0, "failed": 0, "skipped": 0}
}

test_candidates if {
	every name in ["testsuite", "testsuites"] {
		count(tests.reports) == 1 with input as {name: ""}
	}
	tests.reports == [] with input as {"suite": {}}
}

test_percent if {
	every document in [fixtures.cobertura, fixtures.cobertura_text, fixtures.jacoco, fixtures.jacoco_text] {
		tests.percent(document) == 90
	}
	tests.percent({"coverage": {"-line-rate": 0.5}}) == 50
	tests.percent({"coverage": {"-line-rate": "1"}}) == 100
	every document in [
		"",
		`<coverage branch-rate="0.5"/>`,
		`<coverage line-rate="."/>`,
		{},
		{"coverage": {}},
		{"coverage": {"-line-rate": "-1"}},
		{"coverage": {"-line-rate": ".5"}},
		{"report": {"counter": [{"-type": "BRANCH", "-missed": "1", "-covered": "1"}]}},
		{"report": {"counter": [{"-type": "LINE", "-missed": "x", "-covered": "1"}]}},
		{"report": {"counter": [{"-type": "LINE", "-missed": "1", "-covered": "x"}]}},
		{"report": {"counter": [{"-type": "LINE"}]}},
	] {
		tests.percent(document) == -1
	}
	tests.share(0, 0) == 0
	tests.share(1, 3) == 75
}

test_coverage_candidates if {
	every document in [fixtures.cobertura, fixtures.jacoco] {
		tests.coverage == [{"label": "the document", "percent": 90}] with input as document
	}
	tests.coverage == [] with input as {"coverage": {"-branch-rate": "1"}}
	tests.coverage == [] with input as {"report": {"-name": "a"}}
}

test_verdicts if {
	tests.verdict({1}) == {"skipped": true, "skip_reason": "the input has no report of tests", "violations": {1}} with input as {}
	tests.coverage_verdict({1}) == {"skipped": true, "skip_reason": "the input has no report of coverage", "violations": {1}} with input as {}
	tests.verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.junit
	tests.coverage_verdict({1}) == {"skipped": false, "violations": {1}} with input as fixtures.jacoco
}

released(kind) := found if {
	found := {"tests": tests.reports, "coverage": tests.coverage} with input as fixtures.release
		with platform.evidence as {"results": [fixtures.row(kind, "a", "sha256:1")]}
		with platform.download_artifact as ""
}

test_evidence if {
	released("JUNIT_XML").tests == [{"label": "`a`", "tests": 0, "failed": 0, "skipped": 0}]
	every kind in ["COBERTURA_XML", "JACOCO_XML"] {
		released(kind).coverage == [{"label": "`a`", "percent": -1}]
	}
}
