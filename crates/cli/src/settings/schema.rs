//! `config schema`: the JSON schema with which editors check the file.

use serde_json::{Map, Value, json};

use super::keys::{self, Access, Key, Shape};

pub(super) fn schema() -> Value {
    let keys = keys::all();
    let options: Map<String, Value> = keys
        .iter()
        .filter(|key| key.access != Access::Never)
        .map(|key| (key.name.clone(), option(key)))
        .collect();
    let profile = json!({"type": "object", "properties": options, "additionalProperties": false});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": super::NAME,
        "type": "object",
        "additionalProperties": false,
        "$defs": {"profile": profile},
        "properties": {
            "gate": {
                "description": "The options of every gate; a table of another name is a profile.",
                "type": "object",
                "properties": options,
                "additionalProperties": {"$ref": "#/$defs/profile"},
            },
        },
    })
}

fn option(key: &Key) -> Value {
    let mut one = json!({"type": ["string", "number"]});
    if !key.values.is_empty() {
        one = json!({"enum": key.values});
    }
    let mut shape = match key.shape {
        Shape::Flag => json!({"type": "boolean"}),
        Shape::One => one,
        Shape::Many => {
            let mut forms = vec![json!({"type": "array", "items": one.clone()}), one];
            if key.is_pair {
                let values = json!({"type": ["string", "number", "boolean"]});
                forms.push(json!({"type": "object", "additionalProperties": values}));
            }
            json!({ "anyOf": forms })
        }
    };
    if let Some(shape) = shape.as_object_mut() {
        let trusted = match key.access {
            Access::Trusted => " (a file that is trusted)",
            _ => "",
        };
        shape.insert("description".to_owned(), json!(format!("{}{trusted}", key.help)));
    }
    shape
}
