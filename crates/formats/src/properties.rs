//! Java's properties: an object of texts. `${name}` isn't replaced.

use rego::Value;
use rego::value::Object;

use super::lines::lines;
use super::problem::{Problem, add};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let mut object = Object::new();
    let mut lines = lines(text);
    while let Some((at, line)) = lines.next() {
        let invalid = |message: String| Problem::at(text, at, message);
        let mut logical = line.trim_start_matches(BLANK).to_owned();
        if logical.is_empty() || logical.starts_with(['#', '!']) {
            continue;
        }
        while continues(&logical) {
            logical.pop();
            let Some((_, next)) = lines.next() else { break };
            logical.push_str(next.trim_start_matches(BLANK));
        }
        let (key, value) = split(&logical);
        let key = unescaped(key).map_err(invalid)?;
        if key.is_empty() {
            return Err(invalid("missing key before `=`".to_owned()));
        }
        let value = unescaped(value).map_err(invalid)?;
        add(&mut object, &key, Value::from(value)).map_err(invalid)?;
    }
    Ok(Value::from(object))
}

const BLANK: [char; 3] = [' ', '\t', '\u{c}'];

/// Returns `true` if a line ends with an odd number of backslashes.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Splits a line at the first separator that isn't escaped: blanks, with one `=` or `:` among them.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (BLANK.contains(&c) || matches!(c, '=' | ':'));
        escaped = !escaped && c == '\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(BLANK);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, rest.trim_start_matches(BLANK))
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut units = Vec::new();
    let mut chars = text.chars();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next() {
        let plain = match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let is_hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                    let unit = u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
                    units.push(unit.ok_or("expected four hexadecimal digits after `\\u`")?);
                    continue;
                }
                Some(other) => other,
                None => continue,
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut buffer));
    }
    String::from_utf16(&units).map_err(|_| "incomplete surrogate pair: `\\u`".to_owned())
}
