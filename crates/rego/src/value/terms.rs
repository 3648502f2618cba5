//! Values as Rego terms: `{1, 2}`, `set()`, `{"a": [true]}`.

use std::fmt::{self, Write};

use super::unicode::is_printable;
use super::{Value, deeper, meter};

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_term(f, self)
    }
}

fn write_term(out: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(value) => out.write_str(if *value { "true" } else { "false" }),
        Value::Number(number) => fmt::Display::fmt(number, out),
        Value::String(text) => quote(out, text),
        Value::Array(array) if meter::visits(array.len()) => {
            write_list(out, ['[', ']'], array.iter(), write_term)
        }
        Value::Set(set) if set.is_empty() => out.write_str("set()"),
        Value::Set(set) if meter::visits(set.len()) => {
            write_list(out, ['{', '}'], set.iter(), write_term)
        }
        Value::Object(object) if meter::visits(object.len()) => {
            write_list(out, ['{', '}'], object.iter(), |out, (key, value)| {
                write_term(out, key)?;
                out.write_str(": ")?;
                write_term(out, value)
            })
        }
        // The evaluation ends with an error.
        Value::Array(_) | Value::Set(_) | Value::Object(_) => Ok(()),
    }
}

fn write_list<T>(
    out: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    out.write_char(open)?;
    deeper(|| {
        items.enumerate().try_for_each(|(i, item)| {
            if i > 0 {
                out.write_str(", ")?;
            }
            write(out, item)
        })
    })?;
    out.write_char(close)
}

/// Returns a string in quotes, like Go's `strconv.Quote`.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    // Writing to a string doesn't fail.
    let _ = quote(&mut out, text);
    out
}

/// Writes a string as Go's `%q` does: printable characters as they are, all others escaped.
///
/// # Errors
/// Returns the errors of `out`.
pub fn quote(out: &mut dyn Write, text: &str) -> fmt::Result {
    quote_with(out, text, '"', false)
}

/// Writes a string in quotes as Go does; with `ascii`, escapes everything outside ASCII.
pub(crate) fn quote_with(out: &mut dyn Write, text: &str, mark: char, ascii: bool) -> fmt::Result {
    out.write_char(mark)?;
    for c in text.chars() {
        match c {
            c if c == mark => {
                out.write_char('\\')?;
                out.write_char(c)?;
            }
            '\\' => out.write_str("\\\\")?,
            '\u{7}' => out.write_str("\\a")?,
            '\u{8}' => out.write_str("\\b")?,
            '\u{c}' => out.write_str("\\f")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\u{b}' => out.write_str("\\v")?,
            c if c < ' ' || c == '\u{7f}' => write!(out, "\\x{:02x}", u32::from(c))?,
            c if (c.is_ascii() || !ascii) && is_printable(c) => out.write_char(c)?,
            c if u32::from(c) < 0x1_0000 => write!(out, "\\u{:04x}", u32::from(c))?,
            c => write!(out, "\\U{:08x}", u32::from(c))?,
        }
    }
    out.write_char(mark)
}
