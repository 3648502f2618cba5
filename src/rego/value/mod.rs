//! Values: what a policy computes with.
//!
//! Owns their order and equality (OPA's), their JSON text, and numbers of any size. A value is
//! cheap to clone.

mod json;
mod number;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use json::{JsonError, JsonLimits};
pub use number::Number;

/// Elements of an array.
pub type Array = Vec<Value>;
/// Members of an object, in the order of their keys.
pub type Object = BTreeMap<Value, Value>;
/// Elements of a set, in order.
pub type Set = BTreeSet<Value>;

/// A value. Undefined isn't one: it is the absence of a value.
#[derive(Debug, Clone)]
pub enum Value {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<Array>),
    /// An object; its keys are values of any type.
    Object(Arc<Object>),
    /// A set.
    Set(Arc<Set>),
}

impl Value {
    /// The name of its type, as Rego's `type_name` has it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
            Self::Set(_) => "set",
        }
    }

    /// Its place in the order of types: null, boolean, number, string, array, object, set.
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) => 2,
            Self::String(_) => 3,
            Self::Array(_) => 4,
            Self::Object(_) => 5,
            Self::Set(_) => 6,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The array, if it is one.
    pub fn as_array(&self) -> Option<&Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// The set, if it is one.
    pub fn as_set(&self) -> Option<&Set> {
        if let Self::Set(set) = self { Some(set) } else { None }
    }

    /// An empty object.
    pub fn new_object() -> Self {
        Self::Object(Arc::default())
    }

    /// An empty array.
    pub fn new_array() -> Self {
        Self::Array(Arc::default())
    }

    /// An empty set.
    pub fn new_set() -> Self {
        Self::Set(Arc::default())
    }

    /// What a reference with this operand finds: an object's member, an array's element, a set's
    /// element itself; nothing in a scalar.
    pub fn get(&self, key: &Self) -> Option<&Self> {
        match self {
            Self::Object(object) => object.get(key),
            Self::Array(array) => {
                let index = key.as_number()?.as_usize()?;
                array.get(index)
            }
            Self::Set(set) => set.get(key),
            _ => None,
        }
    }

    /// How many elements, members or (of a string) code points it has; nothing for other scalars.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Array(array) => Some(array.len()),
            Self::Object(object) => Some(object.len()),
            Self::Set(set) => Some(set.len()),
            Self::String(text) => Some(text.chars().count()),
            _ => None,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Array(a), Self::Array(b)) => {
                if Arc::ptr_eq(a, b) { Ordering::Equal } else { a.cmp(b) }
            }
            (Self::Object(a), Self::Object(b)) => {
                if Arc::ptr_eq(a, b) { Ordering::Equal } else { compare_objects(a, b) }
            }
            (Self::Set(a), Self::Set(b)) => {
                if Arc::ptr_eq(a, b) { Ordering::Equal } else { a.iter().cmp(b.iter()) }
            }
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// OPA's order of objects: pairwise in the order of keys, key before value, the shorter first.
fn compare_objects(a: &Object, b: &Object) -> Ordering {
    for ((ak, av), (bk, bv)) in a.iter().zip(b) {
        let order = ak.cmp(bk).then_with(|| av.cmp(bv));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

macro_rules! from {
    ($($from:ty => |$it:ident| $to:expr),+ $(,)?) => {
        $(impl From<$from> for Value {
            fn from($it: $from) -> Self {
                $to
            }
        })+
    };
}

from! {
    bool => |it| Self::Bool(it),
    &str => |it| Self::String(it.into()),
    String => |it| Self::String(it.into()),
    Arc<str> => |it| Self::String(it),
    Number => |it| Self::Number(it),
    i64 => |it| Self::Number(Number::from(it)),
    u64 => |it| Self::Number(Number::from(it)),
    i32 => |it| Self::Number(Number::from(i64::from(it))),
    u32 => |it| Self::Number(Number::from(i64::from(it))),
    usize => |it| Self::Number(Number::from(it as u64)),
    f64 => |it| Self::Number(Number::from(it)),
    Array => |it| Self::Array(Arc::new(it)),
    Object => |it| Self::Object(Arc::new(it)),
    Set => |it| Self::Set(Arc::new(it)),
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn types_are_ordered_as_in_opa() {
        let sorted = r#"[null,false,true,-1,2,"a","b",[],[1],{},{"a":1}]"#;
        let value = Value::from_json(sorted).unwrap();
        let array = value.as_array().unwrap();
        assert!(array.is_sorted());
        assert!(*array.last().unwrap() < Value::new_set());
    }
}
