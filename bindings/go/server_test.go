package regoplatform_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const repository = "../.."

// command is the program `rego-platform`, which `.ci/go` builds and names.
func command(t testing.TB) string {
	t.Helper()
	path := os.Getenv("REGO_PLATFORM")
	if path == "" {
		t.Fatal("REGO_PLATFORM isn't set: `.ci/go` builds the command and runs these tests")
	}
	return path
}

// serve starts a server with policies and a data set until the test ends, and returns its address.
func serve(t testing.TB, policies, data string, options ...string) string {
	t.Helper()
	arguments := append([]string{"serve", "-d", policies, "--local", data, "--listen", "127.0.0.1:0"}, options...)
	server := exec.Command(command(t), arguments...)
	said, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(said)
	var all strings.Builder
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if rest, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return strings.TrimSuffix(rest, " until interrupted")
		}
	}
	t.Fatalf("the server doesn't serve: %s", all.String())
	return ""
}

// local starts a server with the sample policies and data.
func local(t testing.TB, options ...string) string {
	return serve(t, filepath.Join(repository, "policies"), filepath.Join(repository, "testdata/platform"), options...)
}

// wide writes a copy of the sample data with an image that refers to this many others, and returns its folder and
// the image's digest.
func wide(t testing.TB, width int) (string, string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(repository, "testdata/platform"))); err != nil {
		t.Fatal(err)
	}
	root := digest(0)
	var graph strings.Builder
	node := "  - {digest: %s, kind: ARTIFACT, created_at: 2026-01-20T09:00:00Z, metadata: {name: n, organization: acme}"
	fmt.Fprintf(&graph, "organization: acme\nnodes:\n"+node+", references: [", root)
	for i := range width {
		fmt.Fprintf(&graph, "{digest: %s}, ", digest(i+1))
	}
	graph.WriteString("]}\n")
	for i := range width {
		fmt.Fprintf(&graph, node+"}\n", digest(i+1))
	}
	if err := os.WriteFile(filepath.Join(folder, "graph/wide.yaml"), []byte(graph.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder, root
}

func digest(number int) string { return fmt.Sprintf("sha256:%064x", number+1<<20) }
