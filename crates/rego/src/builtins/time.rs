//! Points in time: nanoseconds since 1970, in time zones, and their text.

mod calendar;
pub(super) mod duration;
pub(super) mod layout;
mod zone;

use super::operands::{answer, integer, operand, string};
use super::{Answer, Context, Error, Value};
use crate::value::Array;
use calendar::{Civil, days_in_month};
use zone::Zone;

const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

const NAMED_LAYOUTS: &[(&str, &str)] = &[
    ("ANSIC", "Mon Jan _2 15:04:05 2006"),
    ("UnixDate", "Mon Jan _2 15:04:05 MST 2006"),
    ("RubyDate", "Mon Jan 02 15:04:05 -0700 2006"),
    ("RFC822", "02 Jan 06 15:04 MST"),
    ("RFC822Z", "02 Jan 06 15:04 -0700"),
    ("RFC850", "Monday, 02-Jan-06 15:04:05 MST"),
    ("RFC1123", "Mon, 02 Jan 2006 15:04:05 MST"),
    ("RFC1123Z", "Mon, 02 Jan 2006 15:04:05 -0700"),
    ("RFC3339", "2006-01-02T15:04:05Z07:00"),
    ("RFC3339Nano", RFC3339_NANO),
];

fn resolve_layout(layout: &str) -> &str {
    NAMED_LAYOUTS.iter().find(|(name, _)| *name == layout).map_or(layout, |(_, layout)| layout)
}

/// A point in time: seconds since 1970 and nanoseconds, in a zone.
#[derive(Clone)]
struct Time {
    seconds: i64,
    nanos: u32,
    zone: Zone,
}

impl Time {
    fn civil(&self) -> Civil {
        Civil::from_seconds(self.seconds.saturating_add(self.zone.offset(self.seconds)))
    }
}

/// Returns a point in time as nanoseconds since 1970.
fn nanoseconds(seconds: i64, nanos: u32) -> Answer {
    let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let total = i64::try_from(total).map_err(|_| Error::failed("time outside of valid range"))?;
    answer(total)
}

/// Reads the operand of most functions: nanoseconds, or an array of nanoseconds, zone and layout.
fn time_operand(value: &Value) -> Result<(Time, &str), Error> {
    const EXPECTED: &str = "either number (ns) or [number (ns), string (tz)]";
    let text = |value: &'_ Value| match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(Error::operand(1, other, &["string"])),
    };
    let (number, zone, layout) = match value {
        number @ Value::Number(_) => (number, Zone::utc(), ""),
        Value::Array(parts) => match parts.as_slice() {
            [] => return Err(Error::operand(1, value, &[EXPECTED])),
            [number, rest @ ..] => {
                if !matches!(number, Value::Number(_)) {
                    return Err(Error::operand(1, number, &["number"]));
                }
                let zone = match rest.first() {
                    Some(name) => Zone::from_name(&text(name)?)?,
                    None => Zone::utc(),
                };
                let layout = match rest.get(1) {
                    Some(layout) => {
                        text(layout)?;
                        layout.as_str().unwrap_or_default()
                    }
                    None => "",
                };
                (number, zone, layout)
            }
        },
        other => return Err(Error::operand(1, other, &[EXPECTED])),
    };
    let nanos = number.as_number().and_then(crate::value::Number::as_exact_i64);
    let nanos = nanos.ok_or_else(|| Error::failed("timestamp too big"))?;
    let (seconds, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let nanos = u32::try_from(nanos).unwrap_or_default();
    Ok((Time { seconds, nanos, zone }, layout))
}

pub(super) fn parse(_: &dyn Context, args: &[Value]) -> Answer {
    let (layout, text) = (string(args, 0)?, string(args, 1)?);
    let (seconds, nanos) = layout::parse(resolve_layout(layout), text)?;
    nanoseconds(seconds, nanos)
}

pub(super) fn parse_rfc3339(_: &dyn Context, args: &[Value]) -> Answer {
    let (seconds, nanos) = layout::parse(resolve_layout("RFC3339"), string(args, 0)?)?;
    nanoseconds(seconds, nanos)
}

pub(super) fn format(context: &dyn Context, args: &[Value]) -> Answer {
    let (time, layout) = time_operand(operand(args, 0)?)?;
    let layout = if layout.is_empty() { RFC3339_NANO } else { resolve_layout(layout) };
    // No element of a layout produces more than ten times its length.
    context.charge((layout.len() as u64).saturating_mul(10))?;
    answer(layout::format(&time, layout))
}

fn numbers(parts: &[i64]) -> Answer {
    answer(parts.iter().map(|part| Value::from(*part)).collect::<Array>())
}

pub(super) fn date(_: &dyn Context, args: &[Value]) -> Answer {
    let civil = time_operand(operand(args, 0)?)?.0.civil();
    numbers(&[civil.year, civil.month, civil.day])
}

pub(super) fn clock(_: &dyn Context, args: &[Value]) -> Answer {
    let civil = time_operand(operand(args, 0)?)?.0.civil();
    numbers(&[civil.hour, civil.minute, civil.second])
}

pub(super) fn weekday(_: &dyn Context, args: &[Value]) -> Answer {
    answer(time_operand(operand(args, 0)?)?.0.civil().weekday())
}

pub(super) fn add_date(_: &dyn Context, args: &[Value]) -> Answer {
    let (time, _) = time_operand(operand(args, 0)?)?;
    let (years, months, days) = (integer(args, 1)?, integer(args, 2)?, integer(args, 3)?);
    let civil = time.civil();
    let midnight = calendar::seconds_wrapping(
        civil.year.wrapping_add(years),
        civil.month.wrapping_add(months),
        civil.day.wrapping_add(days),
    );
    let time_of_day = civil.hour * 3600 + civil.minute * 60 + civil.second;
    let local = midnight.wrapping_add(time_of_day);
    nanoseconds(time.zone.to_utc(local), time.nanos)
}

pub(super) fn diff(_: &dyn Context, args: &[Value]) -> Answer {
    let (first, _) = time_operand(operand(args, 0)?)?;
    let (mut second, _) = time_operand(operand(args, 1)?)?;
    second.zone = first.zone.clone();
    let in_order = (first.seconds, first.nanos) <= (second.seconds, second.nanos);
    let (a, b) = if in_order { (first, second) } else { (second, first) };
    let (a, b) = (a.civil(), b.civil());
    let mut year = b.year - a.year;
    let mut month = b.month - a.month;
    let mut day = b.day - a.day;
    let mut hour = b.hour - a.hour;
    let mut minute = b.minute - a.minute;
    let mut second = b.second - a.second;
    let borrow = |low: &mut i64, size: i64, high: &mut i64| {
        if *low < 0 {
            *low += size;
            *high -= 1;
        }
    };
    borrow(&mut second, 60, &mut minute);
    borrow(&mut minute, 60, &mut hour);
    borrow(&mut hour, 24, &mut day);
    borrow(&mut day, days_in_month(a.year, a.month), &mut month);
    borrow(&mut month, 12, &mut year);
    numbers(&[year, month, day, hour, minute, second])
}
