//! An encoding in memory, lying so that an array in it can be used where it is.
//!
//! Law: the numbers of the array that an encoding begins with lie at a multiple of 64, whatever stands before them. What
//! is in an object is the canonical encoding and nothing else: where it lies is up to whoever reads it.

use std::io::{self, Read};

use crate::encode::numbers_at;

/// The numbers of an array lie at a multiple of this.
const ALIGNMENT: usize = 64;

/// The numbers begin below this many bytes, if they are to be found.
const BEGINNING: usize = 4096;

/// The bytes of an encoding, or of anything else. As an [`Owner`](crate::Owner) it can be decoded without a copy of its array.
#[derive(Debug)]
pub struct Aligned {
    buffer: Vec<u8>,
    /// Where the encoding begins.
    start: usize,
}

impl Aligned {
    /// Reads an encoding of about this length.
    pub fn read(mut from: impl Read, length: u64) -> io::Result<Aligned> {
        let mut beginning = Vec::with_capacity(BEGINNING);
        from.by_ref()
            .take(BEGINNING as u64)
            .read_to_end(&mut beginning)?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let room = length.max(beginning.len()).checked_add(ALIGNMENT);
        let room = room.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut buffer: Vec<u8> = Vec::new();
        buffer.try_reserve_exact(room).map_err(io::Error::other)?;
        let numbers = numbers_at(&beginning).unwrap_or(0);
        let start = buffer.as_ptr().addr().wrapping_add(numbers).wrapping_neg() % ALIGNMENT;
        // All of it fits, so it does not move. Were it longer than was said, its array would be copied, and that is all.
        buffer.resize(start, 0);
        buffer.extend_from_slice(&beginning);
        from.read_to_end(&mut buffer)?;
        Ok(Aligned { buffer, start })
    }

    /// How many bytes the encoding has.
    pub fn length(&self) -> u64 {
        (self.buffer.len() - self.start) as u64
    }

    /// A copy of an encoding.
    pub fn of(bytes: &[u8]) -> io::Result<Aligned> {
        Aligned::read(bytes, bytes.len() as u64)
    }
}

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}
