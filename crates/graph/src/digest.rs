//! 32-byte names: a [`Digest`] names contents, a [`Recipe`] names a computation.
//!
//! Law: both are BLAKE3; they are never mixed up, which is why they are two types.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

macro_rules! name_of_32_bytes {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub [u8; 32]);

        impl $name {
            /// All 64 hexadecimal digits.
            pub fn hex(&self) -> String {
                blake3::Hash::from_bytes(self.0).to_hex().to_string()
            }

            /// The first 12 digits, for people.
            pub fn short(&self) -> String {
                let mut hex = self.hex();
                hex.truncate(12);
                hex
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.short())
            }
        }

        impl Hash for $name {
            // The bytes are uniformly distributed already: eight of them are a good hash.
            fn hash<H: Hasher>(&self, state: &mut H) {
                let mut first = [0; 8];
                first.copy_from_slice(&self.0[..8]);
                state.write_u64(u64::from_le_bytes(first));
            }
        }

        impl FromStr for $name {
            type Err = ParseDigestError;

            fn from_str(text: &str) -> Result<Self, ParseDigestError> {
                blake3::Hash::from_hex(text)
                    .map(|hash| $name(*hash.as_bytes()))
                    .map_err(|_| ParseDigestError { text: text.to_owned() })
            }
        }
    };
}

name_of_32_bytes! {
    /// The name of contents: BLAKE3 over bytes or over a canonical encoding.
    Digest
}
name_of_32_bytes! {
    /// The key of a task: what it computes, from what. See `docs/recipe.md`.
    Recipe
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not 64 hexadecimal digits")]
pub struct ParseDigestError {
    text: String,
}

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// What stands in for a digest where contents are known by a logical name and nobody looks into them. It
    /// comes from a hash function of its own, so it is not the digest of any contents.
    pub fn of_name(name: &str) -> Digest {
        Digest(blake3::derive_key(
            "headwater logical name",
            name.as_bytes(),
        ))
    }
}

/// Digests bytes that arrive in pieces.
#[derive(Debug, Default, Clone)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything added.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}
