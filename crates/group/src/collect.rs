//! Taking objects of a group away.
//!
//! Law: the owner does it, alone: nobody gives anything while some are taken. Rows go first, and bytes after them; so
//! what is listed is there. What was made or used since the oldest run that is alive began stays, and what was made in the
//! last hours stays unless that is asked for. Bytes that nothing lists go when they are old enough that nobody can be
//! about to list them.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_graph::{Collected, Digest};

use crate::Group;
use crate::link::Trouble;
use crate::lock::locked;
use crate::publish::behind_gate;
use crate::rows::key;

/// Objects that are taken away while nobody may give any.
const CHUNK: usize = 500;
/// Bytes that nothing lists may be on their way in; after a day they are not.
const UNLISTED: u64 = 24 * 60 * 60;

/// All objects: those of least worth first, with whether they may go. As in a store of one's own that is time saved per
/// byte, with what was read counted.
const CANDIDATES: &str = "
SELECT digest, size,
       used < coalesce((SELECT min(working) FROM headwater.sessions WHERE id <> $2 AND NOT headwater.is_dead(id)),
                       'infinity')
       AND placed <= clock_timestamp() - make_interval(secs => $1) AS may_go
FROM headwater.objects
ORDER BY (wall::float8 * (1 + reads)) / greatest(size, 1), used, digest";

/// Those that nobody has used in the meantime.
const TAKE: &str = "
DELETE FROM headwater.objects WHERE digest = ANY ($1)
    AND used < coalesce((SELECT min(working) FROM headwater.sessions WHERE id <> $2 AND NOT headwater.is_dead(id)),
                        'infinity')
RETURNING digest, size";

impl Group {
    /// Brings the bytes of objects down to `max`, or as near as living runs allow.
    pub(crate) fn collect(
        &self,
        max: u64,
        recent: Duration,
        dry_run: bool,
    ) -> Result<Collected, Trouble> {
        let pins = locked(&self.pins).clone();
        // What runs of this process hold is known to the last object, unless one of them says nothing of it.
        let own = if pins.is_exact() {
            self.session.load(Ordering::Acquire)
        } else {
            0
        };
        let candidates: Vec<(Digest, u64, bool)> = self.link.ask(|client| {
            let rows = client.query(CANDIDATES, &[&recent.as_secs_f64(), &own])?;
            let read = |row: &postgres::Row| {
                let size = row.try_get::<_, i64>(1).ok()?.cast_unsigned();
                let digest = Digest(key(row, 0)?);
                let may_go: bool = row.try_get(2).ok()?;
                Some((digest, size, may_go && !pins.holds(&digest)))
            };
            Ok(rows.iter().filter_map(read).collect())
        })?;
        let mut left: u64 = candidates.iter().map(|(_, size, _)| size).sum();
        let stay = candidates.iter().filter(|(_, _, may_go)| !may_go);
        let mut collected = Collected {
            protected: stay.map(|(_, size, _)| size).sum(),
            ..Collected::default()
        };
        let mut going = Vec::new();
        for (digest, size, may_go) in candidates {
            if left <= max {
                break;
            }
            if may_go {
                left -= size;
                collected.objects += 1;
                collected.bytes += size;
                going.push(digest);
            }
        }
        collected.left = left;
        if dry_run {
            return Ok(collected);
        }
        (collected.objects, collected.bytes) = (0, 0);
        let planned: u64 = going.len() as u64;
        let before = left;
        let mut gone = (0, 0);
        for chunk in going.chunks(CHUNK) {
            let taken = self.link.ask(|client| {
                behind_gate(client, "SELECT pg_advisory_lock($1)", |client| {
                    let wanted: Vec<&[u8]> = chunk.iter().map(|digest| &digest.0[..]).collect();
                    let rows = client.query(TAKE, &[&wanted, &own])?;
                    let read = |row: &postgres::Row| {
                        Some((
                            Digest(key(row, 0)?),
                            row.try_get::<_, i64>(1).ok()?.cast_unsigned(),
                        ))
                    };
                    let taken: Vec<(Digest, u64)> = rows.iter().filter_map(read).collect();
                    let digests: Vec<Digest> = taken.iter().map(|(digest, _)| *digest).collect();
                    self.bytes.remove(&digests)?;
                    Ok(taken)
                })
            })?;
            gone.0 += taken.len() as u64;
            gone.1 += taken.iter().map(|(_, size)| size).sum::<u64>();
        }
        (collected.objects, collected.bytes) = gone;
        if gone.0 < planned {
            let all = self.object_bytes()?;
            collected.left = all;
        } else {
            collected.left = before;
        }
        self.sweep()?;
        Ok(collected)
    }

    /// The bytes of all objects that are listed.
    pub(crate) fn object_bytes(&self) -> Result<u64, Trouble> {
        self.link.ask(|client| {
            let row = client.query_one(
                "SELECT coalesce(sum(size), 0)::bigint FROM headwater.objects",
                &[],
            )?;
            Ok(row.try_get::<_, i64>(0)?.cast_unsigned())
        })
    }

    /// Removes old bytes that nothing lists.
    fn sweep(&self) -> Result<(), Trouble> {
        self.bytes.sweep(UNLISTED)?;
        let old: Vec<Digest> = self
            .bytes
            .list()?
            .into_iter()
            .filter(|(_, age)| *age >= UNLISTED)
            .map(|(digest, _)| digest)
            .collect();
        for chunk in old.chunks(CHUNK) {
            self.link.ask(|client| {
                behind_gate(client, "SELECT pg_advisory_lock($1)", |client| {
                    let wanted: Vec<&[u8]> = chunk.iter().map(|digest| &digest.0[..]).collect();
                    let question = "SELECT digest FROM headwater.objects WHERE digest = ANY ($1)";
                    let rows = client.query(question, &[&wanted])?;
                    let listed: HashSet<[u8; 32]> =
                        rows.iter().filter_map(|row| key(row, 0)).collect();
                    let rubbish: Vec<Digest> = chunk
                        .iter()
                        .filter(|digest| !listed.contains(&digest.0))
                        .copied()
                        .collect();
                    self.bytes.remove(&rubbish)
                })
            })?;
        }
        Ok(())
    }
}
