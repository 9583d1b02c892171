//! The form in which processes send things to each other: numbers, texts and bytes, one after the other.
//!
//! Law: what was written is read back equal, by the program that wrote it: both sides are of one build, so nothing here says
//! what it is. Whatever bytes come, reading ends in a value or an error; no length is believed that the bytes cannot fill.

use std::sync::Arc;

use crate::{Digest, Recipe, Scalar};

/// Bytes that are not what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// They end too early.
    #[error("a message ends early, at byte {0}")]
    Truncated(usize),
    /// They say something that nobody says.
    #[error("a message is not in the expected form: {what} (byte {at})")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// Where.
        at: usize,
    },
}

/// Writes a message.
#[derive(Debug, Default)]
pub struct WireWriter {
    /// What was written so far.
    pub bytes: Vec<u8>,
}

impl WireWriter {
    /// A new message.
    pub fn new() -> WireWriter {
        WireWriter::default()
    }

    /// A number; small ones take one byte.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A count of things that follow.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// One byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Yes or no.
    pub fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }

    /// Bytes, with their length before them.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A digest.
    pub fn digest(&mut self, digest: &Digest) {
        self.bytes.extend_from_slice(&digest.0);
    }

    /// A recipe.
    pub fn recipe(&mut self, recipe: &Recipe) {
        self.bytes.extend_from_slice(&recipe.0);
    }

    /// Something that may be missing.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut WireWriter, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// A scalar.
    pub fn scalar(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::Bool(value) => self.byte(u8::from(*value)),
            Scalar::Int(number) => {
                self.byte(2);
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
            Scalar::Float(number) => {
                self.byte(3);
                self.bytes
                    .extend_from_slice(&number.to_bits().to_le_bytes());
            }
            Scalar::Text(text) => {
                self.byte(4);
                self.text(text);
            }
        }
    }
}

/// Reads a message.
#[derive(Debug)]
pub struct WireReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> WireReader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader { bytes, at: 0 }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(WireError::Truncated(self.bytes.len()))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// An error about what was read last.
    pub fn unknown(&self, what: &'static str) -> WireError {
        WireError::Unknown { what, at: self.at }
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64, WireError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.unknown("a number"))
    }

    /// A small number.
    pub fn small(&mut self) -> Result<u32, WireError> {
        u32::try_from(self.number()?).map_err(|_| self.unknown("a small number"))
    }

    /// A count of things, each of which takes at least one byte.
    pub fn count(&mut self) -> Result<usize, WireError> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count > self.bytes.len() - self.at {
            return Err(WireError::Truncated(self.bytes.len()));
        }
        Ok(count)
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, WireError> {
        Ok(self.take(1)?[0])
    }

    /// Yes or no.
    pub fn flag(&mut self) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.unknown("yes or no")),
        }
    }

    /// Bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let count = self.count()?;
        self.take(count)
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'a str, WireError> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.unknown("a text"))
    }

    /// A text that others have, too.
    pub fn name(&mut self) -> Result<Arc<str>, WireError> {
        Ok(self.text()?.into())
    }

    /// A digest.
    pub fn digest(&mut self) -> Result<Digest, WireError> {
        Ok(Digest(self.array()?))
    }

    /// A recipe.
    pub fn recipe(&mut self) -> Result<Recipe, WireError> {
        Ok(Recipe(self.array()?))
    }

    /// Something that may be missing.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut WireReader<'a>) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        if self.flag()? {
            read(self).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Several things.
    pub fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut WireReader<'a>) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let count = self.count()?;
        let mut list = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// A scalar.
    pub fn scalar(&mut self) -> Result<Scalar, WireError> {
        Ok(match self.byte()? {
            0 => Scalar::Bool(false),
            1 => Scalar::Bool(true),
            2 => Scalar::Int(i64::from_le_bytes(self.array()?)),
            3 => Scalar::Float(f64::from_bits(u64::from_le_bytes(self.array()?))),
            4 => Scalar::Text(self.name()?),
            _ => return Err(self.unknown("a scalar")),
        })
    }

    /// Nothing may follow.
    pub fn end(&self) -> Result<(), WireError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.unknown("the end"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let mut writer = WireWriter::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        numbers.iter().for_each(|number| writer.number(*number));
        writer.text("größe");
        let scalars = [
            Scalar::Bool(true),
            Scalar::Int(-3),
            Scalar::Float(0.1),
            "text".into(),
        ];
        scalars.iter().for_each(|scalar| writer.scalar(scalar));
        writer.option(Some(7), |writer, number| writer.number(number));
        writer.option(None::<u64>, |writer, number| writer.number(number));
        let bytes = writer.bytes;
        let mut reader = WireReader::new(&bytes);
        for number in numbers {
            assert_eq!(reader.number(), Ok(number));
        }
        assert_eq!(reader.text(), Ok("größe"));
        for scalar in scalars {
            assert_eq!(reader.scalar(), Ok(scalar));
        }
        assert_eq!(reader.option(WireReader::number), Ok(Some(7)));
        assert_eq!(reader.option(WireReader::number), Ok(None));
        assert_eq!(reader.end(), Ok(()));
        for end in 0..bytes.len() {
            let mut reader = WireReader::new(&bytes[..end]);
            let read = (0..numbers.len()).try_for_each(|_| reader.number().map(drop));
            let read = read.and_then(|()| reader.text().map(drop));
            let read = read.and_then(|()| (0..4).try_for_each(|_| reader.scalar().map(drop)));
            let read = read.and_then(|()| reader.option(WireReader::number).map(drop));
            assert!(
                read.and_then(|()| reader.option(WireReader::number))
                    .is_err()
            );
        }
    }

    #[test]
    fn a_length_that_the_bytes_cannot_fill_is_refused() {
        let mut writer = WireWriter::new();
        writer.number(u64::MAX);
        let mut reader = WireReader::new(&writer.bytes);
        assert_eq!(reader.bytes(), Err(WireError::Truncated(10)));
        let mut reader = WireReader::new(&[0xff; 11]);
        assert!(matches!(reader.number(), Err(WireError::Unknown { .. })));
    }
}
