//! Objects: members by key, unions, subsets, and filtering by path.

use std::collections::BTreeMap;

use super::operands::{
    Ticks, answer, array, charge_elements, element_error, object, operand, operand_error,
};
use super::{Answer, Code, Context, Error, Value};
use crate::value::{Array, Object, Set, Shared, deeper};

pub(super) fn get(_: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    let (path, default) = (operand(args, 1)?, operand(args, 2)?);
    let Value::Array(path) = path else {
        return answer(object.get(path).unwrap_or(default).clone());
    };
    let mut at = operand(args, 0)?;
    for key in path.iter() {
        match at.get(key) {
            Some(found) => at = if matches!(at, Value::Set(_)) { key } else { found },
            None => return answer(default.clone()),
        }
    }
    answer(at.clone())
}

pub(super) fn keys(context: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    charge_elements(context, object.len())?;
    answer(object.keys().cloned().collect::<Set>())
}

/// Returns the keys in the second operand: the elements of an array or set, or the keys of an
/// object.
fn keys_operand(args: &[Value]) -> Result<Set, Error> {
    Ok(match operand(args, 1)? {
        Value::Array(array) => {
            let mut keys = Set::new();
            keys.extend(array.iter().cloned());
            keys
        }
        Value::Set(set) => Set::clone(set),
        Value::Object(object) => object.keys().cloned().collect(),
        other => return Err(Error::operand(2, other, &["object", "set", "array"])),
    })
}

pub(super) fn remove(context: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    let keys = keys_operand(args)?;
    charge_elements(context, object.len().saturating_mul(2))?;
    let kept = object.iter().filter(|(key, _)| !keys.contains(key));
    answer(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Object>())
}

pub(super) fn filter(context: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    let keys = keys_operand(args)?;
    charge_elements(context, object.len().min(keys.len()).saturating_mul(2))?;
    let tree = keys.into_iter().map(|key| (key, PathTree::Whole)).collect();
    answer(filtered(operand(args, 0)?, object.len(), &tree))
}

pub(super) fn union(context: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (object(args, 0)?, object(args, 1)?);
    if a.is_empty() {
        return answer(operand(args, 1)?.clone());
    }
    if b.is_empty() || a == b {
        return answer(operand(args, 0)?.clone());
    }
    answer(merged(context, a, b)?)
}

/// Merges two objects. Of two values for a key, the second wins; two objects are merged
/// recursively.
fn merged(context: &dyn Context, a: &Object, b: &Object) -> Result<Object, Error> {
    charge_elements(context, a.len().saturating_add(b.len()).saturating_mul(2))?;
    context.check()?;
    let mut result = a.clone();
    for (key, value) in b {
        match (result.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                *old = Shared::new(deeper(|| merged(context, old, new))?);
            }
            (Some(old), value) => *old = value.clone(),
            (None, value) => {
                result.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(result)
}

/// A member of a union that is built from the last object to the first.
enum UnionMember {
    /// A value that isn't an object, or an object that nothing has been merged into yet.
    Value(Value),
    /// An object that is being merged. The flag is set once an earlier value isn't an object, which
    /// ends the merging.
    Object(BTreeMap<Value, UnionMember>, bool),
}

impl UnionMember {
    fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            Self::Object(members, _) => {
                let members = members.into_iter();
                members.map(|(key, member)| (key, deeper(|| member.into_value()))).collect()
            }
        }
    }

    /// Merges the value that an earlier object has for the same key.
    fn merge(&mut self, context: &dyn Context, earlier: &Value) -> Result<(), Error> {
        if let Self::Value(Value::Object(object)) = self {
            charge_elements(context, object.len().saturating_mul(2))?;
            let members =
                object.iter().map(|(key, value)| (key.clone(), Self::Value(value.clone())));
            *self = Self::Object(members.collect(), false);
        }
        match (self, earlier) {
            (Self::Object(members, false), Value::Object(object)) => {
                deeper(|| merge_all(context, members, object))?;
            }
            (Self::Object(_, frozen), earlier) if !matches!(earlier, Value::Object(_)) => {
                *frozen = true
            }
            _ => {}
        }
        Ok(())
    }
}

fn merge_all(
    context: &dyn Context,
    members: &mut BTreeMap<Value, UnionMember>,
    earlier: &Object,
) -> Result<(), Error> {
    context.check()?;
    for (key, value) in earlier {
        match members.get_mut(key) {
            Some(member) => member.merge(context, value)?,
            None => {
                charge_elements(context, 2)?;
                members.insert(key.clone(), UnionMember::Value(value.clone()));
            }
        }
    }
    Ok(())
}

pub(super) fn union_n(context: &dyn Context, args: &[Value]) -> Answer {
    let array = array(args, 0)?;
    let whole = operand(args, 0)?;
    let objects: Result<Vec<&Object>, Error> = array
        .iter()
        .map(|item| item.as_object().ok_or_else(|| element_error(1, whole, item, &["object"])))
        .collect();
    let objects = objects?;
    if let ([only], [_]) = (array.as_slice(), objects.as_slice()) {
        return answer(only.clone());
    }
    let mut members = BTreeMap::new();
    for object in objects.into_iter().rev() {
        merge_all(context, &mut members, object)?;
    }
    answer(UnionMember::Object(members, false).into_value())
}

pub(super) fn subset(context: &dyn Context, args: &[Value]) -> Answer {
    let mut ticks = Ticks::new();
    answer(match (operand(args, 0)?, operand(args, 1)?) {
        (Value::Object(all), Value::Object(few)) => is_subobject(context, &mut ticks, all, few)?,
        (Value::Set(all), Value::Set(few)) => few.iter().all(|member| all.contains(member)),
        (Value::Array(all), Value::Array(few)) => is_subarray(context, &mut ticks, all, few)?,
        (Value::Array(all), Value::Set(few)) => has_as_many(all, few),
        _ => {
            let message = "both arguments object.subset must be of the same type or array and set";
            return Err(Error { code: Code::Type, message: message.into(), halt: false });
        }
    })
}

fn is_subobject(
    context: &dyn Context,
    ticks: &mut Ticks,
    all: &Object,
    few: &Object,
) -> Result<bool, Error> {
    for (key, part) in few {
        ticks.tick(context)?;
        let Some(whole) = all.get(key) else { return Ok(false) };
        let holds = part == whole
            || match (whole, part) {
                (Value::Object(all), Value::Object(few)) => {
                    deeper(|| is_subobject(context, ticks, all, few))?
                }
                (Value::Set(all), Value::Set(few)) => few.iter().all(|member| all.contains(member)),
                (Value::Array(all), Value::Array(few)) => is_subarray(context, ticks, all, few)?,
                _ => false,
            };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if the elements of `few` occur in `all` as a contiguous sequence.
fn is_subarray(
    context: &dyn Context,
    ticks: &mut Ticks,
    all: &Array,
    few: &Array,
) -> Result<bool, Error> {
    if few.is_empty() {
        return Ok(true);
    }
    for window in all.windows(few.len()) {
        let mut same = true;
        for (a, b) in window.iter().zip(few) {
            ticks.tick(context)?;
            if a != b {
                same = false;
                break;
            }
        }
        if same {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if `all` contains at least as many elements of `few` as `few` has. As in OPA,
/// duplicates count each time.
fn has_as_many(all: &Array, few: &Set) -> bool {
    let mut missing = few.len();
    all.iter().any(|member| {
        if few.contains(member) {
            missing = missing.saturating_sub(1);
        }
        missing == 0
    })
}

/// A tree of paths; everything below the end of a path belongs to it.
enum PathTree {
    Whole,
    Parts(BTreeMap<Value, PathTree>),
}

/// Splits a path into steps: text separated by slashes, or an array of keys.
pub(super) fn path_steps(path: &Value) -> Result<Vec<Value>, Error> {
    match path {
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => {
            let steps = text.trim_start_matches('/').split('/');
            Ok(steps.map(|step| Value::from(step.replace("~1", "/").replace("~0", "~"))).collect())
        }
        Value::Array(steps) => Ok(Array::clone(steps)),
        other => {
            let message = "must be one of {set, array} containing string paths or array of path segments but got ";
            Err(operand_error(2, &format!("{message}{}", other.type_name())))
        }
    }
}

/// Builds a tree from the paths in the second operand.
fn paths(context: &dyn Context, args: &[Value]) -> Result<BTreeMap<Value, PathTree>, Error> {
    let mut root = BTreeMap::new();
    let paths: Result<Vec<_>, Error> =
        super::aggregates::list_operand(args, 1, &["set", "array"])?.map(path_steps).collect();
    for steps in paths? {
        charge_elements(context, steps.len())?;
        let Some((last, steps)) = steps.split_last() else { continue };
        let mut node = Some(&mut root);
        for step in steps {
            let Some(parts) = node.take() else { break };
            match parts.entry(step.clone()).or_insert_with(|| PathTree::Parts(BTreeMap::new())) {
                PathTree::Whole => break,
                PathTree::Parts(inner) => node = Some(inner),
            }
        }
        if let Some(parts) = node {
            parts.insert(last.clone(), PathTree::Whole);
        }
    }
    Ok(root)
}

pub(super) fn json_filter(context: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    let tree = paths(context, args)?;
    charge_elements(context, object.len().min(tree.len()).saturating_mul(2))?;
    answer(filtered(operand(args, 0)?, object.len(), &tree))
}

/// Returns the parts of a value that a tree of paths selects.
fn filtered(value: &Value, size: usize, tree: &BTreeMap<Value, PathTree>) -> Value {
    let below = |part: &Value, tree: &PathTree| match tree {
        PathTree::Whole => part.clone(),
        PathTree::Parts(parts) => deeper(|| filtered(part, part.len().unwrap_or(0), parts)),
    };
    match value {
        Value::Array(array) => {
            let parts = array.iter().enumerate();
            parts
                .filter_map(|(index, part)| Some(below(part, tree.get(&index_text(index))?)))
                .collect()
        }
        Value::Set(set) => Value::from(
            set.iter()
                .filter_map(|element| Some(below(element, tree.get(element)?)))
                .collect::<Set>(),
        ),
        // Keys come from the larger side, as in OPA.
        Value::Object(object) if size < tree.len() => tree
            .iter()
            .filter_map(|(key, tree)| Some((key.clone(), below(object.get(key)?, tree))))
            .collect(),
        Value::Object(object) => object
            .iter()
            .filter_map(|(key, part)| Some((key.clone(), below(part, tree.get(key)?))))
            .collect(),
        scalar => scalar.clone(),
    }
}

/// Returns the path step that selects an array element.
fn index_text(index: usize) -> Value {
    Value::from(index.to_string())
}

pub(super) fn json_remove(context: &dyn Context, args: &[Value]) -> Answer {
    let object = object(args, 0)?;
    let tree = paths(context, args)?;
    charge_elements(context, object.len().saturating_mul(2))?;
    answer(without(operand(args, 0)?, &tree))
}

/// Returns a value without the parts that a tree of paths selects.
fn without(value: &Value, tree: &BTreeMap<Value, PathTree>) -> Value {
    let below = |part: &Value, tree: Option<&PathTree>| match tree {
        None => Some(part.clone()),
        Some(PathTree::Whole) => None,
        Some(PathTree::Parts(parts)) => Some(deeper(|| without(part, parts))),
    };
    match value {
        Value::Array(array) => {
            let parts = array.iter().enumerate();
            parts.filter_map(|(index, part)| below(part, tree.get(&index_text(index)))).collect()
        }
        Value::Set(set) => Value::from(
            set.iter().filter_map(|element| below(element, tree.get(element))).collect::<Set>(),
        ),
        Value::Object(object) => object
            .iter()
            .filter_map(|(key, part)| Some((key.clone(), below(part, tree.get(key))?)))
            .collect(),
        scalar => scalar.clone(),
    }
}
