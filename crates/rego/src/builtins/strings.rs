//! Strings: search, replacement, splitting, trimming, upper and lower case.
//!
//! Positions count code points, as in OPA.

use std::cmp::Ordering;

use super::operands::{
    Ticks, answer, array, charge_elements, charge_text, integer, object, operand, operand_error,
    string, strings,
};
use super::{Answer, Code, Context, Error, Value};
use crate::value::{Array, lossy};

/// Returns part of the first operand, without a copy if that is all of it.
pub(super) fn same_or(args: &[Value], part: &str) -> Answer {
    let whole = operand(args, 0)?;
    if whole.as_str() == Some(part) { answer(whole.clone()) } else { answer(part) }
}

pub(super) fn part(args: &[Value], part: for<'a> fn(&'a str, &str) -> &'a str) -> Answer {
    same_or(args, part(string(args, 0)?, string(args, 1)?))
}

pub(super) fn concat(context: &dyn Context, args: &[Value]) -> Answer {
    let separator = string(args, 0)?;
    let parts = strings(operand(args, 1)?, 2, &["set", "array"])?;
    let bytes = parts.iter().map(|part| part.len().saturating_add(separator.len()));
    charge_text(context, bytes.fold(0, usize::saturating_add))?;
    answer(parts.join(separator))
}

fn searched(args: &[Value]) -> Result<(&str, &str), Error> {
    let (text, search) = (string(args, 0)?, string(args, 1)?);
    if search.is_empty() {
        Err(Error::failed("empty search character"))
    } else {
        Ok((text, search))
    }
}

pub(super) fn index_of(_: &dyn Context, args: &[Value]) -> Answer {
    let (text, search) = searched(args)?;
    match text.split_once(search) {
        Some((before, _)) => answer(before.chars().count()),
        None => answer(-1),
    }
}

pub(super) fn index_of_n(context: &dyn Context, args: &[Value]) -> Answer {
    let (text, search) = searched(args)?;
    let mut found = Array::new();
    let mut rest = text;
    let mut passed = 0;
    while let Some((before, _)) = rest.split_once(search) {
        charge_elements(context, 1)?;
        context.check()?;
        let at = before.chars().count();
        found.push(Value::from(passed + at));
        // Matches may overlap, so the search continues at the next character.
        passed += at + 1;
        let mut chars = rest.get(before.len()..).unwrap_or_default().chars();
        chars.next();
        rest = chars.as_str();
    }
    answer(found)
}

pub(super) fn substring(_: &dyn Context, args: &[Value]) -> Answer {
    let (text, from, length) = (string(args, 0)?, integer(args, 1)?, integer(args, 2)?);
    if from < 0 {
        return Err(Error::failed("negative offset"));
    }
    let skip = |text: &str, count: i64| {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if text.is_ascii() {
            count.min(text.len())
        } else {
            text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
        }
    };
    let rest = text.get(skip(text, from)..).unwrap_or_default();
    let end = if length < 0 { rest.len() } else { skip(rest, length) };
    same_or(args, rest.get(..end).unwrap_or_default())
}

pub(super) fn mapped(context: &dyn Context, args: &[Value], map: fn(char) -> char) -> Answer {
    let text = string(args, 0)?;
    if text.chars().all(|c| map(c) == c) {
        return answer(operand(args, 0)?.clone());
    }
    charge_text(context, text.len())?;
    answer(text.chars().map(map).collect::<String>())
}

pub(super) fn count(_: &dyn Context, args: &[Value]) -> Answer {
    let (text, search) = (string(args, 0)?, string(args, 1)?);
    answer(if search.is_empty() { text.chars().count() + 1 } else { text.matches(search).count() })
}

pub(super) fn reverse(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    charge_text(context, text.len())?;
    answer(text.chars().rev().collect::<String>())
}

/// Splits a text at a delimiter; into characters if the delimiter is empty.
fn parts<'a>(
    context: &dyn Context,
    text: &'a str,
    delimiter: &str,
    most: usize,
) -> Result<Vec<&'a str>, Error> {
    // Each part takes an element and, usually, a string of its own.
    let charge = |count: usize| {
        context.charge((count as u64).saturating_mul(48).saturating_add(text.len() as u64))
    };
    if delimiter.is_empty() {
        let count = text.chars().count().min(most);
        charge(count)?;
        let mut parts = Vec::with_capacity(count);
        let mut rest = text;
        while parts.len() + 1 < count {
            let mut chars = rest.chars();
            chars.next();
            let (first, after) = rest.split_at(rest.len() - chars.as_str().len());
            parts.push(first);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(rest);
        }
        return Ok(parts);
    }
    charge(text.matches(delimiter).count().saturating_add(1).min(most))?;
    Ok(text.splitn(most, delimiter).collect())
}

fn array_of(parts: &[&str]) -> Answer {
    answer(parts.iter().map(|part| Value::from(*part)).collect::<Array>())
}

pub(super) fn split(context: &dyn Context, args: &[Value]) -> Answer {
    array_of(&parts(context, string(args, 0)?, string(args, 1)?, usize::MAX)?)
}

pub(super) fn split_n(context: &dyn Context, args: &[Value]) -> Answer {
    let (text, delimiter, n) = (string(args, 0)?, string(args, 1)?, integer(args, 2)?);
    match usize::try_from(n) {
        Ok(n) => {
            let found = parts(context, text, delimiter, n.saturating_add(1))?;
            array_of(found.get(..n).unwrap_or(&found))
        }
        Err(_) => {
            let found = parts(context, text, delimiter, usize::MAX)?;
            let last = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
            array_of(found.get(found.len().saturating_sub(last)..).unwrap_or_default())
        }
    }
}

pub(super) fn replace(context: &dyn Context, args: &[Value]) -> Answer {
    let (text, old, new) = (string(args, 0)?, string(args, 1)?, string(args, 2)?);
    same_or(args, &replaced(context, text, &[(old, new)])?)
}

pub(super) fn replace_n(context: &dyn Context, args: &[Value]) -> Answer {
    let (patterns, text) = (object(args, 0)?, string(args, 1)?);
    let mut pairs = Vec::with_capacity(patterns.len());
    for (old, new) in patterns {
        let old = old
            .as_str()
            .ok_or_else(|| operand_error(1, "non-string key found in pattern object"))?;
        let new = new
            .as_str()
            .ok_or_else(|| operand_error(1, "non-string value found in pattern object"))?;
        pairs.push((old, new));
    }
    answer(replaced(context, text, &pairs)?)
}

/// Replaces matches from left to right, with the first pair that matches. An empty pattern matches
/// at each byte, but only once per position. The pairs are in the order of their patterns.
fn replaced(context: &dyn Context, text: &str, pairs: &[(&str, &str)]) -> Result<String, Error> {
    if let [(old, new)] = pairs
        && !old.is_empty()
    {
        let count = text.matches(old).count();
        let more = (count as u64).saturating_mul(new.len() as u64);
        context.charge(more.saturating_add(text.len() as u64))?;
        return Ok(text.replace(old, new));
    }
    let (empty, pairs) = match pairs.split_first() {
        Some((first, rest)) if first.0.is_empty() => (Some(first), rest),
        _ => (None, pairs),
    };
    // A pattern that begins with another one never matches first. So at most one of the others
    // matches at a position: the last that isn't greater than the text from there.
    let mut patterns: Vec<(&[u8], &(&str, &str))> =
        pairs.iter().map(|pair| (pair.0.as_bytes(), pair)).collect();
    patterns.dedup_by(|longer, kept| longer.0.starts_with(kept.0));
    let by_byte: Vec<&[_]> = (0..=u8::MAX)
        .map(|byte| {
            let start = patterns.partition_point(|pattern| pattern.0 < [byte].as_slice());
            let rest = patterns.get(start..).unwrap_or_default();
            rest.get(..rest.partition_point(|item| item.0.starts_with(&[byte]))).unwrap_or_default()
        })
        .collect();
    let bytes = text.as_bytes();
    let mut ticks = Ticks::new();
    let mut out: Vec<u8> = Vec::new();
    let (mut at, mut written, mut after_empty) = (0, 0, false);
    while at <= bytes.len() {
        ticks.tick(context)?;
        let rest = bytes.get(at..).unwrap_or_default();
        let mut found = empty.filter(|_| !after_empty);
        if let (None, Some(byte)) = (found, rest.first()) {
            let patterns = by_byte.get(usize::from(*byte)).copied().unwrap_or_default();
            let after = patterns.partition_point(|pattern| pattern.0 <= rest);
            let last = after.checked_sub(1).and_then(|last| patterns.get(last));
            found = last.filter(|last| rest.starts_with(last.0)).map(|last| last.1);
        }
        let Some((old, new)) = found else {
            after_empty = false;
            at += 1;
            continue;
        };
        let plain = bytes.get(written..at).unwrap_or_default();
        context.charge((plain.len() + new.len()) as u64)?;
        out.extend_from_slice(plain);
        out.extend_from_slice(new.as_bytes());
        after_empty = old.is_empty();
        at += old.len();
        written = at;
    }
    out.extend_from_slice(bytes.get(written..).unwrap_or_default());
    Ok(lossy(&out))
}

/// Returns `true` if any text begins or ends with any affix. `order` compares from that end.
fn any_affix(
    context: &dyn Context,
    args: &[Value],
    order: fn(&str, &str) -> Ordering,
    matches: fn(&str, &str) -> bool,
) -> Answer {
    let list = |index: usize| match operand(args, index)? {
        Value::String(text) => Ok(vec![&**text]),
        other => strings(other, index + 1, &["string", "set", "array"]),
    };
    let (texts, mut affixes) = (list(0)?, list(1)?);
    affixes.sort_unstable_by(|a, b| order(a, b));
    // Where a longer affix matches, so does a shorter one that it begins with. Without the longer ones,
    // the only one that can match is the last that isn't greater than the text.
    affixes.dedup_by(|longer, kept| matches(longer, kept));
    let mut ticks = Ticks::new();
    for text in &texts {
        ticks.tick(context)?;
        let after = affixes.partition_point(|affix| order(affix, text).is_le());
        let last = after.checked_sub(1).and_then(|last| affixes.get(last));
        if last.is_some_and(|affix| matches(text, affix)) {
            return answer(true);
        }
    }
    answer(false)
}

pub(super) fn any_prefix(context: &dyn Context, args: &[Value]) -> Answer {
    any_affix(context, args, str::cmp, |text, prefix| text.starts_with(prefix))
}

pub(super) fn any_suffix(context: &dyn Context, args: &[Value]) -> Answer {
    let from_end = |a: &str, b: &str| a.bytes().rev().cmp(b.bytes().rev());
    any_affix(context, args, from_end, |text, suffix| text.ends_with(suffix))
}

/// Joins the parts of a template string: scalars, or sets of at most one value.
pub(super) fn template(context: &dyn Context, args: &[Value]) -> Answer {
    let mut out = String::new();
    for part in array(args, 0)? {
        let value = match part {
            Value::Set(set) => {
                if set.len() > 1 {
                    return Err(Error::halt(
                        Code::Builtin,
                        "template-strings must not produce multiple outputs",
                    ));
                }
                set.first()
            }
            Value::Array(_) | Value::Object(_) => {
                let message = format!("illegal argument type: {}", part.type_name());
                return Err(Error::halt(Code::Builtin, message));
            }
            scalar => Some(scalar),
        };
        let before = out.len();
        match value {
            None => out.push_str("<undefined>"),
            Some(Value::String(text)) => {
                charge_text(context, text.len())?;
                out.push_str(text);
                continue;
            }
            Some(value) => {
                context.charge(value.size())?;
                out.push_str(&value.to_string());
            }
        }
        charge_text(context, out.len() - before)?;
    }
    answer(out)
}
