//! What tasks have cost, and what reading and writing cost: the grounds for plans and for what is worth keeping.
//!
//! Law: none of it changes a result. A store that knows nothing answers with defaults.

use std::sync::Arc;

use crate::StoreError;

/// What executions of one operation in one version have cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// How many executions this is drawn from: the latest ones, and not more than a store looks at.
    pub executions: usize,
    /// The median of their wall-clock times, in nanoseconds.
    pub wall: u64,
    /// The mean of the bytes of all their outputs.
    pub output_bytes: u64,
    /// The mean of their peak memory in bytes, over the executions for which it is known, if any.
    pub peak_memory: Option<u64>,
    /// The runs that they belong to, each once, the latest first.
    pub runs: Vec<Arc<str>>,
}

/// What reading and writing objects cost in a store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Bytes written per second, made durable.
    pub write: f64,
    /// Bytes read per second, verified.
    pub read: f64,
    /// Seconds that an object costs besides, however small it is.
    pub object: f64,
}

impl Default for Rates {
    /// Those of a plain disk.
    fn default() -> Rates {
        Rates {
            write: 2e8,
            read: 1e9,
            object: 2e-4,
        }
    }
}

impl Rates {
    /// Seconds to write an object of this size.
    pub fn seconds_to_write(&self, bytes: u64) -> f64 {
        self.object + bytes as f64 / self.write
    }

    /// Seconds to read an object of this size.
    pub fn seconds_to_read(&self, bytes: u64) -> f64 {
        self.object + bytes as f64 / self.read
    }

    /// Whether keeping saves more time than it costs: `E × (time to make − time to read) > time to write`.
    pub fn worth_keeping(&self, expected_reads: f64, seconds_to_make: f64, bytes: u64) -> bool {
        let saved = seconds_to_make - self.seconds_to_read(bytes);
        expected_reads * saved > self.seconds_to_write(bytes)
    }
}

/// The bounds of [`Costs::expected_reads`]. Products of an operation that were never read again still may be: at zero
/// none would be kept, and so none would ever be read again. A few that were read often say little about the next one.
const EXPECTED_READS: (f64, f64) = (0.1, 100.0);

/// How often a product is expected to be read again, from how many were made and how often they were read: one that
/// nobody knows once, else within bounds.
pub fn expected_reads(made: u64, read: u64) -> f64 {
    ((1.0 + read as f64) / (1.0 + made as f64)).clamp(EXPECTED_READS.0, EXPECTED_READS.1)
}

/// What tasks are expected to cost, and how often their products are read again.
pub trait Costs: Send + Sync {
    /// For each operation and version what executions of it have cost, or `None` where none is remembered.
    fn costs(&self, operations: &[(Arc<str>, Arc<str>)]) -> Result<Vec<Option<Cost>>, StoreError>;

    /// What writing and reading cost, as measured while the store was used.
    fn rates(&self) -> Rates;

    /// How often a product of this operation is expected to be read again (see [`expected_reads`]).
    fn expected_reads(&self, operation: &str) -> f64;

    /// Adds to what is known of operations: how many products of each were made, and how many were read.
    fn note_habits(&self, habits: &[(Arc<str>, u64, u64)]) -> Result<(), StoreError>;
}
