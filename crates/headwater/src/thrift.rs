//! Which bytes are worth their place on disk.
//!
//! Law: what was asked for by name is kept, or the run fails. Of other outputs the bytes may be left out,
//! never the record: what is needed again is made again. An output that says `keep:` is heard; a small one is
//! kept; any other is kept if that is expected to save time (see [`Rates`]), and if there is room.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use headwater_execute::Made;
use headwater_graph::{FileValue, Handle, Outputs, Port, ProductRecord, Value, encoded_length};
use headwater_remember::{ObjectSource, PendingObject, Rates, Store};

use crate::keep::locked;

/// Outputs up to this size are kept without a thought: deciding would cost more.
const SMALL: u64 = 64 * 1024;

/// How often products of each operation were made and brought back in this run.
#[derive(Debug, Default)]
pub(crate) struct Habits(Mutex<HashMap<Arc<str>, (u64, u64)>>);

impl Habits {
    fn made(&self, operation: &Arc<str>) {
        locked(&self.0).entry(Arc::clone(operation)).or_default().0 += 1;
    }

    /// A product was brought back.
    pub(crate) fn read(&self, operation: &Arc<str>) {
        locked(&self.0).entry(Arc::clone(operation)).or_default().1 += 1;
    }
}

/// A limit on the bytes of all objects of the store.
#[derive(Debug)]
struct Limit {
    most: u64,
    used: u64,
    /// Bytes of intermediates that this run has had kept.
    intermediates: u64,
    /// What may go has gone; the rest is needed by runs that are alive.
    stuck: bool,
}

impl Limit {
    fn new(store: &Store, most: u64) -> Limit {
        let mut limit = Limit {
            most,
            used: store.object_bytes().unwrap_or(0),
            intermediates: 0,
            stuck: false,
        };
        if limit.used > most {
            limit.collect(store, most);
        }
        limit
    }

    /// Brings the store down to `most`, and a bit further, so that this is not done for each product.
    fn collect(&mut self, store: &Store, most: u64) {
        if let Ok(collected) = store.collect(most.min(self.most / 10 * 9), false) {
            self.stuck = collected.left > most;
            self.used = collected.left;
        }
    }

    /// Makes room for so many bytes, if that is possible. Only what is durable can be counted, so `flush` has to
    /// make everything so that was handed over before.
    ///
    /// What a run has made is not taken away while it is alive, so its intermediates may take half at most: the
    /// rest is for its outputs.
    fn admits(&mut self, store: &Store, bytes: u64, is_wanted: bool, flush: &dyn Fn()) -> bool {
        if !is_wanted && self.intermediates + bytes > self.most / 2 {
            return false;
        }
        if self.used + bytes > self.most && !self.stuck && bytes <= self.most {
            flush();
            self.collect(store, self.most - bytes);
        }
        let fits = self.used + bytes <= self.most;
        if fits {
            self.used += bytes;
            self.intermediates += if is_wanted { 0 } else { bytes };
        }
        fits
    }
}

fn bytes_of(object: &PendingObject) -> u64 {
    match &object.source {
        ObjectSource::Staged(path) => std::fs::metadata(path).map_or(0, |found| found.len()),
        ObjectSource::Digested(_, looked) => looked.size,
        ObjectSource::Bytes(bytes) => bytes.len() as u64,
        ObjectSource::Encoding(value) => encoded_length(value),
    }
}

/// A staged file that is not kept, and is removed when nobody reads it any more.
#[derive(Debug)]
struct Passing {
    value: Weak<FileValue>,
    path: PathBuf,
}

/// Decides what is kept.
#[derive(Debug)]
pub(crate) struct Thrift {
    store: Arc<Store>,
    habits: Arc<Habits>,
    rates: Rates,
    /// By operation, how often a product is expected to be brought back.
    expected: HashMap<Arc<str>, f64>,
    disk: Option<u64>,
    /// There from the first product on: by then the run is known to be alive, and what it uses is safe.
    limit: Option<Limit>,
    passing: Vec<Passing>,
}

impl Thrift {
    /// For a store whose objects may take at most `disk` bytes.
    pub(crate) fn new(store: Arc<Store>, habits: Arc<Habits>, disk: Option<u64>) -> Thrift {
        Thrift {
            habits,
            rates: store.rates(),
            expected: HashMap::new(),
            disk,
            limit: None,
            passing: Vec::new(),
            store,
        }
    }

    /// Takes out the objects that are not to be kept; each comes with the position of its output. Gives the
    /// positions of the outputs that are not kept; an error if what was asked for has no room.
    pub(crate) fn choose(
        &mut self,
        record: &ProductRecord,
        ports: &[Port],
        made: &Made,
        objects: &mut Vec<(usize, PendingObject)>,
        flush: &dyn Fn(),
    ) -> Result<Vec<usize>, String> {
        self.habits.made(&record.operation);
        self.begin_limit();
        let mut dropped = Vec::new();
        let mut refused = None;
        for (position, port) in ports.iter().enumerate() {
            let is_wanted = made.wanted.has(position);
            if !objects.iter().any(|(at, _)| *at == position) {
                continue;
            }
            let own = objects.iter().filter(|(at, _)| *at == position);
            let size = own.map(|(_, object)| bytes_of(object)).sum();
            let keep = is_wanted || self.is_worth_keeping(record, port, size);
            let limit = self.limit.as_mut().filter(|_| keep);
            let fits = limit.is_none_or(|limit| limit.admits(&self.store, size, is_wanted, flush));
            if keep && is_wanted && !fits {
                refused = refused.or(Some(size));
            }
            if !keep || !fits {
                objects.retain(|(at, _)| *at != position);
                dropped.push(position);
            }
        }
        match refused {
            None => Ok(dropped),
            Some(size) => {
                let most = self.limit.as_ref().map_or(0, |limit| limit.most);
                Err(format!(
                    "an output of {size} bytes does not fit into the {most} bytes that --disk allows, \
                     even without everything that may go; raise --disk"
                ))
            }
        }
    }

    fn begin_limit(&mut self) {
        if let (Some(most), None) = (self.disk, &self.limit) {
            self.limit = Some(Limit::new(&self.store, most));
        }
    }

    fn is_worth_keeping(&mut self, record: &ProductRecord, port: &Port, size: u64) -> bool {
        if let Some(keep) = port.keep {
            return keep;
        }
        if size <= SMALL {
            return true;
        }
        let expected = match self.expected.get(&record.operation) {
            Some(expected) => *expected,
            None => {
                let expected = self.store.expected_reads(&record.operation);
                self.expected
                    .insert(Arc::clone(&record.operation), expected);
                expected
            }
        };
        let seconds = record.wall as f64 / 1e9;
        self.rates.worth_keeping(expected, seconds, size)
    }

    /// Says that the outputs at these positions are not kept. Tells whether this run may still count on their
    /// files: under a limit they go as soon as nobody reads them.
    pub(crate) fn let_pass(&mut self, outputs: &Outputs, dropped: &[usize]) -> bool {
        self.sweep();
        if self.disk.is_none() {
            return true;
        }
        let values = dropped.iter().filter_map(|position| outputs.get(*position));
        values.for_each(|value| self.watch(value));
        false
    }

    fn watch(&mut self, value: &Value) {
        match value {
            Value::File(file) => {
                let staging = self.store.root().join("staging");
                if let Handle::Path(path) = &file.handle
                    && path.starts_with(staging)
                {
                    self.passing.push(Passing {
                        value: Arc::downgrade(file),
                        path: path.to_path_buf(),
                    });
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.watch(item)),
            Value::Record(fields) => fields.values().for_each(|field| self.watch(field)),
            _ => {}
        }
    }

    fn sweep(&mut self) {
        self.passing.retain(|passing| {
            let is_read = passing.value.strong_count() > 0;
            if !is_read {
                // It goes with the folder of the run at the latest.
                let _ = std::fs::remove_file(&passing.path);
            }
            is_read
        });
    }

    /// Writes down what was learned.
    pub(crate) fn close(mut self) {
        self.begin_limit();
        self.sweep();
        let habits: Vec<(Arc<str>, u64, u64)> = locked(&self.habits.0)
            .drain()
            .map(|(operation, (made, read))| (operation, made, read))
            .collect();
        // What is lost is learned again.
        let _ = self.store.note_habits(&habits);
    }
}
