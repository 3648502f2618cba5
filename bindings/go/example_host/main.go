// A host of OPA in Go: the result of a rule, with calls that travel together, and the gate's verdict.
//
//	rego-platform serve -d policies --local testdata/platform &
//	go run ./example_host http://127.0.0.1:8181 ../../policies ../../testdata/inputs/required_evidence/fail.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	regoplatform "github.com/OWNER/rego-platform/bindings/go"
	"github.com/open-policy-agent/opa/v1/rego"
)

func main() {
	ctx, client := context.Background(), regoplatform.New(os.Args[1])
	options := append(client.Functions(), rego.Load(os.Args[2:3], nil), rego.Query("data.required_evidence.deny"))
	query, err := rego.New(options...).PrepareForEval(ctx)
	check(err)
	text, err := os.ReadFile(os.Args[3])
	check(err)
	var input any
	check(json.Unmarshal(text, &input))
	result, err := client.Eval(ctx, query, rego.EvalInput(input))
	check(err)
	fmt.Println(result.ResultSet[0].Expressions[0].Value)
	fmt.Println(result.Ledger.String())
	report, err := client.Gate(ctx, map[string]any{os.Args[3]: input, "empty": map[string]any{}})
	check(err)
	fmt.Println(report.Outcome, report.Reasons)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
