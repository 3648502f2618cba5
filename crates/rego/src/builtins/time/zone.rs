//! Time zones by their names in the IANA database.
//!
//! The database is the one that OPA's Go has embedded. It has the zones' histories before 1970, and
//! a rule for the years after their last transition.

use tz::TimeZoneRef;
use tzdb_data::{TZ_NAMES, find_tz};

use crate::builtins::Error;

/// A zone; none is UTC.
#[derive(Clone)]
pub(super) struct Zone(Option<&'static TimeZoneRef<'static>>);

impl Zone {
    pub(super) fn utc() -> Self {
        Self(None)
    }

    /// The zone of this name; the empty name, `UTC` and `Local` are UTC.
    pub(super) fn from_name(name: &str) -> Result<Self, Error> {
        if matches!(name, "" | "UTC" | "Local") {
            return Ok(Self(None));
        }
        if name.starts_with(['/', '\\']) || name.split(['/', '\\']).any(|part| part == "..") {
            return Err(Error::failed("time: invalid location name"));
        }
        // The database is looked up in any case of letters; names have one.
        let zone = find_tz(name.as_bytes()).filter(|_| is_name(name));
        let zone = zone.ok_or_else(|| Error::failed(format!("unknown time zone {name}")))?;
        Ok(Self(Some(zone)))
    }

    /// The zone's offset from UTC at a point in time, in seconds, and its name then, such as `CEST`.
    fn lookup(&self, seconds: i64) -> (i64, &str) {
        let found = self.0.as_ref().and_then(|zone| zone.find_local_time_type(seconds).ok());
        found.map_or((0, "UTC"), |found| {
            (i64::from(found.ut_offset()), found.time_zone_designation())
        })
    }

    /// Seconds that the zone is ahead of UTC at a point in time.
    pub(super) fn offset(&self, seconds: i64) -> i64 {
        self.lookup(seconds).0
    }

    /// The name of the zone at a point in time, such as `CEST`.
    pub(super) fn name(&self, seconds: i64) -> String {
        self.lookup(seconds).1.to_owned()
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

/// True if the database has this name, in this case of letters.
fn is_name(name: &str) -> bool {
    fn lowercase(text: &str) -> impl Iterator<Item = u8> + '_ {
        text.bytes().map(|byte| byte.to_ascii_lowercase())
    }
    let found = TZ_NAMES.binary_search_by(|known| lowercase(known).cmp(lowercase(name)));
    found.is_ok_and(|index| TZ_NAMES.get(index) == Some(&name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_zone_of_the_database_is_read() {
        assert!(TZ_NAMES.len() > 590);
        for name in TZ_NAMES {
            assert!(Zone::from_name(name).is_ok(), "{name}");
        }
        assert!(Zone::from_name("europe/berlin").is_err(), "names have one case");
    }

    #[test]
    fn rules_hold_after_the_last_transition() {
        let berlin = Zone::from_name("Europe/Berlin").unwrap();
        // 2500-07-01 and 2500-01-01, both at 0:00 UTC.
        assert_eq!(berlin.lookup(16_740_691_200), (7200, "CEST"));
        assert_eq!(berlin.lookup(16_725_052_800), (3600, "CET"));
        let new_york = Zone::from_name("America/New_York").unwrap();
        assert_eq!(new_york.lookup(-4_000_000_000), (-17_762, "LMT"));
        // A zone that was merged into another one, but for the years before 1970.
        assert_eq!(Zone::from_name("Africa/Accra").unwrap().lookup(-4_000_000_000), (-52, "LMT"));
    }
}
