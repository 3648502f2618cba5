package regoplatform

import (
	"context"
	"crypto/rand"
	"fmt"
	randv2 "math/rand/v2"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

const (
	// The most passes of an evaluation.
	maxPasses = 200
	// The most calls of an evaluation.
	maxCalls = 20_000
	// The number of guesses that an evaluation may send without having used any.
	guesses = 256
	// The most guesses of a round.
	maxGuesses = 5_000
	// The number of rounds with one new call each after which calls are sent within a pass.
	singles = 3
	// The number of calls that are then sent within a pass, at first.
	firstCredit = 4
)

// Result is the result of an evaluation in passes.
type Result struct {
	rego.ResultSet
	// Ledger has the calls that were sent.
	Ledger Ledger
}

// Ledger lists the calls of an evaluation, and counts its passes and rounds.
type Ledger struct {
	// Passes is the number of times that the query was evaluated.
	Passes int
	// Rounds is the number of requests to the server.
	Rounds int
	// Calls has every call that was sent, in this order.
	Calls []LedgerCall
}

// LedgerCall is a call of a [Ledger].
type LedgerCall struct {
	// Function is the function's name without a prefix.
	Function string
	// Arguments is the array of arguments, as JSON.
	Arguments string
	// Round is the number of the request that sent it, from 1.
	Round int
	// Used is false for a guess that the result doesn't depend on.
	Used bool
	// Error is the error of the service; nil if it responded with a result.
	Error *Error
}

// Used returns the number of calls that the result depends on.
func (l *Ledger) Used() int {
	used := 0
	for _, call := range l.Calls {
		if call.Used {
			used++
		}
	}
	return used
}

// String returns a line that counts the calls, such as `201 calls in 2 rounds, 0 of them unused`.
func (l *Ledger) String() string {
	return fmt.Sprintf("%d calls in %d rounds, %d of them unused", len(l.Calls), l.Rounds, len(l.Calls)-l.Used())
}

// Eval evaluates a prepared query in passes, so that independent calls are sent together.
//
// In a pass, a call whose response isn't known yet is undefined, and the pass goes on to meet others. The calls
// that it met are then sent in one request, and the query is evaluated again, until a pass meets no unknown call:
// its result is the result. The first unknown call of a pass is certain to be made by the evaluation; those after
// it are guesses, which a different response could make unnecessary, as under `not`. An evaluation has never more
// than 256 unused guesses beyond the calls that it used. A prompt is never a guess: it is sent alone, once the
// evaluation is certain to make it. [Ledger] shows guesses that weren't used.
//
// An error of the service ends the evaluation if the evaluation is certain to make the call. The time, the seed of
// random numbers and the results of OPA's own nondeterministic built-ins, such as `http.send`, are the same in
// every pass. [rego.EvalSeed] and [rego.EvalNDBuiltinCache] therefore have no effect; prints appear once for each
// pass.
//
// The result set is that of [rego.PreparedEvalQuery.Eval]. The result is never nil: it has the ledger also if
// there is an error.
func (c *Client) Eval(ctx context.Context, query rego.PreparedEvalQuery, options ...rego.EvalOption) (*Result, error) {
	evaluation := &evaluation{
		client: c,
		known:  map[string]*known{},
		cache:  builtins.NDBCache{},
		now:    time.Now(),
	}
	// It never fails.
	_, _ = rand.Read(evaluation.seed[:])
	for {
		evaluation.ledger.Passes++
		pass := &pass{evaluation: evaluation, met: map[string]bool{}, credit: evaluation.credit}
		set, err := query.Eval(context.WithValue(ctx, passKey{}, pass), evaluation.options(options)...)
		if len(pass.unknown) == 0 || pass.failed != nil {
			evaluation.finish(pass)
			if pass.failed != nil {
				err = pass.failed
			}
			return &Result{ResultSet: set, Ledger: evaluation.ledger}, err
		}
		// Whatever else went wrong may be because of an unknown response.
		if err := evaluation.ask(ctx, pass); err != nil {
			evaluation.finish(pass)
			return &Result{Ledger: evaluation.ledger}, err
		}
	}
}

type passKey struct{}

// evaluation is what the passes of an evaluation share.
type evaluation struct {
	client *Client
	known  map[string]*known
	cache  builtins.NDBCache
	now    time.Time
	seed   [32]byte
	ledger Ledger
	// The number of consecutive rounds with one new call each.
	singles int
	credit  int
}

// known is a call with its response.
type known struct {
	response
	term *ast.Term
	// Its place in the ledger.
	place int
}

// pass is one evaluation of the query.
type pass struct {
	evaluation *evaluation
	unknown    []call
	// The calls that were met, whether their responses were known or not.
	met map[string]bool
	// The number of calls that may be sent within this pass.
	credit int
	// The error that ends the evaluation.
	failed error
}

func (c *call) key() string { return c.Function + string(c.Arguments) }

// options returns the options of a pass: the host's, and then what has to be the same in each.
func (e *evaluation) options(host []rego.EvalOption) []rego.EvalOption {
	// The passes answer these themselves, and count their uses.
	for name := range declarations {
		delete(e.cache, e.client.prefix+"."+name)
	}
	options := append([]rego.EvalOption{rego.EvalTime(e.now)}, host...)
	return append(options, rego.EvalSeed(randv2.NewChaCha8(e.seed)), rego.EvalNDBuiltinCache(e.cache))
}

// answer responds to a call of the policy.
func (p *pass) answer(ctx context.Context, made call) (*ast.Term, error) {
	key := made.key()
	isNew := !p.met[key]
	p.met[key] = true
	// Nothing was undefined so far that isn't: the evaluation makes this call.
	certain := len(p.unknown) == 0
	response := p.evaluation.known[key]
	if response == nil && certain && p.credit > 0 {
		p.credit--
		if err := p.evaluation.send(ctx, []call{made}, true); err != nil {
			return nil, p.fail(err)
		}
		response = p.evaluation.known[key]
	}
	if response == nil {
		if isNew && (certain || made.Function != prompt) {
			p.unknown = append(p.unknown, made)
		}
		return nil, nil
	}
	if response.Error != nil && !certain {
		return nil, nil
	}
	if response.Error != nil {
		return nil, p.fail(response.Error)
	}
	if response.term == nil {
		term, err := response.response.term(made.Function)
		if err != nil {
			return nil, p.fail(err)
		}
		response.term = term
	}
	return response.term, nil
}

func (p *pass) fail(err error) error {
	p.failed = err
	return rego.NewHaltError(err)
}

// ask sends the calls that a pass didn't know, as many as may be guessed.
func (e *evaluation) ask(ctx context.Context, pass *pass) error {
	if err := ctx.Err(); err != nil {
		return transportError(ctx, err)
	}
	if e.ledger.Passes >= maxPasses {
		return &Error{"too large", fmt.Sprintf("more than %d passes", maxPasses)}
	}
	calls := pass.unknown
	// A prompt is sent alone: the calls after it are guesses on a response that may take minutes.
	exact := calls[0].Function == prompt
	if exact {
		calls = calls[:1]
	} else if most := 1 + e.guesses(pass); len(calls) > most {
		calls = calls[:most]
	}
	if len(calls) == 1 {
		e.singles++
	} else {
		e.singles, e.credit = 0, 0
	}
	if e.singles >= singles {
		e.credit = max(firstCredit, 4*e.credit)
	}
	return e.send(ctx, calls, exact)
}

// guesses returns the number of guesses that may be sent after a pass.
func (e *evaluation) guesses(pass *pass) int {
	used, unused := 0, 0
	for key := range e.known {
		if pass.met[key] {
			used++
		} else {
			unused++
		}
	}
	return min(max(guesses+used-unused, 0), maxGuesses)
}

// send sends calls, and keeps their responses.
func (e *evaluation) send(ctx context.Context, calls []call, exact bool) error {
	if len(e.ledger.Calls)+len(calls) > maxCalls {
		return &Error{"too large", fmt.Sprintf("more than %d calls", maxCalls)}
	}
	e.ledger.Rounds++
	responses, err := e.client.send(ctx, calls, exact)
	if err != nil {
		return err
	}
	for i, response := range responses {
		e.known[calls[i].key()] = &known{response: response, place: len(e.ledger.Calls)}
		e.ledger.Calls = append(e.ledger.Calls, LedgerCall{
			Function:  calls[i].Function,
			Arguments: strings.TrimSpace(string(calls[i].Arguments)),
			Round:     e.ledger.Rounds,
			Error:     response.Error,
		})
	}
	return nil
}

// finish marks the calls that the last pass used.
func (e *evaluation) finish(pass *pass) {
	for key, known := range e.known {
		e.ledger.Calls[known.place].Used = pass.met[key]
	}
}
