//! Operations: pure functions with a name, a version, named ports and scalar parameters.
//!
//! Law: the outputs of an operation depend on its name, version, parameter values and inputs alone, and on
//! nothing that [`Context`] offers. An operation for which that does not hold says `pure: false`, is never
//! remembered and never shared.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Cursor, Read, Seek};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use core::time::Duration;

use crate::{CommandTemplate, Digest, FileValue, Handle, Scalar, ScalarType, Type, Value};

/// An input or output of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name, unique among the inputs or among the outputs of its operation.
    pub name: Arc<str>,
    /// What it carries.
    pub port_type: Type,
    /// An optional input may be left unbound; an optional output may be missing (it is then null).
    pub optional: bool,
    /// Whether the names of files bound here are part of their value.
    pub keep_name: bool,
    /// Whether the bytes of an output are kept in the store where nobody asked for them: always, never, or
    /// as the engine sees fit. Where bytes lie changes no result, so this is no part of any version.
    pub keep: Option<bool>,
    /// The extension, without dot, that a file of this output is delivered with; of a program, the path that it
    /// leaves says it. What a file is called where it is delivered changes no result, so this is no part of any
    /// version.
    pub extension: Option<Arc<str>>,
    /// The memory that a task needs while it runs on account of this port, besides inputs and outputs
    /// themselves, in percent of the bytes of the value (see [`Value::size`]). Only a limit on memory asks, so
    /// this is no part of any version.
    pub working: u32,
    /// Whether the operation changes what it is given at this input where it lies, if nobody else has it (see
    /// [`Array::bytes_mut`](crate::Array::bytes_mut)): an executor then lets go of it before a native body runs, as
    /// far as nobody else can need it. Where a result is computed does not change it, so this is no part of any
    /// version.
    pub in_place: bool,
}

impl Port {
    /// A required port.
    pub fn new(name: &str, port_type: Type) -> Port {
        Port {
            name: name.into(),
            port_type,
            optional: false,
            keep_name: false,
            keep: None,
            extension: None,
            working: 0,
            in_place: false,
        }
    }
}

/// A parameter of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterDeclaration {
    /// Its name, unique in its operation.
    pub name: Arc<str>,
    /// Its type; values are coerced to it before anything else is done with them.
    pub scalar_type: ScalarType,
    /// The value it takes when none is given.
    pub default: Option<Scalar>,
    /// Whether a real given for an int is truncated instead of refused.
    pub truncate: bool,
}

/// What a task occupies while it runs: an open map of counters.
///
/// `cores` and `memory` (bytes) are known to every executor; other names (`gpu`, a licence) are counted
/// against what the user says the machine has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources(pub BTreeMap<Arc<str>, u64>);

impl Resources {
    /// How many cores; one unless said otherwise.
    pub fn cores(&self) -> u64 {
        self.0.get("cores").copied().unwrap_or(1)
    }

    /// How many bytes of memory; zero unless said otherwise.
    pub fn memory(&self) -> u64 {
        self.0.get("memory").copied().unwrap_or(0)
    }
}

/// Everything about an operation but how it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// `library/operation`, or a name without slash for an operation of the workflow file itself.
    pub name: Arc<str>,
    /// Part of the recipe: a change of behaviour is a change of version.
    pub version: Arc<str>,
    /// Sorted by name.
    pub inputs: Vec<Port>,
    /// Sorted by name.
    pub outputs: Vec<Port>,
    /// Sorted by name.
    pub parameters: Vec<ParameterDeclaration>,
    /// Whether the law of this module holds.
    pub pure: bool,
    /// Helper tasks that the engine adds (decoding a file, picking an item of a list) are not counted in
    /// any figure and not remembered.
    pub implicit: bool,
    /// What a task occupies.
    pub resources: Resources,
    /// How long a task may take.
    pub timeout: Option<Duration>,
    /// How often a failed task is tried again; `None` leaves it to the run.
    pub retries: Option<u32>,
}

impl Signature {
    /// A pure operation without ports and parameters.
    pub fn new(name: &str, version: &str) -> Signature {
        Signature {
            name: name.into(),
            version: version.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            parameters: Vec::new(),
            pure: true,
            implicit: false,
            resources: Resources::default(),
            timeout: None,
            retries: None,
        }
    }

    /// Adds an input.
    #[must_use]
    pub fn input(mut self, name: &str, port_type: Type) -> Self {
        self.inputs.push(Port::new(name, port_type));
        self.inputs.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Adds an input that may be left unbound; it is then [`Value::Null`].
    #[must_use]
    pub fn optional_input(mut self, name: &str, port_type: Type) -> Self {
        self = self.input(name, port_type);
        if let Some(position) = self.input_index(name) {
            self.inputs[position].optional = true;
        }
        self
    }

    /// Adds an output of files, which are delivered with this extension (without dot).
    #[must_use]
    pub fn file_output(mut self, name: &str, extension: &str) -> Self {
        self = self.output(name, Type::File);
        if let Some(position) = self.output_index(name) {
            self.outputs[position].extension = Some(extension.into());
        }
        self
    }

    /// Adds an output.
    #[must_use]
    pub fn output(mut self, name: &str, port_type: Type) -> Self {
        self.outputs.push(Port::new(name, port_type));
        self.outputs.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Says whether the bytes of an output are kept where nobody asked for them; see [`Port::keep`]. A name
    /// that is not there says nothing.
    #[must_use]
    pub fn keep(mut self, output: &str, keep: bool) -> Self {
        if let Some(position) = self.output_index(output) {
            self.outputs[position].keep = Some(keep);
        }
        self
    }

    /// Says how much memory a task needs while it runs, besides its inputs and outputs, in percent of the bytes of
    /// an input; see [`Port::working`]. What several ports say adds up. A name that is not there says nothing.
    #[must_use]
    pub fn working(mut self, input: &str, percent: u32) -> Self {
        if let Some(position) = self.input_index(input) {
            self.inputs[position].working = percent;
        }
        self
    }

    /// Says that the operation changes what it is given at an input where it lies, if it can; see
    /// [`Port::in_place`]. A name that is not there says nothing.
    #[must_use]
    pub fn in_place(mut self, input: &str) -> Self {
        if let Some(position) = self.input_index(input) {
            self.inputs[position].in_place = true;
        }
        self
    }

    /// As [`working`](Self::working), in percent of the bytes of all outputs together: for an operation that
    /// makes something large of something small. Before one has been seen they are taken to be as large as the
    /// inputs.
    #[must_use]
    pub fn working_on_outputs(mut self, percent: u32) -> Self {
        if let Some(output) = self.outputs.first_mut() {
            output.working = percent;
        }
        self
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(
        mut self,
        name: &str,
        scalar_type: ScalarType,
        default: Option<Scalar>,
    ) -> Self {
        self.parameters.push(ParameterDeclaration {
            name: name.into(),
            scalar_type,
            default,
            truncate: false,
        });
        self.parameters.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Says that a real given for this int parameter is truncated towards zero instead of refused. A name that
    /// is not there says nothing.
    #[must_use]
    pub fn truncating(mut self, parameter: &str) -> Self {
        if let Some(position) = self.parameter_index(parameter) {
            self.parameters[position].truncate = true;
        }
        self
    }

    /// The position of an input.
    pub fn input_index(&self, name: &str) -> Option<usize> {
        self.inputs
            .binary_search_by(|port| (*port.name).cmp(name))
            .ok()
    }

    /// The position of an output.
    pub fn output_index(&self, name: &str) -> Option<usize> {
        self.outputs
            .binary_search_by(|port| (*port.name).cmp(name))
            .ok()
    }

    /// The position of a parameter.
    pub fn parameter_index(&self, name: &str) -> Option<usize> {
        self.parameters
            .binary_search_by(|parameter| (*parameter.name).cmp(name))
            .ok()
    }
}

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
