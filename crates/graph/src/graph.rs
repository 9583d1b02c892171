//! The task graph: nodes are tasks, hash-consed by recipe.
//!
//! Law: adding a task that is already there returns the existing node, so sharing across parameter sets
//! needs no search. A task can only name tasks that are there already, so the graph has no cycles and the
//! order of ids is a topological order. An impure task is never shared: its key includes its address.
//!
//! The layout is what keeps a million tasks small: a node is a few words, its inputs and parameters lie in
//! two arenas.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::{Identity, Operation, Recipe, RecipeBuilder, Scalar, Signature, Type, Value};

/// A node of a [`TaskGraph`]. Ids count from 0, and inputs have smaller ids than the tasks that read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The id as a position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// An output of a task.
    Product {
        /// The task.
        task: TaskId,
        /// The position of the output in its signature.
        port: u16,
    },
    /// Something from outside, by its position in the graph's table.
    External(u32),
    /// Several sources as one list, in index order.
    List(Arc<Vec<Source>>),
    /// Several sources as one record, sorted by key.
    Record(Arc<Vec<(Arc<str>, Source)>>),
}

impl Source {
    /// Calls `visit` with every task that this source needs.
    pub fn for_each_task(&self, visit: &mut impl FnMut(TaskId)) {
        self.for_each_product(&mut |task, _| visit(task));
    }

    /// Calls `visit` with every product that this source needs: a task, and the position of its output.
    pub fn for_each_product(&self, visit: &mut impl FnMut(TaskId, u16)) {
        match self {
            Source::Product { task, port } => visit(*task, *port),
            Source::External(_) => {}
            Source::List(sources) => sources
                .iter()
                .for_each(|source| source.for_each_product(visit)),
            Source::Record(fields) => fields
                .iter()
                .for_each(|(_, source)| source.for_each_product(visit)),
        }
    }
}

/// Something from outside: a file, a value.
#[derive(Debug, Clone)]
pub struct External {
    /// What it is.
    pub identity: Identity,
    /// How to get at it.
    pub value: Value,
}

/// A node.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Its key.
    pub recipe: Recipe,
    operation: u32,
    inputs: u32,
    parameters: u32,
    input_count: u16,
}

/// A task to be added.
#[derive(Debug)]
pub struct NewTask<'a> {
    /// The position of the operation, from [`TaskGraph::operation`].
    pub operation: u32,
    /// One value per parameter, in the order of the signature, coerced to the declared types.
    pub parameters: &'a [Scalar],
    /// (position of the port, source), in the order of the signature; unbound optional ports are left out.
    pub inputs: &'a [(u16, Source)],
    /// Where it stands; part of the key of impure tasks only.
    pub address: &'a str,
}

/// A task that cannot be added.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GraphError {
    /// A required input without source.
    #[error("input `{port}` of `{operation}` is not bound")]
    Unbound {
        /// Whose.
        operation: Arc<str>,
        /// Which.
        port: Arc<str>,
    },
    /// Inputs out of order, twice, or beyond the signature.
    #[error("the inputs of `{operation}` are not given once each, in the order of its ports")]
    Ports {
        /// Whose.
        operation: Arc<str>,
    },
    /// The types of two ports do not fit.
    #[error(
        "port `{port}` of `{operation}` takes `{wanted}`, but port `{from_port}` of `{from}` gives `{given}`"
    )]
    Types {
        /// The reader.
        operation: Arc<str>,
        /// Its port.
        port: Arc<str>,
        /// What the port takes.
        wanted: Type,
        /// The maker.
        from: Arc<str>,
        /// Its port.
        from_port: Arc<str>,
        /// What that gives.
        given: Type,
    },
    /// A source that is not in this graph.
    #[error("an input of `{operation}` names a task or a port that is not in the graph")]
    Unknown {
        /// The reader.
        operation: Arc<str>,
    },
    /// Several sources as one list, for a port that takes a single thing.
    #[error("port `{port}` of `{operation}` takes `{wanted}`, but a list is bound to it")]
    NoList {
        /// The reader.
        operation: Arc<str>,
        /// Its port.
        port: Arc<str>,
        /// What the port takes.
        wanted: Type,
    },
    /// A record for a port that takes none, or one whose keys are not in order or not unique.
    #[error(
        "port `{port}` of `{operation}` takes `{wanted}`, but a record is bound to it or its keys are not in order"
    )]
    NoRecord {
        /// The reader.
        operation: Arc<str>,
        /// Its port.
        port: Arc<str>,
        /// What the port takes.
        wanted: Type,
    },
    /// Too many parameter values, or too few.
    #[error("`{operation}` has {declared} parameters, but {given} values are given")]
    ParameterCount {
        /// Whose.
        operation: Arc<str>,
        /// How many values there are.
        given: usize,
        /// How many there should be.
        declared: usize,
    },
    /// A parameter value that is not of its declared type, or not a number.
    #[error("parameter `{parameter}` of `{operation}` is not of its declared type")]
    Parameter {
        /// Whose.
        operation: Arc<str>,
        /// Which.
        parameter: Arc<str>,
    },
    /// More tasks, inputs or parameters than there are numbers for.
    #[error("a graph holds at most 4,294,967,294 tasks, inputs and parameters each")]
    Full,
}

/// Tasks by recipe.
#[derive(Debug, Default)]
pub struct TaskGraph {
    operations: Vec<Arc<Operation>>,
    tasks: Vec<Task>,
    inputs: Vec<(u16, Source)>,
    parameters: Vec<Scalar>,
    externals: Vec<External>,
    /// Externals that are products of another graph, by position: the task that made each, and the name of the output.
    others: HashMap<u32, (Recipe, Arc<str>)>,
    /// Only ids: the recipes are in `tasks`, and a small table stays in the cache.
    by_recipe: HashTable<TaskId>,
    builder: RecipeBuilder,
    /// Equal tasks stay apart, and recipes mean nothing.
    unshared: bool,
}

/// The place of a recipe in the table. Its bytes are uniformly distributed already.
fn spread(recipe: &Recipe) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&recipe.0[..8]);
    u64::from_le_bytes(first)
}

/// Writes what a recipe begins with. An error names the parameter that is not of its declared type.
fn begin(
    builder: &mut RecipeBuilder,
    signature: &Signature,
    parameters: &[Scalar],
) -> Result<(), Arc<str>> {
    builder.begin(&signature.name, &signature.version);
    builder.parameters(signature.parameters.len());
    for (declared, value) in signature.parameters.iter().zip(parameters) {
        let fits = value.scalar_type() == declared.scalar_type;
        if !fits || builder.parameter(&declared.name, value).is_err() {
            return Err(Arc::clone(&declared.name));
        }
    }
    Ok(())
}

impl TaskGraph {
    /// An empty graph.
    pub fn new() -> TaskGraph {
        TaskGraph::default()
    }

    /// An empty graph in which every task that is added is a new one, even if it is equal to another. Such a graph
    /// describes a workflow before its parameters have values; its recipes stand for nothing.
    pub fn unshared() -> TaskGraph {
        TaskGraph {
            unshared: true,
            ..TaskGraph::default()
        }
    }

    /// Makes room for that many more tasks.
    pub fn reserve(&mut self, tasks: usize) {
        self.tasks.reserve(tasks);
        let known = &self.tasks;
        self.by_recipe
            .reserve(tasks, |id| spread(&known[id.index()].recipe));
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// All ids, in topological order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = TaskId> + use<> {
        (0..self.tasks.len() as u32).map(TaskId)
    }

    /// The position of an operation in this graph; it is added where it is new.
    pub fn operation(&mut self, operation: &Arc<Operation>) -> u32 {
        // Almost always it is the very same one: look for that before comparing names.
        let very_same = |known: &Arc<Operation>| Arc::ptr_eq(known, operation);
        let (name, version) = (&operation.signature.name, &operation.signature.version);
        let same = |known: &Arc<Operation>| {
            known.signature.name == *name && known.signature.version == *version
        };
        let found = self.operations.iter().position(very_same);
        let found = found.or_else(|| self.operations.iter().position(same));
        let position = found.unwrap_or_else(|| {
            self.operations.push(Arc::clone(operation));
            self.operations.len() - 1
        });
        position as u32
    }

    /// All operations of this graph, by position.
    pub fn operations(&self) -> &[Arc<Operation>] {
        &self.operations
    }

    /// Adds something from outside.
    pub fn external(&mut self, external: External) -> Source {
        self.externals.push(External {
            value: external.value.plain(),
            ..external
        });
        Source::External((self.externals.len() - 1) as u32)
    }

    /// Adds a product of a task that is in another graph. What reads it has the recipe that it has there; its identity
    /// is what it is by content.
    pub fn product_of_another(
        &mut self,
        external: External,
        recipe: &Recipe,
        port: &Arc<str>,
    ) -> Source {
        let source = self.external(external);
        if let Source::External(position) = source {
            self.others.insert(position, (*recipe, Arc::clone(port)));
        }
        source
    }

    /// Something from outside, by position.
    pub fn external_at(&self, position: u32) -> &External {
        &self.externals[position as usize]
    }

    /// Adds a task, or finds it; the second part tells whether it is new.
    pub fn add(&mut self, new: &NewTask<'_>) -> Result<(TaskId, bool), GraphError> {
        let operation = Arc::clone(&self.operations[new.operation as usize]);
        let signature = &operation.signature;
        self.check_inputs(signature, new.inputs)?;
        if new.parameters.len() != signature.parameters.len() {
            return Err(GraphError::ParameterCount {
                operation: Arc::clone(&signature.name),
                given: new.parameters.len(),
                declared: signature.parameters.len(),
            });
        }
        let mut builder = std::mem::take(&mut self.builder);
        if let Err(parameter) = begin(&mut builder, signature, new.parameters) {
            return Err(GraphError::Parameter {
                operation: Arc::clone(&signature.name),
                parameter,
            });
        }
        builder.inputs(new.inputs.len());
        for (port, source) in new.inputs {
            builder.port(&signature.inputs[usize::from(*port)].name);
            self.describe(source, &mut builder);
        }
        if self.unshared {
            builder.address(&self.tasks.len().to_string());
        } else if !signature.pure {
            builder.address(new.address);
        }
        let recipe = builder.finish();
        self.builder = builder;

        let largest = (self.tasks.len())
            .max(self.inputs.len() + new.inputs.len())
            .max(self.parameters.len() + new.parameters.len());
        if largest >= u32::MAX as usize {
            return Err(GraphError::Full);
        }
        let id = TaskId(self.tasks.len() as u32);
        let tasks = &self.tasks;
        let same = |known: &TaskId| tasks[known.index()].recipe == recipe;
        let spread_of = |known: &TaskId| spread(&tasks[known.index()].recipe);
        match self.by_recipe.entry(spread(&recipe), same, spread_of) {
            Entry::Occupied(known) => return Ok((*known.get(), false)),
            Entry::Vacant(place) => place.insert(id),
        };
        self.tasks.push(Task {
            recipe,
            operation: new.operation,
            inputs: self.inputs.len() as u32,
            parameters: self.parameters.len() as u32,
            input_count: new.inputs.len() as u16,
        });
        self.inputs.extend_from_slice(new.inputs);
        // What the recipe says is what the task is given.
        self.parameters
            .extend(new.parameters.iter().map(Scalar::plain));
        Ok((id, true))
    }

    fn check_inputs(
        &self,
        signature: &Signature,
        inputs: &[(u16, Source)],
    ) -> Result<(), GraphError> {
        let mut given = inputs.iter().peekable();
        for (position, port) in signature.inputs.iter().enumerate() {
            match given.next_if(|(bound, _)| usize::from(*bound) == position) {
                Some((_, source)) => {
                    self.check_source(signature, &port.name, &port.port_type, source)?;
                }
                None if port.optional => {}
                None => {
                    let (operation, port) = (Arc::clone(&signature.name), Arc::clone(&port.name));
                    return Err(GraphError::Unbound { operation, port });
                }
            }
        }
        match given.next() {
            None => Ok(()),
            Some(_) => Err(GraphError::Ports {
                operation: Arc::clone(&signature.name),
            }),
        }
    }

    fn check_source(
        &self,
        reader: &Signature,
        port: &Arc<str>,
        wanted: &Type,
        source: &Source,
    ) -> Result<(), GraphError> {
        match source {
            Source::Product {
                task,
                port: from_port,
            } => {
                let unknown = || GraphError::Unknown {
                    operation: Arc::clone(&reader.name),
                };
                let maker = &self
                    .operation_of(*self.tasks.get(task.index()).ok_or_else(unknown)?)
                    .signature;
                let output = maker
                    .outputs
                    .get(usize::from(*from_port))
                    .ok_or_else(unknown)?;
                if wanted.accepts(&output.port_type) {
                    return Ok(());
                }
                Err(GraphError::Types {
                    operation: Arc::clone(&reader.name),
                    port: Arc::clone(port),
                    wanted: wanted.clone(),
                    from: Arc::clone(&maker.name),
                    from_port: Arc::clone(&output.name),
                    given: output.port_type.clone(),
                })
            }
            Source::External(position) if *position as usize >= self.externals.len() => {
                Err(GraphError::Unknown {
                    operation: Arc::clone(&reader.name),
                })
            }
            // What comes from outside was checked against its declaration when it was read.
            Source::External(_) => Ok(()),
            Source::Record(fields) => {
                let in_order = fields.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if !in_order || !matches!(wanted, Type::Record | Type::Any) {
                    let operation = Arc::clone(&reader.name);
                    let wanted = wanted.clone();
                    return Err(GraphError::NoRecord {
                        operation,
                        port: Arc::clone(port),
                        wanted,
                    });
                }
                let mut fields = fields.iter();
                fields
                    .try_for_each(|(_, source)| self.check_source(reader, port, &Type::Any, source))
            }
            Source::List(sources) => {
                let element = match wanted {
                    Type::List(element) => element,
                    Type::Any => &Type::Any,
                    _ => {
                        let operation = Arc::clone(&reader.name);
                        let wanted = wanted.clone();
                        return Err(GraphError::NoList {
                            operation,
                            port: Arc::clone(port),
                            wanted,
                        });
                    }
                };
                let mut sources = sources.iter();
                sources.try_for_each(|source| self.check_source(reader, port, element, source))
            }
        }
    }

    /// The product of another graph that something from outside is.
    fn other(&self, position: u32) -> Option<&(Recipe, Arc<str>)> {
        if self.others.is_empty() {
            None
        } else {
            self.others.get(&position)
        }
    }

    fn describe(&self, source: &Source, builder: &mut RecipeBuilder) {
        match source {
            Source::Product { task, port } => {
                let maker = self.tasks[task.index()];
                let output = &self.operation_of(maker).signature.outputs[usize::from(*port)];
                builder.product(&maker.recipe, &output.name);
            }
            Source::External(position) => match self.other(*position) {
                Some((recipe, port)) => builder.product(recipe, port),
                None => builder.external(&self.externals[*position as usize].identity),
            },
            Source::List(sources) => {
                builder.list(sources.len());
                sources
                    .iter()
                    .for_each(|source| self.describe(source, builder));
            }
            Source::Record(fields) => {
                builder.record(fields.len());
                for (key, source) in fields.iter() {
                    builder.port(key);
                    self.describe(source, builder);
                }
            }
        }
    }

    /// The content key of a task: the recipe that it would have if everything it reads came from outside,
    /// identified by its contents. `contents` says what each product that it reads is; the answer is `None`
    /// where that is not known.
    pub fn content_key<'a>(
        &'a self,
        id: TaskId,
        builder: &mut RecipeBuilder,
        contents: &impl Fn(TaskId, u16) -> Option<&'a Identity>,
    ) -> Option<Recipe> {
        let signature = &self.operation_at(id).signature;
        begin(builder, signature, self.parameters(id)).ok()?;
        let inputs = self.inputs(id);
        builder.inputs(inputs.len());
        for (port, source) in inputs {
            builder.port(&signature.inputs[usize::from(*port)].name);
            self.describe_contents(source, builder, contents)?;
        }
        Some(builder.finish())
    }

    fn describe_contents<'a>(
        &'a self,
        source: &Source,
        builder: &mut RecipeBuilder,
        contents: &impl Fn(TaskId, u16) -> Option<&'a Identity>,
    ) -> Option<()> {
        match source {
            Source::Product { task, port } => builder.external(contents(*task, *port)?),
            Source::External(position) => {
                builder.external(&self.externals[*position as usize].identity);
            }
            Source::List(sources) => {
                builder.list(sources.len());
                for source in sources.iter() {
                    self.describe_contents(source, builder, contents)?;
                }
            }
            Source::Record(fields) => {
                builder.record(fields.len());
                for (key, source) in fields.iter() {
                    builder.port(key);
                    self.describe_contents(source, builder, contents)?;
                }
            }
        }
        Some(())
    }

    fn operation_of(&self, task: Task) -> &Operation {
        &self.operations[task.operation as usize]
    }

    /// A node.
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.index()]
    }

    /// The recipe of a task.
    pub fn recipe(&self, id: TaskId) -> Recipe {
        self.tasks[id.index()].recipe
    }

    /// The task with that recipe.
    pub fn find(&self, recipe: &Recipe) -> Option<TaskId> {
        let same = |known: &TaskId| self.tasks[known.index()].recipe == *recipe;
        self.by_recipe.find(spread(recipe), same).copied()
    }

    /// The operation of a task.
    pub fn operation_at(&self, id: TaskId) -> &Arc<Operation> {
        &self.operations[self.tasks[id.index()].operation as usize]
    }

    /// The position of the operation of a task.
    pub fn operation_index(&self, id: TaskId) -> u32 {
        self.tasks[id.index()].operation
    }

    /// The bound inputs of a task: (position of the port, source).
    pub fn inputs(&self, id: TaskId) -> &[(u16, Source)] {
        let task = &self.tasks[id.index()];
        &self.inputs[task.inputs as usize..][..usize::from(task.input_count)]
    }

    /// The parameter values of a task, in the order of its signature.
    pub fn parameters(&self, id: TaskId) -> &[Scalar] {
        let task = &self.tasks[id.index()];
        &self.parameters[task.parameters as usize..]
            [..self.operation_of(*task).signature.parameters.len()]
    }

    /// Calls `visit` with every task that `id` reads from; one that is read twice comes twice.
    pub fn for_each_input_task(&self, id: TaskId, mut visit: impl FnMut(TaskId)) {
        self.inputs(id)
            .iter()
            .for_each(|(_, source)| source.for_each_task(&mut visit));
    }
}
