//! Values of a host's types with their position in the text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// The name by which the deserializer knows the type.
pub(super) const NAME: &str = "rego::yaml::Located";

/// A value with its position. It can be read only by [`from_str`](super::from_str).
#[derive(Debug, Clone)]
pub struct Located<T> {
    /// The line of its node, from 1.
    pub line: usize,
    /// The column of its node in characters, from 1.
    pub column: usize,
    /// The value.
    pub value: T,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, Parts(PhantomData))
    }
}

/// Reads the line, the column and the value.
struct Parts<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
    type Value = Located<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its position")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Located<T>, A::Error> {
        let missing = || de::Error::custom("a position isn't known");
        let line = parts.next_element()?.ok_or_else(missing)?;
        let column = parts.next_element()?.ok_or_else(missing)?;
        let value = parts.next_element()?.ok_or_else(missing)?;
        Ok(Located { line, column, value })
    }
}
