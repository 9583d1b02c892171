//! `headwater runs`.
//!
//! Law: what is shown of a run fits a screen or two, however many tasks it has, unless all of them are asked for.

use std::path::PathBuf;
use std::process::ExitCode;

use headwater::{
    Error, RunOverview, RunRecord, RunStatus, RunTask, StageOverview, StorePlace, TaskState,
};
use serde_json::json;

use crate::arguments::{Common, RunsCommand};
use crate::{explain, run, show};

pub(crate) fn runs(command: &RunsCommand, common: &Common) -> Result<ExitCode, Error> {
    let place = StorePlace {
        read_only: true,
        ..run::place(common)
    };
    let store = headwater::open_store(&place, &run::current_folder()?)?;
    show::damage(&store);
    match command {
        RunsCommand::Ls { limit } => list(&store.runs(*limit)?, common.json),
        RunsCommand::Show { run, tasks: all } => {
            let run = headwater::find_run(&store, run)?;
            let tasks = store.run_tasks(&run.id)?;
            let found = headwater::overview(&store, &run, &tasks, SLOWEST);
            if common.json {
                show::line(&as_json(&run, &tasks, &found).to_string());
            } else if *all {
                head(&run, &found).iter().for_each(|line| show::line(line));
                list_tasks(&tasks);
            } else {
                let lines = at_a_glance(&run, &tasks, &found);
                lines.iter().for_each(|line| show::line(line));
            }
        }
        RunsCommand::Report { run, output } => {
            let found = headwater::find_run(&store, run)?;
            let current = run::current_folder()?;
            let path = headwater::report_run(&store, &found, output.as_deref(), &current)?;
            if common.json {
                show::line(&json!({"run": found.id, "report": path}).to_string());
            } else {
                let path = path.strip_prefix(&current).unwrap_or(&path);
                let (id, path) = (&found.id, path.display());
                show::line(&format!("report of run {id}: {path}"));
            }
        }
        RunsCommand::Diff { first, second } => {
            let difference = headwater::diff_runs(&store, first, second)?;
            explain::difference(&difference, common.json);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(run: &RunRecord) -> serde_json::Value {
    json!({
        "run": run.id,
        "workflow": run.workflow,
        "file": run.file,
        "status": run.status.to_string(),
        "started": run.started,
        "ended": run.ended,
        "tasks": run.tasks,
        "executed": run.executed,
        "reused": run.reused,
        "failed": run.failed,
        "outputs": run.outputs,
        "command": run.command,
    })
}

fn list(runs: &[RunRecord], as_json: bool) {
    if as_json {
        let list: Vec<serde_json::Value> = runs.iter().map(describe).collect();
        show::line(&json!({ "runs": list }).to_string());
        return;
    }
    if runs.is_empty() {
        show::talk("no runs yet");
        return;
    }
    let width = runs
        .iter()
        .map(|run| run.workflow.chars().count())
        .max()
        .unwrap_or(0)
        .max(8);
    show::line(&format!(
        "{:20} {:width$} {:11} {:>8} {:>8} {:>8} {:>8}",
        "run", "workflow", "status", "tasks", "executed", "reused", "failed"
    ));
    for run in runs {
        show::line(&format!(
            "{:20} {:width$} {:11} {:>8} {:>8} {:>8} {:>8}",
            run.id, run.workflow, run.status, run.tasks, run.executed, run.reused, run.failed
        ));
    }
}

/// How many of the slowest tasks are shown.
const SLOWEST: usize = 10;
/// How many failures are shown in full.
const FAILURES: usize = 5;
/// How many lines of one failure are shown.
const FAILURE_LINES: usize = 12;

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn as_json(run: &RunRecord, tasks: &[RunTask], found: &RunOverview) -> serde_json::Value {
    let task = |task: &RunTask| {
        json!({
            "task": task.address,
            "state": task.state.to_string(),
            "recipe": task.recipe.hex(),
            "start": seconds(task.started),
            "seconds": seconds(task.wall),
        })
    };
    let stage = |stage: &StageOverview| {
        json!({
            "stage": stage.name,
            "tasks": stage.tasks,
            "executed": stage.executed,
            "reused": stage.reused,
            "cut_off": stage.cut_off,
            "failed": stage.failed,
            "blocked": stage.blocked,
            "task_seconds": seconds(stage.spent),
        })
    };
    let files: serde_json::Map<String, serde_json::Value> = found
        .files
        .iter()
        .map(|(what, path)| ((*what).to_owned(), json!(path)))
        .collect();
    let mut object = describe(run);
    object["seconds"] = json!(found.last_end.map(seconds));
    object["stages"] = found.stages.iter().map(stage).collect();
    let slowest = found.slowest.iter().map(|place| task(&tasks[*place]));
    object["slowest"] = slowest.collect();
    object["failures"] = json!(found.failures);
    object["files"] = json!(files);
    object["task_list"] = tasks.iter().map(task).collect();
    object
}

/// A run at a glance.
fn at_a_glance(run: &RunRecord, tasks: &[RunTask], found: &RunOverview) -> Vec<String> {
    let mut lines = head(run, found);
    if tasks.is_empty() {
        let why = match run.status {
            RunStatus::Running => "what became of its tasks is known when it has ended",
            RunStatus::Interrupted => {
                "its process ended without a word: what it finished is remembered, and the same command continues it"
            }
            _ => "what became of its tasks is not recorded",
        };
        lines.extend([String::new(), why.to_owned()]);
    }
    lines.extend(stages(found));
    lines.extend(slowest(tasks, found));
    lines.extend(failures(run, tasks, found));
    let path = |(what, path): &(&str, PathBuf)| vec![(*what).to_owned(), show::path(path)];
    let rows: Vec<Vec<String>> = found.files.iter().map(path).collect();
    if !rows.is_empty() {
        lines.push(String::new());
        lines.extend(show::columns(&rows, &[]));
    }
    lines
}

fn head(run: &RunRecord, found: &RunOverview) -> Vec<String> {
    let mut rows = vec![
        ["run", &run.id].map(str::to_owned),
        [
            "workflow".to_owned(),
            match run.file.as_os_str().is_empty() {
                true => run.workflow.clone(),
                false => format!("{} ({})", run.workflow, run.file.display()),
            },
        ],
        ["status".to_owned(), run.status.to_string()],
        ["started".to_owned(), headwater::date(run.started)],
    ];
    if let Some(ended) = run.ended {
        // The tasks know better than the clock of the record, which counts whole seconds.
        let took = match found.last_end {
            Some(last) => seconds(last),
            None => ended.saturating_sub(run.started).max(0) as f64,
        };
        let took = show::duration(took);
        rows.push([
            "ended".to_owned(),
            format!("{}, after {took}", headwater::date(ended)),
        ]);
    }
    let number = |number: u64| show::grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let mut counts = number(run.tasks);
    if run.ended.is_some() {
        counts.push_str(&format!(
            ": {} executed, {} reused, {} failed",
            number(run.executed),
            number(run.reused),
            number(run.failed)
        ));
        let blocked: usize = found.stages.iter().map(|stage| stage.blocked).sum();
        if blocked > 0 {
            counts.push_str(&format!(
                ", {} not run because of that",
                show::grouped(blocked)
            ));
        }
    }
    rows.push(["tasks".to_owned(), counts]);
    if !run.outputs.as_os_str().is_empty() {
        let gone = if run.outputs.exists() { "" } else { " (gone)" };
        rows.push([
            "outputs".to_owned(),
            format!("{}{gone}", show::path(&run.outputs)),
        ]);
    }
    rows.push(["command".to_owned(), run.command.join(" ")]);
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.to_vec()).collect();
    show::columns(&rows, &[])
}

fn stages(found: &RunOverview) -> Vec<String> {
    if found.stages.is_empty() {
        return Vec::new();
    }
    let header = [
        "stage",
        "tasks",
        "executed",
        "reused",
        "cut off",
        "failed",
        "blocked",
        "task time",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for stage in &found.stages {
        rows.push(vec![
            stage.name.clone(),
            show::grouped(stage.tasks),
            show::grouped(stage.executed),
            show::grouped(stage.reused),
            show::grouped(stage.cut_off),
            show::grouped(stage.failed),
            show::grouped(stage.blocked),
            show::duration(seconds(stage.spent)),
        ]);
    }
    // Columns that say nothing in most runs.
    let sum = |of: fn(&StageOverview) -> usize| found.stages.iter().map(of).sum::<usize>();
    let empty = [
        (6, sum(|stage| stage.blocked)),
        (5, sum(|stage| stage.failed)),
        (4, sum(|stage| stage.cut_off)),
    ];
    for (column, _) in empty.iter().filter(|(_, sum)| *sum == 0) {
        rows.iter_mut().for_each(|row| drop(row.remove(*column)));
    }
    let mut lines = vec![String::new()];
    lines.extend(show::columns(&rows, &[1, 2, 3, 4, 5, 6, 7]));
    lines
}

fn slowest(tasks: &[RunTask], found: &RunOverview) -> Vec<String> {
    // One alone is in the table above.
    if found.slowest.len() < 2 {
        return Vec::new();
    }
    let row = |place: &usize| {
        let task = &tasks[*place];
        vec![
            show::duration(seconds(task.wall)),
            show::duration(seconds(task.started)),
            task.address.clone(),
        ]
    };
    let header = ["took", "start", "slowest tasks"]
        .map(str::to_owned)
        .to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(header)
        .chain(found.slowest.iter().map(row))
        .collect();
    let mut lines = vec![String::new()];
    lines.extend(show::columns(&rows, &[0, 1]));
    lines
}

fn failures(run: &RunRecord, tasks: &[RunTask], found: &RunOverview) -> Vec<String> {
    let mut lines = vec![String::new()];
    let all = match found.failures.is_empty() {
        false => found.failures.len(),
        true => tasks
            .iter()
            .filter(|task| task.state == TaskState::Failed)
            .count(),
    };
    if all == 0 {
        return Vec::new();
    }
    for failure in found.failures.iter().take(FAILURES) {
        let all: Vec<&str> = failure.lines().collect();
        let shown = all.iter().take(FAILURE_LINES);
        lines.push(format!("failed: {}", all[0]));
        lines.extend(shown.skip(1).map(|line| show::shortened(line, 400)));
        if all.len() > FAILURE_LINES {
            lines.push("    …".to_owned());
        }
    }
    if found.failures.is_empty() {
        let failed = tasks.iter().filter(|task| task.state == TaskState::Failed);
        lines.extend(
            failed
                .take(FAILURES)
                .map(|task| format!("failed: task `{}`", task.address)),
        );
    }
    if all > FAILURES {
        let more = show::count(all - FAILURES, "more failure");
        let place = match found.failures.is_empty() {
            true => format!("`headwater runs show {} --tasks`", run.id),
            false => show::path(&run.outputs.join("failures.txt")),
        };
        lines.push(format!("… and {more}; all of them: {place}"));
    }
    let told = found
        .failures
        .iter()
        .any(|failure| failure.contains("\n  folder:  "));
    if told && !found.files.iter().any(|(what, _)| *what == "work") {
        lines.push(
            "the folders of these tasks are gone: those of the last runs are kept".to_owned(),
        );
    }
    lines
}

/// What became of every task.
fn list_tasks(tasks: &[RunTask]) {
    let (ran, rest): (Vec<&RunTask>, Vec<&RunTask>) = tasks
        .iter()
        .partition(|task| task.state != TaskState::Reused);
    show::line("");
    show::line(&format!(
        "{:>10} {:>10}  {:9} task",
        "start", "took", "state"
    ));
    for task in ran.into_iter().chain(rest) {
        let (start, took) = match task.state {
            TaskState::Blocked | TaskState::CutOff | TaskState::Reused => {
                (String::new(), String::new())
            }
            _ => (
                show::duration(seconds(task.started)),
                show::duration(seconds(task.wall)),
            ),
        };
        show::line(&format!(
            "{start:>10} {took:>10}  {:9} {}",
            task.state, task.address
        ));
    }
}
