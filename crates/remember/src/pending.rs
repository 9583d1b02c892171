//! Products that are to be remembered, with the bytes that they consist of.
//!
//! Law: a product brings every object that its record speaks of and that may not be in the store yet.

use std::path::PathBuf;

use headwater_graph::{Digest, Mark, ProductRecord, Value};

/// Where the bytes of an object are before it is one.
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

/// An object that a record speaks of.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingObject {
    /// BLAKE3 of its bytes. It is taken as given, and verified when the object is read.
    pub digest: Digest,
    /// Its bytes.
    pub source: ObjectSource,
}

/// A product that is to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// What is to be known of it.
    pub record: ProductRecord,
    /// The objects that the record speaks of and that may not be in the store yet.
    pub objects: Vec<PendingObject>,
}

impl Pending {
    /// The bytes it holds in memory apart from the record.
    pub(crate) fn bytes(&self) -> usize {
        let size = |object: &PendingObject| match &object.source {
            ObjectSource::Staged(_) | ObjectSource::Digested(..) => 0,
            ObjectSource::Bytes(bytes) => bytes.len(),
            ObjectSource::Encoding(value) => usize::try_from(value.memory()).unwrap_or(usize::MAX),
        };
        self.objects.iter().map(size).sum()
    }
}
