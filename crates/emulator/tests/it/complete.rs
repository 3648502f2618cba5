//! The shipped data set has every documented field of every resource.

use std::collections::{BTreeMap, BTreeSet};

use super::specification::{document, of_backend, send_all};
use super::*;

/// Collects, for every schema below `schema`, the fields of each object that is an instance of it.
fn collect(
    document: &Value,
    schema: &Value,
    instance: &Value,
    found: &mut BTreeMap<String, Vec<BTreeSet<String>>>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        if let Some(fields) = instance.as_object() {
            let set = fields.iter().filter(|(_, value)| !is_empty(value));
            found.entry(name.to_owned()).or_default().push(set.map(|(k, _)| k.clone()).collect());
        }
        collect(document, &document["components"]["schemas"][name], instance, found);
        return;
    }
    match instance {
        Value::Object(fields) => {
            for (key, value) in fields {
                let known = &schema["properties"][key];
                let schema = if known.is_null() { &schema["additionalProperties"] } else { known };
                collect(document, schema, value, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(document, &schema["items"], item, found);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[test]
fn one_of_each_resource_has_every_field() {
    let emulator = start(EmulatorOptions::default());
    let base = emulator.base_url();
    let document = document(&base);
    let mut found = BTreeMap::new();
    for (schema, body) in send_all(&emulator, &base, &document, &of_backend()) {
        collect(&document, &schema, &body, &mut found);
    }
    let mut checked = 0;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        // The resources of section 2.
        if !schema["description"].as_str().unwrap().starts_with("Section 2.") {
            continue;
        }
        let all: BTreeSet<String> =
            schema["properties"].as_object().unwrap().keys().cloned().collect();
        let best = found.get(name).and_then(|found| found.iter().max_by_key(|set| set.len()));
        let best = best.unwrap_or_else(|| panic!("there is no {name}"));
        let missing: Vec<_> = all.difference(best).collect();
        assert!(missing.is_empty(), "no {name} has {missing:?} with all others");
        checked += 1;
    }
    assert_eq!(checked, 42);
}

#[test]
fn flags_and_numbers_are_not_all_their_defaults() {
    let emulator = start(EmulatorOptions { omit_defaults: true, ..EmulatorOptions::default() });
    let base = emulator.base_url();
    let document = document(&base);
    let mut found = BTreeMap::new();
    for (schema, body) in send_all(&emulator, &base, &document, &of_backend()) {
        collect(&document, &schema, &body, &mut found);
    }
    for (name, sets) in found.iter().filter(|(name, _)| {
        let section = document["components"]["schemas"][name.as_str()]["description"].as_str();
        section.unwrap().starts_with("Section 2.")
    }) {
        let seen: BTreeSet<&String> = sets.iter().flatten().collect();
        let all = document["components"]["schemas"][name]["properties"].as_object().unwrap();
        let never: Vec<&String> = all.keys().filter(|key| !seen.contains(key)).collect();
        assert!(never.is_empty(), "{never:?} of {name} have no value but their default");
    }
}
