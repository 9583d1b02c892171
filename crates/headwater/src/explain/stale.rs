//! Products that were made from other bytes than what they were made from has now.
//!
//! Law: a product has a content key, over what its inputs were when it was made. Where the inputs as they are remembered
//! now give another key, one of them was made again and came out different: its operation is not pure. Nothing is said
//! of a product whose key is not known.
//!
//! A record is replaced only by a run that made its product again, and a run notes that. So where none of the runs that
//! made the products in question has noted anything of the kind, no keys have to be computed.

use std::collections::{HashMap, HashSet};

use headwater_engine::fetch::identity;
use headwater_engine::{Error, notes};
use headwater_graph::{Identity, ProductRecord, Recipe, RecipeBuilder, Store};

use super::causes::Found;
use super::{Made, OwnRecords, Source, made};

/// At most so many products are looked at.
const MOST: usize = 20_000;

/// So many are looked up at once: many, since a question about many costs less for each.
const PIECE: usize = 20_000;

/// A product, and what it reads that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The task whose product it is.
    pub task: String,
    /// The recipe of that task.
    pub recipe: Recipe,
    /// The tasks that made what it reads again, the first few, and how.
    pub inputs: Vec<(String, Made)>,
}

/// What is known of products, looked up once.
struct Contents<'a> {
    store: &'a dyn Store,
    records: HashMap<Recipe, Option<ProductRecord>>,
}

impl Contents<'_> {
    fn load(&mut self, recipes: &[Recipe]) -> Result<(), Error> {
        let mut wanted: Vec<Recipe> = recipes.to_vec();
        wanted.sort_unstable_by_key(|recipe| recipe.0);
        wanted.dedup();
        wanted.retain(|recipe| !self.records.contains_key(recipe));
        let found = self.store.fetch(&wanted)?;
        self.records.extend(wanted.into_iter().zip(found));
        Ok(())
    }

    fn record(&self, recipe: &Recipe) -> Option<&ProductRecord> {
        self.records.get(recipe)?.as_ref()
    }

    fn of(&self, recipe: &Recipe, port: &str) -> Option<Identity> {
        let record = self.record(recipe)?;
        let (_, output) = record.outputs.iter().find(|(name, _)| **name == *port)?;
        identity(output)
    }

    /// The content key of what a record computes, with its inputs as they are now.
    fn key(&self, record: &ProductRecord, builder: &mut RecipeBuilder) -> Option<Recipe> {
        builder.begin(&record.operation, &record.version);
        builder.parameters(record.parameters.len());
        for (name, value) in &record.parameters {
            builder.parameter(name, value).ok()?;
        }
        builder.inputs(record.inputs.len());
        for (port, source) in &record.inputs {
            builder.port(port);
            self.source(&Source::parse(source), builder)?;
        }
        Some(builder.finish())
    }

    fn source(&self, source: &Source<'_>, builder: &mut RecipeBuilder) -> Option<()> {
        match source {
            Source::Product { recipe, port } => builder.external(&self.of(recipe, port)?),
            Source::External(text) => builder.external(&external(text)?),
            Source::List(items) => {
                builder.list(items.len());
                for item in items {
                    self.source(item, builder)?;
                }
            }
            Source::Record {
                of: ("", _),
                fields,
            } => {
                builder.record(fields.len());
                for (key, field) in fields {
                    builder.port(key);
                    self.source(field, builder)?;
                }
            }
            // What a helper gives has no record.
            Source::Record { .. } | Source::Other(_) => return None,
        }
        Some(())
    }
}

fn external(text: &str) -> Option<Identity> {
    let (kind, rest) = text.split_once(':')?;
    Some(match kind {
        "file" => Identity::File(rest.parse().ok()?),
        "directory" => Identity::Directory(rest.parse().ok()?),
        "value" => Identity::Value(rest.parse().ok()?),
        "name" => Identity::Name(rest.into()),
        _ => return None,
    })
}

fn makers(record: &ProductRecord) -> Vec<Recipe> {
    let mut found = Vec::new();
    for (_, source) in &record.inputs {
        Source::parse(source).for_each_product(&mut |recipe, _| found.push(recipe));
    }
    found
}

/// Which products are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// These, and what they were made from.
    Upstream,
    /// These.
    These,
    /// These, and what they read is among them.
    Closed,
}

/// Those of the products that do not fit what they read. `address` says what tasks are called.
pub(super) fn stale(
    store: &dyn Store,
    own: &OwnRecords<'_>,
    recipes: &[Recipe],
    extent: Extent,
    address: &dyn Fn(&Recipe) -> Option<String>,
) -> Result<Vec<Stale>, Error> {
    if extent == Extent::Closed && is_unlikely(store, recipes)? {
        return Ok(Vec::new());
    }
    let mut contents = Contents {
        store,
        records: HashMap::new(),
    };
    let mut builder = RecipeBuilder::new();
    let mut found = Vec::new();
    let mut seen: HashSet<Recipe> = HashSet::new();
    let mut frontier: Vec<Recipe> = recipes.to_vec();
    while !frontier.is_empty() && seen.len() < MOST {
        frontier.retain(|recipe| seen.insert(*recipe));
        let mut next = Vec::new();
        for piece in frontier.chunks(PIECE) {
            let records = own.of(piece)?;
            let owned = || {
                records
                    .iter()
                    .flatten()
                    .filter_map(|found| found.own.as_ref())
            };
            let read: Vec<Recipe> = owned().flat_map(makers).collect();
            contents.load(&read)?;
            let products = records.iter().flatten().map(|found| found.product);
            contents.load(&products.collect::<Vec<_>>())?;
            for Found { own, product } in records.iter().flatten() {
                let (Some(own), Some(product)) = (own, contents.record(product)) else {
                    continue;
                };
                let made_under = match product.content {
                    Some(key) => key,
                    // Nothing but files, or nobody knows.
                    None if makers(product).is_empty() => product.recipe,
                    None => continue,
                };
                let now = contents.key(own, &mut builder);
                if now.is_none_or(|now| now == made_under) {
                    continue;
                }
                found.push(told(store, &contents, own, product, address)?);
            }
            if extent == Extent::Upstream {
                next.extend(read);
            }
        }
        frontier = next;
    }
    Ok(found)
}

/// Whether none of the runs that made these products has made anything again.
fn is_unlikely(store: &dyn Store, recipes: &[Recipe]) -> Result<bool, Error> {
    for run in store.makers_of(recipes)? {
        if !notes::made_nothing_again(store, &run) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn told(
    store: &dyn Store,
    contents: &Contents<'_>,
    own: &ProductRecord,
    product: &ProductRecord,
    address: &dyn Fn(&Recipe) -> Option<String>,
) -> Result<Stale, Error> {
    let name = |recipe: &Recipe| address(recipe).unwrap_or_else(|| recipe.short());
    let mut inputs = Vec::new();
    for recipe in makers(own) {
        // What was there before this product cannot be what was made again.
        let Some(record) = contents.record(&recipe) else {
            continue;
        };
        let is_later = record.time >= product.time && record.run != product.run;
        let is_new = inputs.iter().all(|(other, _)| *other != name(&recipe));
        if is_later && is_new && inputs.len() < 3 {
            inputs.push((name(&recipe), made(store, record)?));
        }
    }
    Ok(Stale {
        task: name(&own.recipe),
        recipe: own.recipe,
        inputs,
    })
}
