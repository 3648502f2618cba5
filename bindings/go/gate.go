package regoplatform

import (
	"context"
	"encoding/json"
	"net/http"
)

// Report is the report of a gate's run: its verdict, and everything else as JSON.
type Report struct {
	// Outcome is `passed`, `failed` or `no_verdict`.
	Outcome string `json:"outcome"`
	// Reasons says why it didn't pass, a line each.
	Reasons []string `json:"reasons"`
	// JSON is the whole report.
	JSON json.RawMessage `json:"-"`
}

// Passed reports whether every input passed.
func (r *Report) Passed() bool { return r.Outcome == "passed" }

// Gate asks the server for the verdict of the policies that it has loaded, over inputs by their names. An input
// in which the argument of a call is missing doesn't pass, which OPA alone can't tell.
func (c *Client) Gate(ctx context.Context, inputs map[string]any) (*Report, error) {
	var whole json.RawMessage
	request := map[string]any{"inputs": inputs}
	// Without a verdict, the status is 500, and the body is the report or an error.
	err := c.post(ctx, "/v1/gate", request, &whole, http.StatusOK, http.StatusInternalServerError)
	if err != nil {
		return nil, err
	}
	report := &Report{JSON: whole}
	if err := json.Unmarshal(whole, report); err != nil {
		return nil, &Error{"protocol", "report of the gate: " + err.Error()}
	}
	switch report.Outcome {
	case "passed", "failed", "no_verdict":
		return report, nil
	}
	var refusal struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(whole, &refusal)
	return nil, &Error{"unavailable", "/v1/gate: " + refusal.Message}
}
