package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// canonical writes a value as text that a Rust program can write too: JSON without blanks, members
// in OPA's order, `<1,2>` for sets, keys of any type, numbers as OPA has them.
func canonical(v ast.Value) string {
	var b strings.Builder
	write(&b, v)
	return b.String()
}

func write(b *strings.Builder, v ast.Value) {
	switch v := v.(type) {
	case ast.Null:
		b.WriteString("null")
	case ast.Boolean:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case ast.Number:
		b.WriteString(string(v))
	case ast.String:
		quote(b, string(v))
	case *ast.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, v.Elem(i).Value)
		}
		b.WriteByte(']')
	case ast.Object:
		b.WriteByte('{')
		for i, key := range v.Keys() {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, key.Value)
			b.WriteByte(':')
			write(b, v.Get(key).Value)
		}
		b.WriteByte('}')
	case ast.Set:
		b.WriteByte('<')
		for i, element := range v.Slice() {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, element.Value)
		}
		b.WriteByte('>')
	default:
		fmt.Fprintf(b, "?%T %v", v, v)
	}
}

// quote writes a string as serde_json does.
func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"':
			b.WriteString(`\"`)
		case '\\':
			b.WriteString(`\\`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < 0x20 {
				fmt.Fprintf(b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
}

func marshal(a any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func ofCompiler(one *ast.Error) problem {
	described := problem{Code: one.Code, Message: one.Message}
	if one.Details != nil {
		described.Details = one.Details.Lines()
	}
	return place(described, one.Location)
}

// described converts an error; parsing and compilation can have several.
func described(err error) []problem {
	if err == nil {
		return nil
	}
	if many, ok := errors.AsType[ast.Errors](err); ok {
		list := make([]problem, 0, len(many))
		for _, one := range many {
			list = append(list, ofCompiler(one))
		}
		return list
	}
	if one, ok := errors.AsType[*ast.Error](err); ok {
		return []problem{ofCompiler(one)}
	}
	if one, ok := errors.AsType[*topdown.Error](err); ok {
		return []problem{place(problem{Code: one.Code, Message: one.Message}, one.Location)}
	}
	return []problem{{Code: "other", Message: err.Error()}}
}

func place(p problem, l *ast.Location) problem {
	if l != nil {
		p.File, p.Row, p.Col = l.File, l.Row, l.Col
	}
	return p
}

// jsonTerm reads JSON text; numbers keep their text.
func jsonTerm(text []byte) (*ast.Term, error) {
	v, err := ast.ValueFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return ast.NewTerm(v), nil
}

// regoTerm reads a constant term of Rego.
func regoTerm(text string) (*ast.Term, error) {
	t, err := ast.ParseTerm(text)
	if err != nil {
		return nil, err
	}
	if !ast.IsConstant(t.Value) {
		return nil, fmt.Errorf("not a constant: %s", text)
	}
	return t, nil
}
