//! Dotenv: an object of texts. `$NAME` and `${NAME}` are values of lines before, and stay as they are if there
//! are none; the environment isn't read.

use std::collections::HashMap;

use rego::Value;
use rego::value::Object;

use super::limits::MAX_BYTES;
use super::problem::{Problem, twice};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut rest = text;
    // What values refer to each other can double with each line.
    let mut size = 0;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let wrong = |message: String| Problem::at(text, at, message);
        if rest.is_empty() {
            break;
        }
        if rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let (name, after) = name(rest)
            .ok_or_else(|| wrong("the line isn't `NAME=VALUE`, with or without `export`".into()))?;
        let (value, after) = value(after, &known).map_err(wrong)?;
        size += value.len();
        if size > MAX_BYTES {
            return Err(wrong("the values are larger than 16 MiB together".to_owned()));
        }
        if known.insert(name.to_owned(), value).is_some() {
            return Err(wrong(twice(name)));
        }
        rest = after;
    }
    let members = known.into_iter().map(|(name, value)| (Value::from(name), Value::from(value)));
    Ok(Value::from(members.collect::<Object>()))
}

/// Returns the name at the start of a line, and what follows its `=` or `:`.
fn name(line: &str) -> Option<(&str, &str)> {
    const BLANK: [char; 2] = [' ', '\t'];
    let exported = line.strip_prefix("export").filter(|rest| rest.starts_with(BLANK));
    let line = exported.map_or(line, |rest| rest.trim_start_matches(BLANK));
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))?;
    let (name, rest) = line.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    let rest = rest.trim_start_matches(BLANK).strip_prefix(['=', ':'])?;
    Some((name, rest.trim_start_matches(BLANK)))
}

/// Returns a value, and the text from the end of its line on.
fn value<'t>(text: &'t str, known: &HashMap<String, String>) -> Result<(String, &'t str), String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let Some(quote) = quote else {
        let (line, _) = text.split_once('\n').unwrap_or((text, ""));
        let own = line.split('#').next().unwrap_or_default().trim();
        return Ok((expanded(own, known), text.get(line.len()..).unwrap_or_default()));
    };
    let inner = text.get(1..).unwrap_or_default();
    let mut escaped = false;
    let end = inner.find(|c: char| {
        let ends = c == quote && !escaped;
        escaped = quote == '"' && c == '\\' && !escaped;
        ends
    });
    let end = end.ok_or_else(|| format!("a value has no closing `{quote}`"))?;
    let (own, after) = inner.split_at_checked(end).unwrap_or((inner, ""));
    let after = after.get(1..).unwrap_or_default();
    let tail = after.split('\n').next().unwrap_or_default().trim();
    if !(tail.is_empty() || tail.starts_with('#')) {
        return Err(format!("text follows the closing `{quote}` of a value"));
    }
    let value = if quote == '"' { expanded(own, known) } else { own.to_owned() };
    Ok((value, after.get(after.split('\n').next().map_or(0, str::len)..).unwrap_or_default()))
}

/// Replaces the names of known values, and in the same pass the escapes.
fn expanded(text: &str, known: &HashMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '\\']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(escaped) = from.strip_prefix('\\') {
            let mut chars = escaped.chars();
            match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(c @ ('"' | '$' | '\\')) => out.push(c),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            }
            rest = chars.as_str();
            continue;
        }
        let (name, after) = reference(from);
        match name.and_then(|name| known.get(name)) {
            Some(value) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('$');
                rest = from.get(1..).unwrap_or_default();
            }
        }
        if out.len() > MAX_BYTES {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// Returns the name of `$NAME` or `${NAME}` at the start, and what follows.
fn reference(text: &str) -> (Option<&str>, &str) {
    let rest = text.get(1..).unwrap_or_default();
    if let Some(braced) = rest.strip_prefix('{') {
        return match braced.split_once('}') {
            Some((name, after)) => (Some(name), after),
            None => (None, rest),
        };
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    (Some(name), after)
}
