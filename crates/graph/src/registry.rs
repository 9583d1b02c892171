//! The operations and codecs that a program knows.
//!
//! Law: names are unique; `library/operation` for what a library brings, a name without slash for what the
//! workflow file itself declares.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Operation, OperationError, Signature, Type, Value};

/// Turns the bytes of a file into a value.
pub type Decode = dyn Fn(&[u8]) -> Result<Value, OperationError> + Send + Sync;
/// Turns a value into the bytes of a file. A format that has no room for this kind of value (real numbers, where
/// it has whole ones) says [`OperationError::Input`]: the value is then written in Headwater's own encoding,
/// without a word. Any other error has the same effect, and is told.
pub type Encode = dyn Fn(&Value) -> Result<Vec<u8>, OperationError> + Send + Sync;

/// How values of one type are read from and written to files.
#[derive(Clone)]
pub struct Codec {
    /// The library that brings it.
    pub library: Arc<str>,
    /// Part of the recipe of every value read with it.
    pub version: Arc<str>,
    /// The type.
    pub value_type: Type,
    /// Extensions it reads, without dot; the first is the one it writes.
    pub extensions: Vec<Arc<str>>,
    /// From bytes.
    pub decode: Arc<Decode>,
    /// To bytes.
    pub encode: Arc<Encode>,
}

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec")
            .field("library", &self.library)
            .field("value_type", &self.value_type)
            .finish()
    }
}

impl Codec {
    /// The signature of the implicit task that decodes a file with this codec.
    pub fn read_signature(&self) -> Signature {
        // A library may read several types; the same file as another type is another value.
        let version = format!("{} as {}", self.version, self.value_type);
        let mut signature = Signature::new(&format!("{}/read", self.library), &version)
            .input("file", Type::File)
            .output("value", self.value_type.clone())
            // All of the file; and what was read may be there twice before it is a value.
            .working("file", 100)
            .working_on_outputs(100);
        signature.implicit = true;
        signature
    }
}

/// A name that is taken.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RegistryError {
    /// Two operations of one name.
    #[error("operation `{0}` is registered twice")]
    Operation(Arc<str>),
    /// Two codecs of one type.
    #[error("type `{0}` has two codecs")]
    Codec(Type),
}

/// Operations and codecs by name and type.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    operations: BTreeMap<Arc<str>, Arc<Operation>>,
    codecs: BTreeMap<Type, Arc<Codec>>,
}

impl Registry {
    /// An empty one.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds an operation; with a library, under the name `library/operation`.
    pub fn register(
        &mut self,
        library: Option<&str>,
        mut operation: Operation,
    ) -> Result<(), RegistryError> {
        if let Some(library) = library {
            operation.signature.name = format!("{library}/{}", operation.signature.name).into();
        }
        let name = Arc::clone(&operation.signature.name);
        if self.operations.contains_key(&name) {
            return Err(RegistryError::Operation(name));
        }
        self.operations.insert(name, Arc::new(operation));
        Ok(())
    }

    /// Adds a codec.
    pub fn register_codec(&mut self, codec: Codec) -> Result<(), RegistryError> {
        if self.codecs.contains_key(&codec.value_type) {
            return Err(RegistryError::Codec(codec.value_type));
        }
        self.codecs
            .insert(codec.value_type.clone(), Arc::new(codec));
        Ok(())
    }

    /// The operation of that name.
    pub fn operation(&self, name: &str) -> Option<&Arc<Operation>> {
        self.operations.get(name)
    }

    /// The codec of that type.
    pub fn codec(&self, value_type: &Type) -> Option<&Arc<Codec>> {
        self.codecs.get(value_type)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.operations.keys().map(|name| &**name)
    }

    /// All types that have a codec, sorted.
    pub fn codec_types(&self) -> impl Iterator<Item = &Type> {
        self.codecs.keys()
    }
}
