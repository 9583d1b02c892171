//! `headwater study plan` and `headwater tune`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use headwater::graph::{Operation, Registry};
use headwater::runs::RunStatus;
use headwater::study::{CostSource, Reuse, ReusePlan};
use headwater::{
    Error, Progress, Stop, StudyPlan, StudyPlanRequest, StudySource, TuneReport, TuneRequest,
};
use serde_json::json;

use crate::arguments::Common;
use crate::arguments::common::StudyFile;
use crate::arguments::study::{self as arguments, ReuseKind, StudyCommand};
use crate::run::{self, settings, site, tell_new_store};
use crate::watching::watched;
use crate::{progress, show};

pub(crate) fn study(
    command: &StudyCommand,
    common: &Common,
    libraries: &Registry,
) -> Result<ExitCode, Error> {
    let options = match command {
        StudyCommand::Plan(options) => options,
        StudyCommand::Run(options) => return super::run::run(options, common, libraries),
        StudyCommand::Report(options) => return super::run::report(options, common),
    };
    let plan = site(common, libraries)?.plan_study(&request(options))?;
    if common.json {
        show::object(&plan.json());
    } else {
        show_plan(&plan);
    }
    Ok(ExitCode::SUCCESS)
}

/// The study, as the settings change it.
pub(super) fn source(options: &StudyFile) -> StudySource {
    StudySource {
        settings: settings(&options.set),
        ..StudySource::file(&options.file)
    }
}

fn request(options: &arguments::StudyPlan) -> StudyPlanRequest {
    let number = |number: Option<u32>| number.map(|number| number as usize);
    StudyPlanRequest {
        study: source(&options.study),
        workers: number(options.workers),
        reuse: match options.reuse {
            ReuseKind::Graph => Reuse::Graph,
            ReuseKind::Chain => Reuse::Chain,
            ReuseKind::Stage => Reuse::Stage,
        },
        compare: options.compare,
        paper: options.paper,
        max_bucket_size: number(options.bucket_size),
        max_buckets: number(options.max_buckets),
        memory: options.bucket_memory,
        output: options.output.clone(),
    }
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

/// A cost for people.
fn shown(plan: &StudyPlan, cost: u64) -> String {
    if plan.is_measured() {
        show::duration(cost as f64 / 1e9)
    } else {
        show::count(cost as usize, "task")
    }
}

fn show_plan(plan: &StudyPlan) {
    for file in &plan.said {
        show::diagnostics(&file.file, &file.text, &file.diagnostics);
    }
    for note in &plan.notes {
        show::talk(&format!("note: {note}"));
    }
    show::prose(&format!(
        "study {}: workflow {}, objective {}",
        plan.study, plan.workflow, plan.objective
    ));
    show::prose(&format!("  {}", plan.method));
    let sets = match (plan.items, plan.instances) {
        (Some(1), _) => String::new(),
        (Some(items), Some(instances)) => format!(
            " x {} = {}",
            show::count(items, "item"),
            show::count(instances, "instance")
        ),
        _ => ", for items that are not known before something has run".to_owned(),
    };
    show::prose(&format!(
        "  {}: {}{sets}",
        show::count(plan.parameters.len(), "parameter"),
        show::count(plan.sets, "parameter set"),
    ));
    show::prose(&format!("  varied: {}", plan.parameters.join(", ")));
    if !plan.fixed.is_empty() {
        let fixed: Vec<String> = plan
            .fixed
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        show::prose(&format!("  fixed: {}", fixed.join(", ")));
    }
    show::prose("");
    show_stages(plan);
    show::prose("");
    show_reuse(plan);
    show::prose("");
    show_work(plan);
    if !plan.algorithms.is_empty() {
        show::prose("");
        show_algorithms(plan);
    }
    if let Some(later) = &plan.later {
        show::prose("");
        show::prose(&format!(
            "afterwards: {}, {} of {} each, at most {}; which ones is known when the screening is done",
            later.method,
            show::count(later.sets, "parameter set"),
            show::count(later.parameters, "parameter"),
            show::count(later.tasks_at_most, "task"),
        ));
    }
    for stage in &plan.open {
        show::prose(&format!(
            "stage {stage} may get more when earlier stages have run"
        ));
    }
    for path in &plan.written {
        show::talk(&format!("wrote {}", show::path(path)));
    }
}

fn show_stages(plan: &StudyPlan) {
    let cells = |cells: [String; 5]| cells.to_vec();
    let mut rows = vec![cells(
        ["stage", "instances", "that differ", "tasks", "left"].map(str::to_owned),
    )];
    for stage in &plan.stages {
        rows.push(cells([
            stage.name.to_string(),
            show::grouped(stage.instances),
            show::grouped(stage.distinct),
            show::grouped(stage.tasks),
            show::grouped(stage.tasks_merged),
        ]));
    }
    rows.push(cells([
        "all".to_owned(),
        show::grouped(plan.stage_instances),
        show::grouped(plan.stage_instances_merged),
        show::grouped(plan.tasks),
        show::grouped(plan.tasks_merged),
    ]));
    for line in show::columns(&rows, &[1, 2, 3, 4]) {
        show::prose(&format!("  {line}"));
    }
    let time = if plan.is_measured() {
        format!(" and {} of the time", percent(plan.saved_percent_of_time))
    } else {
        String::new()
    };
    show::prose(&format!(
        "  merging saves {} of the tasks{time}",
        percent(plan.saved_percent)
    ));
}

/// What is shared within stages of several tasks.
fn show_reuse(plan: &StudyPlan) {
    let several = plan
        .stages
        .iter()
        .filter(|stage| stage.tasks_per_instance > 1);
    let names: Vec<&str> = several.map(|stage| &*stage.name).collect();
    if names.is_empty() {
        show::prose("no stage has several tasks: whole stages are all that can be shared");
        return;
    }
    show::prose(&format!(
        "within {}, instances that differ as a whole still share",
        names.join(", ")
    ));
    let time = |found: &ReusePlan| {
        if plan.is_measured() {
            format!(", {} of their time", percent(found.percent_of_time))
        } else {
            String::new()
        }
    };
    for found in &plan.reuses {
        let what = match found.reuse {
            Reuse::Stage => "nothing",
            Reuse::Chain => "as chains",
            Reuse::Graph => "as a graph",
        };
        let asked = if found.reuse == plan.reuse {
            "  <- this plan"
        } else {
            ""
        };
        show::prose(&format!(
            "  {what:<10}  {:>7} of their tasks{}; counted over all instances {}{asked}",
            percent(found.percent),
            time(found),
            percent(found.percent_of_all),
        ));
    }
    if plan.reuse == Reuse::Stage {
        show::prose("  this plan shares whole stages only (--reuse stage)");
    }
}

fn show_work(plan: &StudyPlan) {
    let reference = match plan.reference.tasks {
        0 => String::new(),
        tasks => format!(
            ", {} of them for {} at the default parameters",
            show::grouped(tasks),
            show::count(plan.reference.items, "reference")
        ),
    };
    let same = match plan.equal_when_cut {
        0 => String::new(),
        tasks => format!(
            "; {} of those above are the same once numbers are cut to whole ones",
            show::grouped(tasks)
        ),
    };
    show::prose(&format!(
        "to do on one machine, where everything is shared: {}{reference}{same}; {} remembered",
        show::count(plan.to_execute, "task"),
        show::grouped(plan.remembered),
    ));
    let chosen = &plan.chosen;
    let workers = show::count(plan.workers, "worker");
    if chosen.buckets == 0 {
        show::prose(&format!(
            "on {workers}: no stage has several tasks, so each task is a unit of its own"
        ));
    } else {
        let cost = if plan.is_measured() {
            format!(", {}", shown(plan, chosen.largest_cost))
        } else {
            String::new()
        };
        show::prose(&format!(
            "on {workers}: {} in {} ({}) and what is in none, the largest of {}{cost}",
            show::count(chosen.tasks, "task"),
            show::count(chosen.buckets, "bucket"),
            chosen.name,
            show::count(chosen.largest_bucket, "task"),
        ));
    }
    show::prose(&format!(
        "  done after {} (with this sharing not before {})",
        shown(plan, chosen.makespan),
        shown(plan, chosen.lower_bound)
    ));
    if let Some(forecast) = &plan.forecast {
        let first = match plan.later {
            Some(_) => " of the first phase",
            None => "",
        };
        show::prose(&format!(
            "  forecast{first}: {} of work, {} of memory on all workers together, at most {} of products",
            show::duration(forecast.work_seconds),
            show::size(forecast.memory),
            show::size(forecast.disk),
        ));
    }
    match &plan.costs {
        CostSource::Counts if !plan.can_run => show::prose(
            "  costs: every task counts as one; a stage descriptor can be planned, and not run to measure them",
        ),
        CostSource::Counts => show::prose(
            "  costs: every task counts as one; `headwater tune STUDY` runs one instance to measure them",
        ),
        CostSource::Remembered {
            executions,
            run,
            tuning,
            unknown,
        } => {
            let from = match (run, tuning) {
                (Some(run), true) => format!("the tuning run {run}"),
                (Some(run), false) => format!("run {run}"),
                (None, _) => "earlier runs".to_owned(),
            };
            show::prose(&format!(
                "  costs: measured in {} of {from}; the size of the inputs is not taken into account",
                show::count(*executions, "execution"),
            ));
            if !unknown.is_empty() {
                show::prose(&format!(
                    "  never executed, and counted as the average: {}",
                    unknown.join(", ")
                ));
            }
        }
    }
}

fn show_algorithms(plan: &StudyPlan) {
    let header = [
        "algorithm",
        "buckets",
        "tasks",
        "reuse",
        "of time",
        "largest",
        "done after",
        "of bound",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for found in &plan.algorithms {
        rows.push(vec![
            found.name.to_owned(),
            show::grouped(found.buckets),
            show::grouped(found.tasks),
            percent(found.reuse_percent),
            percent(found.reuse_percent_of_time),
            shown(plan, found.largest_cost),
            shown(plan, found.makespan),
            match found.lower_bound {
                0 => "-".to_owned(),
                bound => format!("{:.2}x", found.makespan as f64 / bound as f64),
            },
        ]);
    }
    if !plan.is_measured() {
        // Without times it would say the same twice.
        rows.iter_mut().for_each(|row| drop(row.remove(4)));
    }
    for line in show::columns(&rows, &[1, 2, 3, 4, 5, 6, 7]) {
        show::prose(&format!("  {line}"));
    }
    for name in &plan.left_out {
        show::prose(&format!(
            "  {name} is left out: it would take too long for this number of stages"
        ));
    }
}

pub(crate) fn tune(
    options: &arguments::Tune,
    common: &Common,
    libraries: &Registry,
) -> Result<ExitCode, Error> {
    let (request, site) = (tune_request(options), site(common, libraries)?);
    tell_new_store(&options.study.file, common, site.folder());
    let work = |progress: &Progress, stop: &Stop| {
        let heard = |operation: &Arc<Operation>, elapsed: Duration| {
            if !operation.signature.implicit {
                let took = show::duration(elapsed.as_secs_f64());
                progress.tell(&format!("{}: {took}", operation.signature.name));
            }
        };
        let site = site.with_progress(progress).with_stop(stop);
        site.tune_study(&request, &heard)
    };
    let (report, status) = watched(
        &options.watching,
        common.json,
        progress::show,
        work,
        TuneReport::status,
    )?;
    for failed in &report.failures {
        if show::events() {
            let (task, message) = (&failed.address, &failed.failure.message);
            show::event(
                &json!({"event": "failed", "task": task, "message": message, "again": false}),
            );
        } else if !common.json {
            run::show_failure(failed);
        }
    }
    if common.json {
        show::object(&report.json());
    } else {
        show_tuned(&report);
    }
    let code = show::settled(u8::from(status != RunStatus::Done));
    if show::events() {
        show::event(&report.end_json(code));
    }
    Ok(ExitCode::from(code))
}

fn tune_request(options: &arguments::Tune) -> TuneRequest {
    TuneRequest {
        study: source(&options.study),
    }
}

fn show_tuned(report: &TuneReport) {
    let header = ["operation", "takes", "makes", "executions"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for tuned in &report.operations {
        rows.push(vec![
            tuned.operation.to_string(),
            show::duration(tuned.seconds),
            show::size(tuned.bytes),
            show::grouped(tuned.executions),
        ]);
    }
    for line in show::columns(&rows, &[1, 2, 3]) {
        show::line(&format!("  {line}"));
    }
    let counts = &report.counts;
    let mut parts = vec![
        format!("{} executed", show::count(counts.executed, "task")),
        format!("{} reused", show::grouped(counts.reused)),
    ];
    for (count, words) in [
        (counts.cut_off, "cut off (same contents as before)"),
        (counts.failed, "failed"),
        (counts.blocked, "not run because of that"),
        (counts.left(), "not reached"),
    ] {
        if count > 0 {
            parts.push(format!("{} {words}", show::grouped(count)));
        }
    }
    show::line(&format!(
        "run {}, the default parameters and the first item of each input: {}",
        report.run,
        parts.join(", ")
    ));
}
