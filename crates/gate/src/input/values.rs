//! Values that the caller adds to the input.
//!
//! Owns their form and their places in an input.

use std::collections::BTreeMap;

use rego_platform::Error;
use rego_platform::functions::describe;
use rego_platform::rego::Value;
use rego_platform::sources::document;
use rego_platform_client::text::escape;

use crate::setting;

/// The maximum number of segments of a path, equal to the maximum nesting of JSON.
const MAX_PARTS: usize = 128;

/// Values by path in the input. One that exists is replaced, unless they only add.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputValues {
    values: BTreeMap<Vec<String>, Value>,
    /// `true` if a value that the input already has is an error.
    only_add: bool,
}

impl InputValues {
    /// Adds the value for a path, whose parts are separated by dots. A text that is JSON is its value,
    /// any other text is a string.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for a path with an empty part or with a value already, and for
    /// JSON in which a key appears twice.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), Error> {
        let shown = escape(path);
        let parts: Vec<String> = path.split('.').map(str::to_owned).collect();
        if parts.iter().any(String::is_empty) || parts.len() > MAX_PARTS {
            return Err(Error::configuration(format!("invalid path in the input: `{shown}`"))
                .with_hint("write it as `image` or `image.digest`"));
        }
        let value = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
            Ok(_) => document(path, text, false).map_err(|found| {
                Error::configuration(format!("invalid value of `{shown}`: {}", found.message))
            })?,
            Err(_) => Value::from(text),
        };
        match self.values.insert(parts, value) {
            None => Ok(()),
            Some(_) => Err(Error::configuration(format!("duplicate value of `{shown}`"))),
        }
    }

    /// Restricts the values to new members: those of an untrusted settings file can't replace values of the
    /// input.
    #[must_use]
    pub fn that_only_add(mut self) -> Self {
        self.only_add = true;
        self
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns each path with its value as JSON.
    pub fn shown(&self) -> BTreeMap<String, String> {
        self.values.iter().map(|(path, value)| (path.join("."), value.to_json())).collect()
    }

    /// Returns the top-level field of each value's path.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.values.keys().filter_map(|path| path.first()).map(String::as_str)
    }

    /// Returns `true` if a value's path is in this field of the input.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.fields().any(|own| own == field)
    }

    /// Returns an input with the values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](rego_platform::ErrorKind::InvalidArgument) where a value's place would be in something other than an object, and where
    /// it would replace a value though they only add.
    pub fn put_into(&self, input: Option<Value>) -> Result<Option<Value>, Error> {
        if self.is_empty() {
            return Ok(input);
        }
        let mut input = input.unwrap_or_else(Value::new_object);
        let taken = self.values.keys().find(|path| self.only_add && has(&input, path));
        if let Some(path) = taken {
            let place = escape(&path.join("."));
            let message = format!(
                "conflicting `input.{place}`: the settings file can't replace a value of the input"
            );
            return Err(Error::invalid_argument(message).by_setting(setting::UNTRUSTED));
        }
        // A shorter path comes before those that lead through it.
        for (path, value) in &self.values {
            put(&mut input, path, value, 0)?;
        }
        Ok(Some(input))
    }
}

/// Returns `true` if an input has a value at a path.
fn has(input: &Value, path: &[String]) -> bool {
    let inner =
        |value: &Value, name: &String| value.as_object()?.get(&name.as_str().into()).cloned();
    path.iter().try_fold(input.clone(), |value, name| inner(&value, name)).is_some()
}

/// Sets a value at its path, from the segment at `depth`.
fn put(into: &mut Value, path: &[String], value: &Value, depth: usize) -> Result<(), Error> {
    let Some(name) = path.get(depth) else {
        into.clone_from(value);
        return Ok(());
    };
    let found = describe(into);
    let Some(fields) = into.as_object_mut() else {
        let above = path.iter().take(depth).map(String::as_str);
        let place = std::iter::once("input").chain(above).collect::<Vec<_>>().join(".");
        let (place, name) = (escape(&place), escape(name));
        let message = format!("can't set `{name}` in `{place}`: expected an object, found {found}");
        let error = Error::invalid_argument(message);
        return Err(if depth == 0 { error.by_setting(setting::WRAPPED_ARRAYS) } else { error });
    };
    let key = Value::from(name.as_str());
    let mut inner = fields.remove(&key).unwrap_or_else(Value::new_object);
    put(&mut inner, path, value, depth + 1)?;
    fields.insert(key, inner);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn values(given: &[(&str, &str)]) -> Result<InputValues, Error> {
        let mut values = InputValues::default();
        for (path, text) in given {
            values.set(path, text)?;
        }
        Ok(values)
    }

    #[test]
    fn values_are_json_or_text_at_their_places() {
        for (given, input, expected) in [
            (&[("image", "sha256:aa")][..], None, r#"{"image":"sha256:aa"}"#),
            (&[("a.b", "1"), ("a.c", "[null]")], None, r#"{"a":{"b":1,"c":[null]}}"#),
            (&[("a.b", "x y"), ("a", r#"{"c": 2}"#)], None, r#"{"a":{"b":"x y","c":2}}"#),
            (&[("a", r#""1""#)], Some(r#"{"a": 0, "b": 0}"#), r#"{"a":"1","b":0}"#),
            (&[("a.b", "{")], Some(r#"{"a": {"b": 0, "c": 0}}"#), r#"{"a":{"b":"{","c":0}}"#),
        ] {
            let input = input.map(|text| Value::from_json(text).unwrap());
            let found = values(given).unwrap().put_into(input).unwrap().unwrap();
            assert_eq!(found.to_json(), expected);
        }
        assert_eq!(InputValues::default().put_into(None).unwrap(), None);
    }

    #[test]
    fn values_of_a_file_that_nobody_named_replace_nothing() {
        for (path, input, adds) in [
            ("a", r#"{"b": 1}"#, true),
            ("a.b", r#"{"a": {"c": 1}}"#, true),
            ("a", r#"{"a": null}"#, false),
            ("a.b", r#"{"a": {"b": 1}}"#, false),
            ("a", r#"{"a": {"b": 1}}"#, false),
        ] {
            let given = values(&[(path, "2")]).unwrap().that_only_add();
            let put = given.put_into(Some(Value::from_json(input).unwrap()));
            assert_eq!(put.is_ok(), adds, "{path} {input}");
        }
    }

    #[test]
    fn a_value_without_a_place_is_an_error() {
        for (given, input, expected) in [
            (("a", "1"), "[1]", "in `input`: expected an object, found an array"),
            (
                ("a.b.c", "1"),
                r#"{"a": {"b": "x"}}"#,
                "in `input.a.b`: expected an object, found a string",
            ),
            (("a.b", "1"), r#"{"a": null}"#, "in `input.a`: expected an object, found null"),
        ] {
            let input = Some(Value::from_json(input).unwrap());
            let error = values(&[given]).unwrap().put_into(input).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let deep = "a.".repeat(1_000) + "a";
        for given in [
            &[("a", "1"), ("a", "2")][..],
            &[("a..b", "1")],
            &[("", "1")],
            &[(deep.as_str(), "1")],
            &[("a", r#"{"b": 1, "b": 2}"#)],
        ] {
            values(given).unwrap_err();
        }
        assert!(values(&[("a", "1"), ("a.b", "2")]).unwrap().put_into(None).is_err());
    }
}
