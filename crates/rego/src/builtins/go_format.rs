//! Go's `fmt`: its verbs, flags, widths and precisions.
//!
//! Used by `sprintf` and by templates, which give Go values of different types.

use std::borrow::Cow;

use num_bigint::{BigInt, Sign};

use super::{Code, Context, Error, Value};
use crate::value::go_float::format_float;
use crate::value::unicode::is_printable;
use crate::value::{Object, deeper, quote_with};

/// The limit on widths and precisions, as in Go; larger ones are ignored.
const MAX_WIDTH: usize = 1_000_000;

/// An argument, as a value of one of Go's types.
pub(super) enum Argument<'a> {
    /// An untyped `nil`.
    Nil,
    Bool(bool),
    Text(Cow<'a, str>),
    /// A `json.Number`, which is text.
    JsonNumber(Cow<'a, str>),
    Int(i64),
    Int64(i64),
    Big(BigInt),
    Float(f64),
    /// A list of JSON values.
    List(&'a [Value]),
    /// A map of JSON values.
    Map(&'a Object),
}

impl<'a> Argument<'a> {
    /// Returns the value as `encoding/json` decodes it with numbers kept as text.
    pub(super) fn from_json(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Nil,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::JsonNumber(number.text()),
            Value::String(text) => Self::Text((&**text).into()),
            Value::Array(items) => Self::List(items),
            Value::Object(object) => Self::Map(object),
            // JSON has no sets.
            Value::Set(_) => Self::Text(value.to_string().into()),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Text(_) => "string",
            Self::JsonNumber(_) => "json.Number",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Big(_) => "*big.Int",
            Self::Float(_) => "float64",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// Returns `true` if an operand of this type isn't separated from its neighbours by `print`.
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::JsonNumber(_))
    }
}

/// Formats arguments with Go's `Sprintf`.
///
/// # Errors
/// Returns an error if the text would be too long, or contain an address.
pub(super) fn printf(
    context: &dyn Context,
    format: &str,
    arguments: &[Argument<'_>],
) -> Result<String, Error> {
    let mut printer = Printer { context, arguments, next: 0, reordered: false, out: String::new() };
    printer.print(format)?;
    Ok(printer.out)
}

/// Formats arguments with Go's `Sprint`, which separates operands with a space if neither is text.
///
/// # Errors
/// Returns an error if the text would be too long.
pub(super) fn print(context: &dyn Context, arguments: &[Argument<'_>]) -> Result<String, Error> {
    joined(context, arguments, |before, next| !before.is_text() && !next.is_text())
}

/// Formats arguments with Go's `Sprintln`.
///
/// # Errors
/// Returns an error if the text would be too long.
pub(super) fn println(context: &dyn Context, arguments: &[Argument<'_>]) -> Result<String, Error> {
    Ok(joined(context, arguments, |_, _| true)? + "\n")
}

fn joined(
    context: &dyn Context,
    arguments: &[Argument<'_>],
    separated: impl Fn(&Argument<'_>, &Argument<'_>) -> bool,
) -> Result<String, Error> {
    let mut printer =
        Printer { context, arguments: &[], next: 0, reordered: false, out: String::new() };
    let mut before = None;
    for argument in arguments {
        if before.is_some_and(|before| separated(before, argument)) {
            printer.out.push(' ');
        }
        printer.argument('v', Flags::default(), argument)?;
        before = Some(argument);
    }
    Ok(printer.out)
}

#[derive(Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of a verb")]
struct Flags {
    plus: bool,
    minus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `%#v`, which quotes strings.
    sharp_v: bool,
    plus_v: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Flags {
    /// The text before a number.
    const fn sign(self, negative: bool) -> &'static str {
        if negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        }
    }
}

struct Printer<'a> {
    context: &'a dyn Context,
    arguments: &'a [Argument<'a>],
    next: usize,
    reordered: bool,
    out: String,
}

impl<'a> Printer<'a> {
    fn print(&mut self, format: &str) -> Result<(), Error> {
        let mut rest = format;
        while let Some((plain, after)) = rest.split_once('%') {
            self.out.push_str(plain);
            rest = self.directive(after)?;
        }
        self.out.push_str(rest);
        if !self.reordered && self.next < self.arguments.len() {
            self.out.push_str("%!(EXTRA ");
            for (i, argument) in self.arguments.iter().skip(self.next).enumerate() {
                if i > 0 {
                    self.out.push_str(", ");
                }
                if !matches!(argument, Argument::Nil) {
                    self.out.push_str(argument.type_name());
                    self.out.push('=');
                }
                self.argument('v', Flags::default(), argument)?;
            }
            self.out.push(')');
        }
        Ok(())
    }

    /// Formats one directive, starting after its `%`; returns what follows it.
    fn directive<'f>(&mut self, format: &'f str) -> Result<&'f str, Error> {
        let mut rest = format;
        let mut flags = Flags::default();
        while let Some(c) = rest.chars().next().filter(|c| "+-# 0".contains(*c)) {
            match c {
                '+' => flags.plus = true,
                '-' => flags.minus = true,
                '#' => flags.sharp = true,
                ' ' => flags.space = true,
                _ => flags.zero = true,
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        let mut good = true;
        let mut after_index = self.index(&mut rest, &mut good);
        if let Some(after) = rest.strip_prefix('*') {
            rest = after;
            match self.number() {
                Some(width) => {
                    if width < 0 {
                        flags.minus = true;
                        flags.zero = false;
                    }
                    flags.width = usize::try_from(width.unsigned_abs()).ok();
                }
                None => self.out.push_str("%!(BADWIDTH)"),
            }
            after_index = false;
        } else {
            flags.width = digits(&mut rest);
            good &= !(after_index && flags.width.is_some());
        }
        if rest.len() > 1
            && let Some(after) = rest.strip_prefix('.')
        {
            rest = after;
            good &= !after_index;
            after_index = self.index(&mut rest, &mut good);
            if let Some(after) = rest.strip_prefix('*') {
                rest = after;
                match self.number() {
                    Some(precision) if precision >= 0 => {
                        flags.precision = usize::try_from(precision).ok()
                    }
                    _ => self.out.push_str("%!(BADPREC)"),
                }
                after_index = false;
            } else {
                flags.precision = Some(digits(&mut rest).unwrap_or(0));
            }
        }
        if !after_index {
            self.index(&mut rest, &mut good);
        }
        let mut chars = rest.chars();
        let Some(verb) = chars.next() else {
            self.out.push_str("%!(NOVERB)");
            return Ok("");
        };
        let rest = chars.as_str();
        if verb == '%' {
            self.out.push('%');
        } else if !good {
            self.out.extend(["%!", verb.encode_utf8(&mut [0; 4]), "(BADINDEX)"]);
        } else if let Some(argument) = self.arguments.get(self.next) {
            if matches!(verb, 'v' | 'w') {
                (flags.sharp_v, flags.sharp) = (flags.sharp, false);
                (flags.plus_v, flags.plus) = (flags.plus, false);
            }
            self.next += 1;
            self.argument(verb, flags, argument)?;
        } else {
            self.out.extend(["%!", verb.encode_utf8(&mut [0; 4]), "(MISSING)"]);
        }
        Ok(rest)
    }

    /// Reads an explicit index, `[n]`; returns `true` if there was a readable one.
    fn index(&mut self, rest: &mut &str, good: &mut bool) -> bool {
        if !rest.starts_with('[') {
            return false;
        }
        self.reordered = true;
        let (text, after) = match rest.find(']') {
            Some(end) if rest.len() >= 3 => (rest.get(1..end), rest.get(end + 1..)),
            _ => (None, rest.get(1..)),
        };
        *rest = after.unwrap_or_default();
        let number = text.and_then(|mut text| {
            let number = digits(&mut text);
            if text.is_empty() { number } else { None }
        });
        match number.and_then(|number| number.checked_sub(1)) {
            Some(index) if index < self.arguments.len() => {
                self.next = index;
                true
            }
            _ => {
                *good = false;
                number.is_some()
            }
        }
    }

    /// Reads the next argument as a width or precision.
    fn number(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        match argument {
            Argument::Int(value) | Argument::Int64(value)
                if value.unsigned_abs() <= MAX_WIDTH as u64 =>
            {
                Some(*value)
            }
            _ => None,
        }
    }

    fn pad(&mut self, flags: Flags, text: &str) -> Result<(), Error> {
        let count = flags.width.map_or(0, |width| width.saturating_sub(text.chars().count()));
        self.context.charge(text.len().saturating_add(count) as u64)?;
        let fill = if flags.zero && !flags.minus { '0' } else { ' ' };
        let padding = std::iter::repeat_n(fill, count);
        if flags.minus {
            self.out.push_str(text);
            self.out.extend(padding);
        } else {
            self.out.extend(padding);
            self.out.push_str(text);
        }
        Ok(())
    }

    fn argument(&mut self, verb: char, flags: Flags, argument: &Argument<'_>) -> Result<(), Error> {
        if verb == 'T' {
            let text = truncated(argument.type_name(), flags.precision);
            return self.pad(flags, text);
        }
        match (argument, verb) {
            (Argument::List(_) | Argument::Map(_), 'p') => {
                // Nothing that a policy could rely on.
                Err(Error::halt(Code::Builtin, "the address of a value can't be formatted (`%p`)"))
            }
            (_, 'p') => self.bad_verb(verb, flags, argument),
            (Argument::Nil, 'v') => self.pad(flags, "<nil>"),
            (Argument::Bool(value), 'v' | 't') => {
                self.pad(flags, if *value { "true" } else { "false" })
            }
            (Argument::Text(text) | Argument::JsonNumber(text), 'v' | 's' | 'q' | 'x' | 'X') => {
                self.text(verb, flags, text)
            }
            (
                Argument::Int(value) | Argument::Int64(value),
                'v' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X' | 'c' | 'q' | 'U',
            ) => self.integer(verb, flags, *value),
            (Argument::Float(value), 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') => {
                self.float(verb, flags, *value)
            }
            (Argument::Big(value), 'v' | 's' | 'd' | 'b' | 'o' | 'O' | 'x' | 'X') => {
                self.big(verb, flags, value)
            }
            (Argument::Big(value), _) => {
                self.out.push_str(&format!("%!{verb}(big.Int={value})"));
                Ok(())
            }
            (Argument::List(items), _) => {
                self.open(flags, argument, "[");
                for (i, item) in items.iter().enumerate() {
                    self.separate(flags, i);
                    self.element(verb, flags, item)?;
                }
                self.out.push(if flags.sharp_v { '}' } else { ']' });
                Ok(())
            }
            (Argument::Map(map), _) => {
                self.open(flags, argument, "map[");
                for (i, (key, value)) in map.iter().enumerate() {
                    self.separate(flags, i);
                    self.element(verb, flags, key)?;
                    self.out.push(':');
                    self.element(verb, flags, value)?;
                }
                self.out.push(if flags.sharp_v { '}' } else { ']' });
                Ok(())
            }
            _ => self.bad_verb(verb, flags, argument),
        }
    }

    /// Begins a list or a map: as Go's source for `%#v`.
    fn open(&mut self, flags: Flags, argument: &Argument<'_>, bracket: &str) {
        if flags.sharp_v {
            self.out.extend([argument.type_name(), "{"]);
        } else {
            self.out.push_str(bracket);
        }
    }

    fn separate(&mut self, flags: Flags, position: usize) {
        if position > 0 {
            self.out.push_str(if flags.sharp_v { ", " } else { " " });
        }
    }

    /// Formats a value in a list or a map.
    fn element(&mut self, verb: char, flags: Flags, value: &Value) -> Result<(), Error> {
        self.context.charge(1)?;
        match Argument::from_json(value) {
            // A nil in an interface fits any verb, and isn't padded.
            Argument::Nil => {
                self.out.push_str(if flags.sharp_v { "interface {}(nil)" } else { "<nil>" });
                Ok(())
            }
            argument => deeper(|| self.argument(verb, flags, &argument)),
        }
    }

    /// Formats an argument that the verb doesn't support.
    fn bad_verb(&mut self, verb: char, flags: Flags, argument: &Argument<'_>) -> Result<(), Error> {
        if matches!(argument, Argument::Nil) {
            self.out.push_str(&format!("%!{verb}(<nil>)"));
            return Ok(());
        }
        self.out.push_str(&format!("%!{verb}({}=", argument.type_name()));
        self.argument('v', flags, argument)?;
        self.out.push(')');
        Ok(())
    }

    fn text(&mut self, verb: char, flags: Flags, text: &str) -> Result<(), Error> {
        let quoted = |text: &str, ascii: bool| {
            let mut out = String::new();
            // Writing to a string doesn't fail.
            let _ = quote_with(&mut out, text, '"', ascii);
            out
        };
        let short = truncated(text, flags.precision);
        match verb {
            'x' | 'X' => self.hexadecimal(verb, flags, text),
            'q' => {
                if flags.sharp && short.chars().all(can_be_backquoted) {
                    return self.pad(flags, &format!("`{short}`"));
                }
                self.pad(flags, &quoted(short, flags.plus))
            }
            'v' if flags.sharp_v => self.pad(flags, &quoted(short, flags.plus)),
            _ => self.pad(flags, short),
        }
    }

    fn hexadecimal(&mut self, verb: char, flags: Flags, text: &str) -> Result<(), Error> {
        let bytes = text.as_bytes();
        let bytes = bytes.get(..flags.precision.unwrap_or(bytes.len())).unwrap_or(bytes);
        self.context.charge((bytes.len() as u64).saturating_mul(5))?;
        let prefix = if verb == 'X' { "0X" } else { "0x" };
        let mut out = String::new();
        for (i, byte) in bytes.iter().enumerate() {
            if flags.space && i > 0 {
                out.push(' ');
            }
            if flags.sharp && (i == 0 || flags.space) {
                out.push_str(prefix);
            }
            out.push_str(&if verb == 'X' { format!("{byte:02X}") } else { format!("{byte:02x}") });
        }
        self.pad(flags, &out)
    }

    fn integer(&mut self, verb: char, flags: Flags, value: i64) -> Result<(), Error> {
        let code = u32::try_from(value).ok();
        let c = code.and_then(char::from_u32);
        match verb {
            'c' => {
                self.pad(flags, c.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut [0; 4]))
            }
            'q' => {
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                let mut out = String::new();
                // Writing to a string doesn't fail.
                let _ = quote_with(&mut out, c.encode_utf8(&mut [0; 4]), '\'', flags.plus);
                self.pad(flags, &out)
            }
            'U' => {
                let digits = flags.precision.unwrap_or(4).max(4);
                self.context.charge(digits as u64)?;
                let mut out = format!("U+{}", with_zeros(&format!("{value:X}"), digits));
                if flags.sharp
                    && let Some(c) = c.filter(|c| is_printable(*c))
                {
                    out.push_str(&format!(" '{c}'"));
                }
                self.pad(Flags { zero: false, ..flags }, &out)
            }
            _ => {
                let base = match verb {
                    'b' => 2,
                    'o' | 'O' => 8,
                    'x' | 'X' => 16,
                    _ => 10,
                };
                let digits = BigInt::from(value.unsigned_abs()).to_str_radix(base);
                self.digits(verb, flags, value < 0, &digits)
            }
        }
    }

    /// Writes the digits of an integer with sign and prefix, padded to the width.
    fn digits(
        &mut self,
        verb: char,
        flags: Flags,
        negative: bool,
        digits: &str,
    ) -> Result<(), Error> {
        let plain = Flags { zero: false, ..flags };
        if flags.precision == Some(0) && digits == "0" {
            return self.pad(plain, "");
        }
        let signed = negative || flags.plus || flags.space;
        let least = match (flags.precision, flags.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if flags.zero && !flags.minus => {
                width.saturating_sub(usize::from(signed))
            }
            _ => 0,
        };
        self.context.charge(least.saturating_add(digits.len()) as u64)?;
        let mut body = with_zeros(digits, least);
        if verb == 'X' {
            body = body.to_ascii_uppercase();
        }
        let prefix = match verb {
            'b' if flags.sharp => "0b",
            'o' | 'O' if flags.sharp && !body.starts_with('0') => "0",
            'x' if flags.sharp => "0x",
            'X' if flags.sharp => "0X",
            _ => "",
        };
        let octal = if verb == 'O' { "0o" } else { "" };
        let sign = flags.sign(negative);
        self.pad(plain, &format!("{sign}{octal}{prefix}{body}"))
    }

    fn big(&mut self, verb: char, flags: Flags, value: &BigInt) -> Result<(), Error> {
        let base = match verb {
            'b' => 2,
            'o' | 'O' => 8,
            'x' | 'X' => 16,
            _ => 10,
        };
        let mut digits = value.magnitude().to_str_radix(base);
        if verb == 'X' {
            digits = digits.to_ascii_uppercase();
        }
        let sign = if value.sign() == Sign::Minus {
            "-"
        } else if flags.plus || flags.plus_v {
            "+"
        } else if flags.space {
            " "
        } else {
            ""
        };
        let prefix = match verb {
            'O' => "0o",
            'b' if flags.sharp => "0b",
            'o' if flags.sharp => "0",
            'x' if flags.sharp => "0x",
            'X' if flags.sharp => "0X",
            _ => "",
        };
        let mut zeros =
            flags.precision.map_or(0, |precision| precision.saturating_sub(digits.len()));
        let length = sign.len() + prefix.len() + zeros + digits.len();
        let missing = flags.width.map_or(0, |width| width.saturating_sub(length));
        if !flags.minus && flags.zero && flags.precision.is_none() {
            zeros += missing;
        }
        self.context.charge(length.saturating_add(missing) as u64)?;
        let zeros = "0".repeat(zeros);
        self.pad(Flags { zero: false, ..flags }, &format!("{sign}{prefix}{zeros}{digits}"))
    }

    fn float(&mut self, verb: char, flags: Flags, value: f64) -> Result<(), Error> {
        let (format, default) = match verb {
            'v' => ('g', None),
            'F' => ('f', Some(6)),
            'f' | 'e' | 'E' => (verb, Some(6)),
            other => (other, None),
        };
        let precision = flags.precision.or(default);
        self.context.charge(precision.unwrap_or(0).saturating_add(400) as u64)?;
        let text = format_float(value, format, precision);
        let (negative, text) = text.strip_prefix('-').map_or((false, &*text), |rest| (true, rest));
        let mut text = text.to_owned();
        if flags.sharp && format != 'b' {
            text = with_point(&text, format, flags.precision.or(default));
        }
        let sign = flags.sign(negative);
        if !sign.is_empty() && flags.zero && !flags.minus {
            // The sign precedes the zeros.
            self.out.push_str(sign);
            let width = flags.width.map(|width| width.saturating_sub(1));
            return self.pad(Flags { width, ..flags }, &text);
        }
        self.pad(flags, &format!("{sign}{text}"))
    }
}

/// Implements the `#` flag for floats: always a decimal point, and trailing zeros.
fn with_point(text: &str, format: char, precision: Option<usize>) -> String {
    let mut digits = match format {
        'g' | 'G' | 'x' => {
            precision.map_or(6, |precision| i64::try_from(precision).unwrap_or(i64::MAX))
        }
        _ => 0,
    };
    let exponent = match format {
        'x' | 'X' => text.find(['p', 'P']),
        _ => text.find(['e', 'E', 'p', 'P']),
    };
    let (number, tail) = text.split_at(exponent.unwrap_or(text.len()));
    let mut number = number.to_owned();
    let mut seen = false;
    for c in number.chars().filter(|c| *c != '.') {
        seen |= c != '0';
        digits -= i64::from(seen);
    }
    if !number.contains('.') {
        if number == "0" {
            digits -= 1;
        }
        number.push('.');
    }
    (0..digits).for_each(|_| number.push('0'));
    number + tail
}

/// Reads leading digits as a number. Returns `None` without digits, and consumes everything if the
/// number is too large.
fn digits(rest: &mut &str) -> Option<usize> {
    let mut number: Option<usize> = None;
    while let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(10)) {
        let before = number.unwrap_or(0);
        if before > MAX_WIDTH {
            *rest = "";
            return None;
        }
        number = Some(before * 10 + digit as usize);
        *rest = rest.get(1..).unwrap_or_default();
    }
    number
}

/// Truncates to `precision` characters.
fn truncated(text: &str, precision: Option<usize>) -> &str {
    match precision.and_then(|precision| text.char_indices().nth(precision)) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

fn can_be_backquoted(c: char) -> bool {
    !(c < ' ' && c != '\t' || matches!(c, '`' | '\u{7f}' | '\u{feff}'))
}

/// Pads digits with zeros to a length of `least`, which may exceed the largest width of `format!`.
fn with_zeros(digits: &str, least: usize) -> String {
    format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())))
}
