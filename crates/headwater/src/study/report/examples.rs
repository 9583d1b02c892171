//! Parameter sets worth looking at, side by side.
//!
//! Law: images stand in the page itself; what differs from the default is marked by more than a colour.

use super::raw::{escape, heads, wide_table};
use std::fmt::Write;

use super::super::summary::{StudyExample, StudySummary};
use super::indices::item_name;
use crate::page::text::{ABSENT, count, known};

/// The section; empty where there are no examples.
pub(super) fn section(summary: &StudySummary) -> String {
    if summary.examples.is_empty() {
        return String::new();
    }
    let mut page = String::from(
        "<section id=\"examples\" aria-labelledby=\"examples-title\">\n<h2 id=\"examples-title\">Examples</h2>\n<div class=\"examples\">\n",
    );
    for example in &summary.examples {
        page += &figure(summary, example);
    }
    page += "</div>\n";
    page += &parameters(summary);
    page += "</section>\n";
    page
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

fn figure(summary: &StudySummary, example: &StudyExample) -> String {
    let place = where_it_is(summary, example);
    let mut drawn = String::from("<figure>\n");
    for image in &example.images {
        let _ = writeln!(
            drawn,
            "<img src=\"data:image/png;base64,{}\" width=\"{}\" height=\"{}\" alt=\"{} at the {} parameter set\"/>",
            escape(&image.png),
            image.width,
            image.height,
            escape(&image.output),
            escape(&example.name)
        );
    }
    let outputs: Vec<&str> = example
        .images
        .iter()
        .map(|image| image.output.as_str())
        .collect();
    let _ = writeln!(
        drawn,
        "<figcaption><strong>{}</strong>: {} {}{}{}</figcaption>\n</figure>",
        escape(&example.name),
        escape(&summary.objective),
        known(example.value),
        if place.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"quiet\">({})</span>", escape(&place))
        },
        if outputs.is_empty() {
            String::new()
        } else {
            format!(
                "<br/><span class=\"quiet\">shown: {}</span>",
                escape(&outputs.join(", "))
            )
        }
    );
    drawn
}

/// One column per example, one row per parameter.
fn parameters(summary: &StudySummary) -> String {
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
        return String::new();
    }
    let columns = summary
        .examples
        .iter()
        .map(|example| (example.name.as_str(), true));
    let mut rows = heads([("parameter", false)].into_iter().chain(columns)) + "<tbody>\n";
    for name in names {
        let _ = write!(rows, "<tr><th scope=\"row\">{}</th>", escape(name));
        for example in &summary.examples {
            let value = value(example, name);
            let differs =
                matches!((value, default(name)), (Some(value), Some(default)) if value != default);
            let text = escape(value.unwrap_or(ABSENT));
            if differs {
                let _ = write!(rows, "<td class=\"n differs\"><strong>{text}</strong></td>");
            } else {
                let _ = write!(rows, "<td class=\"n\">{text}</td>");
            }
        }
        rows += "</tr>\n";
    }
    rows += "</tbody>\n";
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
