//! Writes values as YAML: in block style, indented by two, quoted only if necessary.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::builtins::{Context, Error};
use crate::value::go_float::format_float;
use crate::value::{Number, Value, deeper, named};
use crate::yaml::{Scalar, is_word};

/// The maximum length of a key before a colon, in bytes; longer ones need a line with `?`.
const SIMPLE_KEY: usize = 128;
/// The maximum length of a key when OPA reads the document back as JSON.
const READ_KEY: usize = 1024;

/// Returns the YAML text of a value.
pub(super) fn text(context: &dyn Context, value: &Value) -> Result<String, Error> {
    let mut writer = Writer { context, out: String::new(), compact: true };
    writer.node(value, 0, 0)?;
    writer.end_line();
    Ok(writer.out)
}

/// The next-line character, a line break of YAML 1.1.
const NEXT_LINE: char = '\u{85}';

struct Writer<'a> {
    context: &'a dyn Context,
    out: String,
    /// `true` if the first item of a collection continues the current line.
    compact: bool,
}

impl Writer<'_> {
    /// Ends the current line, unless it has just ended.
    fn end_line(&mut self) {
        if !self.out.ends_with(is_break) {
            self.out.push('\n');
        }
    }

    /// Begins a line at a column.
    fn begin_line(&mut self, column: usize) -> Result<(), Error> {
        self.context.charge(column as u64 + 16)?;
        if !self.out.is_empty() {
            self.end_line();
        }
        self.out.extend(std::iter::repeat_n(' ', column));
        Ok(())
    }

    /// Writes a value after what is on the line. Its items start at `column`, as do the lines of a
    /// multi-line string (column 2 at the top level).
    fn node(&mut self, value: &Value, column: usize, level: usize) -> Result<(), Error> {
        self.context.check()?;
        let compact = std::mem::replace(&mut self.compact, false);
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => self.out.push_str(&number_text(number)),
            Value::String(text) => {
                let text = read_back(self.context, text)?;
                self.string(&text, if level == 0 { 2 } else { column }, false)?;
            }
            Value::Array(array) => deeper(|| self.list(array.iter(), column, level, compact))?,
            Value::Set(set) => deeper(|| self.list(set.iter(), column, level, compact))?,
            Value::Object(object) => {
                deeper(|| self.members(named(object), column, level, compact))?;
            }
        }
        Ok(())
    }

    fn list<'v>(
        &mut self,
        items: impl ExactSizeIterator<Item = &'v Value>,
        column: usize,
        level: usize,
        compact: bool,
    ) -> Result<(), Error> {
        if items.len() == 0 {
            self.out.push_str("[]");
            return Ok(());
        }
        for (index, item) in items.enumerate() {
            if index > 0 || !compact {
                self.begin_line(column)?;
            }
            self.out.push_str("- ");
            self.compact = true;
            self.node(item, column + 2, level + 1)?;
        }
        Ok(())
    }

    fn members(
        &mut self,
        members: BTreeMap<String, &Value>,
        column: usize,
        level: usize,
        compact: bool,
    ) -> Result<(), Error> {
        if members.is_empty() {
            self.out.push_str("{}");
            return Ok(());
        }
        let mut members: Vec<(String, &Value)> = members.into_iter().collect();
        members.sort_by(|(a, _), (b, _)| natural(a, b));
        for (index, (key, value)) in members.into_iter().enumerate() {
            if index > 0 || !compact {
                self.begin_line(column)?;
            }
            readable(&key)?;
            if key.contains(NEXT_LINE) {
                return Err(Error::failed("yaml: did not find expected ',' or '}'"));
            }
            if key.chars().count() + 2 > READ_KEY {
                return Err(Error::failed("yaml: could not find expected ':'"));
            }
            let simple = key.len() <= SIMPLE_KEY && !has_break(&key);
            if simple {
                self.string(&key, column, true)?;
            } else {
                self.out.push_str("? ");
                self.string(&key, column + 2, false)?;
                self.begin_line(column)?;
            }
            self.out.push(':');
            // A collection starts on a line of its own, except after the colon of a long key.
            if !simple || !value.is_collection() || value.is_empty() == Some(true) {
                self.out.push(' ');
            }
            self.compact = !simple;
            self.node(value, column + 2, level + 1)?;
        }
        Ok(())
    }

    /// Writes a string; if it has several lines, they start at `column`.
    fn string(&mut self, text: &str, column: usize, key: bool) -> Result<(), Error> {
        readable(text)?;
        self.context.charge(text.len() as u64)?;
        let styles = Styles::for_text(text);
        let plain =
            matches!(Scalar::plain(text), Scalar::Text(_)) && !is_base_60(text) && !is_word(text);
        if text.contains('\n') && !key && styles.block {
            return self.literal(text, column);
        }
        if text.contains('\n') || !plain {
            double_quoted(&mut self.out, text);
        } else if styles.plain {
            self.out.push_str(text);
        } else if styles.single_quoted {
            self.out.push('\'');
            self.lines(&text.replace('\'', "''"), column, false)?;
            self.out.push('\'');
        } else {
            double_quoted(&mut self.out, text);
        }
        Ok(())
    }

    fn literal(&mut self, text: &str, column: usize) -> Result<(), Error> {
        self.out.push('|');
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.out.push('2');
        }
        let mut last = text.chars().rev();
        match (last.next().is_some_and(is_break), last.next().is_none_or(is_break)) {
            (false, _) => self.out.push('-'),
            (true, true) => self.out.push('+'),
            (true, false) => {}
        }
        self.out.push('\n');
        self.lines(text, column, true)
    }

    /// Writes lines of text, each indented to `column`; `begins` if the first one starts on a new
    /// line.
    fn lines(&mut self, text: &str, column: usize, begins: bool) -> Result<(), Error> {
        let mut after_break = begins;
        for c in text.chars() {
            if is_break(c) {
                after_break = true;
            } else if after_break && (begins || c != ' ') {
                self.context.charge(column as u64)?;
                self.out.extend(std::iter::repeat_n(' ', column));
                after_break = false;
            }
            self.out.push(c);
        }
        Ok(())
    }
}

/// Checks for control characters, since OPA reads the document back through YAML, which has none.
fn readable(text: &str) -> Result<(), Error> {
    let bad =
        |c: char| matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(bad) {
        return Err(Error::failed("yaml: control characters are not allowed"));
    }
    Ok(())
}

/// Returns a text as OPA's YAML reader reads it from JSON, where a next-line character isn't escaped
/// and folds like any line break.
fn read_back<'t>(context: &dyn Context, text: &'t str) -> Result<Cow<'t, str>, Error> {
    readable(text)?;
    if !text.contains(NEXT_LINE) {
        return Ok(Cow::Borrowed(text));
    }
    // Go escapes the other line breaks of Unicode in JSON.
    let json = serde_json::Value::from(text).to_string();
    let json = json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let read = super::from_yaml(context, &json)?;
    Ok(Cow::Owned(read.as_str().unwrap_or_default().to_owned()))
}

/// Formats a number as YAML reads and writes it: 64-bit integers exactly, others as doubles.
fn number_text(number: &Number) -> String {
    match Scalar::plain(&number.text()) {
        Scalar::Integer(value) => value.to_string(),
        Scalar::Float(value) => format_float(value, 'g', None),
        // Out of the range of doubles.
        _ => number.to_string(),
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn has_break(text: &str) -> bool {
    text.contains(is_break)
}

/// Returns `true` for characters that are written verbatim, which excludes those above 16 bits.
fn is_shown(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// The styles in which a string can be written.
struct Styles {
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Styles {
    fn for_text(text: &str) -> Self {
        let Some(first) = text.chars().next() else {
            return Self { plain: true, single_quoted: true, block: false };
        };
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut tabs, mut breaks) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        let mut previous = '\0';
        let mut chars = text.chars().peekable();
        let mut begins = true;
        while let Some(c) = chars.next() {
            let before_space = chars.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            let after_space = begins || previous == ' ' || previous == '\t' || is_break(previous);
            indicators |= match c {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"'
                | '%' | '@' | '`'
                    if begins =>
                {
                    true
                }
                '?' | '-' if begins => before_space,
                ':' => before_space,
                '#' => after_space,
                _ => false,
            };
            if c == '\t' {
                tabs = true;
            } else if !is_shown(c) {
                special = true;
            }
            if c == ' ' {
                break_space |= is_break(previous);
            } else if is_break(c) {
                breaks = true;
                space_break |= previous == ' ';
            }
            previous = c;
            begins = false;
        }
        let edge = |c: char| c == ' ' || is_break(c);
        let odd = space_break || special;
        Self {
            plain: !(edge(first)
                || edge(previous)
                || break_space
                || odd
                || tabs
                || breaks
                || indicators),
            single_quoted: !(break_space || odd || tabs),
            block: !(previous == ' ' || odd),
        }
    }
}

fn double_quoted(out: &mut String, text: &str) {
    out.push('"');
    // A fault of the writer that OPA uses: after a byte order mark it takes every character for one.
    let marked = text.starts_with('\u{feff}');
    for c in text.chars() {
        if !marked && is_shown(c) && !is_break(c) && !matches!(c, '"' | '\\') {
            out.push(c);
            continue;
        }
        out.push('\\');
        let code = u32::from(c);
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                // Writing to a string doesn't fail.
                let _ = match code {
                    0..=0xff => write!(out, "x{code:02X}"),
                    0x100..=0xffff => write!(out, "u{code:04X}"),
                    _ => write!(out, "U{code:08X}"),
                };
                continue;
            }
        };
        out.push(short);
    }
    out.push('"');
}

/// Returns `true` for sexagesimal numbers, which other parsers recognize: `12:30`.
fn is_base_60(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (body, fraction) =
        rest.split_once('.').map_or((rest, ""), |(body, fraction)| (body, fraction));
    let mut parts = body.split(':');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    rest.peek().is_some()
        && first.starts_with(|c: char| c.is_ascii_digit())
        && first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && rest.all(|part| match part.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
            _ => false,
        })
}

/// Compares keys: numbers inside text by value, letters after other characters.
fn natural(a: &str, b: &str) -> Ordering {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let digit = |c: Option<&char>| c.is_some_and(|c| c.is_numeric());
    let mut after_digit = false;
    for (at, (x, y)) in a.iter().zip(&b).enumerate() {
        if x == y {
            after_digit = x.is_numeric();
            continue;
        }
        match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => return x.cmp(y),
            (false, false) => {}
            (letter, _) => {
                let less = if after_digit { letter } else { !letter };
                return if less { Ordering::Less } else { Ordering::Greater };
            }
        }
        // Zeros inside a number aren't leading zeros.
        let within = (*x == '0' || *y == '0')
            && a.get(..at)
                .unwrap_or_default()
                .iter()
                .rev()
                .take_while(|c| c.is_numeric())
                .any(|c| *c != '0');
        let number = |text: &[char]| {
            let mut value = i64::from(within);
            let mut end = at;
            while digit(text.get(end)) {
                let figure = text.get(end).map_or(0, |c| i64::from(u32::from(*c)) - 48);
                value = value.wrapping_mul(10).wrapping_add(figure);
                end += 1;
            }
            (value, end)
        };
        let ((m, m_end), (n, n_end)) = (number(&a), number(&b));
        return m.cmp(&n).then(m_end.cmp(&n_end)).then(x.cmp(y));
    }
    a.len().cmp(&b.len())
}
