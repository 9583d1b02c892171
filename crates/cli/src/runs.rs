//! `headwater runs`.

use std::process::ExitCode;

use headwater::{Error, RunRecord, RunTask, StorePlace, TaskState};
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
        RunsCommand::Show { run } => {
            let found = headwater::find_run(&store, run)?;
            let tasks = store.run_tasks(&found.id)?;
            one(&found, &tasks, common.json);
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

fn one(run: &RunRecord, tasks: &[RunTask], as_json: bool) {
    if as_json {
        let list: Vec<serde_json::Value> = tasks
            .iter()
            .map(|task| {
                json!({
                    "task": task.address,
                    "state": task.state.to_string(),
                    "recipe": task.recipe.hex(),
                    "start": task.started as f64 / 1e9,
                    "seconds": task.wall as f64 / 1e9,
                })
            })
            .collect();
        let mut object = describe(run);
        object["task_list"] = json!(list);
        show::line(&object.to_string());
        return;
    }
    show::line(&format!("run       {}", run.id));
    show::line(&format!(
        "workflow  {} ({})",
        run.workflow,
        run.file.display()
    ));
    show::line(&format!("status    {}", run.status));
    // The tasks know better than the clock of the record, which counts whole seconds.
    if let Some(last) = tasks
        .iter()
        .map(|task| task.started + task.wall)
        .max()
        .filter(|last| *last > 0)
    {
        show::line(&format!("took      {}", show::duration(last as f64 / 1e9)));
    }
    show::line(&format!(
        "tasks     {}: {} executed, {} reused, {} failed",
        run.tasks, run.executed, run.reused, run.failed
    ));
    show::line(&format!("outputs   {}", run.outputs.display()));
    show::line(&format!("command   {}", run.command.join(" ")));
    let (ran, rest): (Vec<&RunTask>, Vec<&RunTask>) = tasks
        .iter()
        .partition(|task| task.state != TaskState::Reused);
    if !ran.is_empty() {
        show::line("");
        show::line(&format!(
            "{:>10} {:>10}  {:9} task",
            "start", "took", "state"
        ));
    }
    for task in ran {
        let seconds = |nanoseconds: u64| show::duration(nanoseconds as f64 / 1e9);
        let (start, took) = match task.state {
            TaskState::Blocked | TaskState::CutOff => (String::new(), String::new()),
            _ => (seconds(task.started), seconds(task.wall)),
        };
        show::line(&format!(
            "{start:>10} {took:>10}  {:9} {}",
            task.state, task.address
        ));
    }
    if !rest.is_empty() {
        show::line(&format!(
            "and {} that were remembered",
            show::count(rest.len(), "task")
        ));
    }
}
