//! How often products are read again.
//!
//! Law: what is expected of an operation is what was seen of it, within bounds. It changes what is kept, never what
//! comes out.

use std::sync::Arc;

use headwater_graph::StoreError;
use rusqlite::Connection;

use crate::store::Store;
use crate::worth::state;

/// The bounds of the expected reads. An operation that was never read again so far still may be: at zero nothing of it
/// would be kept, and so nothing ever be read again. And a few that were read often say little about the next one: it
/// should not be kept at any price.
const EXPECTED: (f64, f64) = (0.1, 100.0);

impl Store {
    /// How often a product of this operation is expected to be read again: what was read of it before, against what
    /// was made, between 0.1 and 100. One that is not known yet is expected to be read once.
    pub fn expected_reads(&self, operation: &str) -> f64 {
        let count = |connection: &Connection, kind: &str| {
            Ok::<_, rusqlite::Error>(
                state(connection, &format!("{kind}:{operation}"))?.unwrap_or(0),
            )
        };
        let counts = self.database().and_then(|database| {
            let ask = |connection: &Connection| {
                Ok((count(connection, "made")?, count(connection, "read")?))
            };
            database.read(ask).ok()
        });
        let (made, read) = counts.unwrap_or((0, 0));
        ((1.0 + read as f64) / (1.0 + made as f64)).clamp(EXPECTED.0, EXPECTED.1)
    }

    /// Adds to what is known of operations: how many products of each were made, and how many read.
    pub fn note_habits(&self, habits: &[(Arc<str>, u64, u64)]) -> Result<(), StoreError> {
        self.writable()?.note(|transaction| {
            // Sums stay far below where they would not be whole numbers any more.
            let mut add = transaction.prepare_cached(
                "INSERT INTO state VALUES (?, ?)
                 ON CONFLICT (name) DO UPDATE SET value = min(value + excluded.value, 1152921504606846976)",
            )?;
            for (operation, made, read) in habits {
                for (kind, count) in [("made", *made), ("read", *read)] {
                    if count > 0 {
                        let count = count.min(1 << 60).cast_signed();
                        add.execute((format!("{kind}:{operation}"), count))?;
                    }
                }
            }
            Ok(())
        })
    }
}
