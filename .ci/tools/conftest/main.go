// The values that conftest's parsers give to files: lines of `FORMAT<TAB>PATH` in, lines of JSON out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/open-policy-agent/conftest/parser"
)

func value(format, path string) (result any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	own, err := parser.New(format)
	if err != nil {
		return nil, err
	}
	err = own.Unmarshal(text, &result)
	return result, err
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		format, path, _ := strings.Cut(lines.Text(), "\t")
		answer := map[string]any{"path": path}
		if result, err := value(format, path); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["value"] = result
		}
		if err := out.Encode(answer); err != nil {
			_ = out.Encode(map[string]any{"path": path, "error": err.Error()})
		}
	}
}
