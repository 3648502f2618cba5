//! Dotenv: an object of texts, as gotenv reads them. `$NAME` and `${NAME}` are values of lines before, and stay as
//! they are if there are none; the environment isn't read.

use std::collections::HashMap;

use rego::Value;
use rego::value::Object;

use super::limits::MAX_BYTES;
use super::lines::lines;
use super::problem::{Problem, twice};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let mut known: HashMap<String, String> = HashMap::new();
    // What values refer to each other can double with each line.
    let mut size = 0;
    let mut lines = lines(text);
    while let Some((at, line)) = lines.next() {
        let invalid = |message: String| Problem::at(text, at, message);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = whole(line, lines.by_ref().map(|(_, line)| line)).map_err(invalid)?;
        let (name, own) = name(&line).ok_or_else(|| {
            invalid("invalid line: expected `NAME=VALUE`, with or without `export`".into())
        })?;
        let value = value(own, &known).map_err(invalid)?;
        size += value.len();
        if size > MAX_BYTES {
            return Err(invalid("values too large: the limit is 16 MiB".to_owned()));
        }
        if known.insert(name.to_owned(), value).is_some() {
            return Err(invalid(twice(name)));
        }
    }
    let members = known.into_iter().map(|(name, value)| (Value::from(name), Value::from(value)));
    Ok(Value::from(members.collect::<Object>()))
}

/// Returns a line with the lines to which its quotes extend it: to the first with such a quote that doesn't
/// have a backslash before it.
fn whole<'t>(line: &str, next: impl Iterator<Item = &'t str>) -> Result<String, String> {
    let mut all = line.to_owned();
    let Some((_, value)) = line.split_once('=').or_else(|| line.split_once(':')) else {
        return Ok(all);
    };
    let value = value.trim_start();
    let Some(quote) = quote(value) else { return Ok(all) };
    // gotenv looks for the backslash where it is if no blank follows the first quote.
    let last = value.get(1..).and_then(|inner| inner.trim_start().rfind(quote));
    if last.is_some_and(|at| value.as_bytes().get(at) != Some(&b'\\')) {
        return Ok(all);
    }
    for line in next {
        all.push('\n');
        all.push_str(line);
        if line.rsplit_once(quote).is_some_and(|(before, _)| !before.ends_with('\\')) {
            return Ok(all);
        }
    }
    Err(format!("missing closing `{quote}` of a value"))
}

fn quote(value: &str) -> Option<char> {
    value.chars().next().filter(|c| matches!(c, '"' | '\''))
}

/// Returns the name at the start of a line, and what follows its `=`, or its `:` and a blank.
fn name(line: &str) -> Option<(&str, &str)> {
    const BLANK: [char; 3] = [' ', '\t', '\u{c}'];
    let exported = line.strip_prefix("export").filter(|rest| rest.starts_with(BLANK));
    let line = exported.map_or(line, |rest| rest.trim_start_matches(BLANK));
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))?;
    let (name, rest) = line.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    let value = match rest.strip_prefix(':') {
        Some(value) => value.starts_with(BLANK).then_some(value)?,
        None => rest.trim_start_matches(BLANK).strip_prefix('=')?,
    };
    Some((name, value.trim()))
}

/// Returns a value without its comment and quotes.
fn value(text: &str, known: &HashMap<String, String>) -> Result<String, String> {
    let Some(quote) = quote(text) else {
        let own = text.split('#').next().unwrap_or_default().trim();
        return Ok(expanded(own, known));
    };
    let mut escaped = false;
    let inner = text.get(1..).unwrap_or_default();
    let end = inner.find(|c: char| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let (own, tail) =
        inner.split_at(end.ok_or_else(|| format!("missing closing `{quote}` of a value"))?);
    let tail = tail.get(1..).unwrap_or_default().trim();
    if own.ends_with('\\') {
        return Err(format!("unexpected backslash before the closing `{quote}` of a value"));
    }
    if !(tail.is_empty() || tail.starts_with('#')) || tail.contains([quote, '\n']) {
        return Err(format!("unexpected text after the closing `{quote}` of a value"));
    }
    Ok(if quote == '"' { expanded(&unescaped(own), known) } else { own.to_owned() })
}

/// Replaces `\n` and `\r`, and then removes the backslash before every character but `$`.
fn unescaped(text: &str) -> String {
    let text = text.replace("\\n", "\n").replace("\\r", "\r");
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.next_if(|next| c == '\\' && *next != '$') {
            Some(next) => out.push(next),
            None => out.push(c),
        }
    }
    out
}

/// Replaces the names of known values; `\$` is `$`.
fn expanded(text: &str, known: &HashMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let (reference, name) = reference(from);
        rest = from.get(reference.len()..).unwrap_or_default();
        if let Some(before) = before.strip_suffix('\\') {
            out.push_str(before);
            out.push_str(reference);
            continue;
        }
        out.push_str(before);
        out.push_str(known.get(name).map_or(reference, String::as_str));
        if out.len() > MAX_BYTES {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// Returns the `$NAME` or `${NAME}` at the start, and its name, whose braces don't have to be there both.
fn reference(text: &str) -> (&str, &str) {
    let begun = text.strip_prefix('$').unwrap_or(text);
    let begun = begun.strip_prefix('{').unwrap_or(begun);
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let rest = begun.trim_start_matches(is_name);
    let name = begun.get(..begun.len() - rest.len()).unwrap_or_default();
    let rest = rest.strip_prefix('}').unwrap_or(rest);
    (text.get(..text.len() - rest.len()).unwrap_or_default(), name)
}
