//! The journal of records: a file that can only grow, from which the records can be made again.
//!
//! Law: an entry is read exactly as it was written or not at all. Whatever bytes lie between two entries, both are
//! found: an entry begins with a mark and has a checksum, and after nonsense the next mark is looked for. Reading
//! never panics and never reserves more memory than the file is long.
//!
//! An entry is four bytes of mark (the last one is the format of the store), one of kind, four of length, eight of
//! checksum over kind, length and payload, and the payload. Another format may have other payloads; the frame stays,
//! so that every version of this program can tell whose journal it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_graph::{Alias, Digest, ProductRecord, Recipe, StoreError};

use crate::beneath::{Access, Root};
use crate::details::{self, Damaged, Reader, put_bytes, put_number};
use crate::disk::{cannot, next_data};
use crate::object_rows::{ObjectRow, Seen};
use crate::schema::FORMAT;

/// How the mark begins, in every format.
const MARK: [u8; 3] = *b"HwJ";
/// Bytes before the payload.
const HEAD: usize = 17;
/// Bytes read at once.
const CHUNK: usize = 1 << 20;
/// The longest payload. A record that is longer is not in the journal.
const LONGEST: usize = 1 << 30;

mod kind {
    pub(super) const BEGINNING: u8 = 0;
    pub(super) const PRODUCT: u8 = 1;
    pub(super) const OBJECT: u8 = 2;
    pub(super) const ALIAS: u8 = 3;
    pub(super) const VERSION: u8 = 4;
}

/// What the journal holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// A record of a product.
    Product(Box<ProductRecord>),
    /// An object that has become durable.
    Object(Digest, ObjectRow),
    /// A task that was found to be equal to another one.
    Alias(Alias),
    /// What the version of an operation stands for.
    Version(VersionRow),
}

/// A row of the table `versions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionRow {
    /// The version.
    pub(crate) version: String,
    /// Label, U+0000, value, U+0000, …
    pub(crate) parts: String,
}

/// Entries that are to be appended together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
}

impl Batch {
    /// The entry that a journal begins with.
    pub(crate) fn beginning() -> Batch {
        let mut batch = Batch::default();
        batch.put(kind::BEGINNING, |_| {});
        batch
    }

    /// Adds a record of a product, with the bytes that [`details::write`] has made of its lists.
    pub(crate) fn product(&mut self, record: &ProductRecord, details: &[u8]) {
        self.put(kind::PRODUCT, |out| {
            out.extend_from_slice(&record.recipe.0);
            for text in [&record.operation, &record.version, &record.run] {
                put_bytes(out, text.as_bytes());
            }
            for number in [record.wall, record.cpu, record.peak_memory] {
                put_number(out, number);
            }
            out.extend_from_slice(&record.time.to_le_bytes());
            put_bytes(out, details);
        });
    }

    /// Adds an object.
    pub(crate) fn object(&mut self, digest: &Digest, row: &ObjectRow) {
        self.put(kind::OBJECT, |out| {
            out.extend_from_slice(&digest.0);
            put_number(out, row.seen.size);
            put_number(out, row.seen.inode);
            out.extend_from_slice(&row.seen.modified.to_le_bytes());
            put_number(out, row.wall);
            out.extend_from_slice(&row.used.to_le_bytes());
        });
    }

    /// Adds an alias.
    pub(crate) fn alias(&mut self, row: &Alias) {
        self.put(kind::ALIAS, |out| {
            out.extend_from_slice(&row.recipe.0);
            out.extend_from_slice(&row.target.0);
            put_bytes(out, row.run.as_bytes());
            out.extend_from_slice(&row.time.to_le_bytes());
        });
    }

    /// Adds what a version stands for.
    pub(crate) fn version(&mut self, row: &VersionRow) {
        self.put(kind::VERSION, |out| {
            put_bytes(out, row.version.as_bytes());
            put_bytes(out, row.parts.as_bytes());
        });
    }

    /// Its bytes so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes it empty again.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn put(&mut self, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&mark());
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&[0; HEAD - 5]);
        payload(&mut self.bytes);
        let length = self.bytes.len() - start - HEAD;
        match u32::try_from(length) {
            Ok(short) if length <= LONGEST => {
                self.bytes[start + 5..start + 9].copy_from_slice(&short.to_le_bytes());
                let checksum = checksum(
                    &self.bytes[start + 4..start + 9],
                    &self.bytes[start + HEAD..],
                );
                self.bytes[start + 9..start + HEAD].copy_from_slice(&checksum);
            }
            _ => self.bytes.truncate(start),
        }
    }
}

/// What every entry of this format begins with.
fn mark() -> [u8; 4] {
    [MARK[0], MARK[1], MARK[2], FORMAT as u8]
}

fn checksum(kind_and_length: &[u8], payload: &[u8]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind_and_length).update(payload);
    let mut checksum = [0; 8];
    checksum.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    checksum
}

/// What the file is called.
pub(crate) const JOURNAL: &str = "records.journal";

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    root: Arc<Root>,
    path: PathBuf,
}

impl Journal {
    /// The journal of the store in this folder.
    pub(crate) fn of(root: &Arc<Root>) -> Journal {
        Journal {
            root: Arc::clone(root),
            path: root.at(JOURNAL),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its length; `None` where there is none.
    pub(crate) fn length(&self) -> Result<Option<u64>, StoreError> {
        match self.root.metadata(JOURNAL) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot("find", &self.path)(error)),
        }
    }

    /// Appends entries, which are durable when it returns; gives the length of the file then. Nobody else may append
    /// at the same time.
    pub(crate) fn append(&self, batch: &Batch) -> Result<u64, StoreError> {
        let write = || -> io::Result<u64> {
            let mut file = self.root.file(JOURNAL, Access::Append)?;
            if file.metadata()?.nlink() > 1 {
                // It has another name, outside perhaps, where nothing may be written.
                self.take_apart()?;
                file = self.root.file(JOURNAL, Access::Append)?;
            }
            let before = file.metadata()?.len();
            let written = file.write_all(&batch.bytes).and_then(|()| file.sync_data());
            if let Err(error) = written {
                // Half an entry would be skipped by every reader; it is only a waste of room.
                let _ = file.set_len(before);
                return Err(error);
            }
            Ok(before + batch.bytes.len() as u64)
        };
        write().map_err(cannot("write", &self.path))
    }

    /// Puts a file with the same bytes and no other name in its place.
    fn take_apart(&self) -> io::Result<()> {
        const FRESH: &str = "records.journal.new";
        let copied = self.root.fresh_file(FRESH).and_then(|mut fresh| {
            io::copy(&mut self.root.file(JOURNAL, Access::Read)?, &mut fresh)?;
            fresh.sync_all()?;
            self.root.rename(FRESH, JOURNAL)?;
            self.root.sync_folder("")
        });
        if copied.is_err() {
            let _ = self.root.remove_file(FRESH);
        }
        copied
    }

    /// The format that the first entry was written in; `None` where that cannot be told.
    pub(crate) fn format(&self) -> Option<i64> {
        let mut file = self.root.file(JOURNAL, Access::Read).ok()?;
        let mut head = [0; HEAD];
        file.read_exact(&mut head).ok()?;
        let length = frame_length(&head);
        if head[..3] != MARK || length > CHUNK {
            return None;
        }
        let mut payload = vec![0; length];
        file.read_exact(&mut payload).ok()?;
        (checksum(&head[4..9], &payload) == head[9..]).then_some(i64::from(head[3]))
    }

    /// Whether there is anything in it that could be brought back.
    pub(crate) fn has_entries(&self) -> Result<bool, StoreError> {
        match self.length()? {
            None => Ok(false),
            Some(_) => Ok(self.scan(0)?.next_entry()?.is_some()),
        }
    }

    /// Reads the entries from an offset to what is the end now.
    pub(crate) fn scan(&self, from: u64) -> Result<Scan, StoreError> {
        let open = || -> io::Result<Scan> {
            let mut file = self.root.file(JOURNAL, Access::Read)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(from))?;
            Ok(Scan {
                path: self.path.clone(),
                file,
                left: end.saturating_sub(from),
                buffer: Vec::new(),
                at: 0,
                skipped: 0,
            })
        };
        open().map_err(cannot("read", &self.path))
    }
}

fn frame_length(head: &[u8]) -> usize {
    let mut length = [0; 4];
    length.copy_from_slice(&head[5..9]);
    u32::from_le_bytes(length) as usize
}

/// Reads a journal, entry by entry.
#[derive(Debug)]
pub(crate) struct Scan {
    path: PathBuf,
    file: File,
    /// Bytes of the file that are not in the buffer yet.
    left: u64,
    buffer: Vec<u8>,
    /// Where in the buffer the next entry begins.
    at: usize,
    skipped: u64,
}

impl Scan {
    /// Bytes so far that were no entries.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next entry; `None` at the end.
    pub(crate) fn next_entry(&mut self) -> Result<Option<Entry>, StoreError> {
        while self.has(HEAD)? {
            let head = &self.buffer[self.at..self.at + HEAD];
            let length = frame_length(head);
            let fits = (self.buffer.len() - self.at) as u64 + self.left >= (HEAD + length) as u64;
            if head[..4] != mark() || length > LONGEST || !fits || !self.has(HEAD + length)? {
                self.look_further()?;
                continue;
            }
            let frame = &self.buffer[self.at..self.at + HEAD + length];
            let (head, payload) = frame.split_at(HEAD);
            if checksum(&head[4..9], payload) != head[9..] {
                self.look_further()?;
                continue;
            }
            let entry = read_entry(head[4], payload);
            self.at += HEAD + length;
            match entry {
                Ok(Some(entry)) => return Ok(Some(entry)),
                Ok(None) => {}
                Err(Damaged) => self.skipped += (HEAD + length) as u64,
            }
        }
        self.skipped += (self.buffer.len() - self.at) as u64;
        self.at = self.buffer.len();
        Ok(None)
    }

    /// Whether so many bytes are there; reads them if need be.
    fn has(&mut self, count: usize) -> Result<bool, StoreError> {
        if self.buffer.len() - self.at >= count {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        while self.buffer.len() < count && self.left > 0 {
            let wanted = (count - self.buffer.len()).max(CHUNK) as u64;
            let read = (&mut self.file)
                .take(wanted.min(self.left))
                .read_to_end(&mut self.buffer)
                .map_err(cannot("read", &self.path))?;
            // Somebody may have cut it meanwhile.
            self.left = if read == 0 {
                0
            } else {
                self.left - read as u64
            };
        }
        Ok(self.buffer.len() >= count)
    }

    /// Goes on to where the next entry may begin.
    fn look_further(&mut self) -> Result<(), StoreError> {
        let rest = &self.buffer[self.at + 1..];
        let step = rest
            .windows(4)
            .position(|bytes| bytes == mark())
            // A mark may begin in the last bytes and go on in those that are read next.
            .unwrap_or(rest.len().saturating_sub(3));
        self.at += 1 + step;
        self.skipped += 1 + step as u64;
        let rest = &self.buffer[self.at..];
        if rest.len() <= 3 && rest.iter().all(|byte| *byte == 0) {
            self.leap().map_err(cannot("read", &self.path))?;
        }
        Ok(())
    }

    /// Passes over a hole of the file, which may be of any length. Nothing that was read may belong to an entry.
    fn leap(&mut self) -> io::Result<()> {
        let here = self.file.stream_position()?;
        let there = next_data(&self.file, here)?.unwrap_or(here.saturating_add(self.left));
        let step = there.saturating_sub(here).min(self.left);
        self.file.seek(SeekFrom::Start(here + step))?;
        self.left -= step;
        self.skipped += step;
        Ok(())
    }
}

/// What a payload says; `None` where there is nothing to be brought back.
fn read_entry(kind: u8, payload: &[u8]) -> Result<Option<Entry>, Damaged> {
    let mut reader = Reader { rest: payload };
    let entry = match kind {
        kind::PRODUCT => {
            let recipe = Recipe(reader.digest()?.0);
            let (operation, version, run) = (reader.text()?, reader.text()?, reader.text()?);
            let (wall, cpu, peak_memory) = (reader.number()?, reader.number()?, reader.number()?);
            let time = signed(&mut reader)?;
            let details = details::read(&recipe, reader.bytes()?)?;
            Entry::Product(Box::new(ProductRecord {
                recipe,
                content: details.content,
                operation: operation.into(),
                version: version.into(),
                parameters: details.parameters,
                inputs: details.inputs,
                outputs: details.outputs,
                wall,
                cpu,
                peak_memory,
                run: run.into(),
                time,
            }))
        }
        kind::OBJECT => {
            let digest = reader.digest()?;
            let (size, inode) = (reader.number()?, reader.number()?);
            let modified = signed(&mut reader)?;
            let wall = reader.number()?;
            let used = signed(&mut reader)?;
            let seen = Seen {
                size,
                inode,
                modified,
            };
            Entry::Object(digest, ObjectRow { seen, wall, used })
        }
        kind::ALIAS => Entry::Alias(Alias {
            recipe: Recipe(reader.digest()?.0),
            target: Recipe(reader.digest()?.0),
            run: reader.text()?.into(),
            time: signed(&mut reader)?,
        }),
        kind::VERSION => Entry::Version(VersionRow {
            version: reader.text()?.to_owned(),
            parts: reader.text()?.to_owned(),
        }),
        _ => return Ok(None),
    };
    if reader.rest.is_empty() {
        Ok(Some(entry))
    } else {
        Err(Damaged)
    }
}

fn signed(reader: &mut Reader<'_>) -> Result<i64, Damaged> {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(reader.take(8)?);
    Ok(i64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn journal(folder: &tempfile::TempDir) -> Journal {
        Journal::of(&Arc::new(Root::open(folder.path()).unwrap()))
    }

    fn recipe(number: u8) -> Recipe {
        Recipe([number; 32])
    }

    fn entries(count: u8) -> Vec<Entry> {
        let product = |number: u8| {
            Entry::Product(Box::new(ProductRecord {
                recipe: recipe(number),
                content: number.is_multiple_of(2).then_some(recipe(99)),
                operation: format!("operation-{number}").into(),
                version: "1".into(),
                parameters: Vec::new(),
                inputs: vec![("in".into(), "HwJ\u{2}".into())],
                outputs: Vec::new(),
                wall: u64::MAX,
                cpu: number.into(),
                peak_memory: 0,
                run: "run".into(),
                time: -1,
            }))
        };
        let seen = Seen {
            size: 5,
            inode: u64::MAX,
            modified: i64::MIN,
        };
        let row = ObjectRow {
            seen,
            wall: 7,
            used: -2,
        };
        (0..count)
            .map(|number| match number % 4 {
                0 => product(number),
                1 => Entry::Object(Digest([number; 32]), row),
                2 => Entry::Alias(Alias {
                    recipe: recipe(number),
                    target: recipe(1),
                    run: "é".into(),
                    time: 3,
                }),
                _ => Entry::Version(VersionRow {
                    version: number.to_string(),
                    parts: "label\0value\0".into(),
                }),
            })
            .collect()
    }

    fn batch(entries: &[Entry]) -> Batch {
        let mut batch = Batch::beginning();
        for entry in entries {
            match entry {
                Entry::Product(record) => batch.product(
                    record,
                    &details::write(
                        &record.recipe,
                        record.content.as_ref(),
                        &record.parameters,
                        &record.inputs,
                        &record.outputs,
                    ),
                ),
                Entry::Object(digest, row) => batch.object(digest, row),
                Entry::Alias(row) => batch.alias(row),
                Entry::Version(row) => batch.version(row),
            }
        }
        batch
    }

    /// What is read from these bytes, and how many were skipped.
    fn read(bytes: &[u8]) -> (Vec<Entry>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        std::fs::write(journal.path(), bytes).unwrap();
        let mut scan = journal.scan(0).unwrap();
        let mut entries = Vec::new();
        while let Some(entry) = scan.next_entry().unwrap() {
            entries.push(entry);
        }
        (entries, scan.skipped())
    }

    #[test]
    fn what_is_appended_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        assert_eq!(journal.length().unwrap(), None);
        assert!(!journal.has_entries().unwrap());
        std::fs::write(journal.path(), Batch::beginning().bytes()).unwrap();
        assert_eq!(journal.format(), Some(FORMAT));
        assert!(!journal.has_entries().unwrap());
        let entries = entries(9);
        let (first, rest) = entries.split_at(4);
        let middle = journal.append(&batch(first)).unwrap();
        let end = journal.append(&batch(rest)).unwrap();
        assert_eq!(journal.length().unwrap(), Some(end));
        let all = |from| {
            let mut scan = journal.scan(from).unwrap();
            std::iter::from_fn(move || scan.next_entry().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(all(0), entries);
        assert_eq!(all(middle), rest);
        assert_eq!(all(end + 100), []);
    }

    #[test]
    fn the_format_is_told_from_the_first_entry_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(&folder);
        let bytes = Batch::beginning().bytes().to_vec();
        let told = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            std::fs::write(journal.path(), bytes).unwrap();
            journal.format()
        };
        assert_eq!(told(&|bytes| bytes[3] = 77), Some(77));
        assert_eq!(told(&|bytes| bytes[0] = 0), None);
        assert_eq!(told(&|bytes| bytes[10] ^= 1), None);
        assert_eq!(told(&|bytes| bytes.truncate(16)), None);
        assert_eq!(told(&|bytes| bytes[8] = 0xFF), None);
    }

    proptest! {
        #[test]
        fn damage_costs_the_entries_it_touches(at in any::<prop::sample::Index>(), length in 1usize..400, cut in any::<bool>()) {
            let entries = entries(12);
            let mut bytes = Vec::new();
            let mut ends = Vec::new();
            for entry in &entries {
                bytes.extend_from_slice(&batch(std::slice::from_ref(entry)).bytes()[HEAD..]);
                ends.push(bytes.len());
            }
            let start = at.index(bytes.len());
            let end = if cut { bytes.len() } else { (start + length).min(bytes.len()) };
            if cut {
                bytes.truncate(start);
            } else {
                bytes[start..end].fill(0xAA);
            }
            let untouched: Vec<Entry> = entries
                .iter()
                .enumerate()
                .filter(|(position, _)| {
                    let begin = if *position == 0 { 0 } else { ends[position - 1] };
                    ends[*position] <= start || begin >= end
                })
                .map(|(_, entry)| entry.clone())
                .collect();
            prop_assert_eq!(read(&bytes).0, untouched);
        }

        #[test]
        fn nonsense_never_panics(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), marks in proptest::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            let length = bytes.len() as u64;
            for at in marks {
                if let Some(place) = bytes.get_mut(at.index(300)..).and_then(|rest| rest.get_mut(..4)) {
                    place.copy_from_slice(&mark());
                }
            }
            prop_assert_eq!(read(&bytes), (Vec::new(), length));
        }

        // With a checksum that fits, so that the reader itself meets the nonsense.
        #[test]
        fn nonsense_in_an_entry_never_panics(kind in 0u8..6, payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut batch = Batch::default();
            batch.put(kind, |out| out.extend_from_slice(&payload));
            let _ = read(batch.bytes());
        }
    }

    #[test]
    fn a_long_journal_is_read_across_the_edges_of_its_chunks() {
        let entries: Vec<Entry> = (0..400).flat_map(|_| entries(120)).collect();
        let mut bytes = batch(&entries).bytes().to_vec();
        assert!(bytes.len() > 2 * CHUNK);
        assert_eq!(read(&bytes), (entries.clone(), 0));
        bytes[40..1_500_000].fill(0);
        let (left, skipped) = read(&bytes);
        assert!(
            entries.ends_with(&left) && left.len() > 5000,
            "{}",
            left.len()
        );
        assert!((1_499_000..1_502_000).contains(&skipped), "{skipped}");
    }
}
