# JUnit's reports of tests, and reports of coverage (Cobertura, JaCoCo): as text from the service, or
# as the gate's parser reads an XML file. Rego has no parser for XML; in text, elements are counted.
package lib.tests

import data.lib.documents
import data.lib.value

verdict(violations) := outcome(reports, "the input has no report of tests", violations)

coverage_verdict(violations) := outcome(coverage, "the input has no report of coverage", violations)

outcome(found, reason, violations) := {"skipped": true, "skip_reason": reason, "violations": violations} if {
	count(found) == 0
} else := {"skipped": false, "violations": violations}

# Each report has `label` and the numbers `tests`, `failed` and `skipped`.
reports := [object.union({"label": candidate.label}, counted(candidate.content)) |
	some candidate in documents.candidates("tests")
	is_report(candidate)
]

is_report(candidate) if candidate.claim == "tests"

is_report(candidate) if value.has(candidate.content, "testsuites")

is_report(candidate) if value.has(candidate.content, "testsuite")

counted(content) := {
	"tests": elements(content, "testcase"),
	"failed": elements(content, "failure") + elements(content, "error"),
	"skipped": elements(content, "skipped"),
} if {
	is_string(content)
} else := {
	"tests": count(cases),
	"failed": count([1 | some found in cases; failing(found)]),
	"skipped": count([1 | some found in cases; value.has(found, "skipped")]),
} if {
	cases := [found |
		walk(content, [path, child])
		path[count(path) - 1] == "testcase"
		some found in one_or_more(child)
	]
}

failing(found) if value.has(found, "failure")

failing(found) if value.has(found, "error")

one_or_more(child) := child if {
	is_array(child)
} else := [child]

elements(text, name) := count(regex.find_n(sprintf(`<([A-Za-z_][\w.-]*:)?%s[\s/>]`, [name]), text, -1))

# Each report has `label` and `percent` of the lines; -1 if it doesn't say.
coverage := [{"label": candidate.label, "percent": percent(candidate.content)} |
	some candidate in documents.candidates("coverage")
	is_coverage(candidate)
]

is_coverage(candidate) if candidate.claim == "coverage"

is_coverage(candidate) if value.has(value.members(candidate.content, "coverage"), "-line-rate")

is_coverage(candidate) if value.has(value.members(candidate.content, "report"), "counter")

percent(content) := to_number(rate) * 100 if {
	is_string(content)
	rate := regex.find_all_string_submatch_n(`<coverage[^>]*\sline-rate="([0-9.]+)"`, content, 1)[0][1]
	is_decimal(rate)
} else := share(to_number(last[1]), to_number(last[2])) if {
	is_string(content)
	counters := regex.find_all_string_submatch_n(`<counter type="LINE" missed="([0-9]+)" covered="([0-9]+)"`, content, -1)
	last := counters[count(counters) - 1]
} else := to_number(rate) * 100 if {
	rate := sprintf("%v", [content.coverage["-line-rate"]])
	is_decimal(rate)
} else := share(to_number(counter["-missed"]), to_number(counter["-covered"])) if {
	counter := [counter |
		some counter in value.objects(content, ["report", "counter"])
		counter["-type"] == "LINE"
		is_decimal(sprintf("%v", [counter["-missed"]]))
		is_decimal(sprintf("%v", [counter["-covered"]]))
	][0]
} else := -1

is_decimal(text) if regex.match(`^[0-9]+(\.[0-9]+)?$`, text)

share(missed, covered) := (100 * covered) / (missed + covered) if {
	missed + covered > 0
} else := 0
