//! JSON as the readers of kinds need it: the first or only value of a file, and members in any case.
//!
//! A [`Json`] is the text of one value. Unlike `Value` it has the members in their order, and those that
//! appear twice.

use std::borrow::Cow;
use std::fmt;

use rego::Value;
use rego::value::{JsonLimits, Object};
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Returns a file's first JSON value. Of equal members the last counts, and numbers stay as written. What
/// follows the value is ignored.
pub(crate) fn first(bytes: &[u8]) -> Result<Value, String> {
    first_and_rest(bytes).map(|(value, _)| value)
}

/// Returns a file's first JSON value and the remaining bytes.
pub(crate) fn first_and_rest(bytes: &[u8]) -> Result<(Value, &[u8]), String> {
    let limits = JsonLimits::default();
    let (value, end) = Value::first_of_json(bytes, limits).map_err(|error| error.to_string())?;
    Ok((value, bytes.get(end..).unwrap_or_default()))
}

/// Returns a file's only JSON value.
pub(crate) fn only(bytes: &[u8]) -> Result<Document<'_>, String> {
    let limits = JsonLimits::default();
    let value = Value::from_json_bytes(bytes, limits).map_err(|error| error.to_string())?;
    Ok(Document { text: String::from_utf8_lossy(bytes), value })
}

/// Returns the `input` of a policy: an object itself, an array as `elements`, and an empty object otherwise.
pub(crate) fn input(value: Value) -> Value {
    match value {
        Value::Object(_) => value,
        Value::Array(_) => Value::from(Object::from([(Value::from("elements"), value)])),
        _ => Value::new_object(),
    }
}

/// A JSON value with its text.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    text: Cow<'a, str>,
    /// The value, in which the last of equal members counts.
    pub value: Value,
}

impl Document<'_> {
    /// Returns the text of the value.
    pub fn root(&self) -> Json<'_> {
        Json::new(&self.text)
    }
}

/// The text of one JSON value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.trim_ascii())
    }

    /// Returns `true` for `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Returns `true` for a string.
    pub fn is_text(self) -> bool {
        self.0.starts_with('"')
    }

    /// Returns `true` for a boolean.
    pub fn is_bool(self) -> bool {
        matches!(self.0, "true" | "false")
    }

    /// Returns `true` for an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Returns the value.
    pub fn value(self) -> Value {
        Value::from_json(self.0).unwrap_or(Value::Null)
    }

    /// Returns the text of a string.
    pub fn text(self) -> Option<String> {
        self.is_text().then(|| self.value().as_str().map(str::to_owned)).flatten()
    }

    /// Returns a whole number that is written without fraction and exponent.
    pub fn int(self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Returns a whole number from 0 that is written without fraction and exponent.
    pub fn uint(self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// Returns a number that a float can hold.
    pub fn number(self) -> Option<f64> {
        let is_number = self.0.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        is_number.then(|| self.0.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
    }

    /// Returns the elements of an array.
    pub fn elements(self) -> Option<Vec<Self>> {
        let all: Vec<&RawValue> = serde_json::from_str(self.0).ok()?;
        Some(all.into_iter().map(|one| Self::new(one.get())).collect())
    }

    /// Returns the members of an object in their order, including those that appear twice.
    pub fn members(self) -> Option<Vec<(String, Self)>> {
        let mut reader = serde_json::Deserializer::from_str(self.0);
        reader.deserialize_map(MembersVisitor).ok()
    }

    /// Returns the last member with a name, in any case.
    pub fn member(self, name: &str) -> Option<Self> {
        let mut members = self.members()?.into_iter().rev();
        members.find(|(own, _)| is_same(own, name)).map(|(_, value)| value)
    }

    /// Returns the member at the end of a path of names, in any case.
    pub fn at(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |value, name| value.member(name))
    }

    /// Returns the text at the end of a path; empty if it is absent or of another type.
    pub fn text_at(self, path: &[&str]) -> String {
        self.at(path).and_then(Self::text).unwrap_or_default()
    }

    /// Returns the elements of an array at the end of a path.
    pub fn elements_at(self, path: &[&str]) -> Vec<Self> {
        self.at(path).and_then(Self::elements).unwrap_or_default()
    }

    /// Returns the name of the value's type for messages.
    pub fn type_name(self) -> &'static str {
        match self.0.as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}

/// Returns `true` for names that differ in case only. The long s and the Kelvin sign count as letters.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let folded = |text: &str| -> String {
        text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    a == b || a.eq_ignore_ascii_case(b) || !(a.is_ascii() && b.is_ascii()) && folded(a) == folded(b)
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(String, Json<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            all.push((name, Json::new(value.get())));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_first_value_counts() {
        for (text, expected) in [
            ("{\"a\": 1} x", r#"{"a":1}"#),
            ("2025 was dry", "{}"),
            ("2025-10", "{}"),
            ("[1]{", r#"{"elements":[1]}"#),
            ("{\"a\": 1.50, \"a\": 2.50}", r#"{"a":2.50}"#),
        ] {
            assert_eq!(input(first(text.as_bytes()).unwrap()).to_json(), expected, "{text}");
        }
        for text in ["", " ", "\u{feff}{}", "a: 1", "{\"a\": NaN}", "[1"] {
            first(text.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn the_last_member_counts_in_any_case() {
        let document = only(br#"{"Tool": {"NAME": "a"}, "tool": {"name": "b"}}"#).unwrap();
        assert_eq!(document.root().text_at(&["tool", "name"]), "b");
        assert!(is_same("\u{212a}ind", "kind") && !is_same("kind", "kinds"));
    }
}
