//! Which bytes are worth their place on disk.
//!
//! Law: what was asked for by name is kept, or the run fails. Of other outputs the bytes may be left out,
//! never the record: what is needed again is made again. An output that says `keep:` is heard; a small one is
//! kept; any other is kept if that is expected to save time (see [`Rates`]), and if there is room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use headwater_execute::Made;
use headwater_graph::{
    Digest, ObjectSource, Outputs, PendingObject, Port, ProductRecord, Rates, Store, encoded_length,
};

use crate::lock::locked;
use crate::room::{Needs, Room};

/// Outputs up to this size are kept without a thought: deciding would cost more.
const SMALL: u64 = 64 * 1024;

/// How often products of each operation were made and brought back in this run.
#[derive(Debug, Default)]
pub struct Habits(Mutex<HashMap<Arc<str>, (u64, u64)>>);

impl Habits {
    fn made(&self, operation: &Arc<str>) {
        locked(&self.0).entry(Arc::clone(operation)).or_default().0 += 1;
    }

    /// A product was brought back.
    pub fn read(&self, operation: &Arc<str>) {
        locked(&self.0).entry(Arc::clone(operation)).or_default().1 += 1;
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

/// Decides what is kept.
#[derive(Debug)]
pub struct Thrift {
    store: Arc<dyn Store>,
    habits: Arc<Habits>,
    rates: Rates,
    /// By operation, how often a product is expected to be brought back.
    expected: HashMap<Arc<str>, f64>,
    limit: Option<Limit>,
    /// An output of the latest product was put off, with a word about it the first time.
    put_off: Option<Option<String>>,
    has_told: bool,
}

/// A limit on disk.
#[derive(Debug)]
pub struct Limit {
    /// Bytes.
    pub most: u64,
    /// What the run needs.
    pub needs: Arc<Mutex<Needs>>,
    /// The run.
    pub run: Arc<str>,
    /// There from the first product on: a run that makes nothing looks at nothing.
    pub room: Option<Room>,
}

impl Thrift {
    /// For a store that may have a limit.
    pub fn new(store: Arc<dyn Store>, habits: Arc<Habits>, limit: Option<Limit>) -> Thrift {
        Thrift {
            habits,
            rates: store.rates(),
            expected: HashMap::new(),
            limit,
            put_off: None,
            has_told: false,
            store,
        }
    }

    /// Whether an output of the latest product was put off because other runs hold the room for it, with a word about
    /// it the first time.
    pub fn take_put_off(&mut self) -> Option<Option<String>> {
        self.put_off.take()
    }

    /// Whether there is room again for what was put off.
    pub fn may_go_on(&mut self, flush: &dyn Fn()) -> bool {
        let room = self.limit.as_mut().and_then(|limit| limit.room.as_mut());
        room.is_none_or(|room| room.may_go_on(flush))
    }

    /// Takes out the objects that are not to be kept; each comes with the position of its output. Gives the
    /// positions of the outputs that are not kept; an error if what was asked for has no room.
    pub fn choose(
        &mut self,
        record: &ProductRecord,
        ports: &[Port],
        made: &Made,
        objects: &mut Vec<(usize, PendingObject)>,
        flush: &dyn Fn(),
    ) -> Result<Vec<usize>, String> {
        self.habits.made(&record.operation);
        if let Some(room) = self.room() {
            room.keep_to(flush);
        }
        let mut dropped = Vec::new();
        let mut refused = None;
        for (position, port) in ports.iter().enumerate() {
            let is_wanted = made.wanted.has(position);
            let own = objects.iter().filter(|(at, _)| *at == position);
            let sizes = own.map(|(_, object)| (object.digest, bytes_of(object)));
            let sizes: Vec<(Digest, u64)> = sizes.collect();
            if sizes.is_empty() {
                continue;
            }
            let size = sizes.iter().map(|(_, size)| size).sum();
            let keep = is_wanted || self.is_worth_keeping(record, port, size);
            let room = self.room().filter(|_| keep);
            let fits = room.is_none_or(|room| room.admits(&sizes, is_wanted, flush));
            let waits = self.room().and_then(|room| room.waits());
            if keep && is_wanted && !fits && waits.is_some() {
                // Others hold the room for it. The record is kept, so that nobody waits for this run meanwhile.
                self.put_off = Some(waits.filter(|_| !self.has_told));
                self.has_told = true;
            } else if keep && is_wanted && !fits {
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
                let most = self.room().map_or(0, |room| room.most());
                Err(format!(
                    "an output of {size} bytes does not fit into the {most} bytes that --disk allows, \
                     even without everything that may go; raise --disk"
                ))
            }
        }
    }

    fn room(&mut self) -> Option<&mut Room> {
        let Limit {
            most,
            needs,
            run,
            room,
        } = self.limit.as_mut()?;
        let begin = || {
            Room::new(
                Arc::clone(&self.store),
                Arc::clone(needs),
                Arc::clone(run),
                *most,
            )
        };
        Some(room.get_or_insert_with(begin))
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

    /// Says that a product with these outputs is handed over under this ticket. Tells whether this run may still count
    /// on the files of those that are not kept: under a limit they go as soon as nobody reads them.
    pub fn hand_over(&mut self, ticket: u64, outputs: &Outputs) -> bool {
        let Some(limit) = &self.limit else {
            return true;
        };
        let mut needs = locked(&limit.needs);
        needs.hand_over(ticket);
        needs.hold(ticket, outputs);
        outputs.iter().for_each(|value| needs.watch(value));
        needs.sweep(false);
        false
    }

    /// Writes down what was learned. Everything that was handed over is durable. Gives a word if the store has more than
    /// its limit nevertheless.
    pub fn close(mut self) -> Option<String> {
        let over = self.room().and_then(|room| {
            room.end();
            room.over()
        });
        if let Some(limit) = &self.limit {
            locked(&limit.needs).sweep(true);
        }
        let habits: Vec<(Arc<str>, u64, u64)> = locked(&self.habits.0)
            .drain()
            .map(|(operation, (made, read))| (operation, made, read))
            .collect();
        // What is lost is learned again.
        let _ = self.store.note_habits(&habits);
        over
    }
}
