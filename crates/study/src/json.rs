//! What `--json` prints of plans and runs of studies.
//!
//! Law: a conversion computes nothing that is not asked for elsewhere too; which fields there are, and what they mean, is
//! said in `headwater_report`.

use std::sync::Arc;

use headwater_engine::load::CheckedFile;
use headwater_graph::FailedTask;
use headwater_report::json::{
    AlgorithmPlanJson, BucketsJson, CostJson, CostSourceJson, DiagnosticJson, EndEventJson,
    FailedTaskJson, ForecastJson, LaterPhaseJson, MeasuredCostsJson, ReferencesJson, SharingJson,
    StudyPlanJson, StudyStageJson, TaskCountsJson, TuneEndJson, TuneJson, TuneRunJson,
    TunedOperationJson, path_text, rounded_seconds,
};
use headwater_report::study::{StudyJson, StudyRunJson};

use crate::buckets::AlgorithmPlan;
use crate::costs::CostSource;
use crate::plan::{Reuse, ReusePlan, StudyPlan, StudyStagePlan};
use crate::run::StudyRun;
use crate::tune::{TuneReport, TunedOperation};
use crate::write::study_files;

/// What the readers of files said.
fn said(files: &[CheckedFile]) -> Vec<DiagnosticJson> {
    let files = files.iter();
    files
        .flat_map(|file| DiagnosticJson::of_all(&file.file, &file.diagnostics))
        .collect()
}

fn texts(names: &[Arc<str>]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// A task that failed, as `--json` prints it.
pub fn failed_task_json(failed: &FailedTask) -> FailedTaskJson {
    let (failure, from) = (&failed.failure, failed.from.iter());
    FailedTaskJson {
        task: failed.address.clone(),
        message: failure.message.clone(),
        command: failure.command.clone(),
        folder: failure.folder.as_deref().map(path_text),
        stderr: failure.stderr.clone(),
        attempts: failed.attempts,
        blocked: failed.blocked,
        from: from
            .map(|(input, value)| (input.to_string(), value.clone()))
            .collect(),
    }
}

impl StudyRun {
    /// What `headwater study run --json` prints. The files of the results are named as far as they are there now.
    pub fn json(&self) -> StudyRunJson {
        let (folder, files) = (path_text(&self.folder), study_files(&self.folder));
        StudyRunJson {
            study: StudyJson::of(&self.summary, folder, files),
            status: self.status().name(),
            errors: self.errors.clone(),
            diagnostics: said(&self.said),
        }
    }

    /// The last event of the run; `exit` is the exit code of the command.
    pub fn end_json(&self, exit: u8) -> EndEventJson {
        let facts = &self.summary.facts;
        EndEventJson {
            event: "end",
            status: self.status().name(),
            exit,
            run: facts.run.clone(),
            folder: path_text(&self.folder),
            seconds: rounded_seconds(facts.seconds),
            counts: TaskCountsJson::of(&self.counts, Some(self.counts.left())),
        }
    }
}

fn reuse_name(reuse: Reuse) -> &'static str {
    match reuse {
        Reuse::Stage => "stage",
        Reuse::Chain => "chain",
        Reuse::Graph => "graph",
    }
}

fn sharing_json(found: &ReusePlan) -> (String, SharingJson) {
    let sharing = SharingJson {
        tasks: found.tasks,
        percent: found.percent,
        percent_of_time: found.percent_of_time,
        percent_of_all_sets: found.percent_of_all,
    };
    (reuse_name(found.reuse).to_owned(), sharing)
}

fn stage_json(stage: &StudyStagePlan) -> StudyStageJson {
    StudyStageJson {
        stage: stage.name.to_string(),
        tasks_per_instance: stage.tasks_per_instance,
        instances: stage.instances,
        instances_merged: stage.distinct,
        tasks: stage.tasks,
        tasks_merged: stage.tasks_merged,
    }
}

fn costs_json(costs: &CostSource) -> CostSourceJson {
    match costs {
        CostSource::Counts => CostSourceJson {
            from: "counts",
            measured: None,
        },
        CostSource::Remembered {
            executions,
            run,
            tuning,
            unknown,
        } => CostSourceJson {
            from: if *tuning { "tuning" } else { "products" },
            measured: Some(MeasuredCostsJson {
                executions: *executions,
                run: run.as_deref().map(str::to_owned),
                unknown: texts(unknown),
            }),
        },
    }
}

impl StudyPlan {
    /// Whether costs are times; else every task counts as one.
    pub fn is_measured(&self) -> bool {
        self.costs != CostSource::Counts
    }

    fn cost_json(&self, cost: u64) -> CostJson {
        if self.is_measured() {
            CostJson::Seconds(cost as f64 / 1e9)
        } else {
            CostJson::Tasks(cost)
        }
    }

    fn buckets_json(&self, found: &AlgorithmPlan) -> BucketsJson {
        BucketsJson {
            largest_bucket: found.largest_bucket,
            largest_bucket_cost: self.cost_json(found.largest_cost),
            largest_bucket_bytes: found.largest_bytes,
            makespan_estimate: self.cost_json(found.makespan),
            lower_bound: self.cost_json(found.lower_bound),
        }
    }

    /// The algorithm by its name in small letters, without blanks.
    fn algorithm_json(&self, found: &AlgorithmPlan) -> (String, AlgorithmPlanJson) {
        let algorithm = AlgorithmPlanJson {
            tasks: found.tasks,
            reuse_percent: found.reuse_percent,
            reuse_percent_of_time: found.reuse_percent_of_time,
            buckets: found.buckets,
            largest: self.buckets_json(found),
        };
        (found.name.to_lowercase().replace(' ', "-"), algorithm)
    }

    /// What `headwater study plan --json` prints.
    pub fn json(&self) -> StudyPlanJson {
        let (chosen, algorithms) = (&self.chosen, self.algorithms.iter());
        let algorithms = algorithms.map(|found| self.algorithm_json(found));
        StudyPlanJson {
            study: self.study.to_string(),
            workflow: self.workflow.to_string(),
            method: self.method.clone(),
            objective: self.objective.to_string(),
            parameters: texts(&self.parameters),
            sets: self.sets,
            items: self.items,
            instances: self.instances,
            stage_instances: self.stage_instances,
            stage_instances_merged: self.stage_instances_merged,
            tasks: self.tasks,
            tasks_merged: self.tasks_merged,
            reuse: reuse_name(self.reuse),
            reuse_percent: self.reuse_percent,
            sharing: self.reuses.iter().map(sharing_json).collect(),
            saved_percent: self.saved_percent,
            saved_percent_of_time: self.saved_percent_of_time,
            reused: self.remembered,
            to_execute: self.to_execute,
            equal_when_cut: self.equal_when_cut,
            references: ReferencesJson {
                items: self.reference.items,
                tasks: self.reference.tasks,
            },
            stages: self.stages.iter().map(stage_json).collect(),
            costs: costs_json(&self.costs),
            cost_unit: if self.is_measured() {
                "seconds"
            } else {
                "tasks"
            },
            workers: self.workers,
            algorithm: chosen.name,
            buckets: chosen.buckets,
            largest: self.buckets_json(chosen),
            forecast: self.forecast.map(|forecast| ForecastJson {
                seconds: forecast.seconds,
                work_seconds: forecast.work_seconds,
                memory_bytes: forecast.memory,
                disk_bytes: forecast.disk,
            }),
            open: texts(&self.open),
            written: self.written.iter().map(|path| path_text(path)).collect(),
            notes: self.notes.clone(),
            diagnostics: said(&self.said),
            later: self.later.as_ref().map(|later| LaterPhaseJson {
                method: later.method.clone(),
                parameters: later.parameters,
                sets: later.sets,
                tasks_at_most: later.tasks_at_most,
            }),
            algorithms: (!self.algorithms.is_empty()).then(|| algorithms.collect()),
            algorithms_left_out: self.left_out.clone(),
        }
    }
}

fn tuned_json(tuned: &TunedOperation) -> TunedOperationJson {
    TunedOperationJson {
        operation: tuned.operation.to_string(),
        executions: tuned.executions,
        seconds: tuned.seconds,
        bytes: tuned.bytes,
    }
}

impl TuneReport {
    fn run_json(&self) -> TuneRunJson {
        TuneRunJson {
            run: self.run.clone(),
            status: self.status().name(),
            counts: TaskCountsJson::of(&self.counts, Some(self.counts.left())),
        }
    }

    /// What `headwater tune --json` prints.
    pub fn json(&self) -> TuneJson {
        TuneJson {
            run: self.run_json(),
            operations: self.operations.iter().map(tuned_json).collect(),
            failures: self.failures.iter().map(failed_task_json).collect(),
            stopped: self.stopped,
        }
    }

    /// The last event of the run; `exit` is the exit code of the command.
    pub fn end_json(&self, exit: u8) -> TuneEndJson {
        TuneEndJson {
            run: self.run_json(),
            event: "end",
            exit,
        }
    }
}
