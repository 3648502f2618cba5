package test_reports_test

import data.test_reports

release := {"project": "shop", "version": "v1", "project_version_id": "1"}

evidence := {"results": [{
	"kind": "JUNIT_XML",
	"name": "unit",
	"digest": "sha256:1",
	"project_name": "shop",
	"project_version_id": "1",
}]}

denied(content) := messages if {
	messages := test_reports.deny with input as release
		with platform.evidence as evidence
		with platform.download_artifact as content
}

test_pass if denied("<testsuite><testcase name='a'/><system-err>failure</system-err></testsuite>") == set()

test_failures_and_errors_in_any_form if {
	every element in ["<failure>no</failure>", "<failure/>", "<error\nmessage='x'/>", "<j:failure >", "<my.ns:error/>"] {
		count(denied(sprintf("<testsuite><testcase>%s</testcase></testsuite>", [element]))) == 1
	}
}

test_no_report if {
	every content in ["", "[]", "<testsuite tests='0'/>", "PHRlc3RjYXNlLz4="] {
		denied(content) == {"`unit` reports no test"}
	}
}
