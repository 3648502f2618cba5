//! JSON as the readers of kinds need it: a file's first value, and typed members in any case.
//!
//! A [`Json`] is the text of one value. Unlike `Value` it has the members in their order, and those that
//! appear twice: each has to be of the right type.

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

/// Returns a file's first JSON value and the bytes behind it.
pub(crate) fn first_and_rest(bytes: &[u8]) -> Result<(Value, &[u8]), String> {
    let (value, end) =
        Value::first_of_json(bytes, JsonLimits::default()).map_err(|error| error.to_string())?;
    Ok((value, bytes.get(end..).unwrap_or_default()))
}

/// Returns a file's only JSON value.
pub(crate) fn only(bytes: &[u8]) -> Result<Value, String> {
    Value::from_json_bytes(bytes, JsonLimits::default()).map_err(|error| error.to_string())
}

/// Returns the `input` of a policy: an object is itself, an array is `elements`, and anything else nothing.
pub(crate) fn input(value: Value) -> Value {
    match value {
        Value::Object(_) => value,
        Value::Array(_) => Value::from(Object::from([(Value::from("elements"), value)])),
        _ => Value::new_object(),
    }
}

/// The type that a reader of Go structures expects. `null` is of every type.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any value.
    Any,
    /// A string.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number of 64 bits, written without fraction and exponent.
    Integer,
    /// A number in the range of 64-bit floats.
    Number,
    /// A time as in RFC 3339.
    Time,
    /// An array of values of a type.
    List(&'static Shape),
    /// An object whose values are of a type, whatever their names.
    Map(&'static Shape),
    /// An object with members of types; their names are compared without regard to case.
    Members(&'static [(&'static str, Shape)]),
    /// The same, and members that aren't listed are refused.
    OnlyMembers(&'static [(&'static str, Shape)]),
}

/// The text of one JSON value.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a>(Cow<'a, str>);

impl<'a> Json<'a> {
    /// Returns the text of a file's first value.
    pub fn first(bytes: &'a [u8]) -> Result<Self, String> {
        let (_, rest) = first_and_rest(bytes)?;
        Ok(Self(String::from_utf8_lossy(bytes.get(..bytes.len() - rest.len()).unwrap_or_default())))
    }

    /// Returns the text of a file's only value.
    pub fn only(bytes: &'a [u8]) -> Result<Self, String> {
        only(bytes)?;
        Ok(Self(String::from_utf8_lossy(bytes)))
    }

    fn trimmed(&self) -> &str {
        self.0.trim_ascii()
    }

    /// Returns the value.
    pub fn value(&self) -> Value {
        Value::from_json(self.trimmed()).unwrap_or(Value::Null)
    }

    /// Returns `true` for `null`.
    pub fn is_null(&self) -> bool {
        self.trimmed() == "null"
    }

    /// Returns the text of a string.
    pub fn text(&self) -> Option<String> {
        self.trimmed().starts_with('"').then(|| self.value().as_str().map(str::to_owned)).flatten()
    }

    /// Returns the elements of an array.
    pub fn elements(&self) -> Option<Vec<Json<'_>>> {
        let all: Vec<&RawValue> = serde_json::from_str(self.trimmed()).ok()?;
        Some(all.into_iter().map(|one| Json(one.get().into())).collect())
    }

    /// Returns the members of an object in their order, including those that appear twice.
    pub fn members(&self) -> Option<Vec<(String, Json<'_>)>> {
        let mut reader = serde_json::Deserializer::from_str(self.trimmed());
        reader.deserialize_map(MembersVisitor).ok()
    }

    /// Returns the last member with a name, in any case.
    pub fn member(&self, name: &str) -> Option<Json<'_>> {
        let members = self.members()?.into_iter();
        members.filter(|(own, _)| is_same(own, name)).last().map(|(_, value)| value)
    }

    /// Returns the text of a member, in any case; empty if it is absent or of another type.
    pub fn member_text(&self, name: &str) -> String {
        self.member(name).and_then(|value| value.text()).unwrap_or_default()
    }

    /// Checks the types of the value and of what it holds.
    pub fn check(&self, shape: &Shape) -> Result<(), String> {
        self.check_at(shape, "")
    }

    fn check_at(&self, shape: &Shape, path: &str) -> Result<(), String> {
        let wrong = |expected: &str| {
            let place = if path.is_empty() { "the document" } else { path };
            let found = self.type_name();
            Err(format!("unexpected type of `{place}`: expected {expected}, found {found}"))
        };
        let text = self.trimmed();
        if text == "null" {
            return Ok(());
        }
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        match shape {
            Shape::Any => Ok(()),
            Shape::Text if text.starts_with('"') => Ok(()),
            Shape::Text => wrong("a string"),
            Shape::Bool if matches!(text, "true" | "false") => Ok(()),
            Shape::Bool => wrong("a boolean"),
            Shape::Integer if text.parse::<i64>().is_ok() => Ok(()),
            Shape::Integer => wrong("a whole number"),
            Shape::Number if is_number && text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(()),
            Shape::Number => wrong("a number"),
            Shape::Time if self.text().is_some_and(|text| is_time(&text)) => Ok(()),
            Shape::Time => wrong("a time as in RFC 3339"),
            Shape::List(of) => match self.elements() {
                None => wrong("an array"),
                Some(all) => {
                    let mut all = all.iter().enumerate();
                    all.try_for_each(|(index, one)| one.check_at(of, &format!("{path}[{index}]")))
                }
            },
            Shape::Map(of) => match self.members() {
                None => wrong("an object"),
                Some(all) => {
                    all.iter().try_for_each(|(name, one)| one.check_at(of, &below(path, name)))
                }
            },
            Shape::Members(known) | Shape::OnlyMembers(known) => {
                let Some(all) = self.members() else { return wrong("an object") };
                for (name, value) in all {
                    match known.iter().find(|(own, _)| is_same(own, &name)) {
                        Some((_, shape)) => value.check_at(shape, &below(path, &name))?,
                        None if matches!(shape, Shape::OnlyMembers(_)) => {
                            return Err(format!("unknown member `{}`", below(path, &name)));
                        }
                        None => {}
                    }
                }
                Ok(())
            }
        }
    }

    fn type_name(&self) -> &'static str {
        match self.trimmed().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            _ => "a number",
        }
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns `true` for names that differ in case only. The long s and the Kelvin sign count as letters.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let folded = |text: &str| -> String {
        text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    a == b || a.eq_ignore_ascii_case(b) || folded(a) == folded(b)
}

/// Returns `true` for a time as in RFC 3339, such as `2024-01-02T03:04:05.6+07:00`.
pub(crate) fn is_time(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok() && text.as_bytes().get(10) == Some(&b'T')
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(String, Json<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            all.push((name, Json(value.get().into())));
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
    fn each_of_equal_members_has_to_be_of_its_type() {
        const SHAPE: Shape = Shape::OnlyMembers(&[
            ("name", Shape::Text),
            ("sizes", Shape::List(&Shape::Integer)),
            ("at", Shape::Time),
        ]);
        let check = |text: &str| Json::only(text.as_bytes()).unwrap().check(&SHAPE);
        for text in
            ["null", "{\"NAME\": null}", r#"{"ſizeſ": [1, null], "at": "2024-01-02T03:04:05Z"}"#]
        {
            check(text).unwrap();
        }
        for (text, expected) in [
            ("[]", "unexpected type of `the document`: expected an object, found an array"),
            (
                r#"{"Name": 1, "name": "x"}"#,
                "unexpected type of `Name`: expected a string, found a number",
            ),
            (
                r#"{"sizes": [1.0]}"#,
                "unexpected type of `sizes[0]`: expected a whole number, found a number",
            ),
            (r#"{"x": 1}"#, "unknown member `x`"),
            (
                r#"{"at": "2024"}"#,
                "unexpected type of `at`: expected a time as in RFC 3339, found a string",
            ),
        ] {
            assert_eq!(check(text).unwrap_err(), expected, "{text}");
        }
    }
}
