//! What executions of an operation have cost, for plans.
//!
//! Law: an answer comes from the latest records of an operation, and from so few of them that it takes as long among
//! ten million records as among ten thousand. A question changes nothing; a damaged row is left out.
//!
//! The index by operation is in the order of the rows, so the latest are at its end. Versions have no index of their
//! own: of an operation the latest [`MOST_ROWS`] rows are looked at, which find its present version unless that is
//! much older than another one. Then nothing is known of it, and the plan says so.

use std::sync::Arc;

use headwater_graph::{Cost, Costs, ProductRecord, Rates, StoreError};
use rusqlite::Connection;

use crate::product_rows::{COLUMNS, Names, record};
use crate::queries::number;
use crate::store::FolderStore;

/// Executions that a cost is drawn from, at most.
pub(crate) const MOST_EXECUTIONS: usize = 1000;

/// Rows of an operation, of whatever version, that are looked at.
const MOST_ROWS: i64 = 10_000;

/// The latest rows of an operation.
fn question() -> String {
    format!("SELECT {COLUMNS} FROM products WHERE operation = ?1 ORDER BY id DESC LIMIT ?2")
}

impl Costs for FolderStore {
    fn costs(&self, operations: &[(Arc<str>, Arc<str>)]) -> Result<Vec<Option<Cost>>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(vec![None; operations.len()]);
        };
        database.read(|connection| {
            operations
                .iter()
                .map(|(operation, version)| cost(connection, operation, version))
                .collect()
        })
    }

    fn rates(&self) -> Rates {
        self.measured_rates()
    }

    fn expected_reads(&self, operation: &str) -> f64 {
        self.reads_expected(operation)
    }

    fn note_habits(&self, habits: &[(Arc<str>, u64, u64)]) -> Result<(), StoreError> {
        self.add_habits(habits)
    }
}

fn cost(connection: &Connection, operation: &str, version: &str) -> rusqlite::Result<Option<Cost>> {
    let operation = number(connection, operation)?;
    let version = number(connection, version)?;
    if operation < 0 || version < 0 {
        return Ok(None);
    }
    let mut names = Names::new();
    let mut sum = Sum::default();
    let mut statement = connection.prepare_cached(&question())?;
    let mut rows = statement.query((operation, MOST_ROWS))?;
    while sum.walls.len() < MOST_EXECUTIONS
        && let Some(row) = rows.next()?
    {
        let same_version = row.get::<_, i64>(3).is_ok_and(|found| found == version);
        if same_version && let Some(record) = record(connection, &mut names, row)? {
            sum.add(&record);
        }
    }
    Ok(sum.finish())
}

/// Records, added up.
#[derive(Debug, Default)]
pub struct Sum {
    walls: Vec<u64>,
    output_bytes: u128,
    peak_memory: (u128, u128),
    runs: Vec<Arc<str>>,
}

impl Sum {
    /// Adds an execution.
    pub fn add(&mut self, record: &ProductRecord) {
        self.walls.push(record.wall);
        let sizes = record
            .outputs
            .iter()
            .map(|(_, output)| u128::from(output.size));
        self.output_bytes += sizes.sum::<u128>();
        if record.peak_memory > 0 {
            self.peak_memory.0 += u128::from(record.peak_memory);
            self.peak_memory.1 += 1;
        }
        // The records of a run mostly lie together.
        if self.runs.last() != Some(&record.run) && !self.runs.contains(&record.run) {
            self.runs.push(Arc::clone(&record.run));
        }
    }

    /// What they have cost; `None` where there was none.
    pub fn finish(mut self) -> Option<Cost> {
        self.walls.sort_unstable();
        let executions = self.walls.len();
        let upper = *self.walls.get(executions / 2)?;
        let wall = match executions % 2 {
            1 => upper,
            _ => self.walls[executions / 2 - 1].midpoint(upper),
        };
        Some(Cost {
            executions,
            wall,
            output_bytes: mean(self.output_bytes, executions as u128),
            peak_memory: (self.peak_memory.1 > 0)
                .then(|| mean(self.peak_memory.0, self.peak_memory.1)),
            runs: self.runs,
        })
    }
}

/// Rounded down; the count is not zero.
fn mean(sum: u128, count: u128) -> u64 {
    u64::try_from(sum / count.max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::make;

    #[test]
    fn the_latest_rows_come_from_the_index_without_sorting() {
        let folder = tempfile::tempdir().unwrap();
        let connection = make(&folder.path().join("records.sqlite")).unwrap();
        let plan: Vec<String> = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {}", question()))
            .unwrap()
            .query_map((1, 2), |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(
            plan,
            ["SEARCH products USING INDEX products_by_operation (operation=?)"]
        );
    }
}
