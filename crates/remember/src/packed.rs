//! Records as rows: a few columns that are asked for, and all lists of a record in one packed column.
//!
//! Law: a row that is not in every column what was written gives no record. The packed column ends with a seal: eight
//! bytes of checksum over what the other columns say. Every database of records has these columns.

use std::sync::Arc;

use headwater_graph::{ProductRecord, Recipe};

use crate::details;

/// Bytes at the end of the details.
pub(crate) const SEAL: usize = 8;

/// The columns of a record that are not in its details.
#[derive(Debug, Clone)]
pub struct Columns {
    /// Its key.
    pub recipe: Recipe,
    /// Name of the operation.
    pub operation: Arc<str>,
    /// Version of the operation.
    pub version: Arc<str>,
    /// The run that made it.
    pub run: Arc<str>,
    /// Wall-clock time, in nanoseconds.
    pub wall: u64,
    /// Processor time, in nanoseconds.
    pub cpu: u64,
    /// Peak memory in bytes.
    pub peak_memory: u64,
    /// When, in seconds since 1970.
    pub time: i64,
}

/// Ties together what is not in the details, so that a changed number or name does not pass for the one it was.
fn seal(columns: &Columns) -> [u8; SEAL] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&columns.recipe.0);
    for number in [columns.wall, columns.cpu, columns.peak_memory] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(&columns.time.to_le_bytes());
    for text in [&columns.operation, &columns.version, &columns.run] {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let mut seal = [0; SEAL];
    seal.copy_from_slice(&hasher.finalize().as_bytes()[..SEAL]);
    seal
}

/// The lists of a record, sealed.
pub fn pack(record: &ProductRecord) -> Vec<u8> {
    let mut packed = details::write(
        &record.recipe,
        record.content.as_ref(),
        &record.parameters,
        &record.inputs,
        &record.outputs,
    );
    packed.extend_from_slice(&seal(&Columns {
        recipe: record.recipe,
        operation: Arc::clone(&record.operation),
        version: Arc::clone(&record.version),
        run: Arc::clone(&record.run),
        wall: record.wall,
        cpu: record.cpu,
        peak_memory: record.peak_memory,
        time: record.time,
    }));
    packed
}

/// Whether two packed columns say the same of a product, whoever made it and when.
pub(crate) fn says_the_same(one: &[u8], other: &[u8]) -> bool {
    let lists = |packed| <[u8]>::split_last_chunk::<SEAL>(packed).map(|(lists, _)| lists);
    lists(one).is_some() && lists(one) == lists(other)
}

/// Whether two packed columns say that the task with this recipe gave the same outputs. What it read may be written in another
/// way: an input that was made again goes by its contents.
pub fn gave_the_same(recipe: &Recipe, one: &[u8], other: &[u8]) -> bool {
    let outputs = |packed| {
        let (lists, _) = <[u8]>::split_last_chunk::<SEAL>(packed)?;
        let outputs = details::read(recipe, lists).ok()?.outputs.into_iter();
        Some(
            outputs
                .map(|(port, output)| (port, output.digest))
                .collect::<Vec<_>>(),
        )
    };
    says_the_same(one, other) || (outputs(one).is_some() && outputs(one) == outputs(other))
}

/// Puts a record together; `None` where it is damaged.
pub fn unpack(columns: Columns, packed: &[u8]) -> Option<ProductRecord> {
    let (lists, sealed) = packed.split_last_chunk::<SEAL>()?;
    if seal(&columns) != *sealed {
        return None;
    }
    let details = details::read(&columns.recipe, lists).ok()?;
    Some(ProductRecord {
        recipe: columns.recipe,
        content: details.content,
        operation: columns.operation,
        version: columns.version,
        parameters: details.parameters,
        inputs: details.inputs,
        outputs: details.outputs,
        wall: columns.wall,
        cpu: columns.cpu,
        peak_memory: columns.peak_memory,
        run: columns.run,
        time: columns.time,
    })
}
