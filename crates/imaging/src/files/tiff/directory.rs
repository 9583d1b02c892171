//! The directories of a TIFF file.
//!
//! Law: nothing is read beyond the end of the file, and no list is made longer than the file itself; a number is read
//! in the byte order of the file, from any of the types that hold whole numbers.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use super::FORMAT;
use crate::files::ImageError;

/// Tags in a directory at most; real ones have a few dozen.
const MOST_TAGS: u64 = 4_096;

/// A TIFF file open for reading.
pub(crate) struct Source<R> {
    reader: R,
    length: u64,
    big: bool,
    upper_first: bool,
    first: u64,
}

/// A tag: what type, how many, and the bytes that hold the values or say where they are.
#[derive(Debug, Clone)]
struct Entry {
    kind: u16,
    count: u64,
    field: Vec<u8>,
}

/// A directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    entries: BTreeMap<u16, Entry>,
    next: u64,
}

impl Directory {
    /// Where the next one is, 0 for none.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a tag is there.
    pub(crate) fn has(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }
}

impl<R: Read + Seek> Source<R> {
    /// Reads the header.
    pub(crate) fn open(mut reader: R) -> Result<Source<R>, ImageError> {
        let length = reader.seek(SeekFrom::End(0))?;
        let mut source = Source {
            reader,
            length,
            big: false,
            upper_first: false,
            first: 0,
        };
        let head = source.bytes(0, 8)?;
        source.upper_first = head[0] == b'M';
        source.big = source.number(&head[2..4]) == 43;
        source.first = if source.big {
            let rest = source.bytes(4, 12)?;
            if source.number(&rest[..2]) != 8 || source.number(&rest[2..4]) != 0 {
                return Err(ImageError::damaged(
                    FORMAT,
                    "the header of the big form is wrong",
                ));
            }
            source.number(&rest[4..])
        } else {
            source.number(&head[4..8])
        };
        Ok(source)
    }

    /// Where the first directory is.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Length of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether numbers begin with their upper byte.
    pub(crate) fn upper_first(&self) -> bool {
        self.upper_first
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&mut self, at: u64, count: u64) -> Result<Vec<u8>, ImageError> {
        if at.checked_add(count).is_none_or(|end| end > self.length) {
            return Err(ImageError::damaged(
                FORMAT,
                format!(
                    "it ends too early: {count} bytes at {at} are beyond its {} bytes",
                    self.length
                ),
            ));
        }
        self.reader.seek(SeekFrom::Start(at))?;
        // No more than the file has.
        let mut bytes = vec![0; count as usize];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let join = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        if self.upper_first {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        }
    }

    /// Reads a directory.
    pub(crate) fn directory(&mut self, at: u64) -> Result<Directory, ImageError> {
        let (count_bytes, entry_bytes, word) = if self.big { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.bytes(at, count_bytes)?;
        let count = self.number(&count);
        if count == 0 || count > MOST_TAGS {
            return Err(ImageError::damaged(
                FORMAT,
                format!("the directory at {at} has {count} tags"),
            ));
        }
        let bytes = self.bytes(at + count_bytes, count * entry_bytes + word)?;
        let (tags, next) = bytes.split_at((count * entry_bytes) as usize);
        let mut entries = BTreeMap::new();
        for tag in tags.chunks_exact(entry_bytes as usize) {
            let (head, field) = tag.split_at((entry_bytes - word) as usize);
            let entry = Entry {
                kind: self.number(&head[2..4]) as u16,
                count: self.number(&head[4..]),
                field: field.to_vec(),
            };
            entries
                .entry(self.number(&head[..2]) as u16)
                .or_insert(entry);
        }
        Ok(Directory {
            entries,
            next: self.number(next),
        })
    }

    /// The bytes of a tag's values and the size of one value; `None` when the tag is not there.
    fn values(
        &mut self,
        directory: &Directory,
        tag: u16,
    ) -> Result<Option<(Vec<u8>, usize)>, ImageError> {
        let Some(entry) = directory.entries.get(&tag) else {
            return Ok(None);
        };
        let size: u64 = match entry.kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 13 => 4,
            16..=18 => 8,
            kind => {
                return Err(ImageError::damaged(
                    FORMAT,
                    format!("tag {tag} is of type {kind}"),
                ));
            }
        };
        let Some(bytes) = entry
            .count
            .checked_mul(size)
            .filter(|&bytes| bytes <= self.length)
        else {
            return Err(ImageError::damaged(
                FORMAT,
                format!(
                    "tag {tag} claims {} values, more than the file has bytes",
                    entry.count
                ),
            ));
        };
        let data = if bytes <= entry.field.len() as u64 {
            entry.field[..bytes as usize].to_vec()
        } else {
            let at = self.number(&entry.field);
            self.bytes(at, bytes)?
        };
        Ok(Some((data, size as usize)))
    }

    /// All numbers of a tag, empty when it is not there.
    pub(crate) fn numbers(
        &mut self,
        directory: &Directory,
        tag: u16,
    ) -> Result<Vec<u64>, ImageError> {
        let Some((data, size)) = self.values(directory, tag)? else {
            return Ok(Vec::new());
        };
        Ok(data
            .chunks_exact(size)
            .map(|bytes| self.number(bytes))
            .collect())
    }

    /// The first number of a tag.
    pub(crate) fn first_number(
        &mut self,
        directory: &Directory,
        tag: u16,
    ) -> Result<Option<u64>, ImageError> {
        Ok(self
            .values(directory, tag)?
            .and_then(|(data, size)| data.get(..size).map(|bytes| self.number(bytes))))
    }

    /// The bytes of a tag, empty when it is not there.
    pub(crate) fn data(&mut self, directory: &Directory, tag: u16) -> Result<Vec<u8>, ImageError> {
        Ok(self
            .values(directory, tag)?
            .map(|(data, _)| data)
            .unwrap_or_default())
    }

    /// The text of a tag, empty when it is not there.
    pub(crate) fn text(&mut self, directory: &Directory, tag: u16) -> Result<String, ImageError> {
        let data = self.data(directory, tag)?;
        Ok(String::from_utf8_lossy(&data)
            .trim_end_matches('\0')
            .to_owned())
    }
}
