//! How far a run is, as Prometheus reads it: the text exposition format, version 0.0.4.
//!
//! Law: the text is a function of a snapshot and of how the run stands. Every family has its help and its type, once and
//! before its samples; no label says anything that grows with the number of tasks.

use std::fmt::Write as _;

use headwater_graph::RunStatus;
use headwater_graph::progress::{Snapshot, StageSnapshot, StudySnapshot};

/// The states that are reported of a run as a whole.
const STATUSES: [RunStatus; 4] = [
    RunStatus::Running,
    RunStatus::Done,
    RunStatus::Failed,
    RunStatus::Cancelled,
];

/// A run or a study, as far as it is. `status` says how it stands; while it goes on that is [`RunStatus::Running`].
pub fn metrics(snapshot: &Snapshot, status: RunStatus) -> String {
    let mut text = Text::default();
    text.general(snapshot, status);
    // What waits is not known of a study, whose rounds have tasks in common.
    text.stages(&snapshot.stages, snapshot.study.is_none());
    if let Some(study) = &snapshot.study {
        text.study(snapshot, study);
    }
    text.0
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "# HELP headwater_{name} {help}");
        let _ = writeln!(self.0, "# TYPE headwater_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let _ = write!(self.0, "headwater_{name}");
        for (place, (label, text)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A gauge without labels.
    fn one(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn general(&mut self, snapshot: &Snapshot, status: RunStatus) {
        if let Some(facts) = &snapshot.facts {
            self.family("run_info", "gauge", "What run this is; always 1.");
            let labels = [
                ("run", facts.run.as_str()),
                ("workflow", &facts.workflow),
                ("study", facts.study.as_deref().unwrap_or("")),
                ("version", env!("CARGO_PKG_VERSION")),
            ];
            self.sample("run_info", &labels, 1);
            self.one(
                "start_time_seconds",
                "When the run began, in seconds since 1970.",
                facts.started,
            );
        }
        self.one(
            "elapsed_seconds",
            "How long the run has been going on.",
            snapshot.age.as_secs_f64(),
        );
        self.family(
            "status",
            "gauge",
            "The status of the run: 1 for the status that it has.",
        );
        for known in STATUSES {
            let value = u8::from(known == status);
            self.sample("status", &[("status", known.name())], value);
        }
        let over = u8::from(status != RunStatus::Running);
        self.one("over", "Whether the run has ended.", over);
        if let Some(facts) = &snapshot.facts {
            self.one("cores", "How many cores the run uses.", facts.cores);
        }
        self.family(
            "memory_bytes",
            "gauge",
            "Memory as the engine counts it: products that are held, and what is promised to running tasks.",
        );
        let memory = &snapshot.memory;
        self.sample("memory_bytes", &[("for", "products")], memory.products);
        self.sample("memory_bytes", &[("for", "tasks")], memory.promised);
        if let Some(limit) = memory.limit {
            self.one(
                "memory_limit_bytes",
                "What products and running tasks may take together.",
                limit,
            );
        }
        self.family(
            "store_written_bytes_total",
            "counter",
            "Bytes of products that the run has written to the store.",
        );
        self.sample("store_written_bytes_total", &[], snapshot.written);
    }

    fn study(&mut self, snapshot: &Snapshot, study: &StudySnapshot) {
        self.family(
            "round_tasks",
            "gauge",
            "Tasks of the present round that have to run, and those of them that have ended or turned out to be equal to others.",
        );
        let tally = &snapshot.tally;
        self.sample("round_tasks", &[("state", "planned")], tally.planned);
        self.sample("round_tasks", &[("state", "ended")], tally.ended());
        self.family(
            "evaluations",
            "gauge",
            "Evaluations of the present phase (parameter sets times items): meant to be made so far, with a value, failed.",
        );
        for (state, number) in [
            ("planned", study.evaluations),
            ("evaluated", study.evaluated),
            ("failed", study.failed),
        ] {
            self.sample("evaluations", &[("state", state)], number);
        }
        self.one(
            "phase",
            "The present phase, counted from 1; 0 before the first.",
            study.phase,
        );
        self.one("phases", "How many phases the study has.", study.phases);
    }

    fn stages(&mut self, stages: &[StageSnapshot], open: bool) {
        if stages.is_empty() {
            return;
        }
        self.family(
            "tasks",
            "gauge",
            "Tasks by stage and state; each is counted once.",
        );
        for stage in stages {
            if open {
                let labels = [("stage", &*stage.name), ("state", "waiting")];
                self.sample("tasks", &labels, stage.waiting());
            }
            for (state, number) in [
                ("running", stage.running),
                ("executed", stage.tally.executed),
                ("reused", stage.tally.reused),
                ("cut-off", stage.tally.cut_off),
                ("failed", stage.tally.failed),
                ("blocked", stage.tally.blocked),
            ] {
                let labels = [("stage", &*stage.name), ("state", state)];
                self.sample("tasks", &labels, number);
            }
        }
        self.family(
            "task_seconds_total",
            "counter",
            "How long tasks of a stage have run, summed over all attempts that have ended.",
        );
        for stage in stages {
            let labels = [("stage", &*stage.name)];
            self.sample("task_seconds_total", &labels, stage.spent.as_secs_f64());
        }
    }
}

/// A label value between its quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use headwater_graph::Tally;
    use headwater_graph::progress::{MemorySnapshot, RunFacts};

    use super::*;

    fn facts() -> Option<Arc<RunFacts>> {
        Some(Arc::new(RunFacts {
            run: "20261116-083000-1b25".to_owned(),
            workflow: "a \"b\" \\ c\nd".to_owned(),
            study: None,
            started: 1_794_818_200,
            cores: 2,
            folder: "out".into(),
        }))
    }

    fn stage() -> StageSnapshot {
        StageSnapshot {
            name: Arc::from("blur"),
            tally: Tally {
                tasks: 10,
                planned: 7,
                failed: 1,
                executed: 2,
                cut_off: 1,
                reused: 3,
                ..Tally::default()
            },
            running: 2,
            spent: Duration::from_millis(1500),
        }
    }

    #[test]
    fn a_run() {
        let snapshot = Snapshot {
            facts: facts(),
            stages: vec![stage()],
            age: Duration::from_millis(2500),
            memory: MemorySnapshot {
                products: 10,
                promised: 20,
                limit: Some(4096),
            },
            written: 77,
            ..Snapshot::default()
        };
        let text = metrics(&snapshot, RunStatus::Running);
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "headwater_run_info{run=\"20261116-083000-1b25\",workflow=\"a \\\"b\\\" \\\\ c\\nd\",study=\"\",version=\"0.1.0\"} 1",
                "headwater_start_time_seconds 1794818200",
                "headwater_elapsed_seconds 2.5",
                "headwater_status{status=\"running\"} 1",
                "headwater_status{status=\"done\"} 0",
                "headwater_status{status=\"failed\"} 0",
                "headwater_status{status=\"cancelled\"} 0",
                "headwater_over 0",
                "headwater_cores 2",
                "headwater_memory_bytes{for=\"products\"} 10",
                "headwater_memory_bytes{for=\"tasks\"} 20",
                "headwater_memory_limit_bytes 4096",
                "headwater_store_written_bytes_total 77",
                "headwater_tasks{stage=\"blur\",state=\"waiting\"} 1",
                "headwater_tasks{stage=\"blur\",state=\"running\"} 2",
                "headwater_tasks{stage=\"blur\",state=\"executed\"} 2",
                "headwater_tasks{stage=\"blur\",state=\"reused\"} 3",
                "headwater_tasks{stage=\"blur\",state=\"cut-off\"} 1",
                "headwater_tasks{stage=\"blur\",state=\"failed\"} 1",
                "headwater_tasks{stage=\"blur\",state=\"blocked\"} 0",
                "headwater_task_seconds_total{stage=\"blur\"} 1.5",
            ]
        );
    }

    #[test]
    fn a_run_of_which_nothing_is_known_yet_and_that_never_began() {
        let text = metrics(&Snapshot::default(), RunStatus::Failed);
        assert!(
            text.contains("\nheadwater_status{status=\"failed\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("\nheadwater_over 1\n"), "{text}");
        assert!(
            !text.contains("run_info") && !text.contains("_tasks"),
            "{text}"
        );
    }

    #[test]
    fn a_study() {
        let snapshot = Snapshot {
            facts: facts(),
            study: Some(StudySnapshot {
                phase: 1,
                phases: 2,
                evaluations: 640,
                evaluated: 312,
                failed: 3,
                ..StudySnapshot::default()
            }),
            tally: Tally {
                tasks: 2000,
                planned: 1968,
                executed: 1640,
                reused: 32,
                ..Tally::default()
            },
            stages: vec![stage()],
            ..Snapshot::default()
        };
        let text = metrics(&snapshot, RunStatus::Cancelled);
        for line in [
            "headwater_evaluations{state=\"planned\"} 640",
            "headwater_evaluations{state=\"evaluated\"} 312",
            "headwater_evaluations{state=\"failed\"} 3",
            "headwater_round_tasks{state=\"planned\"} 1968",
            "headwater_round_tasks{state=\"ended\"} 1640",
            "headwater_phase 1",
            "headwater_phases 2",
            "headwater_status{status=\"cancelled\"} 1",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in {text}");
        }
        assert!(!text.contains("waiting"), "{text}");
    }
}
