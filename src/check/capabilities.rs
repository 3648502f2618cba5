//! The functions as an OPA capabilities document, with which OPA's own tools and editors accept
//! them.
//!
//! Owns the translation of the table's types. It is less precise than the table: OPA has one type
//! for all strings, and no optional keys.

use serde_json::{Map, Value, json};

use crate::builtins::{Field, Function, MAX_OBJECTS, Type};
use crate::load::HostFunction;
use crate::load::LoadOptions;
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
    let arguments: Vec<Value> = function
        .arguments
        .iter()
        .map(|a| described(argument(a.ty), a.name, &argument_doc(a.doc, a.ty)))
        .collect();
    let result = described(result(function.result), "output", function.summary);
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

/// Translates the type of an argument, for which a set may be passed as an array.
fn argument(ty: Type) -> Value {
    match ty {
        Type::Array(of) => any_of(vec![
            json!({ "type": "array", "dynamic": argument(*of) }),
            json!({ "type": "set", "of": argument(*of) }),
        ]),
        // OPA treats static keys as required, and has a single type for all other keys.
        Type::Object(fields) => {
            let (required, optional): (Vec<Field>, Vec<Field>) =
                fields.iter().copied().partition(|f| f.required);
            let mut types: Vec<Value> = Vec::new();
            for ty in optional.iter().map(|f| argument(f.ty)) {
                let parts = match ty.get("of").and_then(Value::as_array) {
                    Some(parts) if ty.get("type") == Some(&json!("any")) => parts.clone(),
                    _ => vec![ty],
                };
                types.extend(parts);
            }
            types.sort_by_key(Value::to_string);
            types.dedup();
            object(&required, argument, Some(any_of(types)))
        }
        Type::Either(a, b) => any_of(vec![argument(*a), argument(*b)]),
        other => scalar(other),
    }
}

/// Translates the type of a result, whose objects may have undocumented fields.
fn result(ty: Type) -> Value {
    result_within(ty, MAX_OBJECTS)
}

fn result_within(ty: Type, objects: u32) -> Value {
    let within = |ty: Type| result_within(ty, objects);
    match ty {
        Type::Array(of) => json!({ "type": "array", "dynamic": within(*of) }),
        Type::Map(of) => object(&[], within, Some(within(*of))),
        Type::Object(fields) => {
            let (fields, left) = match objects.checked_sub(1) {
                Some(left) => (fields, left),
                None => (&[][..], 0),
            };
            let anything = json!({ "type": "any" });
            object(fields, |ty| result_within(ty, left), Some(anything))
        }
        Type::Either(a, b) => any_of(vec![within(*a), within(*b)]),
        other => scalar(other),
    }
}

fn object(fields: &[Field], translate: impl Fn(Type) -> Value, open: Option<Value>) -> Value {
    let mut object = Map::from_iter([("type".to_owned(), json!("object"))]);
    if !fields.is_empty() {
        let fields: Vec<Value> = fields
            .iter()
            .map(|field| json!({ "key": field.name, "value": translate(field.ty) }))
            .collect();
        object.insert("static".to_owned(), json!(fields));
    }
    if let Some(value) = open {
        let dynamic = json!({ "key": { "type": "string" }, "value": value });
        object.insert("dynamic".to_owned(), dynamic);
    }
    Value::Object(object)
}

fn any_of(types: Vec<Value>) -> Value {
    json!({ "type": "any", "of": types })
}

fn scalar(ty: Type) -> Value {
    let name = match ty {
        Type::Boolean => "boolean",
        Type::Integer | Type::Number => "number",
        Type::Null => "null",
        Type::String | Type::Digest | Type::Uuid | Type::Timestamp | Type::Count => "string",
        _ => "any",
    };
    json!({ "type": name })
}
