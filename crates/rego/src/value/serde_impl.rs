//! Serde support: values in any format that serde reads or writes.
//!
//! JSON text has its own reader and writer, which keep the text of numbers.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Array, Number, Object, Value, deeper};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(array) => deeper(|| serializer.collect_seq(array.iter())),
            Self::Set(set) => deeper(|| serializer.collect_seq(set.iter())),
            Self::Object(object) => deeper(|| {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object.iter() {
                    match key {
                        Self::String(name) => map.serialize_entry(&**name, value)?,
                        key => map.serialize_entry(&key.to_json(), value)?,
                    }
                }
                map.end()
            }),
        }
    }
}

impl Serialize for Number {
    /// Serializes an integer as such, and any other number as its JSON text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(value) = self.as_small() {
            return serializer.serialize_i64(value);
        }
        let text = self.text();
        match serde_json::value::RawValue::from_string(text.clone().into_owned()) {
            // `serde_json` writes the text verbatim; other formats see a struct with a single
            // member.
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.serialize_str(&text),
        }
    }
}

/// Numbers are as exact as the format's deserializer: `serde_json::from_str` rounds integers of more
/// than 64 bits and long fractions to doubles, [`Value::from_json`] doesn't.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        integer(&value.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        integer(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() {
            Ok(Value::from(value))
        } else {
            Err(E::custom("number isn't finite"))
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut values = Array::new();
        while let Some(value) = deeper(|| access.next_element())? {
            values.push(value);
        }
        Ok(Value::from(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Object::new();
        while let Some((key, value)) = deeper(|| access.next_entry::<Value, Value>())? {
            members.insert(key, value);
        }
        if let Some(number) = private_number(&members) {
            return Ok(number);
        }
        Ok(Value::from(members))
    }
}

fn integer<E: serde::de::Error>(text: &str) -> Result<Value, E> {
    Number::parse(text).map(Value::Number).ok_or_else(|| E::custom("invalid number"))
}

/// The key under which `serde_json` passes the text of a number to other types, where its feature
/// `arbitrary_precision` is on. Any crate of a program can turn it on.
const PRIVATE_NUMBER: &str = "$serde_json::private::Number";

/// Returns the number for which an object stands.
fn private_number(members: &Object) -> Option<Value> {
    static IN_USE: LazyLock<bool> = LazyLock::new(|| {
        let half = serde_json::from_str::<serde_json::Number>("0.50");
        half.is_ok_and(|half| half.to_string() == "0.50")
    });
    if members.len() != 1 {
        return None;
    }
    let text = members.get(&Value::from(PRIVATE_NUMBER))?.as_str()?;
    if !*IN_USE {
        return None;
    }
    Number::parse(text).map(Value::Number)
}

impl From<&serde_json::Value> for Value {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => {
                Number::parse(&number.to_string()).map_or(Self::Null, Self::Number)
            }
            serde_json::Value::String(text) => Self::from(text.as_str()),
            serde_json::Value::Array(values) => deeper(|| values.iter().map(Self::from).collect()),
            serde_json::Value::Object(members) => deeper(|| {
                members.iter().map(|(name, value)| (name.as_str(), Self::from(value))).collect()
            }),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        Self::from(&value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn serde_json_writes_the_same_text() {
        let text = r#"{"a":[1.10,12345678901234567890123,-3,true,null],"b":"x"}"#;
        let value = Value::from_json(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
        let read: Value = serde_json::from_str(r#"{"a":[1,-2,3.5],"b":{}}"#).unwrap();
        assert_eq!(read.to_json(), r#"{"a":[1,-2,3.5],"b":{}}"#);
    }
}
