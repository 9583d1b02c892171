//! Names of runs: `YYYYMMDD-HHMMSS-xxxx`, in UTC, with four random digits; and dates for people.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as i64)
}

/// A new name.
pub(crate) fn new_run() -> String {
    // The standard library seeds its hashers from the system's random numbers.
    let random = RandomState::new().build_hasher().finish() & 0xffff;
    name(now(), random as u16)
}

/// A time in seconds since 1970 as a date and time of day, in UTC: `2026-11-16 08:30:00 UTC`.
pub fn date(seconds: i64) -> String {
    let ((year, month, day), (hour, minute, second)) = calendar(seconds);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day; hour, minute and second.
fn calendar(seconds: i64) -> ((i64, i64, i64), (i64, i64, i64)) {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    (civil(days), (second / 3600, second / 60 % 60, second % 60))
}

fn name(seconds: i64, random: u16) -> String {
    let ((year, month, day), (hour, minute, second)) = calendar(seconds);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{random:04x}")
}

/// The date of a day number (0 = 1970-01-01), counted in years that begin in March, so that the leap day
/// comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_calendar() {
        assert_eq!(name(0, 0), "19700101-000000-0000");
        assert_eq!(name(951_782_400, 0xbeef), "20000229-000000-beef");
        assert_eq!(name(1_767_225_599, 10), "20251231-235959-000a");
        assert_eq!(date(1_767_225_599), "2025-12-31 23:59:59 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59:59 UTC");
    }
}
