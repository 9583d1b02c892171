//! Who and where we are, and names of runs: `YYYYMMDD-HHMMSS-xxxx`, in UTC, with four random digits.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use headwater_graph::text::calendar;

/// Seconds since 1970.
pub fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as i64)
}

/// A new name.
pub fn new_run() -> String {
    // The standard library seeds its hashers from the system's random numbers.
    let random = RandomState::new().build_hasher().finish() & 0xffff;
    name(now(), random as u16)
}

/// What this machine is called.
pub fn host() -> String {
    headwater_execute::machine_name()
}

/// Who runs this process: a name if there is one, else a number.
pub fn user() -> String {
    let Ok(own) = std::fs::metadata("/proc/self") else {
        return "unknown".to_owned();
    };
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let number = own.uid().to_string();
    let name = users.lines().find_map(|line| {
        // The name, a password that is elsewhere, and the number.
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == number).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

fn name(seconds: i64, random: u16) -> String {
    let ((year, month, day), (hour, minute, second)) = calendar(seconds);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{random:04x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_calendar() {
        assert_eq!(name(0, 0), "19700101-000000-0000");
        assert_eq!(name(951_782_400, 0xbeef), "20000229-000000-beef");
        assert_eq!(name(1_767_225_599, 10), "20251231-235959-000a");
    }
}
