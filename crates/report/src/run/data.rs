//! What went in, what came out, what else there is to say, and how to go on.
//!
//! Law: links lead to files beside the page and nowhere else; of many items the first ones are listed, with where the
//! rest is. Only commands that exist are named, with addresses of this run.

use maud::{Markup, html};

use headwater_graph::text::shell_quote;

use super::summary::{RunOutput, RunOutputItem, RunSummary};
use crate::page;
use crate::page::table::{heads, number_cell, wide_table};
use crate::page::text::{count, counted, cut};

/// The outputs; empty where there are none.
pub(super) fn outputs(summary: &RunSummary) -> Markup {
    if summary.outputs.is_empty() {
        return html! {};
    }
    let body = html! {
        @for output in &summary.outputs { (output_list(summary, output)) }
        p.quiet { "All of them, and what each was made from, are in " (beside(summary, "outputs.csv"))
            "; every execution is in " (beside(summary, "trace.tsv")) "." } "\n"
    };
    page::section("outputs", "Outputs", &body)
}

/// A file of ours beside the page.
fn beside(summary: &RunSummary, name: &str) -> Markup {
    html! {
        @match &summary.links {
            Some(prefix) => { a href={ (prefix) (name) } { (name) } },
            None => { code { (name) } },
        }
    }
}

fn output_list(summary: &RunSummary, output: &RunOutput) -> Markup {
    let more = output.items.saturating_sub(output.shown.len());
    html! {
        h3 { (output.name) " " span.quiet { (counted(output.items, "item", "items")) } } "\n"
        @match output.shown.as_slice() {
            [] => { p { "Nothing." } "\n" },
            [one] => { p { (item(summary, one)) } "\n" },
            several => {
                ul.items {
                    @for one in several {
                        li { span.index { (one.index) } " " (item(summary, one)) } "\n"
                    }
                } "\n"
            },
        }
        @if more > 0 {
            p { "… and " (count(more)) " more in " (beside(summary, "outputs.csv")) "." } "\n"
        }
    }
}

fn item(summary: &RunSummary, item: &RunOutputItem) -> Markup {
    html! {
        @match (&item.path, &item.link, &summary.links) {
            (Some(path), Some(link), Some(prefix)) => { a href={ (prefix) (link) } { (path) } },
            (Some(path), _, _) => { code { (path) } },
            (None, _, _) => { code { (item.value.as_deref().unwrap_or_default()) } },
        }
        @if let Some(from) = &item.from { " " span.quiet { (from) } }
        @if item.missing > 0 {
            " " strong.missing { (counted(item.missing, "item is missing", "items are missing")) " from what it was made from" }
        }
    }
}

/// Inputs and parameters; empty where there are none.
pub(super) fn given(summary: &RunSummary) -> Markup {
    if summary.inputs.is_empty() && summary.parameters.is_empty() {
        return html! {};
    }
    let inputs = html! {
        (heads([("input", false), ("items", true), ("what", false)]))
        tbody { "\n"
            @for input in &summary.inputs {
                tr {
                    th scope="row" { (input.name) }
                    (number_cell(count(input.items)))
                    td.why {
                        @for (place, shown) in input.shown.iter().enumerate() {
                            @if place > 0 { ", " } (shown)
                        }
                        @if input.items > input.shown.len() { ", …" }
                    }
                } "\n"
            }
        }
    };
    let parameters = html! {
        (heads([("parameter", false), ("value", false), ("from", false)]))
        tbody { "\n"
            @for parameter in &summary.parameters {
                tr {
                    th scope="row" { (parameter.name) }
                    td.why { (parameter.value) }
                    td { (parameter.from) }
                } "\n"
            }
        }
    };
    let body = html! {
        @if !summary.inputs.is_empty() {
            (wide_table("Inputs", html! { "What went in; all of it, as a data file that gives the same run again, is in "
                (beside(summary, "inputs.yaml")) "." }, &inputs))
        }
        @if !summary.parameters.is_empty() {
            (wide_table("Parameters", "Parameters, their values in this run, and where each comes from.", &parameters))
        }
    };
    page::section("given", "Inputs and parameters", &body)
}

/// Notes; empty where there are none.
pub(super) fn notes(summary: &RunSummary) -> Markup {
    if summary.notes.is_empty() {
        return html! {};
    }
    let body = html! {
        ul { @for note in &summary.notes { li { (page::prose(note)) } } } "\n"
    };
    page::section("notes", "Notes", &body)
}

/// How to go on.
pub(super) fn further(summary: &RunSummary) -> Markup {
    let run = shell_quote(&summary.run);
    let failed = summary.failures.first().map(|failure| &failure.address);
    let task = failed.or_else(|| summary.slowest.first().map(|slow| &slow.address));
    // Helpers have no address that a command would take.
    let task = task.filter(|address| !address.contains(' '));
    let body = html! {
        dl.words {
            @if let Some(task) = task {
                div {
                    dt { code { "headwater explain " (run) " " (cut(&shell_quote(task), 200)) } }
                    dd { "why a task ran, or what it reused" }
                }
            }
            div {
                dt { code { "headwater runs show " (run) } }
                dd { "what became of each task, in the terminal" }
            }
            div {
                dt { code { "headwater dag " (run) " -o graph.svg" } }
                dd { "the graph as a file: SVG, DOT or Mermaid by its ending" }
            }
            div {
                dt { code { "headwater runs diff " (run) " last" } }
                dd { "what changed between this run and a later one" }
            }
        } "\n"
        p.quiet { "In the folder that the run was started in, or one below it." } "\n"
    };
    page::section("further", "How to go on", &body)
}
