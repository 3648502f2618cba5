//! `sprintf`, with the verbs, flags, widths and precisions of Go's `fmt`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use regorus::Value;

use super::arguments::{array, string};
use super::{Fault, Outcome, Scope, differs, native, size};

#[path = "format_float.rs"]
mod float;

/// Widths and precisions up to this are written, as in Go; larger ones are no widths there.
const WIDEST: usize = 1_000_000;

/// An argument as OPA hands it to Go: a string, an integer, a float, or the text of the rest.
enum Argument<'v> {
    Text(Cow<'v, str>),
    /// An integer's digits, and whether it needs more than 64 bits.
    Integer(String, bool),
    Float(f64),
}

#[derive(Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of a verb")]
struct Flags {
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// `sprintf(format, values)`.
pub(super) fn sprintf(scope: &Scope, args: &[Value]) -> Outcome {
    let format = string(args, 0)?;
    let given = array(args, 1)?;
    let mut values = Vec::with_capacity(given.len());
    for value in given.iter() {
        size::string(scope, size::written(scope, value)?)?;
        values.push(argument(scope, value)?);
    }
    let texts = values.iter().map(|value| match value {
        Argument::Text(text) => text.len(),
        Argument::Integer(digits, _) => digits.len(),
        Argument::Float(_) => 0,
    });
    let out = String::with_capacity(texts.sum::<usize>() + format.len());
    let mut printer = Printer { scope, values: &values, next: 0, reordered: false, out };
    let mut rest = &**format;
    while let Some((plain, after)) = rest.split_once('%') {
        printer.out.push_str(plain);
        rest = after;
        if !printer.plain_verb(&mut rest) {
            let mut chars = rest.chars().peekable();
            printer.verb(&mut chars)?;
            let left: usize = chars.map(char::len_utf8).sum();
            rest = rest.get(rest.len() - left..).unwrap_or_default();
        }
    }
    printer.out.push_str(rest);
    printer.extra();
    size::string(scope, printer.out.len() as u64)?;
    Ok(Value::from(printer.out))
}

fn argument<'v>(scope: &Scope, value: &'v Value) -> Result<Argument<'v>, Fault> {
    Ok(match value {
        Value::String(text) => Argument::Text(Cow::Borrowed(text)),
        Value::Number(number) if number.as_i64().is_some() => {
            Argument::Integer(number.format_decimal(), false)
        }
        Value::Number(number) => match number.as_big() {
            Some(_) => Argument::Integer(number.format_decimal(), true),
            None => Argument::Float(number.as_f64().unwrap_or(f64::INFINITY)),
        },
        other => {
            let mut text = String::new();
            shown(scope, other, &mut text)?;
            Argument::Text(Cow::Owned(text))
        }
    })
}

/// The text of a value as Rego writes it.
fn shown(scope: &Scope, value: &Value, out: &mut String) -> Result<(), Fault> {
    let list = |members: Vec<&Value>, out: &mut String| {
        for (index, member) in members.into_iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            shown(scope, member, out)?;
        }
        Ok::<(), Fault>(())
    };
    match value {
        Value::String(text) => out.push_str(&quoted(scope, text)?),
        Value::Array(array) => {
            out.push('[');
            list(array.iter().collect(), out)?;
            out.push(']');
        }
        Value::Set(set) if set.is_empty() => out.push_str("set()"),
        Value::Set(set) => {
            out.push('{');
            list(set.iter_sorted().collect(), out)?;
            out.push('}');
        }
        Value::Object(object) => {
            out.push('{');
            for (index, (key, member)) in object.iter_sorted().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                shown(scope, key, out)?;
                out.push_str(": ");
                shown(scope, member, out)?;
            }
            out.push('}');
        }
        Value::Number(number) => out.push_str(&number.format_decimal()),
        Value::Null => out.push_str("null"),
        Value::Bool(is) => {
            let _ = write!(out, "{is}");
        }
        Value::Undefined => {}
    }
    Ok(())
}

/// `text` in double quotes, as Go quotes it.
fn quoted(scope: &Scope, text: &str) -> Result<String, Fault> {
    let values = Value::from(vec![Value::from(text)]);
    match native::call(scope, "sprintf", &[Value::from("%q"), values])? {
        Value::String(text) => Ok(text.to_string()),
        _ => Err(Fault::Undefined),
    }
}

struct Printer<'a> {
    scope: &'a Scope,
    values: &'a [Argument<'a>],
    next: usize,
    reordered: bool,
    out: String,
}

impl Printer<'_> {
    /// The verbs of most formats, a letter alone: whether this was one.
    fn plain_verb(&mut self, rest: &mut &str) -> bool {
        let text = match (rest.as_bytes().first(), self.values.get(self.next)) {
            (Some(b's' | b'v'), Some(Argument::Text(text))) => &**text,
            (Some(b'd' | b'v'), Some(Argument::Integer(digits, _))) => digits.as_str(),
            _ => return false,
        };
        if self.out.len() as u64 > self.scope.bounds().string {
            return false;
        }
        self.out.push_str(text);
        self.next += 1;
        *rest = rest.get(1..).unwrap_or_default();
        true
    }

    /// What follows a `%`.
    fn verb(&mut self, rest: &mut Peekable<Chars<'_>>) -> Result<(), Fault> {
        if self.out.len() as u64 > self.scope.bounds().string {
            size::string(self.scope, self.out.len() as u64)?;
        }
        let mut flags = Flags::default();
        while let Some(c) = rest.next_if(|c| "+-# 0".contains(*c)) {
            match c {
                '+' => flags.plus = true,
                '-' => flags.minus = true,
                '#' => flags.sharp = true,
                ' ' => flags.space = true,
                _ => flags.zero = true,
            }
        }
        let mut good = self.index(rest);
        flags.width = self.number(rest, &mut flags.minus)?;
        if rest.next_if_eq(&'.').is_some() {
            good &= self.index(rest);
            let mut negative = false;
            let precision = self.number(rest, &mut negative)?;
            flags.precision = if negative { None } else { Some(precision.unwrap_or(0)) };
        }
        good &= self.index(rest);
        if flags.minus {
            flags.zero = false;
        }
        let Some(verb) = rest.next() else {
            self.out.push_str("%!(NOVERB)");
            return Ok(());
        };
        if verb == '%' {
            self.out.push('%');
            return Ok(());
        }
        if !good {
            let _ = write!(self.out, "%!{verb}(BADINDEX)");
            return Ok(());
        }
        let Some(value) = self.values.get(self.next) else {
            let _ = write!(self.out, "%!{verb}(MISSING)");
            return Ok(());
        };
        self.next += 1;
        // Under `v` a plus asks for names of fields, not for a sign.
        flags.plus &= verb != 'v';
        self.print(verb, flags, value)
    }

    /// A width or precision: digits, or `*` for the next argument.
    fn number(
        &mut self,
        rest: &mut Peekable<Chars<'_>>,
        negative: &mut bool,
    ) -> Result<Option<usize>, Fault> {
        if rest.next_if_eq(&'*').is_some() {
            let Some(Argument::Integer(digits, _)) = self.values.get(self.next) else {
                return differs("`*` without a whole number for it");
            };
            self.next += 1;
            let Ok(n) = digits.parse::<i64>() else {
                return differs("`*` with a number that is too large");
            };
            *negative |= n < 0;
            return self.wide(usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)).map(Some);
        }
        let mut digits = String::new();
        while let Some(c) = rest.next_if(char::is_ascii_digit) {
            digits.push(c);
        }
        if digits.is_empty() {
            return Ok(None);
        }
        self.wide(digits.parse().unwrap_or(usize::MAX)).map(Some)
    }

    fn wide(&self, n: usize) -> Result<usize, Fault> {
        if n > WIDEST {
            return size::too_large(format!("a width of {n}, the limit is {WIDEST}"));
        }
        size::bytes(self.scope, n as u64)?;
        Ok(n)
    }

    /// An explicit index, `[n]`; whether it is one of an argument.
    fn index(&mut self, rest: &mut Peekable<Chars<'_>>) -> bool {
        if rest.next_if_eq(&'[').is_none() {
            return true;
        }
        self.reordered = true;
        let mut digits = String::new();
        loop {
            match rest.next() {
                Some(']') => break,
                Some(c) => digits.push(c),
                None => return false,
            }
        }
        match digits.parse::<usize>() {
            Ok(n) if n >= 1 && n <= self.values.len() => {
                self.next = n - 1;
                true
            }
            _ => false,
        }
    }

    /// Arguments that no verb asked for.
    fn extra(&mut self) {
        if self.reordered || self.next >= self.values.len() {
            return;
        }
        let extra = self.values.get(self.next..).unwrap_or_default();
        let shown: Vec<_> = extra.iter().map(|value| named(value, Flags::default())).collect();
        let _ = write!(self.out, "%!(EXTRA {})", shown.join(", "));
    }

    fn print(&mut self, verb: char, flags: Flags, value: &Argument<'_>) -> Result<(), Fault> {
        let text = match (verb, value) {
            ('T', value) => Some(pad(flags, type_of(value).to_owned())),
            ('p' | 'w', _) => None,
            (_, Argument::Text(text)) => self.text(verb, flags, text)?,
            (_, Argument::Integer(digits, big)) => integer(self.scope, verb, flags, digits, *big)?,
            (_, Argument::Float(number)) => match verb {
                'b' | 'x' | 'X' => return differs("the bits of a floating-point number"),
                _ => float::text(verb, flags, *number).map(|text| signed(flags, text)),
            },
        };
        match text {
            Some(text) => self.out.push_str(&text),
            None => {
                let _ = write!(self.out, "%!{verb}({})", named(value, flags));
            }
        }
        Ok(())
    }

    fn text(&self, verb: char, flags: Flags, text: &str) -> Result<Option<String>, Fault> {
        let cut: String = match flags.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text.to_owned(),
        };
        Ok(Some(match verb {
            'v' if flags.sharp => pad(flags, quoted(self.scope, text)?),
            's' | 'v' => pad(flags, cut),
            'q' if flags.sharp
                && !cut.chars().any(|c| c == '`' || (c.is_control() && c != '\t')) =>
            {
                pad(flags, format!("`{cut}`"))
            }
            'q' if flags.plus && !cut.is_ascii() => {
                return differs("`%+q` of characters beyond ASCII");
            }
            'q' => pad(flags, quoted(self.scope, &cut)?),
            'x' | 'X' => pad(flags, hexadecimal(verb, flags, text)),
            _ => return Ok(None),
        }))
    }
}

fn hexadecimal(verb: char, flags: Flags, text: &str) -> String {
    let bytes = text.as_bytes();
    let bytes = bytes.get(..flags.precision.unwrap_or(bytes.len())).unwrap_or(bytes);
    let mut out = String::new();
    let prefix = if flags.sharp { "0x" } else { "" };
    for (index, byte) in bytes.iter().enumerate() {
        if flags.space && index > 0 {
            out.push(' ');
        }
        if index == 0 || flags.space {
            out.push_str(prefix);
        }
        let _ = write!(out, "{byte:02x}");
    }
    if verb == 'X' { out.to_uppercase() } else { out }
}

fn type_of(value: &Argument<'_>) -> &'static str {
    match value {
        Argument::Text(_) => "string",
        Argument::Integer(_, false) => "int",
        Argument::Integer(_, true) => "*big.Int",
        Argument::Float(_) => "float64",
    }
}

/// `type=value`, as Go shows an argument that a verb can't take.
fn named(value: &Argument<'_>, flags: Flags) -> String {
    let text = match value {
        Argument::Text(text) => {
            let cut = flags.precision.unwrap_or(usize::MAX);
            pad(flags, text.chars().take(cut).collect())
        }
        Argument::Integer(digits, _) => {
            let (sign, digits) =
                digits.strip_prefix('-').map_or(("", &**digits), |rest| ("-", rest));
            numeric(flags, sign, "", digits)
        }
        Argument::Float(number) => {
            signed(flags, float::text('v', flags, *number).unwrap_or_default())
        }
    };
    format!("{}={text}", type_of(value))
}

/// An integer under an integer's verb.
fn integer(
    scope: &Scope,
    verb: char,
    flags: Flags,
    digits: &str,
    big: bool,
) -> Result<Option<String>, Fault> {
    let (sign, plain) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let base = match verb {
        'v' | 'd' => return Ok(Some(numeric(flags, sign, "", plain))),
        's' if big => return Ok(Some(numeric(flags, sign, "", plain))),
        'b' => 2,
        'o' | 'O' => 8,
        'x' | 'X' => 16,
        'c' | 'q' | 'U' if !big => {
            return character(verb, flags, digits).map_or_else(
                || differs(format!("`%{verb}` of this number")),
                |text| Ok(Some(text)),
            );
        }
        _ => return Ok(None),
    };
    let number = Value::from_numeric_string(plain).map_err(|_| Fault::Undefined)?;
    let Value::String(text) = native::call(scope, "format_int", &[number, Value::from(base)])?
    else {
        return Err(Fault::Undefined);
    };
    let (prefix, text) = match verb {
        'b' => (if flags.sharp { "0b" } else { "" }, text.to_string()),
        'o' => (if flags.sharp && !text.starts_with('0') { "0" } else { "" }, text.to_string()),
        'O' => ("0o", text.to_string()),
        'x' => (if flags.sharp { "0x" } else { "" }, text.to_string()),
        _ => (if flags.sharp { "0X" } else { "" }, text.to_uppercase()),
    };
    Ok(Some(numeric(flags, sign, prefix, &text)))
}

fn character(verb: char, flags: Flags, digits: &str) -> Option<String> {
    let code = digits.parse::<u32>().ok();
    let c = code.and_then(char::from_u32).unwrap_or('\u{fffd}');
    match verb {
        'c' => Some(pad(flags, c.to_string())),
        'q' if c.is_ascii_graphic() && c != '\'' && c != '\\' => Some(pad(flags, format!("'{c}'"))),
        'U' if !flags.sharp && flags.precision.is_none() => {
            Some(pad(flags, format!("U+{:04X}", code?)))
        }
        _ => None,
    }
}

/// An integer's digits with its sign, prefix, precision and width.
fn numeric(flags: Flags, sign: &str, prefix: &str, digits: &str) -> String {
    let sign = match sign {
        "" if flags.plus => "+",
        "" if flags.space => " ",
        sign => sign,
    };
    let mut digits =
        if flags.precision == Some(0) && digits == "0" { "" } else { digits }.to_owned();
    let least = match (flags.precision, flags.width) {
        (Some(precision), _) => precision,
        (None, Some(width)) if flags.zero => width.saturating_sub(sign.len()),
        _ => 0,
    };
    if digits.len() < least {
        digits = "0".repeat(least - digits.len()) + &digits;
    }
    let no_zeros = Flags { zero: false, ..flags };
    pad(no_zeros, format!("{sign}{prefix}{digits}"))
}

/// A float's text with its sign and width.
fn signed(flags: Flags, text: String) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None if flags.plus => ("+", &*text),
        None if flags.space => (" ", &*text),
        None => ("", &*text),
    };
    let width = flags.width.unwrap_or(0);
    if flags.zero && digits.len() + sign.len() < width {
        let zeros = "0".repeat(width - digits.len() - sign.len());
        return format!("{sign}{zeros}{digits}");
    }
    pad(Flags { zero: false, ..flags }, format!("{sign}{digits}"))
}

fn pad(flags: Flags, text: String) -> String {
    let has = text.chars().count();
    let Some(missing) = flags.width.and_then(|width| width.checked_sub(has)) else { return text };
    if flags.minus {
        text + &" ".repeat(missing)
    } else if flags.zero {
        "0".repeat(missing) + &text
    } else {
        " ".repeat(missing) + &text
    }
}
