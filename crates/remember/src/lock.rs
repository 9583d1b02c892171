//! Locks among the threads of this process.
//!
//! Law: a panic in one thread keeps no other from going on.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic elsewhere: transactions roll back while unwinding, so nothing is left half-done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
