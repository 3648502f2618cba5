//! Dates and times, in the forms that go-yaml recognizes.

/// Returns `true` if a scalar has one of the forms.
pub(super) fn is_timestamp(text: &str) -> bool {
    read(text).is_some()
}

/// Returns a date or time as RFC 3339 writes it, in its own time zone; `None` if the text has none
/// of the forms, or if its offset is a day or longer.
pub(super) fn rfc3339(text: &str) -> Option<String> {
    let time = read(text)?;
    let Timestamp { date, time: [hour, minute, second], nanos, offset } = time;
    let [year, month, day] = date;
    let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if nanos > 0 {
        let fraction = format!(".{nanos:09}");
        out.push_str(fraction.trim_end_matches('0'));
    }
    if offset == 0 {
        out.push('Z');
    } else {
        let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
        if minutes >= 24 * 60 {
            return None;
        }
        out.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
    }
    Some(out)
}

struct Timestamp {
    date: [u32; 3],
    time: [u32; 3],
    nanos: u32,
    /// The offset of the time zone, in minutes.
    offset: i32,
}

fn read(text: &str) -> Option<Timestamp> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    let year = text.get(..4)?.parse().ok()?;
    let (month, rest) = number(text.get(5..)?)?;
    let (day, rest) = number(rest.strip_prefix('-')?)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    let date = [year, month, day];
    if rest.is_empty() {
        return Some(Timestamp { date, time: [0; 3], nanos: 0, offset: 0 });
    }
    let zoned = rest.starts_with(['T', 't']);
    let rest = if zoned { rest.get(1..)? } else { rest.strip_prefix(' ')?.trim_start_matches(' ') };
    let (hour, rest) = number(rest)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let (second, rest) = number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (nanos, rest) = fraction(rest)?;
    let offset = if zoned { offset(rest)? } else { rest.is_empty().then_some(0)? };
    Some(Timestamp { date, time: [hour, minute, second], nanos, offset })
}

/// Reads a number of one or two digits.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

/// Reads the decimals of a second, if there are any; those after the ninth don't count.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Some((0, text));
    }
    let (digits, rest) = rest.split_at_checked(digits)?;
    let nanos = format!("{:0<9}", digits.get(..digits.len().min(9))?);
    Some((nanos.parse().ok()?, rest))
}

/// Reads `Z` or `±hh:mm`.
fn offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let sign = match text.as_bytes() {
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let number = |text: &str, most: i32| -> Option<i32> {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && *number <= most)
    };
    Some(sign * (number(hours, 24)? * 60 + number(minutes, 60)?))
}
