//! Summaries of runs that never were, of the kinds that a page has to cope with.
//!
//! Law: they are the same each time.

use headwater_draw::{
    Diagram, DiagramEdge, DiagramEnd, DiagramGroup, DiagramNode, EdgeKind, NodeKind,
};

use headwater_graph::Tally;
use headwater_report::run::{
    RunBar, RunEnd, RunExecution, RunFailure, RunInput, RunOutput, RunOutputItem, RunParameter,
    RunSummary, RunTaskRow, RunTimeline,
};

/// A name that tries to leave its place.
pub(crate) const HOSTILE: &str = "<script>alert(\"1\")</script>&'\u{1}</pre>";

fn row(stage: &str, task: &str, executed: usize, reused: usize) -> RunTaskRow {
    RunTaskRow {
        stage: stage.to_owned(),
        task: task.to_owned(),
        tally: Tally {
            tasks: executed + reused,
            executed,
            reused,
            ..Tally::default()
        },
        seconds: executed as f64 * 0.25,
        cpu_seconds: executed as f64 * 0.2,
        longest: if executed > 0 { 0.5 } else { 0.0 },
        peak_memory: (executed > 0).then_some(18_400_000),
        saved_seconds: Some(reused as f64 * 0.2),
        ..RunTaskRow::default()
    }
}

fn totals(rows: &[RunTaskRow]) -> Tally {
    rows.iter().map(|row| row.tally).sum()
}

fn graph(rows: &[RunTaskRow]) -> Diagram {
    let node = |(group, row): (usize, &RunTaskRow)| {
        let mut node = DiagramNode {
            kind: NodeKind::Task,
            label: row.task.clone(),
            group: Some(group),
            address: Some(row.name()),
            ..DiagramNode::default()
        };
        node.stand_for(row.tally);
        node
    };
    let edge = |from: usize| DiagramEdge {
        from: DiagramEnd::Node(from),
        to: DiagramEnd::Node(from + 1),
        kind: EdgeKind::Data,
        names: vec!["data".to_owned()],
        optional: false,
        count: None,
    };
    Diagram {
        title: "made up".to_owned(),
        groups: rows
            .iter()
            .map(|row| DiagramGroup {
                name: row.stage.clone(),
                words: Vec::new(),
            })
            .collect(),
        nodes: rows.iter().enumerate().map(node).collect(),
        edges: (0..rows.len().saturating_sub(1)).map(edge).collect(),
        notes: Vec::new(),
    }
}

/// A bar for every execution, in so many lanes.
fn timeline(rows: &[RunTaskRow], lanes: usize) -> RunTimeline {
    let mut bars = Vec::new();
    let mut number = 0;
    for (place, row) in rows.iter().enumerate() {
        for _ in 0..row.tally.executed + row.tally.failed {
            let start = (number / lanes) as f64 * 0.25;
            bars.push(RunBar {
                lane: number % lanes,
                row: place,
                start,
                end: start + 0.2,
                seconds: 0.2,
                executions: 1,
                mixed: false,
                failed: 0,
                address: Some(format!("{}[{number}]", row.name())),
            });
            number += 1;
        }
    }
    RunTimeline {
        seconds: bars.iter().map(|bar| bar.end).fold(0.0, f64::max),
        lanes: lanes.min(bars.len()),
        executions: bars.len(),
        bars,
    }
}

fn of(rows: Vec<RunTaskRow>) -> RunSummary {
    let timeline = timeline(&rows, 2);
    let slowest = timeline.bars.iter().take(15).map(|bar| RunExecution {
        address: bar.address.clone().unwrap_or_default(),
        state: "executed".to_owned(),
        start: bar.start,
        seconds: bar.seconds,
        cpu_seconds: 0.1,
        peak_memory: Some(4_600_000),
    });
    RunSummary {
        run: "20261116-083000-1a2b".to_owned(),
        workflow: "sheet".to_owned(),
        file: "sheet.yaml".to_owned(),
        command: ["/usr/bin/headwater", "run", "sheet.yaml", "--set", "a=b c"]
            .map(str::to_owned)
            .to_vec(),
        started: 1_795_000_000,
        seconds: 3.2,
        cores: 2,
        end: RunEnd::Done,
        totals: totals(&rows),
        graph: graph(&rows),
        slowest: slowest.collect(),
        timeline,
        tasks: rows,
        outputs: vec![
            RunOutput {
                name: "picture".to_owned(),
                items: 120,
                shown: (0..50)
                    .map(|number| RunOutputItem {
                        index: number.to_string(),
                        path: Some(format!("picture/{number}.png")),
                        link: Some(format!("picture/{number}.png")),
                        from: Some("image=in/a.png".to_owned()),
                        ..RunOutputItem::default()
                    })
                    .collect(),
            },
            RunOutput {
                name: "score".to_owned(),
                items: 1,
                shown: vec![RunOutputItem {
                    value: Some("0.75".to_owned()),
                    ..RunOutputItem::default()
                }],
            },
        ],
        inputs: vec![RunInput {
            name: "image".to_owned(),
            items: 6,
            shown: vec!["in/a.png".to_owned(), "in/b.png".to_owned()],
        }],
        parameters: vec![RunParameter {
            name: "size".to_owned(),
            value: "64".to_owned(),
            from: "--set".to_owned(),
        }],
        links: Some(String::new()),
        ..RunSummary::default()
    }
}

/// Some tasks ran, some were reused.
pub(crate) fn done() -> RunSummary {
    of(vec![
        row("thumbnails", "shrink", 6, 0),
        row("sheet", "join", 6, 6),
    ])
}

/// Everything ran.
pub(crate) fn fresh() -> RunSummary {
    of(vec![
        row("thumbnails", "shrink", 6, 0),
        row("sheet", "join", 1, 0),
    ])
}

/// Nothing had to run.
pub(crate) fn reused() -> RunSummary {
    let mut unknown = row("sheet", "join", 0, 1);
    unknown.saved_seconds = None;
    of(vec![row("thumbnails", "shrink", 0, 6), unknown])
}

/// There was nothing to do.
pub(crate) fn nothing() -> RunSummary {
    RunSummary {
        run: "20261116-083000-0000".to_owned(),
        workflow: "empty".to_owned(),
        cores: 1,
        ..RunSummary::default()
    }
}

fn failure(number: usize) -> RunFailure {
    RunFailure {
        address: format!("thumbnails.shrink[{number}]"),
        message: "ended with exit code 3".to_owned(),
        command: Some("convert in.png out.png".to_owned()),
        attempts: 2,
        blocked: 1,
        stderr: format!("cannot read picture {number}"),
        folder: Some("/tmp/work/3".to_owned()),
        again: Some("sh /tmp/work/3/.again.sh".to_owned()),
        from: Some("sample=w07".to_owned()),
    }
}

/// Some tasks failed; more than are told in full.
pub(crate) fn failed() -> RunSummary {
    let mut shrink = row("thumbnails", "shrink", 6, 0);
    (shrink.tally.failed, shrink.tally.tasks) = (25, 31);
    let mut join = row("sheet", "join", 0, 0);
    (join.tally.blocked, join.tally.tasks) = (25, 25);
    let mut summary = of(vec![shrink, join]);
    for bar in summary.timeline.bars.iter_mut().take(3) {
        bar.failed = 1;
    }
    RunSummary {
        end: RunEnd::Failed,
        failures: (0..20).map(failure).collect(),
        failed: 25,
        errors: vec!["stage `sheet`: a list that it needs did not come".to_owned()],
        notes: vec!["damaged in the store: one object".to_owned()],
        ..summary
    }
}

/// Something went wrong that is no task.
pub(crate) fn broken() -> RunSummary {
    RunSummary {
        end: RunEnd::Failed,
        errors: vec!["cannot write `x`: no space left on device".to_owned()],
        ..fresh()
    }
}

/// It was stopped.
pub(crate) fn stopped() -> RunSummary {
    let mut shrink = row("thumbnails", "shrink", 6, 2);
    shrink.tally.tasks = 20;
    RunSummary {
        end: RunEnd::Stopped,
        ..of(vec![shrink])
    }
}

/// A large run on many cores: bars stand for several executions.
pub(crate) fn huge() -> RunSummary {
    let rows: Vec<RunTaskRow> = (0..12)
        .map(|task| row("stage", &format!("task-{task}"), 100_000, 3))
        .collect();
    let bars = (0..2900).map(|number| RunBar {
        lane: number % 64,
        row: number % 12,
        start: (number / 64) as f64 * 100.0,
        end: (number / 64) as f64 * 100.0 + 90.0,
        seconds: 80.0,
        executions: 400,
        mixed: number % 2 == 0,
        failed: usize::from(number % 100 == 0),
        address: None,
    });
    let mut small = rows.clone();
    small.iter_mut().for_each(|row| row.tally.executed = 1);
    RunSummary {
        totals: totals(&rows),
        tasks: rows,
        timeline: RunTimeline {
            seconds: 4600.0,
            lanes: 64,
            executions: 1_200_000,
            bars: bars.collect(),
        },
        seconds: 4700.0,
        cores: 64,
        ..of(small)
    }
}

/// Every text tries to leave its place.
pub(crate) fn hostile() -> RunSummary {
    let text = || HOSTILE.to_owned();
    let mut summary = failed();
    for row in &mut summary.tasks {
        (row.stage, row.task) = (text(), text());
    }
    for node in &mut summary.graph.nodes {
        (node.label, node.address) = (text(), Some(text()));
    }
    for group in &mut summary.graph.groups {
        group.name = text();
    }
    for bar in &mut summary.timeline.bars {
        bar.address = Some(text());
    }
    for execution in &mut summary.slowest {
        (execution.address, execution.state) = (text(), text());
    }
    for failure in &mut summary.failures {
        (failure.address, failure.message, failure.stderr) = (text(), text(), text());
        failure.command = Some(text());
        failure.folder = Some(text());
        failure.again = (failure.attempts == 1).then(text);
    }
    for output in &mut summary.outputs {
        output.name = text();
        for item in &mut output.shown {
            item.index = text();
            item.path = item.path.as_ref().map(|_| text());
            item.link = item.link.as_ref().map(|_| "%3Cscript%3E".to_owned());
            item.value = item.value.as_ref().map(|_| text());
        }
    }
    summary.inputs = vec![RunInput {
        name: text(),
        items: 1,
        shown: vec![text()],
    }];
    summary.parameters = vec![RunParameter {
        name: text(),
        value: text(),
        from: text(),
    }];
    RunSummary {
        run: text(),
        workflow: text(),
        file: text(),
        command: vec![text(), text()],
        errors: vec![text()],
        notes: vec![text()],
        ..summary
    }
}

/// Parts that do not fit each other, as only a damaged file has them.
pub(crate) fn unfit() -> RunSummary {
    let mut summary = failed();
    for (number, bar) in summary.timeline.bars.iter_mut().enumerate() {
        bar.row += 90;
        bar.lane += number * 7;
        bar.start = f64::NAN;
        bar.end = f64::INFINITY;
        bar.seconds = f64::NAN;
    }
    summary.timeline.lanes = 0;
    summary.totals = Tally::default();
    summary.totals.failed = 7;
    summary.cores = 0;
    summary.seconds = f64::NAN;
    summary.failures.clear();
    summary
}

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, RunSummary)> {
    vec![
        ("done", done()),
        ("fresh", fresh()),
        ("reused", reused()),
        ("nothing", nothing()),
        ("failed", failed()),
        ("broken", broken()),
        ("stopped", stopped()),
        ("huge", huge()),
        ("hostile", hostile()),
        ("unfit", unfit()),
    ]
}
