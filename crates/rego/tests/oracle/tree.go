package main

import (
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/open-policy-agent/opa/v1/util"
)

func toString(x any) string { return fmt.Sprint(x) }

// parse returns whether OPA's parser accepts a text, and its tree.
func parse(q *question) answer {
	options := q.parserOptions()
	var node fmt.Stringer
	var err error
	switch q.Kind {
	case "", "module":
		var module *ast.Module
		module, err = ast.ParseModuleWithOpts("policy.rego", q.Text, options)
		if module == nil && err == nil {
			return answer{"ok": true, "text": ""}
		}
		node = module
	case "query":
		node, err = ast.ParseBodyWithOpts(q.Text, options)
	case "term":
		node, err = ast.ParseTerm(q.Text)
	default:
		return answer{"failed": "no such kind of text: " + q.Kind}
	}
	if err != nil {
		return answer{"ok": false, "errors": described(err)}
	}
	a := answer{"ok": true, "text": node.String()}
	if q.JSON {
		text, err := json.Marshal(node)
		if err != nil {
			return answer{"failed": err.Error()}
		}
		a["json"] = json.RawMessage(text)
	}
	return a
}

// stages returns the modules after each stage of OPA's compiler; texts that a stage doesn't change
// are left out.
func stages(q *question) answer {
	modules, errs := q.parsed()
	if len(errs) > 0 {
		return answer{"errors": described(errs)}
	}
	c, err := q.compiler()
	if err != nil {
		return answer{"failed": err.Error()}
	}
	type stage struct {
		Name    string            `json:"name"`
		Modules map[string]string `json:"modules,omitempty"`
		Query   string            `json:"query,omitempty"`
	}
	list := []*stage{}
	last := map[string]string{}
	for _, id := range ast.AllStages() {
		c = c.WithStageAfterID(id, ast.CompilerStageDefinition{
			Name:       "after" + string(id),
			MetricName: "after",
			Stage: func(c *ast.Compiler) *ast.Error {
				s := &stage{Name: string(id), Modules: map[string]string{}}
				for _, name := range util.KeysSorted(c.Modules) {
					if text := c.Modules[name].String(); text != last[name] {
						last[name], s.Modules[name] = text, text
					}
				}
				list = append(list, s)
				return nil
			},
		})
	}
	c.Compile(modules)
	a := answer{}
	if c.Failed() {
		a["errors"] = described(c.Errors)
	} else if q.Query != "" {
		body, err := ast.ParseBodyWithOpts(q.Query, q.queryOptions())
		if err != nil {
			return answer{"errors": described(err)}
		}
		qc := c.QueryCompiler().WithEnablePrintStatements(true)
		before := ""
		for _, id := range append(ast.AllStages(), ast.StageCheckSafety) {
			qc = qc.WithStageAfterID(id, ast.QueryCompilerStageDefinition{
				Name:       "after" + string(id),
				MetricName: "after",
				Stage: func(_ ast.QueryCompiler, b ast.Body) (ast.Body, error) {
					if text := b.String(); text != before {
						before = text
						list = append(list, &stage{Name: "query:" + string(id), Query: text})
					}
					return b, nil
				},
			})
		}
		if _, err := qc.Compile(body); err != nil {
			a["errors"] = described(err)
		}
	}
	a["stages"] = list
	return a
}

// typesOf returns the types that OPA infers for the rules, by path.
func typesOf(q *question) answer {
	c, errs, err := q.compiled()
	if err != nil {
		return answer{"failed": err.Error()}
	}
	if errs != nil {
		return answer{"errors": described(errs)}
	}
	inferred := map[string]string{}
	for _, module := range c.Modules {
		for _, rule := range module.Rules {
			path := rule.Ref().GroundPrefix()
			if t := c.TypeEnv.GetByRef(path); t != nil {
				inferred[path.String()] = types.Sprint(t)
			}
		}
	}
	a := answer{"types": inferred}
	if q.Query != "" {
		body, err := ast.ParseBodyWithOpts(q.Query, q.queryOptions())
		if err != nil {
			return answer{"errors": described(err)}
		}
		qc := c.QueryCompiler()
		if _, err := qc.Compile(body); err != nil {
			return answer{"errors": described(err)}
		}
		variables := map[string]string{}
		for generated, name := range qc.RewrittenVars() {
			if t := qc.TypeEnv().GetByValue(generated); t != nil {
				variables[string(name)] = types.Sprint(t)
			}
		}
		a["variables"] = variables
	}
	return a
}

// formatted returns the output of `opa fmt` for a text.
func formatted(q *question) answer {
	options := q.parserOptions()
	if q.Read != "" {
		options.RegoVersion = versionOf(q.Read)
	}
	text, err := format.SourceWithOpts("policy.rego", []byte(q.Text), format.Opts{
		RegoVersion:   versionOf(q.Version),
		ParserOptions: &options,
	})
	if err != nil {
		return answer{"errors": described(err)}
	}
	return answer{"text": string(text)}
}
