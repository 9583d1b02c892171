//! What `--json` prints, as types: the contract with the programs of users.
//!
//! | file | what |
//! | --- | --- |
//! | `entries` | names with values, as one object |
//! | `check` | mistakes in files, and what checking a file has shown |
//! | `run` | what a run would do, and what it came to |
//! | `runs` | earlier runs |
//! | `explain` | why tasks ran, and how runs differ |
//! | `products` | what is remembered, and whether it is sound |
//! | `study_plan` | what a study would compute, and what its operations cost |
//!
//! What a study came to is in `study/json.rs`, beside the summary that it is made of.
//!
//! Law: the fields of a type are the fields of the object, in this order. Fields may be added, and none changes its name or
//! its meaning. What is not known is null, unless a field says that it is absent then. Paths are text: bytes that are no
//! text are replaced, so that there is always something to print.

mod check;
mod entries;
mod explain;
mod products;
mod run;
mod runs;
mod study_plan;

use std::path::Path;

pub use check::{CheckJson, CheckedFileJson, DiagnosticJson};
pub use entries::Entries;
pub use explain::{
    BecauseJson, CauseGroupJson, CauseJson, ExplanationJson, MadeJson, NamedJson,
    RunDifferenceJson, SideJson, StaleInputJson, StaleJson, WhyJson,
};
pub use products::{
    AffectedJson, CollectedJson, GroupJson, InputSourceJson, OriginJson, ProductFileJson,
    ProductInputJson, ProductJson, ProductListJson, ProductOutputJson, ProductRecordJson,
    PushedJson, StoreJson, VerifiedJson, VersionPartJson, scalar_value,
};
pub use run::{
    DeliveredJson, DryRunJson, EndEventJson, FailedTaskJson, OutputItemJson, RestoreJson, RunJson,
    StagePlanJson, TaskCountsJson, TaskToRunJson,
};
pub use runs::{
    RunListJson, RunOverviewJson, RunPageJson, RunRecordJson, RunStageJson, RunTaskJson,
};
pub use study_plan::{
    AlgorithmPlanJson, BucketsJson, CostJson, CostSourceJson, ForecastJson, LaterPhaseJson,
    MeasuredCostsJson, ReferencesJson, SharingJson, StudyPageJson, StudyPlanJson, StudyStageJson,
    TuneEndJson, TuneJson, TuneRunJson, TunedOperationJson,
};

/// A path as text.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Seconds, to the microsecond: a clock gives no more.
pub fn rounded_seconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}
