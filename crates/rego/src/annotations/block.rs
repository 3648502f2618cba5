//! The YAML of one block, and the values that each field may have.

use super::{
    Annotations, Author, CompileAnnotation, RelatedResource, Schema, SchemaAnnotation, Scope,
    Target, uri,
};
use crate::syntax::parser::{self, ParseOptions};
use crate::syntax::tree::{Comment, FileId, Span, Term, TermKind};
use crate::types::terms;
use crate::value::{Array, Object, Value};
use crate::yaml::{FieldType, fields};

/// Reads a block: its first comment and those that follow. An error carries its position.
pub(super) fn read(first: &Comment, lines: &[&Comment]) -> Result<Annotations, (Span, String)> {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.text.strip_prefix(' ').unwrap_or(&line.text));
        text.push('\n');
    }
    if text.trim().is_empty() {
        return Err((first.span, "expected METADATA block, found whitespace".to_owned()));
    }
    let mut fields = fields(&text, field_type).map_err(|error| {
        let (at, message) = match error.line() {
            Some(line) => {
                (lines.get(line).or(lines.last()), format!("yaml: line {line}: {}", error.message))
            }
            None => (lines.first(), format!("yaml: {}", error.message)),
        };
        (at.map_or(first.span, |line| line.span), with_hints(message, lines))
    })?;
    fill(&mut fields, first.span).map_err(|message| (first.span, message))
}

fn field_type(name: &str) -> Option<FieldType> {
    Some(match name {
        "scope" | "title" | "description" => FieldType::Text,
        "organizations" => FieldType::Texts,
        "compile" | "custom" | "labels" => FieldType::Mapping,
        "schemas" => FieldType::Mappings,
        "entrypoint" => FieldType::Any,
        "related_resources" | "authors" => FieldType::Undated,
        _ => return None,
    })
}

/// Adds hints about characters after a `:` that look like spaces but aren't.
fn with_hints(mut message: String, lines: &[&Comment]) -> String {
    use std::fmt::Write as _;
    for (at, line) in lines.iter().enumerate() {
        let mut parts = line.text.split(':').skip(1).peekable();
        let mut bad = Vec::new();
        while let Some(part) = parts.next() {
            match part.chars().next() {
                Some(' ' | '\t') => break,
                None if parts.peek().is_none() => break,
                None => bad.push("'\\ufffd'".to_owned()),
                Some(c) => bad.push(c.escape_default().to_string()),
            }
        }
        if !bad.is_empty() {
            let bad = bad.join(" ");
            let _ = write!(
                message,
                "\n  Hint: in line {} of the block, symbol(s) [{bad}] immediately following a key/value separator ':' is not a legal yaml space character",
                at + 1
            );
        }
    }
    message
}

fn fill(fields: &mut Object, span: Span) -> Result<Annotations, String> {
    let mut take = |name: &str| fields.remove(&Value::from(name)).unwrap_or(Value::Null);
    let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
    Ok(Annotations {
        scope: Scope::of(text(take("scope"))),
        title: text(take("title")),
        description: text(take("description")),
        entrypoint: boolean(&take("entrypoint"))?,
        organizations: list(take("organizations"), "[]string")?.into_iter().map(text).collect(),
        related_resources: each(take("related_resources"), "[]interface {}", |value| {
            let failed =
                |why| format!("invalid related-resource definition {}: {why}", shown(&value));
            related_resource(&value).map_err(failed)
        })?,
        schemas: each(take("schemas"), "[]map[string]interface {}", schema)?,
        authors: each(take("authors"), "[]interface {}", |value| {
            let failed = |why| format!("invalid author definition {}: {why}", shown(&value));
            author(&value).map_err(failed)
        })?,
        compile: match take("compile") {
            Value::Null => None,
            target => Some(compile(&mapping(target)?)?),
        },
        custom: values(mapping(take("custom"))?)?,
        labels: values(mapping(take("labels"))?)?,
        span,
        target: Target::None,
    })
}

/// Reads the elements of a list.
fn each<T>(
    value: Value,
    wanted: &str,
    read: impl FnMut(Value) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    list(value, wanted)?.into_iter().map(read).collect()
}

fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(boolean) => Ok(*boolean),
        Value::String(text) => match &**text {
            "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Ok(true),
            "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Ok(false),
            _ => Err(format!("yaml: unmarshal errors: cannot unmarshal !!str `{text}` into bool")),
        },
        other => Err(format!("yaml: unmarshal errors: cannot unmarshal {} into bool", tag(other))),
    }
}

fn list(value: Value, wanted: &str) -> Result<Array, String> {
    match value {
        Value::Null => Ok(Array::new()),
        Value::Array(items) => Ok(items.to_vec()),
        other => {
            Err(format!("yaml: unmarshal errors: cannot unmarshal {} into {wanted}", tag(&other)))
        }
    }
}

fn mapping(value: Value) -> Result<Object, String> {
    match value {
        Value::Null => Ok(Object::new()),
        Value::Object(members) => Ok(Object::clone(&members)),
        other => Err(format!(
            "yaml: unmarshal errors: cannot unmarshal {} into map[string]interface {{}}",
            tag(&other)
        )),
    }
}

fn tag(value: &Value) -> &'static str {
    match value {
        Value::Null => "!!null",
        Value::Bool(_) => "!!bool",
        Value::Number(number) if number.as_i64().is_some() => "!!int",
        Value::Number(_) => "!!float",
        Value::String(_) => "!!str",
        Value::Array(_) | Value::Set(_) => "!!seq",
        Value::Object(_) => "!!map",
    }
}

fn shown(value: &Value) -> String {
    crate::types::shown_key(value)
}

fn values(members: Object) -> Result<Object, String> {
    for value in members.values() {
        check_keys(value, &mut Vec::new())?;
    }
    Ok(members)
}

/// Checks that the keys of a mapping are strings. As in OPA, values of mappings aren't checked.
fn check_keys(value: &Value, path: &mut Vec<String>) -> Result<(), String> {
    match value {
        Value::Object(members) if members.keys().any(|key| key.as_str().is_none()) => {
            Err(format!("invalid map key type(s): {}", path.join("/")))
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(at.to_string());
                check_keys(item, path)?;
                path.pop();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn string_of(members: &Object, name: &str) -> String {
    members
        .get(&Value::from(name))
        .and_then(Value::as_str)
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

fn related_resource(value: &Value) -> Result<RelatedResource, String> {
    check_keys(value, &mut Vec::new())?;
    match value {
        Value::String(text) if text.is_empty() => Err("ref URL may not be empty string".to_owned()),
        Value::String(text) => {
            Ok(RelatedResource { address: uri::normalize(text)?, description: String::new() })
        }
        Value::Object(members) => {
            let address = string_of(members, "ref");
            if address.is_empty() {
                return Err("'ref' value required in object".to_owned());
            }
            Ok(RelatedResource {
                address: uri::normalize(&address)?,
                description: string_of(members, "description"),
            })
        }
        _ => Err("invalid value type, must be string or map".to_owned()),
    }
}

fn author(value: &Value) -> Result<Author, String> {
    check_keys(value, &mut Vec::new())?;
    match value {
        Value::String(text) => {
            let mut words: Vec<&str> = text.split_whitespace().collect();
            let last = *words.last().ok_or("author is an empty string")?;
            let email = last.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
            if email.is_some() {
                words.pop();
            }
            Ok(Author { name: words.join(" "), email: email.unwrap_or_default().to_owned() })
        }
        Value::Object(members) => {
            let (name, email) = (string_of(members, "name"), string_of(members, "email"));
            if name.is_empty() && email.is_empty() {
                return Err("'name' and/or 'email' values required in object".to_owned());
            }
            Ok(Author { name, email })
        }
        _ => Err("invalid value type, must be string or map".to_owned()),
    }
}

/// Parses a text as a term.
fn term(text: &str) -> Option<Term> {
    parser::parse_term(FileId(u32::MAX), text, &ParseOptions::default()).ok()
}

/// Parses a text as a reference; like OPA, takes no single variable except `input` and `data`.
fn reference(text: &str) -> Option<Vec<Term>> {
    let term = term(text)?;
    terms::reference(&term).map(<[Term]>::to_vec)
}

fn schema(value: Value) -> Result<SchemaAnnotation, String> {
    let pair = mapping(value)?.into_iter().next();
    let (key, value) = pair.unwrap_or((Value::from(""), Value::Null));
    let key = key.as_str().unwrap_or_default();
    let path = reference(key).ok_or("invalid document reference")?;
    let schema = match value {
        Value::String(text) => {
            let read = term(&text).map(Term::into_ref_parts);
            let read = read.filter(|parts| parts.first().is_some_and(|head| head.is_var("schema")));
            Schema::Reference(read.ok_or("invalid schema reference")?)
        }
        Value::Object(_) => {
            check_keys(&value, &mut Vec::new())
                .map_err(|_| format!("invalid schema declaration for path \"{key}\""))?;
            Schema::Definition(value)
        }
        _ => return Err(format!("invalid schema declaration for path \"{key}\"")),
    };
    Ok(SchemaAnnotation { path, schema })
}

fn compile(members: &Object) -> Result<CompileAnnotation, String> {
    let mut read = CompileAnnotation::default();
    if let Some(Value::Array(items)) = members.get(&Value::from("unknowns")) {
        for text in items.iter().filter_map(Value::as_str) {
            let unknown =
                reference(text).ok_or_else(|| format!("invalid unknowns element \"{text}\""))?;
            read.unknowns.push(unknown);
        }
    }
    if let Some(Value::String(text)) = members.get(&Value::from("mask_rule")) {
        let mut mask =
            term(text).ok_or_else(|| format!("invalid mask_rule annotation \"{text}\""))?;
        read.mask_rule = Some(match &mut mask.kind {
            TermKind::Ref(parts) => std::mem::take(parts),
            TermKind::Var(_) | TermKind::String(_) => vec![mask],
            _ => return Err(format!("invalid mask_rule annotation type \"{text}\": string")),
        });
    }
    Ok(read)
}
