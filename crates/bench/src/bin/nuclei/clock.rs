//! How long one thread takes.
//!
//! Law: a measurement has the wall clock's seconds and the processor's; the best of several is taken of each alone.
//! Others may use the machine too, so that ratios are between the processor's.

use std::time::Instant;

/// Seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    /// By the wall clock.
    pub(crate) wall: f64,
    /// Of the processor, by this thread.
    pub(crate) thread: f64,
}

impl Taken {
    /// Longer than anything.
    pub(crate) const NEVER: Taken = Taken {
        wall: f64::INFINITY,
        thread: f64::INFINITY,
    };

    /// The better one of each.
    pub(crate) fn best(self, other: Taken) -> Taken {
        Taken {
            wall: self.wall.min(other.wall),
            thread: self.thread.min(other.thread),
        }
    }
}

/// A moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    wall: Instant,
    thread: f64,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment {
            wall: Instant::now(),
            thread: thread_seconds(),
        }
    }

    /// What went by from this moment to a later one.
    pub(crate) fn until(self, later: Moment) -> Taken {
        Taken {
            wall: later.wall.duration_since(self.wall).as_secs_f64(),
            thread: later.thread - self.thread,
        }
    }
}

/// How long `work` takes, its result not dropped before the clock is read.
pub(crate) fn taken<T>(work: impl FnOnce() -> T) -> Taken {
    let began = Moment::now();
    let result = std::hint::black_box(work());
    let taken = began.until(Moment::now());
    drop(result);
    taken
}

fn thread_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of this function, which the call fills.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
