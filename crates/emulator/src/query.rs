//! A request's query, parsed strictly: an unknown or repeated key is refused.
//!
//! A filter that is dropped silently would search the whole organization, so this server is as
//! strict as a client has to be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use url::form_urlencoded;

use super::refusal::Refusal;

/// The parsed query.
pub(super) struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    /// Parses `query`; `known` are the keys of the route.
    pub fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, Refusal> {
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&key.as_ref()) {
                return Err(Refusal::bad_request(format!("unknown query parameter `{key}`")));
            }
            keys.entry(key.into_owned()).or_default().push(value.into_owned());
        }
        Ok(Self(keys))
    }

    /// Returns all values of a filter, none of them empty.
    pub fn many(&self, key: &str) -> Result<&[String], Refusal> {
        let values = self.0.get(key).map(Vec::as_slice).unwrap_or_default();
        if values.iter().any(String::is_empty) {
            return Err(Refusal::bad_request(format!("query parameter `{key}` is empty")));
        }
        Ok(values)
    }

    /// Returns the value of a filter that isn't repeated, and not empty.
    pub fn one(&self, key: &str) -> Result<Option<&str>, Refusal> {
        match self.many(key)? {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            _ => Err(Refusal::bad_request(format!("query parameter `{key}` is repeated"))),
        }
    }

    /// Like [`one`](Self::one), but an empty value counts as absent, as for cursors and `kind`.
    pub fn optional(&self, key: &str) -> Result<Option<&str>, Refusal> {
        match self.0.get(key).map(Vec::as_slice).unwrap_or_default() {
            [value] if value.is_empty() => Ok(None),
            _ => self.one(key),
        }
    }

    /// Returns the value of a boolean filter.
    pub fn flag(&self, key: &str) -> Result<bool, Refusal> {
        match self.one(key)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refusal::bad_request(format!("`{key}` is neither `true` nor `false`"))),
        }
    }

    /// Returns the value of a whole number.
    pub fn number(&self, key: &str) -> Result<Option<usize>, Refusal> {
        let Some(text) = self.one(key)? else { return Ok(None) };
        let number = text.parse::<i32>().ok().and_then(|number| usize::try_from(number).ok());
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(Refusal::bad_request(format!("`{key}` isn't a whole number"))),
        }
    }

    /// Returns everything but the paging as one text: a cursor is valid for one search only.
    pub fn filters(&self) -> String {
        let mut text = String::new();
        for (key, values) in self.0.iter().filter(|(key, _)| !key.starts_with("pagination.")) {
            for value in values {
                let _ = write!(text, "{key}={value:?}&");
            }
        }
        text
    }
}
