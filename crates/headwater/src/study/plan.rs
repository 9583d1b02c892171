//! What a study would compute, and how long that would take.
//!
//! Law: the plan is made from the same workflow, data and recipes that a run would use; nothing is executed, and no
//! store is made or written to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_enact::{Blueprint, Expander, OpenError};
use headwater_graph::{Known, OutputBinding, Recipe, Registry, Scalar, TaskGraph, Workflow};
use headwater_merge::{Compact, Sharing, Weight};

use super::buckets::{AlgorithmPlan, Cutting, Limits};
use super::costs::{CostSource, Costing};
use super::count::{StageCount, Weights, nodes_of_stages, percent};
use super::design::{self, Design};
use super::instances::{Instances, Unfit};
use super::load::{Study, StudyData};
use crate::{CheckedFile, Error, Loaded, StorePlace};

/// What tasks of different parameter sets share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Whole stages only.
    None,
    /// Common beginnings of stages besides: a task is shared if all tasks before it in its stage are.
    Chain,
    /// Every task that is the same.
    #[default]
    Graph,
}

impl Reuse {
    fn sharing(self) -> Sharing {
        match self {
            Reuse::None => Sharing::Nothing,
            Reuse::Chain => Sharing::Chain,
            Reuse::Graph => Sharing::Graph,
        }
    }
}

/// What is asked of a plan.
#[derive(Debug, Clone, Default)]
pub struct StudyPlanRequest {
    /// The study file.
    pub study: PathBuf,
    /// The store whose products count as there.
    pub store: StorePlace,
    /// For how many workers; by default the cores of this machine.
    pub workers: Option<usize>,
    /// What is shared.
    pub reuse: Reuse,
    /// Whether all algorithms are wanted, side by side.
    pub compare: bool,
    /// Whether the published variants of the algorithms are wanted.
    pub paper: bool,
    /// How many stages a bucket holds at most, for the algorithms that have that limit.
    pub max_bucket_size: Option<usize>,
    /// How many buckets there are at most, for the algorithms that have that limit; by default three per worker.
    pub max_buckets: Option<usize>,
    /// How many bytes a bucket may have alive.
    pub memory: Option<u64>,
    /// Where the samples are to be written.
    pub output: Option<PathBuf>,
}

/// A stage of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyStagePlan {
    /// Its name.
    pub name: Arc<str>,
    /// How many tasks an instance has.
    pub tasks_per_instance: usize,
    /// How many instances there are.
    pub instances: usize,
    /// Those that differ.
    pub distinct: usize,
    /// Tasks before merging.
    pub tasks: usize,
    /// Tasks after merging.
    pub tasks_merged: usize,
}

/// How much a way of sharing saves of the tasks of stages of several tasks that are left after whole stages were
/// merged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReusePlan {
    /// The way.
    pub reuse: Reuse,
    /// How many tasks are left.
    pub tasks: usize,
    /// What is saved of the tasks, in percent.
    pub percent: f64,
    /// What is saved of their cost, in percent.
    pub percent_of_time: f64,
    /// What is saved of the tasks of all instances, in percent: whole stages included.
    pub percent_of_all: f64,
}

/// What references need: outputs at the default parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReferencePlan {
    /// How many outputs.
    pub items: usize,
    /// Tasks that only they need and that a run would execute.
    pub tasks: usize,
}

/// What a study would take. Times are known where costs are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Seconds until everything is done, by the algorithm for distribution.
    pub seconds: f64,
    /// Seconds of work.
    pub work_seconds: f64,
    /// Bytes that are alive at once, all workers together.
    pub memory: u64,
    /// Bytes that the products take.
    pub disk: u64,
}

/// A phase whose parameters are known only when the first one has run.
#[derive(Debug, Clone, PartialEq)]
pub struct LaterPhase {
    /// What it is.
    pub method: String,
    /// How many parameters it keeps.
    pub parameters: usize,
    /// How many parameter sets it has.
    pub sets: usize,
    /// At most so many tasks.
    pub tasks_at_most: usize,
}

/// What a study would compute.
#[derive(Debug)]
pub struct StudyPlan {
    /// The name of the study.
    pub study: Arc<str>,
    /// The name of the workflow.
    pub workflow: Arc<str>,
    /// The method, in words.
    pub method: String,
    /// The output that is studied.
    pub objective: Arc<str>,
    /// The parameters that vary.
    pub parameters: Vec<Arc<str>>,
    /// How many parameter sets there are.
    pub sets: usize,
    /// How many items the objective is computed for, in each set.
    pub items: usize,
    /// Sets times items.
    pub instances: usize,
    /// Instances of stages.
    pub stage_instances: usize,
    /// Those that differ.
    pub stage_instances_merged: usize,
    /// Tasks of all instances.
    pub tasks: usize,
    /// Those that are left when equal stages are merged, and tasks as was asked for.
    pub tasks_merged: usize,
    /// What is shared.
    pub reuse: Reuse,
    /// What is saved of the tasks of stages of several tasks left after whole stages were merged, in percent.
    pub reuse_percent: f64,
    /// The same by all ways of sharing.
    pub reuses: Vec<ReusePlan>,
    /// Distinct tasks whose products are in the store.
    pub remembered: usize,
    /// Distinct tasks, those of references included, that a run would execute.
    pub to_execute: usize,
    /// What references need.
    pub reference: ReferencePlan,
    /// By stage, in the order of the workflow; stages that are not needed are left out.
    pub stages: Vec<StudyStagePlan>,
    /// What costs come from.
    pub costs: CostSource,
    /// How many workers the plan is for.
    pub workers: usize,
    /// The algorithm for distribution.
    pub chosen: AlgorithmPlan,
    /// All algorithms, where that was asked for.
    pub algorithms: Vec<AlgorithmPlan>,
    /// Algorithms that would have taken too long.
    pub left_out: Vec<&'static str>,
    /// What it would take, where costs are known.
    pub forecast: Option<Forecast>,
    /// A phase that follows.
    pub later: Option<LaterPhase>,
    /// Whether there is something to run: the operations of a stage descriptor may be missing.
    pub can_run: bool,
    /// Stages of which more may come when something has run.
    pub open: Vec<Arc<str>>,
    /// The files that the samples were written to.
    pub written: Vec<PathBuf>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// What the readers of the files said.
    pub said: Vec<CheckedFile>,
}

/// The buckets that the paper's figures are for.
const BUCKET_SIZE: usize = 7;
/// Buckets per worker, as the paper has it.
const BUCKETS_PER_WORKER: usize = 3;

/// A workflow over its data, with everything that the objective needs.
pub(super) struct Open {
    pub(super) graph: TaskGraph,
    pub(super) blueprint: Blueprint,
    /// How many outputs of other instances are bound to inputs.
    references: usize,
}

/// Says what a study would compute; nothing is executed, and no store is made or written to.
pub fn plan_study(
    request: &StudyPlanRequest,
    libraries: &Registry,
    current: &Path,
) -> Result<StudyPlan, Error> {
    let place = StorePlace {
        read_only: true,
        ..request.store.clone()
    };
    let (study, parsed) = Study::read(&request.study, libraries)?;
    let design = Design::new(&study)?;
    let bound = study.bind(&parsed.workflow, libraries)?;
    let can_run = parsed.runnable().is_ok();
    let store = crate::open_store(&place, current)?;
    let StudyData {
        loaded,
        data_set,
        baseline,
    } = study.load(parsed, bound, libraries, &store, None)?;
    let open = open(&study, &loaded, &data_set, &baseline)?;
    let notes = design.notes();
    let varied = design.varied(&study.resolved.studied);
    let instances = Instances::new(
        &open.graph,
        &open.blueprint,
        &varied,
        loaded.workflow.stages.len(),
    )
    .map_err(|unfit| misfit(&study, &unfit))?;
    let compact = Compact::new(&instances.template, &instances.sets);
    let operations: Vec<_> = instances
        .tasks
        .iter()
        .map(|task| open.graph.operation_at(*task))
        .collect();
    let counted: Vec<bool> = compact
        .nodes()
        .map(|node| !operations[node.step as usize].signature.implicit)
        .collect();

    let (graph, tasks) = instances
        .tasks(&compact, &open.graph)
        .map_err(|error| Error::usage(error.to_string(), None))?;
    let recipes: Vec<Recipe> = tasks.iter().map(|task| graph.recipe(*task)).collect();
    let known = store.known(&recipes)?;
    // Numbers that an operation cuts to whole ones make several nodes one task.
    let mut first = vec![true; graph.len()];
    let mut is_first = |node: usize| std::mem::replace(&mut first[tasks[node].index()], false);
    let (mut remembered, mut to_execute) = (0, 0);
    for node in (0..compact.len()).filter(|node| counted[*node]) {
        match (is_first(node), known[node].is_some()) {
            (true, true) => remembered += 1,
            (true, false) => to_execute += 1,
            (false, _) => {}
        }
    }

    let costing = Costing::new(&operations, &store)?;
    let weight = |(number, node): (usize, headwater_merge::Node<'_>)| match counted[number] {
        true => costing.weight(node.step),
        false => Weight::default(),
    };
    let all: Vec<Weight> = compact.nodes().enumerate().map(weight).collect();
    let unknown = all.iter().zip(&known);
    let unknown = unknown.map(|(weight, known)| match known {
        None => *weight,
        Some(_) => Weight::default(),
    });
    let weights = Weights {
        to_do: unknown.collect(),
        all,
    };
    let counts: Vec<StageCount> = compact
        .stages
        .iter()
        .map(|rows| StageCount::new(rows, &weights))
        .collect();
    let workers = request.workers.unwrap_or_else(crate::plan::machine_cores);
    let order = loaded.workflow.stage_order().unwrap_or_default();
    let cutting = Cutting {
        compact: &compact,
        counts: &counts,
        weights: &weights,
        counted: &counted,
        order: &order,
        sharing: request.reuse.sharing(),
        limits: Limits {
            workers,
            max_bucket_size: request.max_bucket_size.unwrap_or(BUCKET_SIZE),
            max_buckets: request.max_buckets.unwrap_or(workers * BUCKETS_PER_WORKER),
            max_bytes: request.memory,
            paper: request.paper,
        },
    };
    let chosen = cutting.usual();
    let (algorithms, left_out) = match request.compare {
        true => cutting.all(),
        false => (Vec::new(), Vec::new()),
    };
    let written = match &request.output {
        Some(folder) => design::write(&varied, folder)?,
        None => Vec::new(),
    };

    let in_stages = nodes_of_stages(&compact);
    let only_reference =
        |node: &usize| counted[*node] && !in_stages[*node] && known[*node].is_none();
    let sets = varied.sets;
    let items = open.blueprint.requested.len();
    let sharing = request.reuse.sharing();
    let total = |of: fn(&StageCount) -> usize| counts.iter().map(of).sum::<usize>();
    let all_tasks = total(|count| count.instances * count.width);
    let tasks_merged: usize = counts.iter().map(|count| count.left(sharing).tasks).sum();
    let reuses = [Reuse::Chain, Reuse::Graph].map(|reuse| how_much(reuse, &counts));
    let reuse_percent = match request.reuse {
        Reuse::None => 0.0,
        Reuse::Chain => reuses[0].percent,
        Reuse::Graph => reuses[1].percent,
    };
    let later = design::later(
        &study,
        all_tasks.checked_div(sets * items).unwrap_or(0),
        items,
    );
    let forecast = costing.is_measured().then(|| Forecast {
        seconds: seconds(chosen.makespan),
        work_seconds: seconds(weights.to_do.iter().map(|weight| weight.cost).sum()),
        memory: chosen
            .largest_bytes
            .saturating_mul(workers.min(chosen.buckets.max(1)) as u64),
        disk: weights.to_do.iter().map(|weight| weight.bytes).sum(),
    });
    let stages = loaded.workflow.stages.iter().zip(&counts);
    let stages = stages
        .filter(|(_, count)| count.instances > 0)
        .map(|(stage, count)| StudyStagePlan {
            name: Arc::clone(&stage.name),
            tasks_per_instance: count.width,
            instances: count.instances,
            distinct: count.distinct,
            tasks: count.instances * count.width,
            tasks_merged: count.left(sharing).tasks,
        });
    let name = |stage: &usize| Arc::clone(&loaded.workflow.stages[*stage].name);
    Ok(StudyPlan {
        study: Arc::clone(study.name()),
        workflow: Arc::clone(&loaded.workflow.name),
        method: design::in_words(&study),
        objective: Arc::clone(&study.resolved.objective.name),
        parameters: varied.names.clone(),
        sets,
        items,
        instances: sets * items,
        stage_instances: total(|count| count.instances),
        stage_instances_merged: total(|count| count.distinct),
        tasks: all_tasks,
        tasks_merged,
        reuse: request.reuse,
        reuse_percent,
        reuses: reuses.to_vec(),
        remembered,
        to_execute,
        reference: ReferencePlan {
            items: open.references,
            tasks: (0..compact.len()).filter(only_reference).count(),
        },
        stages: stages.collect(),
        costs: costing.source().clone(),
        workers,
        chosen,
        algorithms,
        left_out,
        forecast,
        later,
        can_run,
        open: open.blueprint.open.iter().map(name).collect(),
        written,
        notes,
        said: study.said,
    })
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// What a way of sharing saves.
fn how_much(reuse: Reuse, counts: &[StageCount]) -> ReusePlan {
    let sharing = reuse.sharing();
    let several = || counts.iter().filter(|count| count.tree.is_some());
    let tasks: usize = several().map(|count| count.left(sharing).tasks).sum();
    let cost: u64 = several().map(|count| count.left(sharing).cost).sum();
    let all: usize = several().map(|count| count.nothing.tasks).sum();
    let all_cost = several().map(|count| count.nothing.cost).sum();
    let instances: usize = several().map(|count| count.instances * count.width).sum();
    ReusePlan {
        reuse,
        tasks,
        percent: percent(tasks as u64, all as u64),
        percent_of_time: percent(cost, all_cost),
        percent_of_all: percent(tasks as u64, instances as u64),
    }
}

/// The workflow with one output, and with these inputs made rather than given.
fn asking_for(workflow: &Workflow, output: &OutputBinding, made: &[Arc<str>]) -> Arc<Workflow> {
    let mut workflow = workflow.clone();
    workflow.outputs = vec![output.clone()];
    for input in &mut workflow.inputs {
        input.optional |= made.contains(&input.name);
    }
    Arc::new(workflow)
}

/// Expands the workflow for the objective, with the references that it is compared with.
pub(super) fn open(
    study: &Study,
    loaded: &Loaded,
    data_set: &headwater_enact::DataSet,
    baseline: &BTreeMap<Arc<str>, Scalar>,
) -> Result<Open, Error> {
    let shape = |errors: Vec<_>| {
        let errors = errors.into_iter().map(OpenError::Shape);
        loaded.mistakes(&errors.collect::<Vec<_>>())
    };
    let mut graph = TaskGraph::unshared();
    let mut data_set = data_set.clone();
    let references = study.references(&loaded.workflow);
    let made: Vec<Arc<str>> = references
        .iter()
        .map(|(input, _)| Arc::clone(input))
        .collect();
    let mut items = 0;
    for (input, output) in &references {
        let workflow = asking_for(&loaded.workflow, output, &made);
        let mut expander =
            Expander::new(&workflow, &loaded.registry, &data_set, baseline).map_err(shape)?;
        let expanded = expander
            .blueprint(&mut graph)
            .map_err(|error| shape(vec![error]))?;
        items += expanded.requested.len();
        let products = expander.products(&output.data, input, &loaded.registry);
        data_set.products.push(products.ok_or_else(|| {
            Error::usage(
                format!(
                    "the reference `{}` is not known before something has run",
                    output.name
                ),
                Some("give the reference as files".to_owned()),
            )
        })?);
    }
    let objective = &study.resolved.objective;
    let workflow = asking_for(&loaded.workflow, objective, &[]);
    let mut expander =
        Expander::new(&workflow, &loaded.registry, &data_set, baseline).map_err(shape)?;
    let blueprint = expander
        .blueprint(&mut graph)
        .map_err(|error| shape(vec![error]))?;
    if blueprint.requested.is_empty() && blueprint.open.is_empty() {
        return Err(study.mistake_at_objective(
            format!(
                "there is nothing to study: `{}` needs an optional input that is not given",
                objective.name
            ),
            "give all inputs that it needs under `inputs`",
        ));
    }
    Ok(Open {
        graph,
        blueprint,
        references: items,
    })
}

/// A parameter that cannot take a value of the design.
fn misfit(study: &Study, unfit: &Unfit) -> Error {
    study.mistake_at_parameter(
        &unfit.parameter,
        format!(
            "`{}` takes the value {} here, but operation `{}` takes it as {}",
            unfit.parameter, unfit.value, unfit.operation, unfit.wanted
        ),
        "give it a step that fits, or have the operation declare `truncate`",
    )
}
