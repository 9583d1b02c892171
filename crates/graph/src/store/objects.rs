//! Bytes by digest, and products on their way into a store.
//!
//! Law: what is given out under a digest has that digest. What is found not to have it is set aside, reported, and never
//! served again. Bytes are read through the store; a path on this machine is asked for where a program needs a file.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::{Alias, Digest, Mark, Owner, ProductRecord, StoreError, Value};

/// Where the bytes of an object are before they are in the store.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectSource {
    /// In a file, which becomes read-only and may be shared with the object: nobody may write to it any more. The
    /// path stays valid.
    Staged(PathBuf),
    /// In such a file, whose bytes had the digest when it looked like this. One that looks different is read before
    /// it is placed, and refused if its bytes are others.
    Digested(PathBuf, Mark),
    /// In memory.
    Bytes(Vec<u8>),
    /// The canonical encoding of this value; it is never put together in memory.
    Encoding(Value),
}

/// An object that a record names.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingObject {
    /// BLAKE3 of its bytes. It is taken as given, and verified when the object is read.
    pub digest: Digest,
    /// Its bytes.
    pub source: ObjectSource,
}

/// A product that is to be remembered. It brings every object that its record names and that may not be in the store
/// yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// What is to be known of it.
    pub record: ProductRecord,
    /// The objects that the record names and that may not be in the store yet.
    pub objects: Vec<PendingObject>,
}

/// What is to be remembered: a product, or that a task is equal to one.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreEntry {
    /// A product with its objects.
    Product(Pending),
    /// A task that is equal to a product.
    Alias(Alias),
}

impl StoreEntry {
    /// The bytes of objects that it holds in memory.
    pub fn memory(&self) -> u64 {
        let StoreEntry::Product(pending) = self else {
            return 0;
        };
        let size = |object: &PendingObject| match &object.source {
            ObjectSource::Staged(_) | ObjectSource::Digested(..) => 0,
            ObjectSource::Bytes(bytes) => bytes.len() as u64,
            ObjectSource::Encoding(value) => value.memory(),
        };
        pending.objects.iter().map(size).sum()
    }
}

/// Where the bytes of an object are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectPlace {
    /// The store does not have them.
    Missing,
    /// In this file of this machine, which nobody may write to.
    Here(PathBuf),
    /// The store has them, but not in a file of this machine. [`paths`](Objects::paths) makes one.
    Elsewhere,
}

/// Keeps bytes by digest.
pub trait Objects: Send + Sync {
    /// Makes a batch durable: objects first, then records and aliases, each alias after the products of the batch.
    /// Products whose own objects cannot be had, and aliases of what is not there, are left out and returned with their
    /// position and the reason, in order; any other error concerns all of them.
    fn keep(&self, batch: &[StoreEntry]) -> Result<Vec<(usize, StoreError)>, StoreError>;

    /// Takes in objects of another store, which need not be named by a record of this one. They are durable afterwards,
    /// and may be collected like any other. Those that cannot be read to their end, or are not what their name says, are
    /// left out and returned with their position and the reason, in order.
    fn bring(
        &self,
        objects: &mut [(Digest, &mut dyn Read)],
    ) -> Result<Vec<(usize, StoreError)>, StoreError>;

    /// Which of these objects the store has and, as far as can be told without reading them, whole. Those stay for as
    /// long as a run lives that began before this call.
    fn has(&self, digests: &[Digest]) -> Vec<bool>;

    /// Where these objects are, without moving any of their bytes. Those that the store has stay as long as for
    /// [`has`](Self::has).
    fn places(&self, digests: &[Digest]) -> Vec<ObjectPlace>;

    /// Files with the bytes of these objects on this machine, for programs; `None` for an object that the store does not
    /// have. Where a store has its objects elsewhere they are brought here, so this is asked when a program is started or a
    /// file is delivered, and not before. They stay for as long as a run lives that began before this call, and nobody may write to them.
    fn paths(&self, digests: &[Digest]) -> Vec<Option<PathBuf>>;

    /// As [`paths`](Self::paths), of one object.
    fn path(&self, digest: &Digest) -> Option<PathBuf> {
        self.paths(std::slice::from_ref(digest)).pop()?
    }

    /// The bytes of an object, verified.
    fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError>;

    /// The bytes of an object, verified, in memory that can be shared: an array in them needs no copy
    /// ([`decode_shared`](crate::decode_shared)).
    fn share(&self, digest: &Digest) -> Result<Owner, StoreError>;

    /// Some bytes of an object, for those who do not want to read all of it: fewer where it ends before. The object is
    /// read as a whole only where nothing says that it is still what it was when it was last verified.
    fn read_range(&self, digest: &Digest, range: Range<u64>) -> Result<Vec<u8>, StoreError>;

    /// Reads an object and checks it, piece by piece, whatever was known of it. A wrong one is set aside.
    fn verify_object(&self, digest: &Digest) -> Result<(), StoreError>;

    /// When an object was found damaged and set aside, in seconds since 1970; `None` where it was not, or that is no
    /// longer known.
    fn set_aside_at(&self, digest: &Digest) -> Option<i64>;

    /// The bytes of objects that this process has made durable here: a count that only grows.
    fn written(&self) -> Arc<AtomicU64>;
}
