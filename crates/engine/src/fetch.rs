//! Bringing products back, and asking for the right to make them.
//!
//! Law: what is given back is what was kept, files included, or nothing. A product that is on its way to the
//! store is given from memory; where it has files it is waited for. Who gets the right to make a product
//! holds it until the product is durable, so of two runs that need it one makes it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};

use headwater_enact::Match;
use headwater_execute::{Fetch, Fetched, LeaseAnswer, Ports};
use headwater_graph::{
    Alias, Digest, FileValue, Handle, Identity, Leases, ObjectPlace, OperationError, Outputs,
    ProductRecord, ReadFile, ReadSeek, Recipe, Store, StoreError, StoredOutput, Value, decode,
    decode_shared, encode, value_digest,
};

use crate::lock::locked;
use crate::room::Needs;
use crate::stash::{Order, Stash};
use crate::thrift::Habits;

/// Encodings up to this size may be lists of files.
const LIST: u64 = 4 << 20;

/// Whether what is needed of a product can be brought back.
#[derive(Debug, Clone)]
pub enum Presence {
    /// It cannot.
    Gone,
    /// It is in memory.
    Stashed,
    /// The store has it.
    Stored(Arc<ProductRecord>),
}

impl Presence {
    /// Whether it can be had from nowhere.
    pub fn is_gone(&self) -> bool {
        matches!(self, Presence::Gone)
    }
}

/// Brings products back from a store.
#[derive(Clone)]
pub struct StoreFetcher {
    pub(crate) store: Arc<dyn Store>,
    /// Orders to the thread that keeps products; none when it is not to be kept waiting.
    pub(crate) sender: Option<mpsc::SyncSender<Order>>,
    pub(crate) stash: Arc<Mutex<Stash>>,
    pub(crate) leases: Option<Arc<dyn Leases>>,
    pub(crate) habits: Arc<Habits>,
    pub(crate) run: Arc<str>,
    /// What the run needs, where disk is limited.
    pub(crate) needs: Option<Arc<Mutex<Needs>>>,
}

impl StoreFetcher {
    fn record(&self, recipe: &Recipe) -> Option<ProductRecord> {
        self.store.fetch(std::slice::from_ref(recipe)).ok()?.pop()?
    }

    /// Gives what is stashed, then what the store has; nobody waits for it.
    pub fn of_stash(store: Arc<dyn Store>, run: &str, stash: Stash) -> StoreFetcher {
        StoreFetcher {
            store,
            sender: None,
            stash: Arc::new(Mutex::new(stash)),
            leases: None,
            habits: Arc::default(),
            run: run.into(),
            needs: None,
        }
    }

    /// Waits until everything that was handed over is dealt with.
    pub fn flush(&self) -> Option<()> {
        let (sender, receiver) = mpsc::channel();
        self.sender.as_ref()?.send(Order::Flush(sender)).ok()?;
        // A product may be in trouble; others may be there all the same.
        let _: Result<(), String> = receiver.recv().ok()?;
        Some(())
    }

    /// Waits until everything that was handed over is in memory where it can be found, or on the disk.
    pub fn pass(&self) -> Option<()> {
        let (sender, receiver) = mpsc::channel();
        self.sender.as_ref()?.send(Order::Pass(sender)).ok()?;
        receiver.recv().ok()
    }

    /// Whether something may be begun: a run that waits for room begins nothing.
    pub fn may_go_on(&self) -> bool {
        if !locked(&self.stash).waits {
            return true;
        }
        let (sender, receiver) = mpsc::channel();
        let asked = self
            .sender
            .as_ref()
            .map(|orders| orders.send(Order::GoOn(sender)));
        // Without the thread that keeps products nothing is waited for.
        !matches!(asked, Some(Ok(()))) || receiver.recv().unwrap_or(true)
    }

    /// What a product gives that is not durable yet, if that is enough.
    fn on_its_way(&self, recipe: &Recipe, ports: &Ports) -> Option<Fetched> {
        let found = locked(&self.stash).on_their_way.get(recipe).cloned()?;
        if found.dropped.iter().any(|position| ports.has(*position)) {
            return None;
        }
        self.habits.read(&found.operation);
        let absent: Result<Vec<u16>, _> = found.dropped.iter().map(|&at| at.try_into()).collect();
        Some(Fetched {
            outputs: found.outputs.to_vec(),
            absent: absent.ok()?,
        })
    }

    /// Things worth telling since the last call, each once.
    pub fn take_notes(&self) -> Vec<String> {
        let mut notes = std::mem::take(&mut locked(&self.stash).notes);
        notes.sort();
        notes.dedup();
        notes
    }

    /// The outputs of a product as the record describes them; the bytes of files need not be there.
    pub fn described(&self, recipe: &Recipe) -> Option<Outputs> {
        let recipe = match self.stashed(recipe) {
            Ok(outputs) => return Some(outputs.to_vec()),
            Err(recipe) => recipe,
        };
        let record = self.record_or_wait(&recipe)?;
        let outputs = record
            .outputs
            .iter()
            .map(|(_, output)| self.decoded(output));
        outputs.collect()
    }

    /// The record of a product, which may still be on its way.
    fn record_or_wait(&self, recipe: &Recipe) -> Option<ProductRecord> {
        self.record(recipe).or_else(|| {
            self.flush()?;
            self.record(recipe)
        })
    }

    /// For each recipe, whether the outputs that are needed can be brought back. One question for all. What was asked for
    /// by name stays to the end of the run.
    pub fn present(&self, wanted: &[(Recipe, Ports)], by_name: bool) -> Vec<Presence> {
        let resolve = |(recipe, _): &(Recipe, Ports)| match self.stashed(recipe) {
            Ok(_) => (true, *recipe),
            Err(recipe) => (false, recipe),
        };
        let (stashed, recipes): (Vec<bool>, Vec<Recipe>) = wanted.iter().map(resolve).unzip();
        let mut records = self.store.fetch_shared(&recipes).unwrap_or_default();
        if records.iter().any(Option::is_none) && self.flush().is_some() {
            // Some may have been on their way.
            records = self.store.fetch_shared(&recipes).unwrap_or_default();
        }
        records.resize_with(wanted.len(), || None);
        // The objects of each, and then of all.
        let mut digests = Vec::new();
        let mut needs = Vec::with_capacity(wanted.len());
        for ((record, (_, ports)), stashed) in records.iter().zip(wanted).zip(stashed) {
            let first = digests.len();
            let outputs = record.iter().flat_map(|record| record.outputs.iter());
            let needed = outputs.enumerate().filter(|(port, _)| ports.has(*port));
            let mut whole = record.is_some();
            for (_, (_, output)) in needed {
                let read = |digest: &Digest| self.store.read(digest).ok();
                whole &= output.objects(LIST, read, &mut digests).is_some();
            }
            needs.push((stashed, whole, first..digests.len()));
        }
        let mut records = records.into_iter();
        // Before anybody looks whether they are there.
        if let Some(needs) = &self.needs {
            locked(needs).needs(&digests, by_name);
        }
        let here = self.store.has(&digests);
        let presence = |(stashed, whole, objects): (bool, bool, std::ops::Range<usize>)| {
            let record = records.next().flatten();
            match record.filter(|_| whole && here[objects].iter().all(|here| *here)) {
                _ if stashed => Presence::Stashed,
                Some(record) => Presence::Stored(record),
                None => Presence::Gone,
            }
        };
        needs.into_iter().map(presence).collect()
    }

    /// An output of a product whose record is there; `None` where it cannot be brought back.
    pub fn output(&self, record: &ProductRecord, port: u16) -> Option<Value> {
        self.habits.read(&record.operation);
        let output = record.outputs.get(usize::from(port));
        output.and_then(|(_, output)| self.value(output))
    }

    /// One output of each of these products; `None` where it cannot be brought back. One question for all.
    pub fn values(&self, wanted: &[(Recipe, u16)]) -> Vec<Option<Value>> {
        let mut values = vec![None; wanted.len()];
        let (mut places, mut recipes) = (Vec::new(), Vec::new());
        for (place, (recipe, port)) in wanted.iter().enumerate() {
            match self.stashed(recipe) {
                Ok(outputs) => values[place] = outputs.get(usize::from(*port)).cloned(),
                Err(recipe) => match self.on_its_way(&recipe, &Ports::default()) {
                    Some(found) => values[place] = found.output(*port),
                    None => {
                        places.push(place);
                        recipes.push(recipe);
                    }
                },
            }
        }
        let mut records = self.store.fetch_shared(&recipes).unwrap_or_default();
        records.resize(recipes.len(), None);
        for ((place, recipe), record) in places.into_iter().zip(&recipes).zip(records) {
            let port = wanted[place].1;
            values[place] = match record {
                Some(record) => self.output(&record, port),
                // It may have been handed over just now.
                None => {
                    (self.fetch(recipe, &Ports::default())).and_then(|found| found.output(port))
                }
            };
        }
        values
    }

    /// What this run can give without the store; or the recipe to ask the store for.
    fn stashed(&self, recipe: &Recipe) -> Result<Arc<Outputs>, Recipe> {
        let stash = locked(&self.stash);
        let recipe = stash.aliases.get(recipe).unwrap_or(recipe);
        stash.products.get(recipe).cloned().ok_or(*recipe)
    }

    fn decoded(&self, output: &StoredOutput) -> Option<Value> {
        match (&output.inline, &output.encoding) {
            (Some(bytes), _) => decode(bytes).ok(),
            (None, Some(digest)) => decode_shared(&self.store.share(digest).ok()?).ok(),
            (None, None) => None,
        }
    }

    fn value(&self, output: &StoredOutput) -> Option<Value> {
        let value = self.decoded(output)?;
        let mut digests = Vec::new();
        value.for_each_file(&mut |file| digests.push(file.digest));
        if digests.is_empty() {
            return Some(value);
        }
        digests.sort_unstable();
        digests.dedup();
        if let Some(needs) = &self.needs {
            locked(needs).needs(&digests, false);
        }
        match self.needs.as_ref().filter(|_| self.sender.is_some()) {
            None => {
                let place = |(digest, place): (&Digest, ObjectPlace)| match place {
                    ObjectPlace::Missing => None,
                    ObjectPlace::Here(path) => Some((*digest, Some(path.into()))),
                    ObjectPlace::Elsewhere => Some((*digest, None)),
                };
                let places = digests.iter().zip(self.store.places(&digests));
                Places(places.map(place).collect::<Option<_>>()?).located(value)
            }
            // Its objects may go while it is read.
            Some(needs) => {
                let paths = self.store.paths(&digests);
                let mut needs = locked(needs);
                let lent = digests.iter().zip(paths).map(|(digest, path)| {
                    let path = needs.lend(digest, &path?)?;
                    Some((*digest, Some(path.into())))
                });
                let value = Places(lent.collect::<Option<_>>()?).located(value)?;
                needs.watch(&value);
                Some(value)
            }
        }
    }
}

/// Digests of the files of a value that only the store has, each once.
fn in_store(value: &Value) -> Vec<Digest> {
    let mut digests = Vec::new();
    value.for_each_file(&mut |file| {
        if matches!(file.handle, Handle::Stored) {
            digests.push(file.digest);
        }
    });
    digests.sort_unstable();
    digests.dedup();
    digests
}

/// Where files are; none for those that stay with the store. Equal files share one path, so that it is known when nobody
/// has it any more.
struct Places(HashMap<Digest, Option<Arc<Path>>>);

impl Places {
    fn file(&self, file: &FileValue) -> Option<FileValue> {
        let handle = match &file.handle {
            Handle::Stored => self.0.get(&file.digest)?.clone().map(Handle::Path),
            _ => None,
        };
        Some(FileValue {
            handle: handle.unwrap_or_else(|| file.handle.clone()),
            ..file.clone()
        })
    }

    /// The value with the places of its files; `None` if one of them is gone.
    fn located(&self, value: Value) -> Option<Value> {
        value.with_files(&mut |file| self.file(file))
    }
}

/// What an output of a record is by content.
pub fn identity(output: &StoredOutput) -> Option<Identity> {
    Some(match &output.inline {
        Some(bytes) => Identity::of(&decode(bytes).ok()?),
        None => Identity::Value(output.digest),
    })
}

/// What the outputs of a record are by content; `None` where it is damaged.
fn identities(record: &ProductRecord) -> Option<Vec<Identity>> {
    let outputs = record.outputs.iter();
    outputs.map(|(_, output)| identity(output)).collect()
}

impl Fetch for StoreFetcher {
    fn fetch(&self, recipe: &Recipe, ports: &Ports) -> Option<Fetched> {
        let recipe = match self.stashed(recipe) {
            Ok(outputs) => return Some(outputs.to_vec().into()),
            Err(recipe) => recipe,
        };
        if let Some(found) = self.on_its_way(&recipe, ports) {
            return Some(found);
        }
        let record = match self.record(&recipe) {
            Some(record) => record,
            None => {
                self.pass();
                if let Some(found) = self.on_its_way(&recipe, ports) {
                    return Some(found);
                }
                self.record_or_wait(&recipe)?
            }
        };
        self.habits.read(&record.operation);
        let mut fetched = Fetched::from(Vec::with_capacity(record.outputs.len()));
        for (position, (_, output)) in record.outputs.iter().enumerate() {
            match self.value(output) {
                Some(value) => fetched.outputs.push(value),
                None if ports.has(position) => return None,
                None => {
                    fetched.outputs.push(Value::Null);
                    fetched.absent.push(u16::try_from(position).ok()?);
                }
            }
        }
        Some(fetched)
    }

    fn contents(&self, recipes: &[Recipe]) -> Vec<Option<Vec<Identity>>> {
        let records = self.store.fetch(recipes).unwrap_or_default();
        let mut contents: Vec<Option<Vec<Identity>>> = records
            .iter()
            .map(|record| identities(record.as_ref()?))
            .collect();
        contents.resize(recipes.len(), None);
        for (contents, recipe) in contents.iter_mut().zip(recipes) {
            if let (None, Ok(outputs)) = (&contents, self.stashed(recipe)) {
                *contents = Some(outputs.iter().map(Identity::of).collect());
            }
        }
        contents
    }

    fn equal(&self, keys: &[Recipe]) -> Vec<Option<Match>> {
        let records = self.store.equal(keys).unwrap_or_default();
        let mut matches: Vec<Option<Match>> = records
            .iter()
            .map(|record| {
                let record = record.as_ref()?;
                Some(Match {
                    recipe: record.recipe,
                    outputs: identities(record)?,
                })
            })
            .collect();
        matches.resize(keys.len(), None);
        matches
    }

    fn brought(&self, value: Value) -> Option<Value> {
        let digests = in_store(&value);
        if digests.is_empty() {
            return Some(value);
        }
        let paths = digests.iter().zip(self.store.paths(&digests));
        let paths = paths.map(|(digest, path)| Some((*digest, Some(path?.into()))));
        Places(paths.collect::<Option<_>>()?).located(value)
    }

    fn described(&self, recipe: &Recipe, ports: &Ports) -> Option<Vec<StoredOutput>> {
        let wanted = [(*recipe, ports.clone())];
        match self.present(&wanted, false).pop()? {
            Presence::Gone => None,
            Presence::Stored(record) => {
                self.habits.read(&record.operation);
                Some(
                    record
                        .outputs
                        .iter()
                        .map(|(_, output)| output.clone())
                        .collect(),
                )
            }
            Presence::Stashed => {
                // It is in memory alone, and travels with whoever needs it.
                let outputs = self.stashed(recipe).ok()?;
                let described = outputs.iter().map(|value| StoredOutput {
                    inline: Some(encode(value).into()),
                    encoding: None,
                    ..StoredOutput::of(value, value_digest(value))
                });
                Some(described.collect())
            }
        }
    }

    fn missing(&self, value: &Value) -> Vec<Digest> {
        let is_gone = |digest: &Digest| self.store.verify_object(digest).is_err();
        in_store(value).into_iter().filter(is_gone).collect()
    }

    fn spoiled(&self, digests: &[Digest]) {
        for digest in digests {
            // What is not what its name says is set aside.
            let _ = self.store.verify_object(digest);
        }
        let mut stash = locked(&self.stash);
        stash.spoiled = true;
        stash.products.retain(|_, outputs| {
            let mut is_whole = true;
            for value in outputs.iter() {
                value.for_each_file(&mut |file| is_whole &= !digests.contains(&file.digest));
            }
            is_whole
        });
    }

    fn claim(&self, recipe: &Recipe, key: Option<&Recipe>, restoring: bool) -> LeaseAnswer {
        if !self.may_go_on() {
            return LeaseAnswer::Busy;
        }
        let Some(leases) = &self.leases else {
            return LeaseAnswer::Granted(None);
        };
        let mut keys = vec![*recipe];
        keys.extend(key.filter(|key| *key != recipe));
        let Some(lease) = leases.take(&keys) else {
            return LeaseAnswer::Busy;
        };
        if leases.undisturbed() {
            // Nobody else was there who could have made it since it was looked up.
            return LeaseAnswer::Granted(Some(lease));
        }
        if let Some(record) = self.record(recipe)
            && let Some(contents) = identities(&record)
            && (!restoring || self.fetch(recipe, &Ports::All).is_some())
        {
            return LeaseAnswer::Made(contents);
        }
        let key = key.filter(|_| !restoring);
        if let Some(found) = key.and_then(|key| self.equal(&[*key]).pop()?) {
            let alias = Alias {
                recipe: *recipe,
                target: found.recipe,
                run: Arc::clone(&self.run),
                time: crate::identifier::now(),
            };
            let sender = self.sender.as_ref();
            if sender.is_some_and(|sender| sender.send(Order::Alias(alias)).is_ok()) {
                return LeaseAnswer::Made(found.outputs);
            }
        }
        LeaseAnswer::Granted(Some(lease))
    }
}

impl ReadFile for StoreFetcher {
    fn read_file(&self, file: &FileValue) -> Result<Vec<u8>, OperationError> {
        match &file.handle {
            Handle::Stored => self
                .store
                .read(&file.digest)
                .map_err(|error| OperationError::Failed(error.to_string())),
            _ => headwater_execute::PlainFiles.read_file(file),
        }
    }

    /// An object is opened if it is as it was when it was known to be right: reading all of it is what the
    /// caller wants to avoid.
    fn open_file(&self, file: &FileValue) -> Result<Box<dyn ReadSeek>, OperationError> {
        match &file.handle {
            Handle::Stored => {
                if let Some(needs) = &self.needs {
                    locked(needs).needs(std::slice::from_ref(&file.digest), false);
                }
                let path = self.store.path(&file.digest).ok_or_else(|| {
                    OperationError::Failed(StoreError::Missing(file.digest).to_string())
                })?;
                let found = FileValue {
                    handle: Handle::Path(path.into()),
                    ..file.clone()
                };
                headwater_execute::PlainFiles.open_file(&found)
            }
            _ => headwater_execute::PlainFiles.open_file(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_execute::{Fetch as _, Ports};
    use headwater_graph::Mode;
    use headwater_graph::{Digest, Recipe, Value};

    use super::StoreFetcher;
    use crate::stash::{OnItsWay, Stash};

    #[test]
    fn what_is_on_its_way_is_given_without_what_is_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = headwater_remember::open(folder.path(), Mode::ReadWrite).expect("a store");
        let recipe = Recipe(Digest::of(b"a product").0);
        let mut stash = Stash::default();
        let product = OnItsWay {
            operation: "test/two".into(),
            outputs: Arc::new(vec![Value::Int(7), Value::Null]),
            dropped: [1].into(),
        };
        stash.on_their_way.insert(recipe, product);
        let fetcher = StoreFetcher::of_stash(store, "run", stash);
        let first = fetcher.fetch(&recipe, &Ports::These(vec![0]));
        let first = first.expect("the first output is kept");
        assert_eq!(first.outputs, [Value::Int(7), Value::Null]);
        assert_eq!(first.absent, [1]);
        // The second is nowhere: the store has no record yet, and would not have it.
        assert!(fetcher.fetch(&recipe, &Ports::All).is_none());
        let other = Recipe(Digest::of(b"another").0);
        assert!(fetcher.fetch(&other, &Ports::All).is_none());
    }
}
