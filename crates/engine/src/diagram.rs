//! A run as a diagram: what it notes while it goes on, and the drawing of that later.
//!
//! Law: the note is written in one pass over the tasks and is small, however many there are: all tasks of one
//! definition are one node, and single tasks are noted only where they are few. How tasks ended is looked up when the
//! drawing is made.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use headwater_draw::{
    Diagram, DiagramEdge, DiagramEnd, DiagramNode, EdgeKind, NodeKind, SMALL, first_tasks,
    workflow_diagram,
};
use headwater_enact::Enactment;
use headwater_graph::text::grouped;
use headwater_graph::{RunRecord, RunTask, Source, Stage, Store, Tally, TaskId, Workflow};
use serde::{Deserialize, Serialize};

use crate::Error;

#[cfg(test)]
mod tests;

/// Where a run notes its diagram, in its folder.
const NOTE: &str = "dag.json";
/// Runs of at most that many tasks note each of them.
pub const FEW: usize = 200;
/// Sequences note each call where at most that many pairs of them depend on each other.
pub const FEW_PAIRS: usize = 1000;

/// Whether the tasks of a run are drawn one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiagramDetail {
    /// Each task where there are at most forty, else as with `Grouped`.
    #[default]
    Automatic,
    /// The tasks of one definition as one node.
    Grouped,
    /// Each task.
    Each,
    /// Each call of a sequence, with all dependences, also those that others imply.
    Unreduced,
}

/// What a run notes.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    grouped: Diagram,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    each: Option<Diagram>,
    /// Of a sequence of calls, before its dependences are reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unreduced: Option<Diagram>,
    /// How many calls the sequence has that the run was made by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<usize>,
    tasks: usize,
}

/// A part of a run: a round of a study, or all of a run.
pub struct Part<'a> {
    /// Its tasks.
    pub enactment: &'a Enactment,
    /// The position of the stage of a task, and its name in it.
    pub definition: &'a dyn Fn(TaskId) -> Option<(usize, &'a str)>,
    /// What a task is called.
    pub address: &'a dyn Fn(TaskId) -> String,
}

/// How many tasks of a part have which definition, and how often they read from which. It can be kept, and counts then
/// as the part does, if that is too large to be drawn task by task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Census {
    /// By node of the diagram of the workflow.
    tasks: Vec<u64>,
    /// By node, whether the engine added tasks of its own.
    helpers: Vec<bool>,
    /// From, to, how often.
    edges: Vec<(u32, u32, u64)>,
}

/// Counts the tasks of a part of a run of a workflow.
pub fn census(workflow: &Workflow, part: &Part<'_>) -> Census {
    Counted::new(workflow).part(part).0
}

/// Notes the diagram of a run of a workflow, of whose parameters a study varies some, from its parts and from what was
/// counted of others. What it noted before is replaced.
pub fn note(
    store: &dyn Store,
    run: &str,
    workflow: &Workflow,
    varied: &[Arc<str>],
    parts: &[Part<'_>],
    others: &[&Census],
) -> io::Result<()> {
    write(store, run, &noted(workflow, varied, parts, others))
}

/// Notes the diagrams of a run that a sequence of calls made: its operations, and where there are few enough calls
/// each of them, with the dependences that are left and with all. What it noted before is replaced.
pub fn note_sequence(
    store: &dyn Store,
    run: &str,
    grouped: Diagram,
    each: Option<Diagram>,
    unreduced: Option<Diagram>,
    calls: usize,
) -> io::Result<()> {
    let tasks = grouped.nodes.iter().filter_map(|node| node.tasks);
    let tasks = tasks.sum::<u64>() as usize;
    // In a run, a call that has an address has a task.
    let few = |mut diagram: Diagram| {
        for node in &mut diagram.nodes {
            node.tasks = node.address.as_ref().map(|_| 1);
        }
        let few = calls <= FEW && diagram.edges.len() <= FEW_PAIRS;
        (few && !diagram.nodes.is_empty()).then_some(diagram)
    };
    let noted = Noted {
        grouped,
        each: each.and_then(few),
        unreduced: unreduced.and_then(few),
        calls: Some(calls),
        tasks,
    };
    write(store, run, &noted)
}

fn write(store: &dyn Store, run: &str, noted: &Noted) -> io::Result<()> {
    store.attach(run, NOTE, &serde_json::to_vec(noted)?)
}

/// No node.
const NOWHERE: u32 = u32::MAX;

/// Where the definitions of a workflow stand in its diagram.
struct Counted<'a> {
    first: Vec<usize>,
    names: Vec<HashMap<&'a str, usize>>,
    nodes: usize,
}

impl<'a> Counted<'a> {
    fn new(workflow: &'a Workflow) -> Counted<'a> {
        let positions = |stage: &'a Stage| {
            let tasks = stage.tasks.iter().enumerate();
            tasks.map(|(at, task)| (&*task.name, at)).collect()
        };
        Counted {
            first: first_tasks(workflow),
            names: workflow.stages.iter().map(positions).collect(),
            nodes: workflow_diagram(workflow, &[]).nodes.len(),
        }
    }

    /// What a part has, and by task the node of its definition.
    fn part(&self, part: &Part<'_>) -> (Census, Vec<u32>) {
        let graph = part.enactment.graph();
        let home = |task: TaskId| {
            let (stage, name) = (part.definition)(task)?;
            let position = self.names.get(stage)?.get(name)?;
            u32::try_from(self.first[stage] + position).ok()
        };
        let home: Vec<u32> = graph
            .ids()
            .map(|task| home(task).unwrap_or(NOWHERE))
            .collect();
        let mut census = Census {
            tasks: vec![0; self.nodes],
            helpers: vec![false; self.nodes],
            edges: Vec::new(),
        };
        let mut edges: HashMap<(u32, u32), u64> = HashMap::new();
        for task in graph.ids().filter(|task| home[task.index()] != NOWHERE) {
            let to = home[task.index()];
            // Helpers of the engine are drawn, but not counted.
            if graph.operation_at(task).signature.implicit {
                census.helpers[to as usize] = true;
            } else {
                census.tasks[to as usize] += 1;
            }
            makers(part.enactment, &home, task, &mut |maker| {
                *edges.entry((home[maker.index()], to)).or_default() += 1;
            });
        }
        census.edges = (edges.into_iter())
            .map(|((from, to), count)| (from, to, count))
            .collect();
        census.edges.sort_unstable();
        (census, home)
    }
}

fn noted(
    workflow: &Workflow,
    varied: &[Arc<str>],
    parts: &[Part<'_>],
    others: &[&Census],
) -> Noted {
    let mut diagram = workflow_diagram(workflow, varied);
    let counted = Counted::new(workflow);
    // By part and task: the node of its definition.
    let (censuses, homes): (Vec<Census>, Vec<Vec<u32>>) =
        parts.iter().map(|part| counted.part(part)).unzip();
    let mut tasks = vec![0_u64; diagram.nodes.len()];
    let mut helpers = vec![false; diagram.nodes.len()];
    let mut edges: HashMap<(u32, u32), u64> = HashMap::new();
    for census in censuses.iter().chain(others.iter().copied()) {
        for (sum, count) in tasks.iter_mut().zip(&census.tasks) {
            *sum += count;
        }
        for (any, helper) in helpers.iter_mut().zip(&census.helpers) {
            *any |= helper;
        }
        for (from, to, count) in &census.edges {
            *edges.entry((*from, *to)).or_default() += count;
        }
    }
    let total = tasks.iter().sum::<u64>();
    let is_empty = parts.is_empty() && others.is_empty();
    let each = (total <= FEW as u64 && total > 0).then(|| each(&diagram, parts, &homes));
    for ((node, tasks), helper) in diagram.nodes.iter_mut().zip(tasks).zip(helpers) {
        if node.kind == NodeKind::Task && !is_empty && (tasks > 0 || !helper) {
            node.tasks = Some(tasks);
        }
    }
    for edge in &mut diagram.edges {
        if let (DiagramEnd::Node(from), DiagramEnd::Node(to)) = (edge.from, edge.to) {
            edge.count = edges.get(&(from as u32, to as u32)).copied();
        }
    }
    Noted {
        grouped: diagram,
        each,
        unreduced: None,
        calls: None,
        tasks: total as usize,
    }
}

/// The tasks that a task reads from; what the engine added in between is looked through.
fn makers(enactment: &Enactment, home: &[u32], task: TaskId, found: &mut dyn FnMut(TaskId)) {
    for (_, source) in enactment.graph().inputs(task) {
        makers_of(enactment, home, source, found);
    }
}

/// The tasks that something comes from.
fn makers_of(enactment: &Enactment, home: &[u32], source: &Source, found: &mut dyn FnMut(TaskId)) {
    let mut between = Vec::new();
    let mut sort = |maker: TaskId, between: &mut Vec<TaskId>| match home.get(maker.index()) {
        None | Some(&NOWHERE) => between.push(maker),
        Some(_) => found(maker),
    };
    source.for_each_task(&mut |maker| sort(maker, &mut between));
    while let Some(helper) = between.pop() {
        enactment
            .graph()
            .for_each_input_task(helper, |maker| sort(maker, &mut between));
    }
}

/// Every task by itself. `grouped` says how they hang together with inputs and outputs.
fn each(grouped: &Diagram, parts: &[Part<'_>], homes: &[Vec<u32>]) -> Diagram {
    let mut diagram = Diagram {
        title: grouped.title.clone(),
        groups: grouped.groups.clone(),
        ..Diagram::default()
    };
    let is_task = |node: usize| grouped.nodes[node].kind == NodeKind::Task;
    let mut given = BTreeSet::new();
    // By node of the grouped diagram, those that stand for it here.
    let mut stands: Vec<Vec<usize>> = vec![Vec::new(); grouped.nodes.len()];
    for (node, known) in grouped.nodes.iter().enumerate() {
        if known.kind == NodeKind::Input {
            stands[node].push(diagram.nodes.len());
            diagram.nodes.push(known.clone());
        }
    }
    let mut reads = Vec::new();
    for (part, home) in parts.iter().zip(homes) {
        let mut here: HashMap<TaskId, usize> = HashMap::new();
        let graph = part.enactment.graph();
        for task in graph.ids() {
            let definition = home[task.index()] as usize;
            let Some(known) = grouped.nodes.get(definition) else {
                continue;
            };
            let node = diagram.nodes.len();
            let address = (part.address)(task);
            let index = address.split_once('[').map(|(_, index)| index);
            let label = match index {
                Some(index) => format!("{}[{index}", known.label),
                None => known.label.clone(),
            };
            here.insert(task, node);
            stands[definition].push(node);
            diagram.nodes.push(DiagramNode {
                label,
                address: Some(address),
                tasks: (!graph.operation_at(task).signature.implicit).then_some(1),
                operation: known.told_operation().map(str::to_owned),
                ..known.clone()
            });
            let mut read: BTreeMap<usize, u64> = BTreeMap::new();
            makers(part.enactment, home, task, &mut |maker| {
                if let Some(maker) = here.get(&maker) {
                    *read.entry(*maker).or_default() += 1;
                }
            });
            reads.extend(read.into_keys().map(|maker| (maker, node)));
        }
        for requested in part.enactment.requested() {
            makers_of(part.enactment, home, &requested.source, &mut |maker| {
                if let Some(maker) = here.get(&maker) {
                    given.insert((Arc::clone(&requested.output), *maker));
                }
            });
        }
    }
    for (node, known) in grouped.nodes.iter().enumerate() {
        if known.kind == NodeKind::Output {
            let here = diagram.nodes.len();
            stands[node].push(here);
            diagram.nodes.push(known.clone());
            let makers = given.iter().filter(|(output, _)| **output == *known.label);
            reads.extend(makers.map(|(_, maker)| (*maker, here)));
        }
    }
    let data = |from, to, optional| DiagramEdge {
        from: DiagramEnd::Node(from),
        to: DiagramEnd::Node(to),
        kind: EdgeKind::Data,
        names: Vec::new(),
        optional,
        count: None,
    };
    for edge in &grouped.edges {
        let (DiagramEnd::Node(from), DiagramEnd::Node(to)) = (edge.from, edge.to) else {
            diagram.edges.push(edge.clone());
            continue;
        };
        // What tasks give is known task by task.
        if is_task(from) {
            continue;
        }
        for one in &stands[from] {
            diagram.edges.extend(
                stands[to]
                    .iter()
                    .map(|other| data(*one, *other, edge.optional)),
            );
        }
    }
    diagram
        .edges
        .extend(reads.into_iter().map(|(from, to)| data(from, to, false)));
    diagram
}

/// The diagram of a run.
pub fn run_diagram(
    store: &dyn Store,
    run: &RunRecord,
    detail: DiagramDetail,
) -> Result<Diagram, Error> {
    let path = store.attachment_place(&run.id, NOTE);
    let bytes = match store.attachment(&run.id, NOTE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::usage(
                format!("run `{}` has left no graph", run.id),
                Some(format!(
                    "draw what it was a run of: headwater dag {}",
                    run.file.display()
                )),
            ));
        }
        Err(error) => return Err(Error::io("cannot read", path, error)),
    };
    let noted: Noted = serde_json::from_slice(&bytes).map_err(|error| {
        Error::usage(
            format!("`{}` is damaged: {error}", path.display()),
            Some(
                "give the command of the run again: what is remembered is not made again"
                    .to_owned(),
            ),
        )
    })?;
    let (tasks, drawn) = (noted.tasks, noted.calls.unwrap_or(noted.tasks));
    let (chosen, option) = match detail {
        DiagramDetail::Grouped => (None, ""),
        DiagramDetail::Automatic => (noted.each.filter(|_| drawn <= SMALL), ""),
        DiagramDetail::Each => (noted.each, "--each"),
        DiagramDetail::Unreduced if noted.calls.is_none() => {
            return Err(Error::usage(
                format!("run `{}` was not made by a sequence of calls", run.id),
                Some(
                    "leave --unreduced out: a workflow says what depends on what, and all of it is drawn"
                        .to_owned(),
                ),
            ));
        }
        DiagramDetail::Unreduced => (noted.unreduced, "--unreduced"),
    };
    if chosen.is_none() && !option.is_empty() {
        let what = if noted.calls.is_some() {
            "call"
        } else {
            "task"
        };
        let why = match drawn {
            0 => format!("no {what}s"),
            1 => format!("1 {what}"),
            several => format!("{} {what}s", grouped(several as u64)),
        };
        let limit = match drawn {
            1..=FEW => format!(
                "more than {} pairs of them depend on each other, which are too many arrows",
                grouped(FEW_PAIRS as u64)
            ),
            _ => format!("each {what} is noted up to {FEW}"),
        };
        return Err(Error::usage(
            format!("run `{}` has {why}; {limit}", run.id),
            Some(format!(
                "leave {option} out: {what}s of one kind are drawn as one"
            )),
        ));
    }
    let alone = chosen.is_some();
    let recorded = store.run_tasks(&run.id)?;
    let mut diagram = chosen.unwrap_or(noted.grouped);
    tell(&mut diagram, &recorded, alone);
    let known = std::mem::take(&mut diagram.notes);
    let study = crate::notes::study_of_run(store, &run.id);
    diagram.notes = notes(run, study.as_deref(), &recorded, tasks);
    diagram.notes.extend(known);
    if detail == DiagramDetail::Unreduced {
        diagram
            .notes
            .push("all dependences, also those that others imply".to_owned());
    }
    Ok(diagram)
}

/// Says on each node what became of its tasks.
fn tell(diagram: &mut Diagram, tasks: &[RunTask], alone: bool) {
    let mut found: HashMap<&str, (Tally, f64)> = HashMap::new();
    for task in tasks {
        let address = if alone {
            task.address.as_str()
        } else {
            task.address.split('[').next().unwrap_or_default()
        };
        let (counts, seconds) = found.entry(address).or_default();
        counts.count(task.state);
        *seconds += task.wall as f64 / 1e9;
    }
    for node in &mut diagram.nodes {
        let Some((counts, seconds)) = node
            .address
            .as_deref()
            .and_then(|address| found.get(address))
        else {
            continue;
        };
        node.counts = Some(*counts);
        node.seconds = (*seconds > 0.0).then_some(*seconds);
    }
}

/// How the run went, in lines.
fn notes(run: &RunRecord, study: Option<&str>, tasks: &[RunTask], noted: usize) -> Vec<String> {
    let mut all = DiagramNode {
        tasks: Some(noted as u64),
        ..DiagramNode::default()
    };
    if !tasks.is_empty() {
        let mut counts = Tally::default();
        tasks.iter().for_each(|task| counts.count(task.state));
        all.tasks = Some(all.tasks.unwrap_or(0).max(counts.tasks as u64));
        all.counts = Some(counts);
    }
    let (status, study) = (run.status, study.map(|study| format!(" of study {study}")));
    let counts = all.told_counts().map(|counts| format!(": {counts}"));
    vec![format!(
        "run {}{}, {status}{}",
        run.id,
        study.unwrap_or_default(),
        counts.unwrap_or_default()
    )]
}
