//! Items and their versions: calls become tasks.
//!
//! Law: a write makes a new version of an item, and a call reads the versions that stood when it was made. So every
//! call reads what it would have read if all calls had run one after the other, whatever runs when; that a later call
//! writes over something is nothing that an earlier one has to be waited for. Two calls that compute the same are one
//! task of the graph, and a task depends only on tasks that were there before it: there are no cycles.

use std::sync::Arc;

use headwater_graph::{
    GraphError, NewTask, Operation, ParameterDeclaration, Scalar, Signature, Source, TaskGraph,
    TaskId, Type,
};

use crate::{Access, Argument, CallId, ItemId, Mode, Object, Tracker};

/// What is bound to a port of the operation that is called. Ports are positions in its signature.
#[derive(Debug, Clone, PartialEq)]
pub enum Binding {
    /// An item that is read.
    In {
        /// The input.
        input: u16,
        /// The item.
        item: ItemId,
    },
    /// Items that are read as one list.
    InList {
        /// The input.
        input: u16,
        /// The items, in order.
        items: Vec<ItemId>,
    },
    /// Something that is read and is no item.
    Given {
        /// The input.
        input: u16,
        /// What it is.
        source: Source,
        /// Its type.
        given: Type,
    },
    /// An item that is written.
    Out {
        /// The output.
        output: u16,
        /// The item.
        item: ItemId,
    },
    /// An item that is read and written.
    InOut {
        /// The input.
        input: u16,
        /// The output.
        output: u16,
        /// The item.
        item: ItemId,
    },
}

/// A call that cannot be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// An item is read that nobody has given or written.
    #[error("`{operation}` reads `{item}`, which has no value yet")]
    NoValue {
        /// The operation.
        operation: Arc<str>,
        /// The item.
        item: String,
    },
    /// A scalar is passed by value before it is there.
    #[error(
        "`{operation}` reads the scalar `{item}`, which call {writer} has yet to give; in optimistic mode scalars are \
         passed by value"
    )]
    NotYet {
        /// The operation.
        operation: Arc<str>,
        /// The item.
        item: String,
        /// The call.
        writer: u32,
    },
    /// An item does not fit a port.
    #[error("port `{port}` of `{operation}` takes `{wanted}`, but `{item}` is `{given}`")]
    Types {
        /// The operation.
        operation: Arc<str>,
        /// The port.
        port: Arc<str>,
        /// What it takes or gives.
        wanted: Type,
        /// The item.
        item: String,
        /// What the item holds.
        given: Type,
    },
    /// One call writes an item twice.
    #[error("`{operation}` writes `{item}` twice")]
    Twice {
        /// The operation.
        operation: Arc<str>,
        /// The item.
        item: String,
    },
    /// A port or a parameter is bound twice.
    #[error("`{port}` of `{operation}` is bound twice")]
    Bound {
        /// The operation.
        operation: Arc<str>,
        /// The port or the parameter.
        port: Arc<str>,
    },
    /// A parameter without value and without default.
    #[error("parameter `{parameter}` of `{operation}` has no value")]
    Parameter {
        /// The operation.
        operation: Arc<str>,
        /// The parameter.
        parameter: Arc<str>,
    },
    /// A value that a parameter does not take.
    #[error("parameter `{parameter}` of `{operation}` takes `{wanted}`, not `{given}`")]
    Value {
        /// The operation.
        operation: Arc<str>,
        /// The parameter.
        parameter: Arc<str>,
        /// What it takes.
        wanted: Type,
        /// What is given.
        given: String,
    },
    /// Two operations have one name and one version.
    #[error(
        "two operations are called `{operation}` with version `{version}`, but their ports or parameters differ"
    )]
    Clash {
        /// Their name.
        operation: Arc<str>,
        /// Their version.
        version: Arc<str>,
    },
    /// Whatever else the graph does not take.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl CallError {
    /// What would help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CallError::NoValue { .. } => {
                Some("give it a value, or call something that writes it first")
            }
            CallError::NotYet { .. } => Some(
                "ask the sequence for its value first, or begin the sequence in restrictive mode",
            ),
            CallError::Twice { .. } => Some("give each output an item of its own"),
            CallError::Types { .. } => {
                Some("pass an item of that type, or have a call make one of this")
            }
            CallError::Bound { .. } => Some("bind each port and each parameter once"),
            CallError::Parameter { .. } => Some("give it a value: it has no default"),
            CallError::Value { .. } => Some(
                "parameters are finite numbers, texts and truth values; pass anything else as an item",
            ),
            CallError::Clash { .. } => Some("give one of them another name, or another version"),
            _ => None,
        }
    }
}

/// An item as it stands.
#[derive(Debug, Clone)]
struct Standing {
    name: Option<Arc<str>>,
    declared: Type,
    /// The version that is read next.
    source: Option<Source>,
    /// Who wrote it; none for what came from outside.
    writer: Option<CallId>,
    /// Its value has been asked for and is known to the program.
    seen: bool,
}

/// A call as it was made.
#[derive(Debug, Clone, Copy)]
struct Made {
    task: TaskId,
    arguments: u32,
}

/// The calls of a program so far.
#[derive(Debug)]
pub struct Program {
    tracker: Tracker,
    mode: Mode,
    items: Vec<Standing>,
    calls: Vec<Made>,
    /// The arguments of all calls, one after the other.
    arguments: Vec<Argument>,
}

impl Program {
    /// A program without calls.
    pub fn new(mode: Mode) -> Program {
        Program {
            tracker: Tracker::new(mode),
            mode,
            items: Vec::new(),
            calls: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// What is done about scalars.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The dependences between calls.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// A new item that holds things of a type, with a value from outside or without any.
    pub fn item(&mut self, declared: Type, source: Option<Source>) -> ItemId {
        self.items.push(Standing {
            name: None,
            declared,
            seen: source.is_some(),
            source,
            writer: None,
        });
        ItemId((self.items.len() - 1) as u32)
    }

    /// Gives an item a name, for people.
    pub fn name(&mut self, item: ItemId, name: &str) {
        self.items[item.index()].name = Some(name.into());
    }

    /// What people call an item.
    pub fn name_of(&self, item: ItemId) -> String {
        match &self.items[item.index()].name {
            Some(name) => name.to_string(),
            None => format!("item {}", item.0),
        }
    }

    /// How many items there are.
    pub fn items(&self) -> usize {
        self.items.len()
    }

    /// How many calls there are.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// What an item is now: a product, something from outside, or nothing yet.
    pub fn source(&self, item: ItemId) -> Option<&Source> {
        self.items[item.index()].source.as_ref()
    }

    /// The call that wrote an item last.
    pub fn writer(&self, item: ItemId) -> Option<CallId> {
        self.items[item.index()].writer
    }

    /// What an item holds.
    pub fn declared(&self, item: ItemId) -> &Type {
        &self.items[item.index()].declared
    }

    /// The task that a call is; equal calls are one.
    pub fn task(&self, call: CallId) -> TaskId {
        self.calls[call.index()].task
    }

    /// The arguments of a call.
    pub fn arguments(&self, call: CallId) -> &[Argument] {
        let begin = self.calls[call.index()].arguments as usize;
        let end = self.calls.get(call.index() + 1);
        let end = end.map_or(self.arguments.len(), |next| next.arguments as usize);
        &self.arguments[begin..end]
    }

    /// The program knows the value of an item, so that it can pass it by value.
    pub fn seen(&mut self, item: ItemId) {
        self.items[item.index()].seen = true;
    }

    /// Makes a call: adds its task to the graph and gives the items that it writes their new versions. `parameters`
    /// are positions and values; one that is left out takes its default. `address` tells impure calls apart.
    pub fn call(
        &mut self,
        graph: &mut TaskGraph,
        operation: &Arc<Operation>,
        bindings: &[Binding],
        parameters: &[(u16, Scalar)],
        address: &str,
    ) -> Result<CallId, CallError> {
        let signature = &operation.signature;
        let values = values(signature, parameters)?;
        let inputs = self.inputs(signature, bindings)?;
        let written = self.written(signature, bindings)?;
        let most = bindings.len() + values.len() + inputs.len();
        if self.arguments.len() + most >= u32::MAX as usize {
            return Err(GraphError::Full.into());
        }
        let position = graph.operation(operation);
        let known = &graph.operations()[position as usize];
        if !Arc::ptr_eq(known, operation) && known.signature != *signature {
            return Err(CallError::Clash {
                operation: Arc::clone(&signature.name),
                version: Arc::clone(&signature.version),
            });
        }
        let task = NewTask {
            operation: position,
            parameters: &values,
            inputs: &inputs,
            address,
        };
        let (task, _) = graph.add(&task)?;
        // Nothing can go wrong any more.
        let first = self.arguments.len();
        self.note_arguments(bindings, &values);
        let call = self.tracker.call(&self.arguments[first..]);
        self.calls.push(Made {
            task,
            arguments: first as u32,
        });
        for (item, port) in written {
            let item = &mut self.items[item.index()];
            item.source = Some(Source::Product { task, port });
            item.writer = Some(call);
            item.seen = false;
        }
        Ok(call)
    }

    /// What the bound inputs are, in the order of the ports.
    fn inputs(
        &self,
        signature: &Signature,
        bindings: &[Binding],
    ) -> Result<Vec<(u16, Source)>, CallError> {
        let mut inputs = Vec::with_capacity(bindings.len());
        for binding in bindings {
            match binding {
                Binding::In { input, item } | Binding::InOut { input, item, .. } => {
                    let wanted = &signature.inputs[usize::from(*input)].port_type;
                    inputs.push((*input, self.read(signature, *input, wanted, *item)?));
                }
                Binding::InList { input, items } => {
                    let wanted = &signature.inputs[usize::from(*input)].port_type;
                    let element = wanted.element().unwrap_or(&Type::Any);
                    let read = |item: &ItemId| self.read(signature, *input, element, *item);
                    let sources: Result<Vec<Source>, CallError> = items.iter().map(read).collect();
                    inputs.push((*input, Source::List(Arc::new(sources?))));
                }
                Binding::Given {
                    input,
                    source,
                    given,
                } => {
                    let port = &signature.inputs[usize::from(*input)];
                    if !port.port_type.accepts(given) {
                        return Err(CallError::Types {
                            operation: Arc::clone(&signature.name),
                            port: Arc::clone(&port.name),
                            wanted: port.port_type.clone(),
                            item: "the value".to_owned(),
                            given: given.clone(),
                        });
                    }
                    inputs.push((*input, source.clone()));
                }
                Binding::Out { .. } => {}
            }
        }
        inputs.sort_by_key(|(input, _)| *input);
        let twice = inputs.windows(2).find(|pair| pair[0].0 == pair[1].0);
        match twice {
            None => Ok(inputs),
            Some(pair) => Err(CallError::Bound {
                operation: Arc::clone(&signature.name),
                port: Arc::clone(&signature.inputs[usize::from(pair[0].0)].name),
            }),
        }
    }

    /// What an item is, for a port that reads it.
    fn read(
        &self,
        signature: &Signature,
        input: u16,
        wanted: &Type,
        item: ItemId,
    ) -> Result<Source, CallError> {
        let standing = &self.items[item.index()];
        let operation = || Arc::clone(&signature.name);
        let Some(source) = &standing.source else {
            return Err(CallError::NoValue {
                operation: operation(),
                item: self.name_of(item),
            });
        };
        if let (Mode::Optimistic, Object::Scalar(_), false, Some(writer)) = (
            self.mode,
            Object::of(&standing.declared),
            standing.seen,
            standing.writer,
        ) {
            return Err(CallError::NotYet {
                operation: operation(),
                item: self.name_of(item),
                writer: writer.0,
            });
        }
        self.fits(
            signature,
            &signature.inputs[usize::from(input)].name,
            wanted,
            item,
            wanted.accepts(&standing.declared),
        )?;
        Ok(source.clone())
    }

    fn fits(
        &self,
        signature: &Signature,
        port: &Arc<str>,
        wanted: &Type,
        item: ItemId,
        fits: bool,
    ) -> Result<(), CallError> {
        if fits {
            return Ok(());
        }
        Err(CallError::Types {
            operation: Arc::clone(&signature.name),
            port: Arc::clone(port),
            wanted: wanted.clone(),
            item: self.name_of(item),
            given: self.items[item.index()].declared.clone(),
        })
    }

    /// The items that are written, and the outputs that they become.
    fn written(
        &self,
        signature: &Signature,
        bindings: &[Binding],
    ) -> Result<Vec<(ItemId, u16)>, CallError> {
        let mut written = Vec::new();
        for binding in bindings {
            let (Binding::Out { output, item } | Binding::InOut { output, item, .. }) = binding
            else {
                continue;
            };
            let port = &signature.outputs[usize::from(*output)];
            let declared = &self.items[item.index()].declared;
            self.fits(
                signature,
                &port.name,
                &port.port_type,
                *item,
                declared.accepts(&port.port_type),
            )?;
            written.push((*item, *output));
        }
        let mut outputs: Vec<u16> = written.iter().map(|(_, output)| *output).collect();
        outputs.sort_unstable();
        if let Some(pair) = outputs.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CallError::Bound {
                operation: Arc::clone(&signature.name),
                port: Arc::clone(&signature.outputs[usize::from(pair[0])].name),
            });
        }
        let mut items: Vec<ItemId> = written.iter().map(|(item, _)| *item).collect();
        items.sort_unstable();
        if let Some(pair) = items.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CallError::Twice {
                operation: Arc::clone(&signature.name),
                item: self.name_of(pair[0]),
            });
        }
        Ok(written)
    }

    /// Notes what a call does with which item, for the dependences and for those who draw them.
    fn note_arguments(&mut self, bindings: &[Binding], values: &[Scalar]) {
        let items = &self.items;
        let argument = |access: Access, item: &ItemId| Argument {
            access,
            object: Object::of(&items[item.index()].declared),
            reference: Some(*item),
        };
        for binding in bindings {
            match binding {
                Binding::In { item, .. } => self.arguments.push(argument(Access::In, item)),
                Binding::InList { items, .. } => {
                    let arguments = items.iter().map(|item| argument(Access::In, item));
                    self.arguments.extend(arguments);
                }
                Binding::Given { given, .. } => {
                    if let object @ Object::Scalar(_) = Object::of(given) {
                        self.arguments.push(by_value(object));
                    }
                }
                Binding::Out { item, .. } => self.arguments.push(argument(Access::Out, item)),
                Binding::InOut { item, .. } => self.arguments.push(argument(Access::InOut, item)),
            }
        }
        let values = values.iter().map(Scalar::scalar_type);
        self.arguments
            .extend(values.map(|value| by_value(Object::Scalar(value))));
    }
}

/// A scalar that is passed by value.
fn by_value(object: Object) -> Argument {
    Argument {
        access: Access::In,
        object,
        reference: None,
    }
}

/// One value per declared parameter, coerced.
fn values(signature: &Signature, given: &[(u16, Scalar)]) -> Result<Vec<Scalar>, CallError> {
    let operation = || Arc::clone(&signature.name);
    let value = |(position, declared): (usize, &ParameterDeclaration)| {
        let mut found = given
            .iter()
            .filter(|(bound, _)| usize::from(*bound) == position);
        let value = found.next().map(|(_, value)| value);
        if found.next().is_some() {
            return Err(CallError::Bound {
                operation: operation(),
                port: Arc::clone(&declared.name),
            });
        }
        let Some(value) = value.or(declared.default.as_ref()) else {
            return Err(CallError::Parameter {
                operation: operation(),
                parameter: Arc::clone(&declared.name),
            });
        };
        value
            .coerce(declared.scalar_type, declared.truncate)
            .ok_or_else(|| CallError::Value {
                operation: operation(),
                parameter: Arc::clone(&declared.name),
                wanted: declared.scalar_type.into(),
                given: value.to_string(),
            })
    };
    signature.parameters.iter().enumerate().map(value).collect()
}
