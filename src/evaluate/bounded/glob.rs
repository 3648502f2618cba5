//! Globs: `*` within delimiters, `**` across them, `?`, `[…]`, `{…,…}`.

use regorus::Value;

use super::arguments::string;
use super::{Fault, Outcome, Scope, differs, operand, pattern};

/// `glob.match(pattern, delimiters, text)`.
pub(super) fn matches(_: &Scope, args: &[Value]) -> Outcome {
    let delimiters = match args.get(1) {
        Some(Value::Array(array)) if array.is_empty() => vec!['.'],
        Some(Value::Array(array)) => {
            array.iter().map(delimiter).collect::<Result<Vec<_>, Fault>>()?
        }
        _ => Vec::new(),
    };
    let (glob, text) = (string(args, 0)?, string(args, 2)?);
    let is = pattern::compile(translate(glob, &delimiters)?)?.is_match(text);
    if !is && overlaps(glob, &delimiters, text) {
        return differs("a text in which what is before the wildcard overlaps what is after it");
    }
    Ok(Value::from(is))
}

/// Whether `text` begins as a glob with one wildcard across delimiters begins and ends as it ends,
/// with the two overlapping: OPA takes that for a match.
fn overlaps(glob: &str, delimiters: &[char], text: &str) -> bool {
    let (Some(from), Some(to)) = (glob.find('*'), glob.rfind('*')) else { return false };
    let (before, after) = (glob.get(..from), glob.get(to + 1..));
    let stars = glob.get(from..=to).unwrap_or_default();
    let across = stars.bytes().all(|b| b == b'*') && (stars.len() > 1 || delimiters.is_empty());
    match (before, after) {
        (Some(before), Some(after)) if across => {
            let before = before.replace('\\', "");
            let after = after.replace('\\', "");
            text.starts_with(&before) && text.ends_with(&after)
        }
        _ => false,
    }
}

fn delimiter(value: &Value) -> Result<char, Fault> {
    let Value::String(text) = value else { return operand("delimiters must be strings") };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => operand("delimiters must be one character"),
    }
}

fn translate(glob: &str, delimiters: &[char]) -> Result<String, Fault> {
    let escape = |c: char| format!("\\x{{{:X}}}", u32::from(c));
    let others: String = delimiters.iter().map(|c| escape(*c)).collect();
    let one = if others.is_empty() { "(?s:.)".to_owned() } else { format!("[^{others}]") };
    let mut out = String::from("^");
    let mut rest = glob.chars().peekable();
    let mut braces = 0_usize;
    while let Some(c) = rest.next() {
        match c {
            '*' | '?' if braces > 0 => return differs("a wildcard between braces in a glob"),
            '*' => {
                let mut across = false;
                while rest.next_if_eq(&'*').is_some() {
                    across = true;
                }
                out.push_str(if across { "(?s:.)" } else { &one });
                out.push('*');
            }
            '?' => out.push_str(&one),
            '\\' => match rest.next() {
                Some(c) => out.push_str(&escape(c)),
                None => return differs("a glob that ends with a backslash"),
            },
            '[' => class(&mut rest, &mut out)?,
            '{' => {
                braces += 1;
                out.push_str("(?:");
            }
            '}' if braces > 0 => {
                braces -= 1;
                out.push(')');
            }
            ',' if braces > 0 => out.push('|'),
            c => out.push_str(&escape(c)),
        }
    }
    if braces > 0 {
        return differs("a glob with a brace that isn't closed");
    }
    out.push('$');
    Ok(out)
}

/// After `[`: characters, or one range; `!` negates either.
fn class(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) -> Result<(), Fault> {
    out.push('[');
    if rest.next_if_eq(&'!').is_some() {
        out.push('^');
    }
    let mut members = Vec::new();
    loop {
        match rest.next() {
            Some(']') if members.is_empty() => return operand("unexpected end of the class"),
            Some(']') => break,
            Some('\\' | '[') => return differs("a backslash or bracket in a class of a glob"),
            Some(c) => members.push(c),
            None => return operand("a class that isn't closed"),
        }
    }
    let hex = |c: &char| format!("\\x{{{:X}}}", u32::from(*c));
    match members.as_slice() {
        [low, '-', high] if low <= high => {
            out.extend([hex(low), "-".to_owned(), hex(high)]);
        }
        [first, others @ ..] if !others.contains(&'-') && *first != '-' => {
            out.extend(members.iter().map(hex));
        }
        _ => return differs("a hyphen in a class of a glob that is no single range"),
    }
    out.push(']');
    Ok(())
}

/// `glob.quote_meta(text)`.
pub(super) fn quote(_: &Scope, args: &[Value]) -> Outcome {
    let mut out = String::new();
    for c in string(args, 0)?.chars() {
        if matches!(c, '*' | '?' | '\\' | '[' | ']' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    Ok(Value::from(out))
}
