//! Work on several threads whose results are taken in order.
//!
//! Law: results are taken one after another by their numbers, by the thread that asks; at most twice as many as there
//! are threads are begun and not yet taken, so that memory is bounded however unequal the work is. The first error
//! ends everything.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use headwater::Error;

struct Turns {
    state: Mutex<State>,
    moved: Condvar,
    /// Held from taking a number to the end of reading, where reading has to go in order.
    reading: Mutex<()>,
    count: usize,
    ahead: usize,
}

#[derive(Default)]
struct State {
    next: usize,
    taken: usize,
    stopped: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    fn next(&self) -> Option<usize> {
        let mut state = lock(&self.state);
        while !state.stopped && state.next < self.count && state.next >= state.taken + self.ahead {
            state = self
                .moved
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped || state.next >= self.count {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn taken(&self) {
        lock(&self.state).taken += 1;
        self.moved.notify_all();
    }

    fn stop(&self) {
        lock(&self.state).stopped = true;
        self.moved.notify_all();
    }
}

/// Stops the others when its thread ends out of order, so that nobody waits for what never comes.
struct Alarm<'a>(&'a Turns);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// How to go about the work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// How many pieces there are.
    pub(super) count: usize,
    /// How many threads to start; without any, the thread that asks does the work itself.
    pub(super) threads: usize,
    /// Whether pieces are read one after another, in order.
    pub(super) reads_in_order: bool,
}

/// Each thread makes something to read with by `begin`; then `read` gets the material of a piece and `work` its
/// result, which `take` is given in order.
pub(super) fn in_order<R, M, T: Send>(
    plan: Plan,
    begin: impl Fn() -> Result<R, Error> + Sync,
    read: impl Fn(&mut R, usize) -> Result<M, Error> + Sync,
    work: impl Fn(usize, M) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), Error>,
) -> Result<(), Error> {
    let threads = plan.threads.min(plan.count);
    let turns = Turns {
        state: Mutex::default(),
        moved: Condvar::new(),
        reading: Mutex::default(),
        count: plan.count,
        ahead: 2 * threads,
    };
    let one = |sender: &mpsc::Sender<(usize, T)>| -> Result<(), Error> {
        let mut reader = begin()?;
        loop {
            let alone = plan.reads_in_order.then(|| lock(&turns.reading));
            let Some(number) = turns.next() else {
                return Ok(());
            };
            let material = read(&mut reader, number)?;
            drop(alone);
            if sender.send((number, work(number, material))).is_err() {
                return Ok(());
            }
        }
    };
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        let workers: Vec<_> = (0..threads)
            .map_while(|_| {
                let (sender, turns, one) = (sender.clone(), &turns, &one);
                let work = move || {
                    let _alarm = Alarm(turns);
                    let ended = one(&sender);
                    if ended.is_err() {
                        turns.stop();
                    }
                    ended
                };
                // A machine that gives no more threads has those that there are do it all, or this one.
                std::thread::Builder::new().spawn_scoped(scope, work).ok()
            })
            .collect();
        drop(sender);
        if workers.is_empty() {
            let mut reader = begin()?;
            return (0..plan.count).try_for_each(|number| {
                let material = read(&mut reader, number)?;
                take(number, work(number, material))
            });
        }
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (number, result) in results {
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&due) {
                if let Err(error) = take(due, result) {
                    turns.stop();
                    return Err(error);
                }
                turns.taken();
                due += 1;
            }
        }
        for worker in workers {
            match worker.join() {
                Ok(ended) => ended?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn wrong() -> Error {
        Error::Use {
            message: "wrong".to_owned(),
            hint: None,
        }
    }

    #[test]
    fn results_come_in_order_and_not_too_many_are_under_way() {
        for (threads, reads_in_order) in [
            (0, false),
            (0, true),
            (1, false),
            (3, false),
            (3, true),
            (100, true),
        ] {
            let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let read_last = Mutex::new(None);
            let mut taken = Vec::new();
            let plan = Plan {
                count: 50,
                threads,
                reads_in_order,
            };
            in_order(
                plan,
                || Ok(()),
                |(), number| {
                    let last = lock(&read_last).replace(number);
                    assert!(!reads_in_order || last.is_none_or(|last| last + 1 == number));
                    most.fetch_max(begun.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    Ok(number * 10)
                },
                |number, material| (number, material),
                |number, result| {
                    assert_eq!(result, (number, number * 10));
                    begun.fetch_sub(1, Ordering::SeqCst);
                    taken.push(number);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(taken, (0..50).collect::<Vec<_>>());
            // The number of the next piece is given out when one is taken, a moment after it was counted down.
            assert!(most.into_inner() <= 2 * threads.clamp(1, 50));
        }
    }

    #[test]
    fn an_error_anywhere_ends_everything() {
        let run =
            |threads, begin: fn() -> Result<(), Error>, read_fails: usize, take_fails: usize| {
                let plan = Plan {
                    count: 1000,
                    threads,
                    reads_in_order: false,
                };
                in_order(
                    plan,
                    begin,
                    |(), number| {
                        if number == read_fails {
                            Err(wrong())
                        } else {
                            Ok(())
                        }
                    },
                    |_, ()| (),
                    |number, ()| {
                        if number == take_fails {
                            Err(wrong())
                        } else {
                            Ok(())
                        }
                    },
                )
            };
        for threads in [0, 3] {
            assert!(run(threads, || Err(wrong()), 9999, 9999).is_err());
            assert!(run(threads, || Ok(()), 7, 9999).is_err());
            assert!(run(threads, || Ok(()), 9999, 7).is_err());
            assert!(run(threads, || Ok(()), 9999, 9999).is_ok());
        }
    }
}
