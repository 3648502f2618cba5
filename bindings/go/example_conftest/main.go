// conftest with the functions of the service. It makes one call at a time: conftest evaluates each policy itself,
// so that calls can't be collected in passes.
//
//	go run . http://127.0.0.1:8181 POLICY INPUT
package main

import (
	"context"
	"log"
	"os"

	regoplatform "github.com/OWNER/rego-platform/bindings/go"
	"github.com/open-policy-agent/conftest/output"
	"github.com/open-policy-agent/conftest/runner"
)

func main() {
	regoplatform.New(os.Args[1]).Register()
	test := runner.TestRunner{Policy: os.Args[2:3], AllNamespaces: true, RegoVersion: "v1"}
	results, err := test.Run(context.Background(), os.Args[3:])
	if err != nil {
		log.Fatal(err)
	}
	if err := output.Get("stdout", output.Options{NoColor: true}).Output(results); err != nil {
		log.Fatal(err)
	}
	os.Exit(results.ExitCode())
}
