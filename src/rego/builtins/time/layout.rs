//! Layouts of times: Go's notation, by the example of 2006-01-02 15:04:05 in MST.

use super::Time;
use super::calendar::{self, MONTHS, WEEKDAYS, days_in_month, is_leap};
use crate::rego::builtins::Error;
use crate::rego::value::lossy;

/// A part of a layout that stands for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
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
    /// An offset: `Z` for none, with colons, its shortest part.
    Offset {
        z: bool,
        colons: bool,
        to: To,
    },
    /// Fractions of a second: how many digits, after which mark, zeros at the end kept.
    Fraction {
        digits: usize,
        mark: u8,
        zeros: bool,
    },
}

/// What an offset goes down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Hours,
    Minutes,
    Seconds,
}

/// Offsets, the longer before those that they begin with, as Go looks for them.
const OFFSETS: &[(&[u8], bool, To)] = &[
    (b"070000", false, To::Seconds),
    (b"07:00:00", true, To::Seconds),
    (b"0700", false, To::Minutes),
    (b"07:00", true, To::Minutes),
    (b"07", false, To::Hours),
];

fn starts_with_lower(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase)
}

/// The part that stands at the beginning of a layout, and its length.
fn part_at(layout: &[u8]) -> Option<(Part, usize)> {
    let after = |length: usize| layout.get(length..).unwrap_or_default();
    let is = |text: &str| layout.starts_with(text.as_bytes());
    Some(match layout.first()? {
        b'J' if is("January") => (Part::LongMonth, 7),
        b'J' if is("Jan") && !starts_with_lower(after(3)) => (Part::Month, 3),
        b'M' if is("Monday") => (Part::LongWeekday, 6),
        b'M' if is("Mon") && !starts_with_lower(after(3)) => (Part::Weekday, 3),
        b'M' if is("MST") => (Part::ZoneName, 3),
        b'0' if is("01") => (Part::ZeroMonth, 2),
        b'0' if is("02") => (Part::ZeroDay, 2),
        b'0' if is("03") => (Part::ZeroHour12, 2),
        b'0' if is("04") => (Part::ZeroMinute, 2),
        b'0' if is("05") => (Part::ZeroSecond, 2),
        b'0' if is("06") => (Part::Year, 2),
        b'0' if is("002") => (Part::ZeroYearDay, 3),
        b'1' if is("15") => (Part::Hour, 2),
        b'1' => (Part::NumMonth, 1),
        b'2' if is("2006") => (Part::LongYear, 4),
        b'2' => (Part::Day, 1),
        // `_2006` is an underscore and a year.
        b'_' if is("_2") && !is("_2006") => (Part::UnderDay, 2),
        b'_' if is("__2") => (Part::UnderYearDay, 3),
        b'3' => (Part::Hour12, 1),
        b'4' => (Part::Minute, 1),
        b'5' => (Part::Second, 1),
        b'P' if is("PM") => (Part::UpperPm, 2),
        b'p' if is("pm") => (Part::LowerPm, 2),
        sign @ (b'-' | b'Z') => {
            let rest = after(1);
            let (text, colons, to) = OFFSETS.iter().find(|(text, ..)| rest.starts_with(text))?;
            (Part::Offset { z: *sign == b'Z', colons: *colons, to: *to }, text.len() + 1)
        }
        mark @ (b'.' | b',') => {
            let rest = after(1);
            let first = *rest.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
            let digits = rest.iter().take_while(|digit| **digit == first).count();
            if rest.get(digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            (Part::Fraction { digits, mark: *mark, zeros: first == b'0' }, digits + 1)
        }
        _ => return None,
    })
}

/// The text before the first part of a layout, that part with its text, and what is after.
fn next(layout: &[u8]) -> (&[u8], Option<(Part, &[u8])>, &[u8]) {
    for at in 0..layout.len() {
        let (before, rest) = layout.split_at(at);
        // The year of `_2006` is a part of its own.
        if let Some((part, length)) = part_at(rest) {
            let (text, after) = rest.split_at(length);
            return (before, Some((part, text)), after);
        }
    }
    (layout, None, &[])
}

/// Writes a time in a layout.
pub(super) fn format(time: &Time, layout: &str) -> String {
    let civil = time.civil();
    let mut out: Vec<u8> = Vec::new();
    let mut rest = layout.as_bytes();
    while !rest.is_empty() {
        let (before, part, after) = next(rest);
        out.extend_from_slice(before);
        rest = after;
        let Some((part, _)) = part else { break };
        let hour12 = if civil.hour % 12 == 0 { 12 } else { civil.hour % 12 };
        let text = match part {
            Part::Year => format!("{:02}", civil.year.abs() % 100),
            Part::LongYear if civil.year < 0 => format!("-{:04}", -civil.year),
            Part::LongYear => format!("{:04}", civil.year),
            Part::Month => civil.month_name().chars().take(3).collect(),
            Part::LongMonth => civil.month_name().to_owned(),
            Part::NumMonth => civil.month.to_string(),
            Part::ZeroMonth => format!("{:02}", civil.month),
            Part::Weekday => civil.weekday().chars().take(3).collect(),
            Part::LongWeekday => civil.weekday().to_owned(),
            Part::Day => civil.day.to_string(),
            Part::UnderDay => format!("{:2}", civil.day),
            Part::ZeroDay => format!("{:02}", civil.day),
            Part::UnderYearDay => format!("{:3}", civil.year_day()),
            Part::ZeroYearDay => format!("{:03}", civil.year_day()),
            Part::Hour => format!("{:02}", civil.hour),
            Part::Hour12 => hour12.to_string(),
            Part::ZeroHour12 => format!("{hour12:02}"),
            Part::Minute => civil.minute.to_string(),
            Part::ZeroMinute => format!("{:02}", civil.minute),
            Part::Second => civil.second.to_string(),
            Part::ZeroSecond => format!("{:02}", civil.second),
            Part::UpperPm => if civil.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Part::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Part::ZoneName => time.zone.name(time.seconds),
            Part::Offset { z, colons, to } => match time.zone.offset(time.seconds) {
                0 if z => "Z".to_owned(),
                offset => offset_text(offset, colons, to),
            },
            Part::Fraction { digits, mark, zeros } => {
                fraction_text(time.nanos, digits, mark, zeros)
            }
        };
        out.extend_from_slice(text.as_bytes());
    }
    lossy(&out)
}

/// `+02:00`
fn offset_text(offset: i64, colons: bool, to: To) -> String {
    // The sign is that of the minutes.
    let minutes = offset / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let seconds = if minutes < 0 { -offset } else { offset } % 60;
    let minutes = minutes.abs();
    let colon = if colons { ":" } else { "" };
    let mut out = format!("{sign}{:02}", minutes / 60);
    if to != To::Hours {
        out.push_str(&format!("{colon}{:02}", minutes % 60));
    }
    if to == To::Seconds {
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

/// A text as Go's `time` quotes it in errors.
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

/// Why a field can't be read.
enum Bad {
    /// It isn't what the layout says.
    Field,
    /// It is out of range.
    Range(&'static str),
}

/// What a text has said so far.
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
    /// UTC was said.
    utc: bool,
    offset: Option<i64>,
}

/// One or two digits.
fn number(text: &mut &[u8], fixed: bool) -> Result<i64, Bad> {
    digits(text, 2, if fixed { 2 } else { 1 })
}

/// At most `most` digits, at least `least`.
fn digits(text: &mut &[u8], most: usize, least: usize) -> Result<i64, Bad> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if count < least {
        return Err(Bad::Field);
    }
    let (figures, rest) = text.split_at(count);
    *text = rest;
    Ok(figures.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// An optional sign and digits, all of `text`.
fn signed(text: &[u8]) -> Result<i64, Bad> {
    let (negative, mut figures) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let value = digits(&mut figures, 18, 0)?;
    if !figures.is_empty() {
        return Err(Bad::Field);
    }
    Ok(if negative { -value } else { value })
}

fn take<'a>(text: &mut &'a [u8], count: usize) -> Result<&'a [u8], Bad> {
    let (taken, rest) = text.split_at_checked(count).ok_or(Bad::Field)?;
    *text = rest;
    Ok(taken)
}

/// The index of the name that a text begins with, whatever its case; `length` letters of it count.
fn lookup(text: &mut &[u8], names: &[&str], length: usize) -> Result<i64, Bad> {
    for (index, name) in names.iter().enumerate() {
        let name = name.as_bytes().get(..length).unwrap_or(name.as_bytes());
        if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            take(text, name.len())?;
            return Ok(i64::try_from(index).unwrap_or_default());
        }
    }
    Err(Bad::Field)
}

/// A mark and the first `count - 1` digits after it as nanoseconds.
fn nanoseconds(text: &mut &[u8], count: usize) -> Result<u32, Bad> {
    let field = take(text, count)?;
    let Some((b'.' | b',', figures)) = field.split_first() else { return Err(Bad::Field) };
    let figures = figures.get(..9).unwrap_or(figures);
    let value = signed(figures)?;
    if value < 0 {
        return Err(Bad::Range("fractional second"));
    }
    let scale = 10_i64.pow(u32::try_from(9 - figures.len().min(9)).unwrap_or_default());
    u32::try_from(value * scale).map_err(|_| Bad::Field)
}

fn is_mark(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'.' | b','))
}

/// The length of a zone's name at the beginning of a text.
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

/// The length of an offset of hours at the beginning of a text; 0 where there is none.
fn signed_offset(text: &[u8]) -> usize {
    let Some((b'+' | b'-', mut rest)) = text.split_first() else { return 0 };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let small = digits(&mut rest, 18, 1).is_ok_and(|hours| hours <= 23);
    if small && length <= 18 { length + 1 } else { 0 }
}

impl Fields {
    /// Reads one part.
    fn read(&mut self, part: Part, text: &mut &[u8], layout: &[u8]) -> Result<(), Bad> {
        let range = |value: i64, good: bool, what: &'static str| {
            if good { Ok(value) } else { Err(Bad::Range(what)) }
        };
        match part {
            Part::Year => {
                let year = signed(take(text, 2)?)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Part::LongYear => {
                if !text.first().is_some_and(u8::is_ascii_digit) {
                    return Err(Bad::Field);
                }
                self.year = signed(take(text, 4)?)?;
            }
            Part::Month => self.month = Some(lookup(text, &MONTHS, 3)? + 1),
            Part::LongMonth => self.month = Some(lookup(text, &MONTHS, usize::MAX)? + 1),
            Part::NumMonth | Part::ZeroMonth => {
                let month = number(text, part == Part::ZeroMonth)?;
                self.month = Some(range(month, (1..=12).contains(&month), "month")?);
            }
            Part::Weekday => {
                lookup(text, &WEEKDAYS, 3)?;
            }
            Part::LongWeekday => {
                lookup(text, &WEEKDAYS, usize::MAX)?;
            }
            Part::Day | Part::UnderDay | Part::ZeroDay => {
                if part == Part::UnderDay && text.first() == Some(&b' ') {
                    take(text, 1)?;
                }
                self.day = Some(number(text, part == Part::ZeroDay)?);
            }
            Part::UnderYearDay | Part::ZeroYearDay => {
                let fixed = part == Part::ZeroYearDay;
                for _ in 0..2 {
                    if !fixed && text.first() == Some(&b' ') {
                        take(text, 1)?;
                    }
                }
                self.year_day = Some(digits(text, 3, if fixed { 3 } else { 1 })?);
            }
            Part::Hour => {
                let hour = number(text, false)?;
                self.hour = range(hour, hour < 24, "hour")?;
            }
            Part::Hour12 | Part::ZeroHour12 => {
                let hour = number(text, part == Part::ZeroHour12)?;
                self.hour = range(hour, hour <= 12, "hour")?;
            }
            Part::Minute | Part::ZeroMinute => {
                let minute = number(text, part == Part::ZeroMinute)?;
                self.minute = range(minute, minute < 60, "minute")?;
            }
            Part::Second | Part::ZeroSecond => {
                let second = number(text, part == Part::ZeroSecond)?;
                self.second = range(second, second < 60, "second")?;
                // A fraction may follow that the layout doesn't have.
                if is_mark(text.first()) && text.get(1).is_some_and(u8::is_ascii_digit) {
                    let follows = next(layout)
                        .1
                        .is_some_and(|(part, _)| matches!(part, Part::Fraction { .. }));
                    if !follows {
                        let figures =
                            text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
                        self.nanos = nanoseconds(text, figures + 1)?;
                    }
                }
            }
            Part::UpperPm | Part::LowerPm => match (part, take(text, 2)?) {
                (Part::UpperPm, b"PM") | (Part::LowerPm, b"pm") => self.pm = true,
                (Part::UpperPm, b"AM") | (Part::LowerPm, b"am") => self.am = true,
                _ => return Err(Bad::Field),
            },
            Part::Offset { z: true, .. } if text.first() == Some(&b'Z') => {
                take(text, 1)?;
                self.utc = true;
            }
            Part::Offset { colons, to, .. } => self.offset(text, colons, to)?,
            Part::ZoneName => {
                if text.starts_with(b"UTC") {
                    take(text, 3)?;
                    self.utc = true;
                } else {
                    let length = zone_name(text).ok_or(Bad::Field)?;
                    // Zones other than UTC have no offset here, as in OPA.
                    take(text, length)?;
                }
            }
            Part::Fraction { digits, zeros: true, .. } => {
                self.nanos = nanoseconds(text, digits + 1)?
            }
            Part::Fraction { .. } => {
                if is_mark(text.first()) && text.get(1).is_some_and(u8::is_ascii_digit) {
                    let figures =
                        text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
                    self.nanos = nanoseconds(text, figures + 1)?;
                }
            }
        }
        Ok(())
    }

    fn offset(&mut self, text: &mut &[u8], colons: bool, to: To) -> Result<(), Bad> {
        let length = match (to, colons) {
            (To::Hours, _) => 3,
            (To::Minutes, false) => 5,
            (To::Minutes, true) => 6,
            (To::Seconds, false) => 7,
            (To::Seconds, true) => 9,
        };
        let field = take(text, length)?;
        let (sign, mut rest) = field.split_first().ok_or(Bad::Field)?;
        let mut numbers = [0; 3];
        let count = match to {
            To::Hours => 1,
            To::Minutes => 2,
            To::Seconds => 3,
        };
        for (index, value) in numbers.iter_mut().enumerate().take(count) {
            if colons && index > 0 && take(&mut rest, 1)? != b":" {
                return Err(Bad::Field);
            }
            *value = number(&mut rest, true)?;
        }
        let [hours, minutes, seconds] = numbers;
        if hours > 24 {
            return Err(Bad::Range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(Bad::Range("time zone offset minute"));
        }
        if seconds > 60 {
            return Err(Bad::Range("time zone offset second"));
        }
        let offset = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match sign {
            b'+' => offset,
            b'-' => -offset,
            _ => return Err(Bad::Field),
        });
        Ok(())
    }

    /// Seconds since 1970.
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
            if self.month.is_some_and(|said| said != month) {
                return Err("day-of-year does not match month");
            }
            if self.day.is_some_and(|said| said != day) {
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

/// Removes `prefix`; any number of spaces is as good as another.
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

/// Reads a text in a layout: seconds since 1970 and nanoseconds.
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
        let (before, part, after) = next(rest);
        value = skip(value, before).map_err(|at| failed(at, before))?;
        let Some((part, name)) = part else { break };
        rest = after;
        let held = value;
        fields.read(part, &mut value, rest).map_err(|bad| match bad {
            Bad::Field => failed(held, name),
            Bad::Range(what) => out_of_range(&format!("{what} out of range")),
        })?;
    }
    if !value.is_empty() {
        return Err(out_of_range(&format!("extra text: {}", quoted_bytes(value))));
    }
    let seconds = fields.seconds().map_err(out_of_range)?;
    Ok((seconds, fields.nanos))
}
