//! Result documents, and how they are written.
//!
//! Owns the text of values and of answers to queries: the bytes of `opa eval` in each of its
//! formats. An undefined value has no text here; writing one is an error.

use std::fmt::Write as _;

use crate::rego::Value;

use super::query::{QueryOutput, Row};
use crate::{Error, ErrorKind};

#[path = "output_table.rs"]
mod table;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// The whole document.
    #[default]
    Json,
    /// A value, or a table of bindings and expressions.
    Pretty,
    /// Values on a line for each row, strings as they are.
    Raw,
    /// The values of each row.
    Values,
    /// The bindings of each row.
    Bindings,
}

/// `output` in `format`, with a line break at the end of all but nothing.
///
/// # Errors
/// [`ErrorKind::Internal`] when a value has no text.
pub fn write(output: &QueryOutput, format: Format) -> Result<String, Error> {
    match format {
        Format::Json => document(output),
        Format::Pretty => table::pretty(output),
        Format::Raw => raw(output),
        Format::Values => each(output, |row, out| {
            let mut list = List::new('[', out, 0);
            for answer in &row.expressions {
                list.next(|out| indented(&answer.value, 1, out))?;
            }
            list.end(']');
            Ok(())
        }),
        Format::Bindings => each(output, |row, out| bindings(row, 0, out)),
    }
}

/// The result document: `{"result":[…]}`, and `{}` when the query is undefined.
pub(crate) fn document(output: &QueryOutput) -> Result<String, Error> {
    let mut out = String::new();
    if output.is_undefined() {
        return Ok("{}\n".to_owned());
    }
    out.push_str("{\n  \"result\": ");
    let mut rows = List::new('[', &mut out, 1);
    for row in &output.rows {
        rows.next(|out| one(row, out))?;
    }
    rows.end(']');
    out.push_str("\n}\n");
    Ok(out)
}

fn one(row: &Row, out: &mut String) -> Result<(), Error> {
    let mut fields = List::new('{', out, 2);
    fields.next(|out| {
        out.push_str("\"expressions\": ");
        let mut list = List::new('[', out, 3);
        for answer in &row.expressions {
            list.next(|out| {
                let mut fields = List::new('{', out, 4);
                fields.next(|out| {
                    out.push_str("\"value\": ");
                    indented(&answer.value, 5, out)
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
            indented(value, level + 1, out)
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

/// Levels of nesting of a value that leaves an evaluation.
const DEPTH: usize = 5_000;

/// Values within a value that leaves an evaluation, shared ones counted each time: what it takes
/// to print it.
const NODES: usize = 20_000_000;

/// An answer whose values can be written out in reasonable time and memory.
pub(super) fn printable(output: QueryOutput) -> Result<QueryOutput, Error> {
    for row in &output.rows {
        let values = row.expressions.iter().map(|answer| &answer.value);
        let mut left: Vec<(&Value, usize)> =
            values.chain(row.bindings.values()).map(|value| (value, 1)).collect();
        let mut nodes = 0_usize;
        while let Some((value, depth)) = left.pop() {
            nodes += 1;
            if depth > DEPTH || nodes > NODES {
                let message = if depth > DEPTH {
                    format!("a result is nested more than {DEPTH} levels deep")
                } else {
                    format!("a result has more than {NODES} parts")
                };
                return Err(Error::new(ErrorKind::TooLarge, message));
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

/// `value` as JSON over several lines.
pub(crate) fn pretty(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    indented(value, 0, &mut out)?;
    Ok(out)
}

/// `value` as JSON on one line: keys sorted by their text, sets as sorted arrays, the characters
/// escaped that HTML gives a meaning, as OPA writes it.
pub(crate) fn compact(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    narrow(value, &mut out)?;
    Ok(out)
}

fn narrow(value: &Value, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Array(array) => narrow_list(array.iter(), out)?,
        Value::Set(set) => narrow_list(set.iter(), out)?,
        Value::Object(_) => {
            out.push('{');
            for (index, (key, member)) in fields(value)?.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(&key, out);
                out.push(':');
                narrow(member, out)?;
            }
            out.push('}');
        }
        scalar => self::scalar(scalar, out),
    }
    Ok(())
}

fn narrow_list<'a>(
    members: impl Iterator<Item = &'a Value>,
    out: &mut String,
) -> Result<(), Error> {
    out.push('[');
    for (index, member) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        narrow(member, out)?;
    }
    out.push(']');
    Ok(())
}

fn indented(value: &Value, level: usize, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Array(array) => indented_list(array.iter(), level, out)?,
        Value::Set(set) => indented_list(set.iter(), level, out)?,
        Value::Object(_) => {
            let mut list = List::new('{', out, level);
            for (key, member) in fields(value)? {
                list.next(|out| {
                    quote(&key, out);
                    out.push_str(": ");
                    indented(member, level + 1, out)
                })?;
            }
            list.end('}');
        }
        scalar => self::scalar(scalar, out),
    }
    Ok(())
}

fn indented_list<'a>(
    members: impl Iterator<Item = &'a Value>,
    level: usize,
    out: &mut String,
) -> Result<(), Error> {
    let mut list = List::new('[', out, level);
    for member in members {
        list.next(|out| indented(member, level + 1, out))?;
    }
    list.end(']');
    Ok(())
}

/// An object's fields by the text of their keys: a string as it is, anything else as its JSON.
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
            return Err(Error::new(ErrorKind::Policy, message));
        }
    }
    Ok(fields)
}

fn scalar(value: &Value, out: &mut String) {
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

/// `text` in double quotes.
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

/// An array or object over several lines; `[]` and `{}` when nothing is in it.
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
