//! Room for a run that has a limit on disk.
//!
//! Law: the objects of the store and the logs of its runs take no more than the limit. What was asked for by name is
//! refused only if it does not fit with everything gone that may go, in this order: objects that no living run uses,
//! logs of runs that have ended, what this run has made or used on its way, and last its own logs. An intermediate
//! takes room from nobody but the first of these. So what a dead run has left behind is no reason to fail: it goes, or
//! it is what this run would have made itself.
//!
//! A task that reads a file may hold its path while its object goes. Under a limit a run therefore reads through a name
//! of its own in its staging folder ([`Needs::lend`]), which goes when nobody reads it any more; so do the names of
//! files that it has made.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

use headwater_graph::{Digest, Handle, Value};
use headwater_remember::Store;

use crate::lock::locked;
use crate::logs;

/// What a run with a limit on disk needs.
#[derive(Debug)]
pub struct Needs {
    /// Where files lie until they are objects.
    staging: PathBuf,
    /// Asked for by name: it stays until it is delivered.
    wanted: HashSet<Digest>,
    /// Made or used by this run.
    used: HashSet<Digest>,
    /// Files of this run below `staging`, with those who may read them.
    names: Vec<Name>,
    /// Names are looked through when there are so many.
    patience: usize,
    /// By ticket: values whose files are not objects yet.
    on_their_way: HashMap<u64, Vec<Value>>,
    next: u64,
}

/// A file that is removed when nobody reads it any more. Whoever has a value made from it has its path: a value is
/// copied with a share of that.
#[derive(Debug)]
struct Name {
    path: PathBuf,
    shared: Weak<Path>,
}

/// Names are not looked through before there are so many, or so many more than twice those that were left.
const PATIENCE: usize = 64;

impl Needs {
    /// Those of a run whose files lie in this folder.
    pub fn new(staging: PathBuf) -> Needs {
        Needs {
            staging,
            wanted: HashSet::new(),
            used: HashSet::new(),
            names: Vec::new(),
            patience: PATIENCE,
            on_their_way: HashMap::new(),
            next: 0,
        }
    }

    /// These objects are used, and stay to the end if they were asked for by name.
    pub fn needs(&mut self, digests: &[Digest], by_name: bool) {
        self.used.extend(digests);
        if by_name {
            self.wanted.extend(digests);
        }
    }

    /// Another name for an object, for those who read it while the object may go; `None` if it has gone.
    pub fn lend(&mut self, digest: &Digest, object: &Path) -> Option<PathBuf> {
        let folder = self.staging.join("lent");
        let path = folder.join(self.next.to_string());
        self.next += 1;
        let link = || fs::hard_link(object, &path);
        let linked = link().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => fs::create_dir_all(&folder).and_then(|()| link()),
            _ => Err(error),
        });
        match linked {
            Ok(()) => Some(path),
            Err(_) if !object.exists() => None,
            Err(_) => {
                // It has too many names already. Then it has to stay.
                self.wanted.insert(*digest);
                Some(object.to_path_buf())
            }
        }
    }

    /// The files of this value that lie in the staging folder go when nobody reads them any more.
    pub fn watch(&mut self, value: &Value) {
        value.for_each_file(&mut |file| {
            if let Handle::Path(path) = &file.handle
                && path.starts_with(&self.staging)
            {
                self.names.push(Name {
                    path: path.to_path_buf(),
                    shared: Arc::downgrade(path),
                });
            }
        });
    }

    /// The files of these values stay until the product with this ticket is durable.
    pub fn hold(&mut self, ticket: u64, values: &[Value]) {
        let has_files = |value: &&Value| {
            let mut found = false;
            value.for_each_file(&mut |_| found = true);
            found
        };
        let values: Vec<Value> = values.iter().filter(has_files).cloned().collect();
        if !values.is_empty() {
            self.on_their_way.insert(ticket, values);
        }
    }

    /// The products with these tickets are durable.
    pub fn durable(&mut self, tickets: &[u64]) {
        for ticket in tickets {
            self.on_their_way.remove(ticket);
        }
    }

    /// Removes the files that nobody reads any more, if there may be many.
    pub fn sweep(&mut self, now: bool) {
        if self.names.len() < self.patience && !now {
            return;
        }
        self.names.retain(|name| {
            let is_read = name.shared.strong_count() > 0;
            if !is_read {
                // It goes with the folder of the run at the latest.
                let _ = fs::remove_file(&name.path);
            }
            is_read
        });
        self.patience = 2 * self.names.len() + PATIENCE;
    }
}

/// What may go to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// What this run neither makes nor uses.
    Others,
    /// Everything that was not asked for by name.
    Own,
}

/// A limit on the bytes of objects and logs.
#[derive(Debug)]
pub struct Room {
    store: Arc<Store>,
    needs: Arc<Mutex<Needs>>,
    run: Arc<str>,
    most: u64,
    /// Bytes of objects, those on their way included.
    objects: u64,
    /// Bytes of logs when they were counted, and how many this process had written by then.
    logs: (u64, u64),
    /// Objects that this run has had kept without being asked for them by name.
    intermediates: HashMap<Digest, u64>,
    intermediate_bytes: u64,
    /// Objects of this run that are counted.
    counted: HashSet<Digest>,
    /// Those among them that belong to the product that is being looked at. Nobody has handed it over, so that no
    /// collection knows of them.
    arriving: HashMap<Digest, u64>,
    /// Nothing is left that others do not need.
    others_are_gone: bool,
    /// Nothing is left but what was asked for by name.
    all_are_gone: bool,
    /// Everything was tried, in vain.
    is_over: bool,
}

impl Room {
    /// At most `most` bytes for the objects and logs of a store. What processes that were killed have left goes first.
    pub fn new(store: Arc<Store>, needs: Arc<Mutex<Needs>>, run: Arc<str>, most: u64) -> Room {
        // What cannot be removed now is not counted, as before, and goes another time.
        let _ = store.sweep_unlisted();
        let mut room = Room {
            objects: store.object_bytes().unwrap_or(0),
            store,
            needs,
            run,
            most,
            logs: (0, 0),
            intermediates: HashMap::new(),
            intermediate_bytes: 0,
            counted: HashSet::new(),
            arriving: HashMap::new(),
            others_are_gone: false,
            all_are_gone: false,
            is_over: false,
        };
        room.count_logs();
        room.keep_to(&|| ());
        room
    }

    /// The most bytes that objects may take.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// A word if there is more than there may be: what the run reuses was there before, and does not go while it is
    /// needed.
    pub fn over(&self) -> Option<String> {
        (self.used() > self.most).then(|| {
            format!(
                "the store has {} bytes, more than the {} that --disk allows: what this run and others use stays, and \
                 everything else is gone",
                self.used(),
                self.most
            )
        })
    }

    /// The next objects belong to another product; those of the one before have been handed over.
    pub fn next_product(&mut self) {
        self.arriving.clear();
    }

    /// Makes room if there is less than none: logs grow without being asked for.
    pub fn keep_to(&mut self, flush: &dyn Fn()) {
        if self.used() > self.most {
            flush();
            self.collect(0, Reach::Others);
        }
        if self.used() > self.most {
            // A bit further, so that this is not done for each log.
            self.shrink_logs(self.most / 10, true);
        }
    }

    /// Makes room for objects, if that is possible. Only what is durable can be counted, so `flush` has to make
    /// everything so that was handed over before.
    ///
    /// Intermediates may take half at most, so that outputs seldom have to push them out.
    pub fn admits(&mut self, objects: &[(Digest, u64)], is_wanted: bool, flush: &dyn Fn()) -> bool {
        let digests: Vec<Digest> = objects.iter().map(|(digest, _)| *digest).collect();
        locked(&self.needs).needs(&digests, is_wanted);
        if is_wanted {
            // What was an intermediate before is asked for now.
            digests.iter().for_each(|digest| self.forget(digest));
        }
        let bytes = self.more(objects);
        let fits = if is_wanted {
            self.fits(bytes) || self.finds_room(objects, flush)
        } else {
            self.intermediate_bytes + bytes <= self.most / 2
                && !self.all_are_gone
                && (self.fits(bytes) || self.takes_from_others(objects, flush))
        };
        if fits {
            let news = self.news(objects);
            self.objects += news.iter().map(|(_, size)| size).sum::<u64>();
            self.arriving.extend(news);
            self.counted.extend(&digests);
            if !is_wanted {
                for (digest, size) in objects {
                    let before = self.intermediates.insert(*digest, *size);
                    self.intermediate_bytes += if before.is_none() { *size } else { 0 };
                }
            }
        }
        fits
    }

    /// How many bytes come with these objects: those that are there or on their way come with none.
    fn more(&self, objects: &[(Digest, u64)]) -> u64 {
        self.news(objects).iter().map(|(_, size)| size).sum()
    }

    /// Those of these objects that are neither there nor on their way, each once.
    fn news(&self, objects: &[(Digest, u64)]) -> Vec<(Digest, u64)> {
        let uncounted = objects.iter().map(|(digest, _)| *digest);
        let uncounted = uncounted.filter(|digest| !self.counted.contains(digest));
        let uncounted: Vec<Digest> = uncounted.collect();
        if uncounted.is_empty() {
            return Vec::new();
        }
        let listed = self.store.listed_among(&uncounted);
        let mut seen = HashSet::new();
        let news = objects.iter().filter(|(digest, _)| {
            let is_new = !self.counted.contains(digest) && !listed.contains(digest);
            is_new && seen.insert(*digest)
        });
        news.copied().collect()
    }

    fn takes_from_others(&mut self, objects: &[(Digest, u64)], flush: &dyn Fn()) -> bool {
        if self.others_are_gone {
            return false;
        }
        flush();
        let bytes = self.more(objects);
        self.collect(bytes, Reach::Others);
        self.fits(bytes)
    }

    /// Everything that may go does, until there is room.
    fn finds_room(&mut self, objects: &[(Digest, u64)], flush: &dyn Fn()) -> bool {
        if self.is_over {
            return false;
        }
        flush();
        let bytes = self.more(objects);
        if bytes > self.most {
            return false;
        }
        // A run that was alive a moment ago may have ended; so before this one fails, all is tried again.
        for is_last in [false, true] {
            if !self.others_are_gone || is_last {
                self.collect(bytes, Reach::Others);
            }
            if !self.fits(bytes) {
                self.shrink_logs(bytes, false);
            }
            if !self.fits(bytes) && (!self.all_are_gone || is_last) {
                self.collect(bytes, Reach::Own);
            }
            if !self.fits(bytes) {
                self.shrink_logs(bytes, true);
            }
            if self.fits(bytes) {
                return true;
            }
        }
        self.is_over = true;
        false
    }

    fn fits(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.most
    }

    fn used(&self) -> u64 {
        self.objects.saturating_add(self.log_bytes())
    }

    fn log_bytes(&self) -> u64 {
        let (bytes, written) = self.logs;
        let now = self.store.logged().load(Ordering::Relaxed);
        bytes.saturating_add(now.saturating_sub(written))
    }

    fn count_logs(&mut self) {
        let written = self.store.logged().load(Ordering::Relaxed);
        self.logs = (logs::bytes(&self.store), written);
    }

    /// Removes logs until so many more bytes fit: those of runs that have ended, and if need be those of this one.
    fn shrink_logs(&mut self, bytes: u64, own: bool) {
        let most = self.most.saturating_sub(self.objects.saturating_add(bytes));
        let own = own.then(|| Arc::clone(&self.run));
        self.bring_logs_to(most, own);
    }

    fn bring_logs_to(&mut self, most: u64, own: Option<Arc<str>>) {
        if self.log_bytes() > most {
            let written = self.store.logged().load(Ordering::Relaxed);
            let shrunk = logs::shrink(&self.store, most, own.as_deref(), false);
            self.logs = (shrunk.left, written);
        }
    }

    /// Brings the store down so that so many more bytes fit, and a bit further, so that this is not done for each
    /// product.
    fn collect(&mut self, bytes: u64, reach: Reach) {
        let share = self.most / logs::SHARE;
        self.bring_logs_to(share, None);
        let target = self.most.saturating_sub(bytes).min(self.most / 10 * 9);
        let arriving: u64 = self.arriving.values().sum();
        let max = target.saturating_sub(self.log_bytes().saturating_add(arriving));
        let mut needs = locked(&self.needs);
        let needed = |digest: &Digest| {
            needs.wanted.contains(digest) || (reach == Reach::Others && needs.used.contains(digest))
        };
        let Ok((collected, gone)) = self.store.make_room(max, &needed) else {
            return;
        };
        for digest in &gone {
            needs.used.remove(digest);
        }
        drop(needs);
        self.objects = collected.left.saturating_add(arriving);
        for digest in &gone {
            self.counted.remove(digest);
            self.forget(digest);
        }
        let nothing_left = collected.left > max;
        self.others_are_gone = nothing_left || reach == Reach::Own;
        self.all_are_gone = nothing_left && reach == Reach::Own;
    }

    /// An object is no intermediate, or not any more.
    fn forget(&mut self, digest: &Digest) {
        let size = self.intermediates.remove(digest).unwrap_or(0);
        self.intermediate_bytes -= size;
    }
}

#[cfg(test)]
mod tests {
    use headwater_graph::{FileValue, ProductRecord, Recipe};
    use headwater_remember::{Mode, ObjectSource, Pending, PendingObject, Writer};

    use super::*;

    /// An object of so many bytes, of which there is one for each letter.
    fn object(letter: u8, size: usize) -> (Digest, Vec<u8>) {
        let bytes = vec![letter; size];
        (Digest::of(&bytes), bytes)
    }

    /// Has a store keep an object as the product of a run.
    fn keep(store: &Arc<Store>, run: &str, letter: u8, size: usize) -> Digest {
        let (digest, bytes) = object(letter, size);
        let writer = Writer::start(Arc::clone(store), Box::new(|_| ()));
        writer.submit(Pending {
            record: ProductRecord {
                recipe: Recipe(digest.0),
                content: None,
                operation: "test".into(),
                version: "1".into(),
                parameters: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                wall: 1,
                cpu: 1,
                peak_memory: 0,
                run: run.into(),
                time: 0,
            },
            objects: vec![PendingObject {
                digest,
                source: ObjectSource::Bytes(bytes),
            }],
        });
        writer.close().expect("it is kept");
        digest
    }

    /// A product may have an intermediate and an output. If the second makes others go, the first still counts.
    #[test]
    fn outputs_of_one_product_count_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("store"), Mode::ReadWrite).expect("a store");
        let store = Arc::new(store);
        keep(&store, "dead", b'd', 300);
        let needs = Arc::new(Mutex::new(Needs::new(folder.path().join("staging"))));
        let mut room = Room::new(Arc::clone(&store), needs, "run".into(), 1000);
        room.next_product();
        assert!(room.admits(&[(object(b'a', 400).0, 400)], false, &|| ()));
        assert!(room.admits(&[(object(b'b', 350).0, 350)], true, &|| ()));
        assert_eq!(store.object_bytes().expect("a number"), 0, "it had to go");
        assert_eq!(room.used(), 750);
        assert!(!room.admits(&[(object(b'c', 300).0, 300)], false, &|| ()));
    }

    #[test]
    fn what_is_read_stays_until_nobody_has_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let object = folder.path().join("object");
        fs::write(&object, "bytes").expect("a file");
        let digest = Digest::of(b"bytes");
        let mut needs = Needs::new(folder.path().join("staging"));
        let path = needs.lend(&digest, &object).expect("another name");
        let file = FileValue {
            handle: Handle::Path(path.as_path().into()),
            ..FileValue::of_bytes(*b"bytes")
        };
        // An operation may make another value of a file that it was given.
        let (given, made) = (file.clone(), Value::File(Arc::new(file)));
        needs.watch(&made);
        drop(given);
        needs.sweep(true);
        fs::remove_file(&object).expect("the object goes");
        assert_eq!(fs::read(&path).expect("it is still read"), b"bytes");
        drop(made);
        needs.sweep(true);
        assert!(!path.exists());
        assert_eq!(needs.lend(&digest, &object), None);
    }

    #[test]
    fn what_is_on_its_way_stays_until_it_is_durable() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made");
        fs::write(&path, "bytes").expect("a file");
        let mut needs = Needs::new(folder.path().to_path_buf());
        let made = Value::File(Arc::new(FileValue {
            handle: Handle::Path(path.as_path().into()),
            ..FileValue::of_bytes(*b"bytes")
        }));
        needs.hold(7, &[Value::Int(1), made.clone()]);
        needs.watch(&made);
        drop(made);
        needs.durable(&[6]);
        needs.sweep(true);
        assert!(path.exists());
        needs.durable(&[7]);
        needs.sweep(true);
        assert!(!path.exists());
    }
}
