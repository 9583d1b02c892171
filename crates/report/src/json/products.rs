//! What is remembered, and whether it is sound: `headwater products`.
//!
//! Law: recipes and digests are whole, in hexadecimal digits; times are seconds and sizes bytes.

use headwater_graph::Scalar;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Entries, MadeJson, NamedJson};

/// A scalar; a number that is not finite is null, for which JSON has no other word.
pub fn scalar_value(value: &Scalar) -> Value {
    match value {
        Scalar::Bool(value) => json!(value),
        Scalar::Int(value) => json!(value),
        Scalar::Float(value) => json!(value),
        Scalar::Text(value) => json!(&**value),
    }
}

/// Products: `headwater products ls`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductListJson {
    /// The last one first, as many as were asked for.
    pub products: Vec<ProductRecordJson>,
    /// How many there are.
    pub count: u64,
}

/// What is recorded of a product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductRecordJson {
    /// Its recipe.
    pub recipe: String,
    /// Its operation.
    pub operation: String,
    /// The version of that.
    pub version: String,
    /// Its parameters, and their values.
    pub parameters: Entries<Value>,
    /// The bytes of its outputs.
    pub bytes: u64,
    /// How long it took.
    pub seconds: f64,
    /// When it was made, in seconds since 1970.
    pub time: i64,
    /// The run that made it.
    pub run: String,
    /// How much of it is here: `here`, `in part` or `gone`.
    pub held: &'static str,
}

/// A product and everything about it: `headwater products show`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductJson {
    /// What is recorded of it.
    #[serde(flatten)]
    pub record: ProductRecordJson,
    /// The product whose bytes it has; null where it was made itself.
    pub equal_to: Option<String>,
    /// Its content key, where that is not its recipe.
    pub content: Option<String>,
    /// Who made its bytes.
    pub made: MadeJson,
    /// The processor time that it took.
    pub cpu_seconds: f64,
    /// The peak memory; 0 where that is not known.
    pub peak_bytes: u64,
    /// What its version stands for; null where that was not noted.
    pub version_parts: Option<Vec<VersionPartJson>>,
    /// What it was made from.
    pub inputs: Vec<ProductInputJson>,
    /// What it consists of.
    pub outputs: Vec<ProductOutputJson>,
}

/// A part of what a version stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionPartJson {
    /// `command`, `shell`, `env NAME`, `uses PATH`, and others.
    pub part: String,
    /// What it is.
    pub text: String,
}

/// What a port of a product read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProductInputJson {
    /// The port.
    pub port: String,
    /// How many things it read.
    pub count: usize,
    /// The first of them.
    pub sources: Vec<InputSourceJson>,
}

/// Something that a port read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputSourceJson {
    /// What it is.
    #[serde(flatten)]
    pub origin: OriginJson,
    /// Its position in a list; null where it is in none.
    pub position: Option<usize>,
}

/// What an input came from; `kind` says which of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OriginJson {
    /// An output of another product.
    Product {
        /// Its recipe.
        recipe: String,
        /// The output.
        port: String,
        /// Its operation, where it has a record.
        operation: Option<String>,
    },
    /// Something from outside.
    External(NamedJson),
    /// Something else.
    Other {
        /// In words.
        text: String,
    },
}

/// An output of a product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProductOutputJson {
    /// The port.
    pub port: String,
    /// The digest of its value.
    pub digest: String,
    /// Its bytes.
    pub bytes: u64,
    /// `file`, `list of int`, and others; null where its encoding is not here.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The value itself, if it is a single one.
    pub value: Option<Value>,
    /// How much of it is here: `here`, `in part` or `gone`.
    pub held: &'static str,
    /// The files that it consists of.
    pub files: Vec<ProductFileJson>,
}

/// A file that belongs to an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProductFileJson {
    /// Its digest.
    pub digest: String,
    /// Its size.
    pub bytes: u64,
    /// Where it is; null where it is not here.
    pub path: Option<String>,
}

/// What reading all objects and records has shown: `headwater products verify`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedJson {
    /// How many objects were read.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many records were read.
    pub records: u64,
    /// Objects that are not what their name says.
    pub damaged: Vec<String>,
    /// Objects that are listed and not there.
    pub missing: Vec<String>,
    /// The products that these belong to.
    pub products: Vec<AffectedJson>,
    /// How many records are not what was written.
    pub damaged_records: u64,
    /// What else is wrong with the database, in words.
    pub database: Vec<String>,
    /// Whether all is as it was written.
    pub sound: bool,
}

/// A product that has a damaged or missing object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AffectedJson {
    /// The object.
    pub object: String,
    /// The output that it belongs to.
    pub port: String,
    /// The operation of the product.
    pub operation: String,
    /// How the product was made.
    pub made: MadeJson,
}

/// What was thrown away: `headwater products gc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollectedJson {
    /// How many objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of logs.
    pub log_bytes: u64,
    /// The bytes of what is left.
    pub left_bytes: u64,
    /// Those among them that runs under way may need.
    pub protected_bytes: u64,
    /// Whether it was only said what would go.
    pub dry_run: bool,
}

/// What was given to a group: `headwater products push`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PushedJson {
    /// Where the records of the group are.
    pub group: String,
    /// Products that the group did not have.
    pub products: u64,
    /// Products that the group had already.
    pub present: u64,
    /// Products among those that came out differently there.
    pub different: u64,
    /// Products that could not be given because some of their bytes are gone.
    pub left_out: u64,
    /// Objects that were copied.
    pub objects: u64,
    /// The bytes of these objects.
    pub bytes: u64,
}

/// Which store is used: `headwater store show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreJson {
    /// The folder of one's own store.
    pub own: String,
    /// The settings file that counts here.
    pub settings: Option<String>,
    /// The store of the group behind it.
    pub group: Option<GroupJson>,
}

/// The store of a group, in [`StoreJson`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupJson {
    /// Where its records are.
    pub place: String,
    /// Where its objects are.
    pub objects: String,
    /// The role that asks.
    pub role: String,
    /// Whether the role may give products.
    pub may_write: bool,
    /// Whether the role may take bytes away.
    pub is_owner: bool,
    /// Whether products are given at once.
    pub publishes: bool,
    /// Whose products are reused; nothing means everybody's.
    pub trust: Option<Vec<String>>,
    /// Products that wait to be given.
    pub waiting_products: u64,
    /// The bytes of their outputs.
    pub waiting_bytes: u64,
}
