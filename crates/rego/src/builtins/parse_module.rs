//! `rego.parse_module`: the syntax tree of a module, in OPA's JSON format.

use super::encoding_rules::to_base64;
use super::operands::{answer, operand, string};
use super::{Answer, Context, Error};
use crate::syntax::tree::{
    Body, Comment, Expr, ExprKind, FileId, Head, Import, Module, Rule, Template, TemplatePart,
    Term, TermKind,
};
use crate::syntax::{BaseVersion, ParseOptions, parse_module};
use crate::value::{Value, deeper};

pub(super) fn parse(ctx: &dyn Context, args: &[Value]) -> Answer {
    let name = string(args, 0)?;
    // OPA reports the text as the first operand, too.
    let text = operand(args, 1)?;
    let text = text.as_str().ok_or_else(|| Error::operand(1, text, &["string"]))?;
    // Each letter may become a term with a few members.
    ctx.charge(text.len() as u64 * 64)?;
    let options = ParseOptions::version(BaseVersion::V1);
    let module = parse_module(FileId(0), text, &options).map_err(|problems| {
        let first = problems.first().map(|problem| problem.message.clone());
        Error::failed(format!("rego_parse_error: {}", first.unwrap_or_default()))
    })?;
    answer(module_value(&module, name, text))
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect()
}

/// Builds an object without the members that have no value.
fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The value of a member that is present only if it's `true`.
fn flag(set: bool) -> Option<Value> {
    set.then(|| Value::from(true))
}

fn list<T>(items: &[T], show: impl Fn(&T) -> Value) -> Value {
    Value::from(items.iter().map(show).collect::<Vec<_>>())
}

/// Converts a list, unless it's empty.
fn some_list<T>(items: &[T], show: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| list(items, show))
}

fn module_value(module: &Module, name: &str, text: &str) -> Value {
    let import = |import: &Import| {
        let alias = import.alias.as_ref().map(|(alias, _)| Value::from(&**alias));
        present([("path", Some(term(&import.path))), ("alias", alias)])
    };
    let comment = |found: &Comment| comment(found, name, text);
    present([
        ("package", Some(object([("path", reference(&module.package.path))]))),
        ("imports", some_list(&module.imports, import)),
        ("rules", some_list(&module.rules, rule)),
        ("comments", some_list(&module.comments, comment)),
    ])
}

fn comment(comment: &Comment, name: &str, text: &str) -> Value {
    let before = text.get(..comment.span.start as usize).unwrap_or_default();
    let row = before.matches('\n').count() + 1;
    let line = before.rsplit('\n').next().unwrap_or_default();
    let location = object([
        ("col", Value::from(line.chars().count() + 1)),
        ("file", Value::from(name)),
        ("row", Value::from(row)),
    ]);
    object([("Location", location), ("Text", Value::from(to_base64(comment.text.as_bytes())))])
}

fn rule(rule: &Rule) -> Value {
    let otherwise = rule.else_rule.as_ref();
    present([
        ("head", Some(head(&rule.head, rule.default))),
        ("body", Some(body(&rule.body))),
        ("default", flag(rule.default)),
        ("else", otherwise.map(|otherwise| deeper(|| self::rule(otherwise)))),
    ])
}

fn head(head: &Head, default: bool) -> Value {
    // OPA keeps `name` from the time when a head was a plain name, possibly with a key.
    let named = match head.reference.len() {
        1 => true,
        2 if default || head.has_contains => false,
        2 if head.has_if => !head.generated_value,
        2 => head.args.is_empty(),
        _ => false,
    };
    let name = head.reference.first().filter(|_| named).and_then(|first| match &first.kind {
        TermKind::Var(name) => Some(Value::from(&**name)),
        _ => None,
    });
    present([
        ("name", name),
        ("ref", Some(reference(&head.reference))),
        ("args", some_list(&head.args, term)),
        ("key", head.key.as_ref().map(term)),
        ("value", head.value.as_ref().map(term)),
        ("assign", flag(head.assign)),
    ])
}

fn body(body: &Body) -> Value {
    let exprs = body.iter().zip(0_i64..).map(|(statement, index)| expr(statement, index));
    Value::from(exprs.collect::<Vec<_>>())
}

fn expr(expr: &Expr, index: i64) -> Value {
    let terms = deeper(|| match &expr.kind {
        ExprKind::Term(inner) => term(inner),
        ExprKind::Call(parts) => call(parts),
        ExprKind::Some(decl) => object([("symbols", terms(&decl.symbols))]),
        ExprKind::Every(every) => object([
            ("body", body(&every.body)),
            ("domain", term(&every.domain)),
            ("key", every.key.as_ref().map_or(Value::Null, term)),
            ("value", term(&every.value)),
        ]),
        ExprKind::Not(not) => object([
            ("body", body(&not.body)),
            ("explicit_body", Value::from(not.explicit)),
            ("type", Value::from("not")),
        ]),
        ExprKind::And(logical) | ExprKind::Or(logical) => {
            let and = matches!(expr.kind, ExprKind::And(_));
            present([
                ("type", Some(Value::from(if and { "and" } else { "or" }))),
                ("lhs", Some(body(&logical.left))),
                ("rhs", Some(body(&logical.right))),
                ("explicit_lhs", flag(logical.explicit_left)),
                ("explicit_rhs", flag(logical.explicit_right)),
            ])
        }
    });
    let with = some_list(&expr.with, |modifier| {
        object([("target", term(&modifier.target)), ("value", term(&modifier.value))])
    });
    present([
        ("index", Some(Value::from(index))),
        ("terms", Some(terms)),
        ("with", with),
        ("generated", flag(expr.generated)),
        ("negated", flag(expr.negated)),
    ])
}

fn terms(items: &[Term]) -> Value {
    list(items, term)
}

fn variable(name: &str) -> Value {
    object([("type", Value::from("var")), ("value", Value::from(name))])
}

/// Converts a reference, whose first part is always a variable.
fn reference(parts: &[Term]) -> Value {
    let part = |(index, part): (usize, &Term)| match &part.kind {
        TermKind::Var(name) if index == 0 => variable(name),
        _ => term(part),
    };
    Value::from(parts.iter().enumerate().map(part).collect::<Vec<_>>())
}

/// Converts a call, in which the callee is a reference even if it is a single word.
fn call(parts: &[Term]) -> Value {
    let part = |(index, part): (usize, &Term)| match &part.kind {
        TermKind::Var(name) if index == 0 => root(name),
        _ => term(part),
    };
    Value::from(parts.iter().enumerate().map(part).collect::<Vec<_>>())
}

/// Returns a reference that consists of a single variable.
fn root(name: &str) -> Value {
    let parts = Value::from(vec![variable(name)]);
    object([("type", Value::from("ref")), ("value", parts)])
}

fn term(parsed: &Term) -> Value {
    if let TermKind::Var(name) = &parsed.kind
        && matches!(&**name, "input" | "data")
    {
        return root(name);
    }
    if let TermKind::Group(inner) = &parsed.kind {
        return deeper(|| term(inner));
    }
    let (kind, value) = deeper(|| match &parsed.kind {
        TermKind::Null | TermKind::Group(_) => ("null", Value::new_object()),
        TermKind::Bool(value) => ("boolean", Value::from(*value)),
        TermKind::Number(number) => ("number", Value::from(number.clone())),
        TermKind::String(text) => ("string", Value::from(&**text)),
        TermKind::Template(inner) => ("templatestring", template(inner)),
        TermKind::Var(name) => ("var", Value::from(&**name)),
        TermKind::Ref(parts) => ("ref", reference(parts)),
        TermKind::Array(items) => ("array", terms(items)),
        TermKind::Call(parts) => ("call", call(parts)),
        TermKind::Set(items) => {
            let mut elements: Vec<Value> = items.iter().map(term).collect();
            elements.dedup();
            ("set", Value::from(elements))
        }
        TermKind::Object(members) => {
            // Of consecutive equal keys, the last one counts.
            let mut pairs: Vec<(Value, Value)> = Vec::new();
            for (key, value) in members {
                let (key, value) = (term(key), term(value));
                match pairs.last_mut() {
                    Some((last, slot)) if *last == key => *slot = value,
                    _ => pairs.push((key, value)),
                }
            }
            let pairs = pairs.into_iter().map(|(key, value)| Value::from(vec![key, value]));
            ("object", Value::from(pairs.collect::<Vec<_>>()))
        }
        TermKind::Comprehension(_, inner) => {
            let (statements, value) = (("body", body(&inner.body)), term(&inner.value));
            let parts = match &inner.key {
                None => object([statements, ("term", value)]),
                Some(key) => object([statements, ("key", term(key)), ("value", value)]),
            };
            (parsed.kind.name(), parts)
        }
    });
    object([("type", Value::from(kind)), ("value", value)])
}

fn template(parsed: &Template) -> Value {
    let parts = list(&parsed.parts, |part| match part {
        TemplatePart::Text(text) => term(text),
        TemplatePart::Expr(inner) => expr(inner, 0),
    });
    let parts = if parsed.parts.is_empty() { Value::Null } else { parts };
    object([("multi_line", Value::from(parsed.raw)), ("parts", parts)])
}
