//! Procedures of Rust code.
//!
//! Law: the body of a procedure gets what is read, and gives what is written, each in the order in which it was
//! declared. It owns what it gets: what nobody else has can be changed where it lies.

use std::marker::PhantomData;
use std::sync::Arc;

use headwater_graph::{Context, Operation, OperationError, Outputs, Scalar, Signature, Value};

use crate::procedure::{ByValue, In, InList, InOut, Out, Slot};
use crate::tuple::{Append, Data};
use crate::{Datum, Procedure, ScalarDatum};

/// Begins a procedure of Rust code: its name, e.g. `matrix/add`, and its version. What a call gave is found again by
/// both, so code that computes something else gets another version. What the body captures is no part of either: pass it
/// with [`takes`](Draft::takes) instead, or calls that differ only in that are taken for one.
///
/// Its parameters follow one after another, in the order in which calls will pass them, and [`Draft::run`] ends it.
///
/// ```
/// use headwater::sequence::{In, Out, Procedure, procedure};
///
/// let divide: Procedure<(In<f64>, In<f64>, Out<f64>)> = procedure("numbers/divide", "1")
///     .reads::<f64>("dividend")
///     .reads::<f64>("divisor")
///     .writes::<f64>("quotient")
///     .run(|(dividend, divisor), _| {
///         if divisor == 0.0 {
///             return Err("division by zero".into());
///         }
///         Ok((dividend / divisor,))
///     });
/// ```
pub fn procedure(name: &str, version: &str) -> Draft<(), (), ()> {
    Draft {
        signature: Signature::new(name, version),
        slots: Vec::new(),
        reads: Vec::new(),
        writes: Vec::new(),
        types: PhantomData,
    }
}

/// Where something that the body reads comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Input(Arc<str>),
    Parameter(Arc<str>),
}

/// The same by position.
enum Position {
    Input(usize),
    Parameter(usize),
}

impl Source {
    fn place(&self, signature: &Signature) -> Option<Position> {
        match self {
            Source::Input(name) => signature.input_index(name).map(Position::Input),
            Source::Parameter(name) => signature.parameter_index(name).map(Position::Parameter),
        }
    }

    fn error(&self, message: String) -> OperationError {
        match self {
            Source::Input(name) => OperationError::Input {
                port: name.to_string(),
                message,
            },
            Source::Parameter(name) => OperationError::Parameter {
                parameter: name.to_string(),
                message,
            },
        }
    }

    fn name(&self) -> &Arc<str> {
        match self {
            Source::Input(name) | Source::Parameter(name) => name,
        }
    }
}

/// A procedure of Rust code in the making, with the parameters `P`, whose body reads `R` and writes `W`. See
/// [`procedure`].
#[derive(Debug)]
#[must_use = "it becomes a procedure with `run`"]
pub struct Draft<P, R, W> {
    signature: Signature,
    slots: Vec<Slot>,
    /// What the body gets, in order.
    reads: Vec<Source>,
    /// The outputs that the body gives, in order.
    writes: Vec<Arc<str>>,
    types: PhantomData<fn(P, R) -> W>,
}

impl<P, R, W> Draft<P, R, W> {
    /// One parameter more.
    fn with<P2, R2, W2>(mut self, name: &str) -> Draft<P2, R2, W2> {
        self.slots.push(Slot::new(name));
        Draft {
            signature: self.signature,
            slots: self.slots,
            reads: self.reads,
            writes: self.writes,
            types: PhantomData,
        }
    }

    fn input<T: Datum>(mut self, name: &str) -> Self {
        self.signature = self.signature.input(name, T::datum_type());
        self.reads.push(Source::Input(name.into()));
        self
    }

    fn output<T: Datum>(mut self, name: &str) -> Self {
        self.signature = self.signature.output(name, T::datum_type());
        self.writes.push(name.into());
        self
    }

    /// The next parameter is read.
    pub fn reads<T: Datum>(self, name: &str) -> Draft<P::Longer, R::Longer, W>
    where
        P: Append<In<T>>,
        R: Append<T>,
    {
        self.input::<T>(name).with(name)
    }

    /// The next parameter are any number of items, which the body gets as a `Vec`.
    pub fn reads_list<T: Datum>(self, name: &str) -> Draft<P::Longer, R::Longer, W>
    where
        P: Append<InList<T>>,
        R: Append<Vec<T>>,
    {
        self.input::<Vec<T>>(name).with(name)
    }

    /// The next parameter is written, whatever it held before.
    pub fn writes<T: Datum>(self, name: &str) -> Draft<P::Longer, R, W::Longer>
    where
        P: Append<Out<T>>,
        W: Append<T>,
    {
        self.output::<T>(name).with(name)
    }

    /// The next parameter is read and written: the body gets it among what is read, and gives it among what is
    /// written.
    pub fn updates<T: Datum>(self, name: &str) -> Draft<P::Longer, R::Longer, W::Longer>
    where
        P: Append<InOut<T>>,
        R: Append<T>,
        W: Append<T>,
    {
        let mut both = self.input::<T>(name).output::<T>(name);
        both.signature = both.signature.in_place(name);
        both.with(name)
    }

    /// The next parameter is passed by value.
    pub fn takes<T: ScalarDatum>(mut self, name: &str) -> Draft<P::Longer, R::Longer, W>
    where
        P: Append<ByValue<T>>,
        R: Append<T>,
    {
        self.signature = self.signature.parameter(name, T::SCALAR_TYPE, None);
        self.reads.push(Source::Parameter(name.into()));
        self.with(name)
    }

    /// Its results depend on more than its arguments, or it does more than give results: it runs in every sequence,
    /// and nothing of it is remembered.
    pub fn impure(mut self) -> Self {
        self.signature.pure = false;
        self
    }

    /// How many cores a call occupies; one unless said otherwise.
    pub fn cores(mut self, cores: u64) -> Self {
        let resources = &mut self.signature.resources;
        resources.0.insert("cores".into(), cores);
        self
    }

    /// How many bytes of memory a call occupies besides its arguments.
    pub fn memory(mut self, bytes: u64) -> Self {
        let resources = &mut self.signature.resources;
        resources.0.insert("memory".into(), bytes);
        self
    }

    /// The procedure with this body.
    ///
    /// # Panics
    ///
    /// When two parameters that are read, or two that are written, have the same name.
    pub fn run<F>(self, body: F) -> Procedure<P>
    where
        R: Data + 'static,
        W: Data + 'static,
        F: Fn(R, &mut Context) -> Result<W, OperationError> + Send + Sync + 'static,
    {
        let name = &self.signature.name;
        for (position, source) in self.reads.iter().enumerate() {
            let twice =
                (self.reads[..position].iter()).any(|earlier| earlier.name() == source.name());
            assert!(
                !twice,
                "procedure `{name}` reads two parameters `{}`",
                source.name()
            );
        }
        for (position, output) in self.writes.iter().enumerate() {
            let twice = self.writes[..position].contains(output);
            assert!(
                !twice,
                "procedure `{name}` writes two parameters `{output}`"
            );
        }
        let signature = self.signature;
        // Ports are sorted by name, and all of these are there.
        let sources = self.reads.iter();
        let places: Vec<Position> = sources.filter_map(|read| read.place(&signature)).collect();
        let outputs = self.writes.iter();
        let outputs: Vec<usize> = outputs
            .filter_map(|name| signature.output_index(name))
            .collect();
        let reads = self.reads;
        let run = move |mut inputs: Vec<Value>, parameters: &[Scalar], context: &mut Context| {
            let values = places.iter().map(|place| match place {
                Position::Input(position) => std::mem::take(&mut inputs[*position]),
                Position::Parameter(position) => parameters[*position].clone().into(),
            });
            let read = R::from_values(values)
                .map_err(|mismatch| reads[mismatch.position].error(mismatch.message))?;
            let mut written: Outputs = vec![Value::Null; outputs.len()];
            for (position, value) in outputs.iter().zip(body(read, context)?.into_values()) {
                written[*position] = value;
            }
            Ok(written)
        };
        let operation = Arc::new(Operation::native_owned(signature, run));
        Procedure::new(operation, self.slots, Vec::new())
    }
}
