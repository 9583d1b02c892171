//! What stores have to offer. The engine asks through these small traits and never learns what is behind.
//!
//! Law: a record is visible only when the bytes it speaks of are durable; all calls are batched and block.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{Digest, Fault, Recipe, Scalar};

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

/// A store that cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Reading or writing failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, with the path.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The database refused.
    #[error("the record database: {0}")]
    Database(String),
    /// An object is not there.
    #[error("object {0} is not in the store")]
    Missing(Digest),
    /// An object or a record is not what its name says.
    #[error("{what} is damaged")]
    Damaged {
        /// Which.
        what: String,
    },
    /// The store is of another version.
    #[error("the store at {path} has format {found}; this program reads format {wanted}")]
    Format {
        /// Where.
        path: PathBuf,
        /// What it has.
        found: i64,
        /// What was expected.
        wanted: i64,
    },
    /// The store may not be written to.
    #[error("the store is read-only")]
    ReadOnly,
    /// The records would lie on a file system that is shared between machines.
    #[error(
        "the store at {path} is on a network file system ({kind}), where its database is not safe"
    )]
    NetworkFileSystem {
        /// Where.
        path: PathBuf,
        /// The name of the file system.
        kind: &'static str,
    },
    /// A part of the store lies elsewhere, where nothing may be removed or written to on its account.
    #[error("`{path}` is neither a file nor a folder of the store's own")]
    NotOwn {
        /// Which part.
        path: PathBuf,
    },
}

impl StoreError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            StoreError::Format { .. }
            | StoreError::ReadOnly
            | StoreError::NetworkFileSystem { .. }
            | StoreError::NotOwn { .. } => Fault::User,
            StoreError::Io { .. }
            | StoreError::Database(_)
            | StoreError::Missing(_)
            | StoreError::Damaged { .. } => Fault::Environment,
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Format { .. } => {
                Some("use the program that made the store, or name another folder as the store")
            }
            StoreError::NetworkFileSystem { .. } => {
                Some("name a folder on a disk of this machine as the store")
            }
            StoreError::NotOwn { .. } => Some(
                "a store is moved or linked as a whole; if it came from somebody else, do not use it",
            ),
            StoreError::Damaged { .. } => {
                Some("give the command again: what is damaged is made anew")
            }
            StoreError::Io { source, .. }
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Some(
                    "use it without writing to it (--read-only), or name another folder as the store (--store)",
                )
            }
            StoreError::Io { .. }
            | StoreError::Database(_)
            | StoreError::Missing(_)
            | StoreError::ReadOnly => None,
        }
    }
}

/// Says which tasks are remembered.
pub trait Known: Send + Sync {
    /// For each recipe, the nanoseconds it took to make, or `None` where it is not remembered. A recipe that was found
    /// to be equal to a product counts as that product.
    fn known(&self, recipes: &[Recipe]) -> Result<Vec<Option<u64>>, StoreError>;
}

/// Keeps records.
pub trait Records: Known {
    /// The records of these recipes. For a recipe that was found to be equal to a product it is the record of that
    /// product, which has another recipe than the one asked for.
    fn fetch(&self, recipes: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError>;

    /// For each content key the record of a product made under it: one that has it as its content key or as its
    /// recipe.
    fn equal(&self, keys: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError>;

    /// Adds records whose objects are durable; returns when they are durable themselves.
    fn register(&self, records: &[ProductRecord]) -> Result<(), StoreError>;
}

/// Keeps bytes by digest.
pub trait Objects: Send + Sync {
    /// The path of an object that is here. Its contents are read only where the file does not look as it did when
    /// they were last known to be right.
    fn path(&self, digest: &Digest) -> Option<PathBuf>;

    /// The bytes of an object, verified.
    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;
}

/// What executions of one operation in one version have cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// How many executions this is drawn from: the latest ones, and not more than a store looks at.
    pub executions: usize,
    /// The median of their wall-clock times, in nanoseconds.
    pub wall: u64,
    /// The mean of the bytes of all their outputs.
    pub output_bytes: u64,
    /// The mean of their peak memory in bytes, over the executions for which it is known, if any.
    pub peak_memory: Option<u64>,
    /// The runs that they belong to, each once, the latest first.
    pub runs: Vec<Arc<str>>,
}

/// What tasks are expected to cost.
pub trait Costs: Send + Sync {
    /// For each operation and version what executions of it have cost, or `None` where none is remembered.
    fn costs(&self, operations: &[(Arc<str>, Arc<str>)]) -> Result<Vec<Option<Cost>>, StoreError>;
}
