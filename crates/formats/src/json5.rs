//! JSON5. Numbers keep all their digits.

use rego::Value;
use rego::value::{Number, Object, deeper};

use super::limits::MAX_DEPTH;
use super::problem::{Problem, add};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let mut reader = Json5Parser { text, at: 0 };
    let value = reader.value(0).and_then(|value| {
        reader.skip()?;
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err("unexpected text after the value".to_owned()),
        }
    });
    value.map_err(|message| Problem::at(text, reader.at, message))
}

type Read<T> = Result<T, String>;

struct Json5Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Json5Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn takes(&mut self, expected: &str) -> bool {
        let takes = self.rest().starts_with(expected);
        self.at += if takes { expected.len() } else { 0 };
        takes
    }

    /// Takes the characters for which `is` returns `true`.
    fn while_is(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Read<()> {
        loop {
            self.while_is(|c| c.is_whitespace() || c == '\u{feff}');
            if self.takes("//") {
                self.while_is(|c| !is_line_end(c));
            } else if self.takes("/*") {
                let end = self.rest().find("*/").ok_or("missing `*/` of a comment")?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Read<Value> {
        self.skip()?;
        if depth > MAX_DEPTH {
            return Err(format!("nested too deeply: the limit is {MAX_DEPTH} levels"));
        }
        match self.peek() {
            Some('{') => deeper(|| self.object(depth)),
            Some('[') => deeper(|| self.array(depth)),
            Some('"' | '\'') => Ok(Value::from(self.string()?)),
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => self.number(),
            _ => match self.name() {
                "null" => Ok(Value::Null),
                "true" => Ok(Value::from(true)),
                "false" => Ok(Value::from(false)),
                "Infinity" | "NaN" => Err(NO_EQUIVALENT.to_owned()),
                _ => Err("expected a value".to_owned()),
            },
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value> {
        self.next();
        let mut object = Object::new();
        loop {
            self.skip()?;
            if self.takes("}") {
                return Ok(Value::from(object));
            }
            let key = match self.peek() {
                Some('"' | '\'') => self.string()?,
                _ => self.name().to_owned(),
            };
            if key.is_empty()
                && !self.text.get(..self.at).unwrap_or_default().ends_with(['"', '\''])
            {
                return Err("expected a key".to_owned());
            }
            self.skip()?;
            if !self.takes(":") {
                return Err("expected `:`".to_owned());
            }
            let value = self.value(depth + 1)?;
            add(&mut object, &key, value)?;
            self.skip()?;
            if !self.takes(",") && self.peek() != Some('}') {
                return Err("expected `,` or `}`".to_owned());
            }
        }
    }

    fn array(&mut self, depth: usize) -> Read<Value> {
        self.next();
        let mut list = Vec::new();
        loop {
            self.skip()?;
            if self.takes("]") {
                return Ok(Value::from(list));
            }
            list.push(self.value(depth + 1)?);
            self.skip()?;
            if !self.takes(",") && self.peek() != Some(']') {
                return Err("expected `,` or `]`".to_owned());
            }
        }
    }

    /// Takes a name: a key without quotes, or a word.
    fn name(&mut self) -> &'t str {
        if self.peek().is_some_and(char::is_numeric) {
            return "";
        }
        self.while_is(|c| c.is_alphanumeric() || matches!(c, '$' | '_'))
    }

    fn string(&mut self) -> Read<String> {
        let quote = self.next();
        let mut units: Vec<u16> = Vec::new();
        let mut buffer = [0; 2];
        loop {
            let c = self.next().ok_or("missing closing quote of a string")?;
            if Some(c) == quote {
                let whole = String::from_utf16(&units);
                return whole.map_err(|_| "incomplete surrogate pair: `\\u`".to_owned());
            }
            let plain = match c {
                '\n' | '\r' => return Err("missing closing quote of a string".to_owned()),
                '\\' => match self.escape()? {
                    Some(unit) => {
                        units.push(unit);
                        continue;
                    }
                    None => continue,
                },
                other => other,
            };
            units.extend_from_slice(plain.encode_utf16(&mut buffer));
        }
    }

    /// Reads an escape after a backslash; `None` for a line break.
    fn escape(&mut self) -> Read<Option<u16>> {
        let c = self.next().ok_or("missing closing quote of a string")?;
        let plain = match c {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => '\0',
            'x' => return self.hex(2).map(Some),
            'u' => return self.hex(4).map(Some),
            '\r' => {
                self.takes("\n");
                return Ok(None);
            }
            c if is_line_end(c) => return Ok(None),
            '0'..='9' => return Err("invalid escape of a digit".to_owned()),
            other => other,
        };
        let mut buffer = [0; 2];
        match plain.encode_utf16(&mut buffer) {
            [unit] => Ok(Some(*unit)),
            _ => Err("invalid escape of a character".to_owned()),
        }
    }

    fn hex(&mut self, length: usize) -> Read<u16> {
        let digits =
            self.rest().get(..length).filter(|own| own.bytes().all(|b| b.is_ascii_hexdigit()));
        let digits = digits.ok_or_else(|| format!("expected {length} hexadecimal digits"))?;
        self.at += length;
        u16::from_str_radix(digits, 16).map_err(|error| error.to_string())
    }

    fn number(&mut self) -> Read<Value> {
        let sign = if self.takes("-") { "-" } else { "" };
        if sign.is_empty() {
            self.takes("+");
        }
        if self.takes("0x") || self.takes("0X") {
            let digits = self.while_is(|c| c.is_ascii_hexdigit());
            let number = u128::from_str_radix(digits, 16);
            let number = number.map_err(|_| "hexadecimal number exceeds 128 bits")?;
            return self.finish(&format!("{sign}{number}"));
        }
        if self.rest().starts_with("Infinity") || self.rest().starts_with("NaN") {
            return Err(NO_EQUIVALENT.to_owned());
        }
        let whole = self.while_is(|c| c.is_ascii_digit());
        let has_point = self.takes(".");
        let fraction = if has_point { self.while_is(|c| c.is_ascii_digit()) } else { "" };
        if whole.len() + fraction.len() == 0 {
            return Err("expected a number".to_owned());
        }
        let mut text = format!("{sign}{}", if whole.is_empty() { "0" } else { whole });
        if !fraction.is_empty() {
            text = format!("{text}.{fraction}");
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.next();
            text.push('e');
            text.push_str(self.while_is(|c| c.is_ascii_digit() || matches!(c, '+' | '-')));
        }
        self.finish(&text)
    }

    fn finish(&self, text: &str) -> Read<Value> {
        if self.peek().is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$')) {
            return Err("unexpected text after a number".to_owned());
        }
        Number::read(text).map(Value::from).map_err(|error| error.to_string())
    }
}

const NO_EQUIVALENT: &str = "`Infinity` and `NaN` have no equivalent in JSON";

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
