//! How a limit on memory is shared out.
//!
//! Law: what tasks and products may take, what waits for the store and what the engine takes itself come to the limit
//! together. A limit that is too small for that leaves nothing for tasks: each runs alone then, and that is told.

use headwater_enact::Coordinator;
use headwater_execute::give_back_large_blocks;

/// At most so many bytes of values are on their way to the store, whatever there is.
pub const STORE: u64 = 512 << 20;

/// What the program takes without any task: its code, its threads, the database.
const ENGINE: u64 = 32 << 20;

/// Has the process keep to a limit that somebody has set: see [`give_back_large_blocks`].
pub fn keep_to(memory: Option<u64>) {
    if memory.is_some() {
        give_back_large_blocks();
    }
}

/// Bytes for values that are on their way to the store.
pub fn for_store(memory: Option<u64>) -> u64 {
    memory.map_or(STORE, |memory| (memory / 8).min(STORE))
}

/// Bytes of the limit that are not for tasks and their products.
pub fn aside(memory: Option<u64>) -> u64 {
    for_store(memory) + ENGINE
}

/// The smallest limit that leaves so many bytes for tasks and their products.
fn enough(bytes: u64) -> u64 {
    let beside_store = bytes.saturating_add(ENGINE);
    let with_share = (beside_store.saturating_mul(8) / 7).saturating_add(1);
    with_share.min(beside_store.saturating_add(STORE))
}

/// What is to be told of tasks that did not fit; `limit` is what the user set the limit with.
pub fn told(coordinator: &Coordinator, memory: Option<u64>, limit: &str) -> Option<String> {
    let oversized = coordinator.oversized();
    if oversized.tasks == 0 {
        return None;
    }
    let tasks = match oversized.tasks {
        1 => "1 task ran".to_owned(),
        many => format!("{many} tasks ran"),
    };
    let most = readable(enough(oversized.most));
    let allowed = match memory {
        Some(memory) => format!("the memory of {} that {limit} allows", readable(memory)),
        None => "the memory of this machine".to_owned(),
    };
    Some(format!(
        "{tasks} with no other task at the same time, and may have used more than {allowed}: about {most} would have been enough"
    ))
}

/// A number of bytes for people, rounded up.
fn readable(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        // Whole numbers say enough, unless they are small.
        if bytes >= 10 * unit || (bytes >= unit && bytes.is_multiple_of(unit)) {
            return format!("{} {name}", bytes.div_ceil(unit));
        }
        if bytes >= unit {
            let tenths = (bytes.saturating_mul(10)).div_ceil(unit);
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_come_to_the_limit_and_never_to_more() {
        assert_eq!(for_store(None), STORE);
        assert_eq!(for_store(Some(1 << 30)), 128 << 20);
        assert_eq!(aside(Some(1 << 30)), 160 << 20);
        assert_eq!(for_store(Some(1 << 40)), STORE);
        assert_eq!(for_store(Some(1)), 0);
        for wanted in [0, 1, 1 << 20, 7 << 27, 1 << 40] {
            let memory = enough(wanted);
            assert!(memory - aside(Some(memory)) >= wanted);
            assert!(memory - aside(Some(memory)) <= wanted + 2);
        }
    }

    #[test]
    fn sizes_are_readable() {
        let all = [1, 1 << 10, 3 << 29, 12 << 20, (12 << 20) + 1].map(readable);
        assert_eq!(all, ["1 B", "1 KiB", "1.5 GiB", "12 MiB", "13 MiB"]);
    }
}
