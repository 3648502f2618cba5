//! Compiles schemas: keywords to rules, and references to their targets.
//!
//! Owns which schemas are well-formed, and in which order problems are found. Rules are kept in a
//! list and refer to each other by index, so that schemas may be recursive.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::regex::Pattern;
use super::super::uri::Url;
use super::super::{Code, Context, Error};
use super::formats::pattern;
use super::{canonical, deeper};
use crate::value::{Number, Object, Value};

/// The index of a schema in [`Schema::rules`].
pub(super) type SchemaId = usize;

/// A compiled schema.
pub(super) struct Schema {
    pub rules: Vec<Rules>,
    pub root: SchemaId,
}

/// The treatment of `pattern`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patterns {
    /// Compiled; an expression that isn't valid here is an error.
    Compiled,
    /// Ignored; expressions in other dialects are accepted.
    Ignored,
}

/// The rules of one schema.
#[derive(Default)]
pub(super) struct Rules {
    /// `true` if the schema is `true` or `false`.
    pub pass: Option<bool>,
    /// The schema that this one refers to.
    pub reference: Option<SchemaId>,
    pub types: Vec<&'static str>,
    pub properties: Vec<(String, SchemaId)>,
    pub additional_properties: Option<Additional>,
    pub pattern_properties: Vec<(Arc<Pattern>, SchemaId)>,
    pub property_names: Option<SchemaId>,
    pub dependencies: BTreeMap<String, Dependency>,
    pub items: Vec<SchemaId>,
    /// `true` if `items` is a single schema that applies to all items.
    pub items_for_all: bool,
    pub additional_items: Option<Additional>,
    pub multiple_of: Option<Number>,
    pub minimum: Option<Number>,
    pub exclusive_minimum: Option<Number>,
    pub maximum: Option<Number>,
    pub exclusive_maximum: Option<Number>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    /// The expression and its source text.
    pub pattern: Option<(Arc<Pattern>, String)>,
    pub format: String,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub required: Vec<String>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub contains: Option<SchemaId>,
    /// The value as canonical text.
    pub constant: Option<String>,
    /// The values as canonical text.
    pub enumeration: Option<Vec<String>>,
    pub one_of: Vec<SchemaId>,
    pub any_of: Vec<SchemaId>,
    pub all_of: Vec<SchemaId>,
    pub not: Option<SchemaId>,
    pub condition: Option<SchemaId>,
    pub then: Option<SchemaId>,
    pub otherwise: Option<SchemaId>,
}

/// The rule for properties or items that aren't listed.
pub(super) enum Additional {
    Allowed(bool),
    Schema(SchemaId),
}

/// The requirements that come with a property.
pub(super) enum Dependency {
    Properties(Vec<String>),
    Schema(SchemaId),
}

/// A draft. If a schema names none, all keywords are supported, some with two meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    Four,
    Six,
    Seven,
    Any,
}

const DRAFTS: [(&str, Draft, &str); 3] = [
    ("http://json-schema.org/draft-04/schema", Draft::Four, include_str!("draft-04.json")),
    ("http://json-schema.org/draft-06/schema", Draft::Six, include_str!("draft-06.json")),
    ("http://json-schema.org/draft-07/schema", Draft::Seven, include_str!("draft-07.json")),
];

const TYPES: [&str; 7] = ["array", "boolean", "integer", "number", "null", "object", "string"];

/// The approximate size of a schema's rules, in bytes.
const RULES_SIZE: u64 = 1024;

fn bad(message: impl Into<String>) -> Error {
    Error::failed(message.into())
}

fn invalid_type(expected: &str, given: &str) -> Error {
    bad(format!("Invalid type. Expected: {expected}, given: {given}"))
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Returns a description of the schema's problem, in OPA's words.
    pub(super) fn read(
        ctx: &dyn Context,
        document: &Value,
        patterns: Patterns,
    ) -> Result<Self, Error> {
        let mut reader = Reader {
            ctx,
            patterns,
            documents: HashMap::new(),
            references: HashMap::new(),
            rules: Vec::new(),
        };
        let base = Url::default();
        let document = reader.add_document(document, &base)?;
        let draft = draft(&document)?.unwrap_or(Draft::Any);
        let root = reader.schema(&document, draft)?;
        Ok(Self { rules: reader.rules, root })
    }
}

/// Returns the draft that a document names, if it is a known one.
fn draft(document: &Value) -> Result<Option<Draft>, Error> {
    match document {
        Value::Bool(_) => Ok(None),
        Value::Object(object) => match object.get(&Value::from("$schema")) {
            None => Ok(None),
            Some(Value::String(text)) => {
                let url = Url::parse(text).map_err(bad)?.to_string();
                Ok(DRAFTS.iter().find(|(known, ..)| *known == url).map(|(_, draft, _)| *draft))
            }
            Some(_) => Err(bad("$schema must be of type string")),
        },
        _ => Err(bad("schema is invalid")),
    }
}

struct Reader<'c> {
    ctx: &'c dyn Context,
    patterns: Patterns,
    /// Documents and their parts by URL, with the draft that the document names.
    documents: HashMap<String, (Value, Option<Draft>)>,
    /// The schemas that references have been resolved to.
    references: HashMap<String, SchemaId>,
    rules: Vec<Rules>,
}

impl Reader<'_> {
    /// Adds a document: makes its references absolute and registers its identified parts.
    fn add_document(&mut self, document: &Value, base: &Url) -> Result<Value, Error> {
        let name = base.to_string();
        if self.documents.contains_key(&name) {
            return Err(bad(format!("Reference already exists: \"{name}\"")));
        }
        let draft = draft(document)?;
        let document = self.absolute(document, base, draft)?;
        self.documents.insert(name, (document.clone(), draft));
        Ok(document)
    }

    fn absolute(&mut self, node: &Value, base: &Url, draft: Option<Draft>) -> Result<Value, Error> {
        self.ctx.check()?;
        match node {
            Value::Array(array) => {
                let items = array.iter().map(|item| deeper(|| self.absolute(item, base, draft)));
                Ok(Value::from(items.collect::<Result<Vec<_>, _>>()?))
            }
            Value::Object(object) => {
                let text = |name: &str| match object.get(&Value::from(name)) {
                    Some(Value::String(text)) => Url::parse(text).ok(),
                    _ => None,
                };
                let has_old_id = object.contains_key(&Value::from("id"));
                let id = text(if has_old_id { "id" } else { "$id" }).map(|id| base.resolve(&id));
                let base = id.as_ref().unwrap_or(base);
                let mut changed = (**object).clone();
                if let Some(reference) = text("$ref") {
                    let absolute = base.resolve(&reference).to_string();
                    changed.insert(Value::from("$ref"), Value::from(absolute));
                }
                for (key, value) in changed.iter_mut() {
                    let name = key.as_str().unwrap_or_default();
                    let named = matches!(name, "properties" | "dependencies" | "patternProperties");
                    match value {
                        _ if matches!(name, "const" | "enum") => {}
                        Value::Object(children) if named => {
                            let children = children.iter().map(|(key, child)| {
                                let child = deeper(|| self.absolute(child, base, draft))?;
                                Ok((key.clone(), child))
                            });
                            *value = Value::from(children.collect::<Result<Object, Error>>()?);
                        }
                        _ if named => {}
                        _ => *value = deeper(|| self.absolute(value, base, draft))?,
                    }
                }
                let changed = Value::from(changed);
                if let Some(id) = id {
                    let name = id.to_string();
                    if self.documents.contains_key(&name) {
                        return Err(bad(format!("Reference already exists: \"{name}\"")));
                    }
                    self.documents.insert(name, (changed.clone(), draft));
                }
                Ok(changed)
            }
            other => Ok(other.clone()),
        }
    }

    /// Resolves an absolute reference.
    fn document(&mut self, reference: &Url) -> Result<(Value, Option<Draft>), Error> {
        let name = reference.to_string();
        if let Some(found) = self.documents.get(&name) {
            return Ok(found.clone());
        }
        let mut whole = reference.clone();
        whole.fragment.clear();
        let whole_name = whole.to_string();
        if let Some((document, draft)) = self.documents.get(&whole_name) {
            let part = (point(document, &reference.fragment)?, *draft);
            self.documents.insert(name, part.clone());
            return Ok(part);
        }
        let file = reference.scheme == "file";
        let canonical = if file {
            reference.path.starts_with(b"/")
        } else {
            !reference.scheme.is_empty() && !reference.host.is_empty()
        };
        if !canonical {
            return Err(bad(format!("Reference {name} must be canonical")));
        }
        if file {
            let message = format!("reference loading from files is not supported: {name}");
            return Err(Error::halt(Code::Builtin, message));
        }
        let known = DRAFTS.iter().find(|(known, ..)| *known == whole_name);
        let Some((.., text)) = known else {
            return Err(bad(format!("remote reference loading disabled: {whole_name}")));
        };
        let document = Value::from_json(text).map_err(|error| bad(error.to_string()))?;
        let document = self.add_document(&document, &whole)?;
        Ok((point(&document, &reference.fragment)?, draft(&document).ok().flatten()))
    }

    fn add(&mut self) -> Result<SchemaId, Error> {
        self.ctx.charge(RULES_SIZE)?;
        self.ctx.check()?;
        self.rules.push(Rules::default());
        Ok(self.rules.len() - 1)
    }

    /// Compiles a schema under a new index.
    fn schema(&mut self, node: &Value, draft: Draft) -> Result<SchemaId, Error> {
        let id = self.add()?;
        let rules = deeper(|| self.rules(node, draft))?;
        if let Some(slot) = self.rules.get_mut(id) {
            *slot = rules;
        }
        Ok(id)
    }

    fn schemas(&mut self, node: &Object, name: &str, draft: Draft) -> Result<Vec<SchemaId>, Error> {
        let Some(list) = list(node, name)? else { return Ok(Vec::new()) };
        list.iter().map(|item| self.schema(item, draft)).collect()
    }

    /// Compiles a keyword whose value must be an object or a boolean.
    fn optional(
        &mut self,
        node: &Object,
        name: &str,
        draft: Draft,
    ) -> Result<Option<SchemaId>, Error> {
        match node.get(&Value::from(name)) {
            None => Ok(None),
            Some(schema) if is_schema(schema) => self.schema(schema, draft).map(Some),
            Some(_) => Err(bad(format!("{name} must be of an object"))),
        }
    }

    fn additional(
        &mut self,
        node: &Object,
        name: &str,
        draft: Draft,
    ) -> Result<Option<Additional>, Error> {
        match node.get(&Value::from(name)) {
            None => Ok(None),
            Some(Value::Bool(allowed)) => Ok(Some(Additional::Allowed(*allowed))),
            Some(schema @ Value::Object(_)) => {
                Ok(Some(Additional::Schema(self.schema(schema, draft)?)))
            }
            Some(_) => Err(invalid_type("boolean/Valid Schema", name)),
        }
    }

    #[allow(clippy::too_many_lines)]
    fn rules(&mut self, node: &Value, draft: Draft) -> Result<Rules, Error> {
        let mut rules = Rules::default();
        if let (Value::Bool(pass), true) = (node, draft >= Draft::Six) {
            rules.pass = Some(*pass);
            return Ok(rules);
        }
        let Value::Object(node) = node else {
            return Err(bad("Expected: Valid Schema, given: Invalid JSON"));
        };
        let get = |name: &str| node.get(&Value::from(name));
        let old_id = match draft {
            Draft::Four => true,
            Draft::Any => get("id").is_some(),
            _ => false,
        };
        if let Some(id) = text(node, if old_id { "id" } else { "$id" })? {
            Url::parse(id).map_err(bad)?;
        }
        let wrong = || invalid_type("Array Of Schemas", "definitions");
        for (_, definition) in members(node, "definitions", wrong)? {
            if !is_schema(definition) {
                return Err(wrong());
            }
            self.schema(definition, draft)?;
        }
        text(node, "title")?;
        text(node, "description")?;
        if let Some(reference) = text(node, "$ref")? {
            let url = Url::parse(reference).map_err(bad)?;
            let name = url.to_string();
            if let Some(id) = self.references.get(&name) {
                rules.reference = Some(*id);
            } else {
                let id = self.add()?;
                self.references.insert(name, id);
                let (target, named) = self.document(&url)?;
                if !is_schema(&target) {
                    return Err(bad("Valid Schema must be of type object"));
                }
                let referred = deeper(|| self.rules(&target, named.unwrap_or(draft)))?;
                if let Some(slot) = self.rules.get_mut(id) {
                    *slot = referred;
                }
                rules.reference = Some(id);
                return Ok(rules);
            }
        }
        match get("type") {
            None => {}
            Some(Value::String(name)) => add_type(&mut rules.types, name)?,
            Some(Value::Array(names)) => {
                for name in names.iter() {
                    let name = name.as_str();
                    let name =
                        name.ok_or_else(|| invalid_type("type", "string/Array Of Strings"))?;
                    add_type(&mut rules.types, name)?;
                }
            }
            Some(_) => return Err(invalid_type("type", "string/Array Of Strings")),
        }
        let wrong = || bad("Properties must be of type object");
        for (name, schema) in members(node, "properties", wrong)? {
            rules.properties.push((name.to_owned(), self.schema(schema, draft)?));
        }
        rules.additional_properties = self.additional(node, "additionalProperties", draft)?;
        let wrong = || invalid_type("Valid Schema", "patternProperties");
        for (name, schema) in members(node, "patternProperties", wrong)? {
            let regex = pattern(self.ctx, name)?;
            let regex = regex.ok_or_else(|| bad(format!("Invalid regex pattern '{name}'")))?;
            rules.pattern_properties.push((regex, self.schema(schema, draft)?));
        }
        if draft >= Draft::Six {
            rules.property_names = match get("propertyNames") {
                None => None,
                Some(schema) if is_schema(schema) => Some(self.schema(schema, draft)?),
                Some(_) => return Err(wrong()),
            };
        }
        self.dependencies(node, draft, &mut rules)?;
        match get("items") {
            None => {}
            Some(Value::Array(items)) => {
                for item in items.iter() {
                    if !is_schema(item) {
                        return Err(invalid_type("Valid Schema/Array Of Schemas", "items"));
                    }
                    rules.items.push(self.schema(item, draft)?);
                }
            }
            Some(item @ (Value::Bool(_) | Value::Object(_))) => {
                rules.items.push(self.schema(item, draft)?);
                rules.items_for_all = true;
            }
            Some(_) => return Err(invalid_type("Valid Schema/Array Of Schemas", "items")),
        }
        rules.additional_items = self.additional(node, "additionalItems", draft)?;
        numbers(node, draft, &mut rules)?;
        rules.min_length = count(node, "minLength")?;
        rules.max_length = count(node, "maxLength")?;
        if matches!((rules.min_length, rules.max_length), (Some(min), Some(max)) if min > max) {
            return Err(bad("minLength cannot be greater than maxLength"));
        }
        if let Some(text) = text(node, "pattern")?
            && self.patterns == Patterns::Compiled
        {
            let pattern = pattern(self.ctx, text)?;
            let pattern = pattern.ok_or_else(|| bad("pattern must be a valid regex"))?;
            rules.pattern = Some((pattern, text.to_owned()));
        }
        text(node, "format")?.unwrap_or_default().clone_into(&mut rules.format);
        rules.min_properties = count(node, "minProperties")?;
        rules.max_properties = count(node, "maxProperties")?;
        if matches!((rules.min_properties, rules.max_properties), (Some(a), Some(b)) if a > b) {
            return Err(bad("minProperties cannot be greater than maxProperties"));
        }
        for name in list(node, "required")?.unwrap_or_default() {
            let name = name.as_str().ok_or_else(|| invalid_type("string", "required"))?;
            rules.required.push(name.to_owned());
        }
        let distinct: std::collections::HashSet<&String> = rules.required.iter().collect();
        if distinct.len() < rules.required.len() {
            return Err(bad("required items must be unique"));
        }
        rules.min_items = count(node, "minItems")?;
        rules.max_items = count(node, "maxItems")?;
        rules.unique_items = match get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(_) => return Err(bad("uniqueItems must be of a boolean")),
        };
        if draft >= Draft::Six {
            if let Some(contains) = get("contains") {
                rules.contains = Some(self.schema(contains, draft)?);
            }
            rules.constant = get("const").map(canonical).transpose()?;
        }
        if let Some(values) = list(node, "enum")? {
            let mut texts = Vec::new();
            let mut seen = std::collections::HashSet::new();
            for value in values {
                let text = canonical(value)?;
                if !seen.insert(text.clone()) {
                    return Err(bad("enum items must be unique"));
                }
                texts.push(text);
            }
            rules.enumeration = Some(texts);
        }
        rules.one_of = self.schemas(node, "oneOf", draft)?;
        rules.any_of = self.schemas(node, "anyOf", draft)?;
        rules.all_of = self.schemas(node, "allOf", draft)?;
        rules.not = self.optional(node, "not", draft)?;
        if draft >= Draft::Seven {
            rules.condition = self.optional(node, "if", draft)?;
            rules.then = self.optional(node, "then", draft)?;
            rules.otherwise = self.optional(node, "else", draft)?;
        }
        Ok(rules)
    }

    fn dependencies(
        &mut self,
        node: &Object,
        draft: Draft,
        rules: &mut Rules,
    ) -> Result<(), Error> {
        let wrong = || bad("Dependency must be of type Schema Or Array Of Strings");
        let no_object = || bad("dependencies must be of type object");
        for (name, declared) in members(node, "dependencies", no_object)? {
            let dependency = match declared {
                Value::Array(names) => {
                    let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                    Dependency::Properties(names.collect::<Option<_>>().ok_or_else(wrong)?)
                }
                Value::Bool(_) | Value::Object(_) => {
                    Dependency::Schema(self.schema(declared, draft)?)
                }
                _ => return Err(wrong()),
            };
            rules.dependencies.insert(name.to_owned(), dependency);
        }
        Ok(())
    }
}

/// Resolves a fragment as a JSON pointer; anything else means the whole document.
fn point(document: &Value, fragment: &[u8]) -> Result<Value, Error> {
    let fragment = crate::value::lossy(fragment);
    let Some(path) = fragment.strip_prefix('/') else { return Ok(document.clone()) };
    let mut node = document;
    for token in path.split('/') {
        node = match node {
            Value::Object(object) => {
                let name = token.replace("~1", "/").replace("~0", "~");
                object
                    .get(&Value::from(name.as_str()))
                    .ok_or_else(|| bad(format!("Object has no key '{name}'")))?
            }
            Value::Array(array) => {
                let index: i64 =
                    token.parse().map_err(|_| bad(format!("Invalid array index '{token}'")))?;
                let item = usize::try_from(index).ok().and_then(|index| array.get(index));
                let length = array.len();
                item.ok_or_else(|| bad(format!("Out of bound array[0,{length}] index '{index}'")))?
            }
            _ => return Err(bad(format!("Invalid token reference '{token}'"))),
        };
    }
    Ok(node.clone())
}

fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Object(_))
}

/// Returns the members of a keyword whose value must be an object; none if it is missing.
fn members<'a>(
    node: &'a Object,
    name: &str,
    wrong: fn() -> Error,
) -> Result<impl Iterator<Item = (&'a str, &'a Value)> + use<'a>, Error> {
    let members = match node.get(&Value::from(name)) {
        None => None,
        Some(Value::Object(members)) => Some(members),
        Some(_) => return Err(wrong()),
    };
    let members = members.into_iter().flat_map(|members| members.iter());
    Ok(members.map(|(name, value)| (name.as_str().unwrap_or_default(), value)))
}

fn text<'a>(node: &'a Object, name: &str) -> Result<Option<&'a str>, Error> {
    match node.get(&Value::from(name)) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid_type("string", name)),
    }
}

fn list<'a>(node: &'a Object, name: &str) -> Result<Option<&'a [Value]>, Error> {
    match node.get(&Value::from(name)) {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(_) => Err(bad(format!("{name} must be of an array"))),
    }
}

fn add_type(types: &mut Vec<&'static str>, name: &str) -> Result<(), Error> {
    let Some(known) = TYPES.iter().find(|known| **known == name) else {
        let known = TYPES.join(" ");
        return Err(bad(format!(
            "has a primitive type that is NOT VALID -- given: /{name}/ Expected valid values are:[{known}]"
        )));
    };
    if types.contains(known) {
        return Err(bad(format!("{name} type is duplicated")));
    }
    types.push(known);
    Ok(())
}

/// Reads a number of characters, items or members.
fn count(node: &Object, name: &str) -> Result<Option<u64>, Error> {
    let Some(value) = node.get(&Value::from(name)) else { return Ok(None) };
    let number = value.as_number().and_then(|number| number.text().parse::<i64>().ok());
    let number = number.ok_or_else(|| bad(format!("{name} must be of an integer")))?;
    let number = u64::try_from(number);
    number.map(Some).map_err(|_| bad(format!("{name} must be greater than or equal to 0")))
}

/// Reads `multipleOf` and the limits. Exclusive limits are booleans in draft 4, and numbers later.
fn numbers(node: &Object, draft: Draft, rules: &mut Rules) -> Result<(), Error> {
    let get = |name: &str| node.get(&Value::from(name));
    if let Some(value) = get("multipleOf") {
        let number = value.as_number().ok_or_else(|| invalid_type("Number", "multipleOf"))?;
        if *number <= Number::from(0_i64) {
            return Err(bad("multipleOf must be strictly greater than 0"));
        }
        rules.multiple_of = Some(number.clone());
    }
    for (name, exclusive_name, limit, exclusive) in [
        ("minimum", "exclusiveMinimum", &mut rules.minimum, &mut rules.exclusive_minimum),
        ("maximum", "exclusiveMaximum", &mut rules.maximum, &mut rules.exclusive_maximum),
    ] {
        if let Some(value) = get(name) {
            let number = value.as_number();
            let number = number.ok_or_else(|| bad(format!("{name} must be of a Number")))?;
            *limit = Some(number.clone());
        }
        let Some(value) = get(exclusive_name) else { continue };
        match (draft, value) {
            (Draft::Four | Draft::Any, Value::Bool(is_exclusive)) => {
                if limit.is_none() {
                    return Err(bad(format!("{exclusive_name} cannot be used without {name}")));
                }
                if *is_exclusive {
                    *exclusive = limit.take();
                }
            }
            (Draft::Four, _) => return Err(invalid_type("boolean", exclusive_name)),
            (_, Value::Number(number)) => *exclusive = Some(number.clone()),
            (Draft::Any, _) => return Err(invalid_type("boolean/number", exclusive_name)),
            _ => return Err(invalid_type("number", exclusive_name)),
        }
    }
    Ok(())
}
