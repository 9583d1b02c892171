//! Giving products to the group.
//!
//! Law: bytes first, then the rows that speak of them, in one transaction. Of two who give the same product the first
//! wins, and the second learns whether the two are equal. While somebody gives, nobody takes objects away: those who
//! give hold a lock of the server together, those who collect hold it alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use headwater_graph::{Alias, Digest, ProductRecord, Pushed, Recipe, Store, StoreError};
use headwater_remember::{gave_the_same, pack};
use postgres::Client;

use crate::Group;
use crate::link::Trouble;
use crate::lock::locked;
use crate::rows;

/// Shared by those who give, held alone by those who take away.
pub(crate) const GATE: i64 = 7_522_331_108_702;
/// Objects that are put at once.
const AT_ONCE: usize = 8;
/// Products in one transaction.
const CHUNK: usize = 20_000;

const LISTED: &str = "SELECT digest FROM headwater.objects WHERE digest = ANY ($1)";
const LIST: &str = "
INSERT INTO headwater.objects (digest, size, wall)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
ON CONFLICT (digest) DO UPDATE SET wall = greatest(objects.wall, excluded.wall), used = clock_timestamp()";
/// What is given again is as if it had been given now.
const RENEW: &str = "
WITH found AS (
    SELECT digest FROM headwater.objects WHERE digest = ANY ($1) ORDER BY digest FOR UPDATE
)
UPDATE headwater.objects AS object SET placed = clock_timestamp(), used = clock_timestamp()
FROM found WHERE object.digest = found.digest";
const FIRST_ONES: &str =
    "SELECT recipe, details, maker, run FROM headwater.products WHERE recipe = ANY ($1)";

/// A product on its way to the group, with all objects that it consists of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Giving<'a> {
    pub(crate) record: &'a ProductRecord,
    pub(crate) objects: &'a [Digest],
}

/// Why products are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// They were just made, so that most are new.
    Made,
    /// The same; their objects are somebody else's care.
    Recorded,
    /// Somebody asks for it: the group may have them.
    Asked,
}

/// The objects that a record speaks of; `None` where one that lists others cannot be read. Bytes that are no value are an
/// object like any other: what they mean is not for a store to say.
pub(crate) fn objects_of(record: &ProductRecord, front: &dyn Store) -> Option<Vec<Digest>> {
    let mut digests = Vec::new();
    for (_, output) in &record.outputs {
        let read = |digest: &Digest| front.read(digest).ok();
        if output.objects(u64::MAX, read, &mut digests).is_none() {
            let encoding = output.encoding?;
            front.read(&encoding).ok()?;
            digests.push(encoding);
        }
    }
    digests.sort_unstable();
    digests.dedup();
    Some(digests)
}

/// Whether the server can keep a text.
fn is_plain(record: &ProductRecord) -> bool {
    let texts = [&record.operation, &record.version, &record.run];
    texts.iter().all(|text| !text.contains('\0'))
}

impl Group {
    /// Gives products and aliases to the group. What the store in front no longer has is left out.
    pub(crate) fn publish(
        &self,
        front: &dyn Store,
        giving: &[Giving<'_>],
        aliases: &[&Alias],
        occasion: Occasion,
    ) -> Result<Pushed, Trouble> {
        let mut giving: Vec<Giving<'_>> = giving.to_vec();
        giving.retain(|giving| is_plain(giving.record));
        // In one order for all, so that no two wait for each other.
        giving.sort_by_key(|giving| giving.record.recipe);
        giving.dedup_by_key(|giving| giving.record.recipe);
        let mut aliases = aliases.to_vec();
        aliases.sort_by_key(|alias| alias.recipe);
        aliases.dedup_by_key(|alias| alias.recipe);
        let mut pushed = Pushed::default();
        for chunk in giving.chunks(CHUNK) {
            let some = self.link.ask(|client| {
                behind_gate(client, "SELECT pg_advisory_lock_shared($1)", |client| {
                    self.publish_some(client, front, chunk, occasion)
                })
            })?;
            pushed.add(some);
        }
        self.link
            .ask(|client| rows::add_aliases(client, &aliases))?;
        Ok(pushed)
    }

    fn publish_some(
        &self,
        client: &mut Client,
        front: &dyn Store,
        giving: &[Giving<'_>],
        occasion: Occasion,
    ) -> Result<Pushed, Trouble> {
        let mut pushed = Pushed::default();
        let mut walls: BTreeMap<Digest, u64> = BTreeMap::new();
        for giving in giving {
            for digest in giving.objects {
                let wall = walls.entry(*digest).or_insert(0);
                *wall = (*wall).max(giving.record.wall);
            }
        }
        let mut missing = HashSet::new();
        let mut listing = (Vec::new(), Vec::new(), Vec::new());
        let mut again: Vec<Digest> = Vec::new();
        if occasion != Occasion::Recorded && !walls.is_empty() {
            let wanted: Vec<&[u8]> = walls.keys().map(|digest| &digest.0[..]).collect();
            let rows = client.query(LISTED, &[&wanted])?;
            let listed: HashSet<[u8; 32]> =
                rows.iter().filter_map(|row| rows::key(row, 0)).collect();
            let is_listed = |digest: &&Digest| listed.contains(&digest.0);
            again = walls.keys().filter(is_listed).copied().collect();
            let is_new = |digest: &&Digest| !listed.contains(&digest.0);
            let new: Vec<Digest> = walls.keys().filter(is_new).copied().collect();
            for (digest, put) in self.put_all(front, &new) {
                match put {
                    Ok(size) => {
                        listing.0.push(digest.0.to_vec());
                        listing.1.push(size.cast_signed());
                        listing.2.push(walls[&digest].cast_signed());
                        pushed.objects += 1;
                        pushed.bytes += size;
                    }
                    Err(Trouble::Other(StoreError::Missing(_) | StoreError::Damaged { .. })) => {
                        missing.insert(digest);
                    }
                    Err(Trouble::Away(why)) => return Err(Trouble::ObjectsAway(why)),
                    Err(trouble) => return Err(trouble),
                }
            }
        }
        let whole =
            |giving: &&Giving<'_>| !giving.objects.iter().any(|digest| missing.contains(digest));
        let records: Vec<rows::NewRow<'_>> = giving
            .iter()
            .filter(whole)
            .map(|giving| (giving.record, giving.objects))
            .collect();
        pushed.left_out = (giving.len() - records.len()) as u64;
        let mut transaction = client.transaction()?;
        if !again.is_empty() {
            let again: Vec<&[u8]> = again.iter().map(|digest| &digest.0[..]).collect();
            transaction.execute(RENEW, &[&again])?;
        }
        if !listing.0.is_empty() {
            transaction.execute(LIST, &[&listing.0, &listing.1, &listing.2])?;
        }
        let added = match occasion {
            Occasion::Made | Occasion::Recorded => rows::add_new(&mut transaction, &records)?,
            Occasion::Asked => rows::add(&mut transaction, &records)?,
        };
        let added: HashSet<Recipe> = added.into_iter().collect();
        let mut lost: Vec<_> = records
            .iter()
            .filter(|(record, _)| !added.contains(&record.recipe))
            .copied()
            .collect();
        if !lost.is_empty() {
            let differ = differing(&mut transaction, &lost)?;
            lost.retain(|(record, _)| differ.contains_key(&record.recipe));
            // One whose objects are gone makes room.
            let wanted: Vec<&[u8]> = lost
                .iter()
                .map(|(record, _)| &record.recipe.0[..])
                .collect();
            if !lost.is_empty() {
                transaction.execute("SELECT headwater.forget_lost($1)", &[&wanted])?;
            }
            let again: HashSet<Recipe> = rows::add(&mut transaction, &lost)?.into_iter().collect();
            let stay = differ
                .into_iter()
                .filter(|(recipe, _)| !again.contains(recipe));
            let notes: Vec<String> = stay.map(|(_, note)| note).collect();
            pushed.different = notes.len() as u64;
            pushed.products += again.len() as u64;
            locked(&self.notices).extend(notes);
        }
        transaction.commit()?;
        pushed.products += added.len() as u64;
        pushed.present = records.len() as u64 - pushed.products;
        Ok(pushed)
    }

    /// Puts objects of one's own store where the group has them, several at once; each with its size. After one that
    /// could not be put because nothing can be reached, no more are tried.
    fn put_all(
        &self,
        front: &dyn Store,
        digests: &[Digest],
    ) -> Vec<(Digest, Result<u64, Trouble>)> {
        let paths = front.paths(digests);
        let left = Mutex::new(digests.iter().zip(paths));
        let done = Mutex::new(Vec::with_capacity(digests.len()));
        let is_over = AtomicBool::new(false);
        let put_some = || {
            while !is_over.load(Ordering::Acquire) {
                let Some((digest, path)) = locked(&left).next() else {
                    return;
                };
                let put = path.ok_or(Trouble::Other(StoreError::Missing(*digest)));
                let put = put.and_then(|path| self.put(digest, &path));
                if matches!(put, Err(Trouble::Away(_))) {
                    is_over.store(true, Ordering::Release);
                }
                locked(&done).push((*digest, put));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..AT_ONCE.min(digests.len()) {
                // Where no thread can be started those that run do it all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, put_some);
            }
            put_some();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        // In one order for all, so that no two wait for each other's rows.
        done.sort_by_key(|(digest, _)| *digest);
        done
    }

    fn put(&self, digest: &Digest, path: &std::path::Path) -> Result<u64, Trouble> {
        let failed = |source| {
            Trouble::Other(StoreError::Io {
                what: format!("cannot read {}", path.display()),
                source,
            })
        };
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        self.bytes.put(digest, file)?;
        Ok(size)
    }
}

/// Does something while a lock of the server is held, and releases it whatever happened.
pub(crate) fn behind_gate<T>(
    client: &mut Client,
    lock: &str,
    work: impl FnOnce(&mut Client) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    client.execute(lock, &[&GATE])?;
    let done = work(client);
    // A connection that is broken holds nothing.
    let _ = client.execute("SELECT pg_advisory_unlock_all()", &[]);
    done
}

/// Of records that came second, those that say something else than the first, with a sentence about it.
fn differing(
    client: &mut impl postgres::GenericClient,
    lost: &[rows::NewRow<'_>],
) -> Result<HashMap<Recipe, String>, Trouble> {
    let wanted: Vec<&[u8]> = lost
        .iter()
        .map(|(record, _)| &record.recipe.0[..])
        .collect();
    let rows = client.query(FIRST_ONES, &[&wanted])?;
    let mut first = HashMap::new();
    for row in &rows {
        first.extend(rows::key(row, 0).map(|key| (Recipe(key), row)));
    }
    let mut differ = HashMap::new();
    for (record, _) in lost {
        let Some(row) = first.get(&record.recipe) else {
            continue;
        };
        if !gave_the_same(&record.recipe, row.try_get(1)?, &pack(record)) {
            let (maker, run): (&str, &str) = (row.try_get(2)?, row.try_get(3)?);
            let note = format!(
                "`{}` gave another result than the product {} of the group, which {maker} made in run {run}: the \
                 operation is not deterministic, or one of the two was changed; the first one stays",
                record.operation, record.recipe,
            );
            differ.insert(record.recipe, note);
        }
    }
    Ok(differ)
}
