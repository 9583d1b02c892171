//! What `--json` prints, from what the verbs give.
//!
//! Law: a conversion asks no store and computes nothing that is not asked for elsewhere too; which fields there are, and
//! what they mean, is said in `headwater_report::json`. Things of other crates have functions here, our own have methods.

mod check;
mod explain;
mod products;
mod run;
mod runs;

pub use headwater_report::json::{
    AffectedJson, AlgorithmPlanJson, BecauseJson, BucketsJson, CauseGroupJson, CauseJson,
    CheckJson, CheckedFileJson, CollectedJson, CostJson, CostSourceJson, DeliveredJson,
    DiagnosticJson, DryRunJson, EndEventJson, Entries, ExplanationJson, FailedTaskJson,
    ForecastJson, GroupJson, InputSourceJson, LaterPhaseJson, MadeJson, MeasuredCostsJson,
    NamedJson, OriginJson, OutputItemJson, ProductFileJson, ProductInputJson, ProductJson,
    ProductListJson, ProductOutputJson, ProductRecordJson, PushedJson, ReferencesJson, RestoreJson,
    RunDifferenceJson, RunJson, RunListJson, RunOverviewJson, RunPageJson, RunRecordJson,
    RunStageJson, RunTaskJson, SharingJson, SideJson, StagePlanJson, StaleInputJson, StaleJson,
    StoreJson, StudyPageJson, StudyPlanJson, StudyStageJson, TaskCountsJson, TaskToRunJson,
    TuneEndJson, TuneJson, TuneRunJson, TunedOperationJson, VerifiedJson, VersionPartJson, WhyJson,
    path_text,
};
pub use headwater_report::study::{
    EvaluationsJson, ExtremeJson, FailedEvaluationJson, ForecastFactJson, ForecastFactsJson,
    IndexColumnsJson, IndexCountsJson, IndicesJson, LeftOutJson, PairSquaresJson, PhaseJson,
    RangeJson, StudyCountsJson, StudyFilesJson, StudyItemJson, StudyJson, StudyRunJson,
};

pub use check::check_json;
pub use products::{product_list_json, verified_json};
pub use run::output_value;
pub use runs::run_record_json;

/// Nanoseconds, as records have them, in seconds.
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
