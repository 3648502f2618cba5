//! JSON of other programs, read into types of our own.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A struct that is read from an object only. Derived implementations also accept an array of the fields'
/// values, which no other reader of these documents does.
///
/// ```
/// # use rego_platform_client::json::Object;
/// #[derive(serde::Deserialize)]
/// struct Subject {
///     name: String,
/// }
///
/// let Object(subject) = serde_json::from_str::<Object<Subject>>(r#"{"name": "x"}"#)?;
/// assert_eq!(subject.name, "x");
/// assert!(serde_json::from_str::<Object<Subject>>(r#"["x"]"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Object<T>(pub T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}
