//! What a file system says of a file.
//!
//! Law: a mark is made of numbers that somebody else has asked for; no file is looked at here. It differs when
//! somebody has written to the file or replaced it.

/// What a file looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its bytes.
    pub size: u64,
    /// When its contents were changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything of it was changed, its names and its mode included.
    pub changed: i64,
}

impl Mark {
    /// From the numbers of a file as the system gives them: device and inode, size, and the times when its contents and
    /// when anything of it was changed, in seconds and nanoseconds.
    pub fn new(
        (device, inode): (u64, u64),
        size: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    ) -> Mark {
        let nanoseconds = |(seconds, rest): (i64, i64)| -> i64 {
            seconds.wrapping_mul(1_000_000_000).wrapping_add(rest)
        };
        Mark {
            device,
            inode,
            size,
            modified: nanoseconds(modified),
            changed: nanoseconds(changed),
        }
    }

    /// Whether nothing differs but what another name or another mode changes.
    pub fn has_contents_of(&self, other: &Mark) -> bool {
        let changed = other.changed;
        Mark { changed, ..*self } == *other
    }
}
