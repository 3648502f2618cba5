//! The proleptic Gregorian calendar: conversions between dates and seconds.

const DAY: i64 = 86_400;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// The month, from 1.
    pub(super) month: i64,
    /// The day of the month, from 1.
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// The days since 1970.
    days: i64,
}

impl Civil {
    /// Returns the date of seconds since 1970, without time zones.
    pub(super) fn from_seconds(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        // Here, years begin in March, so that the leap day comes last; eras have 400 years.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            days,
        }
    }

    pub(super) fn weekday(&self) -> &'static str {
        let index = usize::try_from((self.days + 4).rem_euclid(7)).unwrap_or_default();
        WEEKDAYS.get(index).copied().unwrap_or_default()
    }

    pub(super) fn month_name(&self) -> &'static str {
        let index = usize::try_from(self.month - 1).unwrap_or_default();
        MONTHS.get(index).copied().unwrap_or_default()
    }

    /// Returns the day of the year, from 1.
    pub(super) fn year_day(&self) -> i64 {
        self.days - days(self.year, 1, 1) + 1
    }
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days since 1970 of a date whose month is in 1 to 12.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

/// Returns the seconds since 1970 of a date whose month and day may be out of range. Returns `None`
/// if the date is more than a million years away.
pub(super) fn seconds(year: i64, month: i64, day: i64) -> Option<i64> {
    const FAR: i64 = 1_000_000;
    let year = year.checked_add((month.checked_sub(1)?).div_euclid(12))?;
    let month = (month - 1).rem_euclid(12) + 1;
    if year.abs() > FAR || day.unsigned_abs() > 366_000_000 {
        return None;
    }
    Some((days(year, month, 1) + day - 1) * DAY)
}

/// Returns the seconds since 1970 of any date. Overflow of 64 bits wraps around at the same points
/// as in OPA.
pub(super) fn seconds_wrapping(year: i64, month: i64, day: i64) -> i64 {
    let (months, mut year) = (month.wrapping_sub(1), year);
    let mut of_year = months;
    if of_year < 0 {
        let years = of_year.wrapping_neg().wrapping_sub(1) / 12 + 1;
        year = year.wrapping_sub(years);
        of_year = of_year.wrapping_add(years.wrapping_mul(12));
    }
    if of_year >= 12 {
        year = year.wrapping_add(of_year / 12);
        of_year %= 12;
    }
    // Years begin in March and are counted from long before any date, so that none is negative.
    const FIRST: u64 = 292_277_022_400;
    let absolute = |year: i64, of_year: i64, day: i64| -> u64 {
        let before_march = i64::from(of_year < 2);
        let month = of_year + 1 + 12 * before_march;
        let year = year.wrapping_sub(before_march).cast_unsigned().wrapping_add(FIRST);
        let of_century = (1461 * (year % 100) / 4).cast_signed();
        let centuries = 146_097_u64.wrapping_mul(year / 100) / 4;
        let days = (of_century + (979 * month - 2919) / 32).wrapping_add(day).wrapping_sub(1);
        centuries.wrapping_add(days.cast_unsigned())
    };
    let days = absolute(year, of_year, day).wrapping_sub(absolute(1970, 0, 1));
    days.cast_signed().wrapping_mul(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_seconds_agree() {
        for day in (-1_000_000..1_000_000).step_by(17) {
            let civil = Civil::from_seconds(day * DAY + 5);
            assert_eq!(seconds(civil.year, civil.month, civil.day), Some(day * DAY));
            assert_eq!(seconds(civil.year - 1, civil.month + 12, civil.day), Some(day * DAY));
            assert_eq!(seconds_wrapping(civil.year + 1, civil.month - 12, civil.day), day * DAY);
        }
        assert_eq!(Civil::from_seconds(0).weekday(), "Thursday");
        assert_eq!(Civil::from_seconds(951_868_800).year_day(), 61);
    }
}
