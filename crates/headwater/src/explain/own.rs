//! What a recipe computes, and which product stands for it.
//!
//! Law: what is told of a recipe is its own: from its record, or, where it was found to be equal to a product or failed,
//! from what the run noted that found out. What is not known is left open, never taken from the equal product.

use std::cell::RefCell;
use std::collections::HashMap;

use headwater_engine::details::Details;
use headwater_engine::notes;
use headwater_graph::{Alias, ProductRecord, Recipe, Store, StoreError};

use super::causes::Found;

/// Looks up what recipes compute; reads the notes of each run once.
pub(crate) struct OwnRecords<'a> {
    store: &'a dyn Store,
    /// A run whose failed tasks are of interest, too.
    run: Option<&'a str>,
    noted: RefCell<HashMap<String, HashMap<Recipe, Details>>>,
}

impl<'a> OwnRecords<'a> {
    /// Of a store, and of the tasks of a run that left no product.
    pub(crate) fn new(store: &'a dyn Store, run: Option<&'a str>) -> OwnRecords<'a> {
        OwnRecords {
            store,
            run,
            noted: RefCell::default(),
        }
    }

    /// What is known of recipes.
    pub(crate) fn of(&self, recipes: &[Recipe]) -> Result<Vec<Option<Found>>, StoreError> {
        let records = self.store.fetch(recipes)?;
        let asked = recipes.iter().zip(&records);
        let equal = asked.filter(|(recipe, record)| {
            let product = record.as_ref().map(|record| &record.recipe);
            product.is_some_and(|product| product != *recipe)
        });
        let equal: Vec<Recipe> = equal.map(|(recipe, _)| *recipe).collect();
        let mut aliases = self.store.aliases(&equal)?.into_iter();
        let mut found = Vec::with_capacity(recipes.len());
        for (recipe, record) in recipes.iter().zip(records) {
            found.push(match record {
                Some(record) if record.recipe == *recipe => Some(Found {
                    product: *recipe,
                    own: Some(record),
                }),
                Some(product) => Some(Found {
                    product: product.recipe,
                    own: self.equal(recipe, aliases.next().flatten(), product),
                }),
                None => self.failed(recipe).map(|own| Found {
                    product: *recipe,
                    own: Some(own),
                }),
            });
        }
        Ok(found)
    }

    /// What one recipe computes.
    pub(crate) fn one(&self, recipe: &Recipe) -> Result<Option<Found>, StoreError> {
        Ok(self.of(std::slice::from_ref(recipe))?.pop().flatten())
    }

    /// The record that a recipe would have, had it been made by whoever found out that it is equal to a product.
    fn equal(
        &self,
        recipe: &Recipe,
        alias: Option<Alias>,
        product: ProductRecord,
    ) -> Option<ProductRecord> {
        let alias = alias.map(|Alias { run, time, .. }| (run, time));
        let own = self.run.map(|run| (run.into(), product.time));
        let noted = alias.into_iter().chain(own).find_map(|(run, time)| {
            let details = self.details(&run, recipe)?;
            Some((details, run, time))
        });
        noted.map(|(details, run, time)| ProductRecord {
            recipe: *recipe,
            run,
            time,
            ..with(details, product)
        })
    }

    fn failed(&self, recipe: &Recipe) -> Option<ProductRecord> {
        let run = self.run?;
        let details = self.details(run, recipe)?;
        let nothing = ProductRecord {
            recipe: *recipe,
            content: None,
            operation: "".into(),
            version: "".into(),
            parameters: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            wall: 0,
            cpu: 0,
            peak_memory: 0,
            run: run.into(),
            time: 0,
        };
        Some(with(details, nothing))
    }

    fn details(&self, run: &str, recipe: &Recipe) -> Option<Details> {
        let mut noted = self.noted.borrow_mut();
        let noted = noted
            .entry(run.to_owned())
            .or_insert_with(|| notes::recipes(self.store, run));
        noted.get(recipe).cloned()
    }
}

fn with(details: Details, record: ProductRecord) -> ProductRecord {
    ProductRecord {
        operation: details.operation,
        version: details.version,
        parameters: details.parameters,
        inputs: details.inputs,
        ..record
    }
}
