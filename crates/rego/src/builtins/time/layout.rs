//! Time layouts in Go's notation, which shows how 2006-01-02 15:04:05 in MST is written.

use super::Time;
use super::calendar::{self, MONTHS, WEEKDAYS, days_in_month, is_leap};
use crate::builtins::Error;
use crate::value::lossy;

/// An element of a layout that stands for a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    /// An offset: `Z` if it is zero, with or without colons, down to a unit.
    Offset {
        z: bool,
        colons: bool,
        to: OffsetUnit,
    },
    /// Fractions of a second: the number of digits, the mark in front, and whether trailing zeros
    /// are kept.
    Fraction {
        digits: usize,
        mark: u8,
        zeros: bool,
    },
}

/// The smallest unit in an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffsetUnit {
    Hours,
    Minutes,
    Seconds,
}

/// Offsets in the order in which Go looks for them, longer ones before their prefixes.
const OFFSETS: &[(&[u8], bool, OffsetUnit)] = &[
    (b"070000", false, OffsetUnit::Seconds),
    (b"07:00:00", true, OffsetUnit::Seconds),
    (b"0700", false, OffsetUnit::Minutes),
    (b"07:00", true, OffsetUnit::Minutes),
    (b"07", false, OffsetUnit::Hours),
];

fn starts_with_lower(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase)
}

/// Returns the element at the start of a layout, and its length.
fn element_at(layout: &[u8]) -> Option<(Element, usize)> {
    let after = |length: usize| layout.get(length..).unwrap_or_default();
    let is = |text: &str| layout.starts_with(text.as_bytes());
    Some(match layout.first()? {
        b'J' if is("January") => (Element::LongMonth, 7),
        b'J' if is("Jan") && !starts_with_lower(after(3)) => (Element::Month, 3),
        b'M' if is("Monday") => (Element::LongWeekday, 6),
        b'M' if is("Mon") && !starts_with_lower(after(3)) => (Element::Weekday, 3),
        b'M' if is("MST") => (Element::ZoneName, 3),
        b'0' if is("01") => (Element::ZeroMonth, 2),
        b'0' if is("02") => (Element::ZeroDay, 2),
        b'0' if is("03") => (Element::ZeroHour12, 2),
        b'0' if is("04") => (Element::ZeroMinute, 2),
        b'0' if is("05") => (Element::ZeroSecond, 2),
        b'0' if is("06") => (Element::Year, 2),
        b'0' if is("002") => (Element::ZeroYearDay, 3),
        b'1' if is("15") => (Element::Hour, 2),
        b'1' => (Element::NumMonth, 1),
        b'2' if is("2006") => (Element::LongYear, 4),
        b'2' => (Element::Day, 1),
        // `_2006` is an underscore and a year.
        b'_' if is("_2") && !is("_2006") => (Element::UnderDay, 2),
        b'_' if is("__2") => (Element::UnderYearDay, 3),
        b'3' => (Element::Hour12, 1),
        b'4' => (Element::Minute, 1),
        b'5' => (Element::Second, 1),
        b'P' if is("PM") => (Element::UpperPm, 2),
        b'p' if is("pm") => (Element::LowerPm, 2),
        sign @ (b'-' | b'Z') => {
            let rest = after(1);
            let (text, colons, to) = OFFSETS.iter().find(|(text, ..)| rest.starts_with(text))?;
            (Element::Offset { z: *sign == b'Z', colons: *colons, to: *to }, text.len() + 1)
        }
        mark @ (b'.' | b',') => {
            let rest = after(1);
            let first = *rest.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
            let digits = rest.iter().take_while(|digit| **digit == first).count();
            if rest.get(digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            (Element::Fraction { digits, mark: *mark, zeros: first == b'0' }, digits + 1)
        }
        _ => return None,
    })
}

/// Returns the text before the first element of a layout, that element with its text, and the rest.
fn next(layout: &[u8]) -> (&[u8], Option<(Element, &[u8])>, &[u8]) {
    for at in 0..layout.len() {
        let (before, rest) = layout.split_at(at);
        // In `_2006`, the year is an element of its own.
        if let Some((element, length)) = element_at(rest) {
            let (text, after) = rest.split_at(length);
            return (before, Some((element, text)), after);
        }
    }
    (layout, None, &[])
}

pub(super) fn format(time: &Time, layout: &str) -> String {
    let civil = time.civil();
    let mut out: Vec<u8> = Vec::new();
    let mut rest = layout.as_bytes();
    while !rest.is_empty() {
        let (before, element, after) = next(rest);
        out.extend_from_slice(before);
        rest = after;
        let Some((element, _)) = element else { break };
        let hour12 = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
        let text = match element {
            Element::Year => format!("{:02}", civil.year.abs() % 100),
            Element::LongYear if civil.year < 0 => format!("-{:04}", -civil.year),
            Element::LongYear => format!("{:04}", civil.year),
            Element::Month => civil.month_name().chars().take(3).collect(),
            Element::LongMonth => civil.month_name().to_owned(),
            Element::NumMonth => civil.month.to_string(),
            Element::ZeroMonth => format!("{:02}", civil.month),
            Element::Weekday => civil.weekday().chars().take(3).collect(),
            Element::LongWeekday => civil.weekday().to_owned(),
            Element::Day => civil.day.to_string(),
            Element::UnderDay => format!("{:2}", civil.day),
            Element::ZeroDay => format!("{:02}", civil.day),
            Element::UnderYearDay => format!("{:3}", civil.year_day()),
            Element::ZeroYearDay => format!("{:03}", civil.year_day()),
            Element::Hour => format!("{:02}", civil.hour),
            Element::Hour12 => hour12.to_string(),
            Element::ZeroHour12 => format!("{hour12:02}"),
            Element::Minute => civil.minute.to_string(),
            Element::ZeroMinute => format!("{:02}", civil.minute),
            Element::Second => civil.second.to_string(),
            Element::ZeroSecond => format!("{:02}", civil.second),
            Element::UpperPm => if civil.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Element::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Element::ZoneName => time.zone.name(time.seconds),
            Element::Offset { z, colons, to } => match time.zone.offset(time.seconds) {
                0 if z => "Z".to_owned(),
                offset => offset_text(offset, colons, to),
            },
            Element::Fraction { digits, mark, zeros } => {
                fraction_text(time.nanos, digits, mark, zeros)
            }
        };
        out.extend_from_slice(text.as_bytes());
    }
    lossy(&out)
}

/// Formats an offset, such as `+02:00`.
fn offset_text(offset: i64, colons: bool, to: OffsetUnit) -> String {
    // The sign is the sign of the minutes.
    let minutes = offset / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let seconds = if minutes < 0 { -offset } else { offset } % 60;
    let minutes = minutes.abs();
    let colon = if colons { ":" } else { "" };
    let mut out = format!("{sign}{:02}", minutes / 60);
    if to != OffsetUnit::Hours {
        out.push_str(&format!("{colon}{:02}", minutes % 60));
    }
    if to == OffsetUnit::Seconds {
        out.push_str(&format!("{colon}{seconds:02}"));
    }
    out
}

fn fraction_text(nanos: u32, digits: usize, mark: u8, zeros: bool) -> String {
    let text = format!("{nanos:09}");
    let mut text = text.get(..digits.min(9)).unwrap_or_default();
    if !zeros {
        text = text.trim_end_matches('0');
        if text.is_empty() {
            return String::new();
        }
    }
    format!("{}{text}", char::from(mark))
}

/// Quotes text as Go's `time` does in errors.
pub(super) fn quoted(text: &str) -> String {
    quoted_bytes(text.as_bytes())
}

fn quoted_bytes(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=0x7f => out.push(char::from(byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// The reasons why a field can't be parsed.
enum FieldError {
    /// The field doesn't match the layout.
    Mismatch,
    /// The value is out of range.
    OutOfRange(&'static str),
}

/// The fields that have been parsed so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    am: bool,
    pm: bool,
    /// `true` if the text names UTC.
    utc: bool,
    offset: Option<i64>,
}

/// Reads one or two digits; exactly two if `fixed`.
fn number(text: &mut &[u8], fixed: bool) -> Result<i64, FieldError> {
    digits(text, 2, if fixed { 2 } else { 1 })
}

/// Reads at most `most` digits, and at least `least`.
fn digits(text: &mut &[u8], most: usize, least: usize) -> Result<i64, FieldError> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if count < least {
        return Err(FieldError::Mismatch);
    }
    let (figures, rest) = text.split_at(count);
    *text = rest;
    Ok(figures.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// Parses an optional sign and digits, which must be all of `text`.
fn signed(text: &[u8]) -> Result<i64, FieldError> {
    let (negative, mut figures) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let value = digits(&mut figures, 18, 0)?;
    if !figures.is_empty() {
        return Err(FieldError::Mismatch);
    }
    Ok(if negative { -value } else { value })
}

fn take<'a>(text: &mut &'a [u8], count: usize) -> Result<&'a [u8], FieldError> {
    let (taken, rest) = text.split_at_checked(count).ok_or(FieldError::Mismatch)?;
    *text = rest;
    Ok(taken)
}

/// Finds the name that a text starts with, ignoring case; only the first `length` letters of a name
/// count.
fn lookup(text: &mut &[u8], names: &[&str], length: usize) -> Result<i64, FieldError> {
    for (index, name) in names.iter().enumerate() {
        let name = name.as_bytes().get(..length).unwrap_or(name.as_bytes());
        if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            take(text, name.len())?;
            return Ok(i64::try_from(index).unwrap_or_default());
        }
    }
    Err(FieldError::Mismatch)
}

/// Reads a mark and `count - 1` digits as nanoseconds; digits beyond nine are dropped.
fn nanoseconds(text: &mut &[u8], count: usize) -> Result<u32, FieldError> {
    let field = take(text, count)?;
    let Some((b'.' | b',', figures)) = field.split_first() else {
        return Err(FieldError::Mismatch);
    };
    let figures = figures.get(..9).unwrap_or(figures);
    let value = signed(figures)?;
    if value < 0 {
        return Err(FieldError::OutOfRange("fractional second"));
    }
    let scale = 10_i64.pow(u32::try_from(9 - figures.len().min(9)).unwrap_or_default());
    u32::try_from(value * scale).map_err(|_| FieldError::Mismatch)
}

/// Returns the length of a zone's name at the start of a text.
fn zone_name(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix(b"GMT") {
        return Some(3 + signed_offset(rest));
    }
    if let Some(b'+' | b'-') = text.first() {
        return Some(signed_offset(text)).filter(|length| *length > 0);
    }
    let upper = text.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
    match upper {
        5 if text.get(4) == Some(&b'T') => Some(5),
        4 if text.get(3) == Some(&b'T') || text.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

/// Returns the length of an offset in hours at the start of a text; 0 if there is none.
fn signed_offset(text: &[u8]) -> usize {
    let Some((b'+' | b'-', mut rest)) = text.split_first() else { return 0 };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let small = digits(&mut rest, 18, 1).is_ok_and(|hours| hours <= 23);
    if small && length <= 18 { length + 1 } else { 0 }
}

impl Fields {
    /// Parses one element.
    fn read(
        &mut self,
        element: Element,
        text: &mut &[u8],
        layout: &[u8],
    ) -> Result<(), FieldError> {
        let range = |value: i64, good: bool, what: &'static str| {
            if good { Ok(value) } else { Err(FieldError::OutOfRange(what)) }
        };
        match element {
            Element::Year => {
                let year = signed(take(text, 2)?)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Element::LongYear => {
                if !text.first().is_some_and(u8::is_ascii_digit) {
                    return Err(FieldError::Mismatch);
                }
                self.year = signed(take(text, 4)?)?;
            }
            Element::Month => self.month = Some(lookup(text, &MONTHS, 3)? + 1),
            Element::LongMonth => self.month = Some(lookup(text, &MONTHS, usize::MAX)? + 1),
            Element::NumMonth | Element::ZeroMonth => {
                let month = number(text, element == Element::ZeroMonth)?;
                self.month = Some(range(month, (1..=12).contains(&month), "month")?);
            }
            Element::Weekday => {
                lookup(text, &WEEKDAYS, 3)?;
            }
            Element::LongWeekday => {
                lookup(text, &WEEKDAYS, usize::MAX)?;
            }
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                if element == Element::UnderDay && text.first() == Some(&b' ') {
                    take(text, 1)?;
                }
                self.day = Some(number(text, element == Element::ZeroDay)?);
            }
            Element::UnderYearDay | Element::ZeroYearDay => {
                let fixed = element == Element::ZeroYearDay;
                for _ in 0..2 {
                    if !fixed && text.first() == Some(&b' ') {
                        take(text, 1)?;
                    }
                }
                self.year_day = Some(digits(text, 3, if fixed { 3 } else { 1 })?);
            }
            Element::Hour => {
                let hour = number(text, false)?;
                self.hour = range(hour, hour < 24, "hour")?;
            }
            Element::Hour12 | Element::ZeroHour12 => {
                let hour = number(text, element == Element::ZeroHour12)?;
                self.hour = range(hour, hour <= 12, "hour")?;
            }
            Element::Minute | Element::ZeroMinute => {
                let minute = number(text, element == Element::ZeroMinute)?;
                self.minute = range(minute, minute < 60, "minute")?;
            }
            Element::Second | Element::ZeroSecond => {
                let second = number(text, element == Element::ZeroSecond)?;
                self.second = range(second, second < 60, "second")?;
                // A fraction may follow even if the layout has none.
                if !matches!(next(layout).1, Some((Element::Fraction { .. }, _))) {
                    self.optional_fraction(text)?;
                }
            }
            Element::UpperPm | Element::LowerPm => match (element, take(text, 2)?) {
                (Element::UpperPm, b"PM") | (Element::LowerPm, b"pm") => self.pm = true,
                (Element::UpperPm, b"AM") | (Element::LowerPm, b"am") => self.am = true,
                _ => return Err(FieldError::Mismatch),
            },
            Element::Offset { z: true, .. } if text.first() == Some(&b'Z') => {
                take(text, 1)?;
                self.utc = true;
            }
            Element::Offset { colons, to, .. } => self.offset(text, colons, to)?,
            Element::ZoneName => {
                if text.starts_with(b"UTC") {
                    take(text, 3)?;
                    self.utc = true;
                } else {
                    let length = zone_name(text).ok_or(FieldError::Mismatch)?;
                    // As in OPA, zones other than UTC have no offset here.
                    take(text, length)?;
                }
            }
            Element::Fraction { digits, zeros: true, .. } => {
                self.nanos = nanoseconds(text, digits + 1)?
            }
            Element::Fraction { .. } => self.optional_fraction(text)?,
        }
        Ok(())
    }

    /// Parses a fraction of a second, if one follows.
    fn optional_fraction(&mut self, text: &mut &[u8]) -> Result<(), FieldError> {
        if let [b'.' | b',', figures @ ..] = *text {
            let count = figures.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if count > 0 {
                self.nanos = nanoseconds(text, count + 1)?;
            }
        }
        Ok(())
    }

    fn offset(&mut self, text: &mut &[u8], colons: bool, to: OffsetUnit) -> Result<(), FieldError> {
        let length = match (to, colons) {
            (OffsetUnit::Hours, _) => 3,
            (OffsetUnit::Minutes, false) => 5,
            (OffsetUnit::Minutes, true) => 6,
            (OffsetUnit::Seconds, false) => 7,
            (OffsetUnit::Seconds, true) => 9,
        };
        let field = take(text, length)?;
        let (sign, mut rest) = field.split_first().ok_or(FieldError::Mismatch)?;
        let mut numbers = [0; 3];
        let count = match to {
            OffsetUnit::Hours => 1,
            OffsetUnit::Minutes => 2,
            OffsetUnit::Seconds => 3,
        };
        for (index, value) in numbers.iter_mut().enumerate().take(count) {
            if colons && index > 0 && take(&mut rest, 1)? != b":" {
                return Err(FieldError::Mismatch);
            }
            *value = number(&mut rest, true)?;
        }
        let [hours, minutes, seconds] = numbers;
        for (value, most, what) in [
            (hours, 24, "time zone offset hour"),
            (minutes, 60, "time zone offset minute"),
            (seconds, 60, "time zone offset second"),
        ] {
            if value > most {
                return Err(FieldError::OutOfRange(what));
            }
        }
        let offset = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match sign {
            b'+' => offset,
            b'-' => -offset,
            _ => return Err(FieldError::Mismatch),
        });
        Ok(())
    }

    /// Returns the seconds since 1970.
    fn seconds(&mut self) -> Result<i64, &'static str> {
        if self.pm && self.hour < 12 {
            self.hour += 12;
        } else if self.am && self.hour == 12 {
            self.hour = 0;
        }
        if let Some(year_day) = self.year_day {
            let length = 365 + i64::from(is_leap(self.year));
            if !(1..=length).contains(&year_day) {
                return Err("day-of-year out of range");
            }
            let (mut month, mut day) = (1, year_day);
            while day > days_in_month(self.year, month) {
                day -= days_in_month(self.year, month);
                month += 1;
            }
            if self.month.is_some_and(|given| given != month) {
                return Err("day-of-year does not match month");
            }
            if self.day.is_some_and(|given| given != day) {
                return Err("day-of-year does not match day");
            }
            (self.month, self.day) = (Some(month), Some(day));
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if !(1..=days_in_month(self.year, month)).contains(&day) {
            return Err("day out of range");
        }
        let midnight = calendar::seconds(self.year, month, day).ok_or("year out of range")?;
        let seconds = midnight + self.hour * 3600 + self.minute * 60 + self.second;
        Ok(if self.utc { seconds } else { seconds - self.offset.unwrap_or(0) })
    }
}

/// Removes `prefix`; runs of spaces match whatever their length.
fn skip<'a>(mut text: &'a [u8], mut prefix: &[u8]) -> Result<&'a [u8], &'a [u8]> {
    let trimmed = |text: &'a [u8]| {
        let spaces = text.iter().take_while(|byte| **byte == b' ').count();
        text.get(spaces..).unwrap_or_default()
    };
    while let Some((first, rest)) = prefix.split_first() {
        if *first == b' ' {
            if text.first().is_some_and(|byte| *byte != b' ') {
                return Err(text);
            }
            let spaces = prefix.iter().take_while(|byte| **byte == b' ').count();
            prefix = prefix.get(spaces..).unwrap_or_default();
            text = trimmed(text);
            continue;
        }
        match text.split_first() {
            Some((byte, after)) if byte == first => text = after,
            _ => return Err(text),
        }
        prefix = rest;
    }
    Ok(text)
}

/// Parses a text with a layout; returns seconds since 1970 and nanoseconds.
pub(in super::super) fn parse(layout: &str, text: &str) -> Result<(i64, u32), Error> {
    let failed = |at: &[u8], what: &[u8]| {
        Error::failed(format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quoted(text),
            quoted(layout),
            quoted_bytes(at),
            quoted_bytes(what)
        ))
    };
    let out_of_range =
        |message: &str| Error::failed(format!("parsing time {}: {message}", quoted(text)));
    let mut fields = Fields::default();
    let mut value = text.as_bytes();
    let mut rest = layout.as_bytes();
    loop {
        let (before, element, after) = next(rest);
        value = skip(value, before).map_err(|at| failed(at, before))?;
        let Some((element, name)) = element else { break };
        rest = after;
        let held = value;
        fields.read(element, &mut value, rest).map_err(|error| match error {
            FieldError::Mismatch => failed(held, name),
            FieldError::OutOfRange(what) => out_of_range(&format!("{what} out of range")),
        })?;
    }
    if !value.is_empty() {
        return Err(out_of_range(&format!("extra text: {}", quoted_bytes(value))));
    }
    let seconds = fields.seconds().map_err(out_of_range)?;
    Ok((seconds, fields.nanos))
}
