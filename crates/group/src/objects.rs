//! Objects of a group: which there are, and bringing them to one's own store.
//!
//! Law: an object that a row lists was durable when the row was written. What turns out not to be there, or not to be
//! what its name says, is struck from the list, so that whoever needs it makes it again. Bytes are compared with their
//! digest before they are in one's own store.

use std::sync::Mutex;

use headwater_graph::{Digest, Store, StoreError};

use crate::Group;
use crate::link::Trouble;
use crate::lock::locked;

/// Objects that are fetched at once.
const AT_ONCE: usize = 8;
/// Objects that are made durable together.
const TOGETHER: usize = 32;

/// Which are listed; they count as used from now on.
const USE: &str = "
WITH found AS (
    SELECT digest FROM headwater.objects WHERE digest = ANY ($1) ORDER BY digest FOR UPDATE
)
UPDATE headwater.objects AS object SET used = clock_timestamp(), reads = reads + 1
FROM found WHERE object.digest = found.digest RETURNING object.digest, object.size";
/// The same for those who may only look.
const LOOK: &str = "SELECT digest, size FROM headwater.objects WHERE digest = ANY ($1)";

impl Group {
    /// Which of these the group has. None where it cannot be asked.
    pub(crate) fn lists(&self, digests: &[Digest]) -> Vec<bool> {
        let question = if self.may_write { USE } else { LOOK };
        let mut found = std::collections::HashSet::new();
        for chunk in digests.chunks(10_000) {
            let mut wanted: Vec<&[u8]> = chunk.iter().map(|digest| &digest.0[..]).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let asked = self.link.ask(|client| {
                let rows = client.query(question, &[&wanted])?;
                let read = |row: &postgres::Row| {
                    let size = row.try_get::<_, i64>(1).ok()?.cast_unsigned();
                    Some((crate::rows::key(row, 0)?, size))
                };
                Ok(rows.iter().filter_map(read).collect::<Vec<_>>())
            });
            match asked {
                Ok(listed) => {
                    for (digest, size) in listed {
                        if self.is_whole(&Digest(digest), size) {
                            found.insert(digest);
                        }
                    }
                }
                Err(trouble) => {
                    self.note(trouble);
                    break;
                }
            }
        }
        digests
            .iter()
            .map(|digest| found.contains(&digest.0))
            .collect()
    }

    /// Whether an object that is listed looks as it should, where that can be seen without reading it. One that does not is
    /// struck from the list. Where it cannot be looked at, that is found out by whoever needs it.
    fn is_whole(&self, digest: &Digest, size: u64) -> bool {
        match self.bytes.size(digest) {
            Ok(Some(found)) if found != size => {
                self.strike(digest, "is not what its name says");
                false
            }
            Err(Trouble::Other(StoreError::Missing(_))) => {
                self.strike(digest, "is not there");
                false
            }
            Err(Trouble::Other(error)) => {
                self.note(Trouble::Other(error));
                false
            }
            Ok(_) | Err(_) => true,
        }
    }

    /// Brings objects of the group to the store in front; those that cannot be had are simply not there afterwards.
    pub(crate) fn bring(&self, front: &dyn Store, digests: &[Digest]) {
        let chunks =
            Mutex::new(digests.chunks(TOGETHER.min(digests.len().div_ceil(AT_ONCE).max(1))));
        let fetch = || {
            loop {
                let Some(chunk) = locked(&chunks).next() else {
                    return;
                };
                self.bring_some(front, chunk);
            }
        };
        if digests.len() == 1 {
            return fetch();
        }
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(digests.len()) {
                // Where no thread can be started those that run do it all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, fetch);
            }
            fetch();
        });
    }

    fn bring_some(&self, front: &dyn Store, digests: &[Digest]) {
        let mut there = Vec::new();
        for digest in digests {
            match self.bytes.get(digest) {
                Ok(bytes) => there.push((*digest, bytes)),
                Err(Trouble::Other(StoreError::Missing(_))) => self.strike(digest, "is not there"),
                Err(trouble) => self.note(trouble),
            }
        }
        let mut arriving: Vec<(Digest, &mut dyn std::io::Read)> = there
            .iter_mut()
            .map(|(digest, bytes)| (*digest, &mut **bytes as &mut dyn std::io::Read))
            .collect();
        match front.bring(&mut arriving) {
            Ok(left_out) => {
                for (place, error) in left_out {
                    let digest = arriving[place].0;
                    match error {
                        StoreError::Damaged { .. } => {
                            self.strike(&digest, "is not what its name says");
                        }
                        other => self.note(Trouble::Other(other)),
                    }
                }
            }
            Err(error) => self.note(Trouble::Other(error)),
        }
    }

    /// Takes an object off the list that cannot be used, and says so.
    pub(crate) fn strike(&self, digest: &Digest, why: &str) {
        locked(&self.damage).push(format!("object {digest} of the group {why}"));
        if !self.may_write {
            return;
        }
        let struck = self.link.ask(|client| {
            client.execute("SELECT headwater.strike($1)", &[&vec![&digest.0[..]]])?;
            Ok(())
        });
        if let Err(trouble) = struck {
            self.note(trouble);
        }
    }
}
