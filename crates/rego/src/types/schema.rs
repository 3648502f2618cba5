//! Schemas, which give types to documents from outside.
//!
//! Owns the set of schemas of a load, and OPA's translation of a schema into a type. The schema
//! itself is parsed by the built-in functions for schemas; its references must point into it.

use std::collections::{BTreeMap, HashMap};

use super::terms;
use super::ty::{Dynamic, Property, Type};
use crate::builtins::{Sketch, outline};
use crate::syntax::tree::{Term, TermKind};
use crate::value::Value;

/// The schemas of a load: that of `input`, and those that annotations refer to.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    /// The type that the schema of `input` gives.
    input: Option<Type>,
    /// The schemas by the path of their reference below `schema`.
    documents: BTreeMap<Vec<String>, Value>,
}

impl Schemas {
    /// Adds the schema that annotations call `schema.a.b`, at the path `["a", "b"]`. The schema
    /// with an empty path is that of `input` in all rules.
    ///
    /// # Errors
    /// The schema of `input` isn't valid. The others are validated when they are referred to.
    pub fn insert(&mut self, path: Vec<String>, schema: Value) -> Result<(), String> {
        if path.is_empty() {
            self.input = Some(schema_type(&schema)?);
        }
        self.documents.insert(path, schema);
        Ok(())
    }

    /// The type of `input`, if it has a schema.
    pub fn input(&self) -> Option<&Type> {
        self.input.as_ref()
    }

    /// The schema that a reference names.
    pub fn get(&self, reference: &[Term]) -> Option<&Value> {
        let path = reference.iter().skip(1).map(|part| match &part.kind {
            TermKind::String(name) => Some(name.to_string()),
            _ => None,
        });
        self.documents.get(&path.collect::<Option<Vec<_>>>()?)
    }
}

/// Translates a schema into the type of its documents, as OPA does: closed objects if properties
/// are named, the first known of several types, `anyOf` as a union, `allOf` merged.
///
/// # Errors
/// The schema isn't valid.
pub fn schema_type(schema: &Value) -> Result<Type, String> {
    if matches!(schema, Value::Null) {
        return Err("no schema as input to compile".to_owned());
    }
    let outline = outline(schema).map_err(|why| format!("unable to compile the schema: {why}"))?;
    // A recursive schema is expanded a limited number of times, and only while its type stays
    // small.
    let mut inner = HashMap::new();
    let mut best = None;
    for _ in 0..MAX_ROUNDS {
        let mut reader = SchemaReader {
            sketches: outline.sketches.clone(),
            known: HashMap::new(),
            inner: std::mem::take(&mut inner),
            repeats: false,
            fuel: FUEL,
        };
        let tpe = reader.read(outline.root, 0).map_err(|why| format!("type checking: {why}"))?;
        if best.is_some() && tpe.is_larger_than(MAX_SIZE) {
            break;
        }
        best = Some(tpe);
        if !reader.repeats {
            break;
        }
        inner = reader.known.into_iter().filter_map(|(place, tpe)| Some((place, tpe?))).collect();
    }
    Ok(best.unwrap_or_else(Type::any))
}

/// The number of times a recursive schema is expanded within itself.
const MAX_ROUNDS: usize = 6;

/// The size beyond which a type isn't expanded further.
const MAX_SIZE: u32 = 1 << 14;

/// The number of schemas that may be visited, and the depth of their nesting.
const FUEL: u32 = 200_000;
const MAX_DEPTH: usize = 200;

struct SchemaReader {
    sketches: Vec<Sketch>,
    /// The types of the targets of references; `None` while a target is being read.
    known: HashMap<usize, Option<Type>>,
    /// The same from the round before, which stand for recursive references.
    inner: HashMap<usize, Type>,
    /// `true` if a reference was recursive.
    repeats: bool,
    fuel: u32,
}

impl SchemaReader {
    fn sketch(&self, place: usize) -> Sketch {
        self.sketches.get(place).cloned().unwrap_or_default()
    }

    fn add_type(&mut self, place: usize, name: &'static str) {
        if let Some(sketch) = self.sketches.get_mut(place)
            && !sketch.types.contains(&name)
        {
            sketch.types.push(name);
        }
    }

    fn spend(&mut self) -> Result<(), String> {
        self.fuel = self.fuel.checked_sub(1).ok_or("the schema is too large")?;
        Ok(())
    }

    fn read(&mut self, place: usize, depth: usize) -> Result<Type, String> {
        self.spend()?;
        if depth > MAX_DEPTH {
            return Err("the schema is nested too deep, or refers to itself".to_owned());
        }
        let Some(target) = self.sketches.get(place).and_then(|sketch| sketch.reference) else {
            return self.described(place, depth);
        };
        match self.known.get(&target) {
            Some(Some(tpe)) => return Ok(tpe.clone()),
            Some(None) => {
                self.repeats = true;
                return Ok(self.inner.get(&target).cloned().unwrap_or_else(Type::any));
            }
            None => {}
        }
        self.known.insert(target, None);
        let tpe = self.read(target, depth + 1)?;
        self.known.insert(target, Some(tpe.clone()));
        Ok(tpe)
    }

    fn described(&mut self, place: usize, depth: usize) -> Result<Type, String> {
        let sketch = self.sketch(place);
        if !sketch.any_of.is_empty() {
            return self.any_of(&sketch, depth);
        }
        if !sketch.all_of.is_empty() {
            return self.all_of(place, &sketch, depth);
        }
        let has = |name: &str| sketch.types.contains(&name);
        if has("boolean") {
            return Ok(Type::Boolean);
        } else if has("string") {
            return Ok(Type::String);
        } else if has("integer") || has("number") {
            return Ok(Type::Number);
        } else if has("object") {
            return self.object(&sketch, depth);
        } else if has("array") {
            return self.array(&sketch, depth);
        }
        // A missing type is inferred from the keywords.
        if !sketch.properties.is_empty() {
            self.add_type(place, "object");
            return self.object(&sketch, depth);
        } else if !sketch.items.is_empty() {
            self.add_type(place, "array");
            return self.array(&sketch, depth);
        }
        Ok(Type::any())
    }

    fn object(&mut self, sketch: &Sketch, depth: usize) -> Result<Type, String> {
        if sketch.properties.is_empty() {
            let rest = Dynamic { key: Type::any(), value: Type::any() };
            return Ok(Type::object(Vec::new(), Some(rest)));
        }
        let mut fixed = Vec::with_capacity(sketch.properties.len());
        for (name, place) in &sketch.properties {
            let value = self.read(*place, depth + 1)?;
            fixed.push(Property { key: Value::from(name.as_str()), value });
        }
        Ok(Type::object(fixed, None))
    }

    fn array(&mut self, sketch: &Sketch, depth: usize) -> Result<Type, String> {
        match sketch.items.as_slice() {
            [] => Ok(Type::array(Vec::new(), Type::any())),
            [all, ..] if sketch.items_for_all => {
                Ok(Type::array(Vec::new(), self.read(*all, depth + 1)?))
            }
            items => {
                let items: Result<_, _> =
                    items.iter().map(|item| self.read(*item, depth + 1)).collect();
                Ok(Type::array(items?, Type::Unknown))
            }
        }
    }

    /// Reads `anyOf` as a union. A schema beside it is one more alternative if it names properties.
    fn any_of(&mut self, sketch: &Sketch, depth: usize) -> Result<Type, String> {
        let mut all = Type::Unknown;
        if !sketch.types.is_empty() {
            self.sketches.push(Sketch { any_of: Vec::new(), ..sketch.clone() });
            let core = self.read(self.sketches.len() - 1, depth + 1)?;
            if matches!(&core, Type::Object(object) if object.rest().is_none()) {
                all = core;
            }
        }
        for place in &sketch.any_of {
            all = self.read(*place, depth + 1)?.or(&all);
        }
        Ok(all)
    }

    fn all_of(&mut self, place: usize, sketch: &Sketch, depth: usize) -> Result<Type, String> {
        let mut parts = Vec::new();
        for part in &sketch.all_of {
            let mut part = *part;
            while let Some(target) = self.sketches.get(part).and_then(|sketch| sketch.reference) {
                self.spend()?;
                part = target;
            }
            let sketch = self.sketch(part);
            let is_only_any_of = sketch.types.is_empty()
                && !sketch.any_of.is_empty()
                && sketch.properties.is_empty()
                && sketch.items.is_empty();
            if !is_only_any_of {
                parts.push(part);
            }
        }
        let Some(mut whole) = self.merged(&parts)? else { return Ok(Type::any()) };
        if !sketch.types.is_empty() {
            let merged = self.sketch(whole);
            let both = |name: &str| sketch.types.contains(&name) && merged.types.contains(&name);
            if both("object") || both("array") {
                whole = self.merged(&[whole, place])?.unwrap_or(whole);
            } else if shown(&sketch.types) != shown(&merged.types) {
                return Err("unable to merge these schemas".to_owned());
            }
        }
        self.read(whole, depth + 1)
    }

    /// Merges schemas into the first of them. As in OPA, this also changes it for others that refer
    /// to it.
    fn merged(&mut self, places: &[usize]) -> Result<Option<usize>, String> {
        let Some((first, others)) = places.split_first() else { return Ok(None) };
        for place in places {
            let sketch = self.sketch(*place);
            if !sketch.properties.is_empty() {
                self.add_type(*place, "object");
            } else if !sketch.items.is_empty() {
                self.add_type(*place, "array");
            }
        }
        for place in others {
            self.spend()?;
            let (mut result, other) = (self.sketch(*first), self.sketch(*place));
            let (left, right) = (shown(&result.types), shown(&other.types));
            if left != right {
                return Err(format!(
                    "unable to merge these schemas: type mismatch: {left} and {right}"
                ));
            }
            let has = |name: &str| result.types.contains(&name);
            if has("object") && !result.properties.is_empty() && !other.properties.is_empty() {
                result.properties.extend(other.properties);
            } else if has("array") && !result.items.is_empty() && !other.items.is_empty() {
                for (at, item) in other.items.into_iter().enumerate() {
                    if at >= result.items.len() {
                        result.items.push(item);
                    }
                    let types = |place: Option<&usize>| {
                        place.map(|place| shown(&self.sketch(*place).types))
                    };
                    if types(result.items.get(at)) != types(Some(&item)) {
                        return Err("unable to merge these schemas".to_owned());
                    }
                }
            }
            if let Some(slot) = self.sketches.get_mut(*first) {
                *slot = result;
            }
        }
        Ok(Some(*first))
    }
}

/// Formats types as OPA's messages do.
fn shown(types: &[&'static str]) -> String {
    match types {
        [] => "Undefined".to_owned(),
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(",")),
    }
}

/// The type of an object in which the value at a path has another type; objects that are missing on
/// the way are created.
///
/// # Errors
/// A part of the path isn't a constant.
pub(super) fn overridden(tpe: &Type, path: &[Term], with: &Type) -> Result<Type, String> {
    let keys = path.iter().map(|part| {
        let kind = match &part.kind {
            TermKind::Var(_) => "var",
            TermKind::Ref(_) => "ref",
            _ => "comprehension",
        };
        terms::native(part)
            .ok_or_else(|| format!("error getting key from value: {kind} requires evaluation"))
    });
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    let rest = Dynamic { key: Type::any(), value: Type::any() };
    Ok(replaced(tpe, &keys, with, &rest))
}

fn replaced(tpe: &Type, path: &[Value], with: &Type, rest: &Dynamic) -> Type {
    let Type::Object(object) = tpe else { return nested(path, with, Some(rest)) };
    let Some((first, below)) = path.split_first() else { return with.clone() };
    let mut fixed = object.fixed().to_vec();
    let known = fixed.iter_mut().find(|property| property.key == *first);
    match known {
        Some(property) if below.is_empty() => property.value = with.clone(),
        Some(property) => property.value = replaced(&property.value, below, with, rest),
        None => {
            let value =
                if below.is_empty() { with.clone() } else { nested(below, with, object.rest()) };
            fixed.push(Property { key: first.clone(), value });
        }
    }
    Type::object(fixed, object.rest().cloned())
}

/// Nested objects, each of which may have the given other members.
fn nested(path: &[Value], with: &Type, rest: Option<&Dynamic>) -> Type {
    path.iter().rev().fold(with.clone(), |value, key| {
        Type::object(vec![Property { key: key.clone(), value }], rest.cloned())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(text: &str) -> Result<String, String> {
        schema_type(&Value::from_json(text).unwrap()).map(|tpe| tpe.to_string())
    }

    #[test]
    fn a_recursive_schema_has_a_finite_type() {
        let list = r##"{"definitions": {"l": {"properties": {"next": {"$ref": "#/definitions/l"},
            "x": {"type": "string"}}}}, "properties": {"a": {"$ref": "#/definitions/l"}}}"##;
        assert!(read(list).unwrap().starts_with("object<a: object<next: object<next: "));
        for endless in [r##"{"$ref": "#"}"##, r##"{"allOf": [{"$ref": "#"}]}"##] {
            let read = read(endless);
            assert!(read.as_deref().is_ok_and(|read| read == "any") || read.is_err(), "{endless}");
        }
        let mut wide = String::from(r#"{"properties": {"#);
        for name in 0..40 {
            wide.push_str(&format!(r##""p{name}": {{"$ref": "#"}}, "##));
        }
        wide.push_str(r#""x": {"type": "string"}}}"#);
        assert!(read(&wide).unwrap().len() < 1 << 20);
    }

    #[test]
    fn remote_references_are_not_fetched() {
        let why = read(r#"{"$ref": "https://schemas.example/a.json"}"#).unwrap_err();
        assert!(why.contains("remote reference loading disabled: https://schemas.example/a.json"));
    }
}
