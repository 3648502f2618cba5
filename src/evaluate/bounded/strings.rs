//! Strings: joining, replacing, counting, cases.

use regorus::Value;

use super::arguments::{integer, object, string, strings};
use super::{Fault, Outcome, Scope, differs, operand, size};

fn made(scope: &Scope, text: String) -> Outcome {
    size::string(scope, text.len() as u64)?;
    Ok(Value::from(text))
}

/// The bytes of `concat(delimiter, parts)`.
pub(super) fn concat_size(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    let delimiter = string(args, 0)?.len() as u64;
    let parts = strings(args, 1)?;
    let gaps = (parts.len() as u64).saturating_sub(1);
    Ok(parts.iter().map(|part| part.len() as u64).sum::<u64>() + delimiter.saturating_mul(gaps))
}

/// The bytes of `replace(text, old, new)`.
pub(super) fn replace_size(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    let (text, old, new) = (string(args, 0)?, string(args, 1)?, string(args, 2)?);
    let times = text.matches(&**old).count() as u64;
    let kept = text.len() as u64 - times * old.len() as u64;
    Ok(kept.saturating_add(times.saturating_mul(new.len() as u64)))
}

/// `strings.replace_n(patterns, text)`: one pass over the text; where several patterns match, the
/// first of their order does.
pub(super) fn replace_n(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 1)?;
    let mut pairs = Vec::new();
    for (old, new) in object(args, 0)?.iter_sorted() {
        let (Value::String(old), Value::String(new)) = (old, new) else {
            return operand("operand 1 must be object with string keys and values");
        };
        pairs.push((&**old, &**new));
    }
    if pairs.iter().any(|(old, _)| old.is_empty()) {
        return differs("an empty pattern");
    }
    let mut out = String::new();
    let mut rest: &str = text;
    let mut steps = 0_u32;
    while let Some(c) = rest.chars().next() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(65_536) {
            scope.check()?;
            size::string(scope, out.len() as u64)?;
        }
        let hit = pairs.iter().find_map(|(old, new)| Some((rest.strip_prefix(old)?, new)));
        if let Some((after, new)) = hit {
            out.push_str(new);
            rest = after;
        } else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
        if out.len() as u64 > scope.bounds().string {
            break;
        }
    }
    made(scope, out)
}

/// `strings.count(text, part)`, without overlaps; an empty part is between all characters.
pub(super) fn count(_: &Scope, args: &[Value]) -> Outcome {
    let (text, part) = (string(args, 0)?, string(args, 1)?);
    Ok(Value::from(text.matches(&**part).count()))
}

/// The bytes that `split(text, delimiter)` takes: each part is a string of its own.
pub(super) fn split(scope: &Scope, args: &[Value]) -> Outcome {
    let (text, delimiter) = (string(args, 0)?, string(args, 1)?);
    let parts = text.matches(&**delimiter).count() as u64 + 1;
    size::bytes(scope, parts.saturating_mul(64).saturating_add(text.len() as u64))?;
    super::native::call(scope, "split", args)
}

/// `indexof(text, part)`, in characters.
pub(super) fn indexof(_: &Scope, args: &[Value]) -> Outcome {
    let (text, part) = (string(args, 0)?, string(args, 1)?);
    if part.is_empty() {
        return operand("empty search character");
    }
    let index = text.find(&**part).and_then(|at| text.get(..at)).map(|head| head.chars().count());
    Ok(index.map_or_else(|| Value::from(-1), Value::from))
}

/// `indexof_n(text, part)`: all places, overlapping ones too, in characters.
pub(super) fn indexof_n(scope: &Scope, args: &[Value]) -> Outcome {
    let (text, part) = (string(args, 0)?, string(args, 1)?);
    if part.is_empty() {
        return operand("empty search character");
    }
    let mut places = Vec::new();
    let mut rest: &str = text;
    let mut index = 0;
    let step = part.chars().next().map_or(1, char::len_utf8);
    while let Some(at) = rest.find(&**part) {
        if places.len() % 4096 == 0 {
            scope.check()?;
            size::bytes(scope, 4096 * size::ELEMENT)?;
        }
        index += rest.get(..at).map_or(0, |head| head.chars().count());
        places.push(Value::from(index));
        rest = rest.get(at + step..).unwrap_or_default();
        index += 1;
    }
    Ok(Value::from(places))
}

/// `lower(text)`: character by character, without Unicode's rules for whole words.
pub(super) fn lower(scope: &Scope, args: &[Value]) -> Outcome {
    // U+0130 is the one character whose lower case is two.
    map(
        scope,
        args,
        |c| if c == '\u{130}' { Ok('i') } else { Ok(one(c.to_lowercase()).unwrap_or(c)) },
    )
}

/// `upper(text)`: characters whose upper case would be several stay as they are.
pub(super) fn upper(scope: &Scope, args: &[Value]) -> Outcome {
    map(scope, args, |c| match one(c.to_uppercase()) {
        Some(upper) => Ok(upper),
        // These have a title case of one character besides.
        None if ('\u{1f80}'..='\u{1fff}').contains(&c) => {
            differs(format!("the upper case of `{c}` is more than one character"))
        }
        None => Ok(c),
    })
}

fn one(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

fn map(scope: &Scope, args: &[Value], case: impl Fn(char) -> Result<char, Fault>) -> Outcome {
    let text = string(args, 0)?;
    made(scope, text.chars().map(case).collect::<Result<_, _>>()?)
}

/// `substring(text, start, length)` takes whole numbers.
pub(super) fn substring_size(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    integer(args, 1)?;
    integer(args, 2)?;
    Ok(string(args, 0)?.len() as u64)
}

/// The bytes of a string that is about `FACTOR` times as long as the first argument.
pub(super) fn times<const FACTOR: u64>(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    Ok((string(args, 0)?.len() as u64).saturating_mul(FACTOR))
}

/// `trace(note)`: notes are not kept.
#[expect(clippy::unnecessary_wraps, reason = "the table's signature")]
pub(super) fn trace(_: &Scope, _: &[Value]) -> Outcome {
    Ok(Value::from(true))
}
