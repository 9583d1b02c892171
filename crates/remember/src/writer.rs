//! A thread that groups what many threads submit into few commits.
//!
//! Law: a ticket is acknowledged once, after everything its product consists of is durable, and not at all if that
//! failed. A product whose bytes somebody changed before they were stored is given up, which is no trouble of the
//! store: it can be made again. Submitting is cheap until the queue is full; then it waits, so that memory stays bounded. The first error
//! is kept and told by [`Writer::flush`], [`Writer::close`] and [`Writer::failed`]; later batches are still tried,
//! because a full disk may have room again, and each product kept is one less to make.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use headwater_graph::{Alias, Pending, Store, StoreEntry, StoreError};

use crate::keep::repeat;
use crate::lock::locked;

/// How long the first of a batch waits for company.
const WINDOW: Duration = Duration::from_millis(50);
/// The most products in a batch. The larger it is, the fewer pages of the index are written per record.
const BATCH: usize = 16_384;
/// The most products that wait.
const QUEUE: usize = 2 * BATCH;
/// The most bytes of objects in memory that wait or are being written, unless somebody says otherwise.
const QUEUE_BYTES: u64 = 256 << 20;

/// Called with the tickets of a batch when they are durable, or given up.
type Tell = Box<dyn Fn(&[u64]) + Send>;

/// What the thread and those who submit share.
#[derive(Debug, Default)]
struct State {
    queue: VecDeque<StoreEntry>,
    /// Of what is in the queue, and of the batch that is being written.
    bytes: u64,
    /// Tickets below this one have been taken from the queue and dealt with.
    done: u64,
    /// The next ticket.
    next: u64,
    /// Somebody waits: do not wait for company.
    hurry: bool,
    closing: bool,
    /// The thread is gone.
    ended: bool,
    error: Option<StoreError>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// The thread waits here for work.
    work: Condvar,
    /// Others wait here for the thread.
    progress: Condvar,
}

impl Shared {
    fn wait<'a>(&self, on: &Condvar, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        on.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps products in the background.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    room: u64,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. `acknowledged` is called on it with the tickets of each batch that has become durable.
    pub fn start(store: Arc<dyn Store>, acknowledged: Tell) -> Writer {
        Writer::start_within(store, acknowledged, Box::new(|_| ()), QUEUE_BYTES)
    }

    /// As [`start`](Self::start); `given_up` is called with the tickets of products whose bytes are not what was
    /// digested. Objects that wait or are being written take at most `room` bytes of memory, or are alone.
    pub fn start_within(
        store: Arc<dyn Store>,
        acknowledged: Tell,
        given_up: Tell,
        room: u64,
    ) -> Writer {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("headwater-writer".to_owned())
            .spawn(move || {
                let end = TellsAtEnd(own);
                work(&*store, &end.0, &acknowledged, &given_up);
            })
            .inspect_err(|error| {
                let mut state = locked(&shared.state);
                state.ended = true;
                state.error = Some(StoreError::Database(format!(
                    "its writer could not be started: {error}"
                )));
            })
            .ok();
        Writer {
            shared,
            room,
            thread,
        }
    }

    /// Hands over a product and returns its ticket; tickets count from 0. Waits only while the queue is full.
    pub fn submit(&self, pending: Pending) -> u64 {
        self.hand_over(StoreEntry::Product(pending))
    }

    /// Hands over that a task is equal to a product, and returns its ticket: the next of the same row of numbers. The
    /// product may have been submitted just before. Where it is neither there nor on its way, the alias is not kept.
    pub fn alias(&self, alias: Alias) -> u64 {
        self.hand_over(StoreEntry::Alias(alias))
    }

    fn hand_over(&self, entry: StoreEntry) -> u64 {
        let bytes = entry.memory();
        let mut state = locked(&self.shared.state);
        // A product larger than the whole allowance goes alone.
        while !state.ended
            && (state.queue.len() >= QUEUE
                || (state.bytes > 0 && state.bytes.saturating_add(bytes) > self.room))
        {
            state.hurry = true;
            self.shared.work.notify_one();
            state = self.shared.wait(&self.shared.progress, state);
        }
        let ticket = state.next;
        state.next += 1;
        if !state.ended {
            state.bytes += bytes;
            state.queue.push_back(entry);
            let length = state.queue.len();
            drop(state);
            // The thread looks at the clock itself between the first of a batch and a full one.
            if length == 1 || length == BATCH {
                self.shared.work.notify_one();
            }
        }
        ticket
    }

    /// Waits until everything submitted before is dealt with; an error where something of it, or of what came before,
    /// could not be kept.
    pub fn flush(&self) -> Result<(), StoreError> {
        let mut state = locked(&self.shared.state);
        let wanted = state.next;
        while state.done < wanted && !state.ended {
            state.hurry = true;
            self.shared.work.notify_one();
            state = self.shared.wait(&self.shared.progress, state);
        }
        match &state.error {
            Some(error) => Err(repeat(error)),
            None if state.done < wanted => {
                Err(StoreError::Database("its writer has stopped".to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Finishes the queue, ends the thread, and says whether everything was kept.
    pub fn close(mut self) -> Result<(), StoreError> {
        let flushed = self.flush();
        self.end();
        flushed
    }

    /// The first error so far, in words.
    pub fn failed(&self) -> Option<String> {
        locked(&self.shared.state)
            .error
            .as_ref()
            .map(ToString::to_string)
    }

    fn end(&mut self) {
        locked(&self.shared.state).closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has been told by `flush`.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Tells those who wait when the thread ends, however it ends.
struct TellsAtEnd(Arc<Shared>);

impl Drop for TellsAtEnd {
    fn drop(&mut self) {
        locked(&self.0.state).ended = true;
        self.0.progress.notify_all();
    }
}

fn work(store: &dyn Store, shared: &Shared, acknowledged: &Tell, given_up: &Tell) {
    while let Some((first, batch)) = next_batch(shared) {
        let kept = store.keep(&batch);
        // A product whose bytes are not those that were digested; an alias of what is gone is trouble.
        let is_changed = |(position, error): &(usize, StoreError)| {
            matches!(batch.get(*position), Some(StoreEntry::Product(_)))
                && matches!(error, StoreError::Damaged { .. })
        };
        let changed = kept.iter().flatten().filter(|left| is_changed(left));
        let changed: Vec<usize> = changed.map(|(position, _)| *position).collect();
        let count = batch.len();
        let bytes: u64 = batch.iter().map(|entry| entry.memory()).sum();
        // The products may be large, and nobody should have to wait while they are freed.
        drop(batch);
        let tickets = first..first + count as u64;
        let error = match kept {
            Ok(left_out) => {
                let mut missing = left_out
                    .iter()
                    .map(|(position, _)| first + *position as u64)
                    .peekable();
                let tickets: Vec<u64> = tickets
                    .clone()
                    .filter(|ticket| missing.next_if_eq(ticket).is_none())
                    .collect();
                if !tickets.is_empty() {
                    acknowledged(&tickets);
                }
                let given: Vec<u64> = changed.iter().map(|at| first + *at as u64).collect();
                if !given.is_empty() {
                    given_up(&given);
                }
                let is_trouble = |(position, _): &(usize, StoreError)| !changed.contains(position);
                let mut left_out = left_out.into_iter();
                left_out.find(is_trouble).map(|(_, error)| error)
            }
            Err(error) => Some(error),
        };
        let mut state = locked(&shared.state);
        state.bytes -= bytes;
        state.done = tickets.end;
        if state.error.is_none() {
            state.error = error;
        }
        drop(state);
        shared.progress.notify_all();
    }
}

/// Waits for work and takes a batch, with the ticket of its first product; `None` when there is nothing to come.
fn next_batch(shared: &Shared) -> Option<(u64, Vec<StoreEntry>)> {
    let mut state = locked(&shared.state);
    while state.queue.is_empty() {
        state.hurry = false;
        if state.closing {
            return None;
        }
        state = shared.wait(&shared.work, state);
    }
    let end = Instant::now() + WINDOW;
    while state.queue.len() < BATCH && !state.hurry && !state.closing {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        state = shared
            .work
            .wait_timeout(state, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    let count = state.queue.len().min(BATCH);
    let batch: Vec<StoreEntry> = state.queue.drain(..count).collect();
    let first = state.done;
    drop(state);
    // Those who wait for a place need not wait for the commit.
    shared.progress.notify_all();
    Some((first, batch))
}
