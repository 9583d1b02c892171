//! Stage descriptors: JSON that describes one stage and its tasks, read as a workflow.
//!
//! Law: a descriptor says what passes between tasks, never how they run. An operation that no library has becomes a
//! placeholder: it can be planned, and fails with a way out when somebody runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{
    Binding, Context, Input, KnownBy, Operation, OperationError, OutputBinding, Parameter, Place,
    Registry, Scalar, ScalarType, Signature, Span, Stage, TaskDefinition, Type, Value, Workflow,
};

use crate::excerpt::shorten;
use crate::formats::{
    DESCRIPTOR, DESCRIPTOR_ARGUMENT, DESCRIPTOR_DIRECTIONS, DESCRIPTOR_TASK, DESCRIPTOR_TYPES,
};
use crate::leaf;
use crate::name::NameRule;
use crate::report::Report;
use crate::shape::Fields;
use crate::suggest::Suggester;
use crate::tree::Node;
use crate::workflow::operation::OperationPlaces;
use crate::workflow::places::Places;
use crate::workflow::{WorkflowFile, whole};

/// The version of all placeholders; they never run, so it never changes.
const VERSION: &str = "placeholder";

/// Whether a file is a stage descriptor: tasks at the top level, and nothing that a workflow file begins with.
pub(crate) fn is_descriptor(root: &Node) -> bool {
    let has = |name: &str| root.get(name).is_some();
    has("tasks")
        && !["headwater", "workflow", "stages", "study"]
            .into_iter()
            .any(has)
}

/// The direction of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
    Forward,
}

/// An argument of a task or of the stage.
struct Argument<'n> {
    name: Arc<str>,
    word: &'static str,
    direction: Option<Direction>,
    /// Whether `io` is there and says something else; that has been reported.
    misdirected: bool,
    default: Option<(&'n Node, Scalar)>,
    span: Span,
    type_span: Span,
}

impl Argument<'_> {
    /// The type of a scalar.
    fn scalar(&self) -> Option<ScalarType> {
        match self.word {
            "uchar" | "int" => Some(ScalarType::Int),
            "float" | "double" => Some(ScalarType::Float),
            _ => None,
        }
    }

    /// The type of data between tasks.
    fn data(&self) -> Type {
        match self.word {
            "dr" => Type::File,
            "uchar" | "int" => Type::Int,
            "float" | "double" => Type::Float,
            "mat_vect" => Type::Array.list(),
            _ => Type::Array,
        }
    }
}

fn arguments<'n>(node: Option<&'n Node>, report: &mut Report) -> Vec<Argument<'n>> {
    let mut found: Vec<Argument<'n>> = Vec::new();
    for item in node.and_then(Node::items).unwrap_or_default() {
        let fields = Fields::of(item, &DESCRIPTOR_ARGUMENT);
        let (Some(name), Some(type_node)) = (fields.get("name"), fields.get("type")) else {
            continue;
        };
        let (Some(text), Ok(word)) = (leaf::text(name), leaf::word(type_node, DESCRIPTOR_TYPES))
        else {
            continue;
        };
        let direction = fields.get("io").and_then(|node| {
            Some(match leaf::word(node, DESCRIPTOR_DIRECTIONS).ok()? {
                "input" => Direction::Input,
                "output" => Direction::Output,
                _ => Direction::Forward,
            })
        });
        let default = fields
            .get("default")
            .and_then(|node| Some((node, leaf::literal(node).ok()?)));
        let argument = Argument {
            name: text,
            word,
            misdirected: direction.is_none() && fields.get("io").is_some(),
            direction,
            default,
            span: name.span,
            type_span: type_node.span,
        };
        if let Some((node, _)) = &argument.default
            && argument.scalar().is_none()
        {
            let message = format!("`{}` is no scalar, so it has no default", argument.name);
            report.error_with(node.span, message, "leave `default` out");
        }
        found.push(argument);
    }
    found
}

/// Reads a descriptor. Kinds have been checked; what does not have the right one is left out.
pub(crate) fn descriptor(root: &Node, registry: &Registry, report: &mut Report) -> WorkflowFile {
    let fields = Fields::of(root, &DESCRIPTOR);
    let name = fields.get("name").and_then(leaf::text).unwrap_or_default();
    let mut reader = Reader {
        stage: Arc::clone(&name),
        regions: BTreeMap::new(),
        arrays: BTreeSet::new(),
        declared: fields.get("dr_args").is_some(),
        workflow: Workflow {
            name: Arc::clone(&name),
            ..Workflow::default()
        },
        operations: BTreeMap::new(),
        places: Places::default(),
        names: BTreeMap::new(),
        parameters: BTreeMap::new(),
        hidden: false,
        made: BTreeMap::new(),
        report,
    };
    if let Some((key, value)) = fields.entry("name") {
        let place = Place::Stage(Arc::clone(&name));
        reader.places.put(place, key.span, value.span);
    }
    for argument in arguments(fields.get("dr_args"), reader.report) {
        reader.region(&argument);
    }
    let nodes = fields
        .get("tasks")
        .and_then(Node::items)
        .unwrap_or_default();
    let mut tasks = Vec::with_capacity(nodes.len());
    for node in nodes {
        let task = reader.task(node, tasks.len());
        reader.hidden |= task.is_none();
        tasks.extend(task);
    }
    let Reader {
        mut workflow,
        operations,
        places,
        ..
    } = reader;
    workflow.stages = vec![Stage::new(&name, tasks)];
    // What a library has is used as it is.
    let known = |signature: &Signature| registry.operation(&signature.name).is_some();
    let missing: Vec<Signature> = operations
        .into_values()
        .filter(|signature| !known(signature))
        .collect();
    let placeholders = missing.iter().map(|one| Arc::clone(&one.name)).collect();
    let operations: Vec<Operation> = missing.into_iter().map(placeholder).collect();
    // With mistakes in its parts, what is wrong with the whole mostly follows from them.
    if report.error_starts().is_empty() {
        whole(&workflow, &operations, root, registry, &places, report);
    }
    WorkflowFile {
        operation_places: OperationPlaces::new(),
        workflow,
        operations,
        places: places.spans(),
        placeholders,
    }
}

fn placeholder(signature: Signature) -> Operation {
    let name = Arc::clone(&signature.name);
    Operation::native(
        signature,
        move |_: &[Value], _: &[Scalar], _: &mut Context| {
            Err(OperationError::Failed(format!(
                "a stage descriptor names `{name}`, and there is nothing that runs it"
            )))
        },
    )
}

/// What has been read of a descriptor.
struct Reader<'r> {
    stage: Arc<str>,
    /// Data regions and their direction.
    regions: BTreeMap<Arc<str>, Direction>,
    /// Arrays from outside.
    arrays: BTreeSet<Arc<str>>,
    /// Whether the descriptor lists its data regions; otherwise the tasks say what there is.
    declared: bool,
    workflow: Workflow,
    operations: BTreeMap<Arc<str>, Signature>,
    places: Places,
    /// Names of tasks, and how many calls of a function there were.
    names: BTreeMap<Arc<str>, usize>,
    /// Parameters by name, as positions in the workflow.
    parameters: BTreeMap<Arc<str>, usize>,
    /// Whether a task could not be read, so that it may make anything.
    hidden: bool,
    /// What earlier tasks make, and its type.
    made: BTreeMap<Arc<str>, &'static str>,
    report: &'r mut Report,
}

impl Reader<'_> {
    /// A data region that the stage reads or makes.
    fn region(&mut self, argument: &Argument<'_>) {
        let name = &argument.name;
        if argument.word != "dr" {
            self.regions.insert(Arc::clone(name), Direction::Forward);
            let message = format!(
                "`{name}` is {}, and a stage lists data regions",
                argument.word
            );
            let hint = "write `dr`, or leave it to the tasks";
            return self.report.error_with(argument.type_span, message, hint);
        }
        let direction = match argument.direction {
            Some(direction @ (Direction::Input | Direction::Output)) => direction,
            _ => {
                self.regions.insert(Arc::clone(name), Direction::Forward);
                return self.undirected(argument);
            }
        };
        if self.regions.insert(Arc::clone(name), direction).is_some() {
            let message = format!("data region `{name}` is listed twice");
            return self.report.error(argument.span, message);
        }
        if direction == Direction::Input {
            self.input(argument, Type::File);
        } else {
            let place = Place::Output(Arc::clone(name));
            self.places.put(place, argument.span, argument.span);
            if let Some((message, hint)) = NameRule::Output.mistake(name) {
                self.report.error_with(argument.span, message, hint);
            }
            self.workflow.outputs.push(OutputBinding {
                name: Arc::clone(name),
                data: Arc::clone(name),
            });
        }
    }

    fn input(&mut self, argument: &Argument<'_>, input_type: Type) {
        let place = Place::Input(Arc::clone(&argument.name));
        self.places.put(place, argument.span, argument.type_span);
        self.workflow.inputs.push(Input {
            name: Arc::clone(&argument.name),
            input_type,
            optional: false,
            identity: KnownBy::Content,
        });
    }

    fn task(&mut self, node: &Node, position: usize) -> Option<TaskDefinition> {
        let fields = Fields::of(node, &DESCRIPTOR_TASK);
        let (call, (library, function)) = {
            let call = fields.get("call")?;
            (call, self.call(call)?)
        };
        let mut signature = Signature::new(&library, VERSION);
        let task_place = Place::Task(Arc::clone(&self.stage), position);
        self.places.put(task_place, call.span, node.span);
        let place = Place::TaskOperation(Arc::clone(&self.stage), position);
        self.places.put(place, call.span, call.span);
        let mut task = TaskDefinition {
            name: self.unique(&function),
            operation: Arc::clone(&signature.name),
            inputs: BTreeMap::new(),
            parameters: BTreeMap::new(),
            outputs: BTreeMap::new(),
        };
        for argument in arguments(fields.get("args"), self.report) {
            self.argument(&argument, position, &mut task, &mut signature);
        }
        let between = arguments(fields.get("intertask_args"), self.report);
        for argument in &between {
            self.between(argument, position, &mut task, &mut signature);
        }
        for argument in &between {
            if argument.direction == Some(Direction::Output) {
                self.made.insert(Arc::clone(&argument.name), argument.word);
            }
        }
        match self.operations.get(&signature.name) {
            Some(known) if *known != signature => {
                let message = format!(
                    "`{}` has different arguments in another task",
                    signature.name
                );
                let hint = "give the function the same arguments in every task";
                self.report.error_with(call.span, message, hint);
            }
            Some(_) => {}
            None => {
                self.operations
                    .insert(Arc::clone(&signature.name), signature);
            }
        }
        Some(task)
    }

    /// A name for a task that no task before it has.
    fn unique(&mut self, function: &Arc<str>) -> Arc<str> {
        let calls = self.names.get(function).copied().unwrap_or(0);
        let mut name = Arc::clone(function);
        let mut number = calls + 1;
        while self.names.contains_key(&name) {
            number = number.max(2);
            name = format!("{function}-{number}").into();
            number += 1;
        }
        self.names.insert(Arc::clone(function), calls + 1);
        self.names.entry(Arc::clone(&name)).or_insert(1);
        name
    }

    /// The operation and the function of a call.
    fn call(&mut self, node: &Node) -> Option<(Arc<str>, Arc<str>)> {
        let text = leaf::text(node)?;
        let parts: Vec<&str> = text.split("::").filter(|part| !part.is_empty()).collect();
        let wrong = |part: &&&str| NameRule::Address.mistake(part).is_some();
        let (Some(function), None) = (parts.last(), parts.iter().find(wrong)) else {
            let message = format!("`{}` is not the name of a function", shorten(&text));
            let hint = "write `::library::Group::function`";
            self.report.error_with(node.span, message, hint);
            return None;
        };
        let name = match parts.as_slice() {
            [library, rest @ ..] if !rest.is_empty() => format!("{library}/{}", rest.join(".")),
            _ => (*function).to_owned(),
        };
        Some((name.into(), Arc::from(*function)))
    }

    /// A scalar, a data region or an array from outside.
    fn argument(
        &mut self,
        argument: &Argument<'_>,
        position: usize,
        task: &mut TaskDefinition,
        signature: &mut Signature,
    ) {
        let name = &argument.name;
        if let Some(scalar_type) = argument.scalar() {
            if matches!(
                argument.direction,
                Some(Direction::Output | Direction::Forward)
            ) {
                let message = format!("`{name}` is a scalar among `args`, which are read alone");
                let hint = "what a task makes or passes on is listed under `intertask_args`";
                return self.report.error_with(argument.span, message, hint);
            }
            self.parameter(argument, scalar_type);
            let place = Place::TaskParameter(Arc::clone(&self.stage), position, Arc::clone(name));
            self.places.put(place, argument.span, argument.type_span);
            let binding = Binding::Parameter(Arc::clone(name));
            if task.parameters.insert(Arc::clone(name), binding).is_some() {
                return self.twice(argument);
            }
            let with = std::mem::replace(signature, Signature::new("", VERSION));
            *signature = with.parameter(name, scalar_type, None).truncating(name);
            return;
        }
        match argument.word {
            "dr" => {
                let Some(direction) = argument.direction else {
                    return self.undirected(argument);
                };
                if !self.regions.contains_key(name) {
                    if self.declared {
                        let message = format!("the stage has no data region `{name}`");
                        let names = self.regions.keys().map(|name| &**name);
                        let hint = Suggester::default()
                            .hint(name, names)
                            .unwrap_or_else(|| "list it under `dr_args`".to_owned());
                        return self.report.error_with(argument.span, message, hint);
                    }
                    self.region(argument);
                }
                self.port(argument, direction, Type::File, position, task, signature);
            }
            "float_array" => {
                let element = Type::Float.list();
                if self.arrays.insert(Arc::clone(name)) {
                    self.input(argument, element.clone());
                }
                self.port(
                    argument,
                    Direction::Input,
                    element,
                    position,
                    task,
                    signature,
                );
            }
            word => {
                let message = format!("`{name}` is a {word}, which passes between tasks");
                let hint = "put it under `intertask_args`";
                self.report.error_with(argument.type_span, message, hint);
            }
        }
    }

    /// What tasks give each other.
    fn between(
        &mut self,
        argument: &Argument<'_>,
        position: usize,
        task: &mut TaskDefinition,
        signature: &mut Signature,
    ) {
        let name = &argument.name;
        if argument.word == "dr" {
            let message = format!("`{name}` is a data region, which the stage reads or makes");
            return self
                .report
                .error_with(argument.type_span, message, "put it under `args`");
        }
        let Some(direction) = argument.direction else {
            self.hidden = true;
            return self.undirected(argument);
        };
        if direction != Direction::Output {
            let Some(word) = self.made.get(name).copied() else {
                if self.hidden {
                    return;
                }
                let message = format!("no task before this one makes `{name}`");
                let names = self.made.keys().map(|name| &**name);
                let hint = Suggester::default()
                    .hint(name, names)
                    .unwrap_or_else(|| "tasks read what tasks before them make".to_owned());
                // The name stays unknown, and is reported once.
                return self.report.error_with(argument.span, message, hint);
            };
            if word != argument.word {
                let message = format!("`{name}` is made as {word}, and {} here", argument.word);
                let hint = format!("write `\"type\": \"{word}\"`");
                return self.report.error_with(argument.type_span, message, hint);
            }
        }
        let data = argument.data();
        self.port(argument, direction, data, position, task, signature);
    }

    /// A port of the task, unless it only passes on what it has.
    fn port(
        &mut self,
        argument: &Argument<'_>,
        direction: Direction,
        port_type: Type,
        position: usize,
        task: &mut TaskDefinition,
        signature: &mut Signature,
    ) {
        let name = &argument.name;
        let stage = Arc::clone(&self.stage);
        let with = std::mem::replace(signature, Signature::new("", VERSION));
        let (place, ports) = match direction {
            Direction::Forward => {
                *signature = with;
                return;
            }
            Direction::Input => {
                *signature = with.input(name, port_type);
                let place = Place::TaskInput(stage, position, Arc::clone(name));
                (place, &mut task.inputs)
            }
            Direction::Output => {
                *signature = with.output(name, port_type);
                let place = Place::TaskOutput(stage, position, Arc::clone(name));
                (place, &mut task.outputs)
            }
        };
        self.places.put(place, argument.span, argument.span);
        if ports.insert(Arc::clone(name), Arc::clone(name)).is_some() {
            self.twice(argument);
        }
    }

    fn undirected(&mut self, argument: &Argument<'_>) {
        if argument.misdirected {
            return;
        }
        let name = &argument.name;
        let (message, hint) = if argument.word == "dr" {
            let message = format!("`{name}` is neither read nor made");
            (message, "add `\"io\": \"input\"` or `\"io\": \"output\"`")
        } else {
            let message = format!("`{name}` is neither read nor made nor passed on");
            let hint = "add `\"io\": \"input\"`, `\"output\"` or `\"forward\"`";
            (message, hint)
        };
        self.report.error_with(argument.span, message, hint);
    }

    fn twice(&mut self, argument: &Argument<'_>) {
        let message = format!("the task has argument `{}` twice", argument.name);
        self.report.error(argument.span, message);
    }

    /// A parameter of the workflow; tasks share those of one name.
    fn parameter(&mut self, argument: &Argument<'_>, scalar_type: ScalarType) {
        let name = &argument.name;
        let default = match &argument.default {
            None => None,
            Some((node, value)) => {
                let fitted = value.coerce(scalar_type, false);
                if fitted.is_none() {
                    let message = format!(
                        "`{name}` is {}, but its default {value} does not have this type",
                        argument.word
                    );
                    self.report.error(node.span, message);
                }
                fitted
            }
        };
        let parameters = &mut self.workflow.parameters;
        if let Some(position) = self.parameters.get(name) {
            let known = &mut parameters[*position];
            if known.scalar_type != scalar_type {
                let message = format!(
                    "`{name}` is {} here, and {} in another task",
                    scalar_type.name(),
                    known.scalar_type.name()
                );
                let hint = "one name is one parameter; give it another name, or the same type";
                self.report.error_with(argument.type_span, message, hint);
            } else if let (Some(one), Some(other)) = (&known.default, &default)
                && one != other
            {
                let message = format!("`{name}` has the default {other} here, and {one} before");
                self.report.error(argument.span, message);
            } else if known.default.is_none() {
                known.default = default;
            }
            return;
        }
        let place = Place::Parameter(Arc::clone(name));
        self.places.put(place, argument.span, argument.type_span);
        self.parameters.insert(Arc::clone(name), parameters.len());
        parameters.push(Parameter {
            name: Arc::clone(name),
            scalar_type,
            default,
            range: None,
            step: None,
            values: Vec::new(),
        });
    }
}
