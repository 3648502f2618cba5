//! Regular expressions as Go has them, on the `regex` crate.
//!
//! The two grew from the same root and differ in details that decide verdicts: Go's `\d`, `\w`,
//! `\s` and `\b` know ASCII only, character classes have no set operations, some flags and escapes
//! don't exist. So a pattern is translated, and what can't be is an error.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::{Captures, Regex, RegexBuilder};
use regorus::Value;

use super::arguments::{integer, string};
use super::{Fault, Outcome, Scope, operand, size};

#[path = "pattern_syntax.rs"]
pub(super) mod syntax;

/// Bytes of a compiled pattern: bounds the time of compiling and of matching.
const COMPILED: usize = 1 << 20;
/// Compiled patterns that are kept.
const KEPT: usize = 256;

static CACHE: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// The compiled form of a translated pattern.
pub(super) fn compile(translated: String) -> Result<Regex, Fault> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(compiled) = cache.get(&translated) {
        return Ok(compiled.clone());
    }
    let built = RegexBuilder::new(&translated).size_limit(COMPILED).build();
    let compiled = match built {
        Ok(compiled) => compiled,
        Err(regex::Error::CompiledTooBig(limit)) => {
            return size::too_large(format!("the pattern compiles to more than {limit} bytes"));
        }
        Err(_) => return operand("error parsing regexp"),
    };
    if cache.len() >= KEPT {
        cache.clear();
    }
    cache.insert(translated, compiled.clone());
    Ok(compiled)
}

fn pattern(args: &[Value], index: usize) -> Result<Regex, Fault> {
    compile(syntax::translate(string(args, index)?)?)
}

/// How many matches argument `index` asks for; negative numbers ask for all.
fn many(args: &[Value], index: usize) -> Result<usize, Fault> {
    Ok(integer(args, index)?.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX))
}

/// Charges a list of strings as it grows.
fn text(scope: &Scope, text: &str) -> Result<Value, Fault> {
    size::bytes(scope, text.len() as u64 + 2 * size::ELEMENT)?;
    Ok(Value::from(text))
}

/// `regex.match(pattern, text)`.
pub(super) fn is_match(_: &Scope, args: &[Value]) -> Outcome {
    Ok(Value::from(pattern(args, 0)?.is_match(string(args, 1)?)))
}

/// `regex.is_valid(pattern)`.
pub(super) fn is_valid(_: &Scope, args: &[Value]) -> Outcome {
    if !matches!(args.first(), Some(Value::String(_))) {
        return Ok(Value::from(false));
    }
    match pattern(args, 0) {
        Ok(_) => Ok(Value::from(true)),
        Err(Fault::Operand(_)) => Ok(Value::from(false)),
        Err(other) => Err(other),
    }
}

/// `regex.find_n(pattern, text, n)`.
pub(super) fn find_n(scope: &Scope, args: &[Value]) -> Outcome {
    let found = pattern(args, 0)?;
    let found = found.find_iter(string(args, 1)?).take(many(args, 2)?);
    Ok(Value::from(found.map(|hit| text(scope, hit.as_str())).collect::<Result<Vec<_>, _>>()?))
}

/// `regex.find_all_string_submatch_n(pattern, text, n)`.
pub(super) fn submatches(scope: &Scope, args: &[Value]) -> Outcome {
    let found = pattern(args, 0)?;
    let found = found.captures_iter(string(args, 1)?).take(many(args, 2)?);
    let groups = |hit: Captures<'_>| {
        let groups = hit.iter().map(|group| text(scope, group.map_or("", |group| group.as_str())));
        Ok(Value::from(groups.collect::<Result<Vec<_>, Fault>>()?))
    };
    Ok(Value::from(found.map(groups).collect::<Result<Vec<_>, Fault>>()?))
}

/// `regex.split(pattern, text)`: no empty parts at empty matches.
pub(super) fn split(scope: &Scope, args: &[Value]) -> Outcome {
    let whole = string(args, 1)?;
    let found = pattern(args, 0)?;
    if whole.is_empty() && !string(args, 0)?.is_empty() {
        return Ok(Value::from(vec![Value::from("")]));
    }
    let mut parts = Vec::new();
    let (mut from, mut end) = (0, 0);
    for hit in found.find_iter(whole) {
        end = hit.start();
        if hit.end() != 0 {
            parts.push(text(scope, whole.get(from..end).unwrap_or_default())?);
        }
        from = hit.end();
    }
    if end != whole.len() {
        parts.push(text(scope, whole.get(from..).unwrap_or_default())?);
    }
    Ok(Value::from(parts))
}

/// `regex.replace(text, pattern, template)`.
pub(super) fn replace(scope: &Scope, args: &[Value]) -> Outcome {
    let whole = string(args, 0)?;
    let found = pattern(args, 1)?;
    let template = string(args, 2)?;
    let mut out = String::new();
    let mut from = 0;
    for (index, hit) in found.captures_iter(whole).enumerate() {
        let Some(all) = hit.get(0) else { continue };
        out.push_str(whole.get(from..all.start()).unwrap_or_default());
        expand(&hit, template, &mut out);
        from = all.end();
        if out.len() as u64 > scope.bounds().string {
            break;
        }
        if index % 4096 == 0 {
            scope.check()?;
        }
    }
    out.push_str(whole.get(from..).unwrap_or_default());
    size::string(scope, out.len() as u64)?;
    Ok(Value::from(out))
}

/// Writes `template` with `$1`, `${1}`, `$name` and `${name}` filled in; `$$` is a dollar, and so
/// is a `$` before anything else.
fn expand(hit: &Captures<'_>, template: &str, out: &mut String) {
    let mut rest = template;
    while let Some((head, tail)) = rest.split_once('$') {
        out.push_str(head);
        let name = |text: &str| {
            text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
        };
        let (group, after) = if let Some(after) = tail.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        } else if let Some(braced) = tail.strip_prefix('{') {
            let (group, after) = braced.split_at(name(braced));
            (group, after.strip_prefix('}'))
        } else {
            let (group, after) = tail.split_at(name(tail));
            (group, Some(after))
        };
        match after {
            Some(after) if !group.is_empty() => {
                let by_number = group.parse::<usize>().ok().and_then(|index| hit.get(index));
                let text = by_number.or_else(|| hit.name(group));
                out.push_str(text.map_or("", |text| text.as_str()));
                rest = after;
            }
            _ => {
                out.push('$');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
}

/// `regex.template_match(template, text, start, end)`: literal text with patterns between the
/// delimiters, all of the text.
pub(super) fn template_match(_: &Scope, args: &[Value]) -> Outcome {
    let (template, whole) = (string(args, 0)?, string(args, 1)?);
    let (start, end) = (string(args, 2)?, string(args, 3)?);
    let (Some(start), 1, Some(end), 1) =
        (start.chars().next(), start.len(), end.chars().next(), end.len())
    else {
        return operand("delimiters must be one character");
    };
    let mut out = String::from("^");
    let mut level = 0_usize;
    let mut part = String::new();
    for c in template.chars() {
        if c == start && (level == 0 || start != end) {
            level += 1;
            if level == 1 {
                out.push_str(&regex::escape(&std::mem::take(&mut part)));
                continue;
            }
        } else if c == end {
            let Some(outer) = level.checked_sub(1) else {
                return operand("unbalanced braces");
            };
            level = outer;
            if level == 0 {
                let inner = syntax::translate(&std::mem::take(&mut part))?;
                out.push('(');
                out.push_str(&inner);
                out.push(')');
                continue;
            }
        }
        part.push(c);
    }
    if level > 0 {
        return operand("unbalanced braces");
    }
    out.push_str(&regex::escape(&part));
    out.push('$');
    Ok(Value::from(compile(out)?.is_match(whole)))
}
