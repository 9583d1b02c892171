//! What flows along the edges of a graph: values and their types.
//!
//! Law: a value is cheap to clone, and nobody who has one ever sees it change: an array is changed where it lies only
//! when nobody else has it, and copied before otherwise. Large bytes are reached through a [`Handle`], which says
//! where they are; two values are equal when their contents are, wherever they lie.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use crate::Digest;

/// A parameter value or any other single number, truth value or text.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(Arc<str>),
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Scalar {
        Scalar::Bool(value)
    }
}

impl From<i64> for Scalar {
    fn from(number: i64) -> Scalar {
        Scalar::Int(number)
    }
}

impl From<i32> for Scalar {
    fn from(number: i32) -> Scalar {
        Scalar::Int(number.into())
    }
}

impl From<f64> for Scalar {
    fn from(number: f64) -> Scalar {
        Scalar::Float(number)
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Scalar {
        Scalar::Text(text.into())
    }
}

/// What scalars are told apart by: two of one type that are equal have the same key, and 0.0 and −0.0 are one number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalarKey {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// The bits of a number.
    Float(u64),
    /// A text.
    Text(Arc<str>),
}

/// The type of a [`Scalar`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `text`
    Text,
}

impl ScalarType {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            ScalarType::Bool => "bool",
            ScalarType::Int => "int",
            ScalarType::Float => "float",
            ScalarType::Text => "text",
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Scalar {
    /// What it is told apart by.
    pub fn key(&self) -> ScalarKey {
        match self {
            Scalar::Bool(value) => ScalarKey::Bool(*value),
            Scalar::Int(number) => ScalarKey::Int(*number),
            Scalar::Float(number) => ScalarKey::Float(plain_float(*number).to_bits()),
            Scalar::Text(text) => ScalarKey::Text(Arc::clone(text)),
        }
    }

    /// Its type.
    pub fn scalar_type(&self) -> ScalarType {
        match self {
            Scalar::Bool(_) => ScalarType::Bool,
            Scalar::Int(_) => ScalarType::Int,
            Scalar::Float(_) => ScalarType::Float,
            Scalar::Text(_) => ScalarType::Text,
        }
    }

    /// The same scalar as `wanted`, if that loses nothing: an int becomes a float that equals it, and with
    /// `truncate` a float becomes an int towards zero. NaN and infinities are refused, −0 becomes 0.
    pub fn coerce(&self, wanted: ScalarType, truncate: bool) -> Option<Scalar> {
        match (self, wanted) {
            (Scalar::Float(number), ScalarType::Float) if number.is_finite() => {
                Some(Scalar::Float(plain_float(*number)))
            }
            (Scalar::Float(_), ScalarType::Float) => None,
            (Scalar::Int(number), ScalarType::Float) => {
                let float = *number as f64;
                (float as i128 == i128::from(*number)).then_some(Scalar::Float(float))
            }
            (Scalar::Float(number), ScalarType::Int) => {
                let fits = number.is_finite() && number.abs() < 9.2e18;
                (fits && (truncate || number.fract() == 0.0)).then_some(Scalar::Int(*number as i64))
            }
            (scalar, wanted) if scalar.scalar_type() == wanted => Some(scalar.clone()),
            _ => None,
        }
    }

    /// As a task is given it: −0.0 is 0.0, as in recipes.
    pub fn plain(&self) -> Scalar {
        match self {
            Scalar::Float(number) => Scalar::Float(plain_float(*number)),
            other => other.clone(),
        }
    }

    /// Reads a text typed by a person as `wanted`; −0 is 0.
    pub fn parse(text: &str, wanted: ScalarType) -> Option<Scalar> {
        match wanted {
            ScalarType::Bool => match text {
                "true" => Some(Scalar::Bool(true)),
                "false" => Some(Scalar::Bool(false)),
                _ => None,
            },
            ScalarType::Int => text.parse().ok().map(Scalar::Int),
            // A whole number that no float equals is refused, as everywhere.
            ScalarType::Float => match text.parse::<i64>() {
                Ok(number) => Scalar::Int(number).coerce(ScalarType::Float, false),
                Err(_) => text
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite())
                    .map(|number| Scalar::Float(plain_float(number))),
            },
            ScalarType::Text => Some(Scalar::Text(text.into())),
        }
    }
}

/// The text that a command sees: floats in their shortest form that reads back as the same number.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => write!(f, "{value}"),
            Scalar::Int(value) => write!(f, "{value}"),
            Scalar::Float(value) => write!(f, "{value:?}"),
            Scalar::Text(value) => f.write_str(value),
        }
    }
}

/// The type of a port or of a workflow input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Takes anything.
    Any,
    /// `null`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
    /// `text`
    Text,
    /// `bytes`
    Bytes,
    /// `array`
    Array,
    /// `image`
    Image,
    /// `region`
    Region,
    /// `file`
    File,
    /// `directory`
    Directory,
    /// `list of T`
    List(Box<Type>),
    /// `record`
    Record,
    /// A type that a library brings, under its own name.
    Opaque(Arc<str>),
}

impl Type {
    /// The names of the types that need no library.
    pub const NAMES: [&'static str; 13] = [
        "any",
        "null",
        "bool",
        "int",
        "float",
        "text",
        "bytes",
        "array",
        "image",
        "region",
        "file",
        "directory",
        "record",
    ];

    /// `list of self`.
    pub fn list(self) -> Type {
        Type::List(Box::new(self))
    }

    /// The type of the items, for a list.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::List(element) => Some(element),
            _ => None,
        }
    }

    /// Whether a value of type `given` may be bound to a port of this type as it is.
    pub fn accepts(&self, given: &Type) -> bool {
        match (self, given) {
            // What `any` turns out to be is seen when it runs.
            (Type::Any, _) | (_, Type::Any) | (Type::Float, Type::Int) => true,
            (Type::List(wanted), Type::List(given)) => wanted.accepts(given),
            (wanted, given) => wanted == given,
        }
    }

    /// The scalar type, where it is one.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Type::Bool => Some(ScalarType::Bool),
            Type::Int => Some(ScalarType::Int),
            Type::Float => Some(ScalarType::Float),
            Type::Text => Some(ScalarType::Text),
            _ => None,
        }
    }
}

impl From<ScalarType> for Type {
    fn from(scalar: ScalarType) -> Type {
        match scalar {
            ScalarType::Bool => Type::Bool,
            ScalarType::Int => Type::Int,
            ScalarType::Float => Type::Float,
            ScalarType::Text => Type::Text,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Any => "any",
            Type::Null => "null",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Float => "float",
            Type::Text => "text",
            Type::Bytes => "bytes",
            Type::Array => "array",
            Type::Image => "image",
            Type::Region => "region",
            Type::File => "file",
            Type::Directory => "directory",
            Type::Record => "record",
            Type::Opaque(name) => name,
            Type::List(element) => return write!(f, "list of {element}"),
        })
    }
}

/// Never fails: a name that is not built in is the type of some library; whether that library is there is
/// the registry's to say. So is what nests too deeply to be meant.
impl FromStr for Type {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Type, Self::Err> {
        let mut element = text;
        let mut depth = 0;
        while let Some(inner) = element.strip_prefix("list of ") {
            element = inner.trim_start();
            depth += 1;
        }
        if depth > DEEPEST_LIST {
            return Ok(Type::Opaque(text.into()));
        }
        Ok((0..depth).fold(Type::plain(element.trim()), |element, _| element.list()))
    }
}

/// Types nest no deeper, so that a hostile file cannot exhaust the stack.
const DEEPEST_LIST: usize = 64;

impl Type {
    fn plain(text: &str) -> Type {
        match text {
            "any" => Type::Any,
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "float" => Type::Float,
            "text" => Type::Text,
            "bytes" => Type::Bytes,
            "array" => Type::Array,
            "image" => Type::Image,
            "region" => Type::Region,
            "file" => Type::File,
            "directory" => Type::Directory,
            "record" => Type::Record,
            other => Type::Opaque(other.into()),
        }
    }
}

/// Where bytes are.
#[derive(Debug, Clone)]
pub enum Handle {
    /// In this process.
    Memory(Arc<[u8]>),
    /// In a file of this machine.
    Path(Arc<Path>),
    /// In a file of this machine that is known by its logical name alone: nobody has looked into it, and the
    /// digest that the value carries is that of the name ([`Digest::of_name`]).
    Named {
        /// Where it is.
        path: Arc<Path>,
        /// What it is called in the name space that the user declared.
        name: Arc<str>,
    },
    /// In the object store, under the digest that the value carries.
    Stored,
}

impl Handle {
    /// The file of this machine, where it is one.
    pub fn path(&self) -> Option<&Arc<Path>> {
        match self {
            Handle::Path(path) | Handle::Named { path, .. } => Some(path),
            Handle::Memory(_) | Handle::Stored => None,
        }
    }
}

/// A file: its contents by digest and size, and whether it is a program. It has a name only where the name
/// counts (`keep_name`).
#[derive(Debug, Clone)]
pub struct FileValue {
    /// BLAKE3 of the contents, unless the file is [`Handle::Named`].
    pub digest: Digest,
    /// Bytes.
    pub size: u64,
    /// The name, where it is part of the value.
    pub name: Option<Arc<str>>,
    /// Whether a task made it a program. False for files from outside, whose mode does not count; of a file
    /// in a directory the [`DirectoryEntry`] says it, and this does not count.
    pub executable: bool,
    /// Where the contents are.
    pub handle: Handle,
}

impl FileValue {
    /// A file that is nothing but these bytes.
    pub fn of_bytes(bytes: impl Into<Arc<[u8]>>) -> FileValue {
        let bytes = bytes.into();
        FileValue {
            digest: Digest::of(&bytes),
            size: bytes.len() as u64,
            name: None,
            executable: false,
            handle: Handle::Memory(bytes),
        }
    }

    /// A file that is known by its logical name.
    pub fn known_by_name(name: &str, path: &Path, size: u64) -> FileValue {
        FileValue {
            digest: Digest::of_name(name),
            size,
            name: None,
            executable: false,
            handle: Handle::Named {
                path: path.into(),
                name: name.into(),
            },
        }
    }

    /// The logical name, if that is what the file is known by.
    pub fn logical_name(&self) -> Option<&Arc<str>> {
        match &self.handle {
            Handle::Named { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether all but the mode is equal.
    fn has_contents_of(&self, other: &FileValue) -> bool {
        (self.digest, self.size, &self.name) == (other.digest, other.size, &other.name)
    }
}

impl PartialEq for FileValue {
    fn eq(&self, other: &Self) -> bool {
        self.has_contents_of(other) && self.executable == other.executable
    }
}

/// One file of a directory.
#[derive(Debug, Clone)]
pub struct DirectoryEntry {
    /// Path below the directory, with `/`, without `.` and `..`.
    pub path: Arc<str>,
    /// Whether the owner may execute it.
    pub executable: bool,
    /// The contents.
    pub file: FileValue,
}

impl PartialEq for DirectoryEntry {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, self.executable) == (&other.path, other.executable)
            && self.file.has_contents_of(&other.file)
    }
}

/// A folder of files, sorted bytewise by path.
#[derive(Debug, Clone)]
pub struct DirectoryValue {
    /// The files.
    pub entries: Arc<[DirectoryEntry]>,
    /// Where the folder is, when it exists as one.
    pub path: Option<Arc<Path>>,
    /// The logical name, if that is what the directory is known by; its files are then, too.
    pub name: Option<Arc<str>>,
}

impl PartialEq for DirectoryValue {
    fn eq(&self, other: &Self) -> bool {
        (&self.entries, &self.name) == (&other.entries, &other.name)
    }
}

/// The type of the elements of an [`Array`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ElementType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl ElementType {
    /// All of them; the position is the code in the canonical encoding.
    pub const ALL: [ElementType; 10] = [
        ElementType::U8,
        ElementType::U16,
        ElementType::U32,
        ElementType::U64,
        ElementType::I8,
        ElementType::I16,
        ElementType::I32,
        ElementType::I64,
        ElementType::F32,
        ElementType::F64,
    ];

    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            ElementType::U8 | ElementType::I8 => 1,
            ElementType::U16 | ElementType::I16 => 2,
            ElementType::U32 | ElementType::I32 | ElementType::F32 => 4,
            ElementType::U64 | ElementType::I64 | ElementType::F64 => 8,
        }
    }
}

/// The first byte of an array lies at a multiple of this.
const ALIGNMENT: usize = 64;

/// Beyond so many bytes an allocation is tried before it is made, since it may well be refused.
const LARGE: usize = 1 << 30;

/// How far it is from the beginning of a buffer to the first aligned byte.
fn to_alignment(buffer: &[u8]) -> usize {
    buffer.as_ptr().addr().wrapping_neg() % ALIGNMENT
}

/// A buffer with a copy of these bytes, and where it begins. A slice is never so long that this is too much.
fn aligned(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut buffer = Vec::with_capacity(bytes.len() + (ALIGNMENT - 1));
    let offset = to_alignment(&buffer);
    // All of it fits, so it does not move.
    buffer.resize(offset, 0);
    buffer.extend_from_slice(bytes);
    (buffer, offset)
}

/// Whoever owns the bytes of an array: a vector, a mapped file, an array of another language.
///
/// Law: as long as an owner lives it gives the same bytes, at the same place.
pub type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Where the bytes of an array are.
#[derive(Clone)]
enum Memory {
    /// The array and the bytes that align it. It is never moved once the offset of the array is known.
    Own(Arc<Vec<u8>>),
    /// Somebody else's, who gives them to be read.
    Foreign(Owner),
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Own(buffer) => buffer,
            Memory::Foreign(owner) => (**owner).as_ref(),
        }
    }
}

/// Numbers in C order, little-endian, shared. The first one lies at a multiple of 64, or where the bytes are somebody
/// else's ([`owned_by`](Self::owned_by)), at a multiple of its size.
#[derive(Clone)]
pub struct Array {
    element_type: ElementType,
    shape: Arc<[u64]>,
    memory: Memory,
    /// Where the array begins.
    offset: usize,
    length: usize,
}

impl Array {
    /// An array from its bytes; `None` when their number does not fit the shape.
    pub fn new(element_type: ElementType, shape: &[u64], bytes: &[u8]) -> Option<Array> {
        if Array::length(element_type, shape)? != bytes.len() {
            return None;
        }
        let (buffer, offset) = aligned(bytes);
        Some(Array {
            element_type,
            shape: shape.into(),
            memory: Memory::Own(Arc::new(buffer)),
            offset,
            length: bytes.len(),
        })
    }

    /// An array of bytes that somebody else owns, who is kept as long as anybody has the array: no copy is made, and who
    /// reads [`bytes`](Self::bytes) reads those of the owner. `None` when their number does not fit the shape, or when
    /// the first one does not lie at a multiple of the size of an element.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use headwater_graph::{Array, ElementType};
    ///
    /// let mine: Arc<Vec<u8>> = Arc::new(vec![1, 2, 3, 4, 5, 6]);
    /// let array = Array::owned_by(ElementType::U8, &[2, 3], mine.clone()).expect("six bytes");
    /// assert_eq!(array.bytes().as_ptr(), mine.as_ptr());
    /// ```
    pub fn owned_by(element_type: ElementType, shape: &[u64], owner: Owner) -> Option<Array> {
        let bytes = (*owner).as_ref();
        let length = bytes.len();
        let fits = Array::length(element_type, shape)? == length;
        let is_aligned = bytes.as_ptr().addr() % element_type.size() == 0;
        (fits && is_aligned).then(|| Array {
            element_type,
            shape: shape.into(),
            memory: Memory::Foreign(owner),
            offset: 0,
            length,
        })
    }

    /// An array that lies in the bytes of an owner, from this byte on; `None` where they are too few, or do not lie as its
    /// numbers do.
    pub(crate) fn within(
        element_type: ElementType,
        shape: &[u64],
        owner: &Owner,
        offset: usize,
    ) -> Option<Array> {
        let length = Array::length(element_type, shape)?;
        let bytes = (**owner)
            .as_ref()
            .get(offset..offset.checked_add(length)?)?;
        let is_aligned = bytes.as_ptr().addr() % element_type.size() == 0;
        is_aligned.then(|| Array {
            element_type,
            shape: shape.into(),
            memory: Memory::Foreign(Arc::clone(owner)),
            offset,
            length,
        })
    }

    /// An array whose bytes `fill` writes where they stay: no copy is made of them. What it is given is as long
    /// as the shape asks for, zeroed, and begins at a multiple of 64; pages that it does not touch take no
    /// memory. `None`, without a call, when the shape is larger than memory can be.
    pub fn build(
        element_type: ElementType,
        shape: &[u64],
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<Array> {
        let length = Array::length(element_type, shape)?;
        let room = length.checked_add(ALIGNMENT - 1)?;
        if room > LARGE {
            let mut trial = Vec::<u8>::new();
            trial.try_reserve_exact(room).ok()?;
            std::hint::black_box(&mut trial);
        }
        // The system hands out large zeroed blocks without writing to them, if no alignment is asked of it.
        let mut buffer = vec![0_u8; room];
        let offset = to_alignment(&buffer);
        fill(&mut buffer[offset..offset + length]);
        Some(Array {
            element_type,
            shape: shape.into(),
            memory: Memory::Own(Arc::new(buffer)),
            offset,
            length,
        })
    }

    /// The bytes that an array of this shape has.
    fn length(element_type: ElementType, shape: &[u64]) -> Option<usize> {
        let elements = shape
            .iter()
            .try_fold(1u64, |product, extent| product.checked_mul(*extent))?;
        usize::try_from(elements.checked_mul(element_type.size() as u64)?).ok()
    }

    /// The type of its elements.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Its extents.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[self.offset..self.offset + self.length]
    }

    /// Its bytes, to be changed; the first one lies at a multiple of 64. If others have them, too, or own them, they are
    /// copied first: nobody else ever sees the change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // A clone of the buffer would not be aligned, so it is not left to the reference count to make it.
        if !self.is_alone() {
            let (buffer, offset) = aligned(self.bytes());
            self.memory = Memory::Own(Arc::new(buffer));
            self.offset = offset;
        }
        match &mut self.memory {
            // There is one reference to it, so this is the buffer itself.
            Memory::Own(buffer) => {
                &mut Arc::make_mut(buffer)[self.offset..self.offset + self.length]
            }
            // What is somebody else's was copied above.
            Memory::Foreign(_) => &mut [],
        }
    }

    /// Whether nobody else has its bytes: then [`bytes_mut`](Self::bytes_mut) makes no copy of them.
    pub fn is_alone(&self) -> bool {
        match &self.memory {
            Memory::Own(buffer) => Arc::strong_count(buffer) == 1,
            Memory::Foreign(_) => false,
        }
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.element_type == other.element_type
            && self.shape == other.shape
            && self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({:?}, {:?})", self.element_type, self.shape)
    }
}

/// An array whose last extent counts channels.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Height × width × channels.
    pub array: Array,
    /// What the channels are, e.g. `rgb`, `grey`.
    pub channels: Arc<str>,
}

/// A piece of something larger: an array, the box it fills in space and time, and its resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// The data.
    pub array: Array,
    /// Lower corner: x, y, z, t.
    pub lower: [i64; 4],
    /// Upper corner, exclusive.
    pub upper: [i64; 4],
    /// Units per element along x, y, z, t.
    pub resolution: [f64; 4],
}

/// A value of a library's own type, in its own encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque {
    /// The name of the type.
    pub type_name: Arc<str>,
    /// Its canonical bytes.
    pub bytes: Arc<[u8]>,
}

/// What a port carries.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "each variant is its type")]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    Array(Array),
    Image(Arc<Image>),
    Region(Arc<Region>),
    File(Arc<FileValue>),
    Directory(DirectoryValue),
    List(Arc<[Value]>),
    Record(Arc<BTreeMap<Arc<str>, Value>>),
    Opaque(Arc<Opaque>),
}

impl Value {
    /// Its type. A list has the type of its first item; an empty one is a list of anything.
    pub fn value_type(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Float(_) => Type::Float,
            Value::Text(_) => Type::Text,
            Value::Bytes(_) => Type::Bytes,
            Value::Array(_) => Type::Array,
            Value::Image(_) => Type::Image,
            Value::Region(_) => Type::Region,
            Value::File(_) => Type::File,
            Value::Directory(_) => Type::Directory,
            Value::List(items) => items.first().map_or(Type::Any, Value::value_type).list(),
            Value::Record(_) => Type::Record,
            Value::Opaque(opaque) => Type::Opaque(Arc::clone(&opaque.type_name)),
        }
    }

    /// Bytes held in this process. Files and directories on disk count nothing.
    pub fn memory(&self) -> u64 {
        match self {
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Directory(_) => 0,
            Value::Text(text) => text.len() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::Array(array) => array.bytes().len() as u64,
            Value::Image(image) => image.array.bytes().len() as u64,
            Value::Region(region) => region.array.bytes().len() as u64,
            Value::File(file) => match &file.handle {
                Handle::Memory(bytes) => bytes.len() as u64,
                Handle::Path(_) | Handle::Named { .. } | Handle::Stored => 0,
            },
            Value::List(items) => items.iter().map(Value::memory).sum(),
            Value::Record(fields) => fields.values().map(Value::memory).sum(),
            Value::Opaque(opaque) => opaque.bytes.len() as u64,
        }
    }

    /// How many bytes it is, files counted wherever they are: what somebody who reads all of it has in hand.
    pub fn size(&self) -> u64 {
        match self {
            Value::File(file) => file.size,
            Value::Directory(directory) => {
                directory.entries.iter().map(|entry| entry.file.size).sum()
            }
            Value::List(items) => items.iter().map(Value::size).sum(),
            Value::Record(fields) => fields.values().map(Value::size).sum(),
            other => other.memory(),
        }
    }

    /// Calls `visit` with every file of this value, also in lists, records and directories.
    pub fn for_each_file<'a>(&'a self, visit: &mut dyn FnMut(&'a FileValue)) {
        match self {
            Value::File(file) => visit(file),
            Value::Directory(directory) => directory
                .entries
                .iter()
                .for_each(|entry| visit(&entry.file)),
            Value::List(items) => items.iter().for_each(|item| item.for_each_file(visit)),
            Value::Record(fields) => fields.values().for_each(|field| field.for_each_file(visit)),
            _ => {}
        }
    }

    /// The same value with other files in it: `change` gives the one that takes the place of each. `None` if it does for
    /// one of them.
    pub fn with_files(
        self,
        change: &mut dyn FnMut(&FileValue) -> Option<FileValue>,
    ) -> Option<Value> {
        Some(match self {
            Value::File(file) => Value::File(Arc::new(change(&file)?)),
            Value::Directory(directory) => {
                let mut entries = Vec::with_capacity(directory.entries.len());
                for entry in directory.entries.iter() {
                    entries.push(DirectoryEntry {
                        path: Arc::clone(&entry.path),
                        executable: entry.executable,
                        file: change(&entry.file)?,
                    });
                }
                Value::Directory(DirectoryValue {
                    entries: entries.into(),
                    path: directory.path,
                    name: directory.name,
                })
            }
            Value::List(items) => {
                let items = items.iter().map(|item| item.clone().with_files(change));
                Value::List(items.collect::<Option<Vec<_>>>()?.into())
            }
            Value::Record(fields) => {
                let fields = fields.iter().map(|(name, field)| {
                    Some((Arc::clone(name), field.clone().with_files(change)?))
                });
                Value::Record(Arc::new(fields.collect::<Option<_>>()?))
            }
            other => other,
        })
    }

    /// Whether something in it is known by a logical name, and not by its contents.
    pub fn is_known_by_name(&self) -> bool {
        match self {
            Value::File(file) => file.logical_name().is_some(),
            Value::Directory(directory) => {
                let by_name = |entry: &DirectoryEntry| entry.file.logical_name().is_some();
                directory.name.is_some() || directory.entries.iter().any(by_name)
            }
            Value::List(items) => items.iter().any(Value::is_known_by_name),
            Value::Record(fields) => fields.values().any(Value::is_known_by_name),
            _ => false,
        }
    }

    /// As tasks are given it and as it comes back from a store: a number by itself, also in lists and records, has one
    /// zero and one value that is not a number, as its encoding has. What would read another number would share the
    /// recipe of this one. Arrays and images keep their bits.
    pub fn plain(self) -> Value {
        match self {
            Value::Float(number) => Value::Float(plain_float(number)),
            Value::Region(region) if !region.resolution.into_iter().all(is_plain) => {
                let resolution = region.resolution.map(plain_float);
                let region = Arc::unwrap_or_clone(region);
                Value::Region(Arc::new(Region {
                    resolution,
                    ..region
                }))
            }
            Value::List(items) if !items.iter().all(Value::is_plain) => {
                Value::List(items.iter().cloned().map(Value::plain).collect())
            }
            Value::Record(fields) if !fields.values().all(Value::is_plain) => {
                let plain =
                    |(key, value): (&Arc<str>, &Value)| (Arc::clone(key), value.clone().plain());
                Value::Record(Arc::new(fields.iter().map(plain).collect()))
            }
            other => other,
        }
    }

    /// Whether [`plain`](Self::plain) would leave it as it is.
    pub fn is_plain(&self) -> bool {
        match self {
            Value::Float(number) => is_plain(*number),
            Value::Region(region) => region.resolution.into_iter().all(is_plain),
            Value::List(items) => items.iter().all(Value::is_plain),
            Value::Record(fields) => fields.values().all(Value::is_plain),
            _ => true,
        }
    }

    /// The scalar, where it is one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Value::Bool(value) => Some(Scalar::Bool(*value)),
            Value::Int(value) => Some(Scalar::Int(*value)),
            Value::Float(value) => Some(Scalar::Float(*value)),
            Value::Text(value) => Some(Scalar::Text(Arc::clone(value))),
            _ => None,
        }
    }
}

/// Values may hold NaN (parameters may not), so there is one NaN, and one zero.
pub(crate) fn plain_float(number: f64) -> f64 {
    if number.is_nan() {
        f64::from_bits(NOT_A_NUMBER)
    } else {
        // The sum of −0.0 and 0.0 is 0.0, and no other number changes.
        number + 0.0
    }
}

/// The bits of the one float that is not a number.
const NOT_A_NUMBER: u64 = 0x7ff8_0000_0000_0000;

/// Whether a number is the one that its encoding stands for.
fn is_plain(number: f64) -> bool {
    number.to_bits() == plain_float(number).to_bits()
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Value {
        match scalar {
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Float(value) => Value::Float(value),
            Scalar::Text(value) => Value::Text(value),
        }
    }
}
