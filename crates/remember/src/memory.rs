//! A store in memory: for programs that share work within one process, and for tests of everything that uses stores.
//!
//! Law: it keeps the same promises as the store in a folder, for as long as it lives: a record is visible only when its
//! objects are, what is served has its digest, a product is leased to one maker at a time. Nothing of it outlives the
//! process. Programs need files: those lie in a folder that the caller names, objects as copies that are made when
//! somebody asks for a path. They go with the store, but for folders of tasks that failed.
//!
//! | file | what |
//! | --- | --- |
//! | `memory` | the state, records, objects, leases |
//! | `memory/runs` | runs and what they leave |
//! | `memory/room` | limits and collection |
//! | `memory/questions` | what people ask, and costs |
//! | `memory/local` | folders on this machine |

mod local;
mod questions;
mod room;
mod runs;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use headwater_graph::{
    Alias, Aligned, Digest, Lease, Leases, Mark, Mode, ObjectPlace, ObjectSource, Objects, Owner,
    Pending, PendingObject, ProductRecord, Recipe, Records, RunRecord, RunTask, Store, StoreEntry,
    StoreError, Times, VersionParts, encode,
};

use crate::aliases;
use crate::clock::now;
use crate::disk::cannot;
use crate::lock::locked;
use crate::object_rows::mark_of;

/// Records, objects and runs in memory.
#[derive(Debug)]
pub(crate) struct MemoryStore {
    /// Where files of tasks lie, and objects that programs read.
    folder: PathBuf,
    state: Mutex<State>,
    leased: Arc<Mutex<HashSet<Recipe>>>,
    /// How often leases were opened.
    opened: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
    logged: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they were registered.
    products: Vec<Arc<ProductRecord>>,
    by_recipe: HashMap<Recipe, usize>,
    /// Positions of products, by content key.
    by_content: HashMap<Recipe, Vec<usize>>,
    aliases: HashMap<Recipe, Alias>,
    objects: HashMap<Digest, Object>,
    /// The files of objects that somebody has asked for.
    files: HashMap<Digest, Mark>,
    runs: Vec<RunRecord>,
    /// Runs that were begun and whose staging folder was not removed.
    alive: BTreeSet<String>,
    tasks: HashMap<String, Vec<RunTask>>,
    /// Tasks that were noted while their run went on.
    noted: HashMap<String, Vec<RunTask>>,
    attachments: HashMap<(String, String), Vec<u8>>,
    versions: HashMap<String, VersionParts>,
    /// Products made and read, by operation.
    habits: HashMap<Arc<str>, (u64, u64)>,
    shares: HashMap<String, room::Share>,
}

/// Bytes, and what collection has to know of them.
#[derive(Debug)]
struct Object {
    bytes: Arc<Aligned>,
    wall: u64,
    reads: u64,
    used: i64,
}

impl State {
    /// The product that a recipe is, or that it was found to be equal to.
    fn product(&self, recipe: &Recipe) -> Option<&Arc<ProductRecord>> {
        let target = match self.by_recipe.get(recipe) {
            Some(position) => Some(position),
            None => self.by_recipe.get(&self.aliases.get(recipe)?.target),
        };
        Some(&self.products[*target?])
    }

    /// Adds a record. The first one stays if the new one says the same of the product, else the new one takes its place.
    fn register(&mut self, record: &ProductRecord) {
        let position = match self.by_recipe.get(&record.recipe) {
            Some(position) => *position,
            None => self.products.len(),
        };
        let says_the_same = |known: &Arc<ProductRecord>| {
            known.content == record.content
                && known.parameters == record.parameters
                && known.inputs == record.inputs
                && known.outputs == record.outputs
        };
        if self.products.get(position).is_some_and(says_the_same) {
            return;
        }
        if position == self.products.len() {
            self.products.push(Arc::new(record.clone()));
        } else {
            self.products[position] = Arc::new(record.clone());
        }
        self.by_recipe.insert(record.recipe, position);
        self.aliases.remove(&record.recipe);
        if let Some(content) = record.content {
            let positions = self.by_content.entry(content).or_default();
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
    }

    /// Adds an alias; `false` where its target is nowhere.
    fn add_alias(&mut self, alias: &Alias) -> bool {
        let target = match self.aliases.get(&alias.target) {
            Some(other) if !self.by_recipe.contains_key(&alias.target) => other.target,
            _ => alias.target,
        };
        if !self.by_recipe.contains_key(&target) {
            return false;
        }
        if !self.by_recipe.contains_key(&alias.recipe) {
            let alias = Alias {
                target,
                ..alias.clone()
            };
            self.aliases.insert(alias.recipe, alias);
        }
        true
    }

    /// Adds an object; says whether it is new.
    fn add_object(&mut self, digest: Digest, bytes: Arc<Aligned>, wall: u64) -> bool {
        let is_new = !self.objects.contains_key(&digest);
        let object = self.objects.entry(digest).or_insert(Object {
            bytes,
            wall: 0,
            reads: 0,
            used: 0,
        });
        object.wall = object.wall.max(wall);
        object.used = now();
        is_new
    }

    /// An object that is here, which counts as used from now on.
    fn use_object(&mut self, digest: &Digest) -> Option<Arc<Aligned>> {
        let object = self.objects.get_mut(digest)?;
        object.reads += 1;
        object.used = now();
        Some(Arc::clone(&object.bytes))
    }
}

impl MemoryStore {
    /// An empty one, for whose files there is this folder.
    pub(crate) fn new(folder: PathBuf) -> MemoryStore {
        MemoryStore {
            folder,
            state: Mutex::default(),
            leased: Arc::default(),
            opened: Arc::default(),
            written: Arc::default(),
            logged: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    fn object_file(&self, digest: &Digest) -> PathBuf {
        self.folder.join("objects").join(digest.hex())
    }

    /// A file with the bytes of an object that nobody may write to. One that does not look as it did is made again.
    fn file(&self, digest: &Digest) -> Option<PathBuf> {
        let path = self.object_file(digest);
        let mut state = self.state();
        let bytes = state.use_object(digest)?;
        let looks = |path: &Path| fs::symlink_metadata(path).map(|found| mark_of(&found));
        let known = state.files.get(digest);
        if known.is_some_and(|known| looks(&path).is_ok_and(|now| now == *known)) {
            return Some(path);
        }
        let write = || -> io::Result<Mark> {
            fs::create_dir_all(self.folder.join("objects"))?;
            let fresh = path.with_extension("new");
            let _ = fs::remove_file(&fresh);
            fs::write(&fresh, &*bytes)?;
            fs::set_permissions(&fresh, fs::Permissions::from_mode(0o444))?;
            fs::rename(&fresh, &path)?;
            looks(&path)
        };
        let mark = write().ok()?;
        state.files.insert(*digest, mark);
        Some(path)
    }
}

/// The bytes of an object on its way in, which have its digest.
fn bytes_of(object: &PendingObject) -> Result<Arc<Aligned>, StoreError> {
    let (bytes, what) = match &object.source {
        ObjectSource::Staged(path) | ObjectSource::Digested(path, _) => {
            let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
            let read = if is_file {
                fs::read(path)
            } else {
                Err(io::ErrorKind::NotFound.into())
            };
            let bytes = read.map_err(cannot("read", path))?;
            let what = format!("`{}`, written to after it was made", path.display());
            (bytes, what)
        }
        ObjectSource::Bytes(bytes) => (bytes.clone(), format!("object {}", object.digest)),
        ObjectSource::Encoding(value) => (encode(value), format!("object {}", object.digest)),
    };
    if Digest::of(&bytes) == object.digest {
        let placed = Aligned::of(&bytes).map_err(|source| StoreError::Io {
            what: format!("cannot keep object {} in memory", object.digest),
            source,
        });
        placed.map(Arc::new)
    } else {
        Err(StoreError::Damaged { what })
    }
}

/// Bytes with their digest.
type Named = (Digest, Arc<Aligned>);

/// The bytes of all objects of a product.
fn objects_of(pending: &Pending) -> Result<Vec<Named>, StoreError> {
    let bytes = |object| bytes_of(object).map(|bytes| (object.digest, bytes));
    pending.objects.iter().map(bytes).collect()
}

impl Records for MemoryStore {
    fn fetch_shared(
        &self,
        recipes: &[Recipe],
    ) -> Result<Vec<Option<Arc<ProductRecord>>>, StoreError> {
        let state = self.state();
        let found = recipes.iter().map(|recipe| state.product(recipe).cloned());
        Ok(found.collect())
    }

    fn equal(&self, keys: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let state = self.state();
        let find = |key: &Recipe| {
            let own = state.by_recipe.get(key);
            // Of several the latest: that its bytes are still there is likeliest.
            let position = own.or_else(|| state.by_content.get(key)?.iter().max());
            position.map(|position| ProductRecord::clone(&state.products[*position]))
        };
        Ok(keys.iter().map(find).collect())
    }

    fn times(&self, recipes: &[Recipe]) -> Result<Vec<Option<Times>>, StoreError> {
        let state = self.state();
        let times = |recipe| {
            let record = state.product(recipe)?;
            Some(Times {
                wall: record.wall,
                cpu: record.cpu,
            })
        };
        Ok(recipes.iter().map(times).collect())
    }

    fn products_of(&self, recipes: &[Recipe]) -> Result<Vec<Option<Recipe>>, StoreError> {
        let state = self.state();
        let product = |recipe| state.product(recipe).map(|record| record.recipe);
        Ok(recipes.iter().map(product).collect())
    }

    fn makers_of(&self, recipes: &[Recipe]) -> Result<Vec<Arc<str>>, StoreError> {
        let state = self.state();
        let makers = recipes.iter().filter_map(|recipe| state.product(recipe));
        let makers: BTreeSet<Arc<str>> = makers.map(|record| Arc::clone(&record.run)).collect();
        Ok(makers.into_iter().collect())
    }

    fn aliases(&self, recipes: &[Recipe]) -> Result<Vec<Option<Alias>>, StoreError> {
        let state = self.state();
        let alias = |recipe| state.aliases.get(recipe).cloned();
        Ok(recipes.iter().map(alias).collect())
    }

    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError> {
        let mut state = self.state();
        records.iter().for_each(|record| state.register(record));
        Ok(())
    }
}

impl Objects for MemoryStore {
    fn keep(&self, batch: &[StoreEntry]) -> Result<Vec<(usize, StoreError)>, StoreError> {
        let mut left_out = Vec::new();
        let mut aliases = Vec::new();
        for (position, entry) in batch.iter().enumerate() {
            let pending = match entry {
                StoreEntry::Product(pending) => pending,
                StoreEntry::Alias(alias) => {
                    aliases.push((position, alias));
                    continue;
                }
            };
            // Outside of the lock: files are read.
            let objects = match objects_of(pending) {
                Ok(objects) => objects,
                Err(error) => {
                    left_out.push((position, error));
                    continue;
                }
            };
            let mut state = self.state();
            for (digest, bytes) in objects {
                let size = bytes.length();
                if state.add_object(digest, bytes, pending.record.wall) {
                    self.written.fetch_add(size, Ordering::Relaxed);
                }
            }
            state.register(&pending.record);
        }
        let mut state = self.state();
        for (position, alias) in aliases {
            if !state.add_alias(alias) {
                left_out.push((position, aliases::lost(alias)));
            }
        }
        left_out.sort_by_key(|(position, _)| *position);
        Ok(left_out)
    }

    fn bring(
        &self,
        objects: &mut [(Digest, &mut dyn Read)],
    ) -> Result<Vec<(usize, StoreError)>, StoreError> {
        let mut left_out = Vec::new();
        for (position, (digest, source)) in objects.iter_mut().enumerate() {
            let mut bytes = Vec::new();
            let read = source.read_to_end(&mut bytes);
            let read = read.map_err(cannot("copy object", Path::new(&digest.hex())));
            let object = PendingObject {
                digest: *digest,
                source: ObjectSource::Bytes(bytes),
            };
            match read.and_then(|_| bytes_of(&object)) {
                Ok(bytes) => {
                    self.state().add_object(*digest, bytes, 0);
                }
                Err(error) => left_out.push((position, error)),
            }
        }
        Ok(left_out)
    }

    fn has(&self, digests: &[Digest]) -> Vec<bool> {
        let mut state = self.state();
        let has = |digest| state.use_object(digest).is_some();
        digests.iter().map(has).collect()
    }

    fn places(&self, digests: &[Digest]) -> Vec<ObjectPlace> {
        let place = |has| {
            if has {
                ObjectPlace::Elsewhere
            } else {
                ObjectPlace::Missing
            }
        };
        self.has(digests).into_iter().map(place).collect()
    }

    fn paths(&self, digests: &[Digest]) -> Vec<Option<PathBuf>> {
        digests.iter().map(|digest| self.file(digest)).collect()
    }

    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let bytes = self.state().use_object(digest);
        let bytes = bytes.ok_or(StoreError::Missing(*digest))?;
        Ok((*bytes).as_ref().to_vec())
    }

    fn share(&self, digest: &Digest) -> Result<Owner, StoreError> {
        let bytes = self.state().use_object(digest);
        Ok(bytes.ok_or(StoreError::Missing(*digest))?)
    }

    fn read_range(&self, digest: &Digest, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let bytes = self.state().use_object(digest);
        let bytes = bytes.ok_or(StoreError::Missing(*digest))?;
        let bytes = (*bytes).as_ref();
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (place(range.start), place(range.end));
        Ok(bytes[start..end.max(start)].to_vec())
    }

    fn verify_object(&self, digest: &Digest) -> Result<(), StoreError> {
        // The bytes have not changed; a file of them that somebody wrote to is made again when it is asked for.
        self.state().files.remove(digest);
        self.read(digest).map(|_| ())
    }

    fn set_aside_at(&self, _: &Digest) -> Option<i64> {
        None
    }

    fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }
}

/// Leases among the threads of this process.
#[derive(Debug)]
struct MemoryLeases {
    leased: Arc<Mutex<HashSet<Recipe>>>,
    opened: Arc<AtomicU64>,
    /// How often leases had been opened when these were.
    count: u64,
}

/// Keys that are held.
struct Held {
    leased: Arc<Mutex<HashSet<Recipe>>>,
    keys: Vec<Recipe>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut leased = locked(&self.leased);
        for key in &self.keys {
            leased.remove(key);
        }
    }
}

impl Leases for MemoryLeases {
    fn take(&self, keys: &[Recipe]) -> Option<Lease> {
        let mut leased = locked(&self.leased);
        if keys.iter().any(|key| leased.contains(key)) {
            return None;
        }
        leased.extend(keys);
        Some(Box::new(Held {
            leased: Arc::clone(&self.leased),
            keys: keys.to_vec(),
        }))
    }

    fn undisturbed(&self) -> bool {
        self.count == 1 && self.opened.load(Ordering::SeqCst) == 1
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        for part in ["objects", "staging", "runs"] {
            let _ = fs::remove_dir_all(self.folder.join(part));
        }
        // Folders of failed tasks are for people.
        for folder in [self.folder.join("work"), self.folder.clone()] {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Store for MemoryStore {
    fn mode(&self) -> Mode {
        Mode::ReadWrite
    }

    fn place(&self) -> PathBuf {
        self.folder.clone()
    }

    fn exists(&self) -> bool {
        true
    }

    fn leases(&self) -> Result<Box<dyn Leases>, StoreError> {
        let count = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Box::new(MemoryLeases {
            leased: Arc::clone(&self.leased),
            opened: Arc::clone(&self.opened),
            count,
        }))
    }

    fn take_damage(&self) -> Vec<String> {
        Vec::new()
    }
}
