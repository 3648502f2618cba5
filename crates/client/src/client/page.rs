//! Envelopes around the rows or the resource of a response.
//!
//! Owns the two documented keys of an envelope, the contents under its name and `pagination`, which
//! have no defaults, and the parsing of whole bodies. Every other key is a newer service's and is
//! skipped, whatever it is called. The form of a row belongs to the reader of the list; `pages` owns
//! the steps from page to page.

use std::fmt;
use std::marker::PhantomData;

use rego::Value;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::repeated::Repeated;
use super::row::Row;
use crate::resources::types::{Field, Type, same_name};

/// The `pagination` object of a response, in either style.
#[derive(Debug, Default, Clone)]
pub struct Pagination {
    /// Absent if the service doesn't use cursors; empty on the last page.
    pub next_cursor: Option<String>,
    pub total_count: Option<u64>,
    pub total_pages: Option<u64>,
}

/// The documented fields of `pagination`.
static PAGINATION: &[Field] = &[
    Field::optional("next_cursor", Type::String, ""),
    Field::optional("total_count", Type::Integer, ""),
    Field::optional("page", Type::Integer, ""),
    Field::optional("total_pages", Type::Integer, ""),
    Field::optional("page_size", Type::Integer, ""),
];

impl Pagination {
    fn of(value: &Value) -> Result<Self, String> {
        let count = |name: &str| match value.get_str(name) {
            None => Ok(None),
            Some(count) => match count.as_u64() {
                Some(count) => Ok(Some(count)),
                None => Err(format!("negative `{name}`")),
            },
        };
        Ok(Self {
            next_cursor: value.get_str("next_cursor").and_then(Value::as_str).map(str::to_owned),
            total_count: count("total_count")?,
            total_pages: count("total_pages")?,
        })
    }
}

/// An envelope's contents and `pagination`, if present.
#[derive(Debug)]
pub struct Envelope<T> {
    pub contents: Option<T>,
    pub pagination: Option<Pagination>,
}

/// Reads an envelope whose contents are called `name`.
#[derive(Clone, Copy)]
pub struct EnvelopeSeed<'a, S> {
    pub name: &'a str,
    pub contents: S,
}

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for EnvelopeSeed<'_, S> {
    type Value = Envelope<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for EnvelopeSeed<'_, S> {
    type Value = Envelope<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut contents, mut pagination) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            let twice = if same_name(self.name, &key) {
                contents.replace(map.next_value_seed(Nullable(self.contents))?).is_some()
            } else if key == "pagination" {
                let read = map.next_value_seed(Nullable(Row::new(PAGINATION, "pagination")))?;
                let read = read.as_ref().map(Pagination::of).transpose();
                pagination.replace(read.map_err(A::Error::custom)?).is_some()
            } else {
                map.next_value::<IgnoredAny>()?;
                false
            };
            if twice {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
        }
        Ok(Envelope { contents: contents.flatten(), pagination: pagination.flatten() })
    }
}

/// Reads null as absent.
struct Nullable<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Nullable<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// Reads the rows of a list, each with `row`.
#[derive(Clone, Copy)]
pub struct Rows<S> {
    pub row: S,
    /// The maximum number of rows to read. Further rows are skipped. A row takes much more memory than its
    /// text, as it has all of its fields.
    pub most: usize,
}

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for Rows<S> {
    type Value = Vec<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for Rows<S> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut rows = Vec::new();
        while rows.len() < self.most {
            let Some(value) = seq.next_element_seed(self.row)? else { return Ok(rows) };
            rows.push(value);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(rows)
    }
}

/// A page of a list.
pub type Page<T> = Envelope<Vec<T>>;

/// Parses a page whose array is called `name`, each of its rows with `row`, at most `most`. There is
/// a list, or a `pagination` that a service sends without its empty list.
pub fn parse_page<'de, S: DeserializeSeed<'de> + Copy>(
    name: &str,
    row: S,
    most: usize,
    body: &'de str,
) -> serde_json::Result<Page<S::Value>> {
    let page = parse(EnvelopeSeed { name, contents: Rows { row, most } }, body)?;
    if page.contents.is_none() && page.pagination.is_none() {
        let message = format!("neither `{name}` nor `pagination` found");
        return Err(serde_json::Error::custom(message));
    }
    Ok(page)
}

/// Parses a page whose rows are policy values.
pub fn parse_rows(
    name: &str,
    fields: &'static [Field],
    most: usize,
    body: &str,
) -> serde_json::Result<Page<Value>> {
    let repeated = Repeated::default();
    let row = Row { repeated: Some(&repeated), ..Row::new(fields, name) };
    parse_page(name, row, most, body)
}

/// Parses an envelope with one resource, which is called `name`.
pub fn parse_one<T: serde::de::DeserializeOwned>(
    name: &str,
    body: &str,
) -> serde_json::Result<Option<T>> {
    parse(EnvelopeSeed { name, contents: PhantomData::<T> }, body).map(|envelope| envelope.contents)
}

/// Parses a complete body that is an object. A derived `Deserialize` would also accept an array.
pub fn parse_object<T: serde::de::DeserializeOwned>(body: &str) -> serde_json::Result<T> {
    match body.trim_ascii_start().bytes().next() {
        None | Some(b'{') => parse(PhantomData::<T>, body),
        Some(_) => Err(serde::de::Error::custom("expected an object")),
    }
}

/// Parses a complete body with a seed; nothing may follow the value.
pub fn parse<'de, S: DeserializeSeed<'de>>(
    seed: S,
    body: &'de str,
) -> serde_json::Result<S::Value> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_of_one_resource_has_it_once() {
        let parse = |body: &str| parse_one::<u8>("result", body);
        for bad in ["[]", "{\"result\":1,\"result\":1}", "{\"result\":\"1\"}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for (good, expected) in [
            ("{\"result\":1,\"Result\":2,\"error\":{\"code\":13}}", Some(1)),
            ("{}", None),
            ("{\"result\":null}", None),
        ] {
            assert!(parse(good).is_ok_and(|found| found == expected), "{good}");
        }
    }

    #[test]
    fn an_envelope_has_no_defaults() {
        for bad in [
            "{}",
            "[]",
            "null",
            "",
            "{\"results\":null}",
            "{\"results\":{}}",
            "{\"pagination\":null}",
            "{\"results\":[1]}",
            "{\"results\":[]} x",
            "{\"results\":[],\"results\":[]}",
            "{\"Results\":[{}]}",
            "{\"code\":5,\"message\":\"x\"}",
            "{\"pagination\":[]}",
            "{\"pagination\":{\"total_count\":-1}}",
            "{\"pagination\":{},\"pagination\":{}}",
            "{\"results\":[],\"pagination\":{\"total_pages\":1,\"totalPages\":2}}",
        ] {
            assert!(parse_rows("results", &[], 9, bad).is_err(), "{bad}");
        }
        for good in [
            "{\"results\":[]}",
            "{\"pagination\":{}}",
            "{\"results\":[{}],\"trace\":1,\"trace\":2,\"next\":\"x\",\"others\":[{}]}",
            "{\"results\":[],\"code\":13,\"message\":\"x\",\"error\":{}}",
            "{\"results\":[],\"pagination\":{\"nextCursor\":\"\",\"pageSize\":1,\"after\":\"x\"}}",
        ] {
            assert!(parse_rows("results", &[], 9, good).is_ok(), "{good}");
        }
    }
}
