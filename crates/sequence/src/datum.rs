//! Rust types that items hold.
//!
//! Law: what goes into a value comes out of it again. A value that is not of the type is handed back as it was.

use std::io;
use std::path::Path;
use std::sync::Arc;

use headwater_execute::copy_value;
use headwater_graph::{
    Array, Context, Digest, DirectoryEntry, DirectoryValue, ElementType, FileValue, Handle, Image,
    OperationError, Region, Scalar, ScalarType, Type, Value,
};

/// A type that an item can hold: numbers, texts, arrays, files, and lists of such.
///
/// A program may implement it for its own types, e.g. a matrix that is an [`Array`] of two extents.
#[diagnostic::on_unimplemented(
    message = "items cannot hold a `{Self}`",
    label = "not a `Datum`",
    note = "items hold bool, i64, f64, String, Array, Numbers<f64> and its like, Image, Region, File, Directory, Vec \
            of one of these, or Value for anything"
)]
pub trait Datum: Sized + Send + Sync + 'static {
    /// The type of a port that takes it.
    fn datum_type() -> Type;

    /// What is passed on between calls.
    fn into_value(self) -> Value;

    /// The other way round. A value of another type is given back.
    fn from_value(value: Value) -> Result<Self, Value>;

    /// What the type is called in messages.
    fn type_name() -> String {
        Self::datum_type().to_string()
    }
}

/// A [`Datum`] that parameters can have.
#[diagnostic::on_unimplemented(
    message = "a parameter cannot be a `{Self}`",
    label = "not a scalar",
    note = "parameters are bool, i64, f64 or String; larger things are read: `.reads::<…>(name)`"
)]
pub trait ScalarDatum: Datum {
    /// Its type.
    const SCALAR_TYPE: ScalarType;

    /// What the parameter is given.
    fn into_scalar(self) -> Scalar;
}

/// What a value is called in messages.
pub(crate) fn name_of(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("array of {}", element_name(array.element_type())),
        other => other.value_type().to_string(),
    }
}

/// What numbers of an array are called in messages, e.g. `f64`.
pub(crate) fn element_name(element: ElementType) -> String {
    format!("{element:?}").to_lowercase()
}

macro_rules! plain {
    ($rust:ty, $variant:ident) => {
        impl Datum for $rust {
            fn datum_type() -> Type {
                Type::$variant
            }

            fn into_value(self) -> Value {
                Value::$variant(self)
            }

            fn from_value(value: Value) -> Result<Self, Value> {
                match value {
                    Value::$variant(held) => Ok(held),
                    other => Err(other),
                }
            }
        }
    };
}

plain!(bool, Bool);
plain!(i64, Int);
plain!(Array, Array);
plain!(Arc<[u8]>, Bytes);

impl Datum for f64 {
    fn datum_type() -> Type {
        Type::Float
    }

    /// Zero has no sign, as everywhere where a number by itself is what something is known by.
    fn into_value(self) -> Value {
        Value::Float(self).plain()
    }

    /// A whole number is taken, too, if it loses nothing.
    fn from_value(value: Value) -> Result<f64, Value> {
        match value {
            Value::Float(number) => Ok(number),
            Value::Int(number) => match Scalar::Int(number).coerce(ScalarType::Float, false) {
                Some(Scalar::Float(number)) => Ok(number),
                _ => Err(value),
            },
            other => Err(other),
        }
    }
}

impl Datum for String {
    fn datum_type() -> Type {
        Type::Text
    }

    fn into_value(self) -> Value {
        Value::Text(self.into())
    }

    fn from_value(value: Value) -> Result<String, Value> {
        match value {
            Value::Text(text) => Ok(text.as_ref().to_owned()),
            other => Err(other),
        }
    }
}

impl ScalarDatum for bool {
    const SCALAR_TYPE: ScalarType = ScalarType::Bool;

    fn into_scalar(self) -> Scalar {
        Scalar::Bool(self)
    }
}

impl ScalarDatum for i64 {
    const SCALAR_TYPE: ScalarType = ScalarType::Int;

    fn into_scalar(self) -> Scalar {
        Scalar::Int(self)
    }
}

impl ScalarDatum for f64 {
    const SCALAR_TYPE: ScalarType = ScalarType::Float;

    fn into_scalar(self) -> Scalar {
        Scalar::Float(self)
    }
}

impl ScalarDatum for String {
    const SCALAR_TYPE: ScalarType = ScalarType::Text;

    fn into_scalar(self) -> Scalar {
        Scalar::Text(self.into())
    }
}

macro_rules! shared {
    ($rust:ident) => {
        impl Datum for $rust {
            fn datum_type() -> Type {
                Type::$rust
            }

            fn into_value(self) -> Value {
                Value::$rust(Arc::new(self))
            }

            fn from_value(value: Value) -> Result<Self, Value> {
                match value {
                    Value::$rust(held) => Ok(Arc::unwrap_or_clone(held)),
                    other => Err(other),
                }
            }
        }
    };
}

shared!(Image);
shared!(Region);

/// Anything, for what has no Rust type.
impl Datum for Value {
    fn datum_type() -> Type {
        Type::Any
    }

    fn into_value(self) -> Value {
        self
    }

    fn from_value(value: Value) -> Result<Value, Value> {
        Ok(value)
    }
}

/// A list.
impl<T: Datum> Datum for Vec<T> {
    fn datum_type() -> Type {
        T::datum_type().list()
    }

    fn into_value(self) -> Value {
        Value::List(self.into_iter().map(T::into_value).collect())
    }

    fn from_value(value: Value) -> Result<Vec<T>, Value> {
        let Value::List(mut items) = value else {
            return Err(value);
        };
        // Items that nobody else has stay so.
        let Some(own) = Arc::get_mut(&mut items) else {
            let all: Result<Vec<T>, Value> = items.iter().cloned().map(T::from_value).collect();
            return all.map_err(|_| Value::List(items));
        };
        let mut taken = Vec::with_capacity(own.len());
        let wrong = own.iter_mut().find_map(|item| {
            let made = T::from_value(std::mem::take(item)).map(|item| taken.push(item));
            made.err().map(|back| *item = back)
        });
        if wrong.is_none() {
            return Ok(taken);
        }
        for (item, back) in own.iter_mut().zip(taken) {
            *item = back.into_value();
        }
        Err(Value::List(items))
    }

    fn type_name() -> String {
        format!("list of {}", T::type_name())
    }
}

/// A file: an input of the program, or what a call left.
#[derive(Debug, Clone, PartialEq)]
pub struct File(Arc<FileValue>);

impl File {
    /// A file that is nothing but these bytes.
    pub fn of_bytes(bytes: impl Into<Arc<[u8]>>) -> File {
        File(Arc::new(FileValue::of_bytes(bytes)))
    }

    /// Where it lies on this machine; none while it is only in memory or in the store.
    pub fn path(&self) -> Option<&Path> {
        self.0.handle.path().map(|path| &**path)
    }

    /// Copies it to a file, which is replaced if it is there.
    pub fn copy_to(&self, path: impl AsRef<Path>) -> io::Result<()> {
        copy_value(&Value::File(Arc::clone(&self.0)), path.as_ref())
    }

    /// Its bytes, counted.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// BLAKE3 of its contents, or of its logical name, if that is what it is known by.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// Its contents.
    ///
    /// The body of a procedure asks [`read_with`](File::read_with), which also knows the store.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        match &self.0.handle {
            Handle::Memory(bytes) => Ok(bytes.to_vec()),
            Handle::Path(path) | Handle::Named { path, .. } => std::fs::read(path),
            Handle::Stored => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!(
                    "file {} is only in the store; within a call it is read with `read_with`",
                    self.0.digest
                ),
            )),
        }
    }

    /// Its contents, in the body of a procedure.
    pub fn read_with(&self, context: &Context) -> Result<Vec<u8>, OperationError> {
        context.read(&Value::File(Arc::clone(&self.0)))
    }

    /// The file as values have it.
    pub fn file_value(&self) -> &Arc<FileValue> {
        &self.0
    }
}

impl From<FileValue> for File {
    fn from(file: FileValue) -> File {
        File(Arc::new(file))
    }
}

impl Datum for File {
    fn datum_type() -> Type {
        Type::File
    }

    fn into_value(self) -> Value {
        Value::File(self.0)
    }

    fn from_value(value: Value) -> Result<File, Value> {
        match value {
            Value::File(file) => Ok(File(file)),
            other => Err(other),
        }
    }
}

/// A folder of files.
#[derive(Debug, Clone, PartialEq)]
pub struct Directory(DirectoryValue);

impl Directory {
    /// Where it lies on this machine, when it exists as a folder.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Copies its files to a folder, which is made if it is not there.
    pub fn copy_to(&self, path: impl AsRef<Path>) -> io::Result<()> {
        copy_value(&Value::Directory(self.0.clone()), path.as_ref())
    }

    /// Its files, sorted by path.
    pub fn entries(&self) -> &[DirectoryEntry] {
        &self.0.entries
    }

    /// The file at this path below the directory, with `/`.
    pub fn file(&self, path: &str) -> Option<File> {
        let entries = &self.0.entries;
        let position = entries.binary_search_by(|entry| (*entry.path).cmp(path));
        let entry = &entries[position.ok()?];
        Some(File::from(FileValue {
            executable: entry.executable,
            ..entry.file.clone()
        }))
    }

    /// The directory as values have it.
    pub fn directory_value(&self) -> &DirectoryValue {
        &self.0
    }
}

impl From<DirectoryValue> for Directory {
    fn from(directory: DirectoryValue) -> Directory {
        Directory(directory)
    }
}

impl Datum for Directory {
    fn datum_type() -> Type {
        Type::Directory
    }

    fn into_value(self) -> Value {
        Value::Directory(self.0)
    }

    fn from_value(value: Value) -> Result<Directory, Value> {
        match value {
            Value::Directory(directory) => Ok(Directory(directory)),
            other => Err(other),
        }
    }
}
