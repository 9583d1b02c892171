//! The products of a store: listed, shown, checked, thrown away.
//!
//! Law: looking changes nothing. Whether bytes are here is found out by looking for the files, so a product that was
//! collected, or whose files somebody removed, shows as not here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::runs::find_run;
use headwater_engine::{Error, logs, notes};
pub use headwater_graph::Verified;
use headwater_graph::{
    Digest, FoundProduct, Mode, ObjectPlace, ProductFilter, ProductRecord, Recipe, Scalar, Store,
    StoreError, StoredOutput, Value, decode,
};

use crate::explain::{Made, Named, OwnRecords, Source, made, task_anywhere};

/// Of a list that a port reads, so many items are named.
const MOST_ITEMS: usize = 20;

/// Which products are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductRequest {
    /// Of this operation only.
    pub operation: Option<String>,
    /// Made by this run only: an id, the beginning of one, or `last`.
    pub run: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// How much of a product's bytes is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// All of them.
    All,
    /// Some of them.
    Some,
    /// None; they were thrown away, are damaged, or were never kept.
    None,
}

impl Held {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Held::All => "here",
            Held::Some => "in part",
            Held::None => "gone",
        }
    }

    fn of(here: impl IntoIterator<Item = bool>) -> Held {
        let (mut all, mut none) = (true, true);
        for here in here {
            all &= here;
            none &= !here;
        }
        match (all, none) {
            (true, _) => Held::All,
            (false, true) => Held::None,
            (false, false) => Held::Some,
        }
    }
}

/// A file that belongs to an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductFile {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Where it is, if it is here.
    pub path: Option<PathBuf>,
}

/// An output of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductOutput {
    /// The port.
    pub port: Arc<str>,
    /// The digest of its value.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// How much of it is here.
    pub held: Held,
    /// What it is: `file`, `list of int`, …; `None` where its encoding is not here.
    pub kind: Option<String>,
    /// The value itself, if it is a single one.
    pub value: Option<Scalar>,
    /// The files it consists of.
    pub files: Vec<ProductFile>,
}

/// What an input, or an item of a list, came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An output of another product.
    Product {
        /// Its recipe.
        recipe: Recipe,
        /// The output.
        port: String,
        /// Its operation, where it has a record.
        operation: Option<Arc<str>>,
    },
    /// Something from outside.
    External(Named),
    /// Something else, in words.
    Other(String),
}

/// An origin, and its place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSource {
    /// The position, for an item of a list.
    pub position: Option<usize>,
    /// Where it comes from.
    pub origin: Origin,
}

/// What a port of a product read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductInput {
    /// The port.
    pub port: Arc<str>,
    /// How many things it read.
    pub count: usize,
    /// The first of them.
    pub sources: Vec<InputSource>,
}

/// A product and everything about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Product {
    /// What it computes and from what. Its outputs are those of the product that stands for it.
    pub record: ProductRecord,
    /// The product whose bytes it has, where it was not made itself but found to be equal to that one.
    pub equal_to: Option<Recipe>,
    /// Whether it is known what it reads; else it has neither parameters nor inputs here.
    pub is_known: bool,
    /// Who made its bytes.
    pub made: Made,
    /// What its version stands for, where that was noted.
    pub version: Option<Vec<(String, String)>>,
    /// What it was made from.
    pub inputs: Vec<ProductInput>,
    /// What it consists of.
    pub outputs: Vec<ProductOutput>,
}

impl Product {
    /// How much of it is here.
    pub fn held(&self) -> Held {
        held(&self.outputs)
    }
}

fn held(outputs: &[ProductOutput]) -> Held {
    if outputs.iter().any(|output| output.held == Held::Some) {
        return Held::Some;
    }
    Held::of(outputs.iter().map(|output| output.held == Held::All))
}

/// Products, the last one first, and how much of each is here.
pub fn list(
    store: &dyn Store,
    request: &ProductRequest,
) -> Result<Vec<(ProductRecord, Held)>, Error> {
    let run = match &request.run {
        Some(run) => Some(find_run(store, run)?.id),
        None => None,
    };
    let filter = ProductFilter {
        operation: request.operation.clone(),
        run,
        limit: request.limit,
    };
    let with_bytes = |record: ProductRecord| {
        let outputs: Vec<ProductOutput> = outputs(store, &record, false);
        let held = held(&outputs);
        (record, held)
    };
    let products = store.products(&filter)?;
    Ok(products.into_iter().map(with_bytes).collect())
}

/// How many products there are of those that a request is for, whatever its limit.
pub fn count(store: &dyn Store, request: &ProductRequest) -> Result<u64, Error> {
    let run = match &request.run {
        Some(run) => Some(find_run(store, run)?.id),
        None => None,
    };
    Ok(store.count_products(&ProductFilter {
        operation: request.operation.clone(),
        run,
        limit: request.limit,
    })?)
}

/// Everything about a product: that whose recipe begins with these digits, or that of a task of the latest run, by its
/// address, or that of a file among the outputs of a run.
pub fn show(store: &dyn Store, text: &str) -> Result<Product, Error> {
    let mut found = store.find_product(&text.to_lowercase())?;
    if found == FoundProduct::None
        && let Ok(task) = task_anywhere(store, text)
    {
        found = store.find_product(&task.recipe.hex())?;
    }
    let recipe = text;
    let (asked, record) = match found {
        FoundProduct::One { asked, record } => (asked, *record),
        FoundProduct::None => {
            return Err(Error::usage(
                format!("there is no product `{recipe}`"),
                "give the beginning of a recipe, which `headwater products ls` lists, the address of a task of the latest \
                 run, or a file among its outputs"
                    .to_owned(),
            ));
        }
        FoundProduct::Several(recipes) => {
            let some: Vec<String> = recipes.iter().take(5).map(Recipe::short).collect();
            let more = if recipes.len() > 5 { ", …" } else { "" };
            return Err(Error::usage(
                format!("`{recipe}` could be any of {}{more}", some.join(", ")),
                "give more digits of the recipe".to_owned(),
            ));
        }
    };
    let made = made(store, &record)?;
    let equal_to = (asked != record.recipe).then_some(record.recipe);
    let own = OwnRecords::new(store, None).one(&asked)?;
    let own = own.and_then(|found| found.own);
    let is_known = own.is_some();
    let record = own.unwrap_or(ProductRecord {
        recipe: asked,
        parameters: Vec::new(),
        inputs: Vec::new(),
        ..record
    });
    Ok(Product {
        equal_to,
        is_known,
        made,
        version: store.version_parts(&record.version)?,
        inputs: inputs(store, &record)?,
        outputs: outputs(store, &record, true),
        record,
    })
}

/// Reads all objects and records and compares them with what was written. What is damaged is set aside and made anew
/// when a run needs it. `progress` is told how many bytes were read, and of how many.
pub fn verify(store: &dyn Store, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Verified, Error> {
    let threads = headwater_engine::limits::machine_cores();
    Ok(store.verify(threads, progress)?)
}

/// An object, and a product that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// The object.
    pub digest: Digest,
    /// The operation of the product.
    pub operation: Arc<str>,
    /// The output.
    pub port: Arc<str>,
    /// The product.
    pub made: Made,
}

/// Of the newest products, so many are searched for objects.
const MOST_SEARCHED: usize = 200_000;

/// The products that objects belong to, the last one of each, in the order of the objects.
pub fn of_objects(store: &dyn Store, objects: &[Digest]) -> Result<Vec<Affected>, Error> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: BTreeSet<Digest> = objects.iter().copied().collect();
    let mut found: BTreeMap<Digest, (Arc<str>, ProductRecord)> = BTreeMap::new();
    let all = ProductFilter {
        operation: None,
        run: None,
        limit: MOST_SEARCHED,
    };
    for record in store.products(&all)? {
        for (port, output) in &record.outputs {
            let mut digests: Vec<Digest> = output.encoding.into_iter().collect();
            let value = output
                .inline
                .as_deref()
                .and_then(|bytes| decode(bytes).ok());
            if let Some(value) = value {
                value.for_each_file(&mut |file| digests.push(file.digest));
            }
            for digest in digests.into_iter().filter(|digest| wanted.contains(digest)) {
                found
                    .entry(digest)
                    .or_insert_with(|| (Arc::clone(port), record.clone()));
            }
        }
    }
    let affected = |(digest, (port, record)): (Digest, (Arc<str>, ProductRecord))| {
        Ok(Affected {
            digest,
            operation: Arc::clone(&record.operation),
            port,
            made: made(store, &record)?,
        })
    };
    found.into_iter().map(affected).collect()
}

/// What was thrown away, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Objects taken away.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of logs taken away.
    pub log_bytes: u64,
    /// The bytes of the objects and logs that are left.
    pub left: u64,
    /// The bytes among them that had to stay because of runs that are alive.
    pub protected: u64,
}

/// Throws away objects, and logs of runs that have ended, until what is left has at most `max` bytes: of objects first
/// what is cheap to make again for its size, and seldom used, and of logs the oldest. Logs go before objects if they are
/// more than an eighth of `max`, else after them. Records stay. With `dry_run` it only says what would go.
pub fn collect(store: &dyn Store, max: u64, dry_run: bool) -> Result<Collected, Error> {
    // Before anything goes, and not when the objects are come to.
    if store.mode() == Mode::ReadOnly && !dry_run {
        return Err(StoreError::ReadOnly.into());
    }
    let share = logs::shrink(store, max / logs::SHARE, None, dry_run);
    let objects = store.collect(max.saturating_sub(share.left), dry_run)?;
    let rest = if objects.left + share.left > max {
        logs::shrink(store, max.saturating_sub(objects.left), None, dry_run)
    } else {
        logs::Shrunk { bytes: 0, ..share }
    };
    // Where nothing is changed, the logs that went first are found again.
    let log_bytes = if dry_run {
        share.bytes.max(rest.bytes)
    } else {
        share.bytes + rest.bytes
    };
    Ok(Collected {
        objects: objects.objects,
        bytes: objects.bytes,
        log_bytes,
        left: objects.left + rest.left,
        protected: objects.protected + share.protected,
    })
}

fn inputs(store: &dyn Store, record: &ProductRecord) -> Result<Vec<ProductInput>, Error> {
    let names = notes::externals(store, &record.run);
    let mut found = Vec::new();
    for (port, text) in &record.inputs {
        let source = Source::parse(text);
        let (count, sources) = match &source {
            Source::List(items) => {
                let named = items.iter().take(MOST_ITEMS).enumerate();
                let named = named.map(|(position, item)| (Some(position), item));
                (items.len(), named.collect::<Vec<_>>())
            }
            one => (1, vec![(None, one)]),
        };
        let mut origins = Vec::new();
        for (position, source) in sources {
            let origin = match source {
                Source::Product { recipe, port } => Origin::Product {
                    recipe: *recipe,
                    port: (*port).to_owned(),
                    operation: store
                        .fetch(&[*recipe])?
                        .pop()
                        .flatten()
                        .map(|record| record.operation),
                },
                Source::External(identity) => Origin::External(Named {
                    identity: (*identity).to_owned(),
                    name: names.get(*identity).cloned(),
                }),
                other => Origin::Other(other.describe()),
            };
            origins.push(InputSource { position, origin });
        }
        found.push(ProductInput {
            port: Arc::clone(port),
            count,
            sources: origins,
        });
    }
    Ok(found)
}

/// The outputs of a record. Large encodings are read only if `read` says so; without, such an output counts as here
/// when its encoding is.
fn outputs(store: &dyn Store, record: &ProductRecord, read: bool) -> Vec<ProductOutput> {
    let output = |(port, stored): &(Arc<str>, StoredOutput)| {
        let encoding = stored.encoding.as_ref();
        let is_there = stored.inline.is_some()
            || encoding.is_some_and(|digest| store.has(std::slice::from_ref(digest)) == [true]);
        let value: Option<Value> = match (&stored.inline, encoding) {
            (Some(bytes), _) => decode(bytes).ok(),
            (None, Some(digest)) if read && is_there => {
                let bytes = store.read(digest).ok();
                bytes.and_then(|bytes| decode(&bytes).ok())
            }
            _ => None,
        };
        let mut files = Vec::new();
        if let Some(value) = &value {
            value.for_each_file(&mut |file| files.push((file.digest, file.size)));
        }
        let digests: Vec<Digest> = files.iter().map(|(digest, _)| *digest).collect();
        // Looking brings nothing here.
        let places = store.places(&digests);
        let here: Vec<bool> = places
            .iter()
            .map(|place| *place != ObjectPlace::Missing)
            .collect();
        let path = |place| match place {
            ObjectPlace::Here(path) => Some(path),
            ObjectPlace::Elsewhere | ObjectPlace::Missing => None,
        };
        let files: Vec<ProductFile> = (files.into_iter().zip(places))
            .map(|((digest, size), place)| ProductFile {
                digest,
                size,
                path: path(place),
            })
            .collect();
        let is_whole = is_there && (value.is_some() || !read);
        ProductOutput {
            port: Arc::clone(port),
            digest: stored.digest,
            size: stored.size,
            held: if is_whole { Held::of(here) } else { Held::None },
            kind: value.as_ref().map(|value| value.value_type().to_string()),
            value: value.as_ref().and_then(Value::as_scalar),
            files,
        }
    };
    record.outputs.iter().map(output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_some_or_none_of_the_bytes() {
        assert_eq!(Held::of([]), Held::All);
        assert_eq!(Held::of([true, true]), Held::All);
        assert_eq!(Held::of([true, false]), Held::Some);
        assert_eq!(Held::of([false]), Held::None);
    }
}
