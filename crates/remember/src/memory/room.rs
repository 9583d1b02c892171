//! Room in a store in memory.
//!
//! Law: see [`Room`]. A run without a share protects what was used since it began; one with a share what it holds.

use std::collections::HashSet;

use headwater_graph::{Collected, Costs as _, Digest, Load, Neighbour, Room, StoreError};

use super::{MemoryStore, State};
use crate::collect::{Candidate, Planned};

/// What a run with a limit holds.
#[derive(Debug, Default)]
pub(super) struct Share {
    arriving: u64,
    waits: bool,
    held: HashSet<Digest>,
}

impl State {
    fn bytes(&self) -> u64 {
        let sizes = self.objects.values().map(|object| object.bytes.length());
        sizes.sum()
    }

    fn load(&self, own: &str) -> Load {
        let others = self.shares.iter().filter(|(run, _)| *run != own);
        Load {
            objects: self.bytes(),
            arriving: others.map(|(_, share)| share.arriving).sum(),
            has_dead: false,
        }
    }

    /// What has to go so that no more than `max` bytes are left. The run that asks, if one does, names what it needs.
    fn plan(
        &self,
        store: &MemoryStore,
        own: Option<&str>,
        max: u64,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> (Collected, Vec<Digest>) {
        let others = self.alive.iter().filter(|run| Some(run.as_str()) != own);
        let mut since = i64::MAX;
        let mut held: HashSet<Digest> = HashSet::new();
        for run in others {
            match self.shares.get(run) {
                Some(share) => held.extend(&share.held),
                None => {
                    let begun = self.runs.iter().find(|known| known.id == *run);
                    since = since.min(begun.map_or(i64::MIN, |run| run.started));
                }
            }
        }
        let rates = store.rates();
        let mut planned = Planned::default();
        for (digest, object) in &self.objects {
            let size = object.bytes.length();
            let is_protected = object.used >= since || held.contains(digest) || needed(digest);
            let (wall, reads) = (object.wall, object.reads);
            let candidate = Candidate::new(*digest, size, &rates, (wall, reads), object.used);
            planned.add(candidate, is_protected);
        }
        planned.choose(max)
    }

    fn remove(&mut self, store: &MemoryStore, going: &[Digest]) {
        for digest in going {
            self.objects.remove(digest);
            if self.files.remove(digest).is_some() {
                let _ = std::fs::remove_file(store.object_file(digest));
            }
        }
    }
}

impl Room for MemoryStore {
    fn take_share(&self, run: &str, held: &[Digest]) -> Result<(), StoreError> {
        let share = Share {
            held: held.iter().copied().collect(),
            ..Share::default()
        };
        self.state().shares.insert(run.to_owned(), share);
        Ok(())
    }

    fn hold(&self, run: &str, digests: &[Digest]) -> Result<(), StoreError> {
        if let Some(share) = self.state().shares.get_mut(run) {
            share.held.extend(digests);
        }
        Ok(())
    }

    fn load(&self, run: &str) -> Result<Load, StoreError> {
        Ok(self.state().load(run))
    }

    fn admit(&self, run: &str, arriving: u64, most: u64) -> Result<(Load, bool), StoreError> {
        let mut state = self.state();
        let load = state.load(run);
        let fits = load.bytes().saturating_add(arriving) <= most;
        if fits && let Some(share) = state.shares.get_mut(run) {
            share.arriving = arriving;
        }
        Ok((load, fits))
    }

    fn set_arriving(&self, run: &str, arriving: u64) -> Result<(), StoreError> {
        if let Some(share) = self.state().shares.get_mut(run) {
            share.arriving = arriving;
        }
        Ok(())
    }

    fn set_waits(&self, run: &str, waits: bool) -> Result<(), StoreError> {
        if let Some(share) = self.state().shares.get_mut(run) {
            share.waits = waits;
        }
        Ok(())
    }

    fn give_up(&self, run: &str, needed: &dyn Fn(&Digest) -> bool) -> Result<(), StoreError> {
        if let Some(share) = self.state().shares.get_mut(run) {
            share.held.retain(|digest| needed(digest));
        }
        Ok(())
    }

    fn end_dead_shares(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        let State { shares, alive, .. } = &mut *state;
        shares.retain(|run, _| alive.contains(run));
        Ok(())
    }

    fn neighbours(&self, own: &str) -> Result<Vec<Neighbour>, StoreError> {
        let state = self.state();
        let size = |digest: &Digest| state.objects.get(digest).map_or(0, |it| it.bytes.length());
        let neighbour = |run: &String| {
            let share = state.shares.get(run);
            Neighbour {
                run: run.clone(),
                held: share.map(|share| share.held.iter().map(size).sum()),
                waits: share.is_some_and(|share| share.waits),
            }
        };
        let others = state.alive.iter().filter(|run| *run != own);
        Ok(others.map(neighbour).collect())
    }

    fn listed_among(&self, digests: &[Digest]) -> HashSet<Digest> {
        let state = self.state();
        let listed = digests
            .iter()
            .filter(|digest| state.objects.contains_key(digest));
        listed.copied().collect()
    }

    fn listed_bytes(&self, digests: &[Digest]) -> Result<u64, StoreError> {
        let state = self.state();
        let listed = digests
            .iter()
            .filter_map(|digest| state.objects.get(digest));
        Ok(listed.map(|object| object.bytes.length()).sum())
    }

    fn object_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.state().bytes())
    }

    fn sweep_unlisted(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn make_room(
        &self,
        run: &str,
        max: u64,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> Result<(Collected, Vec<Digest>), StoreError> {
        self.give_up(run, needed)?;
        let mut state = self.state();
        let (collected, going) = state.plan(self, Some(run), max, needed);
        state.remove(self, &going);
        Ok((collected, going))
    }

    fn collect(&self, max: u64, dry_run: bool) -> Result<Collected, StoreError> {
        let mut state = self.state();
        let (collected, going) = state.plan(self, None, max, &|_| false);
        if !dry_run {
            state.remove(self, &going);
        }
        Ok(collected)
    }
}
