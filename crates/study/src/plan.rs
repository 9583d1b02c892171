//! What a study would compute, and how long that would take.
//!
//! Law: the plan is made from the same workflow, data and recipes that a run would use; nothing is executed, and no
//! store is made or written to.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::load::CheckedFile;
use headwater_engine::results_folder::ResultsFolder;
use headwater_engine::{Error, Surroundings};
use headwater_graph::{Scalar, Workflow};
use headwater_merge::Sharing;

use crate::buckets::{AlgorithmPlan, BUCKET_SIZE, Cutting, Limits};
use crate::costs::{CostSource, Costing};
use crate::count::{StageCount, percent};
use crate::design::LaterPhase;
use crate::design::{self, Design};
use crate::instances::Instances;
use crate::load::{Study, StudyData};
use crate::open::open;
use crate::refuse::{misfit, refuse_too_many};
use crate::shared::{LookedUp, Shared};
use crate::source::StudySource;
use crate::words;

/// What tasks of different parameter sets share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Whole stages only.
    Stage,
    /// Common beginnings of stages besides: a task is shared if all tasks before it in its stage are.
    Chain,
    /// Every task that is the same.
    #[default]
    Graph,
}

impl Reuse {
    fn sharing(self) -> Sharing {
        match self {
            Reuse::Stage => Sharing::Nothing,
            Reuse::Chain => Sharing::Chain,
            Reuse::Graph => Sharing::Graph,
        }
    }
}

/// What is asked of a plan.
#[derive(Debug, Clone, Default)]
pub struct StudyPlanRequest {
    /// The study.
    pub study: StudySource,
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
    /// Bytes that are needed at once, all workers together: the products that a bucket has alive, and the most that a
    /// program was seen to take.
    pub memory: u64,
    /// Bytes that the products take.
    pub disk: u64,
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
    /// How many items the objective is computed for, in each set; `None` if that is not known before something has
    /// run.
    pub items: Option<usize>,
    /// Sets times items.
    pub instances: Option<usize>,
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
    /// Tasks among those that are left that are the same once operations have cut numbers to whole ones: they were
    /// drawn apart and are executed once.
    pub equal_when_cut: usize,
    /// What is saved of the tasks of all instances, in percent, whole stages included.
    pub saved_percent: f64,
    /// The same of their cost.
    pub saved_percent_of_time: f64,
    /// The parameters that do not vary, and their values.
    pub fixed: Vec<(Arc<str>, Scalar)>,
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

/// Says what a study would compute; nothing is executed, and no store is made or written to.
pub fn plan_study(request: &StudyPlanRequest, site: &Surroundings) -> Result<StudyPlan, Error> {
    let libraries = &*site.libraries;
    let (mut study, parsed) = Study::read(&request.study, site)?;
    // What is no folder is refused by who would write to it.
    let output = request.output.as_deref().filter(|path| !path.is_file());
    let _named = output.map(ResultsFolder::take).transpose()?;
    let bound = study.bind(&parsed.workflow, libraries)?;
    let can_run = parsed.runnable().is_ok();
    let store = site.open_to_read()?;
    let StudyData {
        loaded,
        data_set,
        watched: _,
        baseline,
    } = study.load(parsed, bound, libraries, &*store, None)?;
    let open = open(&study, &loaded, &data_set, &baseline)?;
    let design = Design::new(&mut study)?;
    let mut notes = design.notes();
    if let (Some(url), false) = (&site.store.url, store.exists()) {
        notes.push(format!(
            "there is no store at `{url}` yet: nothing is remembered"
        ));
    }
    if study.study.until.is_some() {
        let note = "`until` may end the study earlier; counted is the most that may be run";
        notes.push(note.to_owned());
    }
    let varied = design.varied(&study.resolved.studied);
    let instances = Instances::new(&open.graph, &open.blueprint, &varied)
        .map_err(|unfit| misfit(&study, &unfit))?;
    refuse_too_many(&study, &instances)?;
    let shared = Shared::new(instances, &open);
    let found = LookedUp::new(&shared, &open.graph, &*store)?;
    let costing = Costing::new(&shared.operations, &*store)?;
    let weights = shared.weights(&costing, &found);
    let counts: Vec<StageCount> = shared
        .compact
        .stages
        .iter()
        .map(|rows| StageCount::new(rows, &weights))
        .collect();
    let workers = request
        .workers
        .unwrap_or_else(headwater_engine::limits::machine_cores);
    let cutting = Cutting {
        shared: &shared,
        counts: &counts,
        weights: &weights,
        order: shared.order(&loaded.workflow.stage_order().unwrap_or_default()),
        sharing: request.reuse.sharing(),
        limits: Limits {
            workers,
            max_bucket_size: request.max_bucket_size.unwrap_or(BUCKET_SIZE),
            max_buckets: request.max_buckets,
            max_bytes: request.memory,
            paper: request.paper,
        },
    };
    let chosen = cutting.usual();
    notes.extend(about_memory(request.memory, &chosen, &costing));
    let (algorithms, left_out) = if request.compare {
        cutting.all()
    } else {
        (Vec::new(), Vec::new())
    };
    let written = match &request.output {
        Some(folder) => design::write(&varied, folder)?,
        None => Vec::new(),
    };

    let sets = varied.sets;
    let items = open.blueprint.requested.len();
    let known_items = (items > 0 || open.blueprint.open.is_empty()).then_some(items);
    let sharing = request.reuse.sharing();
    let total = |of: fn(&StageCount) -> usize| counts.iter().map(of).sum::<usize>();
    let all_tasks = total(|count| count.instances * count.width);
    let tasks_merged: usize = counts.iter().map(|count| count.left(sharing).tasks).sum();
    let reuses = [Reuse::Chain, Reuse::Graph].map(|reuse| how_much(reuse, &counts));
    let reuse_percent = match request.reuse {
        Reuse::Stage => 0.0,
        Reuse::Chain => reuses[0].percent,
        Reuse::Graph => reuses[1].percent,
    };
    let later = design::later(&study, all_tasks.checked_div(sets).unwrap_or(0));
    let forecast = costing.is_measured().then(|| Forecast {
        seconds: seconds(chosen.makespan),
        work_seconds: seconds(chosen.cost),
        memory: (chosen.largest_bytes + costing.peak_memory())
            .saturating_mul(workers.min(chosen.buckets.max(1)) as u64),
        disk: weights.to_do.iter().map(|weight| weight.bytes).sum(),
    });
    let name = |stage: &usize| Arc::clone(&loaded.workflow.stages[*stage].name);
    Ok(StudyPlan {
        study: Arc::clone(study.name()),
        workflow: Arc::clone(&loaded.workflow.name),
        method: words::in_words(&study.study.method, study.study.until.is_some()),
        objective: Arc::clone(&study.resolved.objective.name),
        parameters: varied.names.clone(),
        sets,
        items: known_items,
        instances: known_items.map(|items| sets * items),
        stage_instances: total(|count| count.instances),
        stage_instances_merged: total(|count| count.distinct),
        tasks: all_tasks,
        tasks_merged,
        reuse: request.reuse,
        reuse_percent,
        reuses: reuses.to_vec(),
        remembered: found.remembered,
        to_execute: found.to_execute,
        equal_when_cut: found.equal_when_cut,
        saved_percent: percent(tasks_merged as u64, all_tasks as u64),
        saved_percent_of_time: percent(
            counts.iter().map(|count| count.left(sharing).cost).sum(),
            shared.unmerged_cost(&costing),
        ),
        fixed: study.resolved.fixed.clone(),
        reference: ReferencePlan {
            items: open.references,
            tasks: found.only_references,
        },
        stages: stage_plans(&loaded.workflow, &shared, &counts, sharing),
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

/// What becomes of each stage of the workflow that is needed.
fn stage_plans(
    workflow: &Workflow,
    shared: &Shared<'_>,
    counts: &[StageCount],
    sharing: Sharing,
) -> Vec<StudyStagePlan> {
    let plan = |position: usize| {
        let kinds = shared.instances.stages.iter().zip(counts);
        let kinds: Vec<&StageCount> = kinds
            .filter_map(|(stage, count)| (*stage == position).then_some(count))
            .collect();
        let sum = |of: &dyn Fn(&StageCount) -> usize| kinds.iter().map(|count| of(count)).sum();
        (!kinds.is_empty()).then(|| StudyStagePlan {
            name: Arc::clone(&workflow.stages[position].name),
            tasks_per_instance: kinds.iter().map(|count| count.width).max().unwrap_or(0),
            instances: sum(&|count| count.instances),
            distinct: sum(&|count| count.distinct),
            tasks: sum(&|count| count.instances * count.width),
            tasks_merged: sum(&|count| count.left(sharing).tasks),
        })
    };
    (0..workflow.stages.len()).filter_map(plan).collect()
}

/// What is to be said about a limit on memory.
fn about_memory(limit: Option<u64>, chosen: &AlgorithmPlan, costing: &Costing) -> Option<String> {
    let limit = limit?;
    if !costing.is_measured() {
        return Some(
            "sizes of products are not known yet, so --bucket-memory limits nothing".to_owned(),
        );
    }
    (chosen.largest_bytes > limit).then(|| {
        format!(
            "a stage has {} bytes of products alive at once and does not fit into the {limit} of --bucket-memory",
            chosen.largest_bytes
        )
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
