//! How often products are read again.
//!
//! Law: what is expected of an operation is what was seen of it, within bounds. It changes what is kept, never what
//! comes out.

use std::sync::Arc;

use headwater_graph::{StoreError, expected_reads};
use rusqlite::Connection;

use crate::store::FolderStore;
use crate::worth::state;

impl FolderStore {
    /// See [`Costs::expected_reads`](headwater_graph::Costs::expected_reads).
    pub(crate) fn reads_expected(&self, operation: &str) -> f64 {
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
        expected_reads(made.cast_unsigned(), read.cast_unsigned())
    }

    /// Adds to what is known of operations: how many products of each were made, and how many read.
    pub(crate) fn add_habits(&self, habits: &[(Arc<str>, u64, u64)]) -> Result<(), StoreError> {
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
