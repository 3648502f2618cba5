#!/bin/sh
# A policy author's first hour, from an empty folder to a gate, with common mistakes.
#
#   session.sh
#
# Nothing is needed but the command. Everything is written into a temporary folder, which is removed
# at the end. `expect STATUS TEXT COMMAND...` runs a command, shows it and its output, and requires
# that exit status and that text. The crate's tests run this script.
set -eu

image=sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

expect() {
	status=$1 text=$2
	shift 2
	printf '\n$ %s\n' "$*"
	found=0
	"$@" >said 2>&1 || found=$?
	cat said
	if [ "$found" -ne "$status" ]; then
		echo "expected status $status, and it was $found" >&2
		exit 1
	fi
	if [ -n "$text" ] && ! grep -qF -- "$text" said; then
		echo "expected to read: $text" >&2
		exit 1
	fi
}

echo '# 1. A policy with its tests, and a sample service. The output lists the next steps.'
expect 0 'next:' rego-platform new --examples --dir examples
expect 0 'next:' rego-platform new release --dir release
expect 0 'PASS: 5/5' rego-platform test release
expect 0 '0 errors and 0 warnings' rego-platform check release

echo '# 2. First mistake: the syntax of old tutorials. The new form is written out, and --fix writes it.'
cat >release/size.rego <<'REGO'
package size

deny[msg] {
	platform.evidnce(input.sbom)
	msg := "the SBOM can be read"
}
REGO
expect 1 'in Rego v1 write `deny contains msg if { ... }`' rego-platform check release
expect 0 'fixed 3 findings in 1 file' rego-platform check --fix release

echo '# 3. Second mistake: a misspelled function, which is an error at load.'
cat >release/size.rego <<'REGO'
package size

deny contains msg if {
	evidence := platform.evidnce(input.sbom)
	count(evidence.results) == 0
	msg := "the SBOM was never uploaded"
}
REGO
expect 1 'did you mean `platform.evidence`?' rego-platform check release
expect 0 'fixed 1 finding in 1 file' rego-platform check --fix release

echo '# 4. Third mistake: a rule that is only true, where a gate needs messages.'
cat >release/size.rego <<'REGO'
package size

deny if count(input.layers) > 20
REGO
expect 1 'write `deny contains msg if { ... }`' rego-platform check release
cat >release/size.rego <<'REGO'
package size

deny contains "too many layers" if count(input.layers) > 20
REGO
expect 0 '0 errors' rego-platform check release

echo '# 5. A test that fails shows the failed expression and the values of its operands.'
cat >release/size_test.rego <<'REGO'
package size_test

import data.size

test_many_layers if {
	denied := size.deny with input as {"layers": numbers.range(1, 20)}
	count(denied) == 1
}
REGO
expect 1 'count(denied): 0' rego-platform test release
cat >release/size_test.rego <<'REGO'
package size_test

import data.size

test_many_layers if {
	denied := size.deny with input as {"layers": numbers.range(1, 21)}
	count(denied) == 1
}
REGO
expect 0 'PASS: 6/6' rego-platform test release

echo '# 6. Why is it undefined? Each definition without a value, with the failed statement.'
echo "{\"image\": \"$image\", \"layers\": [1, 2]}" >image.json
expect 0 '--explain fails' \
	rego-platform eval -d release -i image.json 'data.size.deny["too many layers"]'
expect 0 'count(input.layers): 2' \
	rego-platform eval -d release -i image.json --explain fails data.size.deny
expect 0 "$image" sh -c \
	"echo 'platform.discover(input.image, \"\").digest' | rego-platform run release -i image.json --local examples/service"

echo '# 7. The formatting of `opa fmt`.'
expect 0 '' rego-platform fmt --check release

echo '# 8. The gate, over an emulator; in CI the same command without --local.'
expect 0 'passed' rego-platform gate -d release image.json --local examples/service --timeout 30s
echo '{"image": "sha256:0000000000000000000000000000000000000000000000000000000000000000"}' >unknown.json
expect 2 'not found' rego-platform gate -d release unknown.json --local examples/service
