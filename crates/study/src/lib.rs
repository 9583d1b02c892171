//! Studies: a workflow, inputs, parameter sets and an analysis method.
//!
//! What comes in: a study file. What goes out: the plan of what would be computed, in which everything that several
//! parameter sets share stands once; or the answer, when it has been computed.
//!
//! ```text
//! study file ─load→ Study ─design→ parameter sets ─instances→ Template × Sets ─merge→ Compact ─plan→ StudyPlan
//! ```
//!
//! | file | step |
//! | --- | --- |
//! | `source` | a study as a file or as values |
//! | `file` | a study file together with the files that it names |
//! | `objective` | what is studied is a number |
//! | `words`, `refuse` | methods in words; what cannot be planned or run |
//! | `load` | a study with its workflow and its data, ready to be expanded |
//! | `tables` | tables of samples and results as CSV, Parquet and for Dakota |
//! | `table` | samples that the user brings |
//! | `design` | draws the parameter sets, or reads the user's, and writes them down |
//! | `open` | the workflow over its data, with the references that it is compared with |
//! | `instances` | from workflow and sets to the integers that `merge` works on, and back to tasks |
//! | `shared` | all instances merged, and what the store knows of them |
//! | `count` | what is shared, counted |
//! | `costs` | what tasks are expected to cost |
//! | `buckets` | units of distribution, and when they would be done |
//! | `plan` | all of it, in order |
//! | `run` | a study, from its file to its answer |
//! | `phase` | one phase: its design, prefix by prefix |
//! | `close` | lists of unknown length, made beforehand |
//! | `assemble` | the tasks of all instances in one graph, shared as far as is asked for |
//! | `names` | what the tasks of a study are called |
//! | `round` | a graph is run, and the objective read off |
//! | `noted`, `recall`, `recalled` | a large round that an earlier run has noted, recalled instead of run |
//! | `course` | the objective along each parameter |
//! | `answer` | from the values of the objective to sensitivity indices |
//! | `live` | how far a study is, and its answer so far |
//! | `facts` | what became of the tasks |
//! | `doubt` | what puts the answer in doubt |
//! | `extremes` | the best and the worst parameter set |
//! | `examples` | the best, the worst and the default, as images |
//! | `write`, `again` | the files that a study leaves, and its report made again |
//! | `tune` | runs one instance, so that costs are known |
//! | `json` | what `--json` prints of plans and runs |
//!
//! Law: planning executes nothing and writes to no store.

mod again;
mod answer;
mod assemble;
mod buckets;
mod close;
mod costs;
mod count;
mod course;
mod design;
mod doubt;
mod examples;
mod extremes;
mod facts;
mod file;
mod instances;
mod json;
mod live;
mod load;
mod names;
mod noted;
mod objective;
mod open;
mod phase;
mod plan;
mod recall;
mod recalled;
mod refuse;
mod round;
mod run;
mod shared;
mod source;
mod table;
pub mod tables;
mod tune;
mod words;
mod write;

pub use again::{StudyReportRequest, report_study};
pub use buckets::AlgorithmPlan;
pub use costs::CostSource;
pub use design::LaterPhase;
pub use json::failed_task_json;
pub use load::{Studied, check_study, studied};
pub use phase::{Bucketing, StudyReuse};
pub use plan::{
    Forecast, ReferencePlan, Reuse, ReusePlan, StudyPlan, StudyPlanRequest, StudyStagePlan,
    plan_study,
};
pub use run::{StudyRun, StudyRunRequest, run_study};
pub use source::StudySource;
pub use tune::{TuneReport, TuneRequest, TunedOperation, tune_study};
pub use write::{SUMMARY, study_figures, study_files};
