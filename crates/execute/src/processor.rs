//! The processor time of native tasks.
//!
//! Law: what a task is said to have used is the time that its thread was on a processor, not the time that went by.
//! A thread that waits for a disk, a lock or a core uses nothing.
//!
//! Asking for the time of a thread costs as much as a small task does, so it is asked for rarely. A task of less than
//! [`SHORT`] has used what went by: it was hardly off its core, since a thread that loses its core loses it for longer.
//! For a longer one the clock is read at its end and at its beginning, unless it was read less than [`SHORT`] before
//! that; the thread was at work since then.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The clock of a thread is read at most once in this time, apart from once per longer task.
const SHORT: Duration = Duration::from_micros(100);

thread_local! {
    /// When the clock of this thread was last read, and what it said.
    static READ: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// A task of this thread that runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    began: Instant,
    /// The processor time that this thread had used by then.
    used: Duration,
}

impl Watch {
    /// A task begins at `now`.
    pub(crate) fn start(now: Instant) -> Watch {
        let recent = READ.get().and_then(|(when, used)| {
            let since = now.saturating_duration_since(when);
            (since < SHORT).then(|| used + since)
        });
        let used = recent.unwrap_or_else(|| {
            let used = thread_time();
            READ.set(Some((now, used)));
            used
        });
        Watch { began: now, used }
    }

    /// The processor time of the task, which took `elapsed` by the clock on the wall.
    pub(crate) fn stop(self, elapsed: Duration) -> Duration {
        if elapsed < SHORT {
            return elapsed;
        }
        let used = thread_time();
        READ.set(Some((self.began + elapsed, used)));
        used.saturating_sub(self.used).min(elapsed)
    }
}

/// The processor time that this thread has used so far.
pub(crate) fn thread_time() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// The processor time that another thread has used so far; nothing once it has ended.
pub(crate) fn time_of<T>(thread: &std::thread::JoinHandle<T>) -> Duration {
    use std::os::unix::thread::JoinHandleExt;
    let mut clock = 0;
    // SAFETY: the handle has not been joined or detached, so its number is that of a thread, even of one that has
    // ended; `clock` is a live variable.
    let found = unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) };
    if found != 0 {
        return Duration::ZERO;
    }
    read(clock).unwrap_or_default()
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live variable of the right type.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a body uses by this thread's clock read outside, and by a watch.
    fn measure(body: impl FnOnce()) -> (Duration, Duration, Duration) {
        let (began, before) = (Instant::now(), thread_time());
        let watch = Watch::start(Instant::now());
        body();
        let elapsed = began.elapsed();
        let watched = watch.stop(elapsed);
        (watched, thread_time() - before, elapsed)
    }

    fn work() {
        let before = thread_time();
        while thread_time() - before < Duration::from_millis(5) {}
    }

    #[test]
    fn waiting_is_not_counted() {
        let (watched, used, elapsed) = measure(|| std::thread::sleep(Duration::from_millis(200)));
        assert!(elapsed >= Duration::from_millis(200));
        assert!(watched <= used + SHORT, "{watched:?} of {used:?}");
    }

    #[test]
    fn work_is_counted_also_after_short_tasks() {
        for _ in 0..5 {
            let (short, ..) = measure(|| ());
            assert!(short <= Duration::from_secs(1));
            let (watched, used, _) = measure(work);
            assert!(watched + SHORT >= Duration::from_millis(5), "{watched:?}");
            assert!(watched <= used + SHORT, "{watched:?} of {used:?}");
        }
    }

    #[test]
    fn the_time_of_another_thread() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            work();
            sender.send(()).unwrap();
            let _ = held.recv();
        });
        receiver.recv().unwrap();
        assert!(time_of(&other) >= Duration::from_millis(5));
        drop(release);
        other.join().unwrap();
    }
}
