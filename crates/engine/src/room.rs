//! Room for a run that has a limit on disk.
//!
//! Law: the objects of the store and the logs of its runs take no more than the limit. What was asked for by name is
//! refused only if it does not fit with everything gone that may go, in this order: objects that no living run uses,
//! logs of runs that have ended, what this run has made or used on its way, and last its own logs. An intermediate
//! takes room from nobody but the first of these. So what a dead run has left behind is no reason to fail: it goes, or
//! it is what this run would have made itself.
//!
//! Other runs on the same store count, and what they hold stays. Where that alone is in the way of something that was
//! asked for by name, its bytes are left out for now, and the run waits: it begins no task until there is room, and then
//! makes again what was left out. It never waits with a product in its hands, so that nobody who wants that product
//! waits for it in turn. While it waits it holds what was asked for by name and nothing else; and not even that while a
//! run waits that began before, to which it leaves everything until that one has ended. So of those that wait the first
//! can go on if it could alone, and each of them ends.
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
use std::time::{Duration, Instant};

use headwater_graph::{Digest, Handle, Load, Neighbour, Store, Value};

use crate::lock::locked;
use crate::logs;

/// What a run with a limit on disk needs.
#[derive(Debug)]
pub struct Needs {
    store: Arc<dyn Store>,
    run: Arc<str>,
    /// What is needed is written down in the store as well.
    has_share: bool,
    /// Where files lie until they are objects.
    staging: PathBuf,
    /// Asked for by name: it stays until it is delivered.
    wanted: HashSet<Digest>,
    /// Read under the name of the object itself: it stays to the end.
    pinned: HashSet<Digest>,
    /// Made or used by this run.
    used: HashSet<Digest>,
    /// Files of this run below `staging`, with those who may read them.
    names: Vec<Name>,
    /// Names are looked through when there are so many.
    patience: usize,
    /// By ticket: values whose files are not objects yet.
    on_their_way: HashMap<u64, Vec<Value>>,
    /// Objects that were admitted and are not durable yet: their sizes, and how many products have them.
    arriving: HashMap<Digest, (u64, usize)>,
    arriving_bytes: u64,
    /// Those of the product that is being looked at.
    fresh: Vec<Digest>,
    /// By ticket: those of products that were handed over.
    handed_over: HashMap<u64, Vec<Digest>>,
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
    /// Those of a run, which lives in this store.
    pub fn new(store: Arc<dyn Store>, run: Arc<str>) -> Needs {
        Needs {
            staging: store.run_folders(&run).staging,
            store,
            run,
            has_share: false,
            wanted: HashSet::new(),
            pinned: HashSet::new(),
            used: HashSet::new(),
            names: Vec::new(),
            patience: PATIENCE,
            on_their_way: HashMap::new(),
            arriving: HashMap::new(),
            arriving_bytes: 0,
            fresh: Vec::new(),
            handed_over: HashMap::new(),
            next: 0,
        }
    }

    /// These objects are used, and stay to the end if they were asked for by name. It is said before anybody looks
    /// whether they are there.
    pub fn needs(&mut self, digests: &[Digest], by_name: bool) {
        let news = digests.iter().filter(|digest| !self.used.contains(*digest));
        let news: Vec<Digest> = news.copied().collect();
        if self.has_share && !news.is_empty() {
            // On a full disk nothing can be written down, and who collects there has to find room for that first.
            let _ = self.store.hold(&self.run, &news);
        }
        self.used.extend(news);
        if by_name {
            self.wanted.extend(digests);
        }
    }

    /// Whether an object has to stay, whatever room is needed for.
    fn is_asked_for(&self, digest: &Digest) -> bool {
        self.wanted.contains(digest) || self.pinned.contains(digest)
    }

    /// From now on what is needed is written down in the store.
    fn take_share(&mut self) {
        let held: Vec<Digest> = self.used.iter().copied().collect();
        self.has_share = self.store.take_share(&self.run, &held).is_ok();
    }

    /// An object was admitted.
    fn arrives(&mut self, digest: Digest, size: u64) {
        let (_, products) = self.arriving.entry(digest).or_insert((size, 0));
        if *products == 0 {
            self.arriving_bytes = self.arriving_bytes.saturating_add(size);
        }
        *products += 1;
        self.fresh.push(digest);
    }

    /// The product whose objects were admitted has this ticket.
    pub fn hand_over(&mut self, ticket: u64) {
        if !self.fresh.is_empty() {
            self.handed_over
                .insert(ticket, std::mem::take(&mut self.fresh));
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
                self.pinned.insert(*digest);
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
        let before = self.arriving_bytes;
        for ticket in tickets {
            self.on_their_way.remove(ticket);
            for digest in self.handed_over.remove(ticket).unwrap_or_default() {
                let Some((size, products)) = self.arriving.get_mut(&digest) else {
                    continue;
                };
                *products -= 1;
                if *products == 0 {
                    self.arriving_bytes = self.arriving_bytes.saturating_sub(*size);
                    self.arriving.remove(&digest);
                }
            }
        }
        if self.has_share && self.arriving_bytes != before {
            // Others would count them twice; and where that cannot be written down, they do until the next time.
            let _ = self.store.set_arriving(&self.run, self.arriving_bytes);
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
    store: Arc<dyn Store>,
    needs: Arc<Mutex<Needs>>,
    run: Arc<str>,
    most: u64,
    /// What takes room, apart from what is about to come from this run, when it was last asked for.
    load: Load,
    looked: Option<Instant>,
    /// Bytes of logs when they were counted, and how many this process had written by then.
    logs: (u64, u64),
    /// When it was last looked at those of other runs, and how long that took.
    followed: Option<(Instant, Duration)>,
    /// How many runs had logs when they were last counted, if no other run was there to write more.
    quiet: Option<usize>,
    /// Objects that this run has had kept without being asked for them by name.
    intermediates: HashMap<Digest, u64>,
    intermediate_bytes: u64,
    /// Nothing is left that others do not need.
    others_are_gone: bool,
    /// Nothing is left but what was asked for by name.
    all_are_gone: bool,
    /// Everything was tried, in vain.
    is_over: bool,
    /// Bytes that were asked for by name and wait for other runs.
    waits_for: Option<Wait>,
}

/// Waiting for other runs to let go of something.
#[derive(Debug)]
struct Wait {
    bytes: u64,
    /// When it was last looked whether there is room.
    looked: Instant,
    /// It has given up everything for a run that began before.
    gave_way: bool,
}

/// So long nobody looks again whether there is room.
const LOOK: Duration = Duration::from_millis(100);

impl Room {
    /// At most `most` bytes for the objects and logs of a store. What processes that were killed have left goes first.
    pub fn new(store: Arc<dyn Store>, needs: Arc<Mutex<Needs>>, run: Arc<str>, most: u64) -> Room {
        // What cannot be removed now is not counted, as before, and goes another time.
        let _ = store.sweep_unlisted();
        locked(&needs).take_share();
        let mut room = Room {
            load: Load::default(),
            looked: None,
            store,
            needs,
            run,
            most,
            logs: (0, 0),
            followed: None,
            quiet: None,
            intermediates: HashMap::new(),
            intermediate_bytes: 0,
            others_are_gone: false,
            all_are_gone: false,
            is_over: false,
            waits_for: None,
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
                "the store has {} bytes, more than the {} that --disk allows: what this run and other runs need was \
                 kept, everything else was removed",
                self.used(),
                self.most
            )
        })
    }

    /// Makes room if there is less than none: logs grow without being asked for, and others place objects, too.
    pub fn keep_to(&mut self, flush: &dyn Fn()) {
        // What others have placed is looked at from time to time, and whenever something is admitted.
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.look();
        }
        self.follow_logs();
        if self.used() > self.most {
            flush();
            self.look();
            self.collect(0, Reach::Others);
        }
        if self.used() > self.most {
            // A bit further, so that this is not done for each log.
            self.shrink_logs(self.most / 10, true);
        }
    }

    /// Brings the store below its limit when the run has made everything: an object that it has only used on its way is
    /// not needed any more.
    pub fn end(&mut self) {
        self.look();
        self.count_logs();
        self.keep_to(&|| ());
        if self.used() > self.most {
            self.collect(0, Reach::Own);
            self.shrink_logs(0, true);
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
            return self.takes(objects) || self.finds_room(objects, flush);
        }
        let fits = self.intermediate_bytes.saturating_add(self.more(objects)) <= self.most / 2
            && !self.all_are_gone
            && (self.takes(objects) || self.takes_from_others(objects, flush));
        if fits {
            for (digest, size) in objects {
                let before = self.intermediates.insert(*digest, *size);
                self.intermediate_bytes += if before.is_none() { *size } else { 0 };
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
        let digests: Vec<Digest> = objects.iter().map(|(digest, _)| *digest).collect();
        let listed = self.store.listed_among(&digests);
        let needs = locked(&self.needs);
        let mut seen = HashSet::new();
        let news = objects.iter().filter(|(digest, _)| {
            let is_new = !needs.arriving.contains_key(digest) && !listed.contains(digest);
            is_new && seen.insert(*digest)
        });
        news.copied().collect()
    }

    /// Admits objects if there is room for them as it is.
    fn takes(&mut self, objects: &[(Digest, u64)]) -> bool {
        self.follow_logs();
        let news = self.news(objects);
        let bytes: u64 = news.iter().map(|(_, size)| size).sum();
        let arriving = locked(&self.needs).arriving_bytes.saturating_add(bytes);
        let most = self.most.saturating_sub(self.log_bytes());
        if bytes > 0 {
            let Ok((load, fits)) = self.store.admit(&self.run, arriving, most) else {
                return false;
            };
            self.load = load;
            if !fits {
                return false;
            }
        }
        // What is there already is placed once more if it goes meanwhile, and then takes the room of what went.
        let mut needs = locked(&self.needs);
        for (digest, size) in news {
            needs.arrives(digest, size);
        }
        true
    }

    fn takes_from_others(&mut self, objects: &[(Digest, u64)], flush: &dyn Fn()) -> bool {
        if self.others_are_gone {
            return false;
        }
        flush();
        self.collect(self.more(objects), Reach::Others);
        self.takes(objects)
    }

    /// Everything that may go does, until there is room.
    fn finds_room(&mut self, objects: &[(Digest, u64)], flush: &dyn Fn()) -> bool {
        if self.is_over {
            return false;
        }
        flush();
        self.sweep_dead();
        let bytes = self.more(objects);
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
            if self.takes(objects) {
                return true;
            }
        }
        if self.is_held_up(bytes) {
            let wait = self.waits_for.get_or_insert_with(|| Wait {
                bytes: 0,
                looked: Instant::now(),
                gave_way: false,
            });
            wait.bytes = wait.bytes.max(bytes);
            let _ = self.store.set_waits(&self.run, true);
        } else {
            self.is_over = true;
        }
        false
    }

    /// Whether `bytes` more would fit if no other run were there.
    fn is_held_up(&self, bytes: u64) -> bool {
        let has_neighbours = self.store.neighbours(&self.run);
        if !has_neighbours.is_ok_and(|found| !found.is_empty()) {
            return false;
        }
        let needs = locked(&self.needs);
        let stays: Vec<Digest> = needs.wanted.union(&needs.pinned).copied().collect();
        let arriving = needs.arriving_bytes;
        drop(needs);
        let stays = self.store.listed_bytes(&stays).unwrap_or(u64::MAX);
        stays.saturating_add(arriving).saturating_add(bytes) <= self.most
    }

    /// Whether something that was asked for by name waits for other runs, and who they are.
    pub fn waits(&self) -> Option<String> {
        let bytes = self.waits_for.as_ref()?.bytes;
        let neighbours = self.store.neighbours(&self.run).unwrap_or_default();
        let holds = |neighbour: &Neighbour| match neighbour.held {
            Some(held) => format!("run {} holds {held} bytes", neighbour.run),
            None => format!(
                "run {} has no limit, or has only just begun, and all that it uses stays",
                neighbour.run
            ),
        };
        let holders: Vec<String> = neighbours.iter().map(holds).collect();
        Some(format!(
            "waiting for room for an output of {bytes} bytes under --disk {}: {}",
            self.most,
            holders.join("; ")
        ))
    }

    /// Whether a run that waits for others may go on. While it waits it holds no more than what was asked for by name,
    /// and not even that if another one waits that began before: so of those that wait the first one has whatever the
    /// others had, and goes on.
    pub fn may_go_on(&mut self, flush: &dyn Fn()) -> bool {
        let Some(wait) = &mut self.waits_for else {
            return true;
        };
        if wait.looked.elapsed() < LOOK {
            return false;
        }
        wait.looked = Instant::now();
        let (bytes, gave_way) = (wait.bytes, wait.gave_way);
        flush();
        self.sweep_dead();
        let arriving = locked(&self.needs).arriving_bytes;
        let _ = self.store.set_arriving(&self.run, arriving);
        self.collect(bytes, Reach::Own);
        self.shrink_logs(bytes, true);
        let neighbours = self.store.neighbours(&self.run).unwrap_or_default();
        // Those who gave way do so to the end of the other: what they made now would only have to go again.
        let is_before = |other: &Neighbour| other.held.is_some() && *other.run < *self.run;
        let has_turn = !gave_way || !neighbours.iter().any(is_before);
        if (self.fits(bytes) && has_turn) || neighbours.is_empty() {
            self.waits_for = None;
            let _ = self.store.set_waits(&self.run, false);
            return true;
        }
        let gives_way = |other: &Neighbour| other.waits && is_before(other);
        if neighbours.iter().any(gives_way) {
            if let Some(wait) = &mut self.waits_for {
                wait.gave_way = true;
            }
            let mut needs = locked(&self.needs);
            needs.wanted.clear();
            needs.used = needs.pinned.clone();
            let pinned = &needs.pinned;
            let _ = self
                .store
                .give_up(&self.run, &|digest| pinned.contains(digest));
        }
        false
    }

    /// What a run has left that died while this one went on is removed, and nothing more is expected of it.
    fn sweep_dead(&mut self) {
        self.look();
        if self.load.has_dead && self.store.sweep_unlisted().is_ok() {
            let _ = self.store.end_dead_shares();
            self.look();
        }
    }

    /// Asks what takes room.
    pub fn look(&mut self) {
        self.looked = Some(Instant::now());
        if let Ok(load) = self.store.load(&self.run) {
            self.load = load;
        }
    }

    fn fits(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.most
    }

    fn used(&self) -> u64 {
        self.objects().saturating_add(self.log_bytes())
    }

    /// Bytes of objects, those on their way included.
    fn objects(&self) -> u64 {
        let arriving = locked(&self.needs).arriving_bytes;
        self.load.bytes().saturating_add(arriving)
    }

    fn log_bytes(&self) -> u64 {
        let (bytes, written) = self.logs;
        let now = self.store.logged().load(Ordering::Relaxed);
        bytes.saturating_add(now.saturating_sub(written))
    }

    /// Counts all logs anew if other runs are there or were, which write theirs without saying so. That takes at most a
    /// twentieth of the time.
    fn follow_logs(&mut self) {
        let is_recent = |(at, took): (Instant, Duration)| at.elapsed() < took * 20;
        if self.followed.is_some_and(is_recent) {
            return;
        }
        let start = Instant::now();
        let others = self.store.neighbours(&self.run);
        let is_alone = others.is_ok_and(|others| others.is_empty());
        // A run may have begun and ended since the last look.
        let runs = Some(self.store.log_folders().len());
        if !is_alone || self.quiet != runs {
            self.count_logs();
        }
        self.quiet = runs.filter(|_| is_alone);
        self.followed = Some((Instant::now(), start.elapsed()));
    }

    fn count_logs(&mut self) {
        let written = self.store.logged().load(Ordering::Relaxed);
        self.logs = (logs::bytes(&*self.store), written);
    }

    /// Removes logs until so many more bytes fit: those of runs that have ended, and if need be those of this one.
    fn shrink_logs(&mut self, bytes: u64, own: bool) {
        let most = self
            .most
            .saturating_sub(self.objects().saturating_add(bytes));
        let own = own.then(|| Arc::clone(&self.run));
        self.bring_logs_to(most, own);
    }

    fn bring_logs_to(&mut self, most: u64, own: Option<Arc<str>>) {
        if self.log_bytes() > most {
            let written = self.store.logged().load(Ordering::Relaxed);
            let shrunk = logs::shrink(&*self.store, most, own.as_deref(), false);
            self.logs = (shrunk.left, written);
        }
    }

    /// Brings the store down so that so many more bytes fit, and a bit further, so that this is not done for each
    /// product.
    fn collect(&mut self, bytes: u64, reach: Reach) {
        let share = self.most / logs::SHARE;
        self.bring_logs_to(share, None);
        let target = self.most.saturating_sub(bytes).min(self.most / 10 * 9);
        let mut needs = locked(&self.needs);
        let besides = (self.log_bytes())
            .saturating_add(needs.arriving_bytes)
            .saturating_add(self.load.arriving);
        let max = target.saturating_sub(besides);
        let needed = |digest: &Digest| {
            needs.is_asked_for(digest) || (reach == Reach::Others && needs.used.contains(digest))
        };
        let Ok((collected, gone)) = self.store.make_room(&self.run, max, &needed) else {
            return;
        };
        match reach {
            Reach::Others => {}
            // Nothing else is held any more.
            Reach::Own => needs.used = needs.wanted.union(&needs.pinned).copied().collect(),
        }
        drop(needs);
        self.look();
        for digest in &gone {
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
    use headwater_graph::{Mode, ObjectSource, Pending, PendingObject};
    use headwater_remember::Writer;

    use super::*;

    fn store(folder: &tempfile::TempDir) -> Arc<dyn Store> {
        let store = headwater_remember::open(&folder.path().join("store"), Mode::ReadWrite);
        store.expect("a store")
    }

    fn room(store: &Arc<dyn Store>, run: &str, most: u64) -> Room {
        let needs = Needs::new(Arc::clone(store), run.into());
        let needs = Arc::new(Mutex::new(needs));
        Room::new(Arc::clone(store), needs, run.into(), most)
    }

    /// An object of this size; there is one for each letter.
    fn object(letter: u8, size: usize) -> (Digest, Vec<u8>) {
        let bytes = vec![letter; size];
        (Digest::of(&bytes), bytes)
    }

    /// Has a store keep an object as the product of a run.
    fn keep(store: &Arc<dyn Store>, run: &str, letter: u8, size: usize) -> Digest {
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

    /// Another run does not say that it writes logs; they count all the same, and this run lets go of its own.
    #[test]
    fn logs_of_other_runs_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let (own, other) = (begun(&folder, "own"), begun(&folder, "other"));
        let log = |store: &Arc<dyn Store>, run: &str, bytes: usize| {
            let logs = store.run_folders(run).logs;
            fs::create_dir_all(&logs).expect("a folder");
            fs::write(logs.join("log"), vec![b'x'; bytes]).expect("a log");
        };
        log(&own, "own", 300);
        let mut room = room(&own, "own", 1000);
        assert_eq!(room.used(), 300);
        log(&other, "other", 600);
        std::thread::sleep(room.followed.map_or(Duration::ZERO, |(_, took)| took * 21));
        room.keep_to(&|| ());
        assert_eq!(room.used(), 900);
        log(&other, "other", 800);
        std::thread::sleep(room.followed.map_or(Duration::ZERO, |(_, took)| took * 21));
        room.keep_to(&|| ());
        assert_eq!(room.used(), 800, "its own log went");
    }

    /// Logs of a run that began and ended meanwhile count, and are the first to go.
    #[test]
    fn logs_of_a_run_that_came_and_went_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = begun(&folder, "own");
        let mut room = room(&own, "own", 1000);
        let wait = |room: &Room| {
            std::thread::sleep(room.followed.map_or(Duration::ZERO, |(_, took)| took * 21));
        };
        wait(&room);
        room.keep_to(&|| ());
        let logs = own.run_folders("gone").logs;
        fs::create_dir_all(&logs).expect("a folder");
        fs::write(logs.join("log"), vec![b'x'; 700]).expect("a log");
        wait(&room);
        room.keep_to(&|| ());
        assert_eq!(room.used(), 700);
        assert!(room.admits(&[(object(b'a', 500).0, 500)], true, &|| ()));
        assert!(room.used() <= 1000 && !logs.join("log").exists());
    }

    /// A product may have an intermediate and an output. If the second makes others go, the first still counts.
    #[test]
    fn outputs_of_one_product_count_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(&folder);
        keep(&store, "dead", b'd', 300);
        let mut room = room(&store, "run", 1000);
        assert!(room.admits(&[(object(b'a', 400).0, 400)], false, &|| ()));
        assert!(room.admits(&[(object(b'b', 350).0, 350)], true, &|| ()));
        assert_eq!(store.object_bytes().expect("a number"), 0, "it had to go");
        assert_eq!(room.used(), 750);
        assert!(!room.admits(&[(object(b'c', 300).0, 300)], false, &|| ()));
    }

    /// A run of another process, as far as the store can tell.
    fn begun(folder: &tempfile::TempDir, run: &str) -> Arc<dyn Store> {
        let store = store(folder);
        let record = headwater_graph::RunRecord {
            id: run.to_owned(),
            ..headwater_graph::RunRecord::default()
        };
        store.begin_run(&record).expect("it begins");
        store
    }

    /// Admits an object of a run and keeps it.
    fn place(room: &mut Room, letter: u8, size: usize, is_wanted: bool) -> bool {
        let digest = object(letter, size).0;
        let fits = room.admits(&[(digest, size as u64)], is_wanted, &|| ());
        if fits {
            locked(&room.needs).hand_over(0);
            keep(&room.store, &room.run, letter, size);
            locked(&room.needs).durable(&[0]);
            room.look();
        }
        fits
    }

    #[test]
    fn what_others_place_and_are_about_to_place_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = room(&begun(&folder, "1"), "1", 1000);
        let mut second = room(&begun(&folder, "2"), "2", 1000);
        assert!(place(&mut first, b'a', 300, true));
        // Admitted, and not placed.
        assert!(first.admits(&[(object(b'b', 300).0, 300)], true, &|| ()));
        second.look();
        assert_eq!(second.used(), 600);
        assert!(!second.admits(&[(object(b'c', 401).0, 401)], false, &|| ()));
        assert!(second.admits(&[(object(b'd', 400).0, 400)], false, &|| ()));
        locked(&second.needs).hand_over(1);
        // The same bytes count once.
        assert!(place(&mut second, b'a', 300, true));
        second.look();
        assert_eq!(second.used(), 1000);
    }

    #[test]
    fn intermediates_make_room_though_another_run_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = room(&begun(&folder, "1"), "1", 1000);
        let mut second = room(&begun(&folder, "2"), "2", 1000);
        assert!(place(&mut first, b'a', 300, false));
        assert!(place(&mut first, b'b', 200, false));
        // The other one uses one of them.
        locked(&second.needs).needs(&[object(b'b', 200).0], false);
        assert!(place(&mut first, b'c', 800, true));
        assert!(first.store.listed_among(&[object(b'a', 300).0]).is_empty());
        assert_eq!(first.used(), 1000);
        // It is nobody else's any more, so that the other one may do without it.
        assert!(place(&mut second, b'd', 200, true));
        assert_eq!(second.used(), 1000);
        assert_eq!(second.waits(), None);
    }

    #[test]
    fn who_lacks_room_because_of_another_run_waits_for_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let first_store = begun(&folder, "1");
        let mut first = room(&first_store, "1", 1000);
        let mut second = room(&begun(&folder, "2"), "2", 1000);
        assert!(place(&mut first, b'a', 700, true));
        assert!(!place(&mut second, b'b', 1001, true));
        assert_eq!(second.waits(), None, "alone it would not fit either");
        second.is_over = false;
        assert!(!place(&mut second, b'b', 600, true));
        let told = second.waits().expect("it waits");
        assert!(told.ends_with("run 1 holds 700 bytes"), "{told}");
        assert!(!second.may_go_on(&|| ()));
        first_store.remove_staging("1").expect("it ends");
        while !second.may_go_on(&|| ()) {
            std::thread::yield_now();
        }
        assert!(place(&mut second, b'b', 600, true));
        assert!(second.used() <= 1000);
    }

    #[test]
    fn of_two_that_wait_the_first_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let first_store = begun(&folder, "1");
        let mut first = room(&first_store, "1", 1000);
        let mut second = room(&begun(&folder, "2"), "2", 1000);
        assert!(place(&mut first, b'a', 400, true));
        assert!(place(&mut second, b'b', 400, true));
        assert!(!place(&mut first, b'c', 400, true));
        assert!(!place(&mut second, b'd', 400, true));
        while !first.may_go_on(&|| ()) {
            assert!(!second.may_go_on(&|| ()), "it is not its turn");
        }
        assert!(place(&mut first, b'c', 400, true));
        let kept = [object(b'a', 400).0, object(b'c', 400).0];
        assert_eq!(first.store.listed_among(&kept).len(), 2);
        assert!(first.used() <= 1000);
        assert!(!second.may_go_on(&|| ()));
        first_store.remove_staging("1").expect("it ends");
        while !second.may_go_on(&|| ()) {
            std::thread::yield_now();
        }
        assert!(place(&mut second, b'b', 400, true) && place(&mut second, b'd', 400, true));
    }

    #[test]
    fn what_is_read_stays_until_nobody_has_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let object = folder.path().join("object");
        fs::write(&object, "bytes").expect("a file");
        let digest = Digest::of(b"bytes");
        let mut needs = Needs::new(store(&folder), "run".into());
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
        let store = store(&folder);
        let path = store.run_folders("run").staging.join("made");
        fs::create_dir_all(store.run_folders("run").staging).expect("a folder");
        fs::write(&path, "bytes").expect("a file");
        let mut needs = Needs::new(store, "run".into());
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
