//! The mistakes of a workflow, found before anything runs.
//!
//! Law: `check` reports every mistake it can see, each with the [`Place`] it stands at (which a reader of
//! files turns into a line and a column), and never panics. A workflow without errors here can be
//! instantiated; what depends on the data (how many items there are) is found when it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::workflow::cycle;
use crate::{
    Binding, DataOrigin, Registry, ScalarType, Severity, Signature, Stage, TaskDefinition, Type,
    Wait, Workflow,
};

/// Where in a workflow a problem stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The workflow as a whole.
    Workflow,
    /// An input.
    Input(Arc<str>),
    /// A parameter.
    Parameter(Arc<str>),
    /// A stage.
    Stage(Arc<str>),
    /// A field of a stage: `iterate`, `wait`, `after`, `tolerate`, `concurrency`.
    StageField(Arc<str>, &'static str),
    /// A task, by the names of its stage and its position.
    Task(Arc<str>, usize),
    /// The operation of a task.
    TaskOperation(Arc<str>, usize),
    /// An input port of a task.
    TaskInput(Arc<str>, usize, Arc<str>),
    /// A parameter of a task.
    TaskParameter(Arc<str>, usize, Arc<str>),
    /// An output port of a task.
    TaskOutput(Arc<str>, usize, Arc<str>),
    /// An output of the workflow.
    Output(Arc<str>),
}

/// A mistake, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// How bad.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What would fix it.
    pub hint: Option<String>,
    /// For an unknown name: the name, and those that were possible.
    pub unknown: Option<(Arc<str>, Vec<Arc<str>>)>,
}

/// How a data name reaches a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Link {
    /// All items as one list (a synchronised stage).
    pub(crate) gather: bool,
    /// Each item of a list on its own.
    pub(crate) unfold: bool,
    /// A file is decoded on the way.
    pub(crate) decode: bool,
}

impl Registry {
    /// How data of type `given` reaches a port of type `port`; `None` if it cannot. The three answers are:
    /// gathered into a list, unfolded from a list, decoded from a file.
    pub fn link(
        &self,
        port: &Type,
        given: &Type,
        synchronised: bool,
    ) -> Option<(bool, bool, bool)> {
        self.find_link(port, given, synchronised)
            .map(|link| (link.gather, link.unfold, link.decode))
    }

    fn find_link(&self, port: &Type, given: &Type, synchronised: bool) -> Option<Link> {
        let single = |port: &Type, given: &Type| {
            if port.accepts(given) {
                Some(Link::default())
            } else if *given == Type::File && self.codec(port).is_some() {
                Some(Link {
                    decode: true,
                    ..Link::default()
                })
            } else {
                None
            }
        };
        if synchronised {
            let element = match port {
                Type::List(element) => element,
                Type::Any => &Type::Any,
                plain => return single(plain, given),
            };
            if let Some(link) = single(element, given)
                .filter(|_| *element != Type::Any || given.element().is_none())
            {
                return Some(Link {
                    gather: true,
                    ..link
                });
            }
            let link = single(element, given.element()?)?;
            return Some(Link {
                gather: true,
                unfold: true,
                ..link
            });
        }
        if let Some(link) = single(port, given) {
            return Some(link);
        }
        let link = single(port, given.element()?)?;
        Some(Link {
            unfold: true,
            ..link
        })
    }
}

/// All mistakes of `workflow`, in the order of its parts.
pub fn check(workflow: &Workflow, registry: &Registry) -> Vec<Problem> {
    let mut checker = Checker {
        workflow,
        registry,
        types: BTreeMap::new(),
        origins: workflow.origins(),
        stage_names: workflow
            .stages
            .iter()
            .map(|stage| Arc::clone(&stage.name))
            .collect(),
        used_parameters: BTreeSet::new(),
        problems: Vec::new(),
        candidate_lists: 100,
    };
    checker.collect_types();
    checker.names_are_unique();
    for (position, stage) in workflow.stages.iter().enumerate() {
        checker.stage(position, stage);
    }
    checker.cycles();
    checker.outputs();
    checker.unused();
    checker.problems
}

struct Checker<'a> {
    workflow: &'a Workflow,
    registry: &'a Registry,
    types: BTreeMap<Arc<str>, Type>,
    origins: BTreeMap<Arc<str>, DataOrigin>,
    stage_names: BTreeSet<Arc<str>>,
    used_parameters: BTreeSet<Arc<str>>,
    problems: Vec<Problem>,
    /// How many unknown names still get the list of what was possible.
    candidate_lists: usize,
}

impl Checker<'_> {
    /// The names that were possible; none after many unknown names, since the lists would take memory
    /// quadratic in the size of the file and nobody reads so many suggestions.
    fn candidates(&mut self, names: impl Iterator<Item = Arc<str>>) -> Vec<Arc<str>> {
        let Some(left) = self.candidate_lists.checked_sub(1) else {
            return Vec::new();
        };
        self.candidate_lists = left;
        names.collect()
    }

    fn data_candidates(&mut self) -> Vec<Arc<str>> {
        let Some(left) = self.candidate_lists.checked_sub(1) else {
            return Vec::new();
        };
        self.candidate_lists = left;
        self.origins.keys().cloned().collect()
    }

    fn problem(&mut self, place: Place, severity: Severity, message: String) -> &mut Problem {
        let at = self.problems.len();
        self.problems.push(Problem {
            place,
            severity,
            message,
            hint: None,
            unknown: None,
        });
        &mut self.problems[at]
    }

    fn error(&mut self, place: Place, message: String) -> &mut Problem {
        self.problem(place, Severity::Error, message)
    }

    fn signature(&self, task: &TaskDefinition) -> Option<&Signature> {
        self.registry
            .operation(&task.operation)
            .map(|operation| &operation.signature)
    }

    fn collect_types(&mut self) {
        for input in &self.workflow.inputs {
            self.types
                .insert(Arc::clone(&input.name), input.input_type.clone());
        }
        let mut made = Vec::new();
        for task in self.workflow.stages.iter().flat_map(|stage| &stage.tasks) {
            let Some(signature) = self.signature(task) else {
                continue;
            };
            for (port, name) in &task.outputs {
                if let Some(index) = signature.output_index(port) {
                    made.push((Arc::clone(name), signature.outputs[index].port_type.clone()));
                }
            }
        }
        for (name, made_type) in made {
            self.types.entry(name).or_insert(made_type);
        }
    }

    fn names_are_unique(&mut self) {
        let mut makers: BTreeMap<Arc<str>, String> = BTreeMap::new();
        for input in &self.workflow.inputs {
            makers.insert(Arc::clone(&input.name), "a workflow input".to_owned());
        }
        for stage in &self.workflow.stages {
            let mut task_names: BTreeSet<&str> = BTreeSet::new();
            for (position, task) in stage.tasks.iter().enumerate() {
                if !task_names.insert(&task.name) {
                    let place = Place::Task(Arc::clone(&stage.name), position);
                    let problem = self.error(
                        place,
                        format!(
                            "stage `{}` has two tasks called `{}`",
                            stage.name, task.name
                        ),
                    );
                    problem.hint = Some("give one of them a `name:` of its own".to_owned());
                }
                for (port, name) in &task.outputs {
                    let maker = format!("task `{}.{}`", stage.name, task.name);
                    if let Some(first) = makers.get(name) {
                        let place =
                            Place::TaskOutput(Arc::clone(&stage.name), position, Arc::clone(port));
                        let message =
                            format!("data name `{name}` is made twice: by {first} and by {maker}");
                        self.error(place, message).hint =
                            Some("data names are unique in a workflow".to_owned());
                    } else {
                        makers.insert(Arc::clone(name), maker);
                    }
                }
            }
        }
    }

    fn stage(&mut self, position: usize, stage: &Stage) {
        if stage.tasks.is_empty() {
            self.error(
                Place::Stage(Arc::clone(&stage.name)),
                format!("stage `{}` has no tasks", stage.name),
            );
        }
        let synchronised = stage.wait != Wait::No;
        for (task_position, task) in stage.tasks.iter().enumerate() {
            self.task(position, stage, task_position, task, synchronised);
        }
        self.iterate(stage, synchronised);
        self.wait_and_after(stage);
        if stage.tolerate.is_some() && !synchronised {
            let place = Place::StageField(Arc::clone(&stage.name), "tolerate");
            self.error(
                place,
                format!(
                    "stage `{}` has `tolerate` but waits for nothing",
                    stage.name
                ),
            )
            .hint = Some("`tolerate` belongs to a stage with `wait`".to_owned());
        }
        if stage.concurrency == Some(0) {
            let place = Place::StageField(Arc::clone(&stage.name), "concurrency");
            self.error(
                place,
                format!(
                    "stage `{}` could never run: its `concurrency` is 0",
                    stage.name
                ),
            );
        }
    }

    fn task(
        &mut self,
        stage_position: usize,
        stage: &Stage,
        position: usize,
        task: &TaskDefinition,
        synchronised: bool,
    ) {
        let Some(operation) = self.registry.operation(&task.operation).map(Arc::clone) else {
            let registry = self.registry;
            let candidates = self.candidates(registry.names().map(Arc::from));
            let place = Place::TaskOperation(Arc::clone(&stage.name), position);
            let problem = self.error(place, format!("there is no operation `{}`", task.operation));
            problem.unknown = Some((Arc::clone(&task.operation), candidates));
            self.data_names_exist(stage, position, task);
            return;
        };
        let signature = &operation.signature;
        self.data_names_exist(stage, position, task);
        self.inputs(
            stage_position,
            stage,
            position,
            task,
            signature,
            synchronised,
        );
        self.parameters(stage, position, task, signature);
        for port in task.outputs.keys() {
            if signature.output_index(port).is_none() {
                let place = Place::TaskOutput(Arc::clone(&stage.name), position, Arc::clone(port));
                let problem = self.error(
                    place,
                    format!("`{}` has no output `{port}`", task.operation),
                );
                let ports = signature
                    .outputs
                    .iter()
                    .map(|port| Arc::clone(&port.name))
                    .collect();
                problem.unknown = Some((Arc::clone(port), ports));
            }
        }
    }

    fn data_names_exist(&mut self, stage: &Stage, position: usize, task: &TaskDefinition) {
        for (port, name) in &task.inputs {
            if !self.origins.contains_key(name) {
                let candidates = self.data_candidates();
                let place = Place::TaskInput(Arc::clone(&stage.name), position, Arc::clone(port));
                let problem = self.error(place, format!("nothing makes data called `{name}`"));
                problem.unknown = Some((Arc::clone(name), candidates));
            }
        }
    }

    fn inputs(
        &mut self,
        stage_position: usize,
        stage: &Stage,
        position: usize,
        task: &TaskDefinition,
        signature: &Signature,
        synchronised: bool,
    ) {
        for (port, name) in &task.inputs {
            let place = Place::TaskInput(Arc::clone(&stage.name), position, Arc::clone(port));
            let Some(index) = signature.input_index(port) else {
                let problem =
                    self.error(place, format!("`{}` has no input `{port}`", task.operation));
                let ports = signature
                    .inputs
                    .iter()
                    .map(|port| Arc::clone(&port.name))
                    .collect();
                problem.unknown = Some((Arc::clone(port), ports));
                continue;
            };
            let wanted = &signature.inputs[index].port_type;
            let Some(given) = self.types.get(name).cloned() else {
                continue;
            };
            let inside = matches!(self.origins.get(name), Some(DataOrigin::Task { stage, .. }) if *stage == stage_position);
            match self
                .registry
                .find_link(wanted, &given, synchronised && !inside)
            {
                None => {
                    let maker = self.maker(name);
                    let message = format!(
                        "port `{port}` of `{}` takes {}, but `{name}` ({maker}) is {}",
                        task.operation,
                        a(wanted),
                        a(&given)
                    );
                    self.error(place, message);
                }
                Some(link) if link.unfold && inside => {
                    let message = format!(
                        "`{name}` is a list made in this stage; its items cannot be iterated here"
                    );
                    self.error(place, message).hint =
                        Some(format!("move task `{}` to a stage of its own", task.name));
                }
                // A gathered list leaves out what is missing; a single port has nothing to leave out.
                Some(link)
                    if !link.gather
                        && !signature.inputs[index].optional
                        && self.may_be_missing(name) =>
                {
                    let maker = self.maker(name);
                    let message = format!(
                        "`{name}` ({maker}) may be missing, but port `{port}` of `{}` needs it",
                        task.operation
                    );
                    self.error(place, message).hint = Some(
                        "say `optional: true` at this input too, or take it away at the output"
                            .to_owned(),
                    );
                }
                Some(_) => {}
            }
        }
        for port in signature
            .inputs
            .iter()
            .filter(|port| !port.optional && !task.inputs.contains_key(&port.name))
        {
            let place = Place::Task(Arc::clone(&stage.name), position);
            let message = format!("input `{}` of `{}` is not given", port.name, task.operation);
            self.error(place, message).hint = Some(format!("add `{}: NAME` to `in:`", port.name));
        }
    }

    /// Whether a task makes `name` at a port that is optional.
    fn may_be_missing(&self, name: &str) -> bool {
        let Some(DataOrigin::Task { stage, task }) = self.origins.get(name) else {
            return false;
        };
        let task = &self.workflow.stages[*stage].tasks[*task];
        let port = task.outputs.iter().find(|(_, made)| ***made == *name);
        port.zip(self.signature(task))
            .is_some_and(|((port, _), signature)| {
                signature
                    .output_index(port)
                    .is_some_and(|index| signature.outputs[index].optional)
            })
    }

    fn maker(&self, name: &str) -> String {
        match self.origins.get(name) {
            Some(DataOrigin::Task { stage, task }) => {
                let stage = &self.workflow.stages[*stage];
                let task = &stage.tasks[*task];
                let port = task
                    .outputs
                    .iter()
                    .find(|(_, made)| ***made == *name)
                    .map_or("", |(port, _)| port);
                format!(
                    "port `{port}` of `{}` in `{}.{}`",
                    task.operation, stage.name, task.name
                )
            }
            _ => "a workflow input".to_owned(),
        }
    }

    fn parameters(
        &mut self,
        stage: &Stage,
        position: usize,
        task: &TaskDefinition,
        signature: &Signature,
    ) {
        for (name, binding) in &task.parameters {
            let place = Place::TaskParameter(Arc::clone(&stage.name), position, Arc::clone(name));
            if let Binding::Parameter(parameter) = binding {
                self.used_parameters.insert(Arc::clone(parameter));
            }
            let Some(index) = signature.parameter_index(name) else {
                let problem = self.error(
                    place,
                    format!("`{}` has no parameter `{name}`", task.operation),
                );
                let known = signature
                    .parameters
                    .iter()
                    .map(|parameter| Arc::clone(&parameter.name))
                    .collect();
                problem.unknown = Some((Arc::clone(name), known));
                continue;
            };
            let declared = &signature.parameters[index];
            match binding {
                Binding::Literal(value) => {
                    if value
                        .coerce(declared.scalar_type, declared.truncate)
                        .is_none()
                    {
                        let message = format!(
                            "parameter `{name}` of `{}` is {}, but `{value}` is {}",
                            task.operation,
                            a_scalar(declared.scalar_type),
                            a_scalar(value.scalar_type())
                        );
                        self.error(place, message);
                    }
                }
                Binding::Parameter(parameter) => {
                    let workflow = self.workflow;
                    match workflow
                        .parameters
                        .iter()
                        .find(|known| known.name == *parameter)
                    {
                        None => {
                            let known = workflow.parameters.iter();
                            let known = self.candidates(known.map(|known| Arc::clone(&known.name)));
                            let problem = self.error(
                                place,
                                format!("there is no workflow parameter `{parameter}`"),
                            );
                            problem.hint = Some("`$$` stands for a literal `$`".to_owned());
                            problem.unknown = Some((Arc::clone(parameter), known));
                        }
                        Some(known) => {
                            if !reaches(known.scalar_type, declared.scalar_type, declared.truncate)
                            {
                                let message = format!(
                                    "parameter `{name}` of `{}` is {}, but `${parameter}` is {}",
                                    task.operation,
                                    a_scalar(declared.scalar_type),
                                    a_scalar(known.scalar_type)
                                );
                                self.error(place, message);
                            }
                        }
                    }
                }
            }
        }
        let given = |name: &Arc<str>| task.parameters.contains_key(name);
        for missing in signature
            .parameters
            .iter()
            .filter(|known| known.default.is_none() && !given(&known.name))
        {
            let place = Place::Task(Arc::clone(&stage.name), position);
            let message = format!(
                "parameter `{}` of `{}` has no default and is not given",
                missing.name, task.operation
            );
            self.error(place, message).hint =
                Some(format!("add `{}: VALUE` to `params:`", missing.name));
        }
    }

    fn iterate(&mut self, stage: &Stage, synchronised: bool) {
        let Some(strategy) = &stage.iterate else {
            return;
        };
        let place = Place::StageField(Arc::clone(&stage.name), "iterate");
        if synchronised {
            self.error(
                place,
                format!("stage `{}` both iterates and waits", stage.name),
            )
            .hint = Some("a stage with `wait` gets lists; remove `iterate`".to_owned());
            return;
        }
        let read: BTreeSet<Arc<str>> = stage
            .tasks
            .iter()
            .flat_map(|task| task.inputs.values())
            .cloned()
            .collect();
        for name in strategy.names() {
            if stage.makes(&name) {
                let message = format!("`iterate` names `{name}`, which this stage makes itself");
                self.error(place.clone(), message).hint =
                    Some("name data that the stage only reads".to_owned());
            } else if !read.contains(&name) {
                let candidates = read
                    .iter()
                    .filter(|name| !stage.makes(name))
                    .cloned()
                    .collect();
                let problem = self.error(
                    place.clone(),
                    format!("`iterate` names `{name}`, which this stage does not read"),
                );
                problem.unknown = Some((name, candidates));
            }
        }
    }

    fn wait_and_after(&mut self, stage: &Stage) {
        let waited = match &stage.wait {
            Wait::Stages(names) => names.as_slice(),
            _ => &[],
        };
        let fields = [("after", stage.after.as_slice()), ("wait", waited)];
        for (field, name) in fields
            .iter()
            .flat_map(|(field, names)| names.iter().map(move |name| (*field, name)))
        {
            let place = Place::StageField(Arc::clone(&stage.name), field);
            if *name == stage.name {
                self.error(place, format!("stage `{name}` cannot come after itself"));
            } else if !self.stage_names.contains(name) {
                let workflow = self.workflow;
                let stages =
                    self.candidates(workflow.stages.iter().map(|stage| Arc::clone(&stage.name)));
                let problem = self.error(place, format!("there is no stage `{name}`"));
                problem.unknown = Some((Arc::clone(name), stages));
            }
        }
        if let Wait::Per(name) = &stage.wait {
            let inputs: Vec<Arc<str>> = self
                .workflow
                .inputs
                .iter()
                .map(|input| Arc::clone(&input.name))
                .collect();
            if !inputs.contains(name) {
                let place = Place::StageField(Arc::clone(&stage.name), "wait");
                let problem = self.error(
                    place,
                    format!("`per` names `{name}`, which is not a workflow input"),
                );
                problem.unknown = Some((Arc::clone(name), inputs));
            }
        }
    }

    fn cycles(&mut self) {
        if let Err(cycle) = self.workflow.stage_order() {
            let stages = &self.workflow.stages;
            let names: Vec<String> = cycle
                .iter()
                .map(|stage| format!("`{}`", stages[*stage].name))
                .collect();
            let mut links = Vec::new();
            for (position, stage) in cycle.iter().enumerate() {
                let next = cycle[(position + 1) % cycle.len()];
                links.push(self.describe_link(*stage, next));
            }
            let first = Arc::clone(&stages[cycle[0]].name);
            let message = format!(
                "stages {} wait for each other: {}",
                names.join(", "),
                links.join("; ")
            );
            self.error(Place::Stage(first), message);
        }
        for stage in &self.workflow.stages {
            self.task_cycle(stage);
        }
    }

    fn describe_link(&self, from: usize, to: usize) -> String {
        let (from_stage, to_stage) = (&self.workflow.stages[from], &self.workflow.stages[to]);
        for task in &to_stage.tasks {
            for (port, name) in &task.inputs {
                if from_stage.makes(name) {
                    return format!(
                        "`{}.{}` reads `{name}` at port `{port}`",
                        to_stage.name, task.name
                    );
                }
            }
        }
        format!("`{}` comes after `{}`", to_stage.name, from_stage.name)
    }

    fn task_cycle(&mut self, stage: &Stage) {
        let mut makers: BTreeMap<&str, usize> = BTreeMap::new();
        for (position, task) in stage.tasks.iter().enumerate() {
            task.outputs.values().for_each(|name| {
                makers.entry(name).or_insert(position);
            });
        }
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); stage.tasks.len()];
        let mut waits_for = vec![0usize; stage.tasks.len()];
        for (position, task) in stage.tasks.iter().enumerate() {
            for maker in task.inputs.values().filter_map(|name| makers.get(&**name)) {
                readers[*maker].push(position);
                waits_for[position] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..waits_for.len())
            .filter(|task| waits_for[*task] == 0)
            .collect();
        while let Some(task) = ready.pop() {
            for reader in &readers[task] {
                waits_for[*reader] -= 1;
                if waits_for[*reader] == 0 {
                    ready.push(*reader);
                }
            }
        }
        if waits_for.iter().any(|waits| *waits > 0) {
            // Only the tasks of one cycle, not those that come after it.
            let made_by = |task: &TaskDefinition| {
                task.inputs
                    .values()
                    .filter_map(|name| makers.get(&**name).copied())
                    .collect()
            };
            let predecessors: Vec<Vec<usize>> = stage.tasks.iter().map(made_by).collect();
            let done: Vec<bool> = waits_for.iter().map(|waits| *waits == 0).collect();
            let mut around = cycle(&predecessors, &done);
            around.sort_unstable();
            let first = around.first().copied().unwrap_or(0);
            let mut links = Vec::new();
            for position in &around {
                let task = &stage.tasks[*position];
                for (port, name) in &task.inputs {
                    if let Some(maker) = makers.get(&**name).filter(|maker| around.contains(maker))
                    {
                        let maker = &stage.tasks[*maker].name;
                        links.push(format!(
                            "`{}` reads `{name}` of `{maker}` at port `{port}`",
                            task.name
                        ));
                    }
                }
            }
            let message = format!(
                "tasks of stage `{}` wait for each other: {}",
                stage.name,
                links.join("; ")
            );
            self.error(Place::Task(Arc::clone(&stage.name), first), message);
        }
    }

    fn outputs(&mut self) {
        for output in &self.workflow.outputs {
            if !self.origins.contains_key(&output.data) {
                let candidates = self.data_candidates();
                let place = Place::Output(Arc::clone(&output.name));
                let problem = self.error(
                    place,
                    format!("nothing makes data called `{}`", output.data),
                );
                problem.unknown = Some((Arc::clone(&output.data), candidates));
            }
        }
    }

    /// Notes on what nobody reads: almost always a slip of the pen.
    fn unused(&mut self) {
        let workflow = self.workflow;
        let needed = workflow.needed_stages(|task| {
            self.signature(task)
                .is_some_and(|signature| !signature.pure)
        });
        // With a mistake elsewhere nobody can tell what leads where.
        let sound = !self
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        for (stage, needed) in workflow.stages.iter().zip(needed) {
            if sound && !needed && !stage.tasks.is_empty() {
                let place = Place::Stage(Arc::clone(&stage.name));
                let message = format!("stage `{}` feeds no output and will not run", stage.name);
                self.problem(place, Severity::Warning, message).hint = Some(
                    "name one of its results under `outputs:`, or say `pure: false`".to_owned(),
                );
            }
        }
        let read: BTreeSet<&Arc<str>> = workflow
            .stages
            .iter()
            .flat_map(|stage| &stage.tasks)
            .flat_map(|task| task.inputs.values())
            .chain(workflow.outputs.iter().map(|output| &output.data))
            .chain(
                workflow
                    .stages
                    .iter()
                    .filter_map(|stage| match &stage.wait {
                        Wait::Per(name) => Some(name),
                        _ => None,
                    }),
            )
            .collect();
        for input in &workflow.inputs {
            if !read.contains(&input.name) {
                let message = format!("input `{}` is not read by any task", input.name);
                self.problem(
                    Place::Input(Arc::clone(&input.name)),
                    Severity::Warning,
                    message,
                );
            }
        }
        for parameter in &workflow.parameters {
            if !self.used_parameters.contains(&parameter.name) {
                let message = format!("parameter `{}` is not used by any task", parameter.name);
                self.problem(
                    Place::Parameter(Arc::clone(&parameter.name)),
                    Severity::Warning,
                    message,
                );
            }
        }
    }
}

/// Whether a parameter of one type may be given for one of another, judged before its value is known.
fn reaches(given: ScalarType, wanted: ScalarType, truncate: bool) -> bool {
    given == wanted
        || matches!((given, wanted), (ScalarType::Int, ScalarType::Float))
        || (truncate && matches!((given, wanted), (ScalarType::Float, ScalarType::Int)))
}

fn a(value_type: &Type) -> String {
    let name = value_type.to_string();
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} `{name}`")
}

fn a_scalar(scalar_type: ScalarType) -> String {
    a(&scalar_type.into())
}
