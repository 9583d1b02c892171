//! Sequences: a program makes its calls one after another, and what is independent runs in parallel.
//!
//! A [`Sequence`] takes calls in program order and runs nothing. What a call reads and writes says which calls depend on
//! which; the program never does. When the program asks for a value, just what that needs is run; at the end, what the
//! program can still ask for. Everything is remembered, like the products of workflows.
//!
//! ```
//! use headwater::sequence::{Item, Mode, Sequence, SequenceOptions, procedure};
//!
//! let twice = procedure("example/twice", "1")
//!     .reads::<i64>("number")
//!     .writes::<i64>("double")
//!     .run(|(number,): (i64,), _| Ok((2 * number,)));
//! let add = procedure("example/add", "1")
//!     .reads::<i64>("a")
//!     .updates::<i64>("sum")
//!     .run(|(a, sum): (i64, i64), _| Ok((sum + a,)));
//!
//! let mut sequence = Sequence::with(SequenceOptions::new(Mode::Restrictive).forgetting());
//! let (one, ten) = (sequence.give(1), sequence.give(10));
//! let (mut left, mut right): (Item<i64>, Item<i64>) = (sequence.item(), sequence.item());
//! sequence.submit(&twice, (&one, &mut left))?; // these two
//! sequence.submit(&twice, (&ten, &mut right))?; // run at the same time
//! sequence.submit(&add, (&left, &mut right))?;
//! if sequence.value(&right)? > 20 {
//!     sequence.submit(&add, (&one, &mut right))?;
//! }
//! let report = sequence.end()?;
//! assert_eq!(report.value(&right)?, 23);
//! # Ok::<(), headwater::sequence::SequenceError>(())
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `item` | [`Item`]: a typed handle of a data item |
//! | `datum` | [`Datum`]: Rust types that items hold; [`File`], [`Directory`] |
//! | `numbers` | [`Numbers`]: arrays whose numbers the compiler knows |
//! | `procedure` | [`Procedure`]: an operation with typed parameters; those of any operation |
//! | `programs` | [`Programs`]: the operations of a file |
//! | `draft` | [`procedure()`]: those of Rust code |
//! | `arguments` | [`Arguments`]: what a call passes to a procedure |
//! | `tuple` | tuples of parameters and of data |
//! | `argument` | [`Argument`]: what is bound to which port, of operations whose types are known only when they run |
//! | `options` | [`SequenceOptions`]: where calls run and what is remembered |
//! | `engine`, `pending` | one graph that grows, run round by round; which calls may still have to run |
//! | `drawing` | a sequence as a drawing |
//! | `handle` | [`DataHandle`]: an item without its bytes |
//! | `record` | what a sequence leaves in its store |
//! | `report` | [`SequenceReport`]: what it came to |
//!
//! Read `engine.rs` first; the dependences are found by the crate `derive`.

mod argument;
mod arguments;
mod datum;
mod draft;
mod drawing;
mod engine;
mod error;
mod handle;
mod item;
mod numbers;
mod options;
mod pending;
mod procedure;
mod programs;
mod record;
mod report;
#[cfg(test)]
mod tests;
mod tuple;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub use headwater_derive::{Access, CallError, CallId, Mode};
use headwater_derive::{Binding as Bound, ItemId, Kind, Program};
use headwater_draw::Diagram;
use headwater_enact::State;
use headwater_engine::{Error, Run};
pub use headwater_execute::{
    Executor, Folders, Keeper, Observer, PoolError, Round, Threads, Watched,
};
use headwater_graph::{
    External, FileValue, Handle, Identity, Operation, Scalar, Source, TaskId, Type, Value,
};

pub use argument::Argument;
pub use arguments::{Arguments, Pass, Plain};
pub use datum::{Datum, Directory, File, ScalarDatum};
pub use draft::{Draft, procedure};
use drawing::Drawing;
use engine::Engine;
pub use error::{FailedCall, SequenceError, Unavailable};
pub use handle::{DataHandle, Whereabouts};
use item::Dropped;
pub use item::{Item, Reference};
pub use numbers::{Numbers, ShapeError};
pub use options::SequenceOptions;
pub use procedure::{
    Binding, ByValue, In, InList, InOut, Out, Part, Procedure, ProcedureError, Slot,
};
pub use programs::{Programs, programs};
use report::Held;
pub use report::{CallReport, CallState, DependenceCounts, SequenceReport, Traffic};
pub use tuple::{Append, Data, Mismatch};

/// Where nothing is remembered, values of more bytes are known by number: each one that is given is another.
const LARGE: u64 = 64 << 10;

/// At most so many calls are drawn one by one.
const DRAWN: usize = 2000;

/// Calls in program order.
#[must_use = "calls run when a value is asked for, or at the end"]
pub struct Sequence {
    program: Program,
    engine: Engine,
    dropped: Arc<Dropped>,
    /// By item: whether somebody can still name it.
    live: Vec<bool>,
    /// By position among things from outside: whether a call reads it.
    given: HashMap<u32, u64>,
    taken: u64,
    /// How many large values are known by number.
    large: u64,
}

/// A value as what a handle says it is.
fn typed<T: Datum>(value: Value, name: impl FnOnce() -> String) -> Result<T, SequenceError> {
    T::from_value(value).map_err(|value| SequenceError::Types {
        item: name(),
        wanted: T::datum_type(),
        given: value.value_type(),
    })
}

impl Sequence {
    /// Begins a sequence on all cores of this machine, which remembers what it computes where commands would:
    /// in the store that `HEADWATER_STORE` names, or in the nearest `.headwater`.
    pub fn begin(mode: Mode) -> Sequence {
        Sequence::with(SequenceOptions::new(mode))
    }

    /// Begins a sequence in another way.
    pub fn with(options: SequenceOptions) -> Sequence {
        Sequence {
            program: Program::new(options.mode),
            engine: Engine::new(options),
            dropped: Arc::default(),
            live: Vec::new(),
            given: HashMap::new(),
            taken: 0,
            large: 0,
        }
    }

    /// A new item that has a value.
    pub fn give<T: Datum>(&mut self, value: T) -> Item<T> {
        Item::new(self.given(T::datum_type(), value.into_value()))
    }

    /// The same, whatever it holds.
    pub fn give_value(&mut self, value: Value) -> Reference {
        self.given(value.value_type(), value)
    }

    fn given(&mut self, declared: Type, value: Value) -> Reference {
        let source = self.external(value);
        self.reference(declared, Some(source))
    }

    /// A new item without a value, for a call to write.
    pub fn item<T: Datum>(&mut self) -> Item<T> {
        Item::new(self.reference(T::datum_type(), None))
    }

    /// The same, whatever it will hold.
    pub fn item_of(&mut self, declared: Type) -> Reference {
        self.reference(declared, None)
    }

    /// A new item that is a file, known by its contents.
    pub fn file(&mut self, path: impl AsRef<Path>) -> Result<Item<File>, SequenceError> {
        let path = self.engine.current().join(path);
        let store = self.engine.digests()?;
        let found = store.digest_file(&path).map_err(Error::from)?;
        self.engine.watch(|watched| watched.digested(&path, &found));
        let value = Value::File(Arc::new(FileValue {
            digest: found.digest,
            size: found.mark.size,
            name: None,
            executable: false,
            handle: Handle::Path(path.into()),
        }));
        Ok(Item::new(self.given(Type::File, value)))
    }

    /// A new item that is a folder with the files below it, known by their names and contents.
    pub fn directory(&mut self, path: impl AsRef<Path>) -> Result<Item<Directory>, SequenceError> {
        let path = self.engine.current().join(path);
        let store = self.engine.digests()?;
        let (directory, files) = store.digest_directory(&path).map_err(Error::from)?;
        self.engine
            .watch(|watched| watched.digested_directory(&directory, &files));
        let value = Value::Directory(directory);
        Ok(Item::new(self.given(Type::Directory, value)))
    }

    /// Gives an item a name, for messages and drawings. An item of another sequence has none here.
    pub fn name(&mut self, item: &impl AsRef<Reference>, name: &str) {
        if let Ok(item) = self.own(item.as_ref()) {
            self.program.name(item, name);
        }
    }

    fn reference(&mut self, declared: Type, source: Option<Source>) -> Reference {
        let id = self.program.item(declared, source);
        self.live.push(true);
        Reference::new(id, &self.dropped)
    }

    fn external(&mut self, value: Value) -> Source {
        let identity = if value.memory() > LARGE && !self.engine.remembers() {
            // Nobody will look for it later, so nobody has to look into it.
            self.large += 1;
            Identity::Name(format!("large value {}", self.large).into())
        } else {
            Identity::of(&value)
        };
        let graph = self.engine.enactment.graph_mut();
        graph.external(External { identity, value })
    }

    /// Makes a call. Nothing runs yet. The compiler has checked the arguments against the procedure.
    pub fn submit<P, A: Arguments<P>>(
        &mut self,
        procedure: &Procedure<P>,
        arguments: A,
    ) -> Result<CallId, SequenceError> {
        let list = arguments.list(procedure);
        self.submit_list(procedure.operation(), list)
    }

    /// Makes a call of an operation whose arguments are known only now. Nothing runs yet.
    pub fn submit_list(
        &mut self,
        operation: &Arc<Operation>,
        arguments: Vec<Argument>,
    ) -> Result<CallId, SequenceError> {
        if let Some(why) = self.engine.refuses(operation) {
            let operation = Arc::clone(&operation.signature.name);
            return Err(SequenceError::TooLarge { operation, why });
        }
        let (bindings, parameters) = self.bindings(operation, arguments)?;
        // What a call makes that is not pure is another thing in every run, and so is what is made from it.
        let told = if operation.signature.pure {
            String::new()
        } else {
            format!("{}/{}", self.engine.run_name(), self.program.calls())
        };
        let graph = self.engine.enactment.graph_mut();
        let call = self
            .program
            .call(graph, operation, &bindings, &parameters, &told)?;
        let task = self.program.task(call);
        let written: Vec<ItemId> = (bindings.iter())
            .filter_map(|binding| match binding {
                Bound::Out { item, .. } | Bound::InOut { item, .. } => Some(*item),
                _ => None,
            })
            .collect();
        self.note_given(task);
        self.engine.called(call, task, &written);
        Ok(call)
    }

    /// The arguments of a call by position.
    #[expect(
        clippy::type_complexity,
        reason = "the two things that a call is made with"
    )]
    fn bindings(
        &mut self,
        operation: &Operation,
        arguments: Vec<Argument>,
    ) -> Result<(Vec<Bound>, Vec<(u16, Scalar)>), SequenceError> {
        let signature = &operation.signature;
        let unknown = |what: &'static str, name: Arc<str>| {
            let known = match what {
                "input" => signature
                    .inputs
                    .iter()
                    .map(|port| &port.name)
                    .cloned()
                    .collect(),
                "output" => signature
                    .outputs
                    .iter()
                    .map(|port| &port.name)
                    .cloned()
                    .collect(),
                _ => signature
                    .parameters
                    .iter()
                    .map(|known| &known.name)
                    .cloned()
                    .collect(),
            };
            SequenceError::Unknown {
                operation: Arc::clone(&signature.name),
                what,
                name,
                known,
            }
        };
        let input = |name: Arc<str>| {
            let found = signature.input_index(&name);
            found
                .map(|at| at as u16)
                .ok_or_else(|| unknown("input", name))
        };
        let output = |name: Arc<str>| {
            let found = signature.output_index(&name);
            found
                .map(|at| at as u16)
                .ok_or_else(|| unknown("output", name))
        };
        let mut bindings = Vec::with_capacity(arguments.len());
        let mut parameters = Vec::new();
        for argument in arguments {
            bindings.push(match argument {
                Argument::In { input: name, item } => Bound::In {
                    input: input(name)?,
                    item: self.own(&item)?,
                },
                Argument::InList { input: name, items } => Bound::InList {
                    input: input(name)?,
                    items: items
                        .iter()
                        .map(|item| self.own(item))
                        .collect::<Result<_, _>>()?,
                },
                Argument::Value { input: name, value } => Bound::Given {
                    input: input(name)?,
                    given: value.value_type(),
                    source: self.external(value),
                },
                Argument::Out { output: name, item } => Bound::Out {
                    output: output(name)?,
                    item: self.own(&item)?,
                },
                Argument::InOut {
                    input: reads,
                    output: writes,
                    item,
                } => Bound::InOut {
                    input: input(reads)?,
                    output: output(writes)?,
                    item: self.own(&item)?,
                },
                Argument::Parameter { name, value } => {
                    let found = signature.parameter_index(&name);
                    let position = found.ok_or_else(|| unknown("parameter", name))?;
                    parameters.push((position as u16, value));
                    continue;
                }
            });
        }
        Ok((bindings, parameters))
    }

    fn own(&self, item: &Reference) -> Result<ItemId, SequenceError> {
        if item.belongs_to(&self.dropped) {
            Ok(item.id())
        } else {
            Err(SequenceError::Foreign)
        }
    }

    /// Counts what the program gives to calls, each thing once.
    fn note_given(&mut self, task: TaskId) {
        fn visit(source: &Source, found: &mut Vec<u32>) {
            match source {
                Source::External(position) => found.push(*position),
                Source::List(sources) => sources.iter().for_each(|source| visit(source, found)),
                Source::Record(fields) => {
                    fields.iter().for_each(|(_, source)| visit(source, found));
                }
                Source::Product { .. } => {}
            }
        }
        let graph = self.engine.graph();
        let mut found = Vec::new();
        for (_, source) in graph.inputs(task) {
            visit(source, &mut found);
        }
        for position in found {
            let size = || graph.external_at(position).value.size();
            self.given.entry(position).or_insert_with(size);
        }
    }

    /// The call that wrote an item which is a product of this task.
    fn writer(&self, item: ItemId, task: TaskId) -> CallId {
        let writer = self.program.writer(item);
        writer.unwrap_or_else(|| self.engine.first_call(task))
    }

    fn notice_dropped(&mut self) {
        let gone = self.dropped.take();
        gone.iter().for_each(|item| self.live[item.index()] = false);
        self.engine.gone(gone);
    }

    /// The value of an item, now: runs just what it needs, and waits for that. Calls go on after it.
    pub fn value<T: Datum>(&mut self, item: &Item<T>) -> Result<T, SequenceError> {
        let value = self.value_of(item.reference())?;
        typed(value, || self.program.name_of(item.reference().id()))
    }

    /// The same, whatever it holds.
    pub fn value_of(&mut self, item: &Reference) -> Result<Value, SequenceError> {
        let item = self.own(item)?;
        let name = self.program.name_of(item);
        let value = match self.program.source(item).cloned() {
            None => return Err(SequenceError::NoValue { item: name }),
            Some(Source::Product { task, port }) => {
                self.notice_dropped();
                let live = |item: ItemId| self.live[item.index()];
                self.engine
                    .ask(&self.program, &live, &[(task, port)], false)?;
                let writer = self.writer(item, task);
                let value = self.engine.product(&name, writer, task, port)?;
                self.taken += value.size();
                value
            }
            Some(Source::External(position)) => {
                self.engine.graph().external_at(position).value.clone()
            }
            Some(Source::List(_) | Source::Record(_)) => {
                return Err(SequenceError::NoValue { item: name });
            }
        };
        self.program.seen(item);
        Ok(value)
    }

    /// What is known of an item without its bytes.
    pub fn handle(&self, item: &impl AsRef<Reference>) -> Result<DataHandle, SequenceError> {
        let id = self.own(item.as_ref())?;
        let mut handle = DataHandle {
            item: self.program.name_of(id),
            object: self.program.declared(id).clone(),
            element: None,
            shape: Vec::new(),
            size: None,
            writer: self.program.writer(id),
            product: None,
            node: None,
            whereabouts: Whereabouts::Nowhere,
        };
        let graph = self.engine.graph();
        let here = match self.program.source(id) {
            Some(Source::Product { task, port }) => {
                let output = &graph.operation_at(*task).signature.outputs[usize::from(*port)];
                handle.product = Some((graph.recipe(*task), output.name.to_string()));
                handle.size = self.engine.size(*task, *port);
                let here = self.engine.in_memory(*task, *port);
                let state = if task.index() < self.engine.enactment.coordinator().admitted() {
                    self.engine.enactment.coordinator().state(*task)
                } else {
                    State::Idle
                };
                handle.whereabouts = match (&here, state) {
                    (Some(_), _) => Whereabouts::Memory,
                    (None, State::Known) => Whereabouts::Stored,
                    (None, State::Done) if self.engine.remembers() => Whereabouts::Stored,
                    (None, _) => Whereabouts::Nowhere,
                };
                handle.node = self.engine.node().map(str::to_owned);
                here
            }
            Some(Source::External(position)) => {
                handle.whereabouts = Whereabouts::Program;
                Some(graph.external_at(*position).value.clone())
            }
            _ => None,
        };
        if let Some(value) = here {
            handle.size = Some(value.size());
            if let Some(array) = array_of(&value) {
                handle.element = Some(array.element_type());
                handle.shape = array.shape().to_vec();
            }
        }
        Ok(handle)
    }

    /// The calls so far and what makes them depend on each other: which reads what another has written (RAW), and which
    /// writes over what another has read (WAR) or written (WAW). Dependences that neither order nor data need are left
    /// out. Runs nothing.
    ///
    /// Of more than 2,000 calls, all calls of one operation are one node.
    pub fn dag(&self) -> Diagram {
        self.draw(|drawing| drawing.reduced())
    }

    /// As [`dag`](Self::dag), with all dependences that comparing each call with each later one finds.
    pub fn unreduced_dag(&self) -> Diagram {
        self.draw(|drawing| drawing.unreduced())
    }

    fn draw(&self, each: impl FnOnce(&Drawing<'_>) -> Diagram) -> Diagram {
        let gone = self.dropped.look();
        let drawing = Drawing {
            program: &self.program,
            engine: &self.engine,
            live: &|item| self.live[item.index()] && !gone.contains(&item),
        };
        if self.program.calls() <= DRAWN {
            each(&drawing)
        } else {
            drawing.grouped()
        }
    }

    /// Runs what is left to run for the items that are still held and for impure calls, makes it durable, and says what
    /// it came to.
    pub fn end(mut self) -> Result<SequenceReport, SequenceError> {
        self.notice_dropped();
        let mut products: Vec<(ItemId, TaskId, u16)> = Vec::new();
        let mut held: HashMap<ItemId, (String, Held)> = HashMap::new();
        for item in (0..self.program.items() as u32).map(ItemId) {
            if !self.live[item.index()] {
                continue;
            }
            match self.program.source(item) {
                Some(Source::Product { task, port }) => products.push((item, *task, *port)),
                Some(Source::External(position)) => {
                    let value = self.engine.graph().external_at(*position).value.clone();
                    held.insert(item, (self.program.name_of(item), Held::Here(value)));
                }
                _ => {}
            }
        }
        let mut requested: Vec<(TaskId, u16)> = products
            .iter()
            .map(|(_, task, port)| (*task, *port))
            .collect();
        requested.sort_unstable();
        requested.dedup();
        let live = |item: ItemId| self.live[item.index()];
        self.engine.ask(&self.program, &live, &requested, true)?;
        self.engine.count_blocked();
        let mut unavailable = Vec::new();
        for (item, task, port) in products {
            let name = self.program.name_of(item);
            let found = self.held(&name, item, task, port);
            match &found {
                Held::Unavailable(why) => unavailable.push((**why).clone()),
                Held::Here(value) => self.taken += value.size(),
                Held::Stored(..) => self.taken += self.engine.size(task, port).unwrap_or(0),
                Held::WrittenOut(..) => self.taken += self.engine.size(task, port).unwrap_or(0),
                Held::NotMade | Held::Gone => {}
            }
            held.insert(item, (name, found));
        }
        let (program, live) = (&self.program, &self.live);
        let write = |engine: &Engine, run: &Run| {
            let drawing = Drawing {
                program,
                engine,
                live: &|item| live[item.index()],
            };
            record::note(run, &drawing);
        };
        let (run, fetcher) = self.engine.end(&write)?;
        let calls = self.call_reports();
        let mut notes = self.engine.notes();
        notes.extend(fetcher.iter().flat_map(|fetcher| fetcher.take_notes()));
        Ok(SequenceReport {
            run,
            name: self.engine.name.clone(),
            mode: self.program.mode(),
            calls,
            failures: self.engine.failed().cloned().collect(),
            unavailable,
            dependences: self.dependences(),
            traffic: self.traffic(),
            elapsed: self.engine.began().elapsed(),
            stopped: self.engine.is_stopping(),
            notes,
            held,
            dropped: Arc::clone(&self.dropped),
            fetcher,
            _files: self.engine.take_scratch(),
        })
    }

    /// Where an item is that was asked for.
    fn held(&mut self, name: &str, item: ItemId, task: TaskId, port: u16) -> Held {
        let writer = self.writer(item, task);
        let written_out = self.engine.written_out(task, port);
        // What memory was too short for stays where it is; with a store, that goes with the run.
        let pure = self.engine.graph().operation_at(task).signature.pure;
        let stored = self.engine.remembers() && pure;
        match written_out {
            Some(_) if stored => {
                return Held::Stored(self.engine.enactment.stored_as(task), port);
            }
            Some(path) if !self.engine.remembers() => return Held::WrittenOut(path, port),
            _ => {}
        }
        if let Some(value) = self.engine.at_hand(task, port) {
            return if engine::has_files(&value) {
                // Files that are kept nowhere else come with the report.
                self.engine.saved(value).map_or(Held::Gone, Held::Here)
            } else {
                Held::Here(value)
            };
        }
        if stored && self.engine.has_ended_well(task) {
            return Held::Stored(self.engine.enactment.stored_as(task), port);
        }
        match self.engine.product(name, writer, task, port) {
            Ok(value) => Held::Here(value),
            Err(SequenceError::Unavailable(why)) => Held::Unavailable(why),
            Err(SequenceError::Stopped { .. }) => Held::NotMade,
            Err(_) => Held::Gone,
        }
    }

    fn call_reports(&self) -> Vec<CallReport> {
        let enactment = &self.engine.enactment;
        let report = |number: u32| {
            let call = CallId(number);
            let task = self.program.task(call);
            let operation = &enactment.graph().operation_at(task).signature.name;
            let first = self.engine.first_call(task) == call;
            let state = match enactment.coordinator().state(task) {
                State::Failed => CallState::Failed,
                State::Blocked => CallState::Blocked,
                State::Idle => CallState::Unneeded,
                State::Done | State::Known if !first => CallState::Shared,
                State::Done => CallState::Executed,
                State::Known => CallState::Reused,
                _ => CallState::Left,
            };
            let ran = self.engine.ended(task).filter(|_| first).map(|ended| {
                let time = std::time::Duration::from_nanos;
                (time(ended.started), time(ended.wall))
            });
            CallReport {
                address: self.engine.address(call, task),
                operation: Arc::clone(operation),
                rank: self.program.tracker().rank(call),
                state,
                ran,
            }
        };
        (0..self.program.calls() as u32).map(report).collect()
    }

    /// How many dependences there are between calls.
    fn dependences(&self) -> DependenceCounts {
        let tracker = self.program.tracker();
        let mut counts = DependenceCounts {
            scalar: tracker.scalar_dependences(),
            ..DependenceCounts::default()
        };
        let calls = (0..tracker.calls() as u32).map(CallId);
        for dependence in calls.flat_map(|call| tracker.dependences_of(call)) {
            match dependence.kind {
                Kind::Raw => counts.read_after_write += 1,
                Kind::War => counts.write_after_read += 1,
                Kind::Waw => counts.write_after_write += 1,
                Kind::Scalar => {}
            }
        }
        counts
    }

    /// The bytes that went where.
    fn traffic(&self) -> Traffic {
        let graph = self.engine.graph();
        let mut between = 0;
        for task in graph.ids() {
            if self.engine.ended(task).is_none() {
                continue;
            }
            for (_, source) in graph.inputs(task) {
                source.for_each_product(&mut |maker, port| {
                    between += self.engine.size(maker, port).unwrap_or(0);
                });
            }
        }
        Traffic {
            given: self.given.values().sum(),
            taken: self.taken,
            between,
        }
    }
}

fn array_of(value: &Value) -> Option<&headwater_graph::Array> {
    match value {
        Value::Array(array) => Some(array),
        Value::Image(image) => Some(&image.array),
        Value::Region(region) => Some(&region.array),
        _ => None,
    }
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sequence")
            .field("mode", &self.program.mode())
            .field("items", &self.program.items())
            .field("calls", &self.program.calls())
            .finish_non_exhaustive()
    }
}
