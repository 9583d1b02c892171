//! Small workflows in one line per stage, worlds that say how long things take, and what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::{
    Capacity, Column, DataItem, DataSet, Done, Enactment, Ending, Expander, NothingRemembered,
    OpenError, Options, Parallelism, Recall, ShapeError, Start, State, Trace, World, simulate,
};
use headwater_graph::{
    Context, Identity, Index, Input, KnownBy, Operation, OutputBinding, Outputs, Parameter, Recipe,
    Registry, Scalar, ScalarType, Severity, Signature, Source, Stage, Strategy, TaskDefinition,
    TaskGraph, TaskId, Type, Value, Wait, Workflow, check, value_digest,
};

/// A workflow in the making.
pub(crate) struct Flow {
    pub(crate) workflow: Workflow,
    pub(crate) signatures: Vec<Signature>,
    pub(crate) data: DataSet,
    pub(crate) parameters: BTreeMap<Arc<str>, Scalar>,
}

pub(crate) fn text(value: &str) -> Value {
    Value::Text(value.into())
}

pub(crate) fn item(value: Value) -> DataItem {
    DataItem {
        identity: Identity::Value(value_digest(&value)),
        value,
    }
}

pub(crate) fn index(positions: &[u32]) -> Index {
    Index::from(positions)
}

fn type_and_name(word: &str) -> (Type, &str) {
    let word = word.trim();
    match word.strip_suffix('*') {
        Some(name) => (Type::Text.list(), name),
        None => (Type::Text, word),
    }
}

impl Flow {
    pub(crate) fn new() -> Flow {
        let workflow = Workflow {
            name: "test".into(),
            ..Workflow::default()
        };
        let (signatures, parameters) = (Vec::new(), BTreeMap::new());
        Flow {
            workflow,
            signatures,
            data: DataSet::default(),
            parameters,
        }
    }

    fn declare(&mut self, name: &str, input_type: Type, optional: bool) {
        self.workflow.inputs.push(Input {
            name: name.into(),
            input_type,
            optional,
            identity: KnownBy::Content,
        });
    }

    fn column(&mut self, input: &str, source: u32, items: Vec<Option<DataItem>>, single: bool) {
        self.data.columns.push(Column {
            input: input.into(),
            source,
            items,
            single,
        });
    }

    /// An input with `count` items `x0`, `x1`, …, a source of its own.
    pub(crate) fn items(mut self, name: &str, count: usize) -> Flow {
        self.declare(name, Type::Text, false);
        let source = self.data.columns.len() as u32;
        let items = (0..count)
            .map(|at| Some(item(text(&format!("{name}{at}")))))
            .collect();
        self.column(name, source, items, false);
        self
    }

    /// An input with one item, which is there once.
    pub(crate) fn one(mut self, name: &str) -> Flow {
        self.declare(name, Type::Text, false);
        let source = self.data.columns.len() as u32;
        self.column(name, source, vec![Some(item(text(name)))], true);
        self
    }

    /// An optional input that is not given.
    pub(crate) fn absent(mut self, name: &str) -> Flow {
        self.declare(name, Type::Text, true);
        self
    }

    /// An input of lists, which come from outside.
    pub(crate) fn lists(mut self, name: &str, lengths: &[usize]) -> Flow {
        self.declare(name, Type::Text.list(), false);
        let source = self.data.columns.len() as u32;
        let list = |(at, length): (usize, &usize)| {
            let items = (0..*length).map(|item| text(&format!("{name}{at}-{item}")));
            Some(item(Value::List(items.collect())))
        };
        let items = lengths.iter().enumerate().map(list).collect();
        self.column(name, source, items, false);
        self
    }

    /// Inputs that share their rows; an empty cell is absent (then the input is optional).
    pub(crate) fn table(mut self, names: &[&str], rows: &[&[&str]]) -> Flow {
        let source = self.data.columns.len() as u32;
        for (place, name) in names.iter().enumerate() {
            let optional = rows.iter().any(|row| row[place].is_empty());
            self.declare(name, Type::Text, optional);
            let cell = |row: &&[&str]| (!row[place].is_empty()).then(|| item(text(row[place])));
            self.column(name, source, rows.iter().map(cell).collect(), false);
        }
        self
    }

    /// A stage: `name(a, b*) -> c, d*` or `stage: t(a) -> b; u(b) -> c`. A star makes a port a list; a
    /// question mark makes it optional.
    pub(crate) fn stage(mut self, line: &str) -> Flow {
        let (stage, tasks) = match line.split_once(':') {
            Some((stage, tasks)) => (stage.trim(), tasks),
            None => (line.split('(').next().unwrap().trim(), line),
        };
        let tasks = tasks
            .split(';')
            .map(|task| self.task(stage, task))
            .collect();
        self.workflow.stages.push(Stage::new(stage, tasks));
        self
    }

    fn task(&mut self, stage: &str, line: &str) -> TaskDefinition {
        let (name, rest) = line
            .trim()
            .split_once('(')
            .expect("a task is `name(inputs) -> outputs`");
        let (inputs, outputs) = rest.split_once(')').expect("`)` after the inputs");
        let outputs = outputs.trim().strip_prefix("->").unwrap_or("");
        let words = |list: &str| -> Vec<String> {
            list.split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let mut signature = Signature::new(&format!("{stage}-{name}"), "1");
        let (mut ins, mut outs) = (BTreeMap::new(), BTreeMap::new());
        for word in words(inputs) {
            let optional = word.ends_with('?');
            let (port_type, name) = type_and_name(word.trim_end_matches('?'));
            // The same data at a list port and at a plain port are two ports.
            let port = if port_type == Type::Text {
                name.to_owned()
            } else {
                format!("{name}-all")
            };
            signature = signature.input(&port, port_type);
            let at = signature.input_index(&port).unwrap();
            signature.inputs[at].optional = optional;
            ins.insert(port.into(), name.into());
        }
        for word in words(outputs) {
            let (port_type, name) = type_and_name(&word);
            signature = signature.output(name, port_type);
            outs.insert(name.into(), name.into());
        }
        let operation = Arc::clone(&signature.name);
        self.signatures.push(signature);
        TaskDefinition {
            name: name.into(),
            operation,
            inputs: ins,
            parameters: BTreeMap::new(),
            outputs: outs,
        }
    }

    /// Changes the last stage.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Stage)) -> Flow {
        change(self.workflow.stages.last_mut().unwrap());
        self
    }

    pub(crate) fn iterate(self, strategy: &str) -> Flow {
        let strategy = Strategy::parse(strategy).unwrap();
        self.with(|stage| stage.iterate = Some(strategy))
    }

    pub(crate) fn wait(self, wait: Wait) -> Flow {
        self.with(|stage| stage.wait = wait)
    }

    pub(crate) fn after(self, stages: &[&str]) -> Flow {
        self.with(|stage| stage.after = stages.iter().map(|name| (*name).into()).collect())
    }

    /// Changes the last operation.
    pub(crate) fn operation(mut self, change: impl FnOnce(&mut Signature)) -> Flow {
        change(self.signatures.last_mut().unwrap());
        self
    }

    pub(crate) fn impure(self) -> Flow {
        self.operation(|signature| signature.pure = false)
    }

    /// A workflow parameter, bound to a parameter of the last task.
    pub(crate) fn parameter(mut self, name: &str, value: Scalar) -> Flow {
        let scalar_type = value.scalar_type();
        self.parameters.insert(name.into(), value);
        let binding = headwater_graph::Binding::Parameter(name.into());
        let task = self
            .workflow
            .stages
            .last_mut()
            .unwrap()
            .tasks
            .last_mut()
            .unwrap();
        task.parameters.insert(name.into(), binding);
        let (default, range, step, values) = (None, None, None, Vec::new());
        let parameter = Parameter {
            name: name.into(),
            scalar_type,
            default,
            range,
            step,
            values,
        };
        self.workflow.parameters.push(parameter);
        self.declare_parameter(name, scalar_type, None)
    }

    pub(crate) fn declare_parameter(
        self,
        name: &str,
        scalar_type: ScalarType,
        default: Option<Scalar>,
    ) -> Flow {
        self.operation(|signature| {
            *signature = signature.clone().parameter(name, scalar_type, default);
        })
    }

    /// Only this is wanted (and what was said so before).
    pub(crate) fn output(mut self, data: &str) -> Flow {
        self.workflow.outputs.push(OutputBinding {
            name: data.into(),
            data: data.into(),
        });
        self
    }

    pub(crate) fn registry(&self) -> Registry {
        let mut registry = Registry::new();
        for signature in &self.signatures {
            if registry.operation(&signature.name).is_some() {
                continue;
            }
            let run = |_: &[Value], _: &[Scalar], _: &mut Context| Ok(Outputs::new());
            registry
                .register(None, Operation::native(signature.clone(), run))
                .unwrap();
        }
        registry
    }

    pub(crate) fn expander(&self) -> Result<Expander, Vec<ShapeError>> {
        let registry = self.registry();
        let problems = check(&self.workflow, &registry);
        let errors: Vec<_> = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        Expander::new(
            &Arc::new(self.workflow.clone()),
            &registry,
            &self.data,
            &self.parameters,
        )
    }

    pub(crate) fn enactment(&self, options: &Options) -> Enactment {
        Enactment::of_workflow(self.expander().unwrap(), options.clone())
    }

    pub(crate) fn opened(&self, options: &Options) -> Enactment {
        let mut enactment = self.enactment(options);
        enactment.open(&mut NothingRemembered).unwrap();
        enactment
    }

    /// The message and the hint of the error that this data gives.
    pub(crate) fn refusal(&self) -> (String, String) {
        let error = match self.expander() {
            Err(errors) => OpenError::Shape(errors[0].clone()),
            Ok(expander) => Enactment::of_workflow(expander, Options::default())
                .open(&mut NothingRemembered)
                .expect_err("an error was expected"),
        };
        (error.to_string(), error.hint().unwrap_or_default())
    }

    pub(crate) fn run(&self, options: &Options, play: &mut Play) -> Ran {
        self.run_with(options, play, &mut NothingRemembered)
    }

    pub(crate) fn run_with(
        &self,
        options: &Options,
        play: &mut Play,
        recall: &mut dyn Recall,
    ) -> Ran {
        let mut enactment = self.enactment(options);
        enactment.open(recall).unwrap();
        let trace = simulate(&mut enactment, play, recall).unwrap();
        Ran { enactment, trace }
    }

    /// Everything takes one second, and nothing fails.
    pub(crate) fn run_plainly(&self) -> Ran {
        self.run(&Options::default(), &mut Play::default())
    }
}

type Says<T> = Box<dyn FnMut(&str, u32) -> T>;

/// How a world plays: asked with the address of the task (`headwater/item` and the like for implicit ones)
/// and the number of tries before.
pub(crate) struct Play {
    pub(crate) seconds: Says<u64>,
    pub(crate) fails: Says<bool>,
    pub(crate) length: Says<usize>,
    pub(crate) memory: Says<u64>,
    pub(crate) loses: Says<bool>,
}

impl Default for Play {
    fn default() -> Play {
        Play {
            seconds: Box::new(|_, _| 1),
            fails: Box::new(|_, _| false),
            length: Box::new(|_, _| 2),
            memory: Box::new(|_, _| 0),
            loses: Box::new(|_, _| false),
        }
    }
}

impl Play {
    pub(crate) fn seconds(mut self, says: impl FnMut(&str, u32) -> u64 + 'static) -> Play {
        self.seconds = Box::new(says);
        self
    }

    pub(crate) fn fails(mut self, says: impl FnMut(&str, u32) -> bool + 'static) -> Play {
        self.fails = Box::new(says);
        self
    }

    pub(crate) fn length(mut self, says: impl FnMut(&str, u32) -> usize + 'static) -> Play {
        self.length = Box::new(says);
        self
    }

    pub(crate) fn memory(mut self, says: impl FnMut(&str, u32) -> u64 + 'static) -> Play {
        self.memory = Box::new(says);
        self
    }

    pub(crate) fn loses(mut self, says: impl FnMut(&str, u32) -> bool + 'static) -> Play {
        self.loses = Box::new(says);
        self
    }
}

/// The address of a task, without the name of the task where it is that of the stage.
pub(crate) fn address(enactment: &Enactment, task: TaskId) -> String {
    let Some(found) = enactment.address(task) else {
        return enactment
            .graph()
            .operation_at(task)
            .signature
            .name
            .to_string();
    };
    let stage = enactment.expander().unwrap().stage_name(found.stage);
    let doubled = format!("{stage}.{stage}");
    match found.text.strip_prefix(&doubled) {
        Some(rest) if rest.is_empty() || rest.starts_with('[') => format!("{stage}{rest}"),
        _ => found.text,
    }
}

/// Values that say where they come from; lists are as long as `length` says.
pub(crate) fn values(enactment: &Enactment, task: TaskId, length: usize) -> Outputs {
    let signature = &enactment.graph().operation_at(task).signature;
    let address = address(enactment, task);
    let value = |port: &headwater_graph::Port| match &port.port_type {
        Type::List(_) => Value::List(
            (0..length)
                .map(|at| text(&format!("{address}.{}-{at}", port.name)))
                .collect(),
        ),
        _ => text(&format!("{address}.{}", port.name)),
    };
    signature.outputs.iter().map(value).collect()
}

impl World for Play {
    fn run(&mut self, enactment: &Enactment, start: &Start) -> Done {
        let address = address(enactment, start.task);
        let implicit = enactment
            .graph()
            .operation_at(start.task)
            .signature
            .implicit;
        let seconds = if implicit {
            0
        } else {
            (self.seconds)(&address, start.attempt)
        };
        let fails = !implicit && (self.fails)(&address, start.attempt);
        let length = (self.length)(&address, start.attempt);
        let outputs = (!fails).then(|| values(enactment, start.task, length));
        let memory = (self.memory)(&address, start.attempt);
        Done {
            duration: Duration::from_secs(seconds),
            outputs,
            memory,
        }
    }

    fn bring_back(&mut self, enactment: &Enactment, task: TaskId, memory: u64) -> Option<u64> {
        let address = address(enactment, task);
        (!(self.loses)(&address, 0)).then_some(memory)
    }
}

/// What came of a simulation.
pub(crate) struct Ran {
    pub(crate) enactment: Enactment,
    pub(crate) trace: Trace,
}

pub(crate) const SECOND: u64 = 1_000_000_000;

impl Ran {
    pub(crate) fn seconds(&self) -> u64 {
        assert_eq!(self.trace.makespan.0 % SECOND, 0);
        self.trace.makespan.0 / SECOND
    }

    /// `address start-end`, implicit tasks left out, in the order in which they began.
    pub(crate) fn story(&self) -> Vec<String> {
        let shown = self.trace.tasks.iter().filter(|done| {
            !self
                .enactment
                .graph()
                .operation_at(done.task)
                .signature
                .implicit
        });
        shown
            .map(|done| {
                let (start, end) = (done.start.0 / SECOND, done.end.0 / SECOND);
                let failed = if done.succeeded { "" } else { " failed" };
                format!(
                    "{} {start}-{end}{failed}",
                    address(&self.enactment, done.task)
                )
            })
            .collect()
    }

    /// The addresses of all tasks that ran, sorted.
    pub(crate) fn ran(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .story()
            .iter()
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect();
        found.sort();
        found
    }

    /// When it began, in seconds, for the first time.
    pub(crate) fn start(&self, wanted: &str) -> u64 {
        let same =
            |done: &&headwater_enact::Simulated| address(&self.enactment, done.task) == wanted;
        self.trace
            .tasks
            .iter()
            .find(same)
            .unwrap_or_else(|| panic!("{wanted} did not run"))
            .start
            .0
            / SECOND
    }

    /// `output[index] = source`, sorted.
    pub(crate) fn requested(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .enactment
            .requested()
            .iter()
            .map(|requested| {
                let source = describe(&self.enactment, &requested.source);
                format!("{}[{}] = {source}", requested.output, requested.index)
            })
            .collect();
        found.sort();
        found
    }

    /// What each task of a stage read: `stage[index] <- port: source; …`, sorted.
    pub(crate) fn reads(&self, stage: &str) -> Vec<String> {
        let graph = self.enactment.graph();
        let mut found = Vec::new();
        for task in graph.ids() {
            let own = address(&self.enactment, task);
            if own.split(['[', '.']).next() != Some(stage) {
                continue;
            }
            let ports = &graph.operation_at(task).signature.inputs;
            let sources = graph.inputs(task).iter().map(|(port, source)| {
                let port = &ports[usize::from(*port)].name;
                format!("{port}: {}", describe(&self.enactment, source))
            });
            found.push(format!(
                "{own} <- {}",
                sources.collect::<Vec<_>>().join("; ")
            ));
        }
        found.sort();
        found
    }

    pub(crate) fn state(&self, wanted: &str) -> State {
        let graph = self.enactment.graph();
        let task = graph
            .ids()
            .find(|task| address(&self.enactment, *task) == wanted);
        self.enactment
            .coordinator()
            .state(task.unwrap_or_else(|| panic!("there is no {wanted}")))
    }
}

/// A source in one word: a task's address, a value from outside, an item of a list, a list.
pub(crate) fn describe(enactment: &Enactment, source: &Source) -> String {
    let graph = enactment.graph();
    match source {
        Source::Product { task, .. } => {
            let signature = &graph.operation_at(*task).signature;
            if &*signature.name == "headwater/item" {
                let list = describe(enactment, &graph.inputs(*task)[0].1);
                return format!("{list}#{}", graph.parameters(*task)[0]);
            }
            address(enactment, *task)
        }
        Source::External(at) => match &graph.external_at(*at).value {
            Value::Text(text) => format!("'{text}'"),
            other => other.value_type().to_string(),
        },
        Source::List(sources) => {
            let sources: Vec<String> = sources
                .iter()
                .map(|source| describe(enactment, source))
                .collect();
            format!("({})", sources.join(" "))
        }
        Source::Record(_) => "record".to_owned(),
    }
}

/// All four combinations of what the paper calls multithreading and pipelining.
pub(crate) fn parallelism(data: bool, pipelining: bool) -> Options {
    Options {
        parallelism: Parallelism {
            workflow: true,
            data,
            pipelining,
        },
        ..Options::default()
    }
}

pub(crate) fn cores(cores: u64) -> Options {
    Options {
        capacity: Capacity::cores(cores),
        ..Options::default()
    }
}

/// Remembers the tasks of which it is told, by recipe, with outputs of the given length.
pub(crate) struct Remembers {
    pub(crate) recipes: std::collections::BTreeSet<Recipe>,
    pub(crate) length: Option<usize>,
}

impl Remembers {
    /// Everything that was executed in an earlier run, for which `keep` says so.
    pub(crate) fn from(ran: &Ran, keep: impl Fn(&str) -> bool) -> Remembers {
        let graph = ran.enactment.graph();
        let done = |task: &TaskId| {
            ran.enactment.coordinator().state(*task) == State::Done
                && !graph.operation_at(*task).signature.implicit
                && keep(&address(&ran.enactment, *task))
        };
        let recipes = graph
            .ids()
            .filter(done)
            .map(|task| graph.recipe(task))
            .collect();
        Remembers {
            recipes,
            length: Some(2),
        }
    }
}

impl Recall for Remembers {
    fn known(&mut self, graph: &TaskGraph, tasks: &[TaskId]) -> Vec<bool> {
        tasks
            .iter()
            .map(|task| self.recipes.contains(&graph.recipe(*task)))
            .collect()
    }

    fn outputs(&mut self, graph: &TaskGraph, task: TaskId, _: &Recipe) -> Option<Outputs> {
        let length = self.length?;
        let value = |port: &headwater_graph::Port| match &port.port_type {
            Type::List(_) => Value::List((0..length).map(|_| Value::Null).collect()),
            _ => Value::Null,
        };
        Some(
            graph
                .operation_at(task)
                .signature
                .outputs
                .iter()
                .map(value)
                .collect(),
        )
    }
}

pub(crate) fn success(seconds: u64, memory: u64) -> Ending {
    Ending::Success {
        memory,
        elapsed: Duration::from_secs(seconds),
    }
}
