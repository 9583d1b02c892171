//! What a sequence came to.
//!
//! Law: every call stands here once, in program order. Items that somebody can still name are there, or it is said why
//! not; their bytes are brought when they are asked for.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headwater_derive::{CallId, ItemId, Mode};
use headwater_engine::fetch::StoreFetcher;
use headwater_engine::temporary::Temporary;
use headwater_execute::{Fetch, Ports, read_written_out};
use headwater_graph::text::printable;
use headwater_graph::{Recipe, Value};

use crate::error::{FailedCall, SequenceError, Unavailable};
use crate::item::Dropped;
use crate::{Item, Reference};

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallState {
    /// It ran.
    Executed,
    /// What it makes was remembered.
    Reused,
    /// An earlier call of the sequence computes the same, and stands for it.
    Shared,
    /// It ran and failed.
    Failed,
    /// Something that it needs failed.
    Blocked,
    /// Nobody needed what it makes.
    Unneeded,
    /// The sequence was stopped before it was its turn.
    Left,
}

impl CallState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CallState::Executed => "executed",
            CallState::Reused => "reused",
            CallState::Shared => "shared",
            CallState::Failed => "failed",
            CallState::Blocked => "blocked",
            CallState::Unneeded => "unneeded",
            CallState::Left => "left",
        }
    }

    const ALL: [CallState; 7] = [
        CallState::Executed,
        CallState::Reused,
        CallState::Shared,
        CallState::Failed,
        CallState::Blocked,
        CallState::Unneeded,
        CallState::Left,
    ];
}

impl fmt::Display for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A call of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallReport {
    /// What it is called, such as `iqsort[2]`.
    pub address: String,
    /// Its operation.
    pub operation: Arc<str>,
    /// Its level: 0 if it depends on no other call, else one more than the highest that it depends on.
    pub rank: u32,
    /// What became of it.
    pub state: CallState,
    /// When it began, since the sequence did, and how long it took, if it ran.
    pub ran: Option<(Duration, Duration)>,
}

/// How many dependences there are between calls, as pairs of calls and what lies between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DependenceCounts {
    /// A call reads what another has written: the data goes from one to the other.
    pub read_after_write: usize,
    /// A call writes over what another has read.
    pub write_after_read: usize,
    /// A call writes over what another has written.
    pub write_after_write: usize,
    /// One gives a scalar and the other takes one of the same type, in conservative mode.
    pub scalar: usize,
}

/// The bytes that went where. A single number counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Traffic {
    /// From the program to calls; each thing once, however many calls read it.
    pub given: u64,
    /// From calls to the program: values that were asked for, and items that it holds at the end, of calls that ran.
    pub taken: u64,
    /// From one call to another, which the program has no part in.
    pub between: u64,
}

/// Where the value of an item is.
#[derive(Debug)]
pub(crate) enum Held {
    Here(Value),
    Stored(Recipe, u16),
    /// In a file of all outputs of a task, because memory was short.
    WrittenOut(PathBuf, u16),
    Unavailable(Box<Unavailable>),
    /// The sequence was stopped before.
    NotMade,
    /// It was made, and is nowhere.
    Gone,
}

/// What a sequence came to.
#[non_exhaustive]
pub struct SequenceReport {
    /// The run in the store, if products were remembered.
    pub run: Option<String>,
    /// What the sequence is called.
    pub name: String,
    /// What was done about scalars.
    pub mode: Mode,
    /// The calls, in program order.
    pub calls: Vec<CallReport>,
    /// The calls that failed, in program order.
    pub failures: Vec<Arc<FailedCall>>,
    /// The items that cannot be had, and why.
    pub unavailable: Vec<Unavailable>,
    /// Dependences between calls.
    pub dependences: DependenceCounts,
    /// The bytes that went where.
    pub traffic: Traffic,
    /// How long it took, from beginning to end.
    pub elapsed: Duration,
    /// Whether somebody stopped it.
    pub stopped: bool,
    /// Things worth telling.
    pub notes: Vec<String>,
    pub(crate) held: HashMap<ItemId, (String, Held)>,
    pub(crate) dropped: Arc<Dropped>,
    pub(crate) fetcher: Option<StoreFetcher>,
    /// Where files lie that are in no store.
    pub(crate) _files: Temporary,
}

impl SequenceReport {
    /// This report, if no call failed: `sequence.end()?.check()?`. Calls that fail are no
    /// error of the sequence, and by themselves do not end the program.
    pub fn check(self) -> Result<SequenceReport, SequenceError> {
        if self.failures.is_empty() {
            Ok(self)
        } else {
            Err(SequenceError::Failed(self.failures))
        }
    }

    /// How many calls ended like that.
    pub fn count(&self, state: CallState) -> usize {
        self.calls.iter().filter(|call| call.state == state).count()
    }

    /// The call of that number, if it is one of this sequence.
    pub fn call(&self, call: CallId) -> Option<&CallReport> {
        self.calls.get(call.index())
    }

    /// The value of an item that was held to the end. What a file holds lies in the store, or, where nothing is
    /// remembered, in a folder that goes with this report.
    pub fn value<T: super::Datum>(&self, item: &Item<T>) -> Result<T, SequenceError> {
        let value = self.value_of(item.reference())?;
        let name = || self.name_of(item.reference());
        super::typed(value, name)
    }

    fn name_of(&self, item: &Reference) -> String {
        let known = self.held.get(&item.id());
        known.map_or_else(|| format!("item {}", item.id().0), |(name, _)| name.clone())
    }

    /// The same, whatever it holds.
    pub fn value_of(&self, item: &Reference) -> Result<Value, SequenceError> {
        if !item.belongs_to(&self.dropped) {
            return Err(SequenceError::Foreign);
        }
        let Some((name, held)) = self.held.get(&item.id()) else {
            return Err(SequenceError::NoValue {
                item: self.name_of(item),
            });
        };
        match held {
            Held::Here(value) => Ok(value.clone()),
            Held::Unavailable(why) => Err(SequenceError::Unavailable(why.clone())),
            Held::NotMade => Err(SequenceError::Stopped { item: name.clone() }),
            Held::WrittenOut(path, port) => {
                let outputs = read_written_out(path).unwrap_or_default();
                let value = outputs.into_iter().nth(usize::from(*port));
                value.ok_or_else(|| SequenceError::Gone { item: name.clone() })
            }
            Held::Gone => Err(SequenceError::Gone { item: name.clone() }),
            Held::Stored(recipe, port) => {
                let fetched = self.fetcher.as_ref().and_then(|fetcher| {
                    let fetched = fetcher.fetch(recipe, &Ports::These(vec![*port]))?;
                    fetcher.brought(fetched.output(*port)?)
                });
                fetched.ok_or_else(|| SequenceError::Gone { item: name.clone() })
            }
        }
    }
}

impl fmt::Debug for SequenceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequenceReport")
            .field("name", &self.name)
            .field("run", &self.run)
            .field("calls", &self.calls)
            .field("unavailable", &self.unavailable)
            .finish_non_exhaustive()
    }
}

/// `3 calls`, `1 call`.
fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// So many items are named that a failure costs.
const NAMED: usize = 10;

/// The answer in a few lines.
impl fmt::Display for SequenceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            printable(&self.name),
            counted(self.calls.len(), "call")
        )?;
        let told = CallState::ALL.map(|state| (state, self.count(state)));
        let told: Vec<String> = (told.iter())
            .filter(|(_, count)| *count > 0)
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        if !told.is_empty() {
            write!(f, " ({})", told.join(", "))?;
        }
        write!(f, " in {:.3} s", self.elapsed.as_secs_f64())?;
        let levels = self
            .calls
            .iter()
            .map(|call| call.rank + 1)
            .max()
            .unwrap_or(0);
        let DependenceCounts {
            read_after_write,
            write_after_read,
            write_after_write,
            scalar,
        } = self.dependences;
        let all = read_after_write + write_after_read + write_after_write + scalar;
        write!(
            f,
            "\n{} on {}: {read_after_write} read after write, {write_after_read} write after read, \
             {write_after_write} write after write",
            counted(all, "dependence"),
            counted(levels as usize, "level"),
        )?;
        if scalar > 0 {
            write!(f, ", {scalar} by scalars")?;
        }
        let Traffic {
            given,
            taken,
            between,
        } = self.traffic;
        write!(
            f,
            "\n{given} bytes from the program, {taken} to it, {between} between calls"
        )?;
        for failed in &self.failures {
            write!(f, "\nfailed: {}", failed.description())?;
            let mine = |why: &&Unavailable| why.cause.call == failed.call;
            let items: Vec<&str> = (self.unavailable.iter().filter(mine))
                .map(|why| &*why.item)
                .collect();
            if !items.is_empty() {
                let named: Vec<String> = (items.iter().take(NAMED))
                    .map(|item| format!("`{}`", printable(item)))
                    .collect();
                write!(f, "\n  not available because of it: {}", named.join(", "))?;
                if items.len() > NAMED {
                    write!(f, " and {} more", items.len() - NAMED)?;
                }
            }
        }
        for note in &self.notes {
            write!(f, "\nnote: {note}")?;
        }
        if let Some(run) = &self.run {
            write!(f, "\nrun {run}")?;
        }
        Ok(())
    }
}
