//! Time as the coordinator sees it: nanoseconds since the run began, told by whoever drives it.
//!
//! Law: nothing in this crate reads a clock.

use core::ops::Add;
use core::time::Duration;

/// A duration in nanoseconds; the longest that can be written takes the place of one that cannot.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A moment, in nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Time(pub u64);

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(nanoseconds(duration)))
    }
}
