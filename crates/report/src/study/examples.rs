//! Parameter sets worth looking at, side by side.
//!
//! Law: images stand in the page itself; what differs from the default is marked by more than a colour.

use maud::{Markup, html};

use super::indices::item_name;
use super::summary::{StudyExample, StudySummary};
use crate::page;
use crate::page::table::{heads, wide_table};
use crate::page::text::{ABSENT, count, known};

/// The section; empty where there are no examples.
pub(super) fn section(summary: &StudySummary) -> Markup {
    if summary.examples.is_empty() {
        return html! {};
    }
    let body = html! {
        div.examples { "\n"
            @for example in &summary.examples { (figure(summary, example)) }
        } "\n"
        (parameters(summary))
    };
    page::section("examples", "Examples", &body)
}

fn where_it_is(summary: &StudySummary, example: &StudyExample) -> String {
    let mut parts = Vec::new();
    if let Some(set) = example.set {
        parts.push(format!("set {}", count(set)));
    }
    if summary.items.len() > 1 {
        parts.extend(summary.items.get(example.item).map(item_name));
    }
    parts.join(", ")
}

fn figure(summary: &StudySummary, example: &StudyExample) -> Markup {
    let StudyExample { name, images, .. } = example;
    let drawn = html! {
        @for image in images {
            @let words = format!("{} at the {name} parameter set", image.output);
            (page::image(&image.png, (image.width, image.height), &words)) "\n"
        }
    };
    let place = where_it_is(summary, example);
    let outputs: Vec<&str> = images.iter().map(|image| image.output.as_str()).collect();
    let caption = html! {
        strong { (name) } ": " (summary.objective) " " (known(example.value))
        @if let Some(mean) = example.mean { ", " (known(Some(mean))) " on average over all items" }
        @if !place.is_empty() { " " span.quiet { "(" (place) ")" } }
        @if !outputs.is_empty() { (page::LINE_BREAK) span.quiet { "shown: " (outputs.join(", ")) } }
    };
    page::figure(&drawn, caption)
}

/// One column per example, one row per parameter.
fn parameters(summary: &StudySummary) -> Markup {
    let default = |name: &str| -> Option<&str> {
        let example = summary
            .examples
            .iter()
            .find(|example| example.name == "default");
        let given = example.and_then(|example| value(example, name));
        let of_phase = || {
            let mut all = summary.phases.iter().flat_map(|phase| &phase.parameters);
            all.find(|parameter| parameter.name == name)?
                .default
                .as_deref()
        };
        given.or_else(of_phase)
    };
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in summary
        .examples
        .iter()
        .flat_map(|example| &example.parameters)
    {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return html! {};
    }
    let columns = summary
        .examples
        .iter()
        .map(|example| (example.name.as_str(), true));
    let cell = |name: &str, example| {
        let value = value(example, name);
        let differs =
            matches!((value, default(name)), (Some(value), Some(default)) if value != default);
        let text = value.unwrap_or(ABSENT);
        html! {
            @if differs { td.n.differs { strong { (text) } } } @else { td.n { (text) } }
        }
    };
    let rows = html! {
        (heads([("parameter", false)].into_iter().chain(columns)))
        tbody { "\n"
            @for name in names {
                tr {
                    th scope="row" { (name) }
                    @for example in &summary.examples { (cell(name, example)) }
                } "\n"
            }
        } "\n"
    };
    wide_table(
        "Parameters of the examples",
        "The parameters of the examples; bold and shaded where they differ from the default.",
        &rows,
    )
}

fn value<'e>(example: &'e StudyExample, name: &str) -> Option<&'e str> {
    let found = example.parameters.iter().find(|(called, _)| called == name);
    found.map(|(_, value)| value.as_str())
}
