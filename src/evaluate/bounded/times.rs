//! Points in time.

use chrono::{DateTime, Datelike as _, Days, Months, NaiveDate};
use regorus::Value;

use super::arguments::{integer, string};
use super::{Fault, Outcome, Scope, differs, native, operand};

/// `time.add_date(ns, years, months, days)`: days beyond the end of a month run on into the next.
pub(super) fn add_date(_: &Scope, args: &[Value]) -> Outcome {
    let number =
        |index| integer(args, index)?.map_or_else(|| operand("time outside of valid range"), Ok);
    let (ns, years, months, days) = (number(0)?, number(1)?, number(2)?, number(3)?);
    let outside = || Fault::Operand("time outside of valid range".to_owned());
    let add = || -> Option<i64> {
        let from = DateTime::from_timestamp_nanos(ns).naive_utc();
        let months = years.checked_mul(12)?.checked_add(months)?;
        let first = NaiveDate::from_ymd_opt(from.year(), from.month(), 1)?;
        let many = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
        let first = match months {
            0.. => first.checked_add_months(many)?,
            _ => first.checked_sub_months(many)?,
        };
        let days = days.checked_add(i64::from(from.day0()))?;
        let many = Days::new(days.unsigned_abs());
        let date = match days {
            0.. => first.checked_add_days(many)?,
            _ => first.checked_sub_days(many)?,
        };
        date.and_time(from.time()).and_utc().timestamp_nanos_opt()
    };
    add().map(Value::from).ok_or_else(outside)
}

/// Layouts that regorus writes as OPA does; a zone's name and cut-off fractions are others.
fn layout(text: &str) -> Result<(), Fault> {
    let named = ["UnixDate", "RFC822", "RFC850", "RFC1123", "Stamp", "Kitchen"];
    let parts = ["MST", "Z07", ".9", ",9", ",0", "002", "__2", "%"];
    if !text.is_ascii() {
        return differs("a layout with characters beyond ASCII");
    }
    let known = ["RFC3339", "RFC3339Nano", "ANSIC", "RFC822Z", "RFC1123Z", "RubyDate"];
    if known.contains(&text) || text == "2006-01-02T15:04:05Z07:00" {
        return Ok(());
    }
    if named.contains(&text) || parts.iter().any(|part| text.contains(part)) {
        return differs(format!("the layout `{}`", crate::text::shorten(text, 60)));
    }
    Ok(())
}

/// `time.format` of a layout that regorus knows as OPA does.
pub(super) fn format(scope: &Scope, args: &[Value]) -> Outcome {
    super::collections::of_scalars(scope, args)?;
    if let Some(Value::Array(parts)) = args.first()
        && let Some(Value::String(text)) = parts.get(2)
    {
        layout(text)?;
        if &**text != "RFC3339Nano" {
            return native::call(scope, "time.format", args);
        }
    }
    let Value::String(text) = native::call(scope, "time.format", args)? else {
        return Err(Fault::Undefined);
    };
    // This layout has no zeros at the end of its fraction.
    let Some((head, tail)) = text.split_once('.') else { return Ok(Value::String(text)) };
    let zone = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    let fraction = tail.strip_suffix(zone).unwrap_or(tail).trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    Ok(Value::from(format!("{head}{dot}{fraction}{zone}")))
}

/// `time.parse_ns` of a layout that regorus knows as OPA does.
pub(super) fn parse(scope: &Scope, args: &[Value]) -> Outcome {
    layout(string(args, 0)?)?;
    native::call(scope, "time.parse_ns", args)
}

/// `time.parse_rfc3339_ns`: exactly the notation of RFC 3339.
pub(super) fn rfc3339(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    let shape: String =
        text.chars().take(19).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let leap = text.get(17..19) == Some("60");
    if shape != "0000-00-00T00:00:00" || leap || text.contains('z') {
        return operand("not a time of the form 2006-01-02T15:04:05Z07:00");
    }
    native::call(scope, "time.parse_rfc3339_ns", args)
}

/// `semver.is_valid(text)`.
pub(super) fn semver_is_valid(scope: &Scope, args: &[Value]) -> Outcome {
    let Some(Value::String(text)) = args.first() else { return Ok(Value::from(false)) };
    let value = native::call(scope, "semver.is_valid", args)?;
    let core: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let looks = core.split('.').count() == 3 && core.split('.').all(|part| !part.is_empty());
    if value == Value::from(false) && looks {
        return differs("a version with leading zeros or odd suffixes, which OPA lets pass");
    }
    Ok(value)
}

/// `uuid.parse(text)` of the usual variant.
pub(super) fn uuid_parse(scope: &Scope, args: &[Value]) -> Outcome {
    let value = native::call(scope, "uuid.parse", args)?;
    if let Value::Object(object) = &value
        && object.get(&Value::from("variant")) != Some(&Value::from("RFC4122"))
    {
        return differs("a UUID of another variant than RFC 4122");
    }
    Ok(value)
}
