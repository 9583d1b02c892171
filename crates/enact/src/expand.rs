//! From a workflow and its data to tasks, round by round.
//!
//! Law: an item is expanded as soon as everything that its identity depends on is known. Most of a workflow
//! is known before anything runs; what is not opens a round of its own when it becomes known: the items of
//! a list of unknown length, the outputs of an impure task (identified by content, like files from
//! outside), and a tolerant synchronisation (its recipe is formed from what arrived). Nothing else waits
//! for them: what a stage has so far and will need anyway is computed, and kept, meanwhile.
//!
//! `prepare` reads the workflow once, `instantiate` and `synchronise` make stage instances, `items` unfolds lists,
//! `lineage` answers where something comes from. `blueprint` expands a workflow without values for its parameters.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use headwater_graph::{
    DataOrigin, External, Identity, Index, Operation, Registry, Scalar, Source, TaskGraph, TaskId,
    Tolerance, Type, Value, Wait, Workflow, item_operation,
};

use crate::join::{GroupTables, Join, Row};
use crate::shape::{Map, Shape, ShapeError};
use crate::{DataSet, Label, Occurrence};

mod bind;
mod blueprint;
mod instantiate;
mod items;
mod lineage;
mod prepare;
mod synchronise;

pub use blueprint::{Blueprint, BlueprintStage};
use instantiate::{Instance, TaskPlan};
pub use lineage::Ancestry;

/// What a task that the expander watches came to.
#[derive(Debug, Clone, Copy)]
pub enum Settled<'a> {
    /// It ran or was remembered; its outputs, in the order of its signature.
    Outputs(&'a [Value]),
    /// It failed, or something that it needs did.
    Failed,
}

/// A wanted output.
#[derive(Debug, Clone, PartialEq)]
pub struct Requested {
    /// The name of the output.
    pub output: Arc<str>,
    /// Its index path.
    pub index: Index,
    /// Where it comes from.
    pub source: Source,
}

/// What a call to [`Expander::advance`] added.
#[derive(Debug, Default)]
pub struct Expansion {
    /// New stage instances; task ids are those of the graph.
    pub occurrences: Vec<Occurrence>,
    /// Tasks whose outputs are wanted, or whose outcome the expander waits for; in depth-first order.
    pub wanted: Vec<TaskId>,
    /// New wanted outputs.
    pub requested: Vec<Requested>,
    /// Stages that will have no further instances.
    pub complete: Vec<usize>,
    /// Tasks whose outcome the expander waits for, via [`Expander::settled`].
    pub watched: Vec<TaskId>,
    /// Tasks whose outputs are to be kept for readers that are yet to come; one entry per hold.
    pub held: Vec<TaskId>,
    /// Tasks that need not be kept for that any more; one entry per hold.
    pub let_go: Vec<TaskId>,
    /// What went wrong, in stages that had to wait to be expanded.
    pub errors: Vec<ShapeError>,
    /// Things worth telling.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Item {
    path: Index,
    place: ItemPlace,
    /// The occurrence that made it; `None` for items from outside.
    maker: Option<u32>,
    /// The item of the list that it was unfolded from.
    parent: Option<u32>,
}

#[derive(Debug, Clone)]
enum ItemPlace {
    Source(Source),
    /// An optional item that is not there: keeps its place, and so does what follows from it.
    Absent,
}

/// All items that go by one data name, or (a view) all items of its lists.
#[derive(Debug, Default)]
struct Data {
    name: Arc<str>,
    shape: Shape,
    items: Vec<Item>,
    /// The stage that makes it; `None` for what comes from outside.
    maker: Option<usize>,
    /// No more items will come.
    complete: bool,
    /// Items that will come when something has run.
    pending: usize,
    /// Items that never came; of lists that never came, nobody knows how many they would have been. Each by
    /// the beginning of its index path, where that is known.
    holes: Vec<Option<Index>>,
    /// The optional input was not given, or something that it needs was not.
    absent: bool,
    /// The type of its items, if it is an input that tasks make; they need no decoding.
    made_as: Option<Type>,
    /// The view of its list items, if some stage reads them one by one.
    view: Option<usize>,
    /// It is a view of this data.
    of: Option<usize>,
    /// How many items of `of` have been unfolded or are pending.
    looked_at: usize,
    /// Item by path, once somebody asked.
    by_path: OnceLock<HashMap<Index, u32>>,
}

impl Data {
    fn push(&mut self, item: Item) {
        self.by_path.take();
        self.items.push(item);
    }
}

#[derive(Debug)]
struct StageUnit {
    data: usize,
    /// How many of its items have arrived at the join.
    fed: usize,
    /// How many of its items have been looked at for keeping.
    kept: usize,
    /// An item may be part of rows that come later, after its first.
    reused: bool,
}

#[derive(Debug)]
struct StageRun {
    name: Arc<str>,
    units: Vec<StageUnit>,
    join: Join,
    shape: Shape,
    tasks: Vec<TaskPlan>,
    /// Its tasks in an order in which each comes after those it reads.
    turns: Vec<usize>,
    wait: Wait,
    tolerate: Option<Tolerance>,
    /// It leads to something wanted.
    needed: bool,
    /// It runs even if nobody reads its outputs: another stage comes after it.
    forced: bool,
    complete: bool,
    absent: bool,
    /// Stages that come first: paired where the index paths are related, else as a whole.
    after: Vec<(usize, Option<Vec<Map>>)>,
    after_stages: Vec<usize>,
    /// Index path → tasks, where another stage comes after this one.
    made: Option<BTreeMap<Index, Vec<TaskId>>>,
    /// All instances have been begun.
    fired: bool,
    /// Instances that wait for an impure task of their own.
    unfinished: usize,
    /// (unit, item) whose outputs are kept until they are read.
    keeps: BTreeSet<(usize, u32)>,
    /// (unit, item) that found their partners before they had to be kept.
    consumed: BTreeSet<(usize, u32)>,
    /// Tasks whose outcome this tolerant stage waits for.
    awaiting: usize,
}

/// A stage instance, as the expander remembers it.
#[derive(Debug, Clone)]
struct Made {
    stage: usize,
    path: Index,
    /// By position in the stage; [`NO_TASK`] for those that belong to another part of the instance.
    tasks: Vec<TaskId>,
    /// (data, item) that it was made from.
    inputs: Vec<(u32, u32)>,
}

/// So many instances a stage may have: as many as a design has sets. With one task each they take 3.2 GB, about 770
/// bytes each (measured with `run --dry-run`).
const MOST_INSTANCES: u64 = 1 << 22;

/// The place of a task that is not there.
const NO_TASK: TaskId = TaskId(u32::MAX);

/// An output that is not known before a task has run.
#[derive(Debug)]
struct Late {
    port: u16,
    data: usize,
    path: Index,
    maker: u32,
}

/// Turns a workflow and its data into tasks.
#[derive(Debug)]
pub struct Expander {
    workflow: Arc<Workflow>,
    origins: BTreeMap<Arc<str>, DataOrigin>,
    data: Vec<Data>,
    names: BTreeMap<Arc<str>, usize>,
    /// Views that a needed stage reads.
    views: Vec<usize>,
    stages: Vec<StageRun>,
    order: Vec<usize>,
    groups: GroupTables,
    columns: Vec<(Arc<str>, u32)>,
    labels: Vec<Label>,
    /// (column, column that its groups are grouped by) → for each group of the one, the group of the other.
    nested: BTreeMap<(usize, usize), Vec<u32>>,
    occurrences: Vec<Made>,
    late: HashMap<TaskId, Vec<Late>>,
    /// Lists to be unfolded when this task has run: (port, view, item of the list's data).
    lists: HashMap<TaskId, Vec<(u16, usize, u32)>>,
    /// Instances that go on when this impure task has ended: (number of the instance, position of the task).
    resumes: HashMap<TaskId, (u32, usize)>,
    unfinished: BTreeMap<u32, Instance>,
    resumable: BTreeSet<u32>,
    instances: u32,
    /// (stage, index path) of calls that went on without some items → without how many.
    incomplete: BTreeMap<(usize, Index), usize>,
    /// Whether the tasks that tolerant synchronisations waited for succeeded.
    outcomes: HashMap<TaskId, bool>,
    /// (name, data, how many items have been requested).
    outputs: Vec<(Arc<str>, usize, usize)>,
    item_operation: Arc<Operation>,
    decoders: BTreeMap<Type, Arc<Operation>>,
    notes: Vec<String>,
    /// Items of lists that could not become tasks.
    unfit: Vec<ShapeError>,
    /// Items from outside that are not in the graph yet.
    arriving: Vec<(usize, crate::Column)>,
    /// Tasks whose outcome tolerant stages wait for.
    awaited: HashMap<TaskId, Vec<usize>>,
    /// Holds to be taken back with the next expansion.
    let_go: Vec<TaskId>,
    advanced: bool,
}

impl Expander {
    /// Binds `workflow` to its data and parameter values. The workflow has passed `headwater_graph::check`
    /// against the same registry.
    pub fn new(
        workflow: &Arc<Workflow>,
        registry: &Registry,
        data_set: &DataSet,
        parameters: &BTreeMap<Arc<str>, Scalar>,
    ) -> Result<Expander, Vec<ShapeError>> {
        let count = workflow.stages.len();
        if count >= usize::from(u16::MAX) {
            return Err(vec![ShapeError::Stages { count }]);
        }
        let order = workflow.stage_order().map_err(|cycle| {
            let first = cycle.iter().min().map_or(0, |first| *first);
            let stage = Arc::clone(&workflow.stages[first].name);
            vec![ShapeError::Cycle { stage }]
        })?;
        let mut expander = Expander {
            workflow: Arc::clone(workflow),
            origins: workflow.origins(),
            data: Vec::new(),
            names: BTreeMap::new(),
            views: Vec::new(),
            stages: (0..count).map(|_| StageRun::placeholder()).collect(),
            order,
            groups: data_set.columns.iter().map(crate::Column::groups).collect(),
            columns: data_set
                .columns
                .iter()
                .map(|column| (Arc::clone(&column.input), column.source))
                .collect(),
            labels: data_set.labels.clone(),
            nested: BTreeMap::new(),
            occurrences: Vec::new(),
            late: HashMap::new(),
            lists: HashMap::new(),
            resumes: HashMap::new(),
            unfinished: BTreeMap::new(),
            resumable: BTreeSet::new(),
            instances: 0,
            incomplete: BTreeMap::new(),
            outcomes: HashMap::new(),
            outputs: Vec::new(),
            item_operation: Arc::new(item_operation()),
            decoders: BTreeMap::new(),
            notes: Vec::new(),
            unfit: Vec::new(),
            arriving: Vec::new(),
            awaited: HashMap::new(),
            let_go: Vec::new(),
            advanced: false,
        };
        expander.prepare(registry, data_set, parameters)?;
        Ok(expander)
    }

    /// Expands everything that is known by now. A mistake in the data stops the run before anything has
    /// run; afterwards it stops its stage only.
    pub fn advance(&mut self, graph: &mut TaskGraph) -> Result<Expansion, ShapeError> {
        let mut expansion = Expansion::default();
        let first = !std::mem::replace(&mut self.advanced, true);
        for (data, column) in std::mem::take(&mut self.arriving) {
            self.arrive(graph, data, column);
        }
        self.resume_instances(graph, &mut expansion);
        for position in 0..self.order.len() {
            let stage = self.order[position];
            self.feed_views(graph, &mut expansion);
            if self.stages[stage].complete {
                continue;
            }
            if let Err(error) = self.advance_stage(stage, graph, &mut expansion) {
                if first {
                    return Err(error);
                }
                expansion.errors.push(error);
                self.add_holes(stage, &[None]);
                self.stages[stage].fired = true;
            }
            self.complete_or_keep(stage, &mut expansion);
        }
        self.feed_views(graph, &mut expansion);
        self.request_outputs(&mut expansion);
        expansion.notes.append(&mut self.notes);
        expansion.errors.append(&mut self.unfit);
        expansion.let_go.append(&mut self.let_go);
        Ok(expansion)
    }

    fn arrive(&mut self, graph: &mut TaskGraph, data: usize, column: crate::Column) {
        for (position, item) in column.items.into_iter().enumerate() {
            let path = if column.single {
                Index::root()
            } else {
                Index::from([position as u32].as_slice())
            };
            let place = match item {
                None => ItemPlace::Absent,
                Some(item) => {
                    let external = External {
                        identity: item.identity,
                        value: item.value,
                    };
                    ItemPlace::Source(graph.external(external))
                }
            };
            self.data[data].push(Item {
                path,
                place,
                maker: None,
                parent: None,
            });
        }
    }

    fn advance_stage(
        &mut self,
        stage: usize,
        graph: &mut TaskGraph,
        expansion: &mut Expansion,
    ) -> Result<(), ShapeError> {
        if self.stages[stage].fired {
            return Ok(());
        }
        if self.stages[stage].absent {
            self.stages[stage].fired = true;
            return Ok(());
        }
        if self.stages[stage].wait != Wait::No {
            return self.synchronise(stage, graph, expansion);
        }
        let mut rows = Vec::new();
        let run = &mut self.stages[stage];
        // Known before any of them is made: a few short lists may have more combinations than memory has room for.
        let most = run
            .join
            .most(&|unit| self.data[run.units[unit].data].items.len() as u64);
        if most > MOST_INSTANCES {
            return Err(ShapeError::TooMany {
                stage: Arc::clone(&run.name),
                count: most,
                most: MOST_INSTANCES,
            });
        }
        if run.units.is_empty() {
            rows.push(Row {
                path: Index::root(),
                items: Vec::new(),
            });
        }
        for (unit, fed) in run.units.iter_mut().enumerate() {
            let data = &self.data[fed.data];
            for (item, found) in data.items.iter().enumerate().skip(fed.fed) {
                run.join
                    .arrive(unit, &found.path, item as u32, &self.groups, &mut rows);
            }
            fed.fed = data.items.len();
        }
        graph.reserve(rows.len() * run.tasks.len());
        // Index order, whatever order the parts came in.
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        let complete = run.units.iter().all(|unit| self.data[unit.data].complete);
        for row in rows {
            if !complete {
                self.consume(stage, &row, expansion);
            }
            self.instantiate(stage, row, graph, expansion)?;
        }
        if complete {
            let run = &self.stages[stage];
            let holes: Vec<Option<Index>> = run
                .units
                .iter()
                .flat_map(|unit| self.carried_holes(stage, unit.data))
                .collect();
            if holes.is_empty() {
                let name = |unit: usize| Arc::clone(&self.data[run.units[unit].data].name);
                run.join.check(&run.name, &name)?;
            }
            self.add_holes(stage, &holes);
            self.stages[stage].fired = true;
        }
        Ok(())
    }

    /// The holes of `data` as holes of what `stage` makes of it. Their place stays known where the index
    /// paths of the stage begin like those of the data.
    fn carried_holes(&self, stage: usize, data: usize) -> Vec<Option<Index>> {
        let (own, shape) = (&self.stages[stage].shape, &self.data[data].shape);
        let alike = |place: usize| match (own.get(place), shape.get(place)) {
            (Some(own), Some(given)) => !own.lineage.is_disjoint(&given.lineage),
            _ => false,
        };
        let kept = |hole: &Option<Index>| hole.clone().filter(|path| (0..path.0.len()).all(alike));
        self.data[data].holes.iter().map(kept).collect()
    }

    fn add_holes(&mut self, stage: usize, holes: &[Option<Index>]) {
        let made = self.stages[stage]
            .tasks
            .iter()
            .flat_map(|task| &task.outputs);
        for (_, data) in made {
            self.data[*data].holes.extend_from_slice(holes);
        }
    }

    /// A stage that has all its instances is complete; one that has not sees to it that what it will need
    /// is computed and kept.
    fn complete_or_keep(&mut self, stage: usize, expansion: &mut Expansion) {
        let run = &mut self.stages[stage];
        if !run.fired || run.unfinished > 0 {
            self.keep_coming(stage, expansion);
            return;
        }
        run.complete = true;
        expansion.complete.push(stage);
        for (unit, item) in std::mem::take(&mut run.keeps) {
            self.let_go(stage, unit, item, expansion);
        }
        let made: Vec<usize> = self.stages[stage].made_data().collect();
        for data in made {
            self.update_completeness(data);
        }
    }

    /// Whatever waits for a partner that is yet to come is computed meanwhile, and kept.
    fn keep_coming(&mut self, stage: usize, expansion: &mut Expansion) {
        let run = &mut self.stages[stage];
        if run.fired || (run.wait == Wait::No && run.units.len() < 2) {
            return;
        }
        for (number, unit) in run.units.iter_mut().enumerate() {
            let items = &self.data[unit.data].items;
            for (item, found) in items.iter().enumerate().skip(unit.kept) {
                let ItemPlace::Source(source) = &found.place else {
                    continue;
                };
                if run.consumed.contains(&(number, item as u32)) {
                    continue;
                }
                run.keeps.insert((number, item as u32));
                source.for_each_task(&mut |task| {
                    expansion.wanted.push(task);
                    expansion.held.push(task);
                });
            }
            unit.kept = items.len();
        }
        run.consumed.clear();
    }

    /// The items of a row have found each other: those that no later row can use need not be kept.
    fn consume(&mut self, stage: usize, row: &Row, expansion: &mut Expansion) {
        for (unit, item) in &row.items {
            let run = &mut self.stages[stage];
            if run.units[*unit].reused {
                continue;
            }
            if run.keeps.remove(&(*unit, *item)) {
                self.let_go(stage, *unit, *item, expansion);
            } else {
                run.consumed.insert((*unit, *item));
            }
        }
    }

    fn let_go(&self, stage: usize, unit: usize, item: u32, expansion: &mut Expansion) {
        let data = self.stages[stage].units[unit].data;
        if let ItemPlace::Source(source) = &self.data[data].items[item as usize].place {
            source.for_each_task(&mut |task| expansion.let_go.push(task));
        }
    }

    /// Stages that may get more instances once something has run.
    pub fn open_stages(&self) -> Vec<usize> {
        (0..self.stages.len())
            .filter(|stage| !self.stages[*stage].complete)
            .collect()
    }

    /// Whether everything that will ever come is there.
    pub fn is_complete(&self) -> bool {
        self.stages.iter().all(|stage| stage.complete)
    }

    fn request_outputs(&mut self, expansion: &mut Expansion) {
        let mut requested: Vec<(usize, Requested)> = Vec::new();
        for (number, (output, data, seen)) in self.outputs.iter_mut().enumerate() {
            for item in &self.data[*data].items[*seen..] {
                if let ItemPlace::Source(source) = &item.place {
                    let (output, index) = (Arc::clone(output), item.path.clone());
                    requested.push((
                        number,
                        Requested {
                            output,
                            index,
                            source: source.clone(),
                        },
                    ));
                }
            }
            *seen = self.data[*data].items.len();
        }
        // Item by item, not output by output: depth first.
        requested.sort_by(|a, b| (&a.1.index, a.0).cmp(&(&b.1.index, b.0)));
        // Lists come first: nobody knows how much depends on them.
        let mut wanted = Vec::new();
        let is_list = |task: &TaskId| self.lists.contains_key(task);
        let (lists, others): (Vec<TaskId>, Vec<TaskId>) = std::mem::take(&mut expansion.wanted)
            .into_iter()
            .partition(is_list);
        wanted.extend(lists);
        for (_, output) in requested {
            output.source.for_each_task(&mut |task| wanted.push(task));
            expansion.requested.push(output);
        }
        for occurrence in &expansion.occurrences {
            if self.stages[occurrence.stage].forced {
                wanted.extend(&occurrence.tasks);
            }
        }
        wanted.extend(others);
        expansion.wanted = wanted;
    }

    /// Whether [`settled`](Self::settled) has to be given the outputs of this task, or only its outcome.
    pub(crate) fn needs_outputs(&self, task: TaskId) -> bool {
        self.late.contains_key(&task) || self.lists.contains_key(&task)
    }

    /// Tells what a watched task came to; `true` if [`advance`](Self::advance) has something to do now.
    pub fn settled(&mut self, graph: &mut TaskGraph, task: TaskId, outcome: Settled<'_>) -> bool {
        let mut worthwhile = self.needs_outputs(task) || self.resumes.contains_key(&task);
        for stage in self.awaited.remove(&task).unwrap_or_default() {
            self.outcomes
                .insert(task, matches!(outcome, Settled::Outputs(_)));
            self.stages[stage].awaiting -= 1;
            worthwhile |= self.stages[stage].awaiting == 0;
        }
        let resumes = self.resumes.remove(&task);
        if let Some((instance, position)) = resumes {
            self.resumable.insert(instance);
            if let (Settled::Failed, Some(instance)) = (outcome, self.unfinished.get_mut(&instance))
            {
                instance.lose(position);
            }
        }
        for late in self.late.remove(&task).unwrap_or_default() {
            let data = &mut self.data[late.data];
            data.pending -= 1;
            match outcome {
                Settled::Outputs(values) => {
                    let value = values
                        .get(usize::from(late.port))
                        .cloned()
                        .unwrap_or_default();
                    let source = graph.external(External {
                        identity: Identity::of(&value),
                        value,
                    });
                    if let Some((instance, position)) = resumes
                        && let Some(instance) = self.unfinished.get_mut(&instance)
                    {
                        instance.learn(position, late.port, source.clone());
                    }
                    let place = ItemPlace::Source(source);
                    data.push(Item {
                        path: late.path,
                        place,
                        maker: Some(late.maker),
                        parent: None,
                    });
                }
                Settled::Failed => data.holes.push(Some(late.path)),
            }
            self.update_completeness(late.data);
        }
        for (port, view, parent) in self.lists.remove(&task).unwrap_or_default() {
            self.data[view].pending -= 1;
            match outcome {
                Settled::Outputs(values) => {
                    let length = match values.get(usize::from(port)) {
                        Some(Value::List(items)) => items.len(),
                        _ => 0,
                    };
                    self.unfold(graph, view, parent, &Source::Product { task, port }, length);
                }
                Settled::Failed => {
                    let base = self.data[view].of.unwrap_or(view);
                    let list = self.data[base].items.get(parent as usize);
                    let path = list.map(|list| list.path.clone());
                    self.data[view].holes.push(path);
                }
            }
            self.let_go.push(task);
            self.update_completeness(view);
        }
        worthwhile
    }

    fn update_completeness(&mut self, data: usize) {
        let found = &self.data[data];
        let source_complete = match (found.of, found.maker) {
            (Some(base), _) => {
                self.data[base].complete && found.looked_at == self.data[base].items.len()
            }
            (None, Some(stage)) => self.stages[stage].complete,
            (None, None) => true,
        };
        let holes = match found.of {
            // A list that never came has no items that could come.
            Some(base) if source_complete && found.pending == 0 => self.data[base].holes.clone(),
            _ => Vec::new(),
        };
        let found = &mut self.data[data];
        let complete = source_complete && found.pending == 0;
        if complete && !found.complete {
            found.holes.extend(holes);
        }
        found.complete = complete;
    }
}

impl StageRun {
    fn placeholder() -> StageRun {
        StageRun {
            name: "".into(),
            units: Vec::new(),
            join: Join::Unit(0),
            shape: Shape::new(),
            tasks: Vec::new(),
            turns: Vec::new(),
            wait: Wait::No,
            tolerate: None,
            needed: false,
            forced: false,
            complete: false,
            absent: false,
            after: Vec::new(),
            after_stages: Vec::new(),
            made: None,
            fired: false,
            unfinished: 0,
            keeps: BTreeSet::new(),
            consumed: BTreeSet::new(),
            awaiting: 0,
        }
    }

    /// The data that it makes.
    fn made_data(&self) -> impl Iterator<Item = usize> {
        self.tasks
            .iter()
            .flat_map(|task| &task.outputs)
            .map(|(_, data)| *data)
    }
}

/// `stage.task[3-1]`, or `stage.task` where there is only one.
fn address(stage: &str, task: &str, path: &Index) -> String {
    if path.0.is_empty() {
        format!("{stage}.{task}")
    } else {
        format!("{stage}.{task}[{path}]")
    }
}
