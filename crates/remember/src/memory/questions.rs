//! What people ask of a store in memory, and what tasks have cost.
//!
//! Law: see [`Questions`] and [`Costs`].

use std::sync::Arc;

use headwater_graph::{
    Cost, Costs, FoundProduct, ProductFilter, ProductRecord, Questions, Rates, Recipe, StoreError,
    Verified, VersionParts, expected_reads,
};

use super::{MemoryStore, State};
use crate::costs::{MOST_EXECUTIONS, Sum};
use crate::queries::{MOST_NAMED, are_digits};

impl State {
    /// The products that are wanted, the last one first.
    fn wanted<'a>(
        &'a self,
        filter: &'a ProductFilter,
    ) -> impl Iterator<Item = &'a Arc<ProductRecord>> {
        self.products.iter().rev().filter(move |record| {
            let is = |wanted: &Option<String>, text: &str| {
                wanted.as_ref().is_none_or(|wanted| wanted == text)
            };
            is(&filter.operation, &record.operation) && is(&filter.run, &record.run)
        })
    }
}

impl Questions for MemoryStore {
    fn note_versions(&self, versions: &[(Arc<str>, VersionParts)]) -> Result<(), StoreError> {
        let mut state = self.state();
        for (version, parts) in versions {
            state.versions.insert(version.to_string(), parts.clone());
        }
        Ok(())
    }

    fn version_parts(&self, version: &str) -> Result<Option<VersionParts>, StoreError> {
        Ok(self.state().versions.get(version).cloned())
    }

    fn products(&self, filter: &ProductFilter) -> Result<Vec<ProductRecord>, StoreError> {
        let state = self.state();
        let wanted = state.wanted(filter).take(filter.limit);
        Ok(wanted.map(|record| ProductRecord::clone(record)).collect())
    }

    fn count_products(&self, filter: &ProductFilter) -> Result<u64, StoreError> {
        Ok(self.state().wanted(filter).count() as u64)
    }

    fn products_before(
        &self,
        product: &ProductRecord,
        limit: usize,
    ) -> Result<Vec<ProductRecord>, StoreError> {
        let state = self.state();
        let end = state.by_recipe.get(&product.recipe);
        let end = end.copied().unwrap_or(state.products.len());
        let before = state.products[..end].iter().rev();
        let before = before
            .filter(|other| other.operation == product.operation && other.run != product.run)
            .take(limit);
        Ok(before.map(|record| ProductRecord::clone(record)).collect())
    }

    fn find_product(&self, digits: &str) -> Result<FoundProduct, StoreError> {
        if !are_digits(digits) {
            return Ok(FoundProduct::None);
        }
        let state = self.state();
        let recipes = state.by_recipe.keys().chain(state.aliases.keys());
        let begins = recipes.filter(|recipe| recipe.hex().starts_with(digits));
        let mut found: Vec<Recipe> = begins.copied().collect();
        found.sort_unstable();
        Ok(match found.as_slice() {
            [] => FoundProduct::None,
            [asked] => match state.product(asked) {
                Some(record) => FoundProduct::One {
                    asked: *asked,
                    record: Box::new(ProductRecord::clone(record)),
                },
                None => FoundProduct::None,
            },
            several => FoundProduct::Several(several.iter().take(MOST_NAMED).copied().collect()),
        })
    }

    fn verify(
        &self,
        _: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Verified, StoreError> {
        let state = self.state();
        let bytes = state.objects.values().map(|it| it.bytes.length()).sum();
        progress(bytes, bytes);
        Ok(Verified {
            objects: state.objects.len() as u64,
            bytes,
            records: state.products.len() as u64,
            ..Verified::default()
        })
    }
}

impl Costs for MemoryStore {
    fn costs(&self, operations: &[(Arc<str>, Arc<str>)]) -> Result<Vec<Option<Cost>>, StoreError> {
        let state = self.state();
        let cost = |(operation, version): &(Arc<str>, Arc<str>)| {
            let mut sum = Sum::default();
            let latest = state.products.iter().rev();
            let same = latest
                .filter(|record| record.operation == *operation && record.version == *version)
                .take(MOST_EXECUTIONS);
            same.for_each(|record| sum.add(record));
            sum.finish()
        };
        Ok(operations.iter().map(cost).collect())
    }

    /// Those of memory that is copied once.
    fn rates(&self) -> Rates {
        Rates {
            write: 1e9,
            read: 4e9,
            object: 1e-6,
        }
    }

    fn expected_reads(&self, operation: &str) -> f64 {
        let (made, read) = self
            .state()
            .habits
            .get(operation)
            .copied()
            .unwrap_or((0, 0));
        expected_reads(made, read)
    }

    fn note_habits(&self, habits: &[(Arc<str>, u64, u64)]) -> Result<(), StoreError> {
        let mut state = self.state();
        for (operation, made, read) in habits {
            let known = state.habits.entry(Arc::clone(operation)).or_default();
            known.0 = known.0.saturating_add(*made);
            known.1 = known.1.saturating_add(*read);
        }
        Ok(())
    }
}
