//! Ctrl-C: once stops in order, twice stops now. And what is said when the system cannot give a page of a file.
//!
//! Law: a handler of Ctrl-C does nothing but count; a thread of ours sees the count and acts on it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use headwater::{Progress, Stop};

const STOPPING: &str =
    "stopping: running tasks are ended, finished work is kept (Ctrl-C again stops at once)";

static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn interrupted(_: libc::c_int) {
    if INTERRUPTS.fetch_add(1, Ordering::SeqCst) > 0 {
        // SAFETY: `_exit` may be called from a signal handler. Everything finished is durable or on its way
        // to be found missing: there is no special recovery path.
        unsafe { libc::_exit(1) }
    }
}

/// What is said where the system cannot give a page of a file.
const NO_PAGE: &str =
    "error: a page of a file cannot be had: the disk is full (No space left on device), or it fails
  help: whatever was finished is kept; make room, and give the command again
";

extern "C" fn without_page(_: libc::c_int) {
    // SAFETY: `write` and `_exit` may be called from a signal handler. There is no special recovery path.
    unsafe {
        libc::write(libc::STDERR_FILENO, NO_PAGE.as_ptr().cast(), NO_PAGE.len());
        libc::_exit(1)
    }
}

/// From now on a page that cannot be had ends the process with a word and not with a core dump. Some file systems,
/// such as Btrfs, say only in this way that there is no room for the memory that SQLite shares between processes.
pub(crate) fn explain_missing_pages() {
    // SAFETY: the handler only calls `write` and `_exit`, both of which are safe in a handler.
    unsafe {
        libc::signal(
            libc::SIGBUS,
            without_page as *const () as libc::sighandler_t,
        );
    }
}

/// From now on SIGINT and SIGTERM stop the run.
pub(crate) fn watch(stop: &Stop, progress: &Progress, quiet: bool) {
    let (stop, progress) = (stop.clone(), progress.clone());
    listen(move || {
        // Bars would draw over a line that is not theirs.
        if quiet {
            crate::show::talk(STOPPING);
        } else {
            progress.tell(STOPPING);
        }
        stop.now();
    });
}

/// From now on SIGINT and SIGTERM do this, once, on a thread of its own.
pub(crate) fn listen(heard: impl FnOnce() + Send + 'static) {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only touches an atomic and `_exit`, both of which are safe in a handler.
        unsafe {
            libc::signal(signal, interrupted as *const () as libc::sighandler_t);
        }
    }
    // Without the thread Ctrl-C has to be pressed twice.
    let _ = std::thread::Builder::new()
        .name("headwater-signals".to_owned())
        .spawn(move || {
            while INTERRUPTS.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            heard();
        });
}
