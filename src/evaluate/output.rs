//! Result documents as text.
//!
//! Owns the text of values and of answers to queries, byte for byte that of `opa eval` in each of
//! its formats. An object with two keys that are equal in JSON can't be written.

use std::fmt::Write as _;

use crate::rego::Value;
use crate::rego::internal::deeper;

use super::query::{QueryOutput, Row};
use crate::Error;

#[path = "output_table.rs"]
mod table;

/// The format of an answer's text; each is one of `opa eval --format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OutputFormat {
    /// The whole document.
    #[default]
    Json,
    /// A single value as indented JSON, otherwise a table of bindings and expressions.
    Pretty,
    /// A line of values for each row, with strings unquoted.
    Raw,
    /// The values of each row.
    Values,
    /// The bindings of each row.
    Bindings,
}

/// Returns `output` as text in `format`; unless empty, it ends with a line break.
///
/// # Errors
/// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when two keys of an object are the same in JSON.
pub fn write(output: &QueryOutput, format: OutputFormat) -> Result<String, Error> {
    match format {
        OutputFormat::Json => document(output),
        OutputFormat::Pretty => table::pretty(output),
        OutputFormat::Raw => raw(output),
        OutputFormat::Values => each(output, |row, out| {
            let mut list = List::new('[', out, 0);
            for answer in &row.expressions {
                list.next(|out| write_indented(&answer.value, 1, out))?;
            }
            list.end(']');
            Ok(())
        }),
        OutputFormat::Bindings => each(output, |row, out| bindings(row, 0, out)),
    }
}

/// Returns the result document: `{"result":[…]}`, or `{}` when the query is undefined.
pub(crate) fn document(output: &QueryOutput) -> Result<String, Error> {
    let mut out = String::new();
    if output.is_undefined() {
        return Ok("{}\n".to_owned());
    }
    out.push_str("{\n  \"result\": ");
    let mut rows = List::new('[', &mut out, 1);
    for row in &output.rows {
        rows.next(|out| write_row(row, out))?;
    }
    rows.end(']');
    out.push_str("\n}\n");
    Ok(out)
}

fn write_row(row: &Row, out: &mut String) -> Result<(), Error> {
    let mut fields = List::new('{', out, 2);
    fields.next(|out| {
        out.push_str("\"expressions\": ");
        let mut list = List::new('[', out, 3);
        for answer in &row.expressions {
            list.next(|out| {
                let mut fields = List::new('{', out, 4);
                fields.next(|out| {
                    out.push_str("\"value\": ");
                    write_indented(&answer.value, 5, out)
                })?;
                fields.next(|out| {
                    out.push_str("\"text\": ");
                    quote(&answer.text, out);
                    Ok(())
                })?;
                fields.next(|out| {
                    let (row, column) = (answer.row, answer.column);
                    let pad = "  ".repeat(6);
                    let end = "  ".repeat(5);
                    let _ = write!(
                        out,
                        "\"location\": {{\n{pad}\"row\": {row},\n{pad}\"col\": {column}\n{end}}}"
                    );
                    Ok(())
                })?;
                fields.end('}');
                Ok(())
            })?;
        }
        list.end(']');
        Ok(())
    })?;
    if !row.bindings.is_empty() {
        fields.next(|out| {
            out.push_str("\"bindings\": ");
            bindings(row, 3, out)
        })?;
    }
    fields.end('}');
    Ok(())
}

fn bindings(row: &Row, level: usize, out: &mut String) -> Result<(), Error> {
    let mut fields = List::new('{', out, level);
    for (name, value) in &row.bindings {
        fields.next(|out| {
            quote(name, out);
            out.push_str(": ");
            write_indented(value, level + 1, out)
        })?;
    }
    fields.end('}');
    Ok(())
}

fn each(
    output: &QueryOutput,
    row: impl Fn(&Row, &mut String) -> Result<(), Error>,
) -> Result<String, Error> {
    let mut out = String::new();
    for one in &output.rows {
        row(one, &mut out)?;
        out.push('\n');
    }
    Ok(out)
}

fn raw(output: &QueryOutput) -> Result<String, Error> {
    let mut out = String::new();
    for row in &output.rows {
        for (index, answer) in row.expressions.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            match &answer.value {
                Value::String(text) => out.push_str(text),
                other => out.push_str(&compact(other)?),
            }
        }
        out.push('\n');
    }
    Ok(out)
}

/// The deepest nesting of a value in a result.
const DEPTH: usize = 5_000;

/// The most values within a result. Shared values count each time, since each is written out.
const NODES: usize = 20_000_000;

/// The most bytes of the strings within a result.
const BYTES: usize = 256 << 20;

/// Returns an answer unchanged if its values can be written out in reasonable time and memory.
pub(super) fn printable(output: QueryOutput) -> Result<QueryOutput, Error> {
    for row in &output.rows {
        let values = row.expressions.iter().map(|answer| &answer.value);
        let mut left: Vec<(&Value, usize)> =
            values.chain(row.bindings.values()).map(|value| (value, 1)).collect();
        let (mut nodes, mut bytes) = (0_usize, 0_usize);
        while let Some((value, depth)) = left.pop() {
            nodes += 1;
            bytes = bytes.saturating_add(value.as_str().map_or(0, str::len));
            if depth > DEPTH || nodes > NODES || bytes > BYTES {
                let message = if depth > DEPTH {
                    format!("a result is nested more than {DEPTH} levels deep")
                } else if nodes > NODES {
                    format!("a result has more than {NODES} parts")
                } else {
                    format!("a result has more than {BYTES} bytes of text")
                };
                return Err(Error::too_large(message));
            }
            match value {
                Value::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Set(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(members) => {
                    left.extend(members.iter().flat_map(|(k, v)| [(k, depth + 1), (v, depth + 1)]));
                }
                _ => {}
            }
        }
    }
    Ok(output)
}

/// Returns `value` as indented JSON, otherwise as [`compact`] does.
///
/// # Errors
/// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when two keys of an object are the same in JSON.
pub fn pretty(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write_indented(value, 0, &mut out)?;
    Ok(out)
}

/// Returns `value` as JSON on one line, written as OPA does: keys sorted by their text, sets as
/// sorted arrays, characters with a meaning in HTML escaped.
///
/// # Errors
/// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for a value that is nested too deeply.
pub fn compact(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write_compact(value, &mut out)?;
    Ok(out)
}

fn write_compact(value: &Value, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Array(array) => deeper(|| write_compact_list(array.iter(), out))?,
        Value::Set(set) => deeper(|| write_compact_list(set.iter(), out))?,
        Value::Object(_) => deeper(|| {
            out.push('{');
            for (index, (key, member)) in fields(value)?.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(&key, out);
                out.push(':');
                write_compact(member, out)?;
            }
            out.push('}');
            Ok::<_, Error>(())
        })?,
        scalar => write_scalar(scalar, out),
    }
    Ok(())
}

fn write_compact_list<'a>(
    members: impl Iterator<Item = &'a Value>,
    out: &mut String,
) -> Result<(), Error> {
    out.push('[');
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_compact(member, out)?;
    }
    out.push(']');
    Ok(())
}

fn write_indented(value: &Value, level: usize, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Array(array) => deeper(|| write_indented_list(array.iter(), level, out))?,
        Value::Set(set) => deeper(|| write_indented_list(set.iter(), level, out))?,
        Value::Object(_) => deeper(|| {
            let mut list = List::new('{', out, level);
            for (key, member) in fields(value)? {
                list.next(|out| {
                    quote(&key, out);
                    out.push_str(": ");
                    write_indented(member, level + 1, out)
                })?;
            }
            list.end('}');
            Ok::<_, Error>(())
        })?,
        scalar => write_scalar(scalar, out),
    }
    Ok(())
}

fn write_indented_list<'a>(
    members: impl Iterator<Item = &'a Value>,
    level: usize,
    out: &mut String,
) -> Result<(), Error> {
    let mut list = List::new('[', out, level);
    for member in members {
        list.next(|out| write_indented(member, level + 1, out))?;
    }
    list.end(']');
    Ok(())
}

/// Returns an object's fields sorted by the text of their keys: a string as it is, any other key as
/// its JSON.
fn fields(object: &Value) -> Result<Vec<(String, &Value)>, Error> {
    let Value::Object(object) = object else { return Ok(Vec::new()) };
    let mut fields = Vec::with_capacity(object.len());
    let mut plain = true;
    for (key, member) in object.iter() {
        let key = match key {
            Value::String(text) => text.to_string(),
            other => {
                plain = false;
                compact(other)?
            }
        };
        fields.push((key, member));
    }
    if !plain {
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        let same = |pair: &&[(String, &Value)]| matches!(pair, [(a, _), (b, _)] if a == b);
        if let Some([(key, _), ..]) = fields.windows(2).find(same) {
            let key = crate::text::shorten(key, 60);
            let message = format!("two keys of an object are both `{key}` in JSON");
            return Err(Error::policy_failed(message));
        }
    }
    Ok(fields)
}

fn write_scalar(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(is) => out.push_str(if *is { "true" } else { "false" }),
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => quote(text, out),
        Value::Array(_) | Value::Set(_) | Value::Object(_) => {}
    }
}

/// Appends `text` as a JSON string.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes an indented array or object; `[]` or `{}` when it is empty.
struct List<'a> {
    out: &'a mut String,
    level: usize,
    empty: bool,
}

impl<'a> List<'a> {
    fn new(open: char, out: &'a mut String, level: usize) -> Self {
        out.push(open);
        Self { out, level, empty: true }
    }

    fn next(&mut self, item: impl FnOnce(&mut String) -> Result<(), Error>) -> Result<(), Error> {
        self.out.push_str(if self.empty { "\n" } else { ",\n" });
        self.empty = false;
        for _ in 0..=self.level {
            self.out.push_str("  ");
        }
        item(self.out)
    }

    fn end(self, close: char) {
        if !self.empty {
            self.out.push('\n');
            for _ in 0..self.level {
                self.out.push_str("  ");
            }
        }
        self.out.push(close);
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
