//! Locks among threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. A thread that panicked while it held the lock has left nothing half-done behind it that matters here.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
