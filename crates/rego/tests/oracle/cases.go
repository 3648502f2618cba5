package main

import (
	"bufio"
	"os"
	"path/filepath"

	"github.com/open-policy-agent/opa/v1/test/cases"
)

// printCases writes OPA's own compliance cases (from `v1/test/cases/testdata` of its module) as JSON
// lines, those of v0 first.
func printCases(directory string) error {
	w := bufio.NewWriter(os.Stdout)
	for _, version := range []string{"v0", "v1"} {
		root := filepath.Join(directory, version)
		set, err := cases.Load(root)
		if err != nil {
			return err
		}
		for _, one := range set.Sorted().Cases {
			name, err := filepath.Rel(directory, one.Filename)
			if err != nil {
				return err
			}
			// As text, so that numbers keep their digits.
			input, err := textOf(one.Input)
			if err != nil {
				return err
			}
			data, err := textOf(one.Data)
			if err != nil {
				return err
			}
			one.Input, one.Data = nil, nil
			text, err := marshal(map[string]any{"version": version, "file": name, "case": one, "input": input, "data": data})
			if err != nil {
				return err
			}
			if _, err := w.Write(append(text, '\n')); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

func textOf[T any](x *T) (string, error) {
	if x == nil {
		return "", nil
	}
	text, err := marshal(x)
	return string(text), err
}
