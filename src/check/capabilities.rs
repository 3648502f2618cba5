//! The functions as an OPA capabilities document, with which OPA's own tools and editors accept
//! them.
//!
//! Owns the translation of signatures, which are those of this crate's own type checker, so that both
//! refuse the same calls. They are less precise than the table of functions: OPA has one type for all
//! strings, and no optional keys.

use serde_json::{Map, Value, json};

use crate::builtins::{Function, Type};
use crate::load::{HostFunction, LoadOptions};
use crate::rego::types;
use crate::{Error, ErrorKind, Product};

/// Returns a document with only the functions of `options`, the service's and the host's.
pub fn capabilities(options: &LoadOptions) -> Value {
    json!({ "builtins": builtins(options) })
}

/// Adds the functions of `options` to the built-ins of `document`, replacing any of the same name.
///
/// # Errors
/// [`ErrorKind::Configuration`] when `document` isn't a capabilities document.
pub fn merged(mut document: Value, options: &LoadOptions) -> Result<Value, Error> {
    let refused = |why: &str| {
        Error::new(ErrorKind::Configuration, format!("this isn't a capabilities document: {why}"))
            .with_hint("`opa capabilities --current` writes one")
    };
    let known = document
        .as_object_mut()
        .ok_or_else(|| refused("it isn't an object"))?
        .get_mut("builtins")
        .ok_or_else(|| refused("it has no `builtins`"))?
        .as_array_mut()
        .ok_or_else(|| refused("`builtins` isn't an array"))?;
    let is_builtin = |b: &Value| {
        b.get("name").is_some_and(Value::is_string) && b.get("decl").is_some_and(Value::is_object)
    };
    if !known.iter().all(is_builtin) {
        return Err(refused("one of `builtins` has no `name` or no `decl`"));
    }
    for ours in builtins(options) {
        match known.iter_mut().find(|b| b.get("name") == ours.get("name")) {
            Some(same) => *same = ours,
            None => known.push(ours),
        }
    }
    Ok(document)
}

fn builtins(options: &LoadOptions) -> Vec<Value> {
    let mut functions: Vec<_> = options.enabled.iter().collect();
    functions.sort_by_key(|f| f.name);
    let ours = functions.into_iter().map(|function| builtin(function, &options.product));
    ours.chain(options.host_functions.iter().map(host)).collect()
}

/// Describes a function of the host, of which only the number of arguments is known.
fn host(function: &HostFunction) -> Value {
    let any = json!({ "type": "any" });
    let arguments = vec![any.clone(); usize::from(function.arity())];
    json!({
        "name": function.name(),
        "decl": { "type": "function", "args": arguments, "result": any },
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
                let property = |it: &types::Property| json!({ "key": it.key.as_str(), "value": declared(&it.value) });
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
