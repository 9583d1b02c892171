//! Room in the folder: `shares` has what runs with a limit hold, `collect` takes bytes away.
//!
//! Law: see [`Room`]; the argument why nothing is taken away that somebody relies on is at the top of `collect`.

use std::collections::HashSet;

use headwater_graph::{Collected, Digest, Load, Neighbour, Room, StoreError};

use crate::store::FolderStore;

impl Room for FolderStore {
    fn take_share(&self, run: &str, held: &[Digest]) -> Result<(), StoreError> {
        FolderStore::take_share(self, run, held)
    }

    fn hold(&self, run: &str, digests: &[Digest]) -> Result<(), StoreError> {
        FolderStore::hold(self, run, digests)
    }

    fn load(&self, run: &str) -> Result<Load, StoreError> {
        FolderStore::load(self, run)
    }

    fn admit(&self, run: &str, arriving: u64, most: u64) -> Result<(Load, bool), StoreError> {
        FolderStore::admit(self, run, arriving, most)
    }

    fn set_arriving(&self, run: &str, arriving: u64) -> Result<(), StoreError> {
        FolderStore::set_arriving(self, run, arriving)
    }

    fn set_waits(&self, run: &str, waits: bool) -> Result<(), StoreError> {
        FolderStore::set_waits(self, run, waits)
    }

    fn give_up(&self, run: &str, needed: &dyn Fn(&Digest) -> bool) -> Result<(), StoreError> {
        FolderStore::give_up(self, run, needed)
    }

    fn end_dead_shares(&self) -> Result<(), StoreError> {
        FolderStore::end_dead_shares(self)
    }

    fn neighbours(&self, own: &str) -> Result<Vec<Neighbour>, StoreError> {
        FolderStore::neighbours(self, own)
    }

    fn listed_among(&self, digests: &[Digest]) -> HashSet<Digest> {
        FolderStore::listed_among(self, digests)
    }

    fn listed_bytes(&self, digests: &[Digest]) -> Result<u64, StoreError> {
        FolderStore::listed_bytes(self, digests)
    }

    fn object_bytes(&self) -> Result<u64, StoreError> {
        FolderStore::object_bytes(self)
    }

    fn sweep_unlisted(&self) -> Result<(), StoreError> {
        FolderStore::sweep_unlisted(self)
    }

    fn make_room(
        &self,
        run: &str,
        max: u64,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> Result<(Collected, Vec<Digest>), StoreError> {
        FolderStore::make_room(self, run, max, needed)
    }

    fn collect(&self, max: u64, dry_run: bool) -> Result<Collected, StoreError> {
        FolderStore::collect(self, max, dry_run)
    }
}
