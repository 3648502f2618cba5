//! Checks of arguments that several functions share.
//!
//! Owns the forms (digest, UUID, limit, filter objects) and the message of a violation. Each
//! function declares the forms of its own arguments.

use std::collections::BTreeMap;

use crate::rego::Value;
use crate::rego::value::Object;

use super::describe;
use super::{Field, Function, Type};
use crate::text::{nearest, shorten, with_part};
use crate::{Error, Product};

/// An argument that doesn't have its declared form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    /// The argument's name, with the key within it if there is one: `filters.kind`.
    pub argument: String,
    pub message: String,
    pub hint: Option<String>,
}

impl Invalid {
    pub fn new(argument: impl Into<String>, message: impl Into<String>) -> Self {
        Self { argument: argument.into(), message: message.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn into_error(self, function: &Function, product: &Product) -> Error {
        let error =
            Error::invalid_argument(format!("argument `{}` {}", self.argument, self.message));
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error.with_hint(function.called_as(product)),
        }
    }
}

type Checked<T> = Result<T, Invalid>;

pub(crate) fn argument(arguments: &[Value], index: usize) -> &Value {
    static MISSING: Value = Value::Null;
    arguments.get(index).unwrap_or(&MISSING)
}

pub(crate) fn string(name: &str, value: &Value) -> Checked<String> {
    match value {
        Value::String(text) => Ok(text.to_string()),
        other => Err(Invalid::new(name, format!("is {}, expected a string", describe(other)))),
    }
}

/// A string of at least one character, none of them a control character.
pub(crate) fn text(name: &str, value: &Value) -> Checked<String> {
    let text = string(name, value)?;
    if text.is_empty() {
        let empty = Invalid::new(name, "is empty");
        // Only a filter is a key that can be left out.
        let filter = name.contains('.');
        return Err(if filter { empty.hint("leave the key out for no filter") } else { empty });
    }
    if text.len() > 4096 {
        return Err(Invalid::new(name, format!("is {} bytes long, the limit is 4096", text.len())));
    }
    if text.chars().any(char::is_control) {
        let message = format!("is `{}`, which contains a control character", shorten(&text, 80));
        return Err(Invalid::new(name, message));
    }
    Ok(text)
}

/// Checks an opaque identifier, which becomes one segment of a path.
pub(crate) fn identifier(name: &str, value: &Value) -> Checked<String> {
    let text = text(name, value)?;
    let dots = text.replace("%2e", ".").replace("%2E", ".");
    if dots == "." || dots == ".." {
        return Err(Invalid::new(name, format!("is `{text}`, which isn't a valid identifier")));
    }
    Ok(text)
}

/// The digest algorithms that the service supports, with the lengths of their hex digits.
const ALGORITHMS: &[(&str, usize)] = &[("sha256", 64), ("sha1", 40), ("sha512", 128)];

/// Returns `true` if `text` is a well-formed digest of one of `algorithms`.
pub(crate) fn is_digest(text: &str, algorithms: &[&str]) -> bool {
    text.split_once(':').is_some_and(|(algorithm, hex)| {
        algorithms.contains(&algorithm)
            && ALGORITHMS.iter().any(|(name, length)| *name == algorithm && hex.len() == *length)
            && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

pub(crate) fn digest(name: &str, value: &Value, algorithms: &[&str]) -> Checked<String> {
    let text = string(name, value)?;
    if is_digest(&text, algorithms) {
        return Ok(text);
    }
    let forms: Vec<String> = ALGORITHMS
        .iter()
        .filter(|(name, _)| algorithms.contains(name))
        .map(|(name, length)| format!("`{name}:<{length} lowercase hex digits>`"))
        .collect();
    let invalid =
        Invalid::new(name, format!("is `{}`, which isn't a valid digest", shorten(&text, 100)));
    Err(match text.rsplit_once('@') {
        Some((image, own)) if is_digest(own, algorithms) => {
            let image = shorten(image, 60);
            invalid.hint(format!("cut `{image}@`, as in `split(image, \"@\")[1]`"))
        }
        _ => invalid.hint(format!("write {}", forms.join(" or "))),
    })
}

pub(crate) fn uuid(name: &str, value: &Value) -> Checked<String> {
    let text = string(name, value)?;
    // Only the usual hyphenated form: the parser takes braces and URN prefixes, the service
    // doesn't.
    match uuid::Uuid::try_parse(&text) {
        Ok(_) if text.len() == 36 => Ok(text.to_ascii_lowercase()),
        _ => Err(Invalid::new(
            name,
            format!("is `{}`, which isn't a valid UUID", shorten(&text, 80)),
        )
        .hint("it looks like `123e4567-e89b-12d3-a456-426614174000`")),
    }
}

/// Checks a bound on results: a whole number of at least 1.
pub(crate) fn limit(name: &str, value: &Value) -> Checked<u64> {
    let Value::Number(number) = value else {
        let message = format!("is {}, expected a whole number", describe(value));
        return Err(Invalid::new(name, message));
    };
    match number.as_u64() {
        Some(limit) if limit >= 1 => Ok(limit),
        _ => Err(Invalid::new(name, format!("is {value}, expected a whole number ≥ 1"))),
    }
}

pub(crate) fn boolean(name: &str, value: &Value) -> Checked<bool> {
    match value {
        Value::Bool(b) => Ok(*b),
        other => Err(Invalid::new(name, format!("is {}, expected a boolean", describe(other)))),
    }
}

/// Checks an array (or set) of at least one element, each with `each`; sorted, without duplicates.
pub(crate) fn list<T: Ord>(
    name: &str,
    value: &Value,
    each: impl Fn(&str, &Value) -> Checked<T>,
) -> Checked<Vec<T>> {
    let items: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Set(items) => items.iter().collect(),
        other => {
            let invalid = Invalid::new(name, format!("is {}, expected an array", describe(other)));
            return Err(match other {
                Value::String(text) if text.len() <= 80 => {
                    invalid.hint(format!("write `[{}]`", Value::from(text.clone()).to_json()))
                }
                _ => invalid,
            });
        }
    };
    if items.is_empty() {
        return Err(Invalid::new(name, "is empty").hint("leave the key out for no filter"));
    }
    let mut out = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        out.push(each(&format!("{name}[{index}]"), item)?);
    }
    out.sort();
    out.dedup();
    Ok(out)
}

/// Returns the entries of a filter object, all of whose keys are known.
pub(crate) fn filters<'a>(
    name: &str,
    value: &'a Value,
    fields: &[Field],
) -> Checked<BTreeMap<&'a str, &'a Value>> {
    let Value::Object(object) = value else {
        let message = format!("is {}, expected an object", describe(value));
        return Err(Invalid::new(name, message));
    };
    let mut out = BTreeMap::new();
    for (key, value) in object.iter() {
        let Value::String(key) = key else {
            return Err(Invalid::new(name, format!("has a key that is {}", describe(key))));
        };
        if !fields.iter().any(|f| f.name == key.as_ref()) {
            let error = Invalid::new(name, format!("has the unknown key `{}`", shorten(key, 80)));
            let known = || fields.iter().map(|f| f.name);
            let quoted = |name| format!("`{name}`");
            let near: Vec<_> = match nearest(key, known()) {
                Some(near) => vec![quoted(near)],
                None => with_part(key, known()).map(quoted).collect(),
            };
            return Err(error.hint(if near.is_empty() {
                let all: Vec<_> = known().map(quoted).collect();
                format!("the keys are {}", all.join(", "))
            } else {
                format!("did you mean {}?", near.join(" or "))
            }));
        }
        out.insert(key.as_ref(), value);
    }
    match fields.iter().find(|f| f.required && !out.contains_key(f.name)) {
        Some(missing) => {
            let message = format!("lacks the key `{}`", missing.name);
            Err(Invalid::new(name, message).hint(format!("it is required: a {}", missing.ty)))
        }
        None => Ok(out),
    }
}

/// The value of a checked filter, as it is sent in a query and shown in a normalised call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    One(String),
    Many(Vec<String>),
    Flag(bool),
}

/// The filters, and the `limit` among them.
pub(crate) type Filters = (Vec<(&'static str, Filter)>, Option<u64>);

/// Checks every filter of an object by its declared type; `limit` is returned on its own.
pub(crate) fn checked_filters(
    name: &str,
    value: &Value,
    fields: &'static [Field],
) -> Checked<Filters> {
    let given = filters(name, value, fields)?;
    let mut out = Vec::new();
    let mut bound = None;
    for field in fields {
        let Some(value) = given.get(field.name) else { continue };
        let path = format!("{name}.{}", field.name);
        let filter = match field.ty {
            Type::Integer => {
                bound = Some(limit(&path, value)?);
                continue;
            }
            Type::Boolean => Filter::Flag(boolean(&path, value)?),
            Type::Uuid => Filter::One(uuid(&path, value)?),
            Type::Array(Type::Uuid) => Filter::Many(list(&path, value, uuid)?),
            Type::Array(_) => Filter::Many(list(&path, value, text)?),
            // Enumerations are read by their own rule.
            Type::Either(..) => continue,
            _ => Filter::One(text(&path, value)?),
        };
        out.push((field.name, filter));
    }
    Ok((out, bound))
}

/// Converts checked filters to query parameters.
pub(crate) fn query(filters: &[(&'static str, Filter)]) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for (name, filter) in filters {
        match filter {
            Filter::One(text) => out.push((*name, text.clone())),
            Filter::Many(many) => out.extend(many.iter().map(|text| (*name, text.clone()))),
            Filter::Flag(flag) => out.push((*name, flag.to_string())),
        }
    }
    out
}

/// Converts checked filters back to the argument that they came from, in normal form.
pub(crate) fn normalised(filters: &[(&'static str, Filter)], limit: Option<u64>) -> Value {
    let mut object: Object = filters
        .iter()
        .map(|(name, filter)| {
            let value = match filter {
                Filter::One(text) => Value::from(text.as_str()),
                Filter::Many(many) => {
                    Value::from(many.iter().map(|t| Value::from(t.as_str())).collect::<Vec<_>>())
                }
                Filter::Flag(flag) => Value::Bool(*flag),
            };
            (Value::from(*name), value)
        })
        .collect();
    if let Some(limit) = limit {
        object.insert(Value::from("limit"), Value::from(limit));
    }
    Value::from(object)
}
