//! The report of a run: one page that needs nothing but itself.
//!
//! | file | what |
//! | --- | --- |
//! | `summary` | all that the page shows |
//! | `lanes` | executions side by side, joined where they are too short to be seen |
//! | `head` | the answer, what it took, what was run |
//! | `failures` | what failed, what it said, how to run it again |
//! | `gantt` | what was running when |
//! | `tables` | tasks by stage, slowest executions |
//! | `data` | outputs, inputs, parameters, notes, how to go on |
//!
//! Law: the page is a function of the summary, and not larger for a run with more tasks. It is well-formed as XML too,
//! runs no script and asks no network for anything.

mod data;
mod failures;
mod gantt;
mod head;
pub mod lanes;
mod summary;
mod tables;

use maud::{Markup, html};

use crate::page;

pub use summary::{
    RunBar, RunEnd, RunExecution, RunFailure, RunInput, RunOutput, RunOutputItem, RunParameter,
    RunSummary, RunTaskRow, RunTimeline,
};

/// The report of a run as one HTML file that can be read offline. Links lead to files beside it.
pub fn run_report_html(summary: &RunSummary) -> String {
    let body = html! {
        (head::section(summary))
        main { "\n"
            (failures::section(summary))
            (graph(summary))
            (gantt::section(summary))
            (tables::slowest(summary))
            (tables::stages(summary))
            (data::outputs(summary))
            (data::given(summary))
            (data::notes(summary))
            (data::further(summary))
        } "\n"
    };
    let title = format!("{} – run {}", summary.workflow, summary.run);
    page::document(&title, &body)
}

/// The workflow as a picture; empty where there is nothing to draw.
fn graph(summary: &RunSummary) -> Markup {
    if summary.graph.nodes.is_empty() {
        return html! {};
    }
    let caption = "The stages of the workflow and the tasks in them, each with how many there are and what became of them.";
    let figure = page::figure(&headwater_draw::inline(&summary.graph), caption);
    page::section("graph", "Graph", &figure)
}
