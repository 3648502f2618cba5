package regoplatform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	regoplatform "github.com/OWNER/rego-platform/bindings/go"
	"github.com/open-policy-agent/opa/v1/rego"
)

const (
	// As a value of a document.
	undefined = "null"

	clean   = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"
	bundle  = "sha256:d73228f15f7afdba5ef976de956831f7d30c6bc8213e209787f7011239414978"
	missing = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

func prepare(t testing.TB, client *regoplatform.Client, query string, options ...func(*rego.Rego)) rego.PreparedEvalQuery {
	t.Helper()
	options = append(append(options, rego.Query(query)), client.Functions()...)
	prepared, err := rego.New(options...).PrepareForEval(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

// evaluate evaluates `data.p.deny` of a policy.
func evaluate(t *testing.T, address, policy string, options ...rego.EvalOption) (*regoplatform.Result, error) {
	t.Helper()
	client := regoplatform.New(address)
	prepared := prepare(t, client, "data.p.deny", rego.Module("p.rego", "package p\n\n"+policy))
	return client.Eval(context.Background(), prepared, options...)
}

func value(t *testing.T, result *regoplatform.Result, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(result.ResultSet) == 0 {
		return undefined
	}
	encoded, err := json.Marshal(result.ResultSet[0].Expressions[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func kind(t *testing.T, err error) string {
	t.Helper()
	var failed *regoplatform.Error
	if !errors.As(err, &failed) {
		t.Fatalf("expected an error of the service, found %v", err)
	}
	return failed.Kind
}

// post asks the server itself.
func post(t testing.TB, url string, input any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"input": input})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var decoded struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	if decoded.Result == nil {
		return undefined
	}
	return string(decoded.Result)
}

func TestPoliciesHaveTheServersResults(t *testing.T) {
	address := local(t)
	client := regoplatform.New(address)
	policies := filepath.Join(repository, "policies")
	inputs, err := filepath.Glob(filepath.Join(repository, "testdata/inputs/*/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	compared, calls := 0, 0
	for _, file := range inputs {
		name := filepath.Base(filepath.Dir(file))
		if _, err := os.Stat(filepath.Join(policies, name+".rego")); err != nil {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var input any
		if err := json.Unmarshal(text, &input); err != nil {
			t.Fatal(err)
		}
		prepared := prepare(t, client, "data."+name, rego.Load([]string{policies}, nil))
		result, err := client.Eval(context.Background(), prepared, rego.EvalInput(input))
		found, expected := value(t, result, err), post(t, address+"/v1/data/"+name, input)
		var a, b any
		if json.Unmarshal([]byte(found), &a) != nil || json.Unmarshal([]byte(expected), &b) != nil ||
			fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: expected %s, found %s", file, expected, found)
		}
		compared++
		calls += result.Ledger.Used()
	}
	if compared < 8 || calls < 50 {
		t.Fatalf("too little was compared: %d inputs, %d calls", compared, calls)
	}
}

func TestIndependentCallsTravelTogether(t *testing.T) {
	result, err := evaluate(t, local(t), fmt.Sprintf(`deny contains node.digest if {
	some reference in platform.discover(%q, "").references
	node := platform.discover(reference.digest, reference.kind)
	node.kind == "nothing"
}`, bundle))
	if found := value(t, result, err); found != "[]" {
		t.Fatal(found)
	}
	ledger := result.Ledger
	if len(ledger.Calls) < 100 || ledger.Rounds != 2 || ledger.Used() != len(ledger.Calls) {
		t.Fatal(ledger.String())
	}
}

func TestAChainOfCallsTakesFewPasses(t *testing.T) {
	folder, root := wide(t, 120)
	// `every` stops at its first unknown call.
	result, err := evaluate(t, serve(t, filepath.Join(repository, "policies"), folder), fmt.Sprintf(
		`deny contains "all" if {
	every reference in platform.discover(%q, "").references {
		platform.discover(reference.digest, "").kind == "ARTIFACT"
	}
}`, root))
	if found := value(t, result, err); found != `["all"]` {
		t.Fatal(found)
	}
	if ledger := result.Ledger; len(ledger.Calls) != 121 || ledger.Passes > 10 {
		t.Fatal(ledger.Passes, ledger.String())
	}
}

func TestAnErrorOfTheServiceEndsTheEvaluation(t *testing.T) {
	address := local(t)
	for _, policy := range []string{
		`deny contains "x" if platform.discover(%q, "")`,
		`deny contains "x" if not platform.discover(%q, "")`,
		`deny contains "x" if count([1 | platform.discover(%q, "")]) == 0`,
		"default deny := []\n\ndeny := [1] if platform.discover(%q, \"\")",
		`deny contains "x" if { platform.discover("` + clean + `", ""); not platform.discover(%q, "") }`,
	} {
		result, err := evaluate(t, address, fmt.Sprintf(policy, missing))
		if err == nil {
			t.Fatalf("%s: no error", policy)
		}
		if found := kind(t, err); found != "not found" || result.ResultSet != nil {
			t.Fatalf("%s: %v", policy, err)
		}
	}
	_, err := evaluate(t, "http://127.0.0.1:1", fmt.Sprintf(`deny contains "x" if not platform.discover(%q, "")`, clean))
	if found := kind(t, err); found != "unavailable" {
		t.Fatal(err)
	}
}

func TestAGuessHasNoEffect(t *testing.T) {
	address := local(t)
	result, err := evaluate(t, address, fmt.Sprintf(`known if platform.discover(%q, "")

deny contains "x" if {
	not known
	platform.discover(%q, "")
}`, clean, missing))
	if found := value(t, result, err); found != "[]" {
		t.Fatal(found)
	}
	ledger := result.Ledger
	if len(ledger.Calls) != 2 || !ledger.Calls[0].Used || ledger.Calls[1].Used || ledger.Calls[1].Error == nil {
		t.Fatal(ledger)
	}
	// A prompt costs money.
	result, err = evaluate(t, address, fmt.Sprintf(`known if platform.discover(%q, "")

deny contains "x" if {
	not known
	platform.evidence_prompt("a text", "is it fine?")
}`, clean))
	if found := value(t, result, err); found != "[]" || len(result.Ledger.Calls) != 1 {
		t.Fatal(found, result.Ledger)
	}
}

func TestAPromptIsSentOnceItIsCertain(t *testing.T) {
	result, err := evaluate(t, local(t), fmt.Sprintf(`deny contains answer if {
	platform.discover(%q, "").kind
	some text in ["one", "two"]
	answer := platform.evidence_prompt(text, "is it fine?").skipped
}`, clean))
	if found := value(t, result, err); found != "[true]" {
		t.Fatal(found)
	}
	if ledger := result.Ledger; ledger.Rounds != 3 || ledger.Used() != 3 || len(ledger.Calls) != 3 {
		t.Fatal(ledger)
	}
}

func TestGuessesAreBounded(t *testing.T) {
	result, err := evaluate(t, local(t), fmt.Sprintf(`known if platform.discover(%q, "")

deny contains "x" if {
	not known
	some number in numbers.range(1, 1000)
	platform.discover(sprintf("sha256:%%064x", [number]), "")
}`, clean))
	if found := value(t, result, err); found != "[]" {
		t.Fatal(found)
	}
	if ledger := result.Ledger; len(ledger.Calls) != 257 || ledger.Used() != 1 {
		t.Fatal(ledger.String())
	}
}

func TestPassesHaveOneTimeAndOneSeed(t *testing.T) {
	address := local(t)
	for _, number := range []string{`time.now_ns()`, `rand.intn("a", 1000000000)`, `uuid.rfc4122("a")`} {
		result, err := evaluate(t, address, `deny contains "x" if {
	digest := crypto.sha256(sprintf("%v", [`+number+`]))
	not platform.discover(concat(":", ["sha256", digest]), "")
}`)
		if err == nil || kind(t, err) != "not found" || result.Ledger.Passes != 2 || len(result.Ledger.Calls) != 1 {
			t.Fatal(number, err, result.Ledger.Passes, result.Ledger.String())
		}
	}
	now := time.Unix(1, 0)
	result, err := evaluate(t, address, fmt.Sprintf(`deny contains time.now_ns() if platform.discover(%q, "")`, clean), rego.EvalTime(now))
	if found := value(t, result, err); found != "[1000000000]" {
		t.Fatal(found)
	}
}

func TestAPlainEvaluationCallsOneAtATime(t *testing.T) {
	client := regoplatform.New(local(t))
	policy := rego.Module("p.rego", fmt.Sprintf(`package p

kind := platform.discover(%q, "").kind

deny contains "x" if not platform.discover(%q, "")`, clean, missing))
	ctx := context.Background()
	set, err := prepare(t, client, "data.p.kind", policy).Eval(ctx)
	if err != nil || set[0].Expressions[0].Value != "CONTAINER_IMAGE" {
		t.Fatal(set, err)
	}
	// OPA wraps the error in one of its own.
	_, err = prepare(t, client, "data.p.deny", policy).Eval(ctx)
	if err == nil || !strings.Contains(err.Error(), "platform.discover: not found: ") {
		t.Fatal(err)
	}
}

func TestACancelledEvaluationEnds(t *testing.T) {
	client := regoplatform.New(local(t, "--fault", "discover:latency=30s"))
	prepared := prepare(t, client, "data.p.x", rego.Module("p.rego",
		fmt.Sprintf("package p\n\nx := platform.discover(%q, \"\")", clean)))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := client.Eval(ctx, prepared)
	if err == nil || kind(t, err) != "timed out" || time.Since(began) > 10*time.Second {
		t.Fatal(err, time.Since(began))
	}
}

func TestTheGateRefusesAnEmptyInput(t *testing.T) {
	client := regoplatform.New(local(t))
	ctx := context.Background()
	report, err := client.Gate(ctx, map[string]any{"empty": map[string]any{}})
	if err != nil || report.Passed() || len(report.Reasons) == 0 {
		t.Fatal(report, err)
	}
	if _, err := client.Gate(ctx, nil); err == nil || kind(t, err) != "invalid argument" {
		t.Fatal(err)
	}
}

func TestATokenIsSent(t *testing.T) {
	token := "0123456789abcdef-token"
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	address := local(t, "--auth-token-file", file)
	for _, test := range []struct{ token, expected string }{{token, ""}, {strings.ToUpper(token), "unauthenticated"}} {
		client := regoplatform.New(address, regoplatform.WithToken(test.token))
		prepared := prepare(t, client, "x := platform.discover("+fmt.Sprintf("%q", clean)+`, "")`)
		_, err := client.Eval(context.Background(), prepared)
		if (err == nil) != (test.expected == "") || err != nil && kind(t, err) != test.expected {
			t.Fatal(test, err)
		}
	}
}
