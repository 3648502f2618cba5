package regoplatform_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	regoplatform "github.com/OWNER/rego-platform/bindings/go"
	"github.com/open-policy-agent/opa/v1/rego"
)

func TestManyEvaluationsShareAClient(t *testing.T) {
	client := regoplatform.New(local(t))
	query := prepare(t, client, "data.p.kinds", rego.Module("p.rego", fmt.Sprintf(`package p

kinds contains platform.discover(reference.digest, reference.kind).kind if {
	some reference in platform.discover(%q, "").references
}`, bundle)))
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			result, err := client.Eval(context.Background(), query)
			if err != nil || len(result.ResultSet) != 1 || result.Ledger.Rounds != 2 {
				t.Error(err, result.Ledger.String())
			}
		})
	}
	wait.Wait()
}
