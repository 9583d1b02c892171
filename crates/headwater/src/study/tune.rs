//! A tuning run: one instance of a study, at the default parameters, so that the plan knows what tasks cost.
//!
//! Law: a tuning run is a run like any other, of one item and one parameter set on one worker; what it makes is
//! remembered, and what is remembered is not made again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_enact::{Capacity, DataSet, Options};
use headwater_execute::{Failure, Stop};
use headwater_graph::{Registry, TaskId};
use headwater_merge::Compact;
use headwater_remember::{RunCounts, RunRecord, RunStatus};

use super::costs::costs_of;
use super::instances::{Instances, Varied};
use super::load::{Study, StudyData};
use super::plan::open;
use crate::{Error, StorePlace};

/// What is asked of a tuning run.
#[derive(Debug, Clone, Default)]
pub struct TuneRequest {
    /// The study file.
    pub study: PathBuf,
    /// The store that products are kept in.
    pub store: StorePlace,
}

/// What stands in the list of runs in the place of a command.
const COMMAND: &str = "tune";

/// What an operation has cost.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedOperation {
    /// Its name.
    pub operation: Arc<str>,
    /// How many executions are remembered.
    pub executions: usize,
    /// What one takes, in seconds.
    pub seconds: f64,
    /// The bytes of what it makes.
    pub bytes: u64,
}

/// What a tuning run came to.
#[derive(Debug)]
pub struct TuneReport {
    /// The run.
    pub run: String,
    /// How many tasks were executed; the others were remembered.
    pub executed: usize,
    /// How many tasks an instance has, with its reference.
    pub tasks: usize,
    /// What the operations cost, in the order of the instance.
    pub operations: Vec<TunedOperation>,
    /// The operations whose tasks failed, and why.
    pub failures: Vec<(Arc<str>, Failure)>,
    /// Whether it was stopped.
    pub stopped: bool,
}

/// Whether a run was a tuning run.
pub(super) fn is_tuning(run: &RunRecord) -> bool {
    run.command.get(1).is_some_and(|command| command == COMMAND)
}

/// The first item of every source.
fn first_items(mut data_set: DataSet) -> DataSet {
    for column in &mut data_set.columns {
        column.items.truncate(1);
    }
    data_set
}

/// Runs one instance of a study at the default parameters, on its first item.
pub fn tune_study(
    request: &TuneRequest,
    libraries: &Registry,
    current: &Path,
    stop: &Stop,
) -> Result<TuneReport, Error> {
    if request.store.read_only {
        return Err(Error::usage(
            "a tuning run remembers what it measures, and the store is read-only",
            Some("leave --read-only out".to_owned()),
        ));
    }
    let (study, parsed) = Study::read(&request.study, libraries)?;
    parsed.runnable()?;
    let bound = study.bind(&parsed.workflow, libraries)?;
    let store = crate::open_store(&request.store, current)?;
    let run = crate::identifier::new_run();
    let StudyData {
        loaded,
        data_set,
        baseline,
        ..
    } = study.load(parsed, bound, libraries, &store, Some(&run))?;
    let open = open(&study, &loaded, &first_items(data_set), &baseline)?;
    let nothing_varies = Varied {
        sets: 1,
        ..Varied::default()
    };
    let stages = loaded.workflow.stages.len();
    let instances =
        Instances::new(&open.graph, &open.blueprint, &nothing_varies, stages).map_err(|unfit| {
            Error::usage(
                format!("parameter `{}` does not fit", unfit.parameter),
                None,
            )
        })?;
    let mut last = Vec::new();
    let compact = Compact::with(&instances.template, &instances.sets, |_, nodes| {
        last = nodes.to_vec();
    });
    let (graph, tasks) = instances
        .tasks(&compact, &open.graph)
        .map_err(|error| Error::usage(error.to_string(), None))?;
    let mut wanted: Vec<TaskId> = last.iter().map(|node| tasks[*node as usize]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let operations: Vec<_> = graph
        .ids()
        .map(|task| Arc::clone(graph.operation_at(task)))
        .collect();
    let counted = operations
        .iter()
        .filter(|operation| !operation.signature.implicit)
        .count();
    let record = RunRecord {
        id: run.clone(),
        workflow: loaded.workflow.name.to_string(),
        file: std::path::absolute(&request.study).unwrap_or_else(|_| request.study.clone()),
        started: crate::identifier::now(),
        ended: None,
        status: RunStatus::Running,
        tasks: counted as u64,
        executed: 0,
        reused: 0,
        failed: 0,
        outputs: PathBuf::new(),
        command: vec![
            "headwater".to_owned(),
            COMMAND.to_owned(),
            request.study.display().to_string(),
        ],
    };
    store.begin_run(&record)?;
    let ended = |status, executed: usize, failed: usize| {
        let counts = RunCounts {
            tasks: counted as u64,
            executed: executed as u64,
            reused: counted.saturating_sub(executed + failed) as u64,
            failed: failed as u64,
        };
        let _ = store.end_run(&run, status, counts);
        let _ = store.remove_staging(&run);
    };
    let options = Options {
        capacity: Capacity::cores(1),
        ..Options::default()
    };
    let ran = loaded.copy_used(&store).and_then(|()| {
        let kept = Some((Arc::clone(&store), run.as_str()));
        crate::native::run_until(graph, &wanted, options, kept, stop)
    });
    let ran = ran.inspect_err(|_| ended(RunStatus::Failed, 0, 0))?;
    let status = match (stop.is_stopping(), ran.failures.is_empty()) {
        (true, _) => RunStatus::Cancelled,
        (false, true) => RunStatus::Done,
        (false, false) => RunStatus::Failed,
    };
    ended(status, ran.counts.executed, ran.failures.len());
    let asked: Vec<_> = operations.iter().collect();
    let mut costs = costs_of(&asked, &store)?;
    let place = |name: &Arc<str>| {
        operations
            .iter()
            .position(|known| known.signature.name == *name)
    };
    costs.sort_by_key(|((name, _), _)| place(name));
    let tuned = costs.into_iter().filter_map(|((operation, _), cost)| {
        let cost = cost?;
        Some(TunedOperation {
            operation,
            executions: cost.executions,
            seconds: cost.wall as f64 / 1e9,
            bytes: cost.output_bytes,
        })
    });
    let failed = |(task, failure): &(TaskId, Failure)| {
        let operation = ran.enactment.graph().operation_at(*task);
        (Arc::clone(&operation.signature.name), failure.clone())
    };
    Ok(TuneReport {
        run: run.clone(),
        executed: ran.counts.executed,
        tasks: counted,
        operations: tuned.collect(),
        failures: ran.failures.iter().map(failed).collect(),
        stopped: stop.is_stopping(),
    })
}
