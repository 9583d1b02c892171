//! What a study came to: everything that the terminal, `results.json` and the report tell of it.
//!
//! Law: a summary is plain data. The phases are a function of the study, its inputs and the versions of its operations;
//! whatever depends on the run (times, machines, what was remembered) stands in the facts. A number that is not known is
//! absent.

use std::fmt;

use headwater_graph::{Scalar, Tally};
use serde::{Deserialize, Serialize};

use crate::counted::OfStudy;

/// What a study came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudySummary {
    /// The name of the study.
    pub study: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The output that is studied.
    pub objective: String,
    /// The method, in words.
    pub method: String,
    /// Which of the random sequences.
    pub seed: u64,
    /// What each input of the workflow got, in words; a reference says which output it is.
    #[serde(default)]
    pub inputs: Vec<(String, String)>,
    /// What puts the answer in doubt though nothing failed.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// What the objective was computed for, in each parameter set; in index order.
    pub items: Vec<StudyItem>,
    /// One, or two for a screening that is followed by a decomposition; fewer where it was stopped.
    pub phases: Vec<PhaseSummary>,
    /// How many phases the study has.
    pub phases_planned: usize,
    /// Parameter sets that are worth looking at, with what came out there. Empty where no output is an image.
    pub examples: Vec<StudyExample>,
    /// The parameter sets where the objective is highest and lowest; absent where nothing has a value.
    #[serde(default)]
    pub extremes: Option<Extremes>,
    /// How the run went.
    pub facts: StudyFacts,
}

/// Something that the objective was computed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyItem {
    /// Its index path, without the number of the parameter set; empty where there is but one item.
    pub index: String,
    /// The inputs that it was made from: the name of the input, and what it is called.
    pub inputs: Vec<(String, String)>,
}

/// How a phase draws its sets, and what it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseKind {
    /// One parameter at a time: groups are trajectories.
    Moat,
    /// Shares of the variance: groups are base points.
    Vbd,
    /// The user's own sets: groups are sets, and there are no indices.
    Table,
}

/// What a phase came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// What it is.
    pub kind: PhaseKind,
    /// The method, in words.
    pub method: String,
    /// The share that intervals cover, such as 0.95; absent where there are none.
    pub confidence: Option<f64>,
    /// The parameters that vary, in the order of the study.
    pub parameters: Vec<StudyParameter>,
    /// The parameters that do not, and their values.
    pub fixed: Vec<(String, FixedValue)>,
    /// For MOAT with one number of levels for all: that number.
    #[serde(default)]
    pub levels: Option<u32>,
    /// For MOAT: what effects are divided by.
    #[serde(default)]
    pub step: EffectStep,
    /// How many trajectories or base points were evaluated.
    pub groups: usize,
    /// How many the design has.
    pub groups_planned: usize,
    /// The number of its first parameter set: those of a second phase come after those of the first.
    pub first_set: usize,
    /// How many parameter sets were evaluated.
    pub sets: usize,
    /// How many the design has.
    pub sets_planned: usize,
    /// The rule that ended the phase, where there is one.
    pub rule: Option<StopRule>,
    /// Evaluations that have no value, by set and item.
    pub failed: Vec<FailedEvaluation>,
    /// The indices of all items together.
    pub pooled: Indices,
    /// The indices of each item; empty where there is but one.
    pub each: Vec<Indices>,
    /// The indices at the fixed prefixes of the design, the last being all that was evaluated.
    pub convergence: Vec<PrefixSummary>,
    /// The objective: by item, then by parameter set.
    pub values: Vec<Vec<Option<f64>>>,
}

/// What effects are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectStep {
    /// The length of the step that was taken, in parts of the parameter's range.
    Actual,
    /// The step between the levels of the design, whatever values the parameter has. A summary that does not say it is of a
    /// version that knew nothing else.
    #[default]
    Nominal,
}

/// A parameter that varies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyParameter {
    /// Its name.
    pub name: String,
    /// The values it may have, in words: `5 to 80 by 5`.
    pub range: String,
    /// Its default, where it has one.
    pub default: Option<String>,
    /// Whether the default lies outside the values it may have.
    #[serde(default)]
    pub default_outside: bool,
    /// How many values it may have, where they can be counted.
    #[serde(default)]
    pub values: Option<u64>,
    /// For MOAT: steps that landed on the value that they started from.
    pub stuck: usize,
    /// For MOAT: whether it is a choice of three or more words, whose effects have no sign.
    #[serde(default)]
    pub unordered: bool,
    /// What the objective is where the parameter has a certain value; in rising order.
    #[serde(default)]
    pub course: Vec<CoursePoint>,
}

/// The objective where a parameter has a value, or one of a few neighbouring ones, whatever the other parameters have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoursePoint {
    /// The value, in words.
    pub value: String,
    /// Where it lies among the others: the number, or the position of a value that is none.
    pub at: f64,
    /// How many evaluations have it.
    pub evaluations: usize,
    /// The mean of the objective there.
    pub mean: f64,
    /// The middle half of the values of the objective lies between these.
    pub quartiles: (f64, f64),
}

/// The value of a parameter that does not vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FixedValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A text.
    Text(String),
}

impl From<&Scalar> for FixedValue {
    fn from(value: &Scalar) -> FixedValue {
        match value {
            Scalar::Bool(value) => FixedValue::Bool(*value),
            Scalar::Int(value) => FixedValue::Int(*value),
            Scalar::Float(value) if value.is_finite() => FixedValue::Float(*value),
            // JSON has no infinite numbers.
            other => FixedValue::Text(other.to_string()),
        }
    }
}

impl fmt::Display for FixedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FixedValue::Bool(value) => write!(f, "{value}"),
            FixedValue::Int(value) => write!(f, "{value}"),
            FixedValue::Float(value) => write!(f, "{value:?}"),
            FixedValue::Text(value) => f.write_str(value),
        }
    }
}

/// The rule that a phase may end by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// How narrow the intervals are to be.
    pub ci: f64,
    /// How wide the widest one is, in the same unit.
    pub reached: Option<f64>,
    /// Whether the phase ended by it.
    pub held: bool,
}

/// An evaluation without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedEvaluation {
    /// The parameter set; sets are numbered from 0 through all phases.
    pub set: usize,
    /// The position of the item.
    pub item: usize,
    /// Why: the failed task and its message, or that the value is no finite number.
    pub why: String,
}

/// Sensitivity indices; one row per parameter, in the order of the phase's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indices {
    /// None: the sets are the user's own.
    None,
    /// Effects.
    Moat(Vec<MoatRow>),
    /// Shares of the variance.
    Vbd(VbdRows),
}

/// The effects of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MoatRow {
    /// The mean effect; absent for a choice without order too.
    pub mu: Option<f64>,
    /// The mean size of the effects.
    pub mu_star: Option<f64>,
    /// Half the width of its interval.
    pub mu_star_conf: Option<f64>,
    /// The standard deviation of the effects.
    pub sigma: Option<f64>,
    /// How many effects count.
    pub used: usize,
    /// How many do not, for want of a value.
    pub lost: usize,
    /// How many are none, because the step had no length.
    #[serde(default)]
    pub no_step: usize,
    /// How many steps those that count come from; absent in summaries of earlier versions.
    #[serde(default)]
    pub steps: Option<usize>,
}

/// Shares of the variance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VbdRows {
    /// By parameter.
    pub rows: Vec<VbdRow>,
    /// By pair of parameters, if they were asked for.
    pub pairs: Vec<VbdPair>,
    /// How many base points count.
    pub used: usize,
    /// How many do not, for want of a value.
    pub lost: usize,
    /// The objective is the same everywhere: there is no variance to have shares of.
    pub constant: bool,
    /// How many base points count on any item; absent in summaries of earlier versions.
    #[serde(default)]
    pub drawn: Option<usize>,
}

/// The shares of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VbdRow {
    /// By itself.
    pub s1: Option<f64>,
    /// Half the width of its interval.
    pub s1_conf: Option<f64>,
    /// Together with others.
    pub st: Option<f64>,
    /// Half the width of its interval.
    pub st_conf: Option<f64>,
}

/// What two parameters do together, beyond what each does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VbdPair {
    /// The positions of the two, the smaller first.
    pub parameters: (usize, usize),
    /// The share.
    pub s2: Option<f64>,
    /// Half the width of its interval.
    pub s2_conf: Option<f64>,
}

/// What the first so many groups of a design say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrefixSummary {
    /// How many trajectories or base points.
    pub groups: usize,
    /// How many parameter sets.
    pub sets: usize,
    /// The indices of all items together.
    pub indices: Indices,
}

/// The best and the worst parameter set. Where there are several items a set is judged by its mean over all of them; where
/// no set has a value on every item, by its mean over those that it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extremes {
    /// Where the objective is highest; of equal ones the first.
    pub best: Extreme,
    /// Where it is lowest.
    pub worst: Extreme,
}

/// A parameter set, and what the objective is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extreme {
    /// The parameter set; sets are numbered from 0 through all phases.
    pub set: usize,
    /// The objective, or its mean where there are several items.
    pub value: f64,
    /// Over how many items.
    pub items: usize,
    /// The parameters of the study, and their values there.
    pub parameters: Vec<(String, FixedValue)>,
}

/// A parameter set worth looking at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyExample {
    /// `best`, `worst`, or `default`.
    pub name: String,
    /// The parameter set; absent for the default.
    pub set: Option<usize>,
    /// The item, by position.
    pub item: usize,
    /// The objective there.
    pub value: Option<f64>,
    /// The mean of the objective over all items at that set; absent where there is but one, and for the default.
    #[serde(default)]
    pub mean: Option<f64>,
    /// The parameters, and their values.
    pub parameters: Vec<(String, String)>,
    /// The outputs that are images: name, and the image as PNG.
    pub images: Vec<ExampleImage>,
}

/// An image of an example, made small enough to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleImage {
    /// The name of the output.
    pub output: String,
    /// Its width as shown, in pixels.
    pub width: usize,
    /// Its height as shown.
    pub height: usize,
    /// PNG, in base 64.
    pub png: String,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyFacts {
    /// The run.
    pub run: String,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// How long it took, from reading the study to its results.
    pub seconds: f64,
    /// How long tasks were running, from the first to the last.
    pub running_seconds: f64,
    /// On how many cores.
    pub cores: usize,
    /// What was shared, in words.
    pub sharing: String,
    /// Whether it was stopped before it was done.
    pub stopped: bool,
    /// By task of the workflow, in its order; those that only references need are among them.
    pub tasks: Vec<TaskFacts>,
    /// Tasks that were run again because what they had made was dropped or damaged.
    pub recomputed: usize,
    /// What was running when.
    pub timeline: Timeline,
    /// What the plan foresaw, where costs were known beforehand.
    pub forecast: Option<ForecastFacts>,
    /// What failed: one text for each task, for people.
    pub failures: Vec<String>,
    /// The same by cause: one text for all tasks that failed for the same reason.
    #[serde(default)]
    pub causes: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
}

/// What became of one task of the workflow, over all parameter sets and items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskFacts {
    /// The stage.
    pub stage: String,
    /// The task in it.
    pub task: String,
    /// How often all sets and items ask for it.
    pub planned: usize,
    /// Those that differ, and how many of them stand where.
    #[serde(flatten, with = "OfStudy")]
    pub tally: Tally,
    /// How many of those asked for are not there, because their task failed, could not run, or was not reached.
    pub unmet: usize,
    /// How long those that ran took together.
    pub seconds: f64,
    /// The seconds of processor time that those took.
    #[serde(default)]
    pub cpu_seconds: f64,
    /// The seconds of processor time that it took to make, when they were made, what need not be made: what was shared,
    /// cut off or remembered. Absent where that was not measured of all.
    #[serde(default)]
    pub saved_seconds: Option<f64>,
}

impl StudySummary {
    /// Whether every evaluation of every phase has a value.
    pub fn is_complete(&self) -> bool {
        let mut values = self
            .phases
            .iter()
            .flat_map(|phase| phase.values.iter().flatten());
        self.phases.len() == self.phases_planned && values.all(Option::is_some)
    }

    /// The screening that comes before the phase with the answer, and that phase, as far as they are there.
    pub fn split(&self) -> (Option<&PhaseSummary>, Option<&PhaseSummary>) {
        match (self.phases_planned, self.phases.as_slice()) {
            (2, phases) => (phases.first(), phases.get(1)),
            (_, phases) => (None, phases.last()),
        }
    }
}

impl VbdPair {
    /// Whether its interval lies above zero: only then it is sure that the two do something together.
    pub fn is_clear(&self) -> bool {
        matches!((self.s2, self.s2_conf), (Some(share), Some(half)) if share - half > 0.0)
    }
}

impl StudyFacts {
    /// How often all sets and items ask for tasks.
    pub fn asked(&self) -> usize {
        self.tasks.iter().map(|task| task.planned).sum()
    }

    /// How many of the tasks that differ stand where.
    pub fn tally(&self) -> Tally {
        self.tasks.iter().map(|task| task.tally).sum()
    }

    /// The seconds of processor time that tasks took that ran, and those that were saved, where it is known what all of
    /// these take.
    pub fn processor_seconds(&self) -> (f64, Option<f64>) {
        let spent = self.tasks.iter().map(|task| task.cpu_seconds).sum();
        let saved = self.tasks.iter().map(TaskFacts::seconds_saved);
        (spent, saved.sum())
    }
}

impl TaskFacts {
    /// Those asked for that need not run: they were shared, cut off or remembered.
    pub fn spared(&self) -> usize {
        self.planned
            .saturating_sub(self.tally.executed + self.unmet)
    }

    /// The seconds of processor time that those took when they were made, where that is known of all.
    pub fn seconds_saved(&self) -> Option<f64> {
        match self.spared() {
            0 => Some(0.0),
            _ => self.saved_seconds,
        }
    }
}

/// What was running when: the time of the run in equal slices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// How long a slice is, in seconds.
    pub slice: f64,
    /// By slice: for each task of the facts that ran in it, its position and how many cores it had at work, on average.
    pub slices: Vec<Vec<(usize, f64)>>,
}

/// What a plan foresaw, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastFacts {
    /// What the forecast was made from.
    pub from: String,
    /// Tasks that were to be executed at most: cut-off by content is not foreseen.
    pub tasks: usize,
    /// Seconds of work.
    pub work_seconds: f64,
    /// Seconds until everything is done.
    pub seconds: f64,
    /// What came of what it speaks of: tasks that ran, seconds of work, seconds from the first to the last.
    pub fact: (usize, f64, f64),
}
