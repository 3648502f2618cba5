//! Shell words as arguments of a function.
//!
//! Owns `key=value`, `@FILE` and `-`. The function checks the values, with the message that a
//! policy gets.

use std::path::Path;

use rego_platform::functions::{Field, Function, Type};
use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::sources::json;
use rego_platform::{Error, Product};
use rego_platform_client::text::{escape, shorten};
use rego_platform_client::unreadable::unreadable;

use crate::option_files;
use crate::stdin::{self, Stdin};

/// Parses the arguments of a call of `function`.
pub(super) fn parse(
    function: &Function,
    product: &Product,
    words: &[String],
    stdin: &mut Stdin,
) -> Result<Vec<Value>, Error> {
    let mut words = words.iter();
    let mut values = Vec::with_capacity(function.arguments.len());
    for argument in function.arguments {
        let value = match argument.ty {
            Type::Object(known) => {
                let rest: Vec<&str> = words.by_ref().map(String::as_str).collect();
                object(argument.name, known, &rest)?
            }
            ty => match words.next() {
                Some(word) if ty == Type::String => text(word, stdin)?,
                Some(word) => Value::from(word.as_str()),
                None if takes_null(ty) => Value::Null,
                None => {
                    return Err(invalid(format!("missing argument: `{}`", argument.name))
                        .with_hint(function.called_as(product)));
                }
            },
        };
        values.push(value);
    }
    match words.next() {
        None => Ok(values),
        Some(extra) => Err(invalid(format!("unexpected argument `{}`", shorten(extra, 80)))
            .with_hint(function.called_as(product))),
    }
}

/// The documented fields of an object.
pub(super) const fn fields(ty: Type) -> &'static [Field] {
    match ty {
        Type::Object(fields) => fields,
        _ => &[],
    }
}

fn takes_null(ty: Type) -> bool {
    match ty {
        Type::Null => true,
        Type::Either(a, b) => takes_null(*a) || takes_null(*b),
        _ => false,
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_argument(message)
}

/// Reads a text: the word itself, a file's content (`@FILE`) or standard input (`-`); `@@` is `@`.
fn text(word: &str, stdin: &mut Stdin) -> Result<Value, Error> {
    if word == "-" {
        let text = stdin::text(stdin.read("the argument `-`")?, "standard input")?;
        return Ok(Value::from(text));
    }
    let Some(path) = word.strip_prefix('@') else { return Ok(Value::from(word)) };
    if path.starts_with('@') {
        return Ok(Value::from(path));
    }
    let file = Path::new(path);
    let bytes = option_files::bounded(file, option_files::MAX_INPUT).map_err(|error| {
        unreadable("the file", file, error).with_hint("write `@@` for a text that begins with `@`")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        invalid(format!("the file `{}` isn't UTF-8 text", escape(path)))
            .with_hint("pass the digest of content that isn't text")
    })?;
    Ok(Value::from(text))
}

/// Returns the files that words name with `@FILE`.
pub(super) fn files(words: &[String]) -> impl Iterator<Item = &Path> {
    words.iter().filter_map(|word| word.strip_prefix('@')).map(Path::new)
}

/// Parses filters: one JSON object, or words of the form `key=value`.
fn object(name: &str, known: &[Field], words: &[&str]) -> Result<Value, Error> {
    if let [json] = words
        && json.trim_start().starts_with('{')
    {
        let invalid = |message: &str| {
            invalid(format!("argument `{name}` isn't a JSON object")).with_source(escape(message))
        };
        return json::read(json).map_err(|error| invalid(&error.message));
    }
    let mut object = Object::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| {
            if known.iter().any(|field| field.name == *word) {
                return invalid(format!("filter without a value: `{word}`"))
                    .with_hint(format!("write `{word}=VALUE`"));
            }
            invalid(format!("`{}` isn't a valid filter", shorten(word, 80)))
                .with_hint("write `key=value`, or all filters as one JSON object")
        })?;
        let field = known.iter().find(|field| field.name == key);
        let name = Value::from(key);
        match field.map(|field| field.ty) {
            Some(Type::Array(_)) => {
                let list = object.get_or_insert_with(name, Value::new_array);
                if let Some(list) = list.as_array_mut() {
                    list.extend(elements(key, text)?);
                }
            }
            ty if !object.contains_key(&name) => {
                object.insert(name, scalar(ty, text));
            }
            _ => return Err(invalid(format!("duplicate filter: `{}`", shorten(key, 80)))),
        }
    }
    Ok(Value::from(object))
}

/// Returns the elements that one word adds to an array: those of a JSON array, or the word itself.
fn elements(key: &str, text: &str) -> Result<Vec<Value>, Error> {
    if !text.starts_with('[') {
        return Ok(vec![Value::from(text)]);
    }
    let array = json::read(text).map_err(|error| {
        invalid(format!("filter `{key}` isn't a JSON array")).with_source(escape(&error.message))
    })?;
    Ok(array.as_array().cloned().unwrap_or_default())
}

/// Converts a word to its declared type; one that doesn't fit stays a string, so that the
/// function's check reports it.
fn scalar(ty: Option<Type>, text: &str) -> Value {
    match ty {
        Some(Type::Boolean) => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::from(text),
        },
        Some(Type::Integer) => match text.parse::<serde_json::Number>() {
            Ok(number) => json::read(&number.to_string()).unwrap_or(Value::from(text)),
            Err(_) => Value::from(text),
        },
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rego_platform::functions::function;

    fn call(name: &str, words: &[&str]) -> Result<String, Error> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let values =
            parse(function(name).unwrap(), &Product::default(), &words, &mut Stdin::default())?;
        Ok(serde_json::to_string(&Value::from(values)).unwrap())
    }

    #[test]
    fn optional_arguments_are_null() {
        assert_eq!(call("discover", &["d"]).unwrap(), r#"["d",null]"#);
        assert_eq!(call("discover", &["d", "K"]).unwrap(), r#"["d","K"]"#);
        assert!(
            call("discover", &[]).unwrap_err().to_string().contains("missing argument: `digest`")
        );
        assert!(call("discover", &["d", "K", "x"]).unwrap_err().to_string().contains("`x`"));
    }

    #[test]
    fn filters_have_the_types_of_the_table() {
        let words = ["kind=A", "kind=[\"B\",\"C\"]", "latest=true", "limit=3", "search=a=b", "x=1"];
        assert_eq!(
            call("evidence", &words).unwrap(),
            r#"[{"kind":["A","B","C"],"latest":true,"limit":3,"search":"a=b","x":"1"}]"#
        );
        assert_eq!(call("evidence", &[]).unwrap(), "[{}]");
        assert_eq!(call("evidence", &[r#"{"limit":1}"#]).unwrap(), r#"[{"limit":1}]"#);
        assert_eq!(call("evidence", &["latest=yes"]).unwrap(), r#"[{"latest":"yes"}]"#);
        for bad in [&["search=a", "search=b"][..], &["word"], &["{"], &["kind=[1"], &["{}", "a=b"]]
        {
            assert!(call("evidence", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn texts_come_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        std::fs::write(&path, "text\n").unwrap();
        let at = format!("@{}", path.display());
        assert_eq!(call("evidence_prompt", &[&at, "@@p"]).unwrap(), r#"["text\n","@p"]"#);
        std::fs::write(&path, [0xff]).unwrap();
        let error = call("evidence_prompt", &[&at, "p"]).unwrap_err();
        assert!(error.hint().unwrap().contains("digest"));
    }
}
