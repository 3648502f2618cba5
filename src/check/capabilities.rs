//! The functions as an OPA capabilities document, with which OPA's own tools and editors accept
//! them.
//!
//! Owns the translation of signatures, which are those of this crate's own type checker, so that both
//! refuse the same calls. They are less precise than the table of functions: OPA has one type for all
//! strings, and no optional keys.

use serde_json::{Map, Value, json};

use crate::functions::{Function, Type};
use crate::load::{HostFunction, LoadOptions};
use crate::rego;
use crate::rego::internal::types;
use crate::{Error, Product};

/// Returns a document with only the functions of `options`, the service's and the host's.
pub fn capabilities(options: &LoadOptions) -> Value {
    json!({ "builtins": builtins(options) })
}

/// Adds the functions of `options` to the built-ins of `document`, replacing any of the same name.
///
/// # Errors
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when `document` isn't a capabilities document.
pub fn merged(mut document: Value, options: &LoadOptions) -> Result<Value, Error> {
    listed(&document)?;
    let known = document.get_mut("builtins").and_then(Value::as_array_mut);
    let Some(known) = known else { return Ok(document) };
    for ours in builtins(options) {
        match known.iter_mut().find(|b| b.get("name") == ours.get("name")) {
            Some(same) => *same = ours,
            None => known.push(ours),
        }
    }
    Ok(document)
}

/// Returns the built-ins of a capabilities document, which all have a name and a declaration.
fn listed(document: &Value) -> Result<&[Value], Error> {
    let refused = |why: &str| {
        Error::configuration(format!("invalid capabilities document: {why}"))
            .with_hint("`opa capabilities --current` writes one")
    };
    let known = document
        .as_object()
        .ok_or_else(|| refused("it isn't an object"))?
        .get("builtins")
        .ok_or_else(|| refused("it has no `builtins`"))?
        .as_array()
        .ok_or_else(|| refused("`builtins` isn't an array"))?;
    let is_builtin = |b: &Value| {
        b.get("name").is_some_and(Value::is_string) && b.get("decl").is_some_and(Value::is_object)
    };
    if known.iter().all(is_builtin) {
        Ok(known)
    } else {
        Err(refused("one of `builtins` has no `name` or no `decl`"))
    }
}

/// Returns the functions of a capabilities document that neither Rego nor the service has: a host
/// implements them, and tests replace them with `with`. A policy that calls one of them loads; an
/// evaluation that reaches such a call fails with [`ErrorKind::NotAnswered`](crate::ErrorKind::NotAnswered).
///
/// # Errors
/// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when `document` isn't a capabilities document.
pub fn declared_functions(document: &Value, product: &Product) -> Result<Vec<HostFunction>, Error> {
    let is_known = |name: &str| {
        let first = name.split('.').next().unwrap_or_default();
        rego::internal::builtins::lookup(name).is_some()
            || first == "internal"
            || first == product.as_str()
    };
    let mut functions: Vec<HostFunction> = Vec::new();
    for builtin in listed(document)? {
        let name = builtin.get("name").and_then(Value::as_str).unwrap_or_default();
        let decl = builtin.get("decl").unwrap_or(&Value::Null);
        // One with any number of arguments can't be declared.
        let is_new = !is_known(name) && functions.iter().all(|known| known.name() != name);
        if is_new && decl.get("variadic").is_none() {
            let arguments = decl.get("args").and_then(Value::as_array);
            let types = types::Function {
                args: arguments.into_iter().flatten().map(|ty| read_type(ty, 0)).collect(),
                result: decl.get("result").map_or_else(Default::default, |ty| read_type(ty, 0)),
                ..types::Function::default()
            };
            functions.push(HostFunction::typed(name, &types));
        }
    }
    Ok(functions)
}

/// The depth of types below which any value is accepted.
const MAX_DEPTH: usize = 32;

/// Reads a type as OPA writes it: the opposite of [`declared`].
fn read_type(ty: &Value, depth: usize) -> types::Type {
    use types::{Dynamic, Property, Type};
    if depth > MAX_DEPTH {
        return Type::any();
    }
    let part = |name: &str| ty.get(name).map(|part| read_type(part, depth + 1));
    let list = |name: &str| ty.get(name).and_then(Value::as_array).into_iter().flatten();
    match ty.get("type").and_then(Value::as_str).unwrap_or_default() {
        "null" => Type::Null,
        "boolean" => Type::Boolean,
        "number" => Type::Number,
        "string" => Type::String,
        "set" => Type::set(part("of").unwrap_or_else(Type::any)),
        "array" => {
            let fixed = list("static").map(|element| read_type(element, depth + 1)).collect();
            Type::array(fixed, part("dynamic").unwrap_or_default())
        }
        "object" => {
            let member = |declared: &Value| {
                let key = declared.get("key")?.as_str()?.into();
                Some(Property { key, value: read_type(declared.get("value")?, depth + 1) })
            };
            let rest = ty.get("dynamic").and_then(|dynamic| {
                let (key, value) = (dynamic.get("key")?, dynamic.get("value")?);
                let (key, value) = (read_type(key, depth + 1), read_type(value, depth + 1));
                Some(Dynamic { key, value })
            });
            Type::object(list("static").filter_map(member).collect(), rest)
        }
        _ => Type::any_of(list("of").map(|option| read_type(option, depth + 1)).collect()),
    }
}

fn builtins(options: &LoadOptions) -> Vec<Value> {
    let mut functions: Vec<_> = options.enabled.iter().collect();
    functions.sort_by_key(|f| f.name);
    let ours = functions.into_iter().map(|function| builtin(function, &options.product));
    ours.chain(options.host_functions.iter().map(host)).collect()
}

/// Describes a function of the host.
fn host(function: &HostFunction) -> Value {
    let types = types::Function::parse(&function.signature()).unwrap_or_default();
    let arguments: Vec<Value> = types.args.iter().map(declared).collect();
    json!({
        "name": function.name(),
        "decl": { "type": "function", "args": arguments, "result": declared(&types.result) },
        "nondeterministic": true,
    })
}

fn builtin(function: &Function, product: &Product) -> Value {
    // A test reads every signature of the table.
    let types = types::Function::parse(&function.rego_signature()).unwrap_or_default();
    let arguments: Vec<Value> = function
        .arguments
        .iter()
        .zip(&types.args)
        .map(|(a, ty)| described(declared(ty), a.name, &argument_doc(a.doc, a.ty)))
        .collect();
    let result = described(declared(&types.result), "output", function.summary);
    json!({
        "name": product.function(function.name),
        "description": format!("{}. {}", capital(function.summary), function.doc),
        "decl": { "type": "function", "args": arguments, "result": result },
        // The service's answers may change, so OPA must not fold such calls, and logs them.
        "nondeterministic": true,
    })
}

fn described(ty: Value, name: &str, doc: &str) -> Value {
    let mut ty = ty;
    if let Some(object) = ty.as_object_mut() {
        object.insert("name".to_owned(), json!(name));
        object.insert("description".to_owned(), json!(doc));
    }
    ty
}

/// Returns the description of an argument, including the keys of an object, for which OPA has no
/// place.
fn argument_doc(doc: &str, ty: Type) -> String {
    let Type::Object(fields) = ty else { return doc.to_owned() };
    let keys = fields.iter().map(|field| {
        let required = if field.required { ", required" } else { "" };
        format!("`{}` ({}{required}): {}", field.name, field.ty, field.doc)
    });
    format!("{doc}. Keys: {}", keys.collect::<Vec<_>>().join("; "))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Translates a type.
fn declared(ty: &types::Type) -> Value {
    use types::Type;
    match ty {
        Type::Null => json!({ "type": "null" }),
        Type::Boolean => json!({ "type": "boolean" }),
        Type::Number => json!({ "type": "number" }),
        Type::String => json!({ "type": "string" }),
        Type::Set(of) => json!({ "type": "set", "of": declared(of) }),
        Type::Array(array) => json!({ "type": "array", "dynamic": declared(array.rest()) }),
        Type::Object(object) => {
            let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
            if !object.fixed().is_empty() {
                let property = |property: &types::Property| json!({ "key": property.key.as_str(), "value": declared(&property.value) });
                let fixed: Vec<Value> = object.fixed().iter().map(property).collect();
                out.insert("static".to_owned(), json!(fixed));
            }
            if let Some(rest) = object.rest() {
                let dynamic = json!({ "key": declared(&rest.key), "value": declared(&rest.value) });
                out.insert("dynamic".to_owned(), dynamic);
            }
            Value::Object(out)
        }
        Type::Any(of) if !of.is_empty() => {
            json!({ "type": "any", "of": of.iter().map(declared).collect::<Vec<_>>() })
        }
        Type::Any(_) | Type::Unknown | Type::Function(_) => json!({ "type": "any" }),
    }
}
