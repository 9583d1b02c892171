//! The report of a study: one page that needs nothing but itself.
//!
//! | file | what |
//! | --- | --- |
//! | `head` | what was asked, the answer, what it took |
//! | `say` | the answer in sentences |
//! | `indices` | what each phase found: tables, and what was left out of them |
//! | `charts` | bars with intervals, and how the objective is spread |
//! | `scatter` | μ* against σ |
//! | `convergence` | how indices settle |
//! | `examples` | parameter sets worth looking at |
//! | `sharing` | what became of the tasks |
//! | `timeline` | when what was running; forecast against fact |
//! | `reading` | notes, failures, what the indices mean |
//! | `labels` | labels that do not cover each other |
//! | `svg` | axes, scales and marks |
//! | `text` | words and numbers |
//! | `style` | the style sheet |
//!
//! Law: the page is a function of the summary. It is well-formed as XML too, runs no script and asks no network for
//! anything. What it says of indices depends on the phases alone.

mod charts;
mod convergence;
mod examples;
mod head;
mod indices;
mod labels;
mod reading;
mod say;
mod scatter;
mod sharing;
mod style;
mod svg;
mod text;
mod timeline;

use super::summary::StudySummary;

/// The report of a study as one HTML file that can be read offline: tables, charts and images stand in the page itself.
///
/// The sections of the phases, from `<section class="indices"`, depend on the phases, the items and the examples alone: a
/// study that is run again has the same.
pub fn study_report_html(summary: &StudySummary) -> String {
    let parts = [
        head::section(summary),
        "<main>\n".to_owned(),
        indices::sections(summary),
        examples::section(summary),
        sharing::section(summary),
        timeline::section(summary),
        reading::notes(summary),
        reading::section(summary),
        "</main>\n".to_owned(),
    ];
    // Even a page that is served asks for nothing: neither its policy nor its empty icon lets it.
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"Headwater\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n<title>{} – study report</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        text::escape(&summary.study),
        style::STYLE,
        parts.concat()
    )
}
