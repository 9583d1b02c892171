//! What a study came to: as plain data, as JSON, and as one page that needs nothing but itself.
//!
//! | file | what |
//! | --- | --- |
//! | `summary` | what a study came to, as plain data |
//! | `effect` | what an effect is, in words |
//! | `remark` | what there is to say about indices before somebody relies on them |
//! | `ranks`, `items` | what comes first, in all and in each item |
//! | `evaluations` | how many evaluations were to be made, and how many have a value |
//! | `json` | what `--json` prints of a study |
//! | `results` | `results.json` |
//! | `head` | what was asked, the answer, what it took |
//! | `say` | the answer in sentences |
//! | `indices` | what each phase found: tables, and what was left out of them |
//! | `charts` | bars with intervals, and how the objective is spread |
//! | `scatter` | μ* against σ |
//! | `course` | the objective along each parameter |
//! | `convergence` | how indices settle |
//! | `examples` | parameter sets worth looking at |
//! | `sharing` | what became of the tasks |
//! | `timeline` | when what was running; forecast against fact |
//! | `reading` | notes, failures, what the indices mean |
//!
//! Law: the page is a function of the summary. It is well-formed as XML too, runs no script and asks no network for
//! anything. What it says of indices depends on the phases alone.

mod charts;
mod convergence;
mod course;
mod effect;
mod evaluations;
mod examples;
mod head;
mod indices;
mod items;
mod json;
mod ranks;
mod reading;
mod remark;
mod results;
mod say;
mod scatter;
mod sharing;
mod summary;
mod timeline;

use maud::html;

use crate::page;

pub use effect::{EFFECT, NOMINAL_EFFECT, UNORDERED_EFFECT};
pub use evaluations::Evaluations;
pub use items::{ItemAnswer, LeftOut};
pub use json::{
    EvaluationsJson, ExtremeJson, FailedEvaluationJson, ForecastFactJson, ForecastFactsJson,
    IndexColumnsJson, IndexCountsJson, IndicesJson, LeftOutJson, PairSquaresJson, PhaseJson,
    RangeJson, StudyCountsJson, StudyFilesJson, StudyItemJson, StudyJson, StudyRunJson,
};
pub use results::study_results_json;
pub use summary::{
    CoursePoint, EffectStep, ExampleImage, Extreme, Extremes, FailedEvaluation, FixedValue,
    ForecastFacts, Indices, MoatRow, PhaseKind, PhaseSummary, PrefixSummary, StopRule,
    StudyExample, StudyFacts, StudyItem, StudyParameter, StudySummary, TaskFacts, Timeline,
    VbdPair, VbdRow, VbdRows,
};

/// The report of a study as one HTML file that can be read offline: tables, charts and images stand in the page itself.
///
/// The sections of the phases, from `<section class="indices"`, depend on the phases, the items, the examples and the extremes
/// alone: a study that is run again has the same.
pub fn study_report_html(summary: &StudySummary) -> String {
    let body = html! {
        (head::section(summary))
        main { "\n"
            (indices::sections(summary))
            (examples::section(summary))
            (sharing::section(summary))
            (timeline::section(summary))
            (reading::notes(summary))
            (reading::section(summary))
        } "\n"
    };
    let title = format!("{} – study report", summary.study);
    page::document(&title, &body)
}
