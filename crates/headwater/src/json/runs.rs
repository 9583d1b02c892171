//! What earlier runs were.
//!
//! Law: what a run has counted is reported once it has ended of itself; until then the tasks are counted that have ended.

use std::path::Path;

use headwater_graph::{RunRecord, RunTask};
use headwater_report::json::{
    RunOverviewJson, RunRecordJson, RunStageJson, RunTaskJson, TaskCountsJson, path_text,
    rounded_seconds,
};

use super::seconds;
use crate::runs::{FailedTask, RunOverview, StageOverview, counted};

/// What `headwater runs ls --json` prints of a run, and of which study it is one.
pub fn run_record_json(run: &RunRecord, study: Option<&str>) -> RunRecordJson {
    let path = |path: &Path| (!path.as_os_str().is_empty()).then(|| path_text(path));
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    RunRecordJson {
        run: run.id.clone(),
        workflow: run.workflow.clone(),
        study: study.map(str::to_owned),
        file: path(&run.file),
        status: run.status.to_string(),
        started: run.started,
        ended: run.ended,
        tasks: run.tasks,
        executed: counted(run, run.executed),
        reused: counted(run, run.reused),
        failed: counted(run, run.failed),
        folder: path(&run.outputs),
        command: run.command.clone(),
        host: text(&run.host),
        user: text(&run.user),
        reason: text(&run.reason),
    }
}

fn task_json(task: &RunTask) -> RunTaskJson {
    RunTaskJson {
        task: task.address.clone(),
        state: task.state.to_string(),
        recipe: task.recipe.hex(),
        start_seconds: seconds(task.started),
        seconds: seconds(task.wall),
    }
}

impl RunOverview {
    /// What `headwater runs show --json` prints of a run, its tasks and what was found of it.
    pub fn json(&self, run: &RunRecord, tasks: &[RunTask]) -> RunOverviewJson {
        let mut record = run_record_json(run, self.study.as_deref());
        let tally = self.tally();
        if run.ended.is_none() {
            // Of what has not ended the tasks are counted that have.
            record.tasks = run.tasks.max(tally.tasks as u64);
            record.executed = Some(tally.executed as u64);
            record.failed = Some(tally.failed as u64);
        }
        let ended = |number: usize| counted(run, number as u64);
        let stage = |stage: &StageOverview| RunStageJson {
            stage: stage.name.clone(),
            counts: TaskCountsJson::of(&stage.tally, self.seconds.map(|_| stage.tally.left())),
            task_seconds: seconds(stage.spent),
        };
        let slowest = self.slowest.iter().filter_map(|place| tasks.get(*place));
        let files = self.files.iter();
        RunOverviewJson {
            record,
            cut_off: ended(tally.cut_off),
            blocked: ended(tally.blocked),
            // Known where the run has noted its figures; sequences do not.
            left: self.seconds.and(ended(tally.left())),
            // As the run itself has said it.
            seconds: (self.seconds.map(rounded_seconds)).or(self.last_end.map(seconds)),
            stages: self.stages.iter().map(stage).collect(),
            slowest: slowest.map(task_json).collect(),
            failures: self.failures.iter().map(FailedTask::description).collect(),
            files: files
                .map(|(what, path)| ((*what).to_owned(), path_text(path)))
                .collect(),
            task_list: tasks.iter().map(task_json).collect(),
        }
    }
}
