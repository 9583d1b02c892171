//! What a study would compute, and what its operations cost: `headwater study plan`, `headwater tune`.
//!
//! Law: a cost is in the unit that `cost_unit` names.

use serde::Serialize;

use super::{DiagnosticJson, Entries, FailedTaskJson, TaskCountsJson};

/// What a study would compute: `headwater study plan`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyPlanJson {
    /// The name of the study.
    pub study: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The method, in words.
    pub method: String,
    /// The output that is studied.
    pub objective: String,
    /// The parameters that vary.
    pub parameters: Vec<String>,
    /// How many parameter sets there are.
    pub sets: usize,
    /// How many items there are in each set; null where that is not known before something has run.
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
    /// What is shared: `stage`, `chain` or `graph`.
    pub reuse: &'static str,
    /// What is saved of the tasks that are left after whole stages were merged.
    pub reuse_percent: f64,
    /// The same by all ways of sharing.
    pub sharing: Entries<SharingJson>,
    /// What is saved of the tasks of all instances, whole stages included.
    pub saved_percent: f64,
    /// The same of their cost.
    pub saved_percent_of_time: f64,
    /// Distinct tasks that are remembered.
    pub reused: usize,
    /// Distinct tasks that a run would execute.
    pub to_execute: usize,
    /// Tasks that are the same once operations have cut numbers to whole ones.
    pub equal_when_cut: usize,
    /// What references need.
    pub references: ReferencesJson,
    /// By stage.
    pub stages: Vec<StudyStageJson>,
    /// What costs come from.
    pub costs: CostSourceJson,
    /// `seconds`, or `tasks` where every task counts as one.
    pub cost_unit: &'static str,
    /// How many workers the plan is for.
    pub workers: usize,
    /// The algorithm for distribution.
    pub algorithm: &'static str,
    /// How many buckets it makes.
    pub buckets: usize,
    /// How large they are, and when they would be done.
    #[serde(flatten)]
    pub largest: BucketsJson,
    /// What it would take; null where costs are not known.
    pub forecast: Option<ForecastJson>,
    /// Stages of which more may come when something has run.
    pub open: Vec<String>,
    /// The files that the samples were written to.
    pub written: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
    /// What the readers of the files said.
    pub diagnostics: Vec<DiagnosticJson>,
    /// A phase that follows; null where there is none.
    pub later: Option<LaterPhaseJson>,
    /// All algorithms for distribution by name; null where that was not asked for.
    pub algorithms: Option<Entries<AlgorithmPlanJson>>,
    /// Algorithms that would have taken too long.
    pub algorithms_left_out: Vec<&'static str>,
}

/// What a way of sharing saves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharingJson {
    /// How many tasks are left.
    pub tasks: usize,
    /// What is saved of the tasks that are left after whole stages were merged.
    pub percent: f64,
    /// The same of their cost.
    pub percent_of_time: f64,
    /// What is saved of the tasks of all instances, whole stages included.
    pub percent_of_all_sets: f64,
}

/// What references need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReferencesJson {
    /// How many outputs.
    pub items: usize,
    /// Tasks that only they need and that a run would execute.
    pub tasks: usize,
}

/// What a study would compute of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudyStageJson {
    /// Its name.
    pub stage: String,
    /// How many tasks an instance has.
    pub tasks_per_instance: usize,
    /// How many instances there are.
    pub instances: usize,
    /// Those that differ.
    pub instances_merged: usize,
    /// Tasks before merging.
    pub tasks: usize,
    /// Tasks after merging.
    pub tasks_merged: usize,
}

/// What costs come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostSourceJson {
    /// `counts`: every task counts as one; `tuning`: a tuning run; `products`: other executions.
    pub from: &'static str,
    /// The executions; absent where tasks are counted.
    #[serde(flatten)]
    pub measured: Option<MeasuredCostsJson>,
}

/// The executions that costs were measured in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeasuredCostsJson {
    /// How many were looked at.
    pub executions: usize,
    /// The run that all of them are from, where it is one.
    pub run: Option<String>,
    /// Operations of which nothing is remembered.
    pub unknown: Vec<String>,
}

/// How large buckets are, and when they would be done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BucketsJson {
    /// The most tasks in a bucket.
    pub largest_bucket: usize,
    /// The highest cost of a bucket.
    pub largest_bucket_cost: CostJson,
    /// The most bytes that a bucket has alive at once.
    pub largest_bucket_bytes: u64,
    /// When everything would be done.
    pub makespan_estimate: CostJson,
    /// No plan on this number of workers is quicker.
    pub lower_bound: CostJson,
}

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CostJson {
    /// Where costs are times.
    Seconds(f64),
    /// Where every task counts as one.
    Tasks(u64),
}

/// What a study would take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastJson {
    /// Until everything is done.
    pub seconds: f64,
    /// Of work.
    pub work_seconds: f64,
    /// Memory that is needed at once, all workers together.
    pub memory_bytes: u64,
    /// What the products take.
    pub disk_bytes: u64,
}

/// A phase that follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaterPhaseJson {
    /// The method, in words.
    pub method: String,
    /// How many parameters it keeps.
    pub parameters: usize,
    /// How many parameter sets it has.
    pub sets: usize,
    /// Its tasks.
    pub tasks_at_most: usize,
}

/// What an algorithm for distribution makes of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlgorithmPlanJson {
    /// How many tasks are executed.
    pub tasks: usize,
    /// What is saved of the tasks that are left after whole stages were merged.
    pub reuse_percent: f64,
    /// The same of their cost.
    pub reuse_percent_of_time: f64,
    /// How many buckets there are.
    pub buckets: usize,
    /// How large they are, and when they would be done.
    #[serde(flatten)]
    pub largest: BucketsJson,
}

/// What a tuning run came to: `headwater tune`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneJson {
    /// How it went.
    #[serde(flatten)]
    pub run: TuneRunJson,
    /// What the operations cost.
    pub operations: Vec<TunedOperationJson>,
    /// The tasks that failed; operations stand for their addresses.
    pub failures: Vec<FailedTaskJson>,
    /// Whether it was stopped.
    pub stopped: bool,
}

/// How a tuning run went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TuneRunJson {
    /// The run.
    pub run: String,
    /// How it ended.
    pub status: &'static str,
    /// How many tasks stand where.
    #[serde(flatten)]
    pub counts: TaskCountsJson,
}

/// What an operation costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TunedOperationJson {
    /// Its name.
    pub operation: String,
    /// How many executions are remembered.
    pub executions: usize,
    /// How long one takes.
    pub seconds: f64,
    /// The bytes of what it makes.
    pub bytes: u64,
}

/// The last event of a tuning run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TuneEndJson {
    /// How it went.
    #[serde(flatten)]
    pub run: TuneRunJson,
    /// Always `end`.
    pub event: &'static str,
    /// The exit code of the command.
    pub exit: u8,
}

/// Where the page of a study was written: `headwater study report`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StudyPageJson {
    /// The name of the study.
    pub study: String,
    /// The run.
    pub run: String,
    /// The page.
    pub report: String,
}
