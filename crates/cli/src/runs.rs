//! `headwater runs`.
//!
//! Law: what is shown of a run fits a screen or two, however many tasks it has, unless all of them are asked for.

use std::path::PathBuf;
use std::process::ExitCode;

use headwater::json::{RunListJson, RunPageJson, path_text, run_record_json};
use headwater::runs::{FailureLines, Outcome, RunOverview, RunRecord, RunStatus, RunTask, counted};
use headwater::{Error, StorePlace};

use crate::arguments::Common;
use crate::arguments::runs::RunsCommand;
use crate::{explain, run, show};

pub(crate) fn runs(command: &RunsCommand, common: &Common) -> Result<ExitCode, Error> {
    let place = StorePlace {
        read_only: true,
        ..run::place(common)
    };
    let store = headwater::open_store(&place, &run::current_folder()?)?;
    show::damage(&*store);
    match command {
        RunsCommand::Ls { limit } => {
            let runs = store.runs(limit.limit)?.into_iter();
            let named = |mut run: RunRecord| {
                let study = headwater::runs::study_of_run(&*store, &run.id);
                if run.ended.is_none() {
                    // How many a study has is known in the end; until then those count that have ended.
                    let ended = store.run_tasks(&run.id).unwrap_or_default().len();
                    run.tasks = run.tasks.max(ended as u64);
                }
                (run, study)
            };
            list(&runs.map(named).collect::<Vec<_>>(), common.json);
        }
        RunsCommand::Show { run, tasks: all } => {
            let run = headwater::runs::find_run(&*store, run)?;
            let tasks = store.run_tasks(&run.id)?;
            let found = headwater::runs::overview(&*store, &run, &tasks, SLOWEST);
            if common.json {
                show::object(&found.json(&run, &tasks));
            } else if *all {
                tell(&head(&run, &found));
                tell(&untold(&run, &tasks));
                list_tasks(&tasks);
            } else {
                tell(&at_a_glance(&run, &tasks, &found));
            }
        }
        RunsCommand::Report { run, output } => {
            let found = headwater::runs::find_run(&*store, run)?;
            let current = run::current_folder()?;
            let path = headwater::runs::report_run(&*store, &found, output.as_deref(), &current)?;
            if common.json {
                show::object(&RunPageJson {
                    run: found.id,
                    report: path_text(&path),
                });
            } else {
                let path = path.strip_prefix(&current).unwrap_or(&path);
                let (id, path) = (&found.id, path.display());
                show::line(&format!("report of run {id}: {path}"));
            }
        }
        RunsCommand::Diff { first, second } => {
            let difference = match second {
                Some(second) => headwater::diff_runs(&*store, first, second)?,
                None => headwater::diff_runs(&*store, &format!("{first}~1"), first)?,
            };
            explain::difference(&difference, common.json);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whatever tasks said, it does not act on the terminal.
fn tell(lines: &[String]) {
    lines
        .iter()
        .for_each(|line| show::prose(&headwater::text::printable(line)));
}

fn list(runs: &[(RunRecord, Option<String>)], as_json: bool) {
    if as_json {
        let runs = runs.iter();
        show::object(&RunListJson {
            runs: runs
                .map(|(run, study)| run_record_json(run, study.as_deref()))
                .collect(),
        });
        return;
    }
    if runs.is_empty() {
        show::talk("no runs yet");
        return;
    }
    let mut head = vec![
        "run",
        "workflow or study",
        "status",
        "tasks",
        "executed",
        "reused",
        "failed",
    ];
    // Cut off, blocked or not reached: with them the numbers of a line add up.
    let others = |run: &RunRecord| {
        let told = run.executed + run.reused + run.failed;
        counted(run, run.tasks.saturating_sub(told))
    };
    let any = (runs.iter()).any(|(run, _)| others(run).is_some_and(|others| others > 0));
    head.extend(any.then_some("other"));
    let head = head.into_iter().map(str::to_owned);
    let mut rows = vec![head.collect::<Vec<String>>()];
    for (run, study) in runs {
        let number =
            |number| counted(run, number).map_or("-".to_owned(), |number| number.to_string());
        let mut row = vec![
            run.id.clone(),
            match study {
                Some(study) => format!("study {study}"),
                None => run.workflow.clone(),
            },
            run.status.to_string(),
            run.tasks.to_string(),
            number(run.executed),
            number(run.reused),
            number(run.failed),
        ];
        let others = others(run).map_or("-".to_owned(), |others| others.to_string());
        row.extend(any.then_some(others));
        rows.push(row);
    }
    tell(&show::columns(&rows, &[3, 4, 5, 6, 7]));
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

/// A run at a glance.
fn at_a_glance(run: &RunRecord, tasks: &[RunTask], found: &RunOverview) -> Vec<String> {
    let mut lines = head(run, found);
    lines.extend(untold(run, tasks));
    lines.extend(stages(run, found));
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

/// What there is to tell of the tasks where not all can be known.
fn untold(run: &RunRecord, tasks: &[RunTask]) -> Vec<String> {
    let why = match run.status {
        RunStatus::Interrupted => {
            "its process ended without a word: what it finished is remembered, and the same command continues it"
        }
        _ if !tasks.is_empty() => return Vec::new(),
        RunStatus::Running => "none of its tasks has ended yet",
        _ => "what became of its tasks is not recorded",
    };
    vec![String::new(), why.to_owned()]
}

fn head(run: &RunRecord, found: &RunOverview) -> Vec<String> {
    let from = |name: &str| {
        if run.file.as_os_str().is_empty() {
            name.to_owned()
        } else {
            format!("{name} ({})", run.file.display())
        }
    };
    let mut rows = vec![["run", &run.id].map(str::to_owned)];
    match &found.study {
        Some(study) => {
            rows.push(["study".to_owned(), from(study)]);
            rows.push(["workflow".to_owned(), run.workflow.clone()]);
        }
        None => rows.push(["workflow".to_owned(), from(&run.workflow)]),
    }
    rows.extend([
        [
            "status".to_owned(),
            match run.reason.lines().next() {
                Some(reason) => format!("{}: {reason}", run.status),
                None => run.status.to_string(),
            },
        ],
        ["started".to_owned(), headwater::text::date(run.started)],
    ]);
    if let Some(ended) = run.ended {
        // The record counts whole seconds.
        let took = match (found.seconds, found.last_end) {
            (Some(all), _) => format!("after {}", show::duration(all)),
            (None, Some(last)) => {
                format!("last task ended after {}", show::duration(seconds(last)))
            }
            (None, None) => {
                let whole = ended.saturating_sub(run.started).max(0);
                format!("after {}", show::duration(whole as f64))
            }
        };
        rows.push([
            "ended".to_owned(),
            format!("{}, {took}", headwater::text::date(ended)),
        ]);
    }
    let number = |number: u64| show::grouped(usize::try_from(number).unwrap_or(usize::MAX));
    let mut counts = number(run.tasks);
    let tally = found.tally();
    if run.ended.is_none() {
        let (executed, failed) = (tally.executed, tally.failed);
        if executed + failed > 0 {
            // How many a study has is known in the end.
            counts = match run.tasks {
                0 => String::new(),
                tasks => format!("{}: ", number(tasks)),
            };
            let when = match run.status {
                RunStatus::Running => "so far",
                _ => "before it ended",
            };
            counts.push_str(&format!(
                "{} executed {when}, {} failed",
                show::grouped(executed),
                show::grouped(failed)
            ));
        }
    } else {
        counts.push_str(&format!(
            ": {} executed, {} reused",
            number(run.executed),
            number(run.reused),
        ));
        let more = [
            (tally.cut_off, "cut off"),
            (usize::try_from(run.failed).unwrap_or(usize::MAX), "failed"),
            (tally.blocked, "not run because of that"),
            (tally.left(), "not reached"),
        ];
        for (count, words) in more {
            if count > 0 || words == "failed" {
                counts.push_str(&format!(", {} {words}", show::grouped(count)));
            }
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
    if !run.host.is_empty() {
        rows.push(["by".to_owned(), format!("{} on {}", run.user, run.host)]);
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.to_vec()).collect();
    show::columns(&rows, &[])
}

fn stages(run: &RunRecord, found: &RunOverview) -> Vec<String> {
    if found.stages.is_empty() {
        return Vec::new();
    }
    // A sequence has no file, and no stages: its calls stand together by what they call.
    let what = if run.file.as_os_str().is_empty() {
        "calls of"
    } else {
        "stage"
    };
    let header = [
        what,
        "tasks",
        "executed",
        "reused",
        "cut off",
        "failed",
        "blocked",
        "left",
        "task time",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for stage in &found.stages {
        rows.push(vec![
            stage.name.clone(),
            show::grouped(stage.tally.tasks),
            show::grouped(stage.tally.executed),
            show::grouped(stage.tally.reused),
            show::grouped(stage.tally.cut_off),
            show::grouped(stage.tally.failed),
            show::grouped(stage.tally.blocked),
            show::grouped(stage.tally.left()),
            show::duration(seconds(stage.spent)),
        ]);
    }
    // Columns that say nothing in most runs.
    let tally = found.tally();
    let empty = [
        (7, tally.left()),
        (6, tally.blocked),
        (5, tally.failed),
        (4, tally.cut_off),
    ];
    for (column, _) in empty.iter().filter(|(_, sum)| *sum == 0) {
        rows.iter_mut().for_each(|row| drop(row.remove(*column)));
    }
    let mut lines = vec![String::new()];
    lines.extend(show::columns(&rows, &[1, 2, 3, 4, 5, 6, 7, 8]));
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
    let all = if found.failures.is_empty() {
        tasks
            .iter()
            .filter(|task| task.state == Outcome::Failed)
            .count()
    } else {
        found.failures.len()
    };
    if all == 0 {
        return Vec::new();
    }
    for failure in found.failures.iter().take(FAILURES) {
        let shown = brief(failure.lines());
        lines.extend(shown.iter().map(|line| show::shortened(line, 400)));
    }
    if found.failures.is_empty() {
        let failed = tasks.iter().filter(|task| task.state == Outcome::Failed);
        lines.extend(
            failed
                .take(FAILURES)
                .map(|task| format!("failed: task `{}`", task.address)),
        );
    }
    if all > FAILURES {
        let more = show::count(all - FAILURES, "more failure");
        let place = if found.failures.is_empty() {
            format!("`headwater runs show {} --tasks`", run.id)
        } else {
            show::path(&run.outputs.join("failures.txt"))
        };
        lines.push(format!("… and {more}; all of them: {place}"));
    }
    let told = found
        .failures
        .iter()
        .any(|failed| failed.failure.folder.is_some());
    if told && !found.files.iter().any(|(what, _)| *what == "work") {
        lines.push(
            "the folders of these tasks are gone: those of the last runs are kept".to_owned(),
        );
    }
    lines
}

/// A failure in about [`FAILURE_LINES`]. The command is shortened first, then the beginning of what the task said; its
/// last lines, and where it lies and how to run it again, are there in any case.
fn brief(failure: FailureLines) -> Vec<String> {
    let FailureLines {
        head,
        from,
        command,
        mut said,
        last,
    } = failure;
    let fixed = 1 + from.len() + last.len() + said.len().min(1);
    let room = FAILURE_LINES.saturating_sub(fixed + command.len().min(1));
    let mut out = vec![format!("failed: {head}")];
    out.extend(from);
    let told = said.len().saturating_sub(1).min(room);
    let before = (room - told + 1).min(command.len());
    out.extend_from_slice(&command[..before]);
    if before < command.len() {
        out.push("    …".to_owned());
    }
    if !said.is_empty() {
        let lines = said.split_off(1);
        out.append(&mut said);
        if told < lines.len() {
            out.push("    …".to_owned());
        }
        out.extend_from_slice(&lines[lines.len() - told..]);
    }
    out.extend(last);
    out
}

/// What became of every task.
fn list_tasks(tasks: &[RunTask]) {
    if tasks.is_empty() {
        return;
    }
    let (ran, rest): (Vec<&RunTask>, Vec<&RunTask>) =
        tasks.iter().partition(|task| task.state != Outcome::Reused);
    show::line("");
    show::line(&format!(
        "{:>10} {:>10}  {:9} task",
        "start", "took", "state"
    ));
    for task in ran.into_iter().chain(rest) {
        let (start, took) = match task.state {
            Outcome::Blocked | Outcome::CutOff | Outcome::Reused => (String::new(), String::new()),
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

#[cfg(test)]
mod tests {
    use headwater::runs::{FailedTask, Failure, FailureKind};

    use super::*;

    #[test]
    fn of_a_long_failure_the_end_is_shown() {
        let failed = FailedTask {
            address: "a.b[0]".to_owned(),
            failure: Failure {
                command: Some(vec!["sh".to_owned(), "-c".to_owned(), "one".to_owned()]),
                folder: Some("work/a".into()),
                stderr: "two".to_owned(),
                ..Failure::new(FailureKind::Exit(7), "ended with exit code 7".to_owned())
            },
            attempts: 1,
            blocked: 3,
            from: Vec::new(),
        };
        let steps: String = (0..30).map(|line| format!("\nstep {line}")).collect();
        let words: String = (0..12).map(|line| format!("word {line}\n")).collect();
        let mut long = failed.clone();
        long.failure.command = Some(vec![
            "sh".to_owned(),
            "-c".to_owned(),
            format!("one{steps}"),
        ]);
        long.failure.stderr = words;
        let shown = brief(long.lines());
        assert_eq!(
            shown,
            [
                "failed: task `a.b[0]`: ended with exit code 7",
                "  command: sh -c 'one",
                "    …",
                "  it said:",
                "    …",
                "    word 6",
                "    word 7",
                "    word 8",
                "    word 9",
                "    word 10",
                "    word 11",
                "  folder:  work/a",
                "  again:   sh work/a/.again.sh",
                "  3 tasks could not run because of it",
            ]
        );
        // What fits is shown whole.
        let whole = brief(failed.lines()).join("\n");
        assert_eq!(whole, format!("failed: {}", failed.description()));
        // Of a task that said nothing there is more of the command.
        long.failure.stderr.clear();
        let silent = brief(long.lines());
        assert_eq!((silent.len(), &*silent[8]), (13, "step 6"));
        let head = FailureLines {
            head: "no more".to_owned(),
            ..FailureLines::default()
        };
        assert_eq!(brief(head), ["failed: no more"]);
    }
}
