//! Regular expressions with Go's semantics, on top of the `regex` crate.
//!
//! The two have a common ancestor but differ in details that decide verdicts, so patterns are
//! parsed by Go's rules and rewritten for the crate.

mod compiled;
mod groups;
mod stepwise;
mod syntax;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::operands::{Ticks, answer, charge_elements, integer, operand, string};
use super::{Answer, Context, Error, Value};
use crate::value::{Array, quoted};

pub(super) use compiled::Compiled;
pub(super) use compiled::PatternCache;
use compiled::Weight;
use stepwise::Check;
pub(super) use syntax::write_char;

/// The groups of a match, in bytes of the text; the first is the whole match.
type Groups = [Option<Range<usize>>];

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Compiled,
    /// The names of the groups, from the first.
    names: Vec<Option<String>>,
    /// `true` if the pattern is empty, which makes a difference when splitting an empty text.
    empty: bool,
}

impl Weight for Pattern {
    fn bytes(&self) -> usize {
        self.regex.bytes()
    }
}

/// A regular expression in the syntax of Go, as `regex.match` takes it.
pub struct GoRegex(Pattern);

impl std::fmt::Debug for GoRegex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoRegex").finish_non_exhaustive()
    }
}

impl GoRegex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// An error in the words of Go if it isn't one.
    pub fn new(text: &str) -> Result<Self, Error> {
        compiled(text).map(Self)
    }

    /// Returns `true` if it matches somewhere in a text, such as a name: without a deadline.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.search(text, &|| Ok(())).is_ok_and(|found| found)
    }
}

/// Compiles a pattern, unless it is cached.
pub(super) fn compile(context: &dyn Context, text: &str) -> Result<Arc<Pattern>, Error> {
    context.patterns().regex.get(text, || {
        context.check()?;
        compiled(text)
    })
}

fn compiled(text: &str) -> Result<Pattern, Error> {
    let parsed = syntax::translate(text)?;
    let regex = Compiled::new(parsed.text)?;
    Ok(Pattern { regex, names: parsed.names, empty: text.is_empty() })
}

pub(super) fn is_match(context: &dyn Context, args: &[Value]) -> Answer {
    let (pattern, text) = (string(args, 0)?, string(args, 1)?);
    answer(compile(context, pattern)?.matches(context, text)?)
}

pub(super) fn is_valid(_: &dyn Context, args: &[Value]) -> Answer {
    let Some(text) = operand(args, 0)?.as_str() else { return answer(false) };
    match syntax::translate(text) {
        Err(error) if error.halt => Err(error),
        translated => answer(translated.is_ok()),
    }
}

impl Pattern {
    /// Returns `true` if the pattern matches somewhere in a text.
    pub(super) fn matches(&self, context: &dyn Context, text: &str) -> Result<bool, Error> {
        self.search(text, &|| context.check())
    }

    fn search(&self, text: &str, check: Check<'_>) -> Result<bool, Error> {
        let mut at = 0;
        while let Some(found) = self.regex.find_at(text, at, check)? {
            // An empty match inside a character doesn't count.
            if text.is_char_boundary(found.start) {
                return Ok(true);
            }
            at = found.start + 1;
        }
        Ok(false)
    }

    /// Calls `deliver` with the non-overlapping matches that Go finds, up to a limit; with their
    /// groups if `grouped`.
    fn each(
        &self,
        context: &dyn Context,
        text: &str,
        limit: i64,
        grouped: bool,
        mut deliver: impl FnMut(&Groups) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut ticks = Ticks::new();
        let (mut at, mut count, mut previous) = (0, 0, None);
        while count < limit && at <= text.len() {
            ticks.tick(context)?;
            let found = if grouped {
                self.regex.groups_at(text, at, &|| context.check())?
            } else {
                let whole = self.regex.find_at(text, at, &|| context.check())?;
                whole.map(|whole| vec![Some(whole)])
            };
            let Some(found) = found else { break };
            let Some(whole) = found.first().cloned().flatten() else { break };
            if !text.is_char_boundary(whole.start) {
                at = whole.start + 1;
                continue;
            }
            let mut accepted = true;
            if whole.end == at {
                // No empty match directly after another match.
                accepted = previous != Some(whole.start);
                at += 1;
                while !text.is_char_boundary(at) && at < text.len() {
                    at += 1;
                }
            } else {
                at = whole.end;
            }
            previous = Some(whole.end);
            if accepted {
                deliver(&found)?;
                count += 1;
            }
        }
        Ok(())
    }
}

fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

fn group<'t>(text: &'t str, found: &Groups, index: usize) -> Option<&'t str> {
    let group = found.get(index)?.as_ref()?;
    Some(slice(text, group.start, group.end))
}

fn charged(context: &dyn Context, text: &str) -> Result<Value, Error> {
    context.charge(text.len() as u64 + 48)?;
    Ok(Value::from(text))
}

pub(super) fn find_n(context: &dyn Context, args: &[Value]) -> Answer {
    let (pattern, text, limit) = (string(args, 0)?, string(args, 1)?, integer(args, 2)?);
    let pattern = compile(context, pattern)?;
    let mut out = Array::new();
    pattern.each(context, text, limit, false, |found| {
        out.push(charged(context, group(text, found, 0).unwrap_or_default())?);
        Ok(())
    })?;
    answer(out)
}

pub(super) fn find_submatches(context: &dyn Context, args: &[Value]) -> Answer {
    let (pattern, text, limit) = (string(args, 0)?, string(args, 1)?, integer(args, 2)?);
    let pattern = compile(context, pattern)?;
    let mut out = Array::new();
    pattern.each(context, text, limit, true, |found| {
        charge_elements(context, found.len() + 2)?;
        // A group that is repeated zero times has no place among those that were found.
        let groups = (0..found.len().max(pattern.names.len() + 1))
            .map(|index| charged(context, group(text, found, index).unwrap_or_default()));
        out.push(groups.collect::<Result<_, Error>>()?);
        Ok(())
    })?;
    answer(out)
}

pub(super) fn split(context: &dyn Context, args: &[Value]) -> Answer {
    let (pattern, text) = (string(args, 0)?, string(args, 1)?);
    let pattern = compile(context, pattern)?;
    if text.is_empty() && !pattern.empty {
        return answer(vec![Value::from("")]);
    }
    let mut out = Array::new();
    let (mut from, mut end) = (0, 0);
    pattern.each(context, text, -1, false, |found| {
        let Some(whole) = found.first().cloned().flatten() else { return Ok(()) };
        end = whole.start;
        if whole.end != 0 {
            out.push(charged(context, slice(text, from, end))?);
        }
        from = whole.end;
        Ok(())
    })?;
    if end != text.len() {
        out.push(charged(context, slice(text, from, text.len()))?);
    }
    answer(out)
}

pub(super) fn replace(context: &dyn Context, args: &[Value]) -> Answer {
    let (text, pattern, template) = (string(args, 0)?, string(args, 1)?, string(args, 2)?);
    let pattern = compile(context, pattern)?;
    let mut out = String::new();
    let mut from = 0;
    pattern.each(context, text, -1, template.contains('$'), |found| {
        let Some(whole) = found.first().cloned().flatten() else { return Ok(()) };
        let before = out.len();
        out.push_str(slice(text, from, whole.start));
        expand(&pattern, text, found, template, &mut out);
        from = whole.end;
        context.charge((out.len() - before) as u64)
    })?;
    out.push_str(slice(text, from, text.len()));
    if out == text {
        return answer(operand(args, 0)?.clone());
    }
    answer(out)
}

/// Returns `true` for letters and decimal digits of any script, and the underscore.
fn is_name(c: char) -> bool {
    static NAME: LazyLock<Option<regex::Regex>> =
        LazyLock::new(|| regex::Regex::new(r"^[\pL\p{Nd}_]$").ok());
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    NAME.as_ref().is_some_and(|name| name.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Expands `$1`, `${1}`, `$name` and `${name}` in a template. `$$` is a dollar sign, and so is a
/// `$` before anything else.
fn expand(pattern: &Pattern, text: &str, found: &Groups, template: &str, out: &mut String) {
    let mut rest = template;
    while let Some((head, tail)) = rest.split_once('$') {
        out.push_str(head);
        if let Some(after) = tail.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let braced = tail.strip_prefix('{');
        let body = braced.unwrap_or(tail);
        let (name, after) = body.split_at(body.find(|c: char| !is_name(c)).unwrap_or(body.len()));
        let after = if braced.is_some() { after.strip_prefix('}') } else { Some(after) };
        let (false, Some(after)) = (name.is_empty(), after) else {
            out.push('$');
            rest = tail;
            continue;
        };
        rest = after;
        let number = name.bytes().all(|byte| byte.is_ascii_digit())
            && !(name.len() > 1 && name.starts_with('0'));
        let part = match name.parse::<usize>() {
            Ok(index) if number => group(text, found, index),
            _ => {
                let named = pattern.names.iter().enumerate();
                let mut named = named.filter(|(_, group_name)| group_name.as_deref() == Some(name));
                named.find_map(|(index, _)| group(text, found, index + 1))
            }
        };
        out.push_str(part.unwrap_or_default());
    }
    out.push_str(rest);
}

/// Matches the whole text against a template: literal text with delimited patterns.
pub(super) fn template_match(context: &dyn Context, args: &[Value]) -> Answer {
    let (template, text) = (string(args, 0)?, string(args, 1)?);
    let (start, end) = (string(args, 2)?, string(args, 3)?);
    let ([start], length) = (start.as_bytes(), start.len()) else {
        let message = "start delimiter has to be exactly one character long but is";
        return Err(Error::failed(format!("{message} {} long", start.len())));
    };
    let [end] = end.as_bytes() else {
        let message = "end delimiter has to be exactly one character long but is";
        return Err(Error::failed(format!("{message} {length} long")));
    };
    let unbalanced = || Error::failed(format!("unbalanced braces in {}", quoted(template)));
    let mut out = String::from("^");
    let (mut level, mut from) = (0_usize, 0);
    for (at, byte) in template.bytes().enumerate() {
        if byte == *start {
            level += 1;
            if level == 1 {
                out.push_str(&quote_meta(slice(template, from, at)));
                from = at + 1;
            }
        } else if byte == *end {
            level = level.checked_sub(1).ok_or_else(unbalanced)?;
            if level == 0 {
                let inner = slice(template, from, at);
                compile(context, &format!("^{inner}$"))?;
                out.extend(["(", inner, ")"]);
                from = at + 1;
            }
        }
    }
    if level > 0 {
        return Err(unbalanced());
    }
    out.push_str(&quote_meta(slice(template, from, template.len())));
    out.push('$');
    answer(compile(context, &out)?.matches(context, text)?)
}

/// Escapes all characters with a special meaning in patterns.
fn quote_meta(text: &str) -> String {
    backslashed(text, r"\.+*?()|[]{}^$")
}

/// Puts a backslash before each special character.
pub(super) fn backslashed(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if special.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
