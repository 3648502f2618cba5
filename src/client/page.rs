//! One page of a list, as the service sends it.
//!
//! Owns the envelope (the array under its name, `pagination` in either style), which has no
//! defaults, and the parsing of whole bodies. The form of a row belongs to the reader of the list;
//! `pages` owns the steps from page to page.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use crate::rego::Value;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::doubts::{Beside, beside};
use super::envelope::{
    refuse, refuse_around_list, refuse_in_pagination, refuse_misspelt, refuse_without_list,
};
use super::json::{Row, Typed};
use super::repeated::Repeated;
use crate::resources::types::{Field, Type, same_name};

/// The `pagination` object of an answer, in either style.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pagination {
    /// Absent if the service doesn't use cursors; empty on the last page.
    pub next_cursor: Option<String>,
    pub total_count: Option<u64>,
    pub page: Option<u64>,
    pub total_pages: Option<u64>,
    pub page_size: Option<u64>,
}

/// The documented keys of `pagination`.
const KEYS: [&str; 5] = ["next_cursor", "total_count", "page", "total_pages", "page_size"];

impl<'de> serde::Deserialize<'de> for Pagination {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PaginationVisitor;
        impl<'de> Visitor<'de> for PaginationVisitor {
            type Value = Pagination;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a `pagination` object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pagination, A::Error> {
                let mut out = Pagination::default();
                let mut seen = BTreeSet::new();
                let mut unknown = Vec::new();
                let mut cursor = None;
                let mut counts = [None; 4];
                while let Some(key) = map.next_key::<String>()? {
                    match KEYS.iter().position(|name| same_name(name, &key)) {
                        Some(0) => {
                            let next = map.next_value::<Option<String>>()?.unwrap_or_default();
                            out.next_cursor = Some(next.clone());
                            agree(&mut cursor, next)?;
                        }
                        Some(at) => {
                            let count = map.next_value::<Option<Count>>()?.map(|c| c.0);
                            if let Some(slot) = counts.get_mut(at - 1) {
                                agree(slot, count)?;
                            }
                        }
                        None => {
                            refuse_misspelt(KEYS.into_iter(), &key).map_err(A::Error::custom)?;
                            unknown.push((key.clone(), map.next_value_seed(ANY)?));
                        }
                    }
                    if !seen.insert(key) {
                        return Err(A::Error::custom("a key of `pagination` appears twice"));
                    }
                }
                refuse_in_pagination(unknown.iter().map(|(key, value)| (key.as_str(), value)))
                    .map_err(A::Error::custom)?;
                let [total_count, page, total_pages, page_size] = counts.map(Option::flatten);
                (out.total_count, out.page) = (total_count, page);
                (out.total_pages, out.page_size) = (total_pages, page_size);
                Ok(out)
            }
        }
        deserializer.deserialize_map(PaginationVisitor)
    }
}

/// Reads the value of an undocumented key.
pub(crate) const ANY: Typed<'static> = Typed { ty: &Type::Any, name: "answer", repeated: None };

/// Refuses undocumented keys that may not be around a list.
pub(crate) fn refuse_all<E: serde::de::Error>(unknown: &[(String, Value)]) -> Result<(), E> {
    refuse_around_list(unknown.iter().map(|(key, value)| (key.as_str(), value))).map_err(E::custom)
}

/// Refuses a field that appears in both casings with different values.
fn agree<T: PartialEq, E: serde::de::Error>(first: &mut Option<T>, value: T) -> Result<(), E> {
    if first.as_ref().is_some_and(|first| *first != value) {
        return Err(E::custom("a key of `pagination` appears twice with different values"));
    }
    *first = Some(value);
    Ok(())
}

/// A count, as a number or a string.
struct Count(u64);

impl<'de> serde::Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_u64<E>(self, v: u64) -> Result<Count, E> {
                Ok(Count(v))
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Count, E> {
                v.parse().map(Count).map_err(|_| E::custom("a count isn't a whole number"))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

/// A page of a list: its rows, if the array was there, and its `pagination`.
#[derive(Debug)]
pub(crate) struct Page<T> {
    pub rows: Option<Vec<T>>,
    pub pagination: Option<Pagination>,
    /// What is beside the list and may mean that it isn't whole.
    pub beside: Vec<Beside>,
}

/// Reads a page whose array is called `name`, each of its rows with `row`.
#[derive(Clone, Copy)]
pub(crate) struct PageSeed<'a, S> {
    pub name: &'a str,
    pub row: S,
    /// The most rows that are kept; further ones are skipped. A row takes much more memory than its
    /// text, as it has all of its fields.
    pub most: usize,
}

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for PageSeed<'_, S> {
    type Value = Page<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for PageSeed<'_, S> {
    type Value = Page<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut page = Page { rows: None, pagination: None, beside: Vec::new() };
        let mut seen = BTreeSet::new();
        let mut unknown = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                page.rows = map.next_value_seed(Rows(self))?;
            } else if key == "pagination" {
                page.pagination = map.next_value()?;
            } else {
                refuse_misspelt([self.name, "pagination"].into_iter(), &key)
                    .map_err(A::Error::custom)?;
                unknown.push((key.clone(), map.next_value_seed(ANY)?));
            }
            if !seen.insert(key) {
                return Err(A::Error::custom("a key of the answer appears twice"));
            }
        }
        refuse_all(&unknown)?;
        let unknown = unknown.iter().map(|(key, value)| (key.as_str(), value));
        page.beside = beside(unknown.clone());
        if page.rows.is_none() {
            refuse_without_list(self.name, unknown).map_err(A::Error::custom)?;
        }
        if page.rows.is_none() && page.pagination.is_none() {
            return Err(serde::de::Error::custom(format!(
                "there is neither `{}` nor `pagination`",
                self.name
            )));
        }
        Ok(page)
    }
}

/// The rows themselves; null counts as absent.
struct Rows<'a, S>(PageSeed<'a, S>);

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for Rows<'_, S> {
    type Value = Option<Vec<S::Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for Rows<'_, S> {
    type Value = Option<Vec<S::Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array in `{}`", self.0.name)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut rows = Vec::new();
        while rows.len() < self.0.most {
            let Some(value) = seq.next_element_seed(self.0.row)? else { return Ok(Some(rows)) };
            rows.push(value);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some(rows))
    }
}

/// Parses a whole body that is an envelope of these fields.
pub(crate) fn parse_envelope(fields: &'static [Field], body: &str) -> serde_json::Result<Value> {
    let answer = parse(Row::new(fields, "answer"), body)?;
    if let Value::Object(object) = &answer {
        let keys = object.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
        refuse(keys.filter(|(key, _)| !fields.iter().any(|field| field.name == *key)))
            .map_err(serde_json::Error::custom)?;
    }
    Ok(answer)
}

/// Reads an envelope with one resource, which is called `name`.
struct One<'a, T> {
    name: &'a str,
    resource: PhantomData<T>,
}

impl<'de, T: serde::de::DeserializeOwned> DeserializeSeed<'de> for One<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: serde::de::DeserializeOwned> Visitor<'de> for One<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let mut seen = BTreeSet::new();
        let mut unknown = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                found = map.next_value::<Option<T>>()?;
            } else {
                refuse_misspelt([self.name].into_iter(), &key).map_err(A::Error::custom)?;
                unknown.push((key.clone(), map.next_value_seed(ANY)?));
            }
            if !seen.insert(key) {
                return Err(A::Error::custom("a key of the answer appears twice"));
            }
        }
        let unknown = unknown.iter().map(|(key, value)| (key.as_str(), value));
        refuse(unknown).map_err(A::Error::custom)?;
        Ok(found)
    }
}

/// Parses a whole body that is an envelope with one resource, which is called `name`.
pub(crate) fn parse_one<T: serde::de::DeserializeOwned>(
    name: &str,
    body: &str,
) -> serde_json::Result<Option<T>> {
    parse(One { name, resource: PhantomData }, body)
}

/// Parses a page whose array is called `name` and whose rows are policy values, at most `most`.
pub(crate) fn parse_rows(
    name: &str,
    fields: &'static [Field],
    most: usize,
    body: &str,
) -> serde_json::Result<Page<Value>> {
    let repeated = Repeated::default();
    let row = Row { repeated: Some(&repeated), ..Row::new(fields, name) };
    parse(PageSeed { name, row, most }, body)
}

/// Parses a whole body; nothing may follow the value.
pub(crate) fn parse_page<T: serde::de::DeserializeOwned>(body: &str) -> serde_json::Result<T> {
    parse(PhantomData::<T>, body)
}

/// Parses a whole body that is an object; a derived `Deserialize` would accept an array as well.
pub(crate) fn parse_object<T: serde::de::DeserializeOwned>(body: &str) -> serde_json::Result<T> {
    match body.trim_ascii_start().bytes().next() {
        None | Some(b'{') => parse(PhantomData::<T>, body),
        Some(_) => Err(serde::de::Error::custom("it isn't an object")),
    }
}

/// Parses a whole body with a seed; nothing may follow the value.
pub(crate) fn parse<'de, S: DeserializeSeed<'de>>(
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
    fn the_envelope_of_one_resource_has_nothing_that_contradicts_it() {
        let parse = |body: &str| parse_one::<u8>("result", body);
        for bad in [
            "[]",
            "{\"result\":1,\"result\":1}",
            "{\"result\":1,\"Result\":2}",
            "{\"RESULT\":1}",
            "{\"result\":1,\"error\":{\"code\":13}}",
            "{\"code\":13,\"message\":\"partial\",\"result\":1}",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for (good, expected) in [
            ("{\"result\":1,\"more\":2,\"error\":null}", Some(1)),
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
            "{\"code\":5,\"message\":\"x\"}",
            "{\"pagination\":[]}",
            "{\"Results\":[{}],\"pagination\":{}}",
            "{\"results\":[],\"Pagination\":{\"nextCursor\":\"c\"}}",
            "{\"results\":[],\"nextCursor\":\"c\"}",
            "{\"pagination\":{},\"result\":[{}]}",
            "{\"pagination\":{},\"results\":null,\"data\":{\"results\":1}}",
            "{\"results\":[{}],\"others\":[{}]}",
            "{\"results\":[],\"error\":{\"code\":13}}",
            "{\"results\":[],\"code\":13,\"message\":\"partial\"}",
            "{\"results\":[],\"pagination\":{\"nextcursor\":\"c\"}}",
            "{\"results\":[],\"pagination\":{\"NEXT_CURSOR\":\"\"}}",
            "{\"results\":[],\"pagination\":{\"nextPageToken\":\"c\"}}",
            "{\"results\":[],\"pagination\":{\"total_pages\":1,\"totalPages\":2}}",
        ] {
            assert!(parse_rows("results", &[], 9, bad).is_err(), "{bad}");
        }
        for good in [
            "{\"results\":[]}",
            "{\"pagination\":{}}",
            "{\"results\":[{}],\"trace\":1}",
            "{\"results\":[],\"code\":0,\"message\":\"\",\"error\":null}",
            "{\"results\":[],\"pagination\":{\"nextCursor\":\"\",\"pageSize\":1,\"limit\":1}}",
            "{\"results\":[],\"pagination\":{\"next_page_token\":\"\"}}",
        ] {
            assert!(parse_rows("results", &[], 9, good).is_ok(), "{good}");
        }
    }
}
