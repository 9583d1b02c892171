//! Operations with parameters whose types the compiler knows.
//!
//! Law: a procedure has the parameters that its type says, in that order, and each is bound to a port or a parameter
//! of its operation that takes it. So calls that compile fit.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use headwater_graph::{Fault, Operation, Type};

use crate::tuple::Append;
use crate::{Argument, Datum, ScalarDatum};

/// A parameter that a call reads: `&item`.
#[derive(Debug)]
pub struct In<T>(PhantomData<fn() -> T>);

/// A parameter that takes any number of items, and reads them as a list: `&[item, …]`.
#[derive(Debug)]
pub struct InList<T>(PhantomData<fn() -> T>);

/// A parameter that a call writes, whatever was there before: `&mut item`.
#[derive(Debug)]
pub struct Out<T>(PhantomData<fn() -> T>);

/// A parameter that a call reads and writes: `&mut item`.
#[derive(Debug)]
pub struct InOut<T>(PhantomData<fn() -> T>);

/// A parameter that is passed by value: a number, a truth value, a text.
#[derive(Debug)]
pub struct ByValue<T>(PhantomData<fn() -> T>);

/// The names under which one parameter goes in and comes out.
#[derive(Debug, Clone)]
pub struct Slot {
    pub(crate) input: Arc<str>,
    /// The same, unless the operation calls it otherwise when it comes out.
    pub(crate) output: Arc<str>,
}

impl Slot {
    pub(crate) fn new(name: &str) -> Slot {
        let name: Arc<str> = name.into();
        Slot {
            input: Arc::clone(&name),
            output: name,
        }
    }
}

/// An operation that a sequence calls with parameters of the types `P`: a tuple of [`In`], [`InList`], [`Out`],
/// [`InOut`] and [`ByValue`].
///
/// [`procedure`](super::procedure) makes one of Rust code, [`Procedure::of`] of any operation.
pub struct Procedure<P> {
    operation: Arc<Operation>,
    /// One per parameter.
    slots: Arc<[Slot]>,
    /// What every call gives besides.
    fixed: Arc<[Argument]>,
    parameters: PhantomData<fn(P)>,
}

impl<P> Procedure<P> {
    pub(crate) fn new(
        operation: Arc<Operation>,
        slots: Vec<Slot>,
        fixed: Vec<Argument>,
    ) -> Procedure<P> {
        Procedure {
            operation,
            slots: slots.into(),
            fixed: fixed.into(),
            parameters: PhantomData,
        }
    }

    /// What runs.
    pub fn operation(&self) -> &Arc<Operation> {
        &self.operation
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(crate) fn fixed(&self) -> &[Argument] {
        &self.fixed
    }
}

impl<P> Clone for Procedure<P> {
    fn clone(&self) -> Procedure<P> {
        Procedure {
            operation: Arc::clone(&self.operation),
            slots: Arc::clone(&self.slots),
            fixed: Arc::clone(&self.fixed),
            parameters: PhantomData,
        }
    }
}

impl<P> fmt::Debug for Procedure<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signature = &self.operation.signature;
        write!(f, "Procedure({} {})", signature.name, signature.version)
    }
}

/// A part of the signature of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// An input.
    Input,
    /// An output.
    Output,
    /// A parameter.
    Parameter,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Input => "input",
            Part::Output => "output",
            Part::Parameter => "parameter",
        })
    }
}

/// Why an operation is no procedure of these parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcedureError {
    /// A name that it does not have.
    #[error("operation `{operation}` has no {part} `{name}`; {}", listed(*.part, .has))]
    Unknown {
        /// The operation.
        operation: Arc<str>,
        /// What was looked for.
        part: Part,
        /// Its name.
        name: Arc<str>,
        /// The names that there are.
        has: Vec<Arc<str>>,
    },
    /// A type that does not fit.
    #[error("{part} `{name}` of operation `{operation}` is of type {has}, not {wanted}")]
    Type {
        /// The operation.
        operation: Arc<str>,
        /// What it is about.
        part: Part,
        /// Its name.
        name: Arc<str>,
        /// The type that the operation declares.
        has: Type,
        /// The type that the procedure was to have.
        wanted: String,
    },
    /// A name that two parameters are bound to.
    #[error("{part} `{name}` of operation `{operation}` is bound twice; leave one of them out")]
    Twice {
        /// The operation.
        operation: Arc<str>,
        /// What it is about.
        part: Part,
        /// Its name.
        name: Arc<str>,
    },
    /// Something that the operation needs and nothing is bound to.
    #[error(
        "operation `{operation}` needs {part} `{name}`; bind it with `.{}::<…>(\"{name}\")`",
        if *.part == Part::Parameter { "takes" } else { "reads" }
    )]
    Missing {
        /// The operation.
        operation: Arc<str>,
        /// What it is about.
        part: Part,
        /// Its name.
        name: Arc<str>,
    },
}

impl ProcedureError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        Fault::User
    }
}

fn listed(part: Part, names: &[Arc<str>]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => format!("it has no {part}s at all"),
        [one] => format!("its only {part} is {one}"),
        [most @ .., last] => format!("its {part}s are {} and {last}", most.join(", ")),
    }
}

impl Procedure<()> {
    /// Makes a procedure of an operation: a program that a workflow file declares, an operation of a library. Its
    /// parameters are named one after another, in the order in which calls will pass them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use headwater::graph::{Operation, Signature, Type};
    /// # use headwater::sequence::{File, In, Out, Procedure, ProcedureError};
    /// # fn of(operation: Arc<Operation>) -> Result<Procedure<(In<File>, In<File>, Out<File>)>, ProcedureError> {
    /// let project = Procedure::of(operation)
    ///     .reads::<File>("image")?
    ///     .reads::<File>("header")?
    ///     .writes::<File>("projected")?
    ///     .done()?;
    /// # Ok(project) }
    /// # let body = |_: &[_], _: &[_], _: &mut _| Ok(Vec::new());
    /// # let signature = Signature::new("project", "1").input("image", Type::File).input("header", Type::File);
    /// # assert!(of(Arc::new(Operation::native(signature.clone().output("projected", Type::File), body))).is_ok());
    /// # assert!(of(Arc::new(Operation::native(signature, body))).is_err());
    /// ```
    pub fn of(operation: Arc<Operation>) -> Binding<()> {
        Binding {
            operation,
            slots: Vec::new(),
            fixed: Vec::new(),
            bound: Vec::new(),
            parameters: PhantomData,
        }
    }
}

/// A procedure in the making, of an operation that is there already. See [`Procedure::of`].
#[derive(Debug)]
#[must_use = "it becomes a procedure with `done`"]
pub struct Binding<P> {
    operation: Arc<Operation>,
    slots: Vec<Slot>,
    fixed: Vec<Argument>,
    /// What was bound so far.
    bound: Vec<(Part, Arc<str>)>,
    parameters: PhantomData<fn(P)>,
}

impl<P> Binding<P> {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.operation.signature.name)
    }

    /// Binds a port or parameter, if it is there, still free, and of a type that fits.
    fn bind(
        &mut self,
        part: Part,
        name: &str,
        wanted: &Type,
        called: &dyn Fn() -> String,
    ) -> Bound {
        let signature = &self.operation.signature;
        let declared: Vec<(&Arc<str>, Type)> = match part {
            Part::Input => (signature.inputs.iter())
                .map(|port| (&port.name, port.port_type.clone()))
                .collect(),
            Part::Output => (signature.outputs.iter())
                .map(|port| (&port.name, port.port_type.clone()))
                .collect(),
            Part::Parameter => (signature.parameters.iter())
                .map(|parameter| (&parameter.name, parameter.scalar_type.into()))
                .collect(),
        };
        let Some((found, has)) = declared.iter().find(|(found, _)| &***found == name) else {
            return Err(ProcedureError::Unknown {
                operation: self.name(),
                part,
                name: name.into(),
                has: declared.iter().map(|(name, _)| Arc::clone(name)).collect(),
            });
        };
        let fits = match part {
            Part::Output => wanted.accepts(has),
            Part::Input | Part::Parameter => has.accepts(wanted),
        };
        if !fits {
            return Err(ProcedureError::Type {
                operation: self.name(),
                part,
                name: name.into(),
                has: has.clone(),
                wanted: called(),
            });
        }
        let found = (part, Arc::clone(found));
        if self.bound.contains(&found) {
            return Err(ProcedureError::Twice {
                operation: self.name(),
                part,
                name: name.into(),
            });
        }
        self.bound.push(found);
        Ok(())
    }

    fn longer<X>(mut self, slot: Slot) -> Binding<P::Longer>
    where
        P: Append<X>,
    {
        self.slots.push(slot);
        Binding {
            operation: self.operation,
            slots: self.slots,
            fixed: self.fixed,
            bound: self.bound,
            parameters: PhantomData,
        }
    }

    /// The next parameter is an item that goes to this input.
    pub fn reads<T: Datum>(mut self, input: &str) -> Result<Binding<P::Longer>, ProcedureError>
    where
        P: Append<In<T>>,
    {
        self.bind(Part::Input, input, &T::datum_type(), &T::type_name)?;
        Ok(self.longer(Slot::new(input)))
    }

    /// The next parameter are items that go to this input as one list.
    pub fn reads_list<T: Datum>(mut self, input: &str) -> Result<Binding<P::Longer>, ProcedureError>
    where
        P: Append<InList<T>>,
    {
        let list = T::datum_type().list();
        self.bind(Part::Input, input, &list, &Vec::<T>::type_name)?;
        Ok(self.longer(Slot::new(input)))
    }

    /// The next parameter is an item that this output goes to.
    pub fn writes<T: Datum>(mut self, output: &str) -> Result<Binding<P::Longer>, ProcedureError>
    where
        P: Append<Out<T>>,
    {
        self.bind(Part::Output, output, &T::datum_type(), &T::type_name)?;
        Ok(self.longer(Slot::new(output)))
    }

    /// The next parameter is an item that goes to the input of this name, and the output of this name goes to it.
    pub fn updates<T: Datum>(self, name: &str) -> Result<Binding<P::Longer>, ProcedureError>
    where
        P: Append<InOut<T>>,
    {
        self.updates_as(name, name)
    }

    /// As [`updates`](Self::updates), of an operation that calls its input and its output differently.
    pub fn updates_as<T: Datum>(
        mut self,
        input: &str,
        output: &str,
    ) -> Result<Binding<P::Longer>, ProcedureError>
    where
        P: Append<InOut<T>>,
    {
        self.bind(Part::Input, input, &T::datum_type(), &T::type_name)?;
        self.bind(Part::Output, output, &T::datum_type(), &T::type_name)?;
        Ok(self.longer(Slot {
            input: input.into(),
            output: output.into(),
        }))
    }

    /// The next parameter is the value of this parameter of the operation.
    pub fn takes<T: ScalarDatum>(
        mut self,
        parameter: &str,
    ) -> Result<Binding<P::Longer>, ProcedureError>
    where
        P: Append<ByValue<T>>,
    {
        let wanted = T::SCALAR_TYPE.into();
        self.bind(Part::Parameter, parameter, &wanted, &T::type_name)?;
        Ok(self.longer(Slot::new(parameter)))
    }

    /// A parameter of the operation that is the same in every call, and none of the procedure.
    pub fn sets<T: ScalarDatum>(
        mut self,
        parameter: &str,
        value: T,
    ) -> Result<Self, ProcedureError> {
        let wanted = T::SCALAR_TYPE.into();
        self.bind(Part::Parameter, parameter, &wanted, &T::type_name)?;
        self.fixed.push(Argument::Parameter {
            name: parameter.into(),
            value: value.into_scalar(),
        });
        Ok(self)
    }

    /// The procedure. Optional inputs, parameters with a default and outputs may be left out.
    pub fn done(self) -> Result<Procedure<P>, ProcedureError> {
        let signature = &self.operation.signature;
        let inputs = signature.inputs.iter().filter(|port| !port.optional);
        let parameters = signature.parameters.iter();
        let needed = inputs
            .map(|port| (Part::Input, &port.name))
            .chain(
                parameters
                    .filter(|parameter| parameter.default.is_none())
                    .map(|parameter| (Part::Parameter, &parameter.name)),
            )
            .find(|(part, name)| {
                !self
                    .bound
                    .iter()
                    .any(|bound| bound == &(*part, Arc::clone(name)))
            });
        match needed {
            Some((part, name)) => Err(ProcedureError::Missing {
                operation: self.name(),
                part,
                name: Arc::clone(name),
            }),
            None => Ok(Procedure::new(self.operation, self.slots, self.fixed)),
        }
    }
}

type Bound = Result<(), ProcedureError>;
