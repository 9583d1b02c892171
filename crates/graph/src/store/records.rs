//! Records of products: what a store knows of a task that ran, and the questions that the engine asks about them.
//!
//! Law: a record is visible only when the bytes that it names are durable. A recipe that was found to be equal to a
//! product is answered with that product.

use std::sync::Arc;

use crate::{Digest, Recipe, Scalar, StoreError, Value, decode, encode, encoded_length};

/// One output of a remembered task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutput {
    /// The digest of the value (see [`crate::value_digest`]).
    pub digest: Digest,
    /// Its size in bytes: of the contents for files, else of the canonical encoding.
    pub size: u64,
    /// The canonical encoding, where it is small; a larger one is the object `encoding`.
    pub inline: Option<Arc<[u8]>>,
    /// The object that holds the canonical encoding, where it is large.
    pub encoding: Option<Digest>,
}

impl StoredOutput {
    /// Values up to this size, in bytes, live in the record.
    pub const INLINE: u64 = 16 * 1024;

    /// What a record says of a value that has this digest. The encoding of a large one is an object of its own, which
    /// goes by the digest of the value.
    pub fn of(value: &Value, digest: Digest) -> StoredOutput {
        let length = encoded_length(value);
        let size = match value {
            Value::File(file) => file.size,
            Value::Directory(directory) => {
                directory.entries.iter().map(|entry| entry.file.size).sum()
            }
            _ => length,
        };
        // Only what is nothing but the contents of a file is digested otherwise, and that has a short encoding.
        let is_small = length <= StoredOutput::INLINE;
        StoredOutput {
            digest,
            size,
            inline: is_small.then(|| encode(value).into()),
            encoding: (!is_small).then_some(digest),
        }
    }

    /// Adds the objects that the output consists of; `None` where one cannot be read. `read` gives the bytes of an
    /// object. An encoding of more than `most` bytes is not looked into: it is numbers, hardly ever a list of files.
    pub fn objects(
        &self,
        most: u64,
        read: impl FnOnce(&Digest) -> Option<Vec<u8>>,
        digests: &mut Vec<Digest>,
    ) -> Option<()> {
        let value = match (&self.inline, &self.encoding) {
            (Some(bytes), _) => decode(bytes).ok()?,
            (None, Some(encoding)) if self.size <= most => {
                digests.push(*encoding);
                decode(&read(encoding)?).ok()?
            }
            (None, encoding) => {
                digests.push(*encoding.as_ref()?);
                return Some(());
            }
        };
        value.for_each_file(&mut |file| digests.push(file.digest));
        Some(())
    }
}

/// What is kept of a task that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductRecord {
    /// Its key.
    pub recipe: Recipe,
    /// Its content key, where that is another one: the recipe that the task would have if all it reads came from
    /// outside, identified by its contents.
    pub content: Option<Recipe>,
    /// Name of the operation.
    pub operation: Arc<str>,
    /// Version of the operation.
    pub version: Arc<str>,
    /// Parameter values by name, sorted.
    pub parameters: Vec<(Arc<str>, Scalar)>,
    /// What each bound port read, sorted by port, as text: `recipe:port`, `file:digest`, `directory:digest`,
    /// `value:digest`, `name:text`, a list `[…, …]`, a record `{key=…, …}`, or, of a helper task that has no record
    /// of its own, `operation(name=…, …):port`.
    pub inputs: Vec<(Arc<str>, String)>,
    /// Output port → what came out, in the order of the signature.
    pub outputs: Vec<(Arc<str>, StoredOutput)>,
    /// Wall-clock time of making it, in nanoseconds.
    pub wall: u64,
    /// Processor time, in nanoseconds.
    pub cpu: u64,
    /// Peak memory in bytes; 0 where it is not known.
    pub peak_memory: u64,
    /// The run that made it.
    pub run: Arc<str>,
    /// When, in seconds since 1970.
    pub time: i64,
}

/// A task that need not run, because an equal product is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The recipe of the task.
    pub recipe: Recipe,
    /// The recipe of the product, or another alias of it.
    pub target: Recipe,
    /// The run that found the two to be equal.
    pub run: Arc<str>,
    /// When, in seconds since 1970.
    pub time: i64,
}

/// How long it took to make a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Wall-clock time, in nanoseconds.
    pub wall: u64,
    /// Processor time, in nanoseconds.
    pub cpu: u64,
}

/// Keeps records.
pub trait Records: Send + Sync {
    /// The records of these recipes. For a recipe that was found to be equal to a product it is the record of that
    /// product, which has another recipe than the one asked for; such recipes share the record.
    fn fetch_shared(
        &self,
        recipes: &[Recipe],
    ) -> Result<Vec<Option<Arc<ProductRecord>>>, StoreError>;

    /// As [`fetch_shared`](Self::fetch_shared), each record by itself.
    fn fetch(&self, recipes: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        let records = self.fetch_shared(recipes)?.into_iter();
        Ok(records
            .map(|record| record.map(Arc::unwrap_or_clone))
            .collect())
    }

    /// For each content key the record of a product made under it: one that has it as its content key or as its
    /// recipe.
    fn equal(&self, keys: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError>;

    /// For each recipe the times of the product that it is, or that it was found to be equal to; `None` where it is not
    /// remembered.
    fn times(&self, recipes: &[Recipe]) -> Result<Vec<Option<Times>>, StoreError>;

    /// For each recipe the nanoseconds that it took to make its product; `None` where it is not remembered.
    fn known(&self, recipes: &[Recipe]) -> Result<Vec<Option<u64>>, StoreError> {
        let times = self.times(recipes)?.into_iter();
        Ok(times.map(|times| times.map(|times| times.wall)).collect())
    }

    /// For each recipe the recipe of the product that it is, or that it was found to be equal to. Records are not read,
    /// so asking for many is cheap.
    fn products_of(&self, recipes: &[Recipe]) -> Result<Vec<Option<Recipe>>, StoreError>;

    /// The runs that made the products of these recipes, each once.
    fn makers_of(&self, recipes: &[Recipe]) -> Result<Vec<Arc<str>>, StoreError>;

    /// For each recipe the product that it was found to be equal to; `None` for one that has a product of its own, or
    /// nothing.
    fn aliases(&self, recipes: &[Recipe]) -> Result<Vec<Option<Alias>>, StoreError>;

    /// Adds records whose objects are durable; returns when they are durable themselves. A recipe has one record: the first
    /// stays if the new one says the same of the product, else the new one takes its place. Within a batch there is no
    /// order.
    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError>;
}
