package main

import (
	"bytes"
	"context"
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
	"github.com/open-policy-agent/opa/v1/topdown/print"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"
)

func versionOf(name string) ast.RegoVersion {
	switch name {
	case "v0":
		return ast.RegoV0
	case "v2":
		return ast.RegoV2
	case "v0v1":
		return ast.RegoV0CompatV1
	}
	return ast.RegoV1
}

func (q *question) parserOptions() ast.ParserOptions {
	return ast.ParserOptions{RegoVersion: versionOf(q.Version), ProcessAnnotation: true}
}

// The parser options of a query, in which OPA's commands expect no rules.
func (q *question) queryOptions() ast.ParserOptions {
	options := q.parserOptions()
	options.SkipRules = true
	return options
}

func (q *question) parsed() (map[string]*ast.Module, ast.Errors) {
	names := util.KeysSorted(q.Modules)
	modules := make(map[string]*ast.Module, len(names))
	var errs ast.Errors
	for _, name := range names {
		options := q.parserOptions()
		if version, ok := q.Versions[name]; ok {
			options.RegoVersion = versionOf(version)
		}
		module, err := ast.ParseModuleWithOpts(name, q.Modules[name], options)
		if err != nil {
			if many, ok := err.(ast.Errors); ok {
				errs = append(errs, many...)
			} else {
				errs = append(errs, ast.NewError(ast.ParseErr, ast.NewLocation(nil, name, 1, 1), "%v", err))
			}
			continue
		}
		if module == nil {
			errs = append(errs, ast.NewError(ast.ParseErr, ast.NewLocation(nil, name, 1, 1), "empty module"))
			continue
		}
		modules[name] = module
	}
	return modules, errs
}

// OPA's capabilities, except for fetching the references of schemas.
func capabilities() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	all.AllowNet = []string{}
	return all
}

// The schemas by their reference path: "" is the input's, "a.b" is schema.a.b.
func (q *question) schemaSet() *ast.SchemaSet {
	if q.Schemas == nil {
		return nil
	}
	set := ast.NewSchemaSet()
	for name, schema := range q.Schemas {
		ref := ast.SchemaRootRef.Copy()
		if name != "" {
			for _, part := range strings.Split(name, ".") {
				ref = append(ref, ast.StringTerm(part))
			}
		}
		set.Put(ref, schema)
	}
	return set
}

func (q *question) compiler() (*ast.Compiler, error) {
	declared := make(map[string]*ast.Builtin, len(q.Host))
	for i := range q.Host {
		if err := q.Host[i].prepare(); err != nil {
			return nil, err
		}
		declared[q.Host[i].Name] = q.Host[i].declaration()
	}
	return ast.NewCompiler().
		WithDefaultRegoVersion(versionOf(q.Version)).
		WithCapabilities(capabilities()).
		WithSchemas(q.schemaSet()).
		WithEnablePrintStatements(true).
		WithUseTypeCheckAnnotations(true).
		WithStrict(q.Strict).
		WithBuiltins(declared), nil
}

func (q *question) compiled() (*ast.Compiler, ast.Errors, error) {
	modules, errs := q.parsed()
	if len(errs) > 0 {
		return nil, errs, nil
	}
	c, err := q.compiler()
	if err != nil {
		return nil, nil, err
	}
	if c.Compile(modules); c.Failed() {
		return nil, c.Errors, nil
	}
	return c, nil, nil
}

// The body of a query; its head variables are the result.
func (q *question) body(c *ast.Compiler, text string) (ast.Body, ast.QueryCompiler, error) {
	body, err := ast.ParseBodyWithOpts(text, q.queryOptions())
	if err != nil {
		return nil, nil, err
	}
	qc := c.QueryCompiler().WithEnablePrintStatements(true)
	if q.Package != "" || len(q.Imports) > 0 {
		context := ast.NewQueryContext()
		if q.Package != "" {
			pkg, err := ast.ParsePackage("package " + q.Package)
			if err != nil {
				return nil, nil, err
			}
			context = context.WithPackage(pkg)
		}
		if len(q.Imports) > 0 {
			imports, err := ast.ParseImports("import " + strings.Join(q.Imports, "\nimport "))
			if err != nil {
				return nil, nil, err
			}
			context = context.WithImports(imports)
		}
		qc = qc.WithContext(context)
	}
	alone := len(withoutDeclarations(body)) == 1
	qc = qc.WithStageAfterID(ast.StageResolveRefs, ast.QueryCompilerStageDefinition{
		Name:       "capture",
		MetricName: "capture",
		Stage: func(_ ast.QueryCompiler, body ast.Body) (ast.Body, error) {
			return captured(c, body, alone), nil
		},
	})
	compiled, err := qc.Compile(body)
	return compiled, qc, err
}

// withoutDeclarations removes `some x`, which has no value among a query's expressions.
func withoutDeclarations(body ast.Body) ast.Body {
	var rest ast.Body
	for _, expr := range body {
		if decl, ok := expr.Terms.(*ast.SomeDecl); ok {
			if _, ok := decl.Symbols[0].Value.(ast.Var); ok {
				continue
			}
		}
		rest = append(rest, expr)
	}
	return rest
}

// captured gives expressions variables for their values, as OPA's commands and library do: all of a
// query is evaluated before a false one ends it. The value of an expression that is alone is `value`.
func captured(c *ast.Compiler, body ast.Body, alone bool) ast.Body {
	check := len(body) > 1 || iterates(body)
	for i, expr := range body {
		if expr.Negated || expr.IsAssignment() || expr.IsEquality() {
			continue
		}
		name := ast.VarTerm("__value" + strconv.Itoa(i))
		if alone {
			name = ast.VarTerm("value")
		}
		switch terms := expr.Terms.(type) {
		case *ast.Term:
			expr.Terms = ast.Equality.Expr(terms, name).Terms
		case []*ast.Term:
			t := c.TypeEnv.GetByValue(terms[0].Value)
			if t == nil || types.Void(t) || types.Arity(t) != len(terms)-1 {
				continue
			}
			expr.Terms = append(terms, name)
		default:
			continue
		}
		if check {
			again := expr.Copy()
			again.Terms, again.Generated, again.With = name, true, nil
			body.Append(again)
		}
	}
	return body
}

// iterates returns true if a query can have several solutions.
func iterates(body ast.Body) bool {
	found := false
	visitor := ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Term:
			return ast.IsComprehension(x.Value)
		case ast.Ref:
			if b := ast.BuiltinMap[x.String()]; b != nil && b.Relation {
				found = true
			}
			for _, part := range x[1:] {
				if _, ok := part.Value.(ast.Var); ok {
					found = true
				}
			}
		}
		return found
	})
	visitor.Walk(body)
	return found
}

func (q *question) inputs() ([]*ast.Term, error) {
	var terms []*ast.Term
	for _, text := range q.Inputs {
		t, err := jsonTerm(text)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	for _, text := range append(q.InputTerms, q.InputTerm) {
		if text == "" {
			continue
		}
		t, err := regoTerm(text)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	if len(q.Input) > 0 {
		t, err := jsonTerm(q.Input)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
	}
	if len(terms) == 0 {
		terms = append(terms, nil)
	}
	return terms, nil
}

func eval(q *question) answer {
	c, errs, err := q.compiled()
	if err != nil {
		return answer{"failed": err.Error()}
	}
	if errs != nil {
		return answer{"errors": described(errs)}
	}
	inputs, err := q.inputs()
	if err != nil {
		return answer{"failed": err.Error()}
	}
	store := inmem.New()
	if len(q.Data) > 0 {
		var data map[string]any
		if err := util.NewJSONDecoder(bytes.NewReader(q.Data)).Decode(&data); err != nil {
			return answer{"failed": "data: " + err.Error()}
		}
		store = inmem.NewFromObjectWithOpts(data, inmem.OptRoundTripOnWrite(false))
	}
	queries := q.Queries
	if q.Query != "" {
		queries = append(queries, q.Query)
	}
	results := []answer{}
	for _, text := range queries {
		body, qc, err := q.body(c, text)
		if err != nil {
			results = append(results, answer{"errors": described(err)})
			continue
		}
		for _, input := range inputs {
			results = append(results, q.run(c, store, body, qc, input))
		}
	}
	return answer{"results": results}
}

type printed struct {
	File string `json:"file,omitempty"`
	Row  int    `json:"row,omitempty"`
	Text string `json:"text"`
}

type printer struct{ lines []printed }

func (p *printer) Print(c print.Context, text string) error {
	line := printed{Text: text}
	if c.Location != nil {
		line.File, line.Row = c.Location.File, c.Location.Row
	}
	p.lines = append(p.lines, line)
	return nil
}

// zeros is a source of randomness that only returns zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// now is the time of every evaluation.
var now = time.Unix(1700000000, 123456789)

func (q *question) run(c *ast.Compiler, store storage.Store, body ast.Body, qc ast.QueryCompiler, input *ast.Term) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = answer{"panic": strings.SplitN(strings.TrimSpace(toString(r)), "\n", 2)[0]}
		}
	}()
	ctx := context.Background()
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return answer{"failed": err.Error()}
	}
	defer store.Abort(ctx, txn)
	trace := []call{}
	functions := make(map[string]*topdown.Builtin, len(q.Host))
	for i := range q.Host {
		h := &q.Host[i]
		functions[h.Name] = &topdown.Builtin{Decl: h.declaration(), Func: h.function(&trace)}
	}
	limit := 5 * time.Second
	if q.TimeoutMS > 0 {
		limit = time.Duration(q.TimeoutMS) * time.Millisecond
	}
	cancel := topdown.NewCancel()
	timer := time.AfterFunc(limit, cancel.Cancel)
	defer timer.Stop()
	out := &printer{}
	var failed []topdown.Error
	run := topdown.NewQuery(body).
		WithQueryCompiler(qc).
		WithCompiler(c).
		WithStore(store).
		WithTransaction(txn).
		WithInput(input).
		WithBuiltins(functions).
		WithStrictBuiltinErrors(q.StrictErrors).
		WithIndexing(!q.NoIndex).
		WithEarlyExit(!q.NoEarlyExit).
		WithPrintHook(out).
		WithSeed(zeros{}).
		WithTime(now).
		WithCancel(cancel)
	if !q.StrictErrors {
		run = run.WithBuiltinErrorList(&failed)
	}
	rows, err := run.Run(ctx)
	a = answer{}
	if err != nil {
		a["error"] = described(err)[0]
	} else {
		a["rows"] = q.rows(rows, qc)
	}
	if len(out.lines) > 0 {
		a["prints"] = out.lines
	}
	if len(trace) > 0 {
		a["calls"] = trace
	}
	if len(failed) > 0 {
		list := make([]problem, 0, len(failed))
		for i := range failed {
			list = append(list, described(&failed[i])[0])
		}
		a["failures"] = list
	}
	return a
}

// rows returns the bindings of each solution, by their names in the query. The value of a query with
// one expression is `value`.
func (q *question) rows(rows topdown.QueryResultSet, qc ast.QueryCompiler) []map[string]any {
	named := make([]map[string]any, 0, len(rows))
	rewritten := qc.RewrittenVars()
	for _, row := range rows {
		one := make(map[string]any, len(row))
		for name, term := range row {
			if original, ok := rewritten[name]; ok {
				name = original
			}
			if name.IsGenerated() || strings.HasPrefix(string(name), "$") || strings.HasPrefix(string(name), "__") {
				continue
			}
			if q.Terms {
				one[string(name)] = term.Value.String()
			} else {
				one[string(name)] = canonical(term.Value)
			}
		}
		named = append(named, one)
	}
	if len(named) > 1 {
		sort.SliceStable(named, func(i, j int) bool {
			a, _ := marshal(named[i])
			b, _ := marshal(named[j])
			return bytes.Compare(a, b) < 0
		})
	}
	return named
}

// callBuiltin calls a built-in function directly, without the type checker.
func callBuiltin(q *question) answer {
	var operands []*ast.Term
	for _, text := range q.Args {
		t, err := jsonTerm(text)
		if err != nil {
			return answer{"failed": err.Error()}
		}
		operands = append(operands, t)
	}
	for _, text := range q.ArgTerms {
		t, err := regoTerm(text)
		if err != nil {
			return answer{"failed": err.Error()}
		}
		operands = append(operands, t)
	}
	f := topdown.GetBuiltin(q.Name)
	if f == nil {
		return answer{"failed": "no such function: " + q.Name}
	}
	values := []string{}
	err := f(topdown.BuiltinContext{
		Context: context.Background(),
		Cancel:  topdown.NewCancel(),
		Time:    ast.NumberTerm(json.Number(strconv.FormatInt(now.UnixNano(), 10))),
		Seed:    zeros{},
		Cache:   builtins.Cache{},
		Runtime: ast.ObjectTerm(),
	}, operands, func(t *ast.Term) error {
		if t != nil {
			values = append(values, canonical(t.Value))
		}
		return nil
	})
	if err != nil {
		a := answer{"error": described(err)[0]}
		if halt, ok := err.(topdown.Halt); ok {
			a["error"], a["halt"] = described(halt.Err)[0], true
		}
		return a
	}
	return answer{"values": values}
}

// compare sorts constant terms.
func compare(q *question) answer {
	var terms []*ast.Term
	for _, text := range q.ArgTerms {
		t, err := regoTerm(text)
		if err != nil {
			return answer{"failed": err.Error()}
		}
		terms = append(terms, t)
	}
	sort.SliceStable(terms, func(i, j int) bool { return terms[i].Value.Compare(terms[j].Value) < 0 })
	sorted := make([]string, len(terms))
	for i, t := range terms {
		sorted[i] = canonical(t.Value)
	}
	return answer{"sorted": sorted}
}
