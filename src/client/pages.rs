//! Lists that come in pages.
//!
//! Owns the following of pages: by cursor, or by offset where the service answers in the style of
//! interface section 2.1, until every row has come, the author's limit is reached, or the service
//! contradicts itself. It doesn't know what a row means.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use regorus::Value;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::json::Row;
use super::shape::same_name;
use super::{Call, Client, Context, Endpoint, protocol};
use crate::builtins::Field;
use crate::{Error, ErrorKind};

/// The `pagination` object of an answer, in either style.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pagination {
    pub next_cursor: String,
    pub total_count: Option<u64>,
    pub page: Option<u64>,
}

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
                let (mut cursor, mut total) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    if same_name("next_cursor", &key) {
                        let next = map.next_value::<Option<String>>()?.unwrap_or_default();
                        out.next_cursor.clone_from(&next);
                        agree(&mut cursor, next)?;
                    } else if same_name("total_count", &key) {
                        let count = map.next_value::<Option<Count>>()?.map(|c| c.0);
                        out.total_count = count;
                        agree(&mut total, count)?;
                    } else if key == "page" {
                        out.page = map.next_value::<Option<Count>>()?.map(|c| c.0);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                    if !seen.insert(key) {
                        return Err(serde::de::Error::custom(
                            "a key of `pagination` stands there twice",
                        ));
                    }
                }
                Ok(out)
            }
        }
        deserializer.deserialize_map(PaginationVisitor)
    }
}

/// Refuses a field that stands there in both casings with different values.
fn agree<T: PartialEq, E: serde::de::Error>(first: &mut Option<T>, value: T) -> Result<(), E> {
    if first.as_ref().is_some_and(|first| *first != value) {
        return Err(E::custom("a key of `pagination` stands there twice with different values"));
    }
    *first = Some(value);
    Ok(())
}

/// A count, also when it comes as a string.
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

/// What to ask for next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    Cursor(String),
    Offset(u64),
}

/// The longest cursor, which goes back in a URL.
const MAX_CURSOR_BYTES: usize = 8 << 10;

/// Where the reading of a list stands. Fed with every page, it says what to ask for next.
#[derive(Debug, Default)]
pub(crate) struct Pager {
    cursors: HashSet<String>,
    next: Option<Next>,
    /// The number of rows that the service announced, once it did.
    total: Option<u64>,
    pages: usize,
}

impl Pager {
    /// The query parameters that ask for the next page.
    pub fn query(&self, page_size: u64) -> Vec<(&'static str, String)> {
        let size = page_size.to_string();
        match &self.next {
            None => vec![("pagination.limit", size)],
            Some(Next::Cursor(cursor)) => {
                vec![("pagination.cursor", cursor.clone()), ("pagination.limit", size)]
            }
            Some(Next::Offset(offset)) => {
                vec![("pagination.page", offset.to_string()), ("pagination.page_size", size)]
            }
        }
    }

    /// Takes note of a page after which `have` rows have come, `came` of them with this page;
    /// whether there is another one.
    pub fn advance(
        &mut self,
        pagination: Option<&Pagination>,
        have: usize,
        came: usize,
        max_pages: usize,
    ) -> Result<bool, Error> {
        self.pages += 1;
        let none = Pagination::default();
        let pagination = pagination.unwrap_or(&none);
        self.check(pagination, have)?;
        let next = if !pagination.next_cursor.is_empty() {
            let cursor = pagination.next_cursor.clone();
            if cursor.len() > MAX_CURSOR_BYTES {
                return Err(protocol(format!(
                    "the service's cursor is {} bytes long, the limit is {MAX_CURSOR_BYTES}",
                    cursor.len()
                )));
            }
            if !self.cursors.insert(cursor.clone()) {
                return Err(protocol(
                    "the service's pages go round in a circle: a cursor came again",
                ));
            }
            Some(Next::Cursor(cursor))
        } else if self.total.is_some_and(|total| (have as u64) < total) {
            if came == 0 {
                return Err(protocol(format!(
                    "the service announced {} results and stopped after {have}",
                    self.total.unwrap_or_default()
                )));
            }
            Some(Next::Offset(have as u64))
        } else {
            None
        };
        if next.is_some() && self.pages >= max_pages {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the list has more than {max_pages} pages, the limit"),
            ));
        }
        self.next = next;
        Ok(self.next.is_some())
    }

    /// Refuses totals that change, that are exceeded, and pages that aren't the one asked for.
    fn check(&mut self, pagination: &Pagination, have: usize) -> Result<(), Error> {
        if let (Some(Next::Offset(asked)), Some(page)) = (&self.next, pagination.page)
            && page != *asked
        {
            return Err(protocol(format!(
                "the service answered with the page at {page} instead of {asked}"
            )));
        }
        if let Some(total) = pagination.total_count {
            if self.total.is_some_and(|before| before != total) {
                return Err(protocol("the number of results changed from page to page"));
            }
            self.total = Some(total);
        }
        match self.total {
            Some(total) if have as u64 > total => {
                Err(protocol(format!("the service announced {total} results and sent {have}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether no page has come yet.
    pub const fn is_at_start(&self) -> bool {
        self.pages == 0
    }

    /// Whether the service announced more rows than have come, or has another page.
    pub fn has_more(&self, have: usize) -> bool {
        self.next.is_some() || self.total.is_some_and(|total| total > have as u64)
    }

    /// At the end: rows of a list with an announced total are distinct.
    pub fn finish(&self, rows: &[Value]) -> Result<(), Error> {
        if self.total.is_some() && self.pages > 1 {
            let mut seen = BTreeSet::new();
            if !rows.iter().all(|row| seen.insert(row)) {
                return Err(protocol("the service sent the same result on two pages"));
            }
        }
        Ok(())
    }
}

/// A page of a list: its rows, if the array was there, and its `pagination`.
#[derive(Debug)]
pub(crate) struct Page {
    pub rows: Option<Vec<Value>>,
    pub pagination: Option<Pagination>,
}

/// Reads a page whose array is called `name`.
#[derive(Clone, Copy)]
pub(crate) struct PageSeed<'a> {
    pub name: &'a str,
    pub fields: &'static [Field],
}

impl<'de> DeserializeSeed<'de> for PageSeed<'_> {
    type Value = Page;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Page, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageSeed<'_> {
    type Value = Page;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page, A::Error> {
        let mut page = Page { rows: None, pagination: None };
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == self.name {
                page.rows = map.next_value_seed(Rows(self))?;
            } else if key == "pagination" {
                page.pagination = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            if !seen.insert(key) {
                return Err(serde::de::Error::custom("a key of the answer stands there twice"));
            }
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
struct Rows<'a>(PageSeed<'a>);

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = Option<Vec<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = Option<Vec<Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array in `{}`", self.0.name)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut rows = Vec::new();
        let row = Row { fields: self.0.fields, name: self.0.name };
        while let Some(value) = seq.next_element_seed(row)? {
            rows.push(value);
        }
        Ok(Some(rows))
    }
}

/// A list to be read.
pub(crate) struct List {
    pub endpoint: Endpoint,
    pub query: Vec<(&'static str, String)>,
    /// The name of the answer's array.
    pub name: &'static str,
    pub fields: &'static [Field],
    /// The author's bound on the results returned.
    pub limit: Option<u64>,
}

/// A list that was read.
#[derive(Debug)]
pub(crate) struct Listed {
    pub rows: Vec<Value>,
    /// Whether the service had more than the author's limit.
    pub cut: bool,
}

/// Results asked for per page; the service replaces a number above its maximum by the maximum.
const PAGE_SIZE: u64 = 1000;

/// Reads a whole list, or as much of it as the author's limit says.
pub(crate) async fn list(client: &Client, context: &Context, list: List) -> Result<Listed, Error> {
    let settings = &client.settings;
    let limit = list.limit.map(|l| usize::try_from(l).unwrap_or(usize::MAX));
    let page_size = list.limit.unwrap_or(PAGE_SIZE).min(PAGE_SIZE);
    let mut rows: Vec<Value> = Vec::new();
    let mut pager = Pager::default();
    loop {
        let mut call = Call::get(list.endpoint, None);
        call.query.clone_from(&list.query);
        call.query.extend(pager.query(page_size));
        let seed = PageSeed { name: list.name, fields: list.fields };
        let page = client
            .json(context, &call, |body| parse(seed, body))
            .await
            .map_err(|error| within_list(error, &pager))?;
        let came = page.rows.unwrap_or_default();
        let count = came.len();
        rows.extend(came);
        let more =
            pager.advance(page.pagination.as_ref(), rows.len(), count, settings.max_pages)?;
        if let Some(limit) = limit
            && rows.len() >= limit
        {
            let cut = rows.len() > limit || pager.has_more(rows.len());
            rows.truncate(limit);
            pager.finish(&rows)?;
            return Ok(Listed { rows, cut });
        }
        if rows.len() > settings.max_results {
            return Err(too_many(settings.max_results));
        }
        if !more {
            pager.finish(&rows)?;
            return Ok(Listed { rows, cut: false });
        }
    }
}

/// A list of which one page has come can't be unknown: that is the service contradicting itself,
/// which a host must not turn into undefined.
pub(crate) fn within_list(error: Error, pager: &Pager) -> Error {
    if error.kind() == ErrorKind::NotFound && !pager.is_at_start() {
        return protocol(format!("the list broke off: {error}"));
    }
    error
}

pub(crate) fn too_many(max: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("there are more than {max} results, the limit"))
        .with_hint(
            "narrow the filters, give a `limit`, or raise `max-results` in the configuration",
        )
}

/// The rows on one page whose array is called `name`.
pub(crate) fn parse_rows(
    name: &str,
    fields: &'static [Field],
    body: &[u8],
) -> serde_json::Result<Vec<Value>> {
    parse(PageSeed { name, fields }, body).map(|page| page.rows.unwrap_or_default())
}

/// Parses a whole body; nothing may follow the value.
pub(crate) fn parse_page<T: serde::de::DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    parse(std::marker::PhantomData::<T>, body)
}

/// Parses a whole body that is an object; derived types would take an array for one as well.
pub(crate) fn parse_object<T: serde::de::DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None | Some(b'{') => parse(std::marker::PhantomData::<T>, body),
        Some(_) => Err(serde::de::Error::custom("it isn't an object")),
    }
}

/// Parses a whole body with a seed; nothing may follow the value.
pub(crate) fn parse<'de, S: DeserializeSeed<'de>>(
    seed: S,
    body: &'de [u8],
) -> serde_json::Result<S::Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn cursor(text: &str) -> Pagination {
        Pagination { next_cursor: text.into(), ..Pagination::default() }
    }

    fn total(total: u64) -> Pagination {
        Pagination { total_count: Some(total), ..Pagination::default() }
    }

    #[test]
    fn cursors_are_followed_and_circles_refused() {
        let mut pager = Pager::default();
        assert!(pager.advance(Some(&cursor("a")), 0, 0, 10).unwrap());
        assert!(pager.advance(Some(&cursor("b")), 2, 2, 10).unwrap());
        assert!(pager.advance(Some(&cursor("a")), 2, 0, 10).is_err());
        let mut pager = Pager::default();
        assert!(!pager.advance(None, 2, 2, 10).unwrap());
    }

    #[test]
    fn offsets_follow_what_has_come_and_totals_must_hold() {
        let mut pager = Pager::default();
        assert!(pager.advance(Some(&total(5)), 2, 2, 10).unwrap());
        assert_eq!(pager.query(2)[0], ("pagination.page", "2".to_owned()));
        assert!(pager.advance(Some(&total(5)), 4, 2, 10).unwrap());
        assert!(!pager.advance(Some(&total(5)), 5, 1, 10).unwrap());
        let again = [Value::from(1_u64), Value::from(1_u64)];
        assert!(pager.finish(&again).is_err());
        for (second, have, came) in [(total(5), 2, 0), (total(4), 4, 2), (total(5), 6, 4)] {
            let mut pager = Pager::default();
            pager.advance(Some(&total(5)), 2, 2, 10).unwrap();
            assert!(pager.advance(Some(&second), have, came, 10).is_err());
        }
    }

    #[test]
    fn envelopes_never_default() {
        let seed = PageSeed { name: "results", fields: &[] };
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
        ] {
            assert!(parse(seed, bad.as_bytes()).is_err(), "{bad}");
        }
        for good in ["{\"results\":[]}", "{\"pagination\":{}}", "{\"results\":[{}],\"more\":1}"] {
            assert!(parse(seed, good.as_bytes()).is_ok(), "{good}");
        }
    }
}
