package main

import (
	"encoding/json"
	"errors"
	"hash/fnv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/types"
)

// hostFunction is a function that the caller of OPA provides to the policy. Its answers are canned:
// by its arguments, or by a rule for all.
type hostFunction struct {
	Name string `json:"name"`
	// The types of its arguments and result: any, string, number, boolean, null, array, object, set.
	Args   []string `json:"args"`
	Result string   `json:"result,omitempty"`
	// True if it is called once for the same arguments in an evaluation.
	Memoize          bool `json:"memoize,omitempty"`
	Nondeterministic bool `json:"nondeterministic,omitempty"`

	Cases     []hostCase  `json:"cases,omitempty"`
	Otherwise *hostAnswer `json:"otherwise,omitempty"`
}

type hostCase struct {
	// Arguments, as an array in Rego's syntax.
	Args string `json:"args"`
	hostAnswer

	key string
}

// hostAnswer is a value in Rego's syntax, an error, nothing, or one of some pure functions.
type hostAnswer struct {
	Value *string `json:"value,omitempty"`
	Error *string `json:"error,omitempty"`
	Halt  *string `json:"halt,omitempty"`
	// echo: the first argument. list: the arguments. hash: a number below 1,000 made of them.
	Pure string `json:"pure,omitempty"`

	term *ast.Term
}

// call is an entry of the trace.
type call struct {
	Name string `json:"name"`
	Args string `json:"args"`
	Row  int    `json:"row,omitempty"`
	Col  int    `json:"col,omitempty"`
	File string `json:"file,omitempty"`
}

func typeOf(name string) types.Type {
	switch name {
	case "string":
		return types.S
	case "number":
		return types.N
	case "boolean":
		return types.B
	case "null":
		return types.NewNull()
	case "array":
		return types.NewArray(nil, types.A)
	case "object":
		return types.NewObject(nil, types.NewDynamicProperty(types.A, types.A))
	case "set":
		return types.NewSet(types.A)
	}
	return types.A
}

func (h *hostFunction) declaration() *ast.Builtin {
	args := make([]types.Type, len(h.Args))
	for i, name := range h.Args {
		args[i] = typeOf(name)
	}
	return &ast.Builtin{
		Name:             h.Name,
		Decl:             types.NewFunction(args, typeOf(h.Result)),
		Nondeterministic: h.Nondeterministic,
	}
}

func (h *hostFunction) prepare() error {
	for i := range h.Cases {
		args, err := regoTerm(h.Cases[i].Args)
		if err != nil {
			return err
		}
		h.Cases[i].key = canonical(args.Value)
		if err := h.Cases[i].prepare(); err != nil {
			return err
		}
	}
	if h.Otherwise != nil {
		return h.Otherwise.prepare()
	}
	return nil
}

func (a *hostAnswer) prepare() (err error) {
	if a.Value != nil {
		a.term, err = regoTerm(*a.Value)
	}
	return err
}

// function returns the function for OPA. Its calls are recorded in trace.
func (h *hostFunction) function(trace *[]call) topdown.BuiltinFunc {
	type memo struct {
		term *ast.Term
		err  error
	}
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		args := ast.NewArray(operands[:len(h.Args)]...)
		key := canonical(args)
		if h.Memoize {
			if kept, ok := bctx.Cache.Get(h.Name + key); ok {
				m := kept.(memo)
				return h.finish(bctx.Location, m.term, m.err, iter)
			}
		}
		made := call{Name: h.Name, Args: key}
		if bctx.Location != nil {
			made.File, made.Row, made.Col = bctx.Location.File, bctx.Location.Row, bctx.Location.Col
		}
		*trace = append(*trace, made)
		term, err := h.answer(key, args)
		if h.Memoize {
			bctx.Cache.Put(h.Name+key, memo{term, err})
		}
		return h.finish(bctx.Location, term, err, iter)
	}
}

var errHalt = errors.New("halt")

func (h *hostFunction) answer(key string, args *ast.Array) (*ast.Term, error) {
	chosen := h.Otherwise
	for i := range h.Cases {
		if h.Cases[i].key == key {
			chosen = &h.Cases[i].hostAnswer
			break
		}
	}
	switch {
	case chosen == nil:
		return nil, nil
	case chosen.Error != nil:
		return nil, errors.New(*chosen.Error)
	case chosen.Halt != nil:
		return nil, errors.Join(errHalt, errors.New(*chosen.Halt))
	case chosen.Value != nil:
		return chosen.term, nil
	}
	switch chosen.Pure {
	case "echo":
		if args.Len() > 0 {
			return args.Elem(0), nil
		}
		return ast.NullTerm(), nil
	case "list":
		return ast.NewTerm(args), nil
	case "hash":
		f := fnv.New32a()
		_, _ = f.Write([]byte(key))
		return ast.IntNumberTerm(int(f.Sum32() % 1000)), nil
	}
	return nil, nil
}

// finish treats the result of a host function as OPA's own library does.
func (h *hostFunction) finish(l *ast.Location, term *ast.Term, err error, iter func(*ast.Term) error) error {
	if err != nil {
		message := strings.TrimPrefix(err.Error(), errHalt.Error()+"\n")
		e := &topdown.Error{Code: topdown.BuiltinErr, Message: h.Name + ": " + message, Location: l}
		if errors.Is(err, errHalt) {
			return topdown.Halt{Err: e}
		}
		return e
	}
	if term == nil {
		return nil
	}
	return iter(term)
}

func listBuiltins() answer {
	list := make([]json.RawMessage, 0, len(ast.Builtins))
	for _, b := range ast.Builtins {
		text, err := json.Marshal(b)
		if err != nil {
			continue
		}
		list = append(list, text)
	}
	return answer{"builtins": list}
}
