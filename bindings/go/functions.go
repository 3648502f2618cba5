package regoplatform

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"
)

// prompt is the function whose calls cost money.
const prompt = "evidence_prompt"

var (
	object  = types.NewObject(nil, types.NewDynamicProperty(types.S, types.A))
	filters = types.NewObject(nil, types.NewDynamicProperty(types.S, types.A))
	text    = types.S
)

// declarations has the five functions, as `rego-platform capabilities` declares them.
var declarations = map[string]*types.Function{
	"discover":           types.NewFunction(types.Args(text, types.NewAny(types.Nl, types.S)), object),
	"evidence":           types.NewFunction(types.Args(filters), object),
	"project_compliance": types.NewFunction(types.Args(filters), object),
	prompt:               types.NewFunction(types.Args(text, text), object),
	"download_artifact":  types.NewFunction(types.Args(text), text),
}

// Functions returns options of [rego.New] that declare and answer the functions of the service.
//
// [Client.Eval] evaluates in passes. Any other evaluation of the prepared query makes each call when it is
// reached, one at a time.
func (c *Client) Functions() []func(*rego.Rego) {
	var options []func(*rego.Rego)
	for name := range declarations {
		options = append(options, rego.FunctionDyn(c.declaration(name), c.builtin(name)))
	}
	return options
}

// Register declares and answers the functions for every evaluation of this process that doesn't have functions
// of its own, such as those of conftest. Call it before policies are compiled.
func (c *Client) Register() {
	for name := range declarations {
		rego.RegisterBuiltinDyn(c.declaration(name), c.builtin(name))
	}
}

func (c *Client) declaration(name string) *rego.Function {
	return &rego.Function{
		Name:             c.prefix + "." + name,
		Decl:             declarations[name],
		Memoize:          true,
		Nondeterministic: true,
	}
}

func (c *Client) builtin(name string) rego.BuiltinDyn {
	return func(builtin rego.BuiltinContext, terms []*ast.Term) (*ast.Term, error) {
		made, err := newCall(name, terms[:declarations[name].Arity()])
		if err != nil {
			return nil, rego.NewHaltError(err)
		}
		ctx := builtin.Context
		if ctx == nil {
			ctx = context.Background()
		}
		if pass, ok := ctx.Value(passKey{}).(*pass); ok && pass.evaluation.client == c {
			return pass.answer(ctx, made)
		}
		answers, err := c.send(ctx, []call{made}, true)
		if err != nil {
			return nil, rego.NewHaltError(err)
		}
		return answers[0].term(name)
	}
}

func newCall(name string, terms []*ast.Term) (call, error) {
	arguments := make([]any, len(terms))
	for i, term := range terms {
		value, err := ast.JSON(term.Value)
		if err != nil {
			return call{}, &Error{"invalid argument", name + ": " + err.Error()}
		}
		arguments[i] = value
	}
	encoded, err := json.Marshal(arguments)
	if err != nil {
		return call{}, &Error{"invalid argument", name + ": " + err.Error()}
	}
	return call{Function: name, Arguments: encoded}, nil
}

// term returns the result for the policy, nil if it is undefined. An error ends the evaluation: OPA takes any
// other error of a built-in for undefined.
func (r *response) term(name string) (*ast.Term, error) {
	if r.Error != nil {
		return nil, rego.NewHaltError(r.Error)
	}
	if r.Result == nil {
		return nil, nil
	}
	value, err := ast.ValueFromReader(bytes.NewReader(r.Result))
	if err != nil {
		return nil, rego.NewHaltError(&Error{"protocol", name + ": " + err.Error()})
	}
	return ast.NewTerm(value), nil
}
