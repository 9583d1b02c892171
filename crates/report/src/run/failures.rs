//! What failed.
//!
//! Law: of each failure all that is needed to look into it; of a flood of them the first ones, and where the rest is.

use maud::{Markup, html};

use super::summary::{RunFailure, RunSummary};
use crate::page;
use crate::page::text::{count, counted};

/// The section; empty where nothing failed.
pub(super) fn section(summary: &RunSummary) -> Markup {
    if summary.failed == 0 && summary.errors.is_empty() {
        return html! {};
    }
    let more = summary.failed.saturating_sub(summary.failures.len());
    let body = html! {
        @for error in &summary.errors { p.warning { (page::prose(error)) } "\n" }
        @for failure in &summary.failures { (one(failure)) }
        @if more > 0 {
            p { "These are the first " (count(summary.failures.len())) "; "
                (counted(more, "more failure is", "more failures are")) " in " (all(summary)) "." } "\n"
        } @else if summary.failed > 0 {
            p.quiet { "The same stands in " (all(summary)) "." } "\n"
        }
    };
    page::section("failures", "Failures", &body)
}

fn all(summary: &RunSummary) -> Markup {
    html! {
        @match &summary.links {
            Some(prefix) => { a href={ (prefix) "failures.txt" } { "failures.txt" } },
            None => { code { "failures.txt" } },
        }
    }
}

fn one(failure: &RunFailure) -> Markup {
    let mut entries = Vec::new();
    if let Some(from) = &failure.from {
        entries.push(("Made from", from.clone()));
    }
    if failure.attempts > 1 {
        entries.push(("Tried", counted(failure.attempts as usize, "time", "times")));
    }
    if failure.blocked > 0 {
        entries.push((
            "Could not run because of it",
            counted(failure.blocked, "task", "tasks"),
        ));
    }
    html! {
        article.failure { "\n"
            h3 { code { (failure.address) } } "\n"
            p.message { (page::prose(&failure.message)) } "\n"
            @if !entries.is_empty() { (page::terms(entries)) }
            @if let Some(command) = &failure.command {
                (said("Command", command))
            }
            @if failure.stderr.is_empty() {
                p.quiet { "It wrote nothing to standard error." } "\n"
            } @else {
                (said("The end of what it said", &failure.stderr))
            }
            @match (&failure.again, &failure.folder) {
                (Some(again), _) => { (said("Run it again alone, in its folder", again)) }
                (None, Some(folder)) => { (said("Its folder", folder)) }
                (None, None) => {}
            }
        } "\n"
    }
}

fn said(what: &str, text: &str) -> Markup {
    html! {
        p.label { (what) } "\n"
        pre { (text) } "\n"
    }
}
