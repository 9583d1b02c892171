//! Headwater: workflows and parameter studies that compute every shared piece once.
//!
//! This is the crate to depend on. What is done is done at a [`Site`]; it is given requests, and gives reports:
//!
//! | to do | given | gives |
//! | --- | --- | --- |
//! | [`check`](Site::check) a workflow or a study | a file | [`Checked`](files::Checked) |
//! | [`dry_run`](Site::dry_run) or [`run`](Site::run) a workflow | [`RunRequest`] | [`DryRun`], [`RunReport`] |
//! | [`plan_study`](Site::plan_study), [`tune_study`](Site::tune_study), [`run_study`](Site::run_study), [`report_study`](Site::report_study) | [`StudyPlanRequest`], [`TuneRequest`], [`StudyRunRequest`], [`StudyReportRequest`] | [`StudyPlan`], [`TuneReport`], [`StudyRun`], [`StudySummary`](study::StudySummary) |
//! | [`diagram`](Site::diagram): a workflow or a run as a picture | [`DiagramRequest`] | [`Diagram`] |
//! | [`open_store`](Site::open_store) and ask | | [`Store`]; then [`explain()`], [`diff_runs`], and the functions of [`runs`] and [`products`] |
//! | a [`Sequence`] of calls | calls of a program, one after another | [`SequenceReport`](sequence::SequenceReport) |
//! | [`run_graph`]: tasks that a program has put together | a [`TaskGraph`](graph::TaskGraph) | [`NativeRun`] |
//!
//! The parts of what they give are in the modules. A program that runs commands calls [`init`] first in its `main`.
//!
//! # A library of operations, and a workflow that uses it
//!
//! An operation is a function with a [`Signature`](graph::Signature): a name, a version, ports and parameters. Registered
//! under the name of a library, it can be used by any workflow.
//!
//! ```
//! use headwater::graph::{
//!     Context, Operation, OperationError, Outputs, Registry, Scalar, Signature, Type, Value,
//! };
//! use headwater::{RunRequest, Site};
//!
//! fn square(inputs: &[Value], _: &[Scalar], _: &mut Context) -> Result<Outputs, OperationError> {
//!     match inputs {
//!         [Value::Int(number)] => Ok(vec![Value::Int(number * number)]),
//!         _ => Err(OperationError::Failed("`number` is no number".to_owned())),
//!     }
//! }
//!
//! /// The operations of this library.
//! fn libraries() -> Registry {
//!     let signature = Signature::new("square", "1") // a change of what it computes is a new version
//!         .input("number", Type::Int)
//!         .output("square", Type::Int);
//!     let mut libraries = Registry::new();
//!     let operation = Operation::native(signature, square);
//!     libraries.register(Some("example"), operation).expect("a new name");
//!     libraries
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! headwater::init();
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! std::fs::write(folder.join("squares.yaml"), "
//! headwater: 1
//! workflow: squares
//! inputs: {number: int}
//! stages:
//!   square:
//!     tasks: [{op: example/square, in: {number: number}, out: {square: square}}]
//! outputs: {square: square}
//! ")?;
//! std::fs::write(folder.join("data.yaml"), "inputs: {number: [2, 3, 2]}")?;
//!
//! let request = RunRequest {
//!     flow: "squares.yaml".into(),
//!     inputs: Some("data.yaml".into()),
//!     ..RunRequest::default()
//! };
//! let site = Site::new(folder).with_libraries(libraries());
//! let report = site.run(&request)?;
//! assert!(report.succeeded());
//! assert_eq!(report.outputs["square"].len(), 3);
//! assert_eq!(report.counts.executed, 2); // what is equal is computed once,
//! assert_eq!(site.run(&request)?.counts.executed, 0); // and remembered
//! # Ok(())
//! # }
//! ```
//!
//! # For those who change it
//!
//! This crate is thin. What every run has in common is in `headwater_engine`, studies are in `headwater_study`, calls of
//! a program in `headwater_sequence`, and what is reported of all of them in `headwater_report`; here are the verbs that use
//! several of these.
//!
//! | file | verb |
//! | --- | --- |
//! | `check` | checks files of all kinds |
//! | `plan` | from a request to a planned run; dry runs |
//! | `site` | [`Site`]: where work is done, with the verbs as methods |
//! | `run` | one run of a workflow, from plan to report |
//! | `report` | what is asked of a run, and what it comes to |
//! | `run_page` | the report of a run: gathered when it ends, and made again later |
//! | `told` | what a run was given, in words |
//! | `metrics` | how far a run is, for Prometheus |
//! | `starter` | writes files to start from: a workflow, a study, a library of operations |
//!
//! The public modules are verbs too, and say so themselves.

mod check;
pub mod dag;
pub mod explain;
pub mod group;
pub mod json;
mod plan;
pub mod products;
mod report;
mod run;
mod run_page;
pub mod runs;
mod site;
mod starter;
pub mod text;
mod told;

use std::path::PathBuf;

use headwater_graph::Registry;

/// The files that people write: files to start from, what checking one has shown, and the schema of each kind, for
/// editors.
pub mod files {
    pub use headwater_flow::{
        data_schema, descriptor_schema, operations_schema, settings_schema, study_schema,
        workflow_schema,
    };

    pub use crate::starter::{
        NewOperations, new_operations, new_study, new_study_of, new_workflow,
    };
    pub use headwater_engine::load::{Checked, CheckedFile};
}

/// Studies: what parameters do, planned, run and answered.
pub mod study {
    pub use headwater_report::study::{
        CoursePoint, EFFECT, EffectStep, Evaluations, ExampleImage, Extreme, Extremes,
        FailedEvaluation, FixedValue, ForecastFacts, Indices, ItemAnswer, LeftOut, MoatRow,
        NOMINAL_EFFECT, PhaseKind, PhaseSummary, PrefixSummary, StopRule, StudyExample, StudyFacts,
        StudyFilesJson, StudyItem, StudyJson, StudyParameter, StudyRunJson, StudySummary,
        TaskFacts, Timeline, UNORDERED_EFFECT, VbdPair, VbdRow, VbdRows, study_report_html,
        study_results_json,
    };
    pub use headwater_study::{
        AlgorithmPlan, Bucketing, CostSource, Forecast, LaterPhase, ReferencePlan, Reuse,
        ReusePlan, StudyPlan, StudyPlanRequest, StudyReportRequest, StudyReuse, StudyRun,
        StudyRunRequest, StudySource, StudyStagePlan, TuneReport, TuneRequest, TunedOperation,
        study_files,
    };
}

/// Running a graph of native operations, without files: for programs that build their own graphs.
pub mod native {
    pub use headwater_engine::native::{
        Backoff, Capacity, NativeRun, Options, Parallelism, run_graph, run_graph_with,
    };
}

/// How far a run is.
pub mod progress {
    pub use headwater_engine::progress::Progress;
    pub use headwater_graph::progress::{
        LiveAnswer, MemorySnapshot, News, RunFacts, Snapshot, StageSnapshot, StudySnapshot,
    };
    pub use headwater_report::{events, metrics};
}

pub use headwater_engine::{
    Data, DataSource, Document, Error, Limits, Machines, Setting, StorePlace, WorkflowSource,
    open_store,
};
pub use headwater_execute::Stop;
pub use headwater_flow::render;
/// Calls of a program, one after another, run as tasks.
pub use headwater_sequence as sequence;

/// Operations, values, tasks: what a library of operations is written with.
pub use headwater_graph as graph;
pub use headwater_graph::Store;

pub use plan::DryRun;

#[doc(inline)]
pub use headwater_engine::Progress;
pub use report::{Destination, RunReport, RunRequest};
pub use site::Site;

#[doc(inline)]
pub use study::{
    StudyPlan, StudyPlanRequest, StudyReportRequest, StudyRun, StudyRunRequest, StudySource,
    TuneReport, TuneRequest,
};

#[doc(inline)]
pub use dag::{Diagram, DiagramRequest};
#[doc(inline)]
pub use explain::{Explanation, RunDifference, diff_runs, explain};
#[doc(inline)]
pub use native::{NativeRun, run_graph};
#[doc(inline)]
pub use sequence::Sequence;

/// Starts the small helper process that starts programs. Call it first in `main`: in the helper it does not
/// return. Without it programs are started directly, and their peak memory is not reliable.
///
/// A program that cannot be started once more to be its own helper, such as an interpreter, calls [`init_with`].
pub fn init() {
    headwater_execute::spawn::init();
    headwater_engine::machines::serve_if_asked(Registry::new);
}

/// What a program says about itself at its start.
#[derive(Debug, Default)]
pub struct Host {
    /// The operations that every [`Site`] has from the start.
    pub libraries: Registry,
    /// A program that calls [`init`] first in its `main`, to be the helper that starts programs; the `headwater` command is
    /// one. By default it is this program.
    pub helper: Option<PathBuf>,
}

/// As [`init`], with the libraries of this program, and with another program as its helper where it cannot be started once
/// more itself. The first call counts. An error means that the helper cannot be started; programs are then started
/// directly.
///
/// ```no_run
/// use headwater::graph::Registry;
/// use headwater::{Host, Site};
///
/// let libraries = Registry::new(); // and operations in it
/// headwater::init_with(Host { libraries, helper: Some("/usr/bin/headwater".into()) })?;
/// let site = Site::here()?; // has these libraries
/// # Ok::<(), headwater::Error>(())
/// ```
pub fn init_with(host: Host) -> Result<(), Error> {
    let Some(helper) = host.helper else {
        headwater_execute::spawn::init();
        begin(host.libraries);
        return Ok(());
    };
    let begun = headwater_execute::spawn::init_with(&helper);
    begin(host.libraries);
    begun.map_err(|source| {
        let hint =
            "name the `headwater` command, or a program that calls `headwater::init()` first";
        Error::usage(
            format!("`{}` cannot be the helper: {source}", helper.display()),
            Some(hint.to_owned()),
        )
    })
}

/// As a node it works and does not return; else the libraries are those of all sites.
fn begin(libraries: Registry) {
    headwater_engine::machines::serve_if_asked(|| libraries.clone());
    site::set_libraries(libraries);
}

/// The examples of the guide, which are compiled and run as tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/rust.md")]
    mod rust {}

    #[doc = include_str!("../../../docs/sequences.md")]
    mod sequences {}

    #[doc = include_str!("../../../docs/study-runs.md")]
    mod study_runs {}
}
