//! TOML: a date is text in the form of RFC 3339; one without a zone is that of UTC, as in conftest.

use rego::Value;
use rego::value::{Number, Object};
use toml::value::{Datetime, Time};

use super::problem::Problem;

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        Problem::at(text, start, format!("invalid TOML: {}", error.message()))
    })?;
    object(table).map_err(|message| Problem::on(1, message))
}

fn object(table: toml::Table) -> Result<Value, String> {
    let members = table.into_iter().map(|(key, own)| Ok((Value::from(key), value(own)?)));
    Ok(Value::from(members.collect::<Result<Object, String>>()?))
}

// The reader bounds the depth.
fn value(own: toml::Value) -> Result<Value, String> {
    Ok(match own {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => Number::from_f64(number)
            .ok_or_else(|| format!("no equivalent of the number in JSON: `{number}`"))?
            .into(),
        toml::Value::Boolean(is) => is.into(),
        toml::Value::Datetime(date) => Value::from(rfc3339(&date)),
        toml::Value::Array(list) => list.into_iter().map(value).collect::<Result<Value, _>>()?,
        toml::Value::Table(table) => object(table)?,
    })
}

fn rfc3339(date: &Datetime) -> String {
    // TOML 1.1 has times without seconds.
    let whole = |time: Time| Time {
        second: time.second.or(Some(0)),
        nanosecond: time.nanosecond.filter(|fraction| *fraction > 0),
        ..time
    };
    let date = Datetime { time: date.time.map(whole), ..*date };
    match (date.date, date.time, date.offset) {
        (Some(day), Some(time), Some(_)) => {
            let offset = Datetime { date: None, time: None, ..date }.to_string();
            let is_utc = matches!(offset.as_str(), "+00:00" | "-00:00");
            format!("{day}T{time}{}", if is_utc { "Z" } else { &offset })
        }
        (Some(day), Some(time), None) => format!("{day}T{time}Z"),
        (Some(day), None, _) => format!("{day}T00:00:00Z"),
        (None, Some(time), _) => format!("0000-01-01T{time}Z"),
        (None, None, _) => date.to_string(),
    }
}
