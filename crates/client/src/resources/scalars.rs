//! The scalar values of resources.
//!
//! Owns what is accepted as a timestamp, a whole number, a 64-bit count and an undocumented value.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, Utc};
use rego::value::JsonLimits;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::shorten;

/// A point in time, as the service spells it: RFC 3339, or empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// Returns the service's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the point in time; `None` if the service sent an empty text.
    pub fn utc(&self) -> Option<DateTime<Utc>> {
        DateTime::parse_from_rfc3339(&self.0).ok().map(|at| at.with_timezone(&Utc))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() || DateTime::parse_from_rfc3339(&text).is_ok() {
            return Ok(Self(text));
        }
        Err(D::Error::custom(format!("invalid RFC 3339 timestamp `{}`", shorten(&text, 40))))
    }
}

/// A whole number of 64 bits, which the service writes as a string.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Count(String);

impl Count {
    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number.
    pub fn get(&self) -> i128 {
        self.0.parse().unwrap_or_default()
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Whole).map(|number| Self(number.to_string()))
    }
}

/// A whole number, as a number or a string.
pub struct Int(pub i64);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = deserializer.deserialize_any(Whole)?;
        i64::try_from(number)
            .map(Self)
            .map_err(|_| D::Error::custom(format!("number exceeds 64 bits: {number}")))
    }
}

/// Reads a whole number of 64 bits, signed or not; as a string, in its canonical form only.
struct Whole;

impl Visitor<'_> for Whole {
    type Value = i128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of 64 bits")
    }

    fn visit_i64<E>(self, v: i64) -> Result<i128, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<i128, E> {
        Ok(v.into())
    }

    // Some JSON writers have one kind of number. Beyond 53 bits it has been rounded already.
    fn visit_f64<E: Error>(self, v: f64) -> Result<i128, E> {
        #[allow(clippy::cast_possible_truncation)]
        if v.fract() == 0.0 && v.abs() < 9.0e15 {
            return Ok(v as i128);
        }
        Err(E::invalid_type(serde::de::Unexpected::Float(v), &self))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<i128, E> {
        let number = v.parse::<i128>().ok().filter(|number| number.to_string() == v);
        number.filter(|n| *n >= i64::MIN.into() && *n <= u64::MAX.into()).ok_or_else(|| {
            E::custom(format!("invalid whole number of 64 bits: `{}`", shorten(v, 40)))
        })
    }
}

/// The levels of an undocumented value, as many as of a whole answer.
const MAX_LEVELS: usize = 128;

/// An undocumented value of any type and size, kept as the service wrote it.
pub struct Undocumented(pub rego::Value);

impl<'de> Deserialize<'de> for Undocumented {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let limits = JsonLimits::default().depth(MAX_LEVELS);
        let value = rego::Value::from_json_bytes(text.get().as_bytes(), limits);
        value.map(Self).map_err(D::Error::custom)
    }
}

/// An object with the service's own keys, each at most once.
pub struct Keyed<T>(pub BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeyedVisitor(PhantomData)).map(Self)
    }
}

struct KeyedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for KeyedVisitor<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = HashSet::new();
        let mut out = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            once(&mut keys, &key)?;
            out.insert(key, map.next_value()?);
        }
        Ok(out)
    }
}

/// Refuses a key that appears twice.
fn once<E: Error>(keys: &mut HashSet<String>, key: &str) -> Result<(), E> {
    if keys.insert(key.to_owned()) {
        return Ok(());
    }
    Err(E::custom(format!("the key `{}` appears twice", shorten(key, 80))))
}
