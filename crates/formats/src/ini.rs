//! INI: an object of sections, each an object of numbers, booleans and texts.
//!
//! What is before the first section is that of `DEFAULT`, which conftest leaves out.

use rego::Value;
use rego::value::{Number, Object};

use super::lines::no_lone_return;
use super::problem::{Problem, add};

/// The section of the keys before the first one.
const DEFAULT: &str = "DEFAULT";

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    no_lone_return(text)?;
    let mut sections = Object::new();
    let mut name = DEFAULT.to_owned();
    let mut lines = Lines { rest: text, number: 0 };
    while let Some(line) = lines.next() {
        let number = lines.number;
        let invalid = |message: String| Problem::on(number, message);
        let line = line.trim_start();
        if is_comment(line) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let (own, tail) = rest
                .split_once(']')
                .ok_or_else(|| invalid("missing `]` after the name of a section".to_owned()))?;
            if !is_comment(tail.trim_start()) || tail.contains(']') {
                return Err(invalid("unexpected text after the `]` of a section".to_owned()));
            }
            own.clone_into(&mut name);
            section(&mut sections, &name);
            continue;
        }
        let (key, rest) = split(line).ok_or_else(|| {
            invalid("invalid line: expected a section, `[NAME]`, or `KEY = VALUE`".to_owned())
        })?;
        let value = value(rest.trim_start(), &mut lines).map_err(invalid)?;
        if let Some(own) = section(&mut sections, &name) {
            add(own, key, typed(&value)).map_err(invalid)?;
        }
    }
    Ok(Value::from(sections))
}

fn section<'a>(sections: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    sections.get_or_insert_with(Value::from(name), Value::new_object).as_object_mut()
}

struct Lines<'t> {
    rest: &'t str,
    /// The number of the last line, from 1.
    number: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line)
    }
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with([';', '#'])
}

/// Splits a line into its key, which may be quoted, and what follows the `=` or `:`.
fn split(line: &str) -> Option<(&str, &str)> {
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '`'));
    let (key, rest) = match quote {
        Some(quote) => {
            let (key, rest) = line.get(1..)?.split_once(quote)?;
            (key.trim(), rest.trim_start().strip_prefix(['=', ':'])?)
        }
        None => {
            let (key, rest) = line.split_once(['=', ':'])?;
            (key.trim_end(), rest)
        }
    };
    (!key.is_empty()).then_some((key, rest))
}

/// Returns the text of a value: a quoted one, also over several lines in `"""` and backticks, or one without
/// its comment, or with the next lines if it ends with a backslash.
fn value(first: &str, lines: &mut Lines<'_>) -> Result<String, String> {
    for quote in ["\"\"\"", "`"] {
        if let Some(begun) = first.strip_prefix(quote) {
            return quoted(begun, quote, lines);
        }
    }
    let first = first.trim_end();
    if let Some(begun) = first.strip_suffix('\\') {
        return Ok(continued(begun, lines));
    }
    for quote in ['"', '\''] {
        if let Some((own, tail)) = first.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
            && is_comment(tail.trim_start())
        {
            return Ok(own.to_owned());
        }
    }
    Ok(first.split([';', '#']).next().unwrap_or_default().trim().to_owned())
}

/// Joins a value with the next lines, which have no comments: to the first that doesn't end with a backslash.
fn continued(begun: &str, lines: &mut Lines<'_>) -> String {
    let mut text = begun.to_owned();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let begun = line.strip_suffix('\\');
        text.push_str(begun.unwrap_or(line));
        if begun.is_none() {
            break;
        }
    }
    text
}

fn quoted(begun: &str, quote: &str, lines: &mut Lines<'_>) -> Result<String, String> {
    let mut text = String::new();
    let mut line = begun;
    loop {
        if let Some((end, tail)) = line.split_once(quote) {
            if !is_comment(tail.trim_start()) || tail.contains(quote) {
                return Err(format!("unexpected text after the `{quote}` of a value"));
            }
            text.push_str(end);
            return Ok(text);
        }
        text.push_str(line);
        text.push('\n');
        line = lines.next().ok_or_else(|| format!("missing closing `{quote}` of a value"))?;
    }
}

/// Returns a decimal number, one of Go's words for a boolean, or else the text.
fn typed(text: &str) -> Value {
    match text {
        "t" | "T" | "TRUE" | "true" | "True" => true.into(),
        "f" | "F" | "FALSE" | "false" | "False" => false.into(),
        _ => number(text).map_or_else(|| Value::from(text), Value::from),
    }
}

fn number(text: &str) -> Option<Number> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
        None => (digits, String::new()),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Number::parse(&format!("{sign}{whole}{point}{fraction}{exponent}"))
}
