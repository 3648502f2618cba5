//! Values from and to the host's own types.
//!
//! Owns the conversions in which a number can't change unnoticed: a type that names its number, such as
//! `f64`, gets the nearest one, and a type that doesn't gets exactly the number or an error.

use std::fmt;

use serde::de::value::{
    BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer,
};
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde::ser::Serialize;

use super::{JsonLimits, Number, Value, deeper};

/// The reason why a value can't be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertError(String);

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConvertError {}

impl serde::de::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Result<T> = std::result::Result<T, ConvertError>;

impl Value {
    /// Makes the value that a host's own type is in JSON. Numbers keep their digits; infinities and NaN
    /// are null, as `serde_json` writes them.
    ///
    /// ```
    /// # use rego_platform_rego::Value;
    /// #[derive(serde::Serialize)]
    /// struct Release {
    ///     name: &'static str,
    ///     size: u64,
    /// }
    ///
    /// let input = Value::from_serialize(&Release { name: "web", size: u64::MAX })?;
    /// assert_eq!(input.to_string(), r#"{"name": "web", "size": 18446744073709551615}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An error of `T`'s own, or a `T` that JSON doesn't have, such as a map whose keys are lists.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let text = serde_json::to_vec(value).map_err(ConvertError::custom)?;
        Self::from_json_bytes(&text, JsonLimits::default()).map_err(ConvertError::custom)
    }

    /// Reads the value as a type of the host's own. A set is a list; a key that isn't a string is its
    /// JSON text.
    ///
    /// ```
    /// # use rego_platform_rego::Value;
    /// #[derive(serde::Deserialize)]
    /// struct Finding {
    ///     message: String,
    ///     score: f64,
    /// }
    ///
    /// let value = Value::from_json(r#"[{"message": "no digest", "score": 7.5}]"#)?;
    /// let findings: Vec<Finding> = value.deserialize()?;
    /// assert_eq!(findings[0].message, "no digest");
    /// assert!(findings[0].score > 7.0);
    ///
    /// let error = value.deserialize::<Vec<String>>().unwrap_err();
    /// assert_eq!(error.to_string(), "invalid type: map, expected a string");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What `T` doesn't accept, and a number that it can't hold: an integer out of its range, or, where
    /// `T` takes any number, one that isn't a 128-bit integer or a double.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(self)
    }
}

impl TryFrom<&Value> for serde_json::Value {
    type Error = ConvertError;

    /// ```
    /// # use rego_platform_rego::Value;
    /// let exact = Value::from_json(r#"{"ratio": 0.1}"#)?;
    /// assert_eq!(serde_json::Value::try_from(&exact)?, serde_json::json!({"ratio": 0.1}));
    ///
    /// let longer = Value::from_json("0.1000000000000000000001")?;
    /// assert!(serde_json::Value::try_from(&longer).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn try_from(value: &Value) -> Result<Self> {
        value.deserialize()
    }
}

/// A number, to be read as any type that takes one.
fn number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value> {
    if let Some(value) = number.as_i64() {
        return visitor.visit_i64(value);
    }
    if let Some(value) = number.as_u64() {
        return visitor.visit_u64(value);
    }
    if let Ok(value) = number.text().parse::<i128>() {
        return visitor.visit_i128(value);
    }
    let double = number.as_f64();
    if Number::from_f64(double).as_ref() == Some(number) {
        return visitor.visit_f64(double);
    }
    let shown = crate::text::shorten(&number.text(), 60);
    Err(ConvertError(format!("the number `{shown}` isn't a double")))
}

impl<'de> IntoDeserializer<'de, ConvertError> for &'de Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Value {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(value) => number(value, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(array) => {
                deeper(|| SeqDeserializer::new(array.iter()).deserialize_any(visitor))
            }
            Value::Set(set) => deeper(|| SeqDeserializer::new(set.iter()).deserialize_any(visitor)),
            Value::Object(object) => deeper(|| {
                let members = object.iter().map(|(key, value)| (Key(key), value));
                MapDeserializer::new(members).deserialize_any(visitor)
            }),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.as_number().and_then(Number::as_finite_f64) {
            Some(double) => visitor.visit_f64(double),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    /// Refuses an array, from which derived types would take their fields by position.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self {
            Value::Array(_) | Value::Set(_) => {
                Err(ConvertError::invalid_type(Unexpected::Seq, &visitor))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self {
            Value::String(text) => {
                BorrowedStrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            Value::Object(object) if object.len() == 1 => deeper(|| {
                let members = object.iter().map(|(key, value)| (Key(key), value));
                let access = MapDeserializer::new(members);
                MapAccessDeserializer::new(access).deserialize_enum(name, variants, visitor)
            }),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

/// A key of an object: a string, or an integer for a type that asks for one.
#[derive(Clone, Copy)]
struct Key<'a>(&'a Value);

impl<'de> IntoDeserializer<'de, ConvertError> for Key<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! integers {
    ($($name:ident)+) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.0.as_str().map_or_else(|| self.0.as_number().cloned(), Number::parse) {
                Some(key) if key.is_integer_text() => number(&key, visitor),
                _ => self.deserialize_any(visitor),
            }
        })+
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_str(text),
            other => visitor.visit_string(other.to_json()),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let key = self.0.as_str().unwrap_or_default();
        BorrowedStrDeserializer::new(key).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Plain,
        Of(u32),
        With { part: Option<String> },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        kinds: Vec<Kind>,
        by_number: BTreeMap<u16, f64>,
        by_kind: BTreeMap<String, (i128, char)>,
        any: serde_json::Value,
        value: Value,
    }

    #[test]
    fn a_type_of_the_hosts_is_the_same_after_a_round_trip() {
        let all = All {
            kinds: vec![Kind::Plain, Kind::Of(7), Kind::With { part: None }],
            by_number: [(3, 0.1)].into(),
            by_kind: [("k".to_owned(), (i128::MAX, 'c'))].into(),
            any: serde_json::json!([null, true, -1, u64::MAX, 1.5, {"a": "b"}]),
            value: Value::from_json(r#"{"a": 170141183460469231731687303715884105727}"#).unwrap(),
        };
        let value = Value::from_serialize(&all).unwrap();
        assert_eq!(value.deserialize::<All>().unwrap(), all);
        assert_eq!(Value::from_serialize(&value).unwrap(), value);
    }

    #[test]
    fn a_number_changes_only_if_the_type_names_a_double() {
        let third = Value::from_json("0.3333333333333333333").unwrap();
        assert_eq!(third.deserialize::<f64>(), Ok(1.0 / 3.0));
        for number in ["0.3333333333333333333", "1e400", "340282366920938463463374607431768211456"]
        {
            let number = Value::from_json(number).unwrap();
            let message = format!("the number `{number}` isn't a double");
            let error = serde_json::Value::try_from(&number).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(number.deserialize::<Value>().unwrap_err().to_string(), message);
        }
        assert_eq!(Value::from_json("12.0").unwrap().deserialize::<u8>(), Ok(12));
        assert!(Value::from(300).deserialize::<u8>().is_err());
    }

    #[test]
    fn sets_are_lists_and_keys_are_text() {
        let keys = [(Value::from(5), Value::from(1)), (Value::new_array(), Value::from(2))];
        let object = Value::from(Value::from_iter(keys).as_object().unwrap().clone());
        let set = Value::from(super::super::set_of(vec![Value::from(2), Value::from(1)]));
        assert_eq!(set.deserialize::<Vec<u8>>(), Ok(vec![1, 2]));
        let json = serde_json::Value::try_from(&object).unwrap();
        assert_eq!(json, serde_json::json!({"5": 1, "[]": 2}));
        assert!(object.deserialize::<BTreeMap<u8, u8>>().is_err());
    }
}
