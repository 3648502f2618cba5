package regoplatform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The longest response that is read, in bytes; that of the server's own limit.
const maxResponse = 64 << 20

// Client asks a server (`rego-platform serve`) for what the functions of the service return. It is safe for
// concurrent use.
type Client struct {
	address string
	token   string
	prefix  string
	http    *http.Client
}

// Option changes a [Client].
type Option func(*Client)

// WithToken sets the token that requests carry as `Authorization: Bearer`, one of the server's
// `--auth-token-file`.
func WithToken(token string) Option { return func(c *Client) { c.token = token } }

// WithHTTPClient sets the client that sends requests. By default it has a time limit of 2 minutes for each.
func WithHTTPClient(client *http.Client) Option { return func(c *Client) { c.http = client } }

// WithProduct sets the prefix of the functions' names in policies; `platform` by default.
func WithProduct(name string) Option { return func(c *Client) { c.prefix = name } }

// New creates a client of the server at an address such as `http://127.0.0.1:8181`.
func New(address string, options ...Option) *Client {
	client := &Client{
		address: strings.TrimRight(address, "/"),
		prefix:  "platform",
		http:    &http.Client{Timeout: 2 * time.Minute},
	}
	for _, option := range options {
		option(client)
	}
	return client
}

// Error is an error of the service, or of the server on the way to it.
type Error struct {
	// Kind is the kind's stable name, such as `not found` or `unauthenticated`. It is `unavailable` if the
	// server can't be reached, and `protocol` if its response isn't the documented one.
	Kind string `json:"kind"`
	// Message says what happened.
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Kind + ": " + e.Message }

// call is a call of a function. As JSON, it is also its key.
type call struct {
	Function  string          `json:"function"`
	Arguments json.RawMessage `json:"arguments"`
}

// response is the response to a call: a result, an error, or neither if the result is undefined.
type response struct {
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// send makes calls, and returns their responses in the same order.
func (c *Client) send(ctx context.Context, calls []call, exact bool) ([]response, error) {
	request := struct {
		Calls []call `json:"calls"`
		Exact bool   `json:"exact"`
	}{calls, exact}
	var answer struct {
		Results []response `json:"results"`
	}
	if err := c.post(ctx, "/v1/batch/call", request, &answer, http.StatusOK); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(calls) {
		message := fmt.Sprintf("response count mismatch: expected %d, found %d", len(calls), len(answer.Results))
		return nil, &Error{"protocol", message}
	}
	return answer.Results, nil
}

// post sends a request, and decodes a response that has one of the statuses.
func (c *Client) post(ctx context.Context, path string, request, answer any, statuses ...int) error {
	body, err := json.Marshal(request)
	if err != nil {
		return &Error{"invalid argument", err.Error()}
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address+path, bytes.NewReader(body))
	if err != nil {
		return &Error{"configuration", err.Error()}
	}
	post.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		post.Header.Set("Authorization", "Bearer "+c.token)
	}
	sent, err := c.http.Do(post)
	if err != nil {
		return transportError(ctx, err)
	}
	defer func() { _ = sent.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(sent.Body, maxResponse+1))
	if err != nil {
		return transportError(ctx, err)
	}
	if len(text) > maxResponse {
		return &Error{"too large", fmt.Sprintf("response of the server: more than %d bytes", maxResponse)}
	}
	for _, status := range statuses {
		if sent.StatusCode != status {
			continue
		}
		if err := json.Unmarshal(text, answer); err != nil {
			return &Error{"protocol", "response of the server: " + err.Error()}
		}
		return nil
	}
	var refusal struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &refusal)
	return &Error{kindOf(sent.StatusCode), fmt.Sprintf("%s: status %d: %s", path, sent.StatusCode, refusal.Message)}
}

func kindOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid argument"
	case http.StatusUnauthorized:
		return "unauthenticated"
	case http.StatusForbidden:
		return "permission denied"
	case http.StatusTooManyRequests:
		return "rate limited"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return "protocol"
	default:
		return "unavailable"
	}
}

func transportError(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Error{"cancelled", err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{"timed out", err.Error()}
	default:
		return &Error{"unavailable", err.Error()}
	}
}
