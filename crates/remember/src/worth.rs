//! What is worth keeping: what writing and reading cost in a store.
//!
//! Law: a product is worth keeping when `E × (time to make − time to read) > time to write`, with `E` the expected
//! number of reads. The rates are those of this store, measured while it is used, later measurements counting more;
//! until there are any, those of a plain disk are assumed. They change what is kept, never what comes out.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use headwater_graph::Rates;
use rusqlite::{Connection, OptionalExtension};

use crate::database::Database;
use crate::lock::locked;

/// How much a measurement counts against all before it.
const WEIGHT: f64 = 0.2;
/// Up to this size, in bytes, an object costs what it costs because it is one, not because of its size.
const SMALL: u64 = 1 << 16;
/// How long measurements may wait to be written down.
const WAIT: Duration = Duration::from_secs(30);
/// The names under which the seconds per byte or per object are kept, in units of 10⁻¹⁵ s.
const NAMES: [&str; 3] = ["cost:write", "cost:read", "cost:object"];
const UNIT: f64 = 1e-15;

/// Takes in that objects were written.
fn wrote(rates: &mut Rates, objects: usize, bytes: u64, seconds: f64) {
    if objects == 0 {
        return;
    }
    if bytes / objects as u64 <= SMALL {
        rates.object += WEIGHT * (seconds / objects as f64 - rates.object);
    } else {
        let seconds = (seconds - objects as f64 * rates.object).max(seconds / 10.0);
        rates.write = blend(rates.write, bytes, seconds);
    }
}

/// Takes in that an object was read.
fn read(rates: &mut Rates, bytes: u64, seconds: f64) {
    if bytes > SMALL {
        rates.read = blend(rates.read, bytes, seconds);
    }
}

/// Seconds per byte or object, in the order of [`NAMES`].
fn costs(rates: &Rates) -> [f64; 3] {
    [1.0 / rates.write, 1.0 / rates.read, rates.object]
}

/// A rate after another measurement. Times are averaged, not rates.
fn blend(rate: f64, bytes: u64, seconds: f64) -> f64 {
    // No disk and no memory is faster, whatever a coarse clock says.
    let measured = (seconds / bytes as f64).max(1e-12);
    let before = 1.0 / rate;
    1.0 / (before + WEIGHT * (measured - before))
}

/// Measures while a store is used.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// What is assumed, once it was asked for or measured.
    rates: Option<Rates>,
    /// What was measured before the rates were known: nothing is read from the database while measuring.
    measured: Vec<Measured>,
    /// Since when something is to be written down.
    since: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Measured {
    Wrote(usize, u64, f64),
    Read(u64, f64),
}

impl Meter {
    /// Objects were written and made durable.
    pub(crate) fn wrote(&self, objects: usize, bytes: u64, time: Duration) {
        if objects > 0 {
            self.add(Measured::Wrote(objects, bytes, time.as_secs_f64()));
        }
    }

    /// An object was read and verified.
    pub(crate) fn read(&self, bytes: u64, time: Duration) {
        if bytes > SMALL {
            self.add(Measured::Read(bytes, time.as_secs_f64()));
        }
    }

    /// What writing and reading cost, and whether that has waited long enough to be written down.
    pub(crate) fn rates(&self, database: Option<&Database>) -> (Rates, bool) {
        let mut state = locked(&self.0);
        let rates = match state.rates {
            Some(rates) => rates,
            None => {
                let mut rates = database.map_or_else(Rates::default, kept_rates);
                for measured in state.measured.drain(..) {
                    measured.apply(&mut rates);
                }
                state.rates = Some(rates);
                rates
            }
        };
        let is_due = state.since.is_some_and(|since| since.elapsed() > WAIT);
        (rates, is_due)
    }

    /// Writes the rates down, if something was measured.
    pub(crate) fn keep(&self, database: &Database) {
        if locked(&self.0).since.take().is_none() {
            return;
        }
        let costs = costs(&self.rates(Some(database)).0);
        // What is lost is measured again.
        let _ = database.note(|transaction| {
            let mut put =
                transaction.prepare_cached("INSERT OR REPLACE INTO state VALUES (?, ?)")?;
            for (name, cost) in NAMES.iter().zip(costs) {
                put.execute((name, (cost / UNIT) as i64))?;
            }
            Ok(())
        });
    }

    fn add(&self, measured: Measured) {
        let mut guard = locked(&self.0);
        let state = &mut *guard;
        state.since.get_or_insert_with(Instant::now);
        match &mut state.rates {
            Some(rates) => measured.apply(rates),
            // The later ones say as much.
            None if state.measured.len() < 1000 => state.measured.push(measured),
            None => {}
        }
    }
}

impl Measured {
    fn apply(self, rates: &mut Rates) {
        match self {
            Measured::Wrote(objects, bytes, seconds) => wrote(rates, objects, bytes, seconds),
            Measured::Read(bytes, seconds) => read(rates, bytes, seconds),
        }
    }
}

/// A number that the store keeps under a name.
pub(crate) fn state(connection: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT value FROM state WHERE name = ?")?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// The rates that were written down; for each that was not, or makes no sense, the one that is assumed.
fn kept_rates(database: &Database) -> Rates {
    let assumed = Rates::default();
    let kept = database.read(|connection| {
        let cost = |name: &str| {
            let kept = state(connection, name)?.filter(|kept| *kept > 0);
            Ok::<_, rusqlite::Error>(kept.map(|kept| kept as f64 * UNIT))
        };
        let [write, read, object] = NAMES;
        Ok(Rates {
            write: cost(write)?.map_or(assumed.write, f64::recip),
            read: cost(read)?.map_or(assumed.read, f64::recip),
            object: cost(object)?.unwrap_or(assumed.object),
        })
    });
    kept.unwrap_or(assumed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_pull_the_rates_towards_them() {
        let mut rates = Rates::default();
        for _ in 0..50 {
            wrote(&mut rates, 100, 100 * 1000, 0.1);
            wrote(&mut rates, 2, 100_000_000, 0.502);
            read(&mut rates, 50_000_000, 0.1);
            read(&mut rates, 10, 5.0);
            wrote(&mut rates, 0, 0, 5.0);
        }
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.01;
        assert!(near(rates.object, 1e-3), "{rates:?}");
        assert!(near(rates.write, 2e8), "{rates:?}");
        assert!(near(rates.read, 5e8), "{rates:?}");
    }

    #[test]
    fn a_clock_that_stands_still_does_no_harm() {
        let mut rates = Rates::default();
        for _ in 0..1000 {
            wrote(&mut rates, 1, 1 << 30, 0.0);
            wrote(&mut rates, 1, 1, 0.0);
            read(&mut rates, 1 << 30, 0.0);
        }
        assert!(rates.write.is_finite() && rates.read.is_finite());
        assert!(rates.object >= 0.0);
        assert!(rates.worth_keeping(1.0, 1.0, 1000));
    }
}
