//! Operations: pure functions with a name, a version, named ports and scalar parameters.
//!
//! Law: the outputs of an operation depend on its name, version, parameter values and inputs alone, and on
//! nothing that [`Context`] offers. An operation for which that does not hold says `pure: false`, is never
//! remembered and never shared.

use std::fmt;
use std::io::{Cursor, Read, Seek};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use core::time::Duration;

use crate::{CommandTemplate, Digest, FileValue, Handle, Scalar, Signature, Value};

/// A flag that says "stop": set from outside, looked at by long operations.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What an operation may use while it runs. None of it may change a result.
#[derive(Default)]
pub struct Context {
    /// Set when the result is no longer wanted.
    pub cancel: Cancel,
    /// How many threads the operation may use; 0 means one.
    pub threads: usize,
    /// A folder of its own, if the executor has one. It does not exist yet: an operation that needs it makes
    /// it. It is gone when the operation has ended, apart from the files that it gave; see
    /// [`Context::give_file`].
    pub scratch: Option<PathBuf>,
    /// Lines for whoever reads the log of the task.
    pub log: Vec<String>,
    /// How to get at the bytes of files that are not in memory; the executor gives it.
    pub reader: Option<Arc<dyn ReadFile>>,
    /// Processor time of threads that the operation has started, which it adds here when they have ended. What its
    /// own thread uses is counted anyway.
    pub helpers: Duration,
}

/// Something that can be read in pieces, in any order.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// Gets at the contents of files, wherever they are.
pub trait ReadFile: Send + Sync {
    /// The contents.
    fn read_file(&self, file: &FileValue) -> Result<Vec<u8>, OperationError>;

    /// The contents, to be read in pieces. Unless somebody knows better, they are read as a whole first.
    fn open_file(&self, file: &FileValue) -> Result<Box<dyn ReadSeek>, OperationError> {
        Ok(Box::new(Cursor::new(self.read_file(file)?)))
    }
}

/// Bytes that others have, too.
struct Shared(Arc<[u8]>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn file_of(value: &Value) -> Result<&FileValue, OperationError> {
    match value {
        Value::File(file) => Ok(file),
        other => Err(OperationError::Failed(format!(
            "expected a file, found {}",
            other.value_type()
        ))),
    }
}

impl Context {
    /// The contents of a file value.
    pub fn read(&self, value: &Value) -> Result<Vec<u8>, OperationError> {
        let file = file_of(value)?;
        match &file.handle {
            Handle::Memory(bytes) => Ok(bytes.to_vec()),
            _ => self.reader()?.read_file(file),
        }
    }

    /// The contents of a file value, to be read in pieces: what is not asked for is not read. Reads are not
    /// buffered.
    pub fn open(&self, value: &Value) -> Result<Box<dyn ReadSeek>, OperationError> {
        let file = file_of(value)?;
        match &file.handle {
            Handle::Memory(bytes) => Ok(Box::new(Cursor::new(Shared(Arc::clone(bytes))))),
            _ => self.reader()?.open_file(file),
        }
    }

    fn reader(&self) -> Result<&dyn ReadFile, OperationError> {
        let reader = self.reader.as_deref();
        reader.ok_or_else(|| OperationError::Failed("files cannot be read here".to_owned()))
    }

    /// A file that the operation has written to [`scratch`](Context::scratch) under this name, as an output or
    /// part of one. The executor takes the file away when the operation has ended, and finds out its digest and
    /// its size, which are blank until then. A small file needs no folder: see [`FileValue::of_bytes`].
    pub fn give_file(&self, name: &str) -> Result<Value, OperationError> {
        let scratch = self.scratch.as_ref();
        let scratch = scratch
            .ok_or_else(|| OperationError::Failed("files cannot be written here".to_owned()))?;
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if name.is_empty() || !Path::new(name).components().all(is_plain) {
            return Err(OperationError::Failed(format!(
                "`{name}` is not the name of a file in the operation's own folder"
            )));
        }
        Ok(Value::File(Arc::new(FileValue {
            digest: Digest([0; 32]),
            size: 0,
            name: None,
            executable: false,
            handle: Handle::Path(scratch.join(name).into()),
        })))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("threads", &self.threads)
            .field("scratch", &self.scratch)
            .finish_non_exhaustive()
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum OperationError {
    /// An input that it cannot work with.
    #[error("input `{port}`: {message}")]
    Input {
        /// Which.
        port: String,
        /// What is wrong with it.
        message: String,
    },
    /// A parameter that it cannot work with.
    #[error("parameter `{parameter}`: {message}")]
    Parameter {
        /// Which.
        parameter: String,
        /// What is wrong with it.
        message: String,
    },
    /// It stopped because it was asked to.
    #[error("cancelled")]
    Cancelled,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// So that a body can say `return Err("too few numbers".into())`, and `?` where a function says a text.
impl From<String> for OperationError {
    fn from(message: String) -> OperationError {
        OperationError::Failed(message)
    }
}

impl From<&str> for OperationError {
    fn from(message: &str) -> OperationError {
        OperationError::Failed(message.to_owned())
    }
}

impl From<std::io::Error> for OperationError {
    fn from(error: std::io::Error) -> OperationError {
        OperationError::Failed(error.to_string())
    }
}

/// One value per output, in the order of [`Signature::outputs`].
pub type Outputs = Vec<Value>;

/// The body of a native operation.
///
/// `inputs` are in the order of [`Signature::inputs`] (an unbound optional input is [`Value::Null`]),
/// `parameters` in the order of [`Signature::parameters`].
pub trait Run: Send + Sync {
    /// Computes the outputs.
    fn run(
        &self,
        inputs: &[Value],
        parameters: &[Scalar],
        context: &mut Context,
    ) -> Result<Outputs, OperationError>;

    /// The same for inputs that are the body's own: what nobody else has can be changed where it lies. The outputs
    /// are those of [`run`](Self::run), whoever else has the inputs.
    fn run_owned(
        &self,
        inputs: Vec<Value>,
        parameters: &[Scalar],
        context: &mut Context,
    ) -> Result<Outputs, OperationError> {
        self.run(&inputs, parameters, context)
    }
}

impl<F> Run for F
where
    F: Fn(&[Value], &[Scalar], &mut Context) -> Result<Outputs, OperationError> + Send + Sync,
{
    fn run(
        &self,
        inputs: &[Value],
        parameters: &[Scalar],
        context: &mut Context,
    ) -> Result<Outputs, OperationError> {
        self(inputs, parameters, context)
    }
}

/// A body that takes its inputs as its own.
struct Owning<F>(F);

impl<F> Run for Owning<F>
where
    F: Fn(Vec<Value>, &[Scalar], &mut Context) -> Result<Outputs, OperationError> + Send + Sync,
{
    fn run(
        &self,
        inputs: &[Value],
        parameters: &[Scalar],
        context: &mut Context,
    ) -> Result<Outputs, OperationError> {
        // Whoever lends them still has them, so nothing large is changed where it lies.
        (self.0)(inputs.to_vec(), parameters, context)
    }

    fn run_owned(
        &self,
        inputs: Vec<Value>,
        parameters: &[Scalar],
        context: &mut Context,
    ) -> Result<Outputs, OperationError> {
        (self.0)(inputs, parameters, context)
    }
}

/// How an operation runs.
#[derive(Clone)]
pub enum Kind {
    /// Rust code in this process.
    Native(Arc<dyn Run>),
    /// A program.
    Command(Arc<CommandTemplate>),
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Native(_) => f.write_str("Native"),
            Kind::Command(template) => f.debug_tuple("Command").field(template).finish(),
        }
    }
}

/// A signature and a way to run.
#[derive(Debug, Clone)]
pub struct Operation {
    /// What it is.
    pub signature: Signature,
    /// How it runs.
    pub kind: Kind,
}

impl Operation {
    /// A native operation.
    pub fn native(signature: Signature, run: impl Run + 'static) -> Operation {
        Operation {
            signature,
            kind: Kind::Native(Arc::new(run)),
        }
    }

    /// A native operation whose body takes its inputs as its own, and may change them where they lie if nobody else
    /// has them (see [`Array::bytes_mut`](crate::Array::bytes_mut)). Those it does this to are declared with
    /// [`Signature::in_place`]: of others somebody else always has a copy.
    pub fn native_owned<F>(signature: Signature, run: F) -> Operation
    where
        F: Fn(Vec<Value>, &[Scalar], &mut Context) -> Result<Outputs, OperationError>
            + Send
            + Sync
            + 'static,
    {
        Operation::native(signature, Owning(run))
    }
}
