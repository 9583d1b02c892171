//! How the key of a task is computed. The encoding is written down in `docs/recipe.md` and held by golden
//! vectors; a change of it is a new [`SCHEME`].
//!
//! Law: a recipe depends on the operation, its version, its parameter values and the identities of its
//! inputs, and on nothing else; not on the order in which ports or parameters are given.

use crate::{Digest, Recipe, Scalar, Value, value_digest};

/// The number of this encoding; it is hashed first, so that another scheme gives other recipes.
pub const SCHEME: u32 = 1;

const DOMAIN: &[u8] = b"headwater recipe";

/// What an external thing is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identity {
    /// A file that is nothing but its contents.
    File(Digest),
    /// A directory by its manifest.
    Directory(Digest),
    /// Any other value by the digest of its canonical encoding.
    Value(Digest),
    /// A logical name, where the user declared one name space.
    Name(std::sync::Arc<str>),
}

impl Identity {
    /// How a value from outside, or from an impure task, is identified: by its contents, unless it is known
    /// by a logical name.
    pub fn of(value: &Value) -> Identity {
        let name = match value {
            Value::File(file) => file.logical_name(),
            Value::Directory(directory) => directory.name.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            return Identity::Name(std::sync::Arc::clone(name));
        }
        match value {
            Value::File(file) if file.name.is_none() && !file.executable => {
                Identity::File(file.digest)
            }
            Value::Directory(_) => Identity::Directory(value_digest(value)),
            other => Identity::Value(value_digest(other)),
        }
    }
}

/// A parameter that has no place in a recipe.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a parameter is not a number")]
pub struct NotANumber;

mod tag {
    pub(super) const PARAMETERS: u8 = b'P';
    pub(super) const INPUTS: u8 = b'I';
    pub(super) const ADDRESS: u8 = b'A';
    pub(super) const FALSE: u8 = b'f';
    pub(super) const TRUE: u8 = b't';
    pub(super) const INT: u8 = b'i';
    pub(super) const FLOAT: u8 = b'd';
    pub(super) const TEXT: u8 = b's';
    pub(super) const PRODUCT: u8 = b'p';
    pub(super) const FILE: u8 = b'F';
    pub(super) const DIRECTORY: u8 = b'D';
    pub(super) const VALUE: u8 = b'V';
    pub(super) const NAME: u8 = b'N';
    pub(super) const LIST: u8 = b'L';
    pub(super) const RECORD: u8 = b'R';
}

/// Writes the encoding of one task. Parameters and inputs have to be given sorted by name; the graph does.
///
/// Writing into one reused buffer and hashing it in one go is measurably faster than feeding the hasher
/// piece by piece: a task is a few hundred bytes.
#[derive(Debug, Default)]
pub struct RecipeBuilder {
    out: Vec<u8>,
}

impl RecipeBuilder {
    /// An empty one.
    pub fn new() -> RecipeBuilder {
        RecipeBuilder::default()
    }

    fn number(&mut self, number: usize) {
        self.out.extend_from_slice(&(number as u32).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Starts a task, forgetting the one before.
    pub fn begin(&mut self, operation: &str, version: &str) {
        self.out.clear();
        self.out.extend_from_slice(DOMAIN);
        self.out.extend_from_slice(&SCHEME.to_le_bytes());
        self.text(operation);
        self.text(version);
    }

    /// Says how many parameters follow.
    pub fn parameters(&mut self, count: usize) {
        self.out.push(tag::PARAMETERS);
        self.number(count);
    }

    /// One parameter. The scalar has been coerced to the declared type.
    pub fn parameter(&mut self, name: &str, value: &Scalar) -> Result<(), NotANumber> {
        self.text(name);
        match value {
            Scalar::Bool(false) => self.out.push(tag::FALSE),
            Scalar::Bool(true) => self.out.push(tag::TRUE),
            Scalar::Int(number) => {
                self.out.push(tag::INT);
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Scalar::Float(number) => {
                if number.is_nan() {
                    return Err(NotANumber);
                }
                let bits = if *number == 0.0 { 0 } else { number.to_bits() };
                self.out.push(tag::FLOAT);
                self.out.extend_from_slice(&bits.to_le_bytes());
            }
            Scalar::Text(text) => {
                self.out.push(tag::TEXT);
                self.text(text);
            }
        }
        Ok(())
    }

    /// Says how many bound inputs follow; unbound optional ones are left out.
    pub fn inputs(&mut self, count: usize) {
        self.out.push(tag::INPUTS);
        self.number(count);
    }

    /// The port that the next source is bound to, or the key of the next field of a record.
    pub fn port(&mut self, name: &str) {
        self.text(name);
    }

    /// A source: an output of a task.
    pub fn product(&mut self, recipe: &Recipe, port: &str) {
        self.out.push(tag::PRODUCT);
        self.out.extend_from_slice(&recipe.0);
        self.text(port);
    }

    /// A source: something from outside.
    pub fn external(&mut self, identity: &Identity) {
        let (kind, digest) = match identity {
            Identity::File(digest) => (tag::FILE, digest),
            Identity::Directory(digest) => (tag::DIRECTORY, digest),
            Identity::Value(digest) => (tag::VALUE, digest),
            Identity::Name(name) => {
                self.out.push(tag::NAME);
                return self.text(name);
            }
        };
        self.out.push(kind);
        self.out.extend_from_slice(&digest.0);
    }

    /// A source: a list of `count` sources, which follow in index order.
    pub fn list(&mut self, count: usize) {
        self.out.push(tag::LIST);
        self.number(count);
    }

    /// A source: a record of `count` fields, which follow sorted by key, each as [`port`](Self::port) and
    /// source.
    pub fn record(&mut self, count: usize) {
        self.out.push(tag::RECORD);
        self.number(count);
    }

    /// The address of an impure task, which keeps it apart from all others.
    pub fn address(&mut self, address: &str) {
        self.out.push(tag::ADDRESS);
        self.text(address);
    }

    /// The recipe.
    pub fn finish(&self) -> Recipe {
        Recipe(*blake3::hash(&self.out).as_bytes())
    }

    /// The bytes that are hashed, for documentation and golden vectors.
    pub fn encoding(&self) -> &[u8] {
        &self.out
    }
}
