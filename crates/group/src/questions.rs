//! What people ask a group, what executions have cost there, and reading everything.
//!
//! Law: see [`headwater_graph::Questions`]. Whose products are not trusted is not hidden from people: they see what is
//! there.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_graph::{
    Cost, Digest, FoundProduct, ProductFilter, ProductRecord, Recipe, Verified, VersionParts,
};
use headwater_remember::Sum;

use crate::Group;
use crate::bytes::copy;
use crate::link::Trouble;
use crate::lock::locked;
use crate::rows::{Texts, key, record};

/// Products that are named where several are meant.
const MOST_NAMED: i64 = 10;
/// Latest executions of an operation that are looked at.
const MOST_EXECUTIONS: i64 = 1_000;
/// Rows that are read at once.
const PAGE: i64 = 10_000;

const PRODUCTS: &str = "
SELECT recipe, operation, version, run, wall, cpu, peak_memory, time, details FROM headwater.products
WHERE ($1::text IS NULL OR operation = $1) AND ($2::text IS NULL OR run = $2) ORDER BY number DESC LIMIT $3";
const COUNT: &str = "
SELECT count(*) FROM headwater.products WHERE ($1::text IS NULL OR operation = $1) AND ($2::text IS NULL OR run = $2)";
const BEFORE: &str = "
SELECT recipe, operation, version, run, wall, cpu, peak_memory, time, details FROM headwater.products
WHERE operation = $1 AND run <> $2
    AND number < coalesce((SELECT number FROM headwater.products WHERE recipe = $3), 9223372036854775807)
ORDER BY number DESC LIMIT $4";
const BEGINNING: &str = "
SELECT recipe FROM headwater.products WHERE recipe BETWEEN $1 AND $2
UNION SELECT recipe FROM headwater.aliases WHERE recipe BETWEEN $1 AND $2 ORDER BY 1 LIMIT $3";
const COSTS: &str = "
SELECT recipe, operation, version, run, wall, cpu, peak_memory, time, details FROM headwater.products
WHERE operation = $1 AND version = $2 ORDER BY number DESC LIMIT $3";
const NOTE_VERSION: &str = "
INSERT INTO headwater.versions (version, parts) VALUES ($1, $2)
ON CONFLICT (version) DO NOTHING";
const PAGE_OF_PRODUCTS: &str = "
SELECT recipe, operation, version, run, wall, cpu, peak_memory, time, details, number FROM headwater.products
WHERE number > $1 ORDER BY number LIMIT $2";

/// The first and the last recipe that begin with these digits.
fn range(digits: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let end = |fill: char| {
        let whole: String = digits
            .chars()
            .chain(std::iter::repeat(fill))
            .take(64)
            .collect();
        whole.parse::<Recipe>().ok().map(|recipe| recipe.0.to_vec())
    };
    let is_plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.is_empty() || digits.len() > 64 || !digits.bytes().all(is_plain) {
        return None;
    }
    Some((end('0')?, end('f')?))
}

impl Group {
    fn select(
        &self,
        question: &str,
        arguments: &[&(dyn postgres::types::ToSql + Sync)],
    ) -> Result<Vec<ProductRecord>, Trouble> {
        self.link.ask(|client| {
            let mut texts = Texts::default();
            let rows = client.query(question, arguments)?;
            Ok(rows
                .iter()
                .filter_map(|row| record(&mut texts, row, 0))
                .collect())
        })
    }

    pub(crate) fn products(&self, filter: &ProductFilter) -> Result<Vec<ProductRecord>, Trouble> {
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        self.select(PRODUCTS, &[&filter.operation, &filter.run, &limit])
    }

    pub(crate) fn count_products(&self, filter: &ProductFilter) -> Result<u64, Trouble> {
        self.link.ask(|client| {
            let row = client.query_one(COUNT, &[&filter.operation, &filter.run])?;
            Ok(row.try_get::<_, i64>(0)?.cast_unsigned())
        })
    }

    pub(crate) fn products_before(
        &self,
        product: &ProductRecord,
        limit: usize,
    ) -> Result<Vec<ProductRecord>, Trouble> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let recipe = &product.recipe.0[..];
        self.select(
            BEFORE,
            &[&&*product.operation, &&*product.run, &recipe, &limit],
        )
    }

    pub(crate) fn find_product(&self, digits: &str) -> Result<FoundProduct, Trouble> {
        let Some((first, last)) = range(digits) else {
            return Ok(FoundProduct::None);
        };
        let mut found: Vec<Recipe> = self.link.ask(|client| {
            let rows = client.query(BEGINNING, &[&first, &last, &MOST_NAMED])?;
            Ok(rows
                .iter()
                .filter_map(|row| key(row, 0).map(Recipe))
                .collect())
        })?;
        if found.len() > 1 {
            return Ok(FoundProduct::Several(found));
        }
        let Some(asked) = found.pop() else {
            return Ok(FoundProduct::None);
        };
        let records = self
            .link
            .ask(|client| crate::rows::fetch(client, &[asked], &None))?;
        Ok(match records.into_iter().flatten().next() {
            Some(record) => FoundProduct::One {
                asked,
                record: Box::new(Arc::unwrap_or_clone(record)),
            },
            None => FoundProduct::None,
        })
    }

    pub(crate) fn cost(&self, operation: &str, version: &str) -> Result<Option<Cost>, Trouble> {
        let mut sum = Sum::default();
        for record in self.select(COSTS, &[&operation, &version, &MOST_EXECUTIONS])? {
            sum.add(&record);
        }
        Ok(sum.finish())
    }

    pub(crate) fn note_versions(
        &self,
        versions: &[(Arc<str>, VersionParts)],
    ) -> Result<(), Trouble> {
        self.link.ask(|client| {
            for (version, parts) in versions {
                let parts: Vec<String> = parts
                    .iter()
                    .flat_map(|(label, text)| [label, text])
                    .map(|text| text.replace('\0', ""))
                    .collect();
                client.execute(NOTE_VERSION, &[&&**version, &parts])?;
            }
            Ok(())
        })
    }

    pub(crate) fn version_parts(&self, version: &str) -> Result<Option<VersionParts>, Trouble> {
        self.link.ask(|client| {
            let question = "SELECT parts FROM headwater.versions WHERE version = $1";
            let Some(row) = client.query_opt(question, &[&version])? else {
                return Ok(None);
            };
            let parts: Vec<String> = row.try_get(0)?;
            let pairs = parts.chunks_exact(2);
            Ok(Some(
                pairs
                    .map(|pair| (pair[0].clone(), pair[1].clone()))
                    .collect(),
            ))
        })
    }

    /// Reads all objects and records of the group.
    pub(crate) fn verify(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Verified, Trouble> {
        let mut verified = Verified::default();
        let mut after = 0_i64;
        loop {
            let rows = self
                .link
                .ask(|client| Ok(client.query(PAGE_OF_PRODUCTS, &[&after, &PAGE])?))?;
            let Some(last) = rows.last() else { break };
            after = last.try_get(9)?;
            let mut texts = Texts::default();
            for row in &rows {
                verified.records += 1;
                verified.damaged_records += u64::from(record(&mut texts, row, 0).is_none());
            }
        }
        let listed: Vec<(Digest, u64)> = self.link.ask(|client| {
            let rows = client.query(
                "SELECT digest, size FROM headwater.objects ORDER BY digest",
                &[],
            )?;
            let read = |row: &postgres::Row| {
                Some((
                    Digest(key(row, 0)?),
                    row.try_get::<_, i64>(1).ok()?.cast_unsigned(),
                ))
            };
            Ok(rows.iter().filter_map(read).collect())
        })?;
        let all = listed.iter().map(|(_, size)| size).sum();
        let (left, done) = (Mutex::new(listed.iter()), AtomicU64::new(0));
        let found = Mutex::new((verified, None));
        let read_some = || {
            loop {
                let Some((digest, size)) = locked(&left).next() else {
                    return;
                };
                let read = self.bytes.get(digest).and_then(|mut bytes| {
                    copy(&mut bytes, |_| Ok(())).map_err(|error| {
                        crate::bytes::trouble(format!("cannot read object {digest}"), error)
                    })
                });
                let mut found = locked(&found);
                match read {
                    Ok(right) if right == *digest => {
                        found.0.objects += 1;
                        found.0.bytes += size;
                    }
                    Ok(_) => found.0.damaged.push(*digest),
                    Err(Trouble::Other(headwater_graph::StoreError::Missing(_))) => {
                        found.0.missing.push(*digest);
                    }
                    Err(trouble) => {
                        found.1.get_or_insert(trouble);
                        return;
                    }
                }
                drop(found);
                progress(done.fetch_add(*size, Ordering::Relaxed) + size, all);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.max(1) {
                let _ = std::thread::Builder::new().spawn_scoped(scope, read_some);
            }
            read_some();
        });
        let (mut verified, trouble) = found
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        verified.damaged.sort_unstable();
        verified.missing.sort_unstable();
        for digest in verified.damaged.iter().chain(&verified.missing) {
            self.strike(digest, "is damaged or gone");
        }
        Ok(verified)
    }
}
