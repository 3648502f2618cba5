package regoplatform_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	regoplatform "github.com/OWNER/rego-platform/bindings/go"
	"github.com/open-policy-agent/opa/v1/rego"
)

// BenchmarkCalls evaluates a policy with 1 + 200 calls of 20 ms: in OPA in passes, in OPA one call at a time, and in
// the server's own engine.
func BenchmarkCalls(b *testing.B) {
	data, root := wide(b, 200)
	policies := b.TempDir()
	text := fmt.Sprintf(`package wide

deny contains node.digest if {
	some reference in platform.discover(%q, "").references
	node := platform.discover(reference.digest, "")
}`, root)
	if err := os.WriteFile(filepath.Join(policies, "wide.rego"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	address := serve(b, policies, data, "--fault", "discover:latency=20ms")
	client := regoplatform.New(address)
	ctx := context.Background()
	query := prepare(b, client, "data.wide.deny", rego.Load([]string{policies}, nil))
	b.Run("passes", func(b *testing.B) {
		for b.Loop() {
			result, err := client.Eval(ctx, query)
			if err != nil || len(result.Ledger.Calls) != 201 {
				b.Fatal(err, result.Ledger.String())
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		for b.Loop() {
			if found := post(b, address+"/v1/data/wide/deny", nil); len(found) < 200*64 {
				b.Fatal(found)
			}
		}
	})
	b.Run("one-at-a-time", func(b *testing.B) {
		for b.Loop() {
			if _, err := query.Eval(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}
