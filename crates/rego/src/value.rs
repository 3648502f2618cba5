//! The values that policies compute with.
//!
//! Owns their order and equality (OPA's), their JSON text, their text as Rego terms, and numbers of
//! any size. Values are cheap to clone. Comparing, writing and dropping a value doesn't overflow
//! the stack, however deeply it is nested.

mod convert;
mod decimal;
mod float;
pub(crate) mod go_float;
mod json;
pub(crate) mod meter;
mod number;
mod serde_impl;
mod shared;
mod sorted;
mod string;
mod terms;
pub(crate) mod unicode;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use convert::ConvertError;
pub(crate) use float::decimal_text;
pub(crate) use json::named;
pub use json::{JsonError, JsonLimits, JsonStyle};
pub use meter::{GoesOn, interruptible};
pub use number::{Number, NumberError};
use shared::Collection;
pub use shared::Shared;
pub use sorted::{Elements, IntoElements, IntoMembers, Members, Object, Set};
pub use string::Text;
pub use terms::quote;
pub(crate) use terms::{quote_with, quoted};
pub(crate) use unicode::{is_printable, lossy};

/// The elements of an array.
pub type Array = Vec<Value>;

/// Builds a set. Of equal values (`1` and `1.0`) it keeps the first, as OPA does.
pub fn set_of(mut values: Vec<Value>) -> Set {
    values.sort();
    values.dedup();
    values.into_iter().collect()
}

/// Builds an object. For equal keys it keeps the first key with the last value, as OPA does.
pub fn object_of(members: impl IntoIterator<Item = (Value, Value)>) -> Object {
    let mut object = Object::new();
    for (key, value) in members {
        object.insert(key, value);
    }
    object
}

/// A Rego value. Undefined is the absence of a value, so it has no variant here.
#[derive(Clone, Default)]
pub enum Value {
    /// The JSON `null`, which isn't undefined.
    #[default]
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number of any length and precision.
    Number(Number),
    /// Text in UTF-8.
    String(Text),
    /// Values in order, from index 0.
    Array(Shared<Array>),
    /// An object; its keys are values of any type.
    Object(Shared<Object>),
    /// Different values, in OPA's order; an array in JSON.
    Set(Shared<Set>),
}

/// Runs `work`, which descends one level into a value, and grows the stack if need be.
#[inline]
pub fn deeper<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, work)
}

impl Value {
    /// Returns the name of the value's type, as Rego's `type_name` does.
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

    /// Returns the rank of the type: null, boolean, number, string, array, object, set.
    #[inline]
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

    /// Returns the string, if the value is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the string as a shared one, if the value is one.
    pub fn as_string(&self) -> Option<&Text> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the number, if the value is one.
    #[inline]
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// Returns the boolean, if the value is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the array, if the value is one.
    #[inline]
    pub fn as_array(&self) -> Option<&Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    /// Returns the object, if the value is one.
    #[inline]
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the set, if the value is one.
    #[inline]
    pub fn as_set(&self) -> Option<&Set> {
        if let Self::Set(set) = self { Some(set) } else { None }
    }

    /// Returns the array for modification, if the value is one; copies it first if it is shared.
    pub fn as_array_mut(&mut self) -> Option<&mut Array> {
        if let Self::Array(array) = self { Some(Shared::make_mut(array)) } else { None }
    }

    /// Returns the object for modification, if the value is one; copies it first if it is shared.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(object) = self { Some(Shared::make_mut(object)) } else { None }
    }

    /// Returns the number as a 64-bit integer, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// Returns the number as an unsigned 64-bit integer, if it is one.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// Returns the double nearest to the number, if the value is one.
    pub fn as_f64(&self) -> Option<f64> {
        Some(self.as_number()?.as_f64())
    }

    /// Returns `true` for an array, an object or a set.
    #[inline]
    pub fn is_collection(&self) -> bool {
        matches!(self, Self::Array(_) | Self::Object(_) | Self::Set(_))
    }

    /// Returns `true` for a value that JSON has: one without sets, and with strings as keys.
    pub fn has_json_form(&self) -> bool {
        match self {
            Self::Set(_) => false,
            Self::Array(items) => {
                meter::visits(items.len()) && deeper(|| items.iter().all(Self::has_json_form))
            }
            Self::Object(object) if !meter::visits(object.len()) => false,
            Self::Object(object) => deeper(|| {
                object.iter().all(|(key, value)| key.as_str().is_some() && value.has_json_form())
            }),
            _ => true,
        }
    }

    /// Returns an empty object.
    pub fn new_object() -> Self {
        Self::Object(Shared::default())
    }

    /// Returns an empty array.
    pub fn new_array() -> Self {
        Self::Array(Shared::default())
    }

    /// Returns an empty set.
    pub fn new_set() -> Self {
        Self::Set(Shared::default())
    }

    /// Looks up the operand of a reference: the member of an object, the element of an array, or
    /// the element of a set itself. Scalars contain nothing.
    #[inline]
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

    /// Returns the member of an object with this name.
    pub fn get_str(&self, name: &str) -> Option<&Self> {
        /// Up to this many members, looking at each takes less than making a key.
        const FEW: usize = 32;
        let object = self.as_object()?;
        if object.len() > FEW {
            return object.get(&Self::from(name));
        }
        object.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
    }

    /// Returns the number of elements or members, or of a string's code points; `None` for other
    /// scalars.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Array(array) => Some(array.len()),
            Self::Object(object) => Some(object.len()),
            Self::Set(set) => Some(set.len()),
            Self::String(text) => Some(text.chars().count()),
            _ => None,
        }
    }

    /// Returns `true` if there are no elements, members or characters; `None` for other scalars.
    pub fn is_empty(&self) -> Option<bool> {
        match self {
            Self::Array(array) => Some(array.is_empty()),
            Self::Object(object) => Some(object.is_empty()),
            Self::Set(set) => Some(set.is_empty()),
            Self::String(text) => Some(text.is_empty()),
            _ => None,
        }
    }

    /// Returns the approximate size in bytes; shared parts count each time they occur. A size beyond
    /// all limits isn't exact.
    pub fn size(&self) -> u64 {
        const NODE: u64 = size_of::<Value>() as u64;
        /// No limit is larger.
        const MOST: u64 = 1 << 40;
        let sum = |count: usize, values: &mut dyn Iterator<Item = &Self>| {
            let mut sum = NODE * 2;
            if !meter::visits(count) {
                return MOST;
            }
            for value in values {
                sum = sum.saturating_add(value.size());
                if sum >= MOST {
                    break;
                }
            }
            sum
        };
        match self {
            Self::Null | Self::Bool(_) => NODE,
            Self::Number(number) => {
                NODE + if number.as_small().is_some() { 0 } else { number.text().len() as u64 }
            }
            Self::String(text) => NODE + 16 + text.len() as u64,
            Self::Array(array) => deeper(|| sum(array.len(), &mut array.iter())),
            Self::Set(set) => deeper(|| sum(set.len(), &mut set.iter())),
            Self::Object(object) => {
                let mut parts = object.iter().flat_map(|(key, value)| [key, value]);
                deeper(|| sum(object.len(), &mut parts))
            }
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bool(value) => f.debug_tuple("Bool").field(value).finish(),
            Self::Number(number) => f.debug_tuple("Number").field(number).finish(),
            Self::String(text) => f.debug_tuple("String").field(text).finish(),
            Self::Array(array) => deeper(|| f.debug_tuple("Array").field(array).finish()),
            Self::Object(object) => deeper(|| f.debug_tuple("Object").field(object).finish()),
            Self::Set(set) => deeper(|| f.debug_tuple("Set").field(set).finish()),
        }
    }
}

impl Ord for Value {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Array(a), Self::Array(b)) => compare(a, b, a.len()),
            (Self::Object(a), Self::Object(b)) => compare(a, b, a.len()),
            (Self::Set(a), Self::Set(b)) => compare(a, b, a.len()),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// Compares collections, the first of which has `count` elements.
fn compare<T: Collection + Ord>(a: &Shared<T>, b: &Shared<T>, count: usize) -> Ordering {
    if Shared::ptr_eq(a, b) || !meter::visits(count) {
        return Ordering::Equal;
    }
    deeper(|| T::cmp(a, b))
}

impl PartialOrd for Value {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a.len() == b.len() && self.cmp(other).is_eq(),
            (Self::Object(a), Self::Object(b)) => a.len() == b.len() && self.cmp(other).is_eq(),
            (Self::Set(a), Self::Set(b)) => a.len() == b.len() && self.cmp(other).is_eq(),
            _ => self.cmp(other).is_eq(),
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.rank());
        match self {
            Self::Null => {}
            Self::Bool(value) => value.hash(state),
            Self::Number(number) => number.hash(state),
            Self::String(text) => text.hash(state),
            Self::Array(array) if meter::visits(array.len()) => deeper(|| array.hash(state)),
            Self::Object(object) if meter::visits(object.len()) => deeper(|| {
                state.write_usize(object.len());
                for member in object.iter() {
                    member.hash(state);
                }
            }),
            Self::Set(set) if meter::visits(set.len()) => deeper(|| {
                state.write_usize(set.len());
                for element in set.iter() {
                    element.hash(state);
                }
            }),
            Self::Array(_) | Self::Object(_) | Self::Set(_) => {}
        }
    }
}

macro_rules! from {
    ($($from:ty => |$value:ident| $to:expr),+ $(,)?) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $to
            }
        })+
    };
}

from! {
    bool => |value| Self::Bool(value),
    &str => |value| Self::String(value.into()),
    String => |value| Self::String(value.into()),
    &String => |value| Self::String(value.as_str().into()),
    Arc<str> => |value| Self::String(value.into()),
    Text => |value| Self::String(value),
    Number => |value| Self::Number(value),
    i64 => |value| Self::Number(Number::from(value)),
    u64 => |value| Self::Number(Number::from(value)),
    i32 => |value| Self::Number(Number::from(i64::from(value))),
    u32 => |value| Self::Number(Number::from(i64::from(value))),
    usize => |value| Self::Number(Number::from(value as u64)),
    // Infinities and NaN, which JSON doesn't have, become null.
    f64 => |value| Number::from_f64(value).map_or(Self::Null, Self::Number),
    Array => |value| Self::Array(Shared::new(value)),
    Object => |value| Self::Object(Shared::new(value)),
    Set => |value| Self::Set(Shared::new(value)),
    Shared<Array> => |value| Self::Array(value),
    Shared<Object> => |value| Self::Object(value),
    Shared<Set> => |value| Self::Set(value),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl FromIterator<Value> for Value {
    /// Collects into an array.
    fn from_iter<I: IntoIterator<Item = Self>>(values: I) -> Self {
        Self::from(values.into_iter().collect::<Array>())
    }
}

impl<K: Into<Value>> FromIterator<(K, Value)> for Value {
    /// Collects into an object.
    fn from_iter<I: IntoIterator<Item = (K, Self)>>(members: I) -> Self {
        Self::from(members.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
    }
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

    #[test]
    fn the_debug_text_of_a_deep_value_does_not_overflow_the_stack() {
        let text = format!("{}1{}", "[".repeat(3_000), "]".repeat(3_000));
        let value = Value::from_json(&text).unwrap();
        let shown = std::thread::Builder::new().stack_size(256 << 10);
        let shown = shown.spawn(move || format!("{value:?}")).unwrap().join().unwrap();
        assert_eq!(shown.matches("Array").count(), 3_000);
    }

    #[test]
    fn deeply_nested_values_do_not_overflow_the_stack() {
        let mut deep = Value::Null;
        let mut twin = Value::Null;
        for i in 0..300_000 {
            if i % 3 == 0 {
                deep = Value::from_iter([("k", deep)]);
                twin = Value::from_iter([("k", twin)]);
            } else {
                deep = Value::from(vec![deep]);
                twin = Value::from(vec![twin]);
            }
        }
        assert_eq!(deep, twin);
        assert!(deep.to_string().len() > 600_000);
        assert!(deep.to_json().len() > 600_000);
        assert!(deep.size() > 600_000);
    }

    #[test]
    fn values_are_small_and_found_by_name() {
        assert!(size_of::<Value>() <= 24);
        let value = Value::from_json(r#"{"a": 1, "b": [2], "": null}"#).unwrap();
        assert_eq!(value.get_str("a"), Some(&Value::from(1)));
        assert_eq!(value.get_str(""), Some(&Value::Null));
        assert_eq!(value.get_str("c"), None);
        assert_eq!(value.get_str("b").unwrap().get(&Value::from(0)), Some(&Value::from(2)));
    }
}
