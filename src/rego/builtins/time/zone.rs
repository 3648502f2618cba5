//! Time zones by their names in the IANA database.

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{OffsetName, Tz};

use super::calendar::{self, Civil, is_leap};
use crate::rego::builtins::Error;

/// The database here ends with this year; later ones are as those before it.
const LAST_YEAR: i64 = 2099;

/// A zone.
#[derive(Clone)]
pub(super) struct Zone(Option<Tz>);

impl Zone {
    pub(super) fn utc() -> Self {
        Self(None)
    }

    /// The zone of this name; the empty name, `UTC` and `Local` are UTC.
    pub(super) fn named(name: &str) -> Result<Self, Error> {
        if matches!(name, "" | "UTC" | "Local") {
            return Ok(Self(None));
        }
        if name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..") {
            return Err(Error::failed("time: invalid location name"));
        }
        match name.parse::<Tz>() {
            Ok(zone) => Ok(Self(Some(zone))),
            Err(_) => Err(Error::failed(format!("unknown time zone {name}"))),
        }
    }

    fn lookup(&self, seconds: i64) -> (i64, String) {
        let Some(zone) = &self.0 else { return (0, "UTC".to_owned()) };
        let year = Civil::at(seconds).year;
        let seconds = if year > LAST_YEAR { seconds_in_known_year(seconds, year) } else { seconds };
        let Some(time) = DateTime::from_timestamp(seconds, 0) else { return (0, "UTC".to_owned()) };
        let offset = zone.offset_from_utc_datetime(&time.naive_utc());
        let seconds = i64::from(offset.fix().local_minus_utc());
        let name = offset.abbreviation().map_or_else(|| unnamed(seconds), str::to_owned);
        (seconds, name)
    }

    /// Seconds that the zone is ahead of UTC at a point in time.
    pub(super) fn offset(&self, seconds: i64) -> i64 {
        self.lookup(seconds).0
    }

    /// What the zone is called at a point in time, such as `CEST`.
    pub(super) fn name(&self, seconds: i64) -> String {
        self.lookup(seconds).1
    }

    /// The point in time at which clocks in the zone show these seconds.
    pub(super) fn to_utc(&self, local: i64) -> i64 {
        let first = self.offset(local);
        if first == 0 {
            return local;
        }
        // Near a change the first guess may have been of the other side.
        local.wrapping_sub(self.offset(local.wrapping_sub(first)))
    }
}

/// What a zone without a name is called: its offset, as short as it can be.
fn unnamed(offset: i64) -> String {
    let (sign, rest) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    match (minutes, seconds) {
        (0, 0) => format!("{sign}{hours:02}"),
        (_, 0) => format!("{sign}{hours:02}{minutes:02}"),
        _ => format!("{sign}{hours:02}{minutes:02}{seconds:02}"),
    }
}

/// The same time of a year that begins on the same weekday and has as many days.
fn seconds_in_known_year(seconds: i64, year: i64) -> i64 {
    let start = |year| calendar::seconds(year, 1, 1).unwrap_or_default();
    let kind = |year| (start(year).div_euclid(86_400).rem_euclid(7), is_leap(year));
    let like = (LAST_YEAR - 27..=LAST_YEAR).rev().find(|known| kind(*known) == kind(year));
    like.map_or(seconds, |like| seconds - start(year) + start(like))
}
