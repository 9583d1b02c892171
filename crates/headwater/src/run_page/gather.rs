//! The summary of a run, from what its tasks came to.
//!
//! Law: linear in the tasks, but for sorting executions by time; no text is made for a task that is not shown. Times
//! that were not measured are not made up.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use headwater_draw::{Diagram, NodeKind, workflow_diagram};
use headwater_enact::Enactment;
use headwater_engine::deliver::{Delivered, OutputItem};
use headwater_engine::listener::{Heard, Ran, address_of, fate};
use headwater_graph::text::cut;
use headwater_graph::{Outcome, Recipe, TaskId, Workflow, named};
use headwater_report::run::lanes::{self, Span};
use headwater_report::run::{
    RunBar, RunEnd, RunExecution, RunFailure, RunOutput, RunOutputItem, RunSummary, RunTaskRow,
    RunTimeline,
};

use crate::plan::Prepared;
use crate::{RunReport, RunRequest};

/// So many failures are told in full.
pub(crate) const FAILURES: usize = 20;
/// So many of the longest executions are listed.
const SLOWEST: usize = 15;
/// So many items of an output are listed.
const OUTPUTS: usize = 50;
/// Longer values are cut.
const LONGEST: usize = 200;
/// So many notes, and errors.
const NOTES: usize = 100;

/// The summary of a run that has ended.
pub(crate) fn summary(
    prepared: &Prepared,
    request: &RunRequest,
    report: &RunReport,
    heard: &Heard,
    started: i64,
) -> RunSummary {
    let enactment = &prepared.enactment;
    let mut rows = Rows::of(&prepared.loaded.workflow, enactment);
    let ran = &heard.ran;
    ran.iter().for_each(|ran| rows.add(enactment, ran));
    rows.look_up(prepared);
    RunSummary {
        run: report.run.clone(),
        workflow: report.workflow.to_string(),
        file: prepared.file().display().to_string(),
        command: request.command.clone(),
        started,
        seconds: report.seconds,
        cores: prepared.cores,
        end: if report.stopped {
            RunEnd::Stopped
        } else if report.succeeded() {
            RunEnd::Done
        } else {
            RunEnd::Failed
        },
        totals: report.counts,
        graph: rows.graph(&prepared.loaded.workflow),
        timeline: rows.timeline(enactment, ran),
        slowest: slowest(enactment, ran),
        failures: report
            .failures
            .iter()
            .take(FAILURES)
            .map(RunFailure::of)
            .collect(),
        failed: report.failures.len(),
        errors: bounded(&report.errors),
        notes: bounded(&report.notes),
        outputs: report
            .outputs
            .iter()
            .map(|(name, items)| output(name, items, &report.folder))
            .collect(),
        inputs: prepared.given.inputs.clone(),
        parameters: prepared.given.parameters.clone(),
        links: Some(String::new()),
        tasks: rows.rows,
    }
}

fn bounded(lines: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = lines.iter().take(NOTES).cloned().collect();
    if lines.len() > NOTES {
        kept.push(format!("… and {} more", lines.len() - NOTES));
    }
    kept
}

/// The definitions of the tasks, and what became of those.
struct Rows {
    rows: Vec<RunTaskRow>,
    /// By stage and name: the row of a task.
    places: Vec<HashMap<Arc<str>, usize>>,
    /// Tasks that need not run: the row, and the product that stands for each.
    spared: Vec<(usize, Recipe)>,
}

impl Rows {
    fn of(workflow: &Workflow, enactment: &Enactment) -> Rows {
        let mut found = Rows {
            rows: Vec::new(),
            places: Vec::new(),
            spared: Vec::new(),
        };
        for stage in &workflow.stages {
            let names = stage.tasks.iter().map(|task| Arc::clone(&task.name));
            found.places.push(names.zip(found.rows.len()..).collect());
            found.rows.extend(stage.tasks.iter().map(|task| RunTaskRow {
                stage: stage.name.to_string(),
                task: task.name.to_string(),
                ..RunTaskRow::default()
            }));
        }
        for task in enactment.graph().ids() {
            let Some(place) = found.place(enactment, task) else {
                continue;
            };
            let signature = &enactment.graph().operation_at(task).signature;
            let row = &mut found.rows[place];
            if signature.implicit {
                row.helper = true;
                continue;
            }
            let fate = fate(enactment, task);
            if matches!(fate, Some(Outcome::Reused | Outcome::CutOff)) {
                found.spared.push((place, enactment.stored_as(task)));
            }
            match fate {
                Some(outcome) => row.tally.count(outcome),
                // It was not reached.
                None => row.tally.tasks += 1,
            }
        }
        found
    }

    /// The row of a task; helpers have none.
    fn place(&self, enactment: &Enactment, task: TaskId) -> Option<usize> {
        let (stage, name) = enactment.definition(task)?;
        self.places.get(stage)?.get(name).copied()
    }

    fn add(&mut self, enactment: &Enactment, ran: &Ran) {
        let Some(place) = self.place(enactment, ran.task) else {
            return;
        };
        let row = &mut self.rows[place];
        row.seconds += seconds(ran.wall);
        row.cpu_seconds += seconds(ran.cpu);
        row.longest = row.longest.max(seconds(ran.wall));
        row.peak_memory = row.peak_memory.max(known(ran.peak));
    }

    /// What those took when they were made that need not run is looked up.
    fn look_up(&mut self, prepared: &Prepared) {
        let recipes: Vec<Recipe> = self.spared.iter().map(|(_, product)| *product).collect();
        // A report does not fail for want of a figure.
        let times = prepared.store.times(&recipes).unwrap_or_default();
        let mut saved = vec![Some(0.0); self.rows.len()];
        let known = times.into_iter().chain(std::iter::repeat(None));
        for ((place, _), times) in self.spared.iter().zip(known) {
            let one = times.map(|times| seconds(times.cpu));
            saved[*place] = saved[*place].zip(one).map(|(sum, one)| sum + one);
        }
        for (row, saved) in self.rows.iter_mut().zip(saved) {
            row.saved_seconds = saved;
        }
    }

    /// The workflow, with what became of its tasks.
    fn graph(&self, workflow: &Workflow) -> Diagram {
        let mut diagram = workflow_diagram(workflow, &[]);
        let rows: HashMap<String, &RunTaskRow> =
            self.rows.iter().map(|row| (row.name(), row)).collect();
        for node in &mut diagram.nodes {
            let row = node.address.as_ref().and_then(|address| rows.get(address));
            let is_counted = |row: &&&RunTaskRow| node.kind == NodeKind::Task && !row.helper;
            let Some(row) = row.filter(is_counted) else {
                continue;
            };
            node.seconds = (row.seconds > 0.0).then_some(row.seconds);
            node.stand_for(row.tally);
        }
        diagram
    }

    fn timeline(&self, enactment: &Enactment, ran: &[Ran]) -> RunTimeline {
        let helpers = self.rows.len() as u32;
        let spans = ran.iter().zip(0..).map(|(ran, number)| Span {
            start: ran.started,
            wall: ran.wall,
            row: self
                .place(enactment, ran.task)
                .map_or(helpers, |place| place as u32),
            well: ran.state.is_well(),
            number,
        });
        let (bars, lanes, end) = lanes::bars(spans.collect());
        let bar = |bar: lanes::Bar| RunBar {
            lane: bar.lane as usize,
            row: bar.row as usize,
            start: seconds(bar.start),
            end: seconds(bar.end),
            seconds: seconds(bar.busy),
            executions: bar.executions,
            mixed: bar.mixed,
            failed: bar.failed,
            address: (bar.executions == 1).then(|| {
                let ran = ran[bar.number as usize];
                cut(&address_of(enactment, ran.task), LONGEST)
            }),
        };
        RunTimeline {
            seconds: seconds(end),
            lanes,
            executions: ran.len(),
            bars: bars.into_iter().map(bar).collect(),
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn known(bytes: u64) -> Option<u64> {
    (bytes > 0).then_some(bytes)
}

/// The executions that took longest; of equal ones those that began first.
fn slowest(enactment: &Enactment, ran: &[Ran]) -> Vec<RunExecution> {
    let order = |ran: &&Ran| (std::cmp::Reverse(ran.wall), ran.started, ran.task);
    let mut longest: Vec<&Ran> = ran.iter().collect();
    if longest.len() > SLOWEST {
        longest.select_nth_unstable_by_key(SLOWEST, order);
        longest.truncate(SLOWEST);
    }
    longest.sort_unstable_by_key(order);
    let execution = |ran: &&Ran| RunExecution {
        address: address_of(enactment, ran.task),
        state: ran.state.name().to_owned(),
        start: seconds(ran.started),
        seconds: seconds(ran.wall),
        cpu_seconds: seconds(ran.cpu),
        peak_memory: known(ran.peak),
    };
    longest.iter().map(execution).collect()
}

fn output(name: &str, items: &[OutputItem], folder: &Path) -> RunOutput {
    let shown = |item: &OutputItem| {
        let index = item.index.to_string();
        let (from, missing) = (named(&item.values), item.missing);
        match &item.what {
            Delivered::Path(path) => {
                let inside = path.strip_prefix(folder).ok();
                RunOutputItem {
                    index,
                    path: Some(inside.unwrap_or(path).display().to_string()),
                    link: inside.map(link),
                    value: None,
                    from,
                    missing,
                }
            }
            Delivered::Value(value) => {
                let text = value.as_scalar().map(|scalar| scalar.to_string());
                RunOutputItem {
                    index,
                    value: Some(cut(&text.unwrap_or("nothing".to_owned()), LONGEST)),
                    from,
                    missing,
                    ..RunOutputItem::default()
                }
            }
        }
    };
    RunOutput {
        name: name.to_owned(),
        items: items.len(),
        shown: items.iter().take(OUTPUTS).map(shown).collect(),
    }
}

/// A path as a link: every byte that may mean something in one stands as its number.
pub(super) fn link(path: &Path) -> String {
    let mut link = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                link.push(char::from(*byte));
            }
            other => link.push_str(&format!("%{other:02X}")),
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_path_and_nothing_else() {
        assert_eq!(link(Path::new("a b/c.txt")), "a%20b/c.txt");
        assert_eq!(
            link(Path::new("javascript:alert(1)#?<é>")),
            "javascript%3Aalert%281%29%23%3F%3C%C3%A9%3E"
        );
    }
}
