//! What people ask a store: which products it has, what came before one, what a version stands for.
//!
//! Law: a question changes nothing. A damaged record is left out of an answer, never an error. What versions stand for
//! is noted, not promised: losing it costs an explanation, no product.

use std::sync::Arc;

use crate::{Digest, ProductRecord, Recipe, StoreError};

/// What a version stands for: labels and texts.
pub type VersionParts = Vec<(String, String)>;

/// Which products are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductFilter {
    /// Of this operation only.
    pub operation: Option<String>,
    /// Made by the run of this id only.
    pub run: Option<String>,
    /// At most this number.
    pub limit: usize,
}

/// What a person meant by the beginning of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundProduct {
    /// This one. Its recipe may be another than the one that was asked for, if the two were found to be equal.
    One {
        /// The whole recipe that was meant.
        asked: Recipe,
        /// The product.
        record: Box<ProductRecord>,
    },
    /// There is none.
    None,
    /// Several begin like that; these, and perhaps more.
    Several(Vec<Recipe>),
}

/// What a verification has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Objects that were read.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records that were read.
    pub records: u64,
    /// Objects that are not what their name says, sorted.
    pub damaged: Vec<Digest>,
    /// Objects that are listed and missing, sorted.
    pub missing: Vec<Digest>,
    /// Records that are not what was written.
    pub damaged_records: u64,
}

/// Answers people.
pub trait Questions: Send + Sync {
    /// Notes what versions stand for: for each its parts, as label and text. What is noted already, and no different,
    /// costs a look-up.
    fn note_versions(&self, versions: &[(Arc<str>, VersionParts)]) -> Result<(), StoreError>;

    /// What a version stands for, if that was noted.
    fn version_parts(&self, version: &str) -> Result<Option<VersionParts>, StoreError>;

    /// Products, the last one first.
    fn products(&self, filter: &ProductFilter) -> Result<Vec<ProductRecord>, StoreError>;

    /// The number of products, whatever the limit says.
    fn count_products(&self, filter: &ProductFilter) -> Result<u64, StoreError>;

    /// Products of the same operation that are older than this one and that another run made, the last one first.
    fn products_before(
        &self,
        product: &ProductRecord,
        limit: usize,
    ) -> Result<Vec<ProductRecord>, StoreError>;

    /// The product whose recipe begins with these hexadecimal digits, or that such a recipe was found to be equal to.
    fn find_product(&self, digits: &str) -> Result<FoundProduct, StoreError>;

    /// Reads all objects, on this number of threads, and all records. `progress` is told the bytes that were read and
    /// those of all objects, from any thread. What is wrong is set aside, as if somebody had asked for it.
    fn verify(
        &self,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Verified, StoreError>;
}
