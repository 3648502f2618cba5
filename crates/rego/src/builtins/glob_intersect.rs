//! `regex.globs_match`: tests whether some text matches both of two patterns.
//!
//! The patterns are simple: characters, `.` and sets in brackets, each optionally followed by `*`
//! or `+`.

use super::operands::{answer, string};
use super::{Answer, Context, Error, Value};
use crate::value::deeper;

/// The characters that one token of a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Char(char),
    Dot,
    /// Sorted ranges that neither overlap nor touch.
    Set(Vec<(u32, u32)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    None,
    Plus,
    Star,
}

#[derive(Debug, Clone)]
struct Token {
    kind: Kind,
    flag: Flag,
}

pub(super) fn globs_match(context: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (string(args, 0)?, string(args, 1)?);
    context.charge((a.len() as u64 + b.len() as u64).saturating_mul(64))?;
    let (a, b) = (simplified(tokens(a)?), simplified(tokens(b)?));
    let Some((a, b)) = trimmed(&a, &b) else { return answer(false) };
    answer(normal(context, a, b)?)
}

fn invalid<T>(text: &str, at: usize, message: &str) -> Result<T, Error> {
    Err(Error::failed(format!("input:{text}, pos:{at}, {message}: the input provided is invalid")))
}

/// Reads the next character and whether a backslash escaped it; returns `None` at the end.
fn next_char(text: &str, chars: &[char], at: &mut usize) -> Result<Option<(char, bool)>, Error> {
    match chars.get(*at) {
        None => Ok(None),
        Some('\\') => match chars.get(*at + 1) {
            Some(c) => {
                *at += 2;
                Ok(Some((*c, true)))
            }
            None => invalid(text, *at, "input ends with a \\ (escape) character"),
        },
        Some(c) => {
            *at += 1;
            Ok(Some((*c, false)))
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let mut out = Vec::new();
    while let Some((c, escaped)) = next_char(text, &chars, &mut at)? {
        let kind = match (c, escaped) {
            ('.', false) => Kind::Dot,
            ('[', false) => set(text, &chars, &mut at)?,
            (']', false) => return invalid(text, at, "set-close ']' with no preceding '['"),
            ('+' | '*', false) => {
                return invalid(text, at, &format!("flag '{c}' must be preceded by a non-flag"));
            }
            (c, _) => Kind::Char(c),
        };
        let before = at;
        let flag = match next_char(text, &chars, &mut at)? {
            Some(('+', false)) => Flag::Plus,
            Some(('*', false)) => Flag::Star,
            _ => {
                at = before;
                Flag::None
            }
        };
        out.push(Token { kind, flag });
    }
    Ok(out)
}

/// Parses a set, after its `[`.
fn set(text: &str, chars: &[char], at: &mut usize) -> Result<Kind, Error> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut previous = None;
    while let Some((c, escaped)) = next_char(text, chars, at)? {
        match (c, escaped) {
            (']', false) => return Ok(Kind::Set(joined(ranges))),
            ('-', false) => {
                let Some(from) = previous.take() else {
                    return invalid(
                        text,
                        *at,
                        "range character '-' must be preceded by a Unicode character",
                    );
                };
                if *at + 1 >= chars.len() {
                    return invalid(
                        text,
                        *at,
                        "range character '-' must be followed by a Unicode character",
                    );
                }
                match next_char(text, chars, at)? {
                    Some((']' | '-', false)) => {
                        return invalid(
                            text,
                            *at,
                            "range character '-' cannot be followed by a special symbol",
                        );
                    }
                    Some((to, _)) if to >= from => ranges.push((u32::from(from), u32::from(to))),
                    Some((to, _)) => {
                        let message = format!(
                            "range is out of order: '{to}' comes before '{from}' in Unicode"
                        );
                        return invalid(text, *at, &message);
                    }
                    None => break,
                }
            }
            (c, _) => {
                ranges.push((u32::from(c), u32::from(c)));
                previous = Some(c);
            }
        }
    }
    invalid(text, *at, "found [ without matching ]")
}

fn joined(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut out: Vec<(u32, u32)> = Vec::new();
    for (from, to) in ranges {
        match out.last_mut() {
            Some((_, end)) if from <= end.saturating_add(1) => *end = (*end).max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Merges consecutive repetitions of the same token.
fn simplified(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match out.last_mut() {
            Some(last)
                if token.flag != Flag::None
                    && last.flag != Flag::None
                    && token.kind == last.kind =>
            {
                let plus = token.flag == Flag::Plus || last.flag == Flag::Plus;
                last.flag = if plus { Flag::Plus } else { Flag::Star };
            }
            _ => out.push(token),
        }
    }
    out
}

fn overlap(a: &Token, b: &Token) -> bool {
    let has = |ranges: &[(u32, u32)], c: char| {
        ranges.iter().any(|(from, to)| (*from..=*to).contains(&u32::from(c)))
    };
    match (&a.kind, &b.kind) {
        (Kind::Char(a), Kind::Char(b)) => a == b,
        (Kind::Char(c), Kind::Set(set)) | (Kind::Set(set), Kind::Char(c)) => has(set, *c),
        (Kind::Set(a), Kind::Set(b)) => {
            a.iter().any(|(from, to)| b.iter().any(|(start, end)| from <= end && start <= to))
        }
        (Kind::Dot, _) | (_, Kind::Dot) => true,
    }
}

/// Removes from both ends the tokens without repetition that the patterns share; returns `None` if
/// the patterns differ there.
fn trimmed<'a>(a: &'a [Token], b: &'a [Token]) -> Option<(&'a [Token], &'a [Token])> {
    let plain = |a: &Token, b: &Token| a.flag == Flag::None && b.flag == Flag::None;
    let mut left = 0;
    while let (Some(x), Some(y)) = (a.get(left), b.get(left))
        && plain(x, y)
    {
        if !overlap(x, y) {
            return None;
        }
        left += 1;
    }
    // One token is kept on the left, since an empty pattern would mean something else.
    left = left.saturating_sub(1);
    let (mut a, mut b) = (a.get(left..)?, b.get(left..)?);
    let mut last = None;
    while let ([rest_a @ .., x], [rest_b @ .., y]) = (a, b)
        && plain(x, y)
    {
        if !overlap(x, y) {
            return None;
        }
        last = Some((a, b));
        (a, b) = (rest_a, rest_b);
    }
    Some(last.unwrap_or((a, b)))
}

fn normal(context: &dyn Context, mut a: &[Token], mut b: &[Token]) -> Result<bool, Error> {
    while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
        if x.flag != Flag::None || y.flag != Flag::None {
            return deeper(|| special(context, a, b));
        }
        if !overlap(x, y) {
            return Ok(false);
        }
        (a, b) = (rest_a, rest_b);
    }
    Ok(a.is_empty() && b.is_empty())
}

fn special(context: &dyn Context, a: &[Token], b: &[Token]) -> Result<bool, Error> {
    context.check()?;
    let (repeated, other) =
        if a.first().is_some_and(|first| first.flag != Flag::None) { (a, b) } else { (b, a) };
    match repeated.first().map(|first| first.flag) {
        Some(Flag::Plus) => plus(context, repeated, other),
        Some(Flag::Star) => star(context, repeated, other),
        _ => Ok(false),
    }
}

fn plus(context: &dyn Context, repeated: &[Token], other: &[Token]) -> Result<bool, Error> {
    let ([first, after @ ..], [next, rest @ ..]) = (repeated, other) else { return Ok(false) };
    if !overlap(first, next) {
        return Ok(false);
    }
    if star(context, repeated, rest)? {
        return Ok(true);
    }
    Ok(next.flag != Flag::None && normal(context, after, other)?)
}

fn star(context: &dyn Context, repeated: &[Token], other: &[Token]) -> Result<bool, Error> {
    let Some((first, after)) = repeated.split_first() else { return Ok(false) };
    let next = after.first();
    for (index, token) in other.iter().enumerate() {
        context.check()?;
        if let Some(next) = next
            && overlap(token, next)
            && normal(context, after, other.get(index..).unwrap_or_default())?
        {
            return Ok(true);
        }
        if !overlap(token, first) {
            return Ok(false);
        }
    }
    Ok(next.is_none())
}
