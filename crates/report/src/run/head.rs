//! The head of the page: how the run ended, what it took, what was run.
//!
//! Law: the first sentence says whether everything is there; everything below is there to look into it.

use headwater_graph::text::date;
use headwater_graph::text::shell_quote;
use maud::{Markup, html};

use super::summary::{RunEnd, RunSummary, RunTaskRow};
use crate::page;
use crate::page::text::{count, counted, cut, duration, number};

/// The head.
pub(super) fn section(summary: &RunSummary) -> Markup {
    html! {
        header { "\n"
            p.kind { "Workflow run" } "\n"
            h1 { (summary.workflow) } "\n"
            p.answer { (page::prose(&answer(summary))) } "\n"
            @if summary.end != RunEnd::Done {
                p.warning {
                    "Whatever was finished is kept: "
                    @if summary.end == RunEnd::Stopped { "the same command goes on where this run stopped." }
                    @else { "once the cause is gone, the same command runs only what is missing." }
                } "\n"
            }
            (took(summary))
            (asked(summary))
            (contents(summary))
        } "\n"
    }
}

fn tasks(many: usize) -> String {
    counted(many, "task", "tasks")
}

/// How tasks were done, in words: `12 executed, 6 reused`.
fn ways(summary: &RunSummary) -> String {
    let totals = &summary.totals;
    let ways = [
        (totals.executed, "executed"),
        (totals.reused, "reused"),
        (totals.cut_off, "cut off (same contents as before)"),
    ];
    let said = ways.iter().filter(|(many, _)| *many > 0);
    let said: Vec<String> = said
        .map(|(many, how)| format!("{} {how}", count(*many)))
        .collect();
    said.join(", ")
}

/// The answer in a sentence or two.
fn answer(summary: &RunSummary) -> String {
    let totals = &summary.totals;
    let took = format!(
        "in {} on {}",
        duration(summary.seconds),
        counted(summary.cores, "core", "cores")
    );
    let looked = format!("This check took {}.", duration(summary.seconds));
    if summary.end == RunEnd::Done {
        return match (totals.tasks, totals.executed) {
            (0, _) => "There was nothing to do: this data makes no task.".to_owned(),
            (1, 0) => {
                format!("Nothing had to run: the only task was done in an earlier run. {looked}")
            }
            (all, 0) => format!(
                "Nothing had to run: all {} tasks were done in earlier runs. {looked}",
                count(all)
            ),
            (1, _) => format!("The one task is done, {took}."),
            (all, _) if totals.spared() == 0 => {
                format!("All {} tasks are done, {took}.", count(all))
            }
            (all, _) => format!(
                "All {} tasks are done: {}, {took}.",
                count(all),
                ways(summary)
            ),
        };
    }
    let mut said = Vec::new();
    if totals.failed > 0 {
        let blocked = match totals.blocked {
            0 => String::new(),
            1 => ", and 1 that needs what it would have made could not run".to_owned(),
            many => format!(
                ", and {} that need what it would have made could not run",
                count(many)
            ),
        };
        let blocked = match totals.failed {
            1 => blocked,
            _ => blocked.replace("what it would", "what they would"),
        };
        said.push(format!(
            "{} of {} failed{blocked}.",
            count(totals.failed),
            tasks(totals.tasks)
        ));
    } else if summary.end == RunEnd::Failed {
        let why = summary.errors.first();
        let why = why.map_or(String::new(), |why| format!(": {}", cut(why, 200)));
        said.push(format!("The run failed{why}."));
    }
    let done = match totals.done() {
        0 => "nothing is done".to_owned(),
        many if totals.executed < many => format!("{} done ({})", are(many), ways(summary)),
        many => format!("{} done", are(many)),
    };
    let left = match totals.left() {
        0 => String::new(),
        many => format!(", {} left", are(many)),
    };
    if summary.end == RunEnd::Stopped {
        said.push(format!(
            "The run was stopped after {}: of {} {done}{left}.",
            duration(summary.seconds),
            tasks(totals.tasks)
        ));
    } else {
        let mut done = done;
        if let Some(first) = done.get(..1).map(str::to_uppercase) {
            done.replace_range(..1, &first);
        }
        said.push(format!("{done}{left}, {took}."));
    }
    said.join(" ")
}

fn are(many: usize) -> String {
    format!("{} {}", count(many), if many == 1 { "is" } else { "are" })
}

/// What it took: a few large figures.
fn took(summary: &RunSummary) -> Markup {
    let totals = &summary.totals;
    let rows = &summary.tasks;
    let work: f64 = rows.iter().map(|row| row.seconds).sum();
    let saved: Vec<Option<f64>> = rows.iter().map(RunTaskRow::seconds_saved).collect();
    let least = if saved.iter().all(Option::is_some) {
        ""
    } else {
        "at least "
    };
    let saved: f64 = saved.iter().flatten().sum();
    let mut figures = vec![
        (
            duration(summary.seconds),
            format!("on {}", counted(summary.cores, "core", "cores")),
        ),
        (
            count(totals.executed),
            format!("executed of {}", tasks(totals.tasks)),
        ),
    ];
    if totals.failed > 0 {
        let blocked = match totals.blocked {
            0 => String::new(),
            many => format!(", {} not run because of that", count(many)),
        };
        figures.push((count(totals.failed), format!("failed{blocked}")));
    }
    let spared = totals.spared();
    if saved > 0.0 {
        figures.push((
            duration(saved),
            format!(
                "{least}of processor time saved: {} not run again",
                tasks(spared)
            ),
        ));
    } else if spared > 0 {
        figures.push((count(spared), "reused, not run again".to_owned()));
    }
    let parallel = work / summary.seconds;
    // Four stand in a row. Where starting took longer than working, there is no parallelism to tell of.
    if parallel >= 1.0 && parallel.is_finite() && figures.len() < 4 {
        figures.push((
            format!("{} ×", number(parallel)),
            format!("work ÷ time: {} of work", duration(work)),
        ));
    }
    page::figures(figures)
}

fn asked(summary: &RunSummary) -> Markup {
    let words: Vec<String> = summary
        .command
        .iter()
        .enumerate()
        .map(|(place, word)| match place {
            // How the program was found is no part of what was asked.
            0 => shell_quote(word.rsplit('/').next().unwrap_or(word)),
            _ => shell_quote(word),
        })
        .collect();
    let entries = [
        ("Run", summary.run.clone()),
        ("Begun", date(summary.started)),
        ("Workflow file", summary.file.clone()),
    ];
    html! {
        (page::terms(entries))
        @if !words.is_empty() {
            p.label { "Command" } "\n"
            pre { (cut(&words.join(" "), 1000)) } "\n"
        }
    }
}

/// Which sections there are: place and title.
fn contents(summary: &RunSummary) -> Markup {
    let wrong = summary.failed > 0 || !summary.errors.is_empty();
    let links = [
        (wrong, "failures", "Failures"),
        (!summary.graph.nodes.is_empty(), "graph", "Graph"),
        (true, "timeline", "Timeline"),
        (!summary.slowest.is_empty(), "slowest", "Slowest"),
        (!summary.tasks.is_empty(), "stages", "Tasks by stage"),
        (!summary.outputs.is_empty(), "outputs", "Outputs"),
        (
            !summary.inputs.is_empty() || !summary.parameters.is_empty(),
            "given",
            "Inputs and parameters",
        ),
        (!summary.notes.is_empty(), "notes", "Notes"),
        (true, "further", "How to go on"),
    ];
    let links = links.into_iter().filter(|(here, _, _)| *here);
    page::contents(links.map(|(_, place, words)| (place.to_owned(), words.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_ways_leaves_out_what_did_not_happen() {
        let mut summary = RunSummary::default();
        summary.totals.executed = 12_000;
        summary.totals.cut_off = 1;
        assert_eq!(
            ways(&summary),
            "12\u{202f}000 executed, 1 cut off (same contents as before)"
        );
    }
}
