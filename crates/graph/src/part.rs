//! A part of a graph, for another process: some of its tasks, and what they read from outside of the part.
//!
//! Law: the tasks of a part have the recipes there that they have here. Whoever makes a graph of it computes them again, and
//! refuses the part if one differs: then the two do not speak of the same operation.

mod operations;

use std::collections::HashMap;
use std::sync::Arc;

use crate::wire::{WireError, WireReader, WireWriter};
use crate::{
    External, GraphError, Identity, NewTask, Operation, Recipe, Registry, Scalar, Source,
    StoredOutput, TaskGraph, TaskId, Value,
};

pub use operations::DescribedOperation;

/// Something that a part reads: a product of a task that is not in it, or something from outside of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// What it is by content, or by the name that it is known by.
    pub identity: Identity,
    /// The task that made it, and the name of the output; `None` for what comes from outside of the graph.
    pub product: Option<(Recipe, Arc<str>)>,
    /// Its bytes, or which object they are.
    pub output: StoredOutput,
}

/// Where an input of a task of a part comes from.
#[derive(Debug, Clone, PartialEq)]
enum PartSource {
    /// A task of the part, by position, and the position of its output.
    Task(u32, u16),
    /// Something that is given, by position.
    Given(u32),
    List(Vec<PartSource>),
    Record(Vec<(Arc<str>, PartSource)>),
}

/// A task of a part.
#[derive(Debug, Clone, PartialEq)]
struct PartTask {
    recipe: Recipe,
    operation: u32,
    parameters: Vec<Scalar>,
    inputs: Vec<(u16, PartSource)>,
}

/// Some tasks of a graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphPart {
    operations: Vec<DescribedOperation>,
    given: Vec<Given>,
    tasks: Vec<PartTask>,
}

/// A part that cannot be made to a graph here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// Bytes that are no part.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// An operation that this program does not have.
    #[error("operation `{0}` is not known here")]
    Unknown(Arc<str>),
    /// An operation of which this program has another version.
    #[error("operation `{name}` has version `{here}` here, and version `{there}` is wanted")]
    Version {
        /// Which.
        name: Arc<str>,
        /// What there is.
        here: Arc<str>,
        /// What is wanted.
        there: Arc<str>,
    },
    /// A task that is another one here.
    #[error("a task of `{0}` has another recipe here: the two programs are not of one build")]
    Recipe(Arc<str>),
    /// Something that it reads is not there.
    #[error("what a task of `{0}` reads cannot be had here")]
    Missing(Arc<str>),
    /// Tasks that fit no graph.
    #[error("{0}")]
    Graph(String),
}

impl From<GraphError> for PartError {
    fn from(error: GraphError) -> PartError {
        PartError::Graph(error.to_string())
    }
}

/// Says what things are that a part reads and does not make.
pub trait Giver {
    /// An output of a task of the graph; `None` where nobody has it.
    fn product(&mut self, task: TaskId, port: u16) -> Option<(Identity, StoredOutput)>;

    /// Something from outside of the graph, and its position there; `None` where it cannot travel.
    fn external(&mut self, position: u32, external: &External) -> Option<StoredOutput>;
}

/// Makes one part.
struct Cutting<'a> {
    graph: &'a TaskGraph,
    giver: &'a mut dyn Giver,
    part: GraphPart,
    tasks: HashMap<TaskId, u32>,
    operations: HashMap<u32, u32>,
    products: HashMap<(TaskId, u16), u32>,
    externals: HashMap<u32, u32>,
}

impl Cutting<'_> {
    fn give(&mut self, given: Given) -> u32 {
        self.part.given.push(given);
        self.part.given.len() as u32 - 1
    }

    fn source(&mut self, source: &Source) -> Option<PartSource> {
        Some(match source {
            Source::Product { task, port } => {
                if let Some(place) = self.tasks.get(task) {
                    return Some(PartSource::Task(*place, *port));
                }
                if let Some(place) = self.products.get(&(*task, *port)) {
                    return Some(PartSource::Given(*place));
                }
                let (identity, output) = self.giver.product(*task, *port)?;
                let signature = &self.graph.operation_at(*task).signature;
                let name = &signature.outputs[usize::from(*port)].name;
                let place = self.give(Given {
                    identity,
                    product: Some((self.graph.recipe(*task), Arc::clone(name))),
                    output,
                });
                self.products.insert((*task, *port), place);
                PartSource::Given(place)
            }
            Source::External(position) => {
                if let Some(place) = self.externals.get(position) {
                    return Some(PartSource::Given(*place));
                }
                let external = self.graph.external_at(*position);
                let output = self.giver.external(*position, external)?;
                let place = self.give(Given {
                    identity: external.identity.clone(),
                    product: None,
                    output,
                });
                self.externals.insert(*position, place);
                PartSource::Given(place)
            }
            Source::List(sources) => {
                let sources = sources.iter().map(|source| self.source(source));
                PartSource::List(sources.collect::<Option<_>>()?)
            }
            Source::Record(fields) => {
                let field = |(key, source): &(Arc<str>, Source)| {
                    Some((Arc::clone(key), self.source(source)?))
                };
                PartSource::Record(fields.iter().map(field).collect::<Option<_>>()?)
            }
        })
    }

    fn task(&mut self, task: TaskId) -> Option<()> {
        let operation = self.graph.operation_index(task);
        let operation = match self.operations.get(&operation) {
            Some(place) => *place,
            None => {
                let described = DescribedOperation::of(self.graph.operation_at(task))?;
                self.part.operations.push(described);
                let place = self.part.operations.len() as u32 - 1;
                self.operations.insert(operation, place);
                place
            }
        };
        let inputs = self.graph.inputs(task).iter();
        let inputs = inputs.map(|(port, source)| Some((*port, self.source(source)?)));
        let inputs = inputs.collect::<Option<_>>()?;
        self.part.tasks.push(PartTask {
            recipe: self.graph.recipe(task),
            operation,
            parameters: self.graph.parameters(task).to_vec(),
            inputs,
        });
        self.tasks.insert(task, self.part.tasks.len() as u32 - 1);
        Some(())
    }
}

impl GraphPart {
    /// These tasks of a graph, each after those of them that it reads from. `None` where one of them cannot be done
    /// elsewhere: it is impure, or what it reads cannot travel.
    pub fn of(graph: &TaskGraph, tasks: &[TaskId], giver: &mut dyn Giver) -> Option<GraphPart> {
        let mut cutting = Cutting {
            graph,
            giver,
            part: GraphPart::default(),
            tasks: HashMap::new(),
            operations: HashMap::new(),
            products: HashMap::new(),
            externals: HashMap::new(),
        };
        for task in tasks {
            cutting.task(*task)?;
        }
        Some(cutting.part)
    }

    /// How many tasks it has.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The recipes of its tasks.
    pub fn recipes(&self) -> impl ExactSizeIterator<Item = &Recipe> {
        self.tasks.iter().map(|task| &task.recipe)
    }

    /// What it reads and does not make.
    pub fn given(&self) -> &[Given] {
        &self.given
    }

    /// The operations of its tasks.
    pub fn operations(&self) -> &[DescribedOperation] {
        &self.operations
    }

    /// Its tasks as a graph, in the order of the part. Operations of libraries are those of `libraries`; programs are as
    /// the part says, after `program` has looked at them. `value` gives what is given.
    pub fn graph(
        &self,
        libraries: &Registry,
        program: &mut dyn FnMut(Operation) -> Result<Operation, PartError>,
        value: &mut dyn FnMut(&Given) -> Option<Value>,
    ) -> Result<TaskGraph, PartError> {
        let mut graph = TaskGraph::new();
        graph.reserve(self.tasks.len());
        let mut operations = Vec::with_capacity(self.operations.len());
        for described in &self.operations {
            operations.push(graph.operation(&described.found(libraries, program)?));
        }
        let mut given: Vec<Option<Source>> = vec![None; self.given.len()];
        for task in &self.tasks {
            let position = *operations
                .get(task.operation as usize)
                .ok_or(WireError::Unknown {
                    what: "an operation of the part",
                    at: 0,
                })?;
            let name = Arc::clone(&graph.operations()[position as usize].signature.name);
            let mut bound = |graph: &mut TaskGraph, place: u32| {
                let unknown = WireError::Unknown {
                    what: "something that is given",
                    at: 0,
                };
                let slot = given.get_mut(place as usize).ok_or(unknown)?;
                if let Some(source) = slot {
                    return Ok(source.clone());
                }
                let wanted = &self.given[place as usize];
                let missing = || PartError::Missing(Arc::clone(&name));
                let external = External {
                    identity: wanted.identity.clone(),
                    value: value(wanted).ok_or_else(missing)?,
                };
                let source = match &wanted.product {
                    Some((recipe, port)) => graph.product_of_another(external, recipe, port),
                    None => graph.external(external),
                };
                *slot = Some(source.clone());
                Ok(source)
            };
            let mut inputs = Vec::with_capacity(task.inputs.len());
            for (port, source) in &task.inputs {
                inputs.push((*port, source.bound(&mut graph, &mut bound)?));
            }
            let (added, is_new) = graph.add(&NewTask {
                operation: position,
                parameters: &task.parameters,
                inputs: &inputs,
                address: "",
            })?;
            if graph.recipe(added) != task.recipe || !is_new {
                return Err(PartError::Recipe(name));
            }
        }
        Ok(graph)
    }

    /// As bytes.
    pub fn write(&self, writer: &mut WireWriter) {
        writer.count(self.operations.len());
        self.operations
            .iter()
            .for_each(|operation| operation.write(writer));
        writer.count(self.given.len());
        self.given.iter().for_each(|given| given.write(writer));
        writer.count(self.tasks.len());
        for task in &self.tasks {
            writer.recipe(&task.recipe);
            writer.number(task.operation.into());
            writer.count(task.parameters.len());
            task.parameters
                .iter()
                .for_each(|parameter| writer.scalar(parameter));
            writer.count(task.inputs.len());
            for (port, source) in &task.inputs {
                writer.number((*port).into());
                source.write(writer);
            }
        }
    }

    /// From bytes.
    pub fn read(reader: &mut WireReader<'_>) -> Result<GraphPart, WireError> {
        let operations = reader.list(DescribedOperation::read)?;
        let given = reader.list(Given::read)?;
        let tasks = reader.list(|reader| {
            Ok(PartTask {
                recipe: reader.recipe()?,
                operation: reader.small()?,
                parameters: reader.list(WireReader::scalar)?,
                inputs: reader.list(|reader| Ok((port(reader)?, PartSource::read(reader, 0)?)))?,
            })
        })?;
        Ok(GraphPart {
            operations,
            given,
            tasks,
        })
    }
}

/// The position of a port.
fn port(reader: &mut WireReader<'_>) -> Result<u16, WireError> {
    u16::try_from(reader.number()?).map_err(|_| reader.unknown("the position of a port"))
}

/// Lists in lists, at most this deep.
const DEEPEST: u32 = 64;

/// Finds, or makes, the source that something given is.
type Bound<'a> = dyn FnMut(&mut TaskGraph, u32) -> Result<Source, PartError> + 'a;

impl PartSource {
    fn bound(&self, graph: &mut TaskGraph, given: &mut Bound<'_>) -> Result<Source, PartError> {
        Ok(match self {
            PartSource::Task(task, port) => Source::Product {
                task: TaskId(*task),
                port: *port,
            },
            PartSource::Given(place) => given(graph, *place)?,
            PartSource::List(sources) => {
                let sources = sources.iter().map(|source| source.bound(graph, given));
                Source::List(Arc::new(sources.collect::<Result<_, _>>()?))
            }
            PartSource::Record(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, source)| Ok((Arc::clone(key), source.bound(graph, given)?)));
                Source::Record(Arc::new(fields.collect::<Result<_, PartError>>()?))
            }
        })
    }

    fn write(&self, writer: &mut WireWriter) {
        match self {
            PartSource::Task(task, port) => {
                writer.byte(0);
                writer.number((*task).into());
                writer.number((*port).into());
            }
            PartSource::Given(place) => {
                writer.byte(1);
                writer.number((*place).into());
            }
            PartSource::List(sources) => {
                writer.byte(2);
                writer.count(sources.len());
                sources.iter().for_each(|source| source.write(writer));
            }
            PartSource::Record(fields) => {
                writer.byte(3);
                writer.count(fields.len());
                for (key, source) in fields {
                    writer.text(key);
                    source.write(writer);
                }
            }
        }
    }

    fn read(reader: &mut WireReader<'_>, depth: u32) -> Result<PartSource, WireError> {
        if depth > DEEPEST {
            return Err(reader.unknown("a source that is less deep"));
        }
        Ok(match reader.byte()? {
            0 => PartSource::Task(reader.small()?, port(reader)?),
            1 => PartSource::Given(reader.small()?),
            2 => PartSource::List(reader.list(|reader| PartSource::read(reader, depth + 1))?),
            3 => PartSource::Record(
                reader.list(|reader| Ok((reader.name()?, PartSource::read(reader, depth + 1)?)))?,
            ),
            _ => return Err(reader.unknown("a source")),
        })
    }
}

impl Given {
    fn write(&self, writer: &mut WireWriter) {
        self.identity.write(writer);
        writer.option(self.product.as_ref(), |writer, (recipe, port)| {
            writer.recipe(recipe);
            writer.text(port);
        });
        self.output.write(writer);
    }

    fn read(reader: &mut WireReader<'_>) -> Result<Given, WireError> {
        Ok(Given {
            identity: Identity::read(reader)?,
            product: reader.option(|reader| Ok((reader.recipe()?, reader.name()?)))?,
            output: StoredOutput::read(reader)?,
        })
    }
}

impl Identity {
    /// Writes it for another process.
    pub fn write(&self, writer: &mut WireWriter) {
        match self {
            Identity::File(digest) => {
                writer.byte(0);
                writer.digest(digest);
            }
            Identity::Directory(digest) => {
                writer.byte(1);
                writer.digest(digest);
            }
            Identity::Value(digest) => {
                writer.byte(2);
                writer.digest(digest);
            }
            Identity::Name(name) => {
                writer.byte(3);
                writer.text(name);
            }
        }
    }

    /// Reads what another process wrote.
    pub fn read(reader: &mut WireReader<'_>) -> Result<Identity, WireError> {
        Ok(match reader.byte()? {
            0 => Identity::File(reader.digest()?),
            1 => Identity::Directory(reader.digest()?),
            2 => Identity::Value(reader.digest()?),
            3 => Identity::Name(reader.name()?),
            _ => return Err(reader.unknown("an identity")),
        })
    }
}

impl StoredOutput {
    /// Writes it for another process.
    pub fn write(&self, writer: &mut WireWriter) {
        writer.digest(&self.digest);
        writer.number(self.size);
        writer.option(self.inline.as_deref(), WireWriter::bytes);
        writer.option(self.encoding.as_ref(), WireWriter::digest);
    }

    /// Reads what another process wrote.
    pub fn read(reader: &mut WireReader<'_>) -> Result<StoredOutput, WireError> {
        Ok(StoredOutput {
            digest: reader.digest()?,
            size: reader.number()?,
            inline: reader.option(|reader| Ok(reader.bytes()?.into()))?,
            encoding: reader.option(WireReader::digest)?,
        })
    }
}
