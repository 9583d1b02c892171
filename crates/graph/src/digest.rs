//! 32-byte names: a [`Digest`] names contents, a [`Recipe`] names a computation.
//!
//! Law: both are BLAKE3; they are never mixed up, which is why they are two types. A digest is the same whether the
//! bytes came in one piece, one after the other or in segments.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::{self, Read};
use std::str::FromStr;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

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
                f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
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

    /// Adds everything that can be read, a piece at a time, as large as the buffer at most; `piece` is told how many bytes
    /// each has.
    pub fn update_from(
        &mut self,
        reader: &mut impl Read,
        buffer: &mut [u8],
        mut piece: impl FnMut(usize),
    ) -> io::Result<()> {
        loop {
            match reader.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.update(&buffer[..count]);
                    piece(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The digest of everything added.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// Bytes of a segment: contents that are digested in pieces, in any order, are cut every so many bytes.
pub const SEGMENT: u64 = 1 << 20;

/// Digests one segment of contents that have several.
#[derive(Debug, Clone)]
pub struct SegmentHasher(blake3::Hasher);

impl SegmentHasher {
    /// For the segment at this position: the bytes from `position * SEGMENT` on.
    pub fn new(position: u64) -> SegmentHasher {
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(position.wrapping_mul(SEGMENT));
        SegmentHasher(hasher)
    }

    /// Adds bytes of the segment, in their order and no more than [`SEGMENT`].
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// What the digest of the whole needs to know of the segment.
    pub fn finish(&self) -> SegmentDigest {
        SegmentDigest(self.0.finalize_non_root())
    }
}

/// A segment, digested. It is part of a digest and no digest itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentDigest([u8; 32]);

impl Digest {
    /// The digest of contents of which each segment was digested on its own. All but the last are whole and none
    /// is empty; there are at least two, since a single one would be the root of the tree.
    pub fn of_segments(segments: &[SegmentDigest]) -> Option<Digest> {
        let (left, right) = halves(segments)?;
        let hash = merge_subtrees_root(&subtree(left)?, &subtree(right)?, Mode::Hash);
        Some(Digest(*hash.as_bytes()))
    }
}

/// The two subtrees below a node: the left one is full, a power of two that leaves something for the right one.
fn halves(segments: &[SegmentDigest]) -> Option<(&[SegmentDigest], &[SegmentDigest])> {
    let last = segments.len().checked_sub(1).filter(|last| *last > 0)?;
    segments.split_at_checked(1 << last.ilog2())
}

fn subtree(segments: &[SegmentDigest]) -> Option<[u8; 32]> {
    match segments {
        [one] => Some(one.0),
        several => {
            let (left, right) = halves(several)?;
            Some(merge_subtrees_non_root(
                &subtree(left)?,
                &subtree(right)?,
                Mode::Hash,
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_segments(bytes: &[u8]) -> Option<Digest> {
        let segment = |(position, bytes): (usize, &[u8])| {
            let mut hasher = SegmentHasher::new(position as u64);
            bytes.chunks(70_001).for_each(|piece| hasher.update(piece));
            hasher.finish()
        };
        let segments: Vec<SegmentDigest> = bytes
            .chunks(SEGMENT as usize)
            .enumerate()
            .map(segment)
            .collect();
        Digest::of_segments(&segments)
    }

    #[test]
    fn segments_give_the_digest_of_the_whole() {
        let bytes: Vec<u8> = (0..9 * SEGMENT + 12_345)
            .map(|at| (at % 251) as u8)
            .collect();
        for whole in 1..=9 {
            for rest in [0, 1, 1023, 1024, 1025, 12_345] {
                let length = (whole * SEGMENT + rest) as usize;
                let expected = (length as u64 > SEGMENT).then(|| Digest::of(&bytes[..length]));
                assert_eq!(in_segments(&bytes[..length]), expected, "{length} bytes");
            }
        }
        assert_eq!(in_segments(&[]), None);
    }
}
