//! Room: runs with a limit on disk, what each of them holds, and taking bytes away.
//!
//! Law: records stay; bytes may go and are made again when they are needed. What a run that is alive has made or asked
//! for stays: by time for a run without a share, by digest for a run with one, which has written down that it holds an
//! object before it looks whether the object is there.

use std::collections::HashSet;

use crate::{Digest, StoreError};

/// What takes room in a store, apart from what the asking run is about to place itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Bytes of objects.
    pub objects: u64,
    /// Bytes of objects that other runs are about to place.
    pub arriving: u64,
    /// A run has died since the last look, and may have left files that are not counted.
    pub has_dead: bool,
}

impl Load {
    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.objects.saturating_add(self.arriving)
    }
}

/// Another run that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Its name.
    pub run: String,
    /// The bytes of the objects that it holds; `None` where it has no limit, and so names none.
    pub held: Option<u64>,
    /// Whether it waits for room.
    pub waits: bool,
}

/// What a collection took away, or would take away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Objects taken away.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of the objects that are left.
    pub left: u64,
    /// The bytes among them that had to stay because of runs that are alive.
    pub protected: u64,
}

/// Counts the bytes of objects, and takes them away.
pub trait Room: Send + Sync {
    /// Gives a run of this process a share. From now on others may take away what it does not hold.
    fn take_share(&self, run: &str, held: &[Digest]) -> Result<(), StoreError>;

    /// A run with a share holds these objects, too.
    fn hold(&self, run: &str, digests: &[Digest]) -> Result<(), StoreError>;

    /// What takes room, for a run that has a share.
    fn load(&self, run: &str) -> Result<Load, StoreError>;

    /// A run is about to place `arriving` bytes in all, if the whole is no more than `most` then. Returns what takes
    /// room, and whether they are admitted. No two runs are admitted at once.
    fn admit(&self, run: &str, arriving: u64, most: u64) -> Result<(Load, bool), StoreError>;

    /// The number of bytes that a run is about to place: fewer than it was admitted with, since some are stored.
    fn set_arriving(&self, run: &str, arriving: u64) -> Result<(), StoreError>;

    /// A run waits for room, or no longer does.
    fn set_waits(&self, run: &str, waits: bool) -> Result<(), StoreError>;

    /// A run gives up those of its objects that it does not need; others may take them away.
    fn give_up(&self, run: &str, needed: &dyn Fn(&Digest) -> bool) -> Result<(), StoreError>;

    /// The shares of runs that have died end. What they were about to place is no longer expected.
    fn end_dead_shares(&self) -> Result<(), StoreError>;

    /// The other runs that are alive, by name.
    fn neighbours(&self, own: &str) -> Result<Vec<Neighbour>, StoreError>;

    /// Which of these objects are listed, and so take no more room when they are made once more.
    fn listed_among(&self, digests: &[Digest]) -> HashSet<Digest>;

    /// The bytes of those of these objects that are listed.
    fn listed_bytes(&self, digests: &[Digest]) -> Result<u64, StoreError>;

    /// The bytes of all objects.
    fn object_bytes(&self) -> Result<u64, StoreError>;

    /// Removes bytes that no object lists: a process that was killed has left them.
    fn sweep_unlisted(&self) -> Result<(), StoreError>;

    /// Brings the bytes of objects down to `max`, or as near as `needed` and other runs that are alive allow. What the
    /// runs of this process use is not protected unless `needed` says so: they know by digest what they need. A run with
    /// a share gives up what `needed` does not name. Returns what went.
    fn make_room(
        &self,
        run: &str,
        max: u64,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> Result<(Collected, Vec<Digest>), StoreError>;

    /// Brings the bytes of objects down to `max`, or as near as live runs allow. With `dry_run` nothing is changed.
    fn collect(&self, max: u64, dry_run: bool) -> Result<Collected, StoreError>;
}
