//! Runs: what they come to, and earlier ones at a glance, from what was recorded of them.
//!
//! [`Site::run`](crate::Site::run) gives a [`RunReport`](crate::RunReport), whose parts are here. Earlier runs are records of a
//! store: [`find_run`] has the one that a person means, [`overview`] tells it at a glance, [`report_run`] writes its
//! report again.
//!
//! ```no_run
//! use headwater::StorePlace;
//! use headwater::runs::{find_run, overview};
//!
//! let store = headwater::open_store(&StorePlace::default(), ".".as_ref())?;
//! let last = find_run(&*store, "last")?;
//! let tasks = store.run_tasks(&last.id)?;
//! for stage in overview(&*store, &last, &tasks, 0).stages {
//!     println!("{}: {} of {} tasks ran", stage.name, stage.tally.executed, stage.tally.tasks);
//! }
//! # Ok::<(), headwater::Error>(())
//! ```
//!
//! Law: an overview is a function of the list of tasks and of the files that lie where the run left them; what is gone is
//! left out. A study has counted its tasks itself, over all its rounds, and that counts. Costs are linear in the number
//! of tasks, but for the slowest ones, which are sorted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;

pub use headwater_enact::Parallelism;
pub use headwater_engine::deliver::{Delivered, OutputItem};
pub use headwater_engine::notes::study_of_run;
pub use headwater_engine::runs::find_run;
use headwater_graph::Store;
pub use headwater_graph::{
    FailedTask, Failure, FailureKind, FailureLines, Outcome, RunRecord, RunStatus, RunTask, Tally,
    alike,
};
use headwater_report::page;
use headwater_report::study::TaskFacts;
use headwater_study::study_figures;

pub use crate::plan::StagePlan;
use crate::run_page;
use crate::run_page::Figures;
pub use crate::run_page::report_run;

/// What became of the tasks of a stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageOverview {
    /// Its name.
    pub name: String,
    /// How many of its tasks stand where.
    pub tally: Tally,
    /// How long its tasks ran, in nanoseconds.
    pub spent: u64,
}

/// A run at a glance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOverview {
    /// The study that it is a run of, if it is of one.
    pub study: Option<String>,
    /// By stage, in the order of the list of tasks.
    pub stages: Vec<StageOverview>,
    /// The tasks that ran longest, longest first, as positions in the list of tasks.
    pub slowest: Vec<usize>,
    /// How long it took in seconds, where the run has said so.
    pub seconds: Option<f64>,
    /// When the last task ended, in nanoseconds since the start of the run; `None` where none ran.
    pub last_end: Option<u64>,
    /// What failed, as far as it was noted.
    pub failures: Vec<FailedTask>,
    /// Files that the run left and that are still there: what each is, and where.
    pub files: Vec<(&'static str, PathBuf)>,
}

/// The files that are worth a line.
const FILES: [(&str, &str); 6] = [
    ("report", page::REPORT),
    ("results", "results.json"),
    ("table", "outputs.csv"),
    ("inputs", "inputs.yaml"),
    ("trace", "trace.tsv"),
    ("failures", "failures.txt"),
];

/// Looks at a run and its tasks; `slowest` says how many of the slowest ones are named.
pub fn overview(
    store: &dyn Store,
    run: &RunRecord,
    tasks: &[RunTask],
    slowest: usize,
) -> RunOverview {
    let mut found = of_tasks(tasks, slowest);
    if let Some(figures) = run_page::figures(store, &run.id) {
        found.add(&figures);
    }
    found.study = study_of_run(store, &run.id);
    found.failures = headwater_engine::failures::noted(store, &run.id);
    if let Some((seconds, tasks)) = study_figures(store, &run.id) {
        found.seconds = Some(seconds);
        found.stages = of_facts(&tasks);
    }
    if !run.outputs.as_os_str().is_empty() {
        found.files.extend(
            FILES
                .iter()
                .map(|(what, name)| (*what, run.outputs.join(name)))
                .filter(|(_, path)| path.is_file()),
        );
    }
    let folders = store.run_folders(&run.id);
    let kept = [("logs", folders.logs), ("work", folders.work)];
    found
        .files
        .extend(kept.into_iter().filter(|(_, path)| store.has_entries(path)));
    found
}

impl RunOverview {
    /// How many tasks of all stages stand where.
    pub fn tally(&self) -> Tally {
        self.stages.iter().map(|stage| stage.tally).sum()
    }

    /// Takes in what the list of tasks does not say: how long it took, and which tasks were not come to.
    fn add(&mut self, figures: &Figures) {
        self.seconds = Some(figures.seconds);
        let mut tasks: Vec<(&str, usize)> = Vec::new();
        for row in &figures.tasks {
            // Rows come stage by stage.
            match tasks.last_mut() {
                Some(last) if last.0 == row.stage => last.1 += row.tasks,
                _ => tasks.push((&row.stage, row.tasks)),
            }
        }
        let mut places: HashMap<String, usize> = (self.stages.iter().enumerate())
            .map(|(place, stage)| (stage.name.clone(), place))
            .collect();
        for (name, all) in tasks.into_iter().filter(|(_, tasks)| *tasks > 0) {
            let place = *places.entry(name.to_owned()).or_insert_with(|| {
                self.stages.push(StageOverview {
                    name: name.to_owned(),
                    ..StageOverview::default()
                });
                self.stages.len() - 1
            });
            let tally = &mut self.stages[place].tally;
            tally.tasks = tally.tasks.max(all);
        }
    }
}

/// What a run has counted; nothing before it has ended of itself.
pub fn counted(run: &RunRecord, number: u64) -> Option<u64> {
    let is_known = !matches!(run.status, RunStatus::Running | RunStatus::Interrupted);
    is_known.then_some(number)
}

/// The stage in an address, `stage.task[index]`. In that of a call, `name[number]`, the name stands for it.
fn stage(address: &str) -> &str {
    let name = address.split_once('[').map_or(address, |(name, _)| name);
    name.split_once('.').map_or(name, |(stage, _)| stage)
}

/// By stage what a study has counted by task.
fn of_facts(tasks: &[TaskFacts]) -> Vec<StageOverview> {
    let mut stages: Vec<StageOverview> = Vec::new();
    for task in tasks {
        let place = stages.iter().position(|stage| stage.name == task.stage);
        let place = place.unwrap_or_else(|| {
            stages.push(StageOverview {
                name: task.stage.clone(),
                ..StageOverview::default()
            });
            stages.len() - 1
        });
        let stage = &mut stages[place];
        stage.tally += task.tally;
        stage.spent += (task.seconds * 1e9) as u64;
    }
    stages
}

fn of_tasks(tasks: &[RunTask], slowest: usize) -> RunOverview {
    let mut found = RunOverview::default();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for task in tasks {
        let name = stage(&task.address);
        let place = *places.entry(name).or_insert_with(|| {
            found.stages.push(StageOverview {
                name: name.to_owned(),
                ..StageOverview::default()
            });
            found.stages.len() - 1
        });
        let stage = &mut found.stages[place];
        stage.tally.count(task.state);
        stage.spent = stage.spent.saturating_add(task.wall);
    }
    let ran = |task: &&RunTask| ran(task);
    let ends = tasks.iter().filter(ran);
    found.last_end = ends
        .map(|task| task.started.saturating_add(task.wall))
        .max();
    let mut order: Vec<usize> = (0..tasks.len())
        .filter(|place| ran(&&tasks[*place]))
        .collect();
    // Of equals the one that comes first in the list.
    order.sort_by_key(|place| (Reverse(tasks[*place].wall), *place));
    order.truncate(slowest);
    found.slowest = order;
    found
}

/// Whether a task ran in this run.
fn ran(task: &RunTask) -> bool {
    matches!(
        task.state,
        Outcome::Executed | Outcome::Restored | Outcome::Failed
    )
}

#[cfg(test)]
mod tests {
    use headwater_graph::Recipe;

    use super::*;

    fn task(address: &str, state: Outcome, started: u64, wall: u64) -> RunTask {
        RunTask {
            address: address.to_owned(),
            recipe: Recipe([0; 32]),
            state,
            started,
            wall,
        }
    }

    #[test]
    fn stages_and_the_slowest_tasks() {
        let tasks = [
            task("a.x[0]", Outcome::Executed, 0, 5),
            task("b.y[0]", Outcome::Blocked, 0, 0),
            task("a.x[1]", Outcome::Failed, 5, 7),
            task("a.x[2]", Outcome::Restored, 1, 7),
            task("a.x[3]", Outcome::Reused, 0, 0),
            task("b.y[1]", Outcome::CutOff, 0, 0),
        ];
        let found = of_tasks(&tasks, 2);
        assert_eq!(found.slowest, [2, 3]);
        assert_eq!(found.last_end, Some(12));
        let stage = |name: &str, outcomes: &[Outcome], spent| {
            let mut tally = Tally::default();
            outcomes.iter().for_each(|outcome| tally.count(*outcome));
            StageOverview {
                name: name.to_owned(),
                tally,
                spent,
            }
        };
        assert_eq!(
            found.stages,
            [
                stage(
                    "a",
                    &[
                        Outcome::Executed,
                        Outcome::Failed,
                        Outcome::Restored,
                        Outcome::Reused
                    ],
                    19
                ),
                stage("b", &[Outcome::Blocked, Outcome::CutOff], 0)
            ]
        );
        assert_eq!(of_tasks(&tasks, 100).slowest, [2, 3, 0]);
        assert_eq!(of_tasks(&[], 3), RunOverview::default());
    }

    #[test]
    fn a_call_stands_for_its_name() {
        for (address, name) in [
            ("segment.watershed[3-1]", "segment"),
            ("segment.watershed", "segment"),
            ("square[12]", "square"),
            ("square", "square"),
            ("read[v1.5]", "read"),
        ] {
            assert_eq!(stage(address), name);
        }
    }

    #[test]
    fn what_a_study_has_counted_by_task_is_told_by_stage() {
        let facts = |stage: &str, counts: [usize; 6]| TaskFacts {
            stage: stage.to_owned(),
            task: "x".to_owned(),
            planned: 99,
            tally: Tally {
                tasks: counts[0],
                executed: counts[1],
                reused: counts[2],
                cut_off: counts[3],
                failed: counts[4],
                blocked: counts[5],
                ..Tally::default()
            },
            unmet: 0,
            seconds: 0.5,
            cpu_seconds: 0.5,
            saved_seconds: None,
        };
        let found = of_facts(&[
            facts("a", [10, 4, 3, 2, 1, 0]),
            facts("b", [5, 0, 0, 0, 0, 2]),
            facts("a", [1, 1, 0, 0, 0, 0]),
        ]);
        let counts = |stage: &StageOverview| {
            let tally = &stage.tally;
            (stage.name.clone(), tally.tasks, tally.left(), stage.spent)
        };
        let found: Vec<_> = found.iter().map(counts).collect();
        let expected = [
            ("a".to_owned(), 11, 0, 1_000_000_000),
            ("b".to_owned(), 5, 3, 500_000_000),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn tasks_that_were_not_come_to_are_counted_by_stage() {
        let mut found = of_tasks(&[task("a.x[0]", Outcome::Executed, 0, 5)], 2);
        let text = r#"{"seconds": 1.5, "tasks": [{"stage": "a", "tasks": 1}, {"stage": "a", "tasks": 2},
            {"stage": "b", "tasks": 0}, {"stage": "c", "tasks": 4}]}"#;
        found.add(&serde_json::from_str(text).expect("figures"));
        let counts =
            |stage: &StageOverview| (stage.name.clone(), stage.tally.tasks, stage.tally.left());
        let counts: Vec<_> = found.stages.iter().map(counts).collect();
        assert_eq!(counts, [("a".to_owned(), 3, 2), ("c".to_owned(), 4, 4)]);
        assert_eq!((found.seconds, found.tally().left()), (Some(1.5), 6));
    }
}
