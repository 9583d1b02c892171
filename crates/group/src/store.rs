//! The store of a group behind one's own: what is asked of a store, and which of the two answers.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use headwater_graph::{
    Alias, Attachments, Behind, Collected, Cost, Costs, Digest, DirectoryValue, FileDigest,
    FoundProduct, FoundRun, GroupFacts, Lease, Leases, Load, Local, Mode, Neighbour, ObjectPlace,
    Objects, Owner, ProductFilter, ProductRecord, Pushed, Questions, Rates, Recipe, Records, Room,
    RunFolders, RunRecord, RunStatus, RunTask, Runs, Store, StoreEntry, StoreError, Tally, Times,
    Verified, VersionParts, Waiting,
};

use crate::layers::{Layers, MOMENT};
use crate::link::Trouble;
use crate::lock::locked;
use crate::publish::{Giving, Occasion, objects_of};
use crate::rows;
use crate::session::Session;
use crate::spool::Spool;

/// The store of a group behind one's own.
pub(crate) struct GroupStore {
    /// Before the layers, so that its thread has ended when they go.
    pub(crate) session: Option<Session>,
    pub(crate) layers: Arc<Layers>,
}

impl fmt::Debug for GroupStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GroupStore")
            .field("group", &self.layers.group.shown)
            .field("front", &self.layers.front)
            .finish_non_exhaustive()
    }
}

impl GroupStore {
    /// Says to the group whether runs of this process are alive.
    fn set_working(&self, is_working: bool) {
        if let Some(session) = &self.session
            && let Err(trouble) = session.set_working(is_working)
        {
            self.layers.group.note(trouble);
        }
    }
}

impl Records for GroupStore {
    fn fetch_shared(
        &self,
        recipes: &[Recipe],
    ) -> Result<Vec<Option<Arc<ProductRecord>>>, StoreError> {
        let own = self.layers.front.fetch_shared(recipes)?;
        Ok(self.layers.complete(own, recipes, rows::fetch))
    }

    fn equal(&self, keys: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let own = self.layers.front.equal(keys)?;
        Ok(self.layers.complete(own, keys, rows::equal))
    }

    fn times(&self, recipes: &[Recipe]) -> Result<Vec<Option<Times>>, StoreError> {
        let own = self.layers.front.times(recipes)?;
        Ok(self
            .layers
            .complete(own, recipes, |client, recipes, trust| {
                let known = rows::known(client, recipes, trust)?.into_iter();
                Ok(known
                    .map(|known| known.map(|(_, times, _)| times))
                    .collect())
            }))
    }

    fn products_of(&self, recipes: &[Recipe]) -> Result<Vec<Option<Recipe>>, StoreError> {
        let own = self.layers.front.products_of(recipes)?;
        Ok(self
            .layers
            .complete(own, recipes, |client, recipes, trust| {
                let known = rows::known(client, recipes, trust)?.into_iter();
                Ok(known
                    .map(|known| known.map(|(recipe, _, _)| recipe))
                    .collect())
            }))
    }

    fn makers_of(&self, recipes: &[Recipe]) -> Result<Vec<Arc<str>>, StoreError> {
        let front = &self.layers.front;
        let own = front.products_of(recipes)?;
        let mut makers: BTreeSet<Arc<str>> = front.makers_of(recipes)?.into_iter().collect();
        let others = self.layers.complete(
            own.into_iter().map(|own| own.map(|_| None)).collect(),
            recipes,
            |client, recipes, trust| {
                let known = rows::known(client, recipes, trust)?.into_iter();
                Ok(known
                    .map(|known| known.map(|(_, _, run)| Some(run)))
                    .collect())
            },
        );
        makers.extend(others.into_iter().flatten().flatten());
        Ok(makers.into_iter().collect())
    }

    fn aliases(&self, recipes: &[Recipe]) -> Result<Vec<Option<Alias>>, StoreError> {
        let own = self.layers.front.aliases(recipes)?;
        Ok(self.layers.complete(own, recipes, rows::aliases))
    }

    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError> {
        self.layers.front.register(records)?;
        if !self.layers.publishes {
            return Ok(());
        }
        let objects = |record| objects_of(record, &*self.layers.front).unwrap_or_default();
        let objects: Vec<Vec<Digest>> = records.iter().map(objects).collect();
        let giving = records.iter().zip(&objects);
        let giving: Vec<Giving<'_>> = giving
            .map(|(record, objects)| Giving { record, objects })
            .collect();
        self.layers.give(&giving, &[], Occasion::Recorded)
    }
}

impl Objects for GroupStore {
    fn keep(&self, batch: &[StoreEntry]) -> Result<Vec<(usize, StoreError)>, StoreError> {
        let layers = &self.layers;
        let mut left_out = layers.front.keep(batch)?;
        // A task may be equal to a product that only the group has.
        let mut foreign = HashSet::new();
        let lost: Vec<(usize, Recipe)> = left_out
            .iter()
            .filter_map(|(place, _)| match &batch[*place] {
                StoreEntry::Alias(alias) => Some((*place, alias.target)),
                StoreEntry::Product(_) => None,
            })
            .collect();
        if !lost.is_empty() {
            let targets: Vec<Recipe> = lost.iter().map(|(_, target)| *target).collect();
            let trust = &layers.group.trust;
            let known = layers
                .group
                .asked(|client| rows::known(client, &targets, trust));
            let known = known.into_iter().flatten().zip(&lost);
            foreign.extend(known.filter_map(|(known, (place, _))| known.map(|_| *place)));
        }
        left_out.retain(|(place, _)| !foreign.contains(place));
        if !layers.publishes {
            return Ok(left_out);
        }
        let gone: HashSet<usize> = left_out.iter().map(|(place, _)| *place).collect();
        let (mut products, mut aliases) = (Vec::new(), Vec::new());
        for (place, entry) in batch.iter().enumerate() {
            match entry {
                _ if gone.contains(&place) => {}
                StoreEntry::Alias(alias) => aliases.push(alias),
                StoreEntry::Product(pending) => {
                    let mut objects =
                        objects_of(&pending.record, &*layers.front).unwrap_or_default();
                    objects.extend(pending.objects.iter().map(|object| object.digest));
                    objects.sort_unstable();
                    objects.dedup();
                    products.push((&pending.record, objects));
                }
            }
        }
        let giving: Vec<Giving<'_>> = products
            .iter()
            .map(|(record, objects)| Giving { record, objects })
            .collect();
        layers.give(&giving, &aliases, Occasion::Made)?;
        Ok(left_out)
    }

    fn bring(
        &self,
        objects: &mut [(Digest, &mut dyn io::Read)],
    ) -> Result<Vec<(usize, StoreError)>, StoreError> {
        self.layers.front.bring(objects)
    }

    fn has(&self, digests: &[Digest]) -> Vec<bool> {
        let mut has = self.layers.front.has(digests);
        let open: Vec<usize> = (0..has.len()).filter(|place| !has[*place]).collect();
        if !open.is_empty() {
            let wanted: Vec<Digest> = open.iter().map(|place| digests[*place]).collect();
            for (place, listed) in open.into_iter().zip(self.layers.group.lists(&wanted)) {
                has[place] = listed;
            }
        }
        has
    }

    fn places(&self, digests: &[Digest]) -> Vec<ObjectPlace> {
        let mut places = self.layers.front.places(digests);
        let is_open = |place: &usize| places[*place] == ObjectPlace::Missing;
        let open: Vec<usize> = (0..places.len()).filter(is_open).collect();
        if !open.is_empty() {
            let wanted: Vec<Digest> = open.iter().map(|place| digests[*place]).collect();
            for (place, listed) in open.into_iter().zip(self.layers.group.lists(&wanted)) {
                if listed {
                    places[place] = ObjectPlace::Elsewhere;
                }
            }
        }
        places
    }

    fn paths(&self, digests: &[Digest]) -> Vec<Option<PathBuf>> {
        let mut paths = self.layers.front.paths(digests);
        let open: Vec<usize> = (0..paths.len())
            .filter(|place| paths[*place].is_none())
            .collect();
        if !open.is_empty() {
            let wanted: Vec<Digest> = open.iter().map(|place| digests[*place]).collect();
            self.layers.bring(&wanted);
            for (place, path) in open.into_iter().zip(self.layers.front.paths(&wanted)) {
                paths[place] = path;
            }
        }
        paths
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.layers.here(digest, || self.layers.front.read(digest))
    }

    fn share(&self, digest: &Digest) -> Result<Owner, StoreError> {
        self.layers.here(digest, || self.layers.front.share(digest))
    }

    fn read_range(&self, digest: &Digest, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.layers.here(digest, || {
            self.layers.front.read_range(digest, range.clone())
        })
    }

    fn verify_object(&self, digest: &Digest) -> Result<(), StoreError> {
        self.layers
            .here(digest, || self.layers.front.verify_object(digest))
    }

    fn set_aside_at(&self, digest: &Digest) -> Option<i64> {
        self.layers.front.set_aside_at(digest)
    }

    fn written(&self) -> Arc<AtomicU64> {
        self.layers.front.written()
    }
}

/// Leases of one's own store, and of the group.
struct BothLeases {
    own: Box<dyn Leases>,
    group: crate::session::GroupLeases,
}

impl Leases for BothLeases {
    fn take(&self, keys: &[Recipe]) -> Option<Lease> {
        let own = self.own.take(keys)?;
        let group = self.group.take(keys)?;
        Some(Box::new((group, own)))
    }

    fn undisturbed(&self) -> bool {
        false
    }
}

impl Runs for GroupStore {
    fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        self.layers.front.begin_run(run)?;
        if locked(&self.layers.group.pins).begin(&run.id) {
            self.set_working(true);
        }
        Ok(())
    }

    fn end_run(
        &self,
        id: &str,
        status: RunStatus,
        counts: Tally,
        reason: &str,
    ) -> Result<(), StoreError> {
        if locked(&self.layers.group.pins).end(id) {
            self.set_working(false);
        }
        self.layers.front.end_run(id, status, counts, reason)
    }

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>, StoreError> {
        self.layers.front.runs(limit)
    }

    fn find_run(&self, text: &str) -> Result<FoundRun, StoreError> {
        self.layers.front.find_run(text)
    }

    fn is_alive(&self, run: &str) -> bool {
        self.layers.front.is_alive(run)
    }

    fn put_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        self.layers.front.put_run_tasks(run, tasks)
    }

    fn note_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        self.layers.front.note_run_tasks(run, tasks)
    }

    fn run_tasks(&self, run: &str) -> Result<Vec<RunTask>, StoreError> {
        self.layers.front.run_tasks(run)
    }

    fn tasks_before(
        &self,
        run: &str,
        address: &str,
        runs: usize,
    ) -> Result<Vec<(String, RunTask)>, StoreError> {
        self.layers.front.tasks_before(run, address, runs)
    }
}

impl Attachments for GroupStore {
    fn attachment(&self, run: &str, name: &str) -> io::Result<Vec<u8>> {
        self.layers.front.attachment(run, name)
    }

    fn has_attachment(&self, run: &str, name: &str) -> bool {
        self.layers.front.has_attachment(run, name)
    }

    fn has_attachments(&self, run: &str) -> bool {
        self.layers.front.has_attachments(run)
    }

    fn attach(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.layers.front.attach(run, name, bytes)
    }

    fn add_to_attachment(&self, run: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.layers.front.add_to_attachment(run, name, bytes)
    }

    fn remove_attachment(&self, run: &str, name: &str) -> io::Result<()> {
        self.layers.front.remove_attachment(run, name)
    }

    fn attachment_place(&self, run: &str, name: &str) -> PathBuf {
        self.layers.front.attachment_place(run, name)
    }
}

impl Costs for GroupStore {
    fn costs(&self, operations: &[(Arc<str>, Arc<str>)]) -> Result<Vec<Option<Cost>>, StoreError> {
        let mut costs = self.layers.front.costs(operations)?;
        for (cost, (operation, version)) in costs.iter_mut().zip(operations) {
            if cost.is_none() && !self.layers.group.link.is_away() {
                match self.layers.group.cost(operation, version) {
                    Ok(found) => *cost = found,
                    Err(trouble) => self.layers.group.note(trouble),
                }
            }
        }
        Ok(costs)
    }

    fn rates(&self) -> Rates {
        self.layers.front.rates()
    }

    fn expected_reads(&self, operation: &str) -> f64 {
        self.layers.front.expected_reads(operation)
    }

    fn note_habits(&self, habits: &[(Arc<str>, u64, u64)]) -> Result<(), StoreError> {
        self.layers.front.note_habits(habits)
    }
}

/// Room is that of this machine; only `collect` is about the group, for its owner.
impl Room for GroupStore {
    fn take_share(&self, run: &str, held: &[Digest]) -> Result<(), StoreError> {
        locked(&self.layers.group.pins).hold(run, held, true);
        self.layers.front.take_share(run, held)
    }

    fn hold(&self, run: &str, digests: &[Digest]) -> Result<(), StoreError> {
        locked(&self.layers.group.pins).hold(run, digests, false);
        self.layers.front.hold(run, digests)
    }

    fn load(&self, run: &str) -> Result<Load, StoreError> {
        self.layers.front.load(run)
    }

    fn admit(&self, run: &str, arriving: u64, most: u64) -> Result<(Load, bool), StoreError> {
        self.layers.front.admit(run, arriving, most)
    }

    fn set_arriving(&self, run: &str, arriving: u64) -> Result<(), StoreError> {
        self.layers.front.set_arriving(run, arriving)
    }

    fn set_waits(&self, run: &str, waits: bool) -> Result<(), StoreError> {
        self.layers.front.set_waits(run, waits)
    }

    fn give_up(&self, run: &str, needed: &dyn Fn(&Digest) -> bool) -> Result<(), StoreError> {
        locked(&self.layers.group.pins).give_up(run, needed);
        self.layers.front.give_up(run, needed)
    }

    fn end_dead_shares(&self) -> Result<(), StoreError> {
        self.layers.front.end_dead_shares()
    }

    fn neighbours(&self, own: &str) -> Result<Vec<Neighbour>, StoreError> {
        self.layers.front.neighbours(own)
    }

    fn listed_among(&self, digests: &[Digest]) -> HashSet<Digest> {
        self.layers.front.listed_among(digests)
    }

    fn listed_bytes(&self, digests: &[Digest]) -> Result<u64, StoreError> {
        self.layers.front.listed_bytes(digests)
    }

    fn object_bytes(&self) -> Result<u64, StoreError> {
        self.layers.front.object_bytes()
    }

    fn sweep_unlisted(&self) -> Result<(), StoreError> {
        self.layers.front.sweep_unlisted()
    }

    fn make_room(
        &self,
        run: &str,
        max: u64,
        needed: &dyn Fn(&Digest) -> bool,
    ) -> Result<(Collected, Vec<Digest>), StoreError> {
        locked(&self.layers.group.pins).give_up(run, needed);
        self.layers.front.make_room(run, max, needed)
    }

    fn collect(&self, max: u64, dry_run: bool) -> Result<Collected, StoreError> {
        let layers = &self.layers;
        if !layers.publishes {
            return layers.front.collect(max, dry_run);
        }
        if !layers.group.is_owner {
            return Err(StoreError::Refused(
                "only the owner of the store takes products away".to_owned(),
            ));
        }
        let recent = layers.options.recent;
        let collected = layers
            .group
            .collect(max, recent, dry_run)
            .map_err(Trouble::into_error)?;
        layers.front.collect(max, dry_run)?;
        Ok(collected)
    }
}

impl Questions for GroupStore {
    fn note_versions(&self, versions: &[(Arc<str>, VersionParts)]) -> Result<(), StoreError> {
        self.layers.front.note_versions(versions)?;
        if self.layers.publishes
            && let Err(trouble) = self.layers.group.note_versions(versions)
        {
            self.layers.group.note(trouble);
        }
        Ok(())
    }

    fn version_parts(&self, version: &str) -> Result<Option<VersionParts>, StoreError> {
        if let Some(parts) = self.layers.front.version_parts(version)? {
            return Ok(Some(parts));
        }
        Ok(self
            .layers
            .of_group(|group| group.version_parts(version))
            .flatten())
    }

    fn products(&self, filter: &ProductFilter) -> Result<Vec<ProductRecord>, StoreError> {
        match self.layers.of_group(|group| group.products(filter)) {
            Some(products) => Ok(products),
            None => self.layers.front.products(filter),
        }
    }

    fn count_products(&self, filter: &ProductFilter) -> Result<u64, StoreError> {
        match self.layers.of_group(|group| group.count_products(filter)) {
            Some(count) => Ok(count),
            None => self.layers.front.count_products(filter),
        }
    }

    fn products_before(
        &self,
        product: &ProductRecord,
        limit: usize,
    ) -> Result<Vec<ProductRecord>, StoreError> {
        match self
            .layers
            .of_group(|group| group.products_before(product, limit))
        {
            Some(products) => Ok(products),
            None => self.layers.front.products_before(product, limit),
        }
    }

    fn find_product(&self, digits: &str) -> Result<FoundProduct, StoreError> {
        match self.layers.of_group(|group| group.find_product(digits)) {
            Some(found) if found != FoundProduct::None => Ok(found),
            _ => self.layers.front.find_product(digits),
        }
    }

    fn verify(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Verified, StoreError> {
        if self.layers.options.publish {
            let verified = self.layers.group.verify(threads, progress);
            return verified.map_err(Trouble::into_error);
        }
        self.layers.front.verify(threads, progress)
    }
}

impl Local for GroupStore {
    fn run_folders(&self, run: &str) -> RunFolders {
        self.layers.front.run_folders(run)
    }

    fn sheltered(&self) -> Vec<PathBuf> {
        self.layers.front.sheltered()
    }

    fn is_staged(&self, path: &Path) -> bool {
        self.layers.front.is_staged(path)
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.layers.front.is_inside(path)
    }

    fn is_object(&self, path: &Path) -> bool {
        self.layers.front.is_object(path)
    }

    fn remove_staging(&self, run: &str) -> Result<(), StoreError> {
        self.layers.front.remove_staging(run)
    }

    fn work_folders(&self) -> Vec<String> {
        self.layers.front.work_folders()
    }

    fn remove_work_folder(&self, run: &str) -> io::Result<()> {
        self.layers.front.remove_work_folder(run)
    }

    fn log_folders(&self) -> Vec<(String, PathBuf)> {
        self.layers.front.log_folders()
    }

    fn logged(&self) -> Arc<AtomicU64> {
        self.layers.front.logged()
    }

    fn has_entries(&self, folder: &Path) -> bool {
        self.layers.front.has_entries(folder)
    }

    fn digest_files(
        &self,
        paths: &[PathBuf],
        threads: usize,
    ) -> Result<Vec<FileDigest>, StoreError> {
        self.layers.front.digest_files(paths, threads)
    }

    fn digest_directory(
        &self,
        path: &Path,
    ) -> Result<(DirectoryValue, Vec<FileDigest>), StoreError> {
        self.layers.front.digest_directory(path)
    }
}

impl Store for GroupStore {
    fn mode(&self) -> Mode {
        self.layers.front.mode()
    }

    fn place(&self) -> PathBuf {
        self.layers.front.place()
    }

    fn exists(&self) -> bool {
        true
    }

    fn leases(&self) -> Result<Box<dyn Leases>, StoreError> {
        let own = self.layers.front.leases()?;
        Ok(match &self.session {
            Some(session) if self.layers.publishes => Box::new(BothLeases {
                own,
                group: session.leases(),
            }),
            _ => own,
        })
    }

    fn take_damage(&self) -> Vec<String> {
        let mut damage = self.layers.front.take_damage();
        damage.append(&mut locked(&self.layers.group.damage));
        damage
    }

    fn take_notices(&self) -> Vec<String> {
        let mut notices = self.layers.front.take_notices();
        notices.extend(std::mem::take(&mut *locked(&self.layers.group.notices)));
        notices
    }

    fn behind(&self) -> Option<&dyn Behind> {
        Some(self)
    }
}

impl Behind for GroupStore {
    fn facts(&self) -> GroupFacts {
        let (layers, group) = (&self.layers, &self.layers.group);
        GroupFacts {
            place: group.shown.clone(),
            objects: group.objects_at.clone(),
            role: group.role.clone(),
            may_write: group.role_may_write,
            is_owner: group.is_owner,
            publishes: layers.options.publish && group.role_may_write,
            trust: group.trust.clone(),
        }
    }

    fn front(&self) -> &dyn Store {
        &*self.layers.front
    }

    fn giver(&self, recipe: &Recipe, run: &str) -> Option<String> {
        let group = &self.layers.group;
        group
            .asked(|client| rows::giver(client, recipe, run))
            .flatten()
    }

    fn push(&self, recipes: &[Recipe]) -> Result<Pushed, StoreError> {
        if !self.layers.group.may_write {
            return Err(StoreError::Refused(format!(
                "this user may not write to `{}`",
                self.layers.group.shown
            )));
        }
        self.layers.push(recipes).map_err(Trouble::into_error)
    }

    fn patience(&self) -> Duration {
        self.layers.options.wait
    }

    fn tell_waiting(&self) {
        let waiting = self
            .layers
            .spool
            .as_ref()
            .map(Spool::waiting)
            .unwrap_or_default();
        if waiting.products > 0 {
            let (are, products) = match waiting.products {
                1 => ("is", "1 product".to_owned()),
                more => ("are", format!("{more} products")),
            };
            self.layers.group.tell(format!(
                "{products} with {} bytes {are} kept in `{}` until the store of the group can be reached; the next \
                 command that uses it gives them",
                waiting.bytes,
                self.layers.front.place().display(),
            ));
        }
    }

    fn settle(&self, most: Duration) -> Waiting {
        let Some(spool) = &self.layers.spool else {
            return Waiting::default();
        };
        let end = Instant::now() + most.max(Duration::ZERO);
        loop {
            self.layers.catch_up();
            let waiting = spool.waiting();
            if waiting.products == 0 || Instant::now() >= end {
                return waiting;
            }
            std::thread::sleep(MOMENT);
        }
    }
}
