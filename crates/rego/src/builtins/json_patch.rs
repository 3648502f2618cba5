//! `json.patch`: applies a list of operations to a document.
//!
//! Owns a tree over the document that is expanded only where operations reach into it, like OPA's.
//! One consequence is OPA's as well: an array element that wasn't expanded yet is looked up in the
//! original array.

use std::collections::BTreeMap;

use super::objects::path_steps;
use super::operands::{array, charge_elements, operand};
use super::{Answer, Context, Error, Value};
use crate::value::{Array, Object, Set, Shared, deeper};

/// A node of the document.
enum Node {
    /// An unchanged value.
    Value(Value),
    /// An object and its changes by key; `None` marks a removed member.
    Object(Shared<Object>, BTreeMap<Value, Option<Node>>),
    /// A set and its changes by element; `None` marks a removed one.
    Set(Shared<Set>, BTreeMap<Value, Option<Node>>),
    /// The original array, and its current elements.
    Array(Shared<Array>, Vec<Slot>),
}

/// An element of an array that was expanded.
enum Slot {
    /// The element at this index in the original array.
    Original(usize),
    Changed(Node),
}

fn failed<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::failed(message.into()))
}

/// Fails with OPA's message for a value that can't be expanded.
fn not_composite<T>(value: &Value, path: Option<&Value>) -> Result<T, Error> {
    let kind = match value {
        Value::Null => "Null",
        Value::Bool(_) => "Boolean",
        Value::Number(_) => "Number",
        _ => "String",
    };
    let path = path.map_or_else(String::new, |path| format!(" for path {path}"));
    failed(format!("expected composite type{path}, found value: {value} (type: ast.{kind})"))
}

/// Returns a changed member, which must not have been removed.
fn changed<'n>(
    changes: &'n mut BTreeMap<Value, Option<Node>>,
    key: &Value,
) -> Result<&'n mut Node, Error> {
    let removed = || Error::failed(format!("cannot unfold the already deleted node for key {key}"));
    changes.get_mut(key).and_then(Option::as_mut).ok_or_else(removed)
}

/// Parses a path step as an index into an array of `length` elements.
fn index(length: usize, step: &Value) -> Result<i64, Error> {
    match step {
        Value::Number(number) => {
            number.as_i64().map_or_else(|| failed("invalid number type for indexing"), Ok)
        }
        Value::String(text) if &**text == "-" => Ok(i64::try_from(length).unwrap_or(i64::MAX)),
        Value::String(text) => {
            let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
            let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
            let digits = |text: &str, only: fn(u8) -> bool| text.bytes().all(only);
            let good = !bare.is_empty()
                && bare.len() <= 19
                && digits(whole, |byte| byte.is_ascii_digit())
                && digits(fraction, |byte| byte == b'0');
            let value = if whole.is_empty() { Some(0) } else { whole.parse::<i64>().ok() };
            let (true, Some(value)) = (good, value) else {
                return failed("invalid string for indexing");
            };
            if text.starts_with('0') && &**text != "0" {
                return failed("leading zeros are not allowed in JSON paths");
            }
            Ok(if text.starts_with('-') { -value } else { value })
        }
        _ => failed("invalid type for indexing"),
    }
}

impl Node {
    fn render(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Object(base, changes) => {
                let mut object = Object::clone(base);
                for (key, change) in changes {
                    object.remove(key);
                    if let Some(node) = change {
                        object.insert(key.clone(), deeper(|| node.render()));
                    }
                }
                Value::from(object)
            }
            Self::Set(base, changes) => {
                let mut set = Set::clone(base);
                for key in changes.keys() {
                    set.remove(key);
                }
                set.extend(changes.values().flatten().map(|node| deeper(|| node.render())));
                Value::from(set)
            }
            Self::Array(base, slots) => slots
                .iter()
                .map(|slot| match slot {
                    Slot::Original(at) => base.get(*at).cloned().unwrap_or_default(),
                    Slot::Changed(node) => deeper(|| node.render()),
                })
                .collect(),
        }
    }

    /// Expands a collection so that it can be changed.
    fn open(&mut self, context: &dyn Context) -> Result<(), Error> {
        if let Self::Value(value) = self {
            *self = match value {
                Value::Object(object) => Self::Object(object.clone(), BTreeMap::new()),
                Value::Set(set) => Self::Set(set.clone(), BTreeMap::new()),
                Value::Array(array) => {
                    charge_elements(context, array.len())?;
                    Self::Array(array.clone(), (0..array.len()).map(Slot::Original).collect())
                }
                scalar => Self::Value(scalar.clone()),
            };
        }
        Ok(())
    }

    /// Rebuilds a set whose elements may change, since its elements are its keys.
    fn collapse(&mut self) {
        if let Self::Set(..) = self
            && let Value::Set(set) = self.render()
        {
            *self = Self::Set(set, BTreeMap::new());
        }
    }

    /// Returns the node at a path.
    fn unfold(&mut self, context: &dyn Context, path: &[Value]) -> Result<&mut Self, Error> {
        let Some((step, path)) = path.split_first() else { return Ok(self) };
        self.open(context)?;
        if step.is_collection() {
            self.collapse();
        }
        let child = match self {
            Self::Object(base, changes) => {
                if !changes.contains_key(step) {
                    let Some(value) = base.get(step) else {
                        let whole = Value::Object(base.clone());
                        return failed(format!(
                            "path {step} does not exist in object term {whole}"
                        ));
                    };
                    changes.insert(step.clone(), Some(Self::Value(value.clone())));
                }
                changed(changes, step)?
            }
            Self::Set(base, changes) => {
                if !changes.contains_key(step) {
                    if !base.contains(step) {
                        let whole = Value::Set(base.clone());
                        return failed(format!("path {step} does not exist in set term {whole}"));
                    }
                    changes.insert(step.clone(), Some(Self::Value(step.clone())));
                }
                changed(changes, step)?
            }
            Self::Array(base, slots) => {
                let at = index(slots.len(), step)?;
                let missing = || {
                    let whole = Value::Array(base.clone());
                    Error::failed(format!("path {at} does not exist in array term {whole}"))
                };
                let at = usize::try_from(at).map_err(|_| missing())?;
                if !matches!(slots.get(at), Some(Slot::Changed(_))) {
                    let value = base.get(at).ok_or_else(missing)?.clone();
                    match slots.get_mut(at) {
                        Some(slot) => *slot = Slot::Changed(Self::Value(value)),
                        None => return failed("index for array delete out of bounds"),
                    }
                }
                match slots.get_mut(at) {
                    Some(Slot::Changed(child)) => child,
                    _ => return Err(missing()),
                }
            }
            Self::Value(value) => return not_composite(value, Some(step)),
        };
        deeper(|| child.unfold(context, path))
    }

    fn insert(&mut self, context: &dyn Context, key: &Value, value: Value) -> Result<(), Error> {
        self.open(context)?;
        match self {
            Self::Object(_, changes) => {
                changes.remove(key);
                changes.insert(key.clone(), Some(Self::Value(value)));
            }
            Self::Set(..) => {
                if *key != value {
                    return failed(format!(
                        "set key {key} does not equal value to be inserted {value}"
                    ));
                }
                if key.is_collection() {
                    self.collapse();
                }
                if let Self::Set(_, changes) = self {
                    changes.remove(key);
                    changes.insert(key.clone(), Some(Self::Value(value)));
                }
            }
            Self::Array(_, slots) => {
                let at = usize::try_from(index(slots.len(), key)?).ok();
                match at.filter(|at| *at <= slots.len()) {
                    Some(at) => {
                        charge_elements(context, 1)?;
                        slots.insert(at, Slot::Changed(Self::Value(value)));
                    }
                    None => return failed("index for array insertion out of bounds"),
                }
            }
            Self::Value(value) => return not_composite(value, None),
        }
        Ok(())
    }

    fn delete(&mut self, context: &dyn Context, key: &Value) -> Result<(), Error> {
        self.open(context)?;
        if key.is_collection() {
            self.collapse();
        }
        let (known, changes) = match self {
            Self::Object(base, changes) => (base.contains_key(key), changes),
            Self::Set(base, changes) => (base.contains(key), changes),
            Self::Array(_, slots) => {
                let at = usize::try_from(index(slots.len(), key)?).ok();
                return match at.filter(|at| *at < slots.len()) {
                    Some(at) => {
                        slots.remove(at);
                        Ok(())
                    }
                    None => failed("index for array delete out of bounds"),
                };
            }
            Self::Value(value) => return not_composite(value, None),
        };
        match changes.get(key) {
            Some(None) => {
                return failed(format!(
                    "cannot delete the already deleted scalar node for key {key}"
                ));
            }
            None if !known => {
                return failed(format!("cannot delete child key {key} that does not exist"));
            }
            _ => {}
        }
        changes.remove(key);
        changes.insert(key.clone(), None);
        Ok(())
    }
}

/// The document; its root is `None` once the whole document was removed.
struct Document<'a> {
    context: &'a dyn Context,
    root: Option<Node>,
}

impl Document<'_> {
    fn part(&mut self, path: &[Value]) -> Result<&mut Node, Error> {
        match &mut self.root {
            Some(root) => root.unfold(self.context, path),
            None => failed("nil value encountered where composite value was expected"),
        }
    }

    fn render(&mut self, path: &[Value]) -> Result<Value, Error> {
        Ok(self.part(path)?.render())
    }

    fn add(&mut self, path: &[Value], value: Value) -> Result<(), Error> {
        let context = self.context;
        match path.split_last() {
            None => self.root = Some(Node::Value(value)),
            Some(_) if self.root.is_none() => {
                return failed("deleted node encountered during insert operation");
            }
            Some((key, path)) => self.part(path)?.insert(context, key, value)?,
        }
        Ok(())
    }

    fn remove(&mut self, path: &[Value]) -> Result<(), Error> {
        let context = self.context;
        match path.split_last() {
            _ if self.root.is_none() => failed("deleted node encountered during delete operation"),
            None => {
                self.root = None;
                Ok(())
            }
            Some((key, path)) => self.part(path)?.delete(context, key),
        }
    }
}

pub(super) fn patch(context: &dyn Context, args: &[Value]) -> Answer {
    let operations = array(args, 1)?;
    let mut document = Document { context, root: Some(Node::Value(operand(args, 0)?.clone())) };
    for operation in operations {
        context.check()?;
        apply(&mut document, operation)?;
    }
    Ok(document.root.map(|root| root.render()))
}

fn apply(document: &mut Document<'_>, operation: &Value) -> Result<(), Error> {
    if !matches!(operation, Value::Object(_)) {
        return failed(
            "must be an array of JSON-Patch objects, but at least one element is not an object",
        );
    }
    let attribute = |name: &str| {
        let missing = || Error::failed(format!("missing required attribute '{name}'"));
        operation.get_str(name).ok_or_else(missing)
    };
    let path = attribute("path")?;
    let name = attribute("op")?;
    let Value::String(name) = name else {
        return failed(format!("attribute 'op' must be a string but found: {}", name.type_name()));
    };
    let path = path_steps(path)?;
    match &**name {
        "add" => document.add(&path, attribute("value")?.clone()),
        "remove" => document.remove(&path),
        "replace" => {
            document.remove(&path)?;
            document.add(&path, attribute("value")?.clone())
        }
        "move" | "copy" => {
            let from = path_steps(attribute("from")?)?;
            let part = document.render(&from)?;
            if &**name == "move" {
                document.remove(&from)?;
            }
            document.add(&path, part)
        }
        "test" => {
            let part = document.render(&path)?;
            let value = attribute("value")?;
            if part == *value {
                return Ok(());
            }
            failed(format!(
                "value from EditTree != patch value.\n\nExpected: {value}\n\nFound: {part}"
            ))
        }
        other => failed(format!("unrecognized op: '{other}'")),
    }
}
