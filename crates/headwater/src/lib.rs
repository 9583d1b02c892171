//! Headwater: workflows that compute every shared piece once.
//!
//! This is the crate to depend on, and the only place that wires the phases together, in the order of the
//! way of the data:
//!
//! ```text
//! file ─load→ Workflow ─data→ DataSet ─expand→ TaskGraph ─run (enact + execute)→ events ─keep→ products ─deliver→ files
//! ```
//!
//! | file | step |
//! | --- | --- |
//! | `load` | reads a workflow file, and finds out the versions of its programs |
//! | `data` | reads the data of a run: globs, tables, single values |
//! | `place` | where the store is |
//! | `keep` | gives products to the store and takes them back |
//! | `report` | what is asked of a run, and what it comes to |
//! | `plan` | from a request to a planned run; dry runs |
//! | `run` | one run, from plan to report |
//! | `run_page` | the report of a run as a page |
//! | `progress` | how far a run is, and its trace |
//! | `trace` | the file of the trace, and text fit for a terminal |
//! | `metrics` | the same for Prometheus |
//! | `deliver` | writes outputs where the user finds them |
//! | `notes` | what a run notes for those who ask later |
//! | `dag` | workflows and runs as pictures |
//! | `overview` | an earlier run at a glance |
//! | `explain` | why a task ran or what it reused; two runs side by side |
//! | `study` | studies: parameter sets, and the plan that shares what they have in common |
//! | `products` | the products of a store: listed, shown, checked, thrown away |
//! | `sequence` | calls of a program, one after another, become a graph |
//! | `native` | runs a [`TaskGraph`](graph::TaskGraph) of native operations, without files |
//!
//! A program that runs commands calls [`init`] first in its `main`.

mod budget;
mod dag;
mod data;
mod deliver;
mod error;
mod explain;
mod fetch;
mod identifier;
mod keep;
mod load;
mod metrics;
mod native;
mod notes;
mod overview;
mod page;
mod place;
mod plan;
mod products;
mod progress;
mod report;
mod run;
mod run_page;
pub mod sequence;
mod study;
mod temporary;
mod thrift;
mod trace;

pub use dag::{
    Diagram, DiagramCounts, DiagramDetail, DiagramEdge, DiagramEnd, DiagramFormat, DiagramGroup,
    DiagramNode, DiagramRequest, EdgeKind, NodeKind, diagram, diagram_dot, diagram_mermaid,
    diagram_svg, run_diagram, workflow_diagram,
};
pub use error::Error;
pub use explain::{
    Cause, Change, Explanation, Group, Made, Named, RunDifference, Why, diff_runs, explain,
    find_run,
};
pub use headwater_enact as enact;
pub use headwater_execute::{Failure, FailureKind, Stop, inherited_environment};
pub use headwater_flow::{data_schema, render, study_schema, workflow_schema};
pub use headwater_graph as graph;
pub use headwater_remember::{
    Collected, FoundRun, RunRecord, RunStatus, RunTask, Store, TaskState, Verified,
};
pub use identifier::date;
pub use keep::StoreKeeper;
pub use load::{Checked, CheckedFile, Loaded, check_file, load};
pub use metrics::{run_metrics, study_metrics};
pub use native::{NativeRun, run_graph, run_graph_with};
pub use notes::study_of_run;
pub use overview::{RunOverview, StageOverview, overview};
pub use place::{StorePlace, open_store};
pub use plan::{DryRun, StagePlan, dry_run};
pub use products::{
    Held, InputSource, Origin, Product, ProductFile, ProductInput, ProductOutput, ProductRequest,
    collect_products, list_products, show_product, verify_products,
};
pub use progress::{MemorySnapshot, News, Progress, RunFacts, Snapshot, StageSnapshot};
pub use report::{Delivered, FailedTask, OutputItem, RunReport, RunRequest};
pub use run::run;
pub use run_page::{
    RunBar, RunEnd, RunExecution, RunFailure, RunInput, RunOutput, RunOutputItem, RunParameter,
    RunSummary, RunTaskRow, RunTimeline, RunTotals, report_run, run_report_html,
};
pub use sequence::Sequence;
pub use study::{
    AlgorithmPlan, Bucketing, CostSource, ExampleImage, FailedEvaluation, Forecast, ForecastFacts,
    Indices, LaterPhase, LiveAnswer, MoatRow, PhaseKind, PhaseSummary, PrefixSummary,
    ReferencePlan, Reuse, ReusePlan, StopRule, StudyExample, StudyFacts, StudyItem, StudyParameter,
    StudyPlan, StudyPlanRequest, StudyProgress, StudyReportRequest, StudyReuse, StudyRun,
    StudyRunRequest, StudySnapshot, StudyStagePlan, StudySummary, TaskFacts, Timeline, TuneReport,
    TuneRequest, TunedOperation, VbdPair, VbdRow, VbdRows, plan_study, report_study, run_study,
    study_report_html, study_results_json, tune_study,
};
pub use trace::printable;

/// Starts the small helper process that starts programs. Call it first in `main`: in the helper it does not
/// return. Without it programs are started directly, and their peak memory is not reliable.
pub fn init() {
    headwater_execute::spawn::init();
}

/// The examples of the guide, which are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sequences.md")]
mod guide {}
