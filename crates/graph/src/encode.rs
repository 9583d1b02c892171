//! The canonical encoding of values: one byte of tag, then fixed-width little-endian numbers, lengths
//! before contents.
//!
//! Law: equal values have equal encodings, `decode(encode(v)) = v`, and nothing else decodes (values nest
//! at most 128 deep). Files and
//! directories are encoded by digest, so their encoding does not hold their contents; [`value_digest`] of a
//! file that is nothing but its contents is their digest, of a directory its manifest digest, of anything
//! else (a file with a name, a program) the digest of this encoding.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use crate::value::plain_float;
use crate::{
    Array, ContentHasher, Digest, DirectoryEntry, DirectoryValue, ElementType, FileValue, Handle,
    Image, Opaque, Owner, Region, Value,
};

mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const INT: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const BYTES: u8 = 6;
    pub(super) const ARRAY: u8 = 7;
    pub(super) const IMAGE: u8 = 8;
    pub(super) const REGION: u8 = 9;
    pub(super) const FILE: u8 = 10;
    pub(super) const NAMED_FILE: u8 = 11;
    pub(super) const DIRECTORY: u8 = 12;
    pub(super) const LIST: u8 = 13;
    pub(super) const RECORD: u8 = 14;
    pub(super) const OPAQUE: u8 = 15;
    pub(super) const LOGICAL_NAME: u8 = 16;
    pub(super) const EXECUTABLE: u8 = 17;
}

/// Bytes that are not the canonical encoding of a value.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// They end too early.
    #[error("the encoding ends early, at byte {0}")]
    Truncated(usize),
    /// A tag or a code that no value has.
    #[error("no value begins with {found} (byte {at})")]
    Unknown {
        /// The byte.
        found: u8,
        /// Where it stands.
        at: usize,
    },
    /// Well-formed, but not the one canonical form.
    #[error("not in canonical form at byte {at}: {what}")]
    NotCanonical {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// Something follows the value.
    #[error("{0} bytes follow the value")]
    Trailing(usize),
}

/// The canonical encoding of `value`.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode_into(value, &mut out);
    out
}

/// Appends the canonical encoding of `value`.
pub fn encode_into(value: &Value, out: &mut Vec<u8>) {
    put_value(value, out);
}

/// Writes the canonical encoding of `value`, without making a copy of what is large in it.
pub fn encode_to(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut written = Written {
        out: BufWriter::with_capacity(SMALL, out),
        result: Ok(()),
    };
    put_value(value, &mut written);
    written.result?;
    written.out.flush()
}

/// How many bytes the canonical encoding of `value` has.
pub fn encoded_length(value: &Value) -> u64 {
    let mut length = 0;
    put_value(value, &mut length);
    length
}

/// Pieces below this size are put together before they are handed on.
const SMALL: usize = 4096;

/// What takes an encoding, piece by piece.
trait Sink {
    fn extend_from_slice(&mut self, bytes: &[u8]);

    fn push(&mut self, byte: u8) {
        self.extend_from_slice(&[byte]);
    }
}

impl Sink for Vec<u8> {
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        Vec::extend_from_slice(self, bytes);
    }
}

/// Counts.
impl Sink for u64 {
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        *self += bytes.len() as u64;
    }
}

/// Writes until that fails.
struct Written<'a> {
    out: BufWriter<&'a mut dyn Write>,
    result: io::Result<()>,
}

impl Sink for Written<'_> {
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.result.is_ok() {
            self.result = self.out.write_all(bytes);
        }
    }
}

/// Digests; large pieces as they are.
#[derive(Default)]
struct Digested {
    hasher: ContentHasher,
    small: Vec<u8>,
}

impl Digested {
    fn hand_on(&mut self) {
        self.hasher.update(&self.small);
        self.small.clear();
    }
}

impl Sink for Digested {
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.small.len() + bytes.len() > SMALL {
            self.hand_on();
        }
        if bytes.len() > SMALL {
            self.hasher.update(bytes);
        } else {
            self.small.extend_from_slice(bytes);
        }
    }
}

fn digest_of_encoding(value: &Value) -> Digest {
    let mut digested = Digested::default();
    put_value(value, &mut digested);
    digested.hand_on();
    digested.hasher.finish()
}

fn put_value(value: &Value, out: &mut impl Sink) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::Int(number) => {
            out.push(tag::INT);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Float(number) => {
            out.push(tag::FLOAT);
            put_float(out, *number);
        }
        Value::Text(text) => {
            out.push(tag::TEXT);
            put_bytes(out, text.as_bytes());
        }
        Value::Bytes(bytes) => {
            out.push(tag::BYTES);
            put_bytes(out, bytes);
        }
        Value::Array(array) => {
            out.push(tag::ARRAY);
            put_array(out, array);
        }
        Value::Image(image) => {
            out.push(tag::IMAGE);
            put_bytes(out, image.channels.as_bytes());
            put_array(out, &image.array);
        }
        Value::Region(region) => {
            out.push(tag::REGION);
            for bound in region.lower.iter().chain(&region.upper) {
                out.extend_from_slice(&bound.to_le_bytes());
            }
            for extent in region.resolution {
                put_float(out, extent);
            }
            put_array(out, &region.array);
        }
        Value::File(file) => {
            if file.executable && file.logical_name().is_none() {
                out.push(tag::EXECUTABLE);
            }
            put_file(out, file);
        }
        Value::Directory(DirectoryValue {
            name: Some(name), ..
        }) => put_name(out, name),
        Value::Directory(directory) => {
            out.push(tag::DIRECTORY);
            put_length(out, directory.entries.len());
            for entry in directory.entries.iter() {
                put_bytes(out, entry.path.as_bytes());
                out.push(u8::from(entry.executable));
                put_file(out, &entry.file);
            }
        }
        Value::List(items) => {
            out.push(tag::LIST);
            put_length(out, items.len());
            for item in items.iter() {
                put_value(item, out);
            }
        }
        Value::Record(fields) => {
            out.push(tag::RECORD);
            put_length(out, fields.len());
            for (name, field) in fields.iter() {
                put_bytes(out, name.as_bytes());
                put_value(field, out);
            }
        }
        Value::Opaque(opaque) => {
            out.push(tag::OPAQUE);
            put_bytes(out, opaque.type_name.as_bytes());
            put_bytes(out, &opaque.bytes);
        }
    }
}

/// The digest that names the contents of a value.
pub fn value_digest(value: &Value) -> Digest {
    match value {
        Value::File(file) if file.name.is_none() && !file.executable => file.digest,
        Value::Directory(directory) => manifest_digest(directory),
        other => digest_of_encoding(other),
    }
}

/// The digest of a directory: over its paths, permissions and the digests of its files.
pub fn manifest_digest(directory: &DirectoryValue) -> Digest {
    Digest::of(&encode(&Value::Directory(directory.clone())))
}

fn put_length(out: &mut impl Sink, length: usize) {
    out.extend_from_slice(&(length as u64).to_le_bytes());
}

fn put_bytes(out: &mut impl Sink, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_float(out: &mut impl Sink, number: f64) {
    out.extend_from_slice(&plain_float(number).to_le_bytes());
}

fn put_array(out: &mut impl Sink, array: &Array) {
    let code = ElementType::ALL
        .iter()
        .position(|element| *element == array.element_type());
    out.push(code.unwrap_or_default() as u8);
    put_length(out, array.shape().len());
    for extent in array.shape() {
        out.extend_from_slice(&extent.to_le_bytes());
    }
    out.extend_from_slice(array.bytes());
}

/// What is known by a logical name is nothing but that name, and does not decode: nobody may take it for
/// contents that are in a store.
fn put_name(out: &mut impl Sink, name: &str) {
    out.push(tag::LOGICAL_NAME);
    put_bytes(out, name.as_bytes());
}

/// Without the mode: in a directory it stands before.
fn put_file(out: &mut impl Sink, file: &FileValue) {
    if let Some(name) = file.logical_name() {
        return put_name(out, name);
    }
    out.push(if file.name.is_some() {
        tag::NAMED_FILE
    } else {
        tag::FILE
    });
    out.extend_from_slice(&file.digest.0);
    out.extend_from_slice(&file.size.to_le_bytes());
    if let Some(name) = &file.name {
        put_bytes(out, name.as_bytes());
    }
}

/// Reads back what [`encode`] wrote. The bytes of files are said to be [`Handle::Stored`].
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    decode_with(bytes, None)
}

/// As [`decode`], of bytes that somebody owns. An array that is most of them is used where it lies, if it lies as its
/// numbers do ([`Aligned`](crate::Aligned)); then the owner stays as long as the array.
pub fn decode_shared(owner: &Owner) -> Result<Value, DecodeError> {
    decode_with((**owner).as_ref(), Some(owner))
}

fn decode_with(bytes: &[u8], owner: Option<&Owner>) -> Result<Value, DecodeError> {
    let mut reader = Reader {
        bytes,
        at: 0,
        owner,
    };
    let value = reader.value(0)?;
    match bytes.len() - reader.at {
        0 => Ok(value),
        rest => Err(DecodeError::Trailing(rest)),
    }
}

/// Whether a path of a directory entry means something below the directory: bytes of others end up in
/// paths on disk. (`\` is a sign like any other there.)
fn stays_below(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Where the numbers of the array begin that an encoding, of which this is the beginning, is: an array, an image or a
/// region.
pub(crate) fn numbers_at(beginning: &[u8]) -> Option<usize> {
    let mut reader = Reader {
        bytes: beginning,
        at: 0,
        owner: None,
    };
    match reader.take(1).ok()?[0] {
        tag::ARRAY => {}
        tag::IMAGE => drop(reader.text().ok()?),
        tag::REGION => drop(reader.take(8 * 8 + 4 * 8).ok()?),
        _ => return None,
    }
    reader.take(1).ok()?;
    let dimensions = usize::try_from(u64::from_le_bytes(reader.eight().ok()?)).ok()?;
    reader.take(dimensions.checked_mul(8)?).ok()?;
    Some(reader.at)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whose the bytes are, if arrays may keep them.
    owner: Option<&'a Owner>,
}

/// Deeper nesting is refused, so that hostile bytes cannot exhaust the stack.
const DEEPEST: usize = 128;

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let end = self
            .at
            .checked_add(count)
            .filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            return Err(DecodeError::Truncated(self.bytes.len()));
        };
        let slice = &self.bytes[self.at..end];
        self.at = end;
        Ok(slice)
    }

    fn eight(&mut self) -> Result<[u8; 8], DecodeError> {
        let mut eight = [0; 8];
        eight.copy_from_slice(self.take(8)?);
        Ok(eight)
    }

    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = u64::from_le_bytes(self.eight()?);
        // No encoding of n things is shorter than n bytes: a length beyond what is left is a lie, and must
        // not become an allocation.
        usize::try_from(length)
            .ok()
            .filter(|length| *length <= self.bytes.len() - self.at)
            .ok_or(DecodeError::Truncated(self.bytes.len()))
    }

    fn text(&mut self) -> Result<&'a str, DecodeError> {
        let at = self.at;
        let length = self.length()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| DecodeError::NotCanonical {
            at,
            what: "text is not UTF-8",
        })
    }

    fn float(&mut self) -> Result<f64, DecodeError> {
        let at = self.at;
        let number = f64::from_bits(u64::from_le_bytes(self.eight()?));
        if number.to_bits() == plain_float(number).to_bits() {
            Ok(number)
        } else {
            Err(DecodeError::NotCanonical {
                at,
                what: "a second zero or NaN",
            })
        }
    }

    fn array(&mut self) -> Result<Array, DecodeError> {
        let at = self.at;
        let code = self.take(1)?[0];
        let element = *ElementType::ALL
            .get(usize::from(code))
            .ok_or(DecodeError::Unknown { found: code, at })?;
        let dimensions = self.length()?;
        let mut shape = Vec::with_capacity(dimensions.min(16));
        for _ in 0..dimensions {
            shape.push(u64::from_le_bytes(self.eight()?));
        }
        let wrong = DecodeError::NotCanonical {
            at,
            what: "shape and bytes of an array differ",
        };
        let elements = shape
            .iter()
            .try_fold(1u64, |product, extent| product.checked_mul(*extent));
        let length = elements
            .and_then(|count| count.checked_mul(element.size() as u64))
            .and_then(|length| usize::try_from(length).ok());
        let Some(length) = length else {
            return Err(wrong);
        };
        let offset = self.at;
        let bytes = self.take(length)?;
        // One that is a small part would keep all of it.
        let owner = self.owner.filter(|_| length >= self.bytes.len() / 2);
        let shared = owner.and_then(|owner| Array::within(element, &shape, owner, offset));
        shared
            .or_else(|| Array::new(element, &shape, bytes))
            .ok_or(wrong)
    }

    fn file_tag(&mut self) -> Result<u8, DecodeError> {
        let at = self.at;
        match self.take(1)?[0] {
            found @ (tag::FILE | tag::NAMED_FILE) => Ok(found),
            found => Err(DecodeError::Unknown { found, at }),
        }
    }

    fn file(&mut self, found: u8) -> Result<FileValue, DecodeError> {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.take(32)?);
        let size = u64::from_le_bytes(self.eight()?);
        let name = if found == tag::NAMED_FILE {
            let at = self.at;
            let name = self.text()?;
            if name.contains('/') || !stays_below(name) {
                let what = "a name of a file that is a path";
                return Err(DecodeError::NotCanonical { at, what });
            }
            Some(Arc::from(name))
        } else {
            None
        };
        Ok(FileValue {
            digest: Digest(digest),
            size,
            name,
            executable: false,
            handle: Handle::Stored,
        })
    }

    fn value(&mut self, depth: usize) -> Result<Value, DecodeError> {
        let at = self.at;
        if depth > DEEPEST {
            return Err(DecodeError::NotCanonical {
                at,
                what: "nested too deeply",
            });
        }
        let found = self.take(1)?[0];
        Ok(match found {
            tag::NULL => Value::Null,
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::INT => Value::Int(i64::from_le_bytes(self.eight()?)),
            tag::FLOAT => Value::Float(self.float()?),
            tag::TEXT => Value::Text(self.text()?.into()),
            tag::BYTES => {
                let length = self.length()?;
                Value::Bytes(self.take(length)?.into())
            }
            tag::ARRAY => Value::Array(self.array()?),
            tag::IMAGE => {
                let channels = self.text()?.into();
                Value::Image(Arc::new(Image {
                    array: self.array()?,
                    channels,
                }))
            }
            tag::REGION => {
                let mut bounds = [0i64; 8];
                for bound in &mut bounds {
                    *bound = i64::from_le_bytes(self.eight()?);
                }
                let mut resolution = [0.0; 4];
                for extent in &mut resolution {
                    *extent = self.float()?;
                }
                let [a, b, c, d, e, f, g, h] = bounds;
                let array = self.array()?;
                Value::Region(Arc::new(Region {
                    array,
                    lower: [a, b, c, d],
                    upper: [e, f, g, h],
                    resolution,
                }))
            }
            tag::FILE | tag::NAMED_FILE => Value::File(Arc::new(self.file(found)?)),
            tag::EXECUTABLE => {
                let found = self.file_tag()?;
                Value::File(Arc::new(FileValue {
                    executable: true,
                    ..self.file(found)?
                }))
            }
            tag::DIRECTORY => {
                let count = self.length()?;
                let mut entries: Vec<DirectoryEntry> = Vec::new();
                for _ in 0..count {
                    let at = self.at;
                    let path: Arc<str> = self.text()?.into();
                    if !stays_below(&path) {
                        let what = "a path that leaves its directory";
                        return Err(DecodeError::NotCanonical { at, what });
                    }
                    if entries.last().is_some_and(|last| last.path >= path) {
                        return Err(DecodeError::NotCanonical {
                            at,
                            what: "paths are not in order",
                        });
                    }
                    let executable = match self.take(1)?[0] {
                        0 => false,
                        1 => true,
                        found => {
                            return Err(DecodeError::Unknown {
                                found,
                                at: self.at - 1,
                            });
                        }
                    };
                    let found = self.file_tag()?;
                    entries.push(DirectoryEntry {
                        path,
                        executable,
                        file: self.file(found)?,
                    });
                }
                Value::Directory(DirectoryValue {
                    entries: entries.into(),
                    path: None,
                    name: None,
                })
            }
            tag::LIST => {
                let count = self.length()?;
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.value(depth + 1)?);
                }
                Value::List(items.into())
            }
            tag::RECORD => {
                let count = self.length()?;
                let mut fields = BTreeMap::new();
                for _ in 0..count {
                    let at = self.at;
                    let name: Arc<str> = self.text()?.into();
                    if fields
                        .last_key_value()
                        .is_some_and(|(last, _)| *last >= name)
                    {
                        return Err(DecodeError::NotCanonical {
                            at,
                            what: "fields are not in order",
                        });
                    }
                    fields.insert(name, self.value(depth + 1)?);
                }
                Value::Record(Arc::new(fields))
            }
            tag::OPAQUE => {
                let type_name = self.text()?.into();
                let length = self.length()?;
                Value::Opaque(Arc::new(Opaque {
                    type_name,
                    bytes: self.take(length)?.into(),
                }))
            }
            found => return Err(DecodeError::Unknown { found, at }),
        })
    }
}
