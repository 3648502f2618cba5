// Command oracle answers questions about Rego with OPA.
//
// It reads questions as JSON lines and writes an answer for each, in order. See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// question is one line of input; which fields matter depends on Ask.
type question struct {
	ID  json.RawMessage `json:"id,omitempty"`
	Ask string          `json:"ask"`

	// The policy: texts by file name, their version (v0, v1, v2), strict compilation.
	Modules  map[string]string `json:"modules,omitempty"`
	Version  string            `json:"version,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
	Strict   bool              `json:"strict,omitempty"`
	Host     []hostFunction    `json:"host,omitempty"`
	Schemas  map[string]any    `json:"schemas,omitempty"`

	// The queries and inputs; each query is evaluated with each input.
	Query      string            `json:"query,omitempty"`
	Queries    []string          `json:"queries,omitempty"`
	Input      json.RawMessage   `json:"input,omitempty"`
	InputTerm  string            `json:"input_term,omitempty"`
	Inputs     []json.RawMessage `json:"inputs,omitempty"`
	InputTerms []string          `json:"input_terms,omitempty"`
	Data       json.RawMessage   `json:"data,omitempty"`

	// Options: strict built-in errors, disabled optimizations, the time limit.
	StrictErrors bool              `json:"strict_errors,omitempty"`
	NoIndex      bool              `json:"no_index,omitempty"`
	NoEarlyExit  bool              `json:"no_early_exit,omitempty"`
	Package      string            `json:"package,omitempty"`
	Imports      []string          `json:"imports,omitempty"`
	TimeoutMS    int               `json:"timeout_ms,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Terms        bool              `json:"terms,omitempty"`
	JSON         bool              `json:"json,omitempty"`

	// parse, fmt; text to format is read in another version if that is given
	Text string `json:"text,omitempty"`
	Read string `json:"read,omitempty"`
	Kind string `json:"kind,omitempty"`

	// builtin
	Name     string            `json:"name,omitempty"`
	Args     []json.RawMessage `json:"args,omitempty"`
	ArgTerms []string          `json:"arg_terms,omitempty"`
}

// problem is an error in a form that can be compared.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// The additional lines of a compiler's error.
	Details []string `json:"details,omitempty"`
	File    string   `json:"file,omitempty"`
	Row     int      `json:"row,omitempty"`
	Col     int      `json:"col,omitempty"`
}

type answer map[string]any

func main() {
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "questions answered at a time")
	directory := flag.String("cases", "", "print OPA's compliance cases of a directory, and end")
	flag.Parse()
	if *directory != "" {
		if err := printCases(*directory); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(1)
		}
		return
	}
	debug.SetGCPercent(400)

	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	writer := bufio.NewWriterSize(os.Stdout, 1<<20)
	// Answers are written in the order of the questions: each has its own channel, queued in order.
	queue := make(chan chan []byte, *workers*4)
	slots := make(chan struct{}, *workers)
	done := make(chan error, 1)
	go func() {
		for pending := range queue {
			line := <-pending
			if _, err := writer.Write(append(line, '\n')); err != nil {
				done <- err
				return
			}
			// No further answer is queued: the client may be waiting for this one.
			if len(queue) == 0 {
				if err := writer.Flush(); err != nil {
					done <- err
					return
				}
			}
		}
		done <- writer.Flush()
	}()
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			pending := make(chan []byte, 1)
			slots <- struct{}{}
			queue <- pending
			go func() {
				defer func() { <-slots }()
				pending <- respond(line)
			}()
		}
		if err != nil {
			if err != io.EOF {
				fmt.Fprintln(os.Stderr, "oracle:", err)
			}
			break
		}
	}
	close(queue)
	if err := <-done; err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func respond(line []byte) []byte {
	var q question
	var a answer
	if err := json.Unmarshal(line, &q); err != nil {
		a = answer{"failed": "the question can't be read: " + err.Error()}
	} else {
		a = ask(&q)
	}
	if len(q.ID) > 0 {
		a["id"] = q.ID
	}
	text, err := marshal(a)
	if err != nil {
		text, _ = marshal(answer{"id": q.ID, "failed": err.Error()})
	}
	return text
}

func ask(q *question) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{"panic": fmt.Sprint(r)}
		}
	}()
	switch q.Ask {
	case "eval":
		return eval(q)
	case "parse":
		return parse(q)
	case "stages":
		return stages(q)
	case "types":
		return typesOf(q)
	case "fmt":
		return formatted(q)
	case "builtin":
		return callBuiltin(q)
	case "builtins":
		return listBuiltins()
	case "compare":
		return compare(q)
	}
	return answer{"failed": "no such kind of question: " + q.Ask}
}
