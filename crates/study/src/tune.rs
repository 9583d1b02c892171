//! A tuning run: one instance of a study, at the default parameters, so that the plan knows what tasks cost.
//!
//! Law: a tuning run is a run like any other, of one item and one parameter set on one worker; what it makes is
//! remembered, and what is remembered is not made again.

use std::sync::Arc;
use std::time::Duration;

use headwater_enact::{Capacity, DataSet, Options};
use headwater_engine::native::run_graph_in;
use headwater_engine::run::About;
use headwater_engine::{Error, Run, Surroundings};
use headwater_execute::Threads;
use headwater_graph::{FailedTask, Failure, Operation, RunStatus, Store, Tally, TaskGraph, TaskId};
use headwater_merge::Compact;

use crate::costs::{TUNE, costs_of};
use crate::instances::{Instances, Unfit, Varied};
use crate::load::{Study, StudyData};
use crate::open::{Open, open};
use crate::source::StudySource;

/// What is asked of a tuning run.
#[derive(Debug, Clone, Default)]
pub struct TuneRequest {
    /// The study.
    pub study: StudySource,
}

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
    /// How many tasks stand where.
    pub counts: Tally,
    /// What the operations cost, in the order of the instance.
    pub operations: Vec<TunedOperation>,
    /// The tasks that failed; operations stand for their addresses.
    pub failures: Vec<FailedTask>,
    /// Whether it was stopped.
    pub stopped: bool,
}

impl TuneReport {
    /// How it ended.
    pub fn status(&self) -> RunStatus {
        match (self.stopped, self.failures.is_empty()) {
            (true, _) => RunStatus::Cancelled,
            (false, true) => RunStatus::Done,
            (false, false) => RunStatus::Failed,
        }
    }
}

/// The command of a tuning run.
fn command(request: &TuneRequest, site: &Surroundings) -> Vec<String> {
    let study = request.study.path(&site.folder).display().to_string();
    let mut words = vec!["headwater".to_owned(), TUNE.to_owned(), study];
    for setting in request.study.written() {
        words.extend(["--set".to_owned(), setting]);
    }
    words
}

/// The first item of every source.
fn first_items(mut data_set: DataSet) -> DataSet {
    for column in &mut data_set.columns {
        column.items.truncate(1);
    }
    data_set
}

/// Runs one instance of a study at the default parameters, on its first item; `heard` is told of each task that ended
/// well.
pub fn tune_study(
    request: &TuneRequest,
    site: &Surroundings,
    heard: &(dyn Fn(&Arc<Operation>, Duration) + Send + Sync),
) -> Result<TuneReport, Error> {
    headwater_engine::limits::check_environment()?;
    if site.is_read_only() {
        return Err(Error::usage(
            "a tuning run remembers what it measures, and the store is read-only",
            Some("leave --read-only out".to_owned()),
        ));
    }
    let libraries = &*site.libraries;
    let mut run = Run::new(Threads::new(1), &site.stop);
    let (study, parsed) = Study::read(&request.study, site)?;
    parsed.runnable()?;
    let bound = study.bind(&parsed.workflow, libraries)?;
    let store = site.open_store()?;
    run.live_in(&store, false);
    let StudyData {
        loaded,
        data_set,
        watched,
        baseline,
    } = study.load(parsed, bound, libraries, &*store, Some(&run.uses()))?;
    run.watch(watched);
    let open = open(&study, &loaded, &first_items(data_set), &baseline)?;
    let (graph, wanted) = one_instance(&open)?;
    let operations: Vec<_> = graph
        .ids()
        .map(|task| Arc::clone(graph.operation_at(task)))
        .collect();
    let about = About {
        workflow: loaded.workflow.name.to_string(),
        study: Some(study.name().to_string()),
        file: request.study.absolute(&site.folder),
        command: command(request, site),
        ..About::default()
    };
    let (facts, clock) = run.begin(about)?;
    site.progress.about(facts, clock);
    // A note is for people; a run does not fail for want of one.
    let _ = headwater_engine::notes::write_study(&*store, run.name(), study.name());
    let options = Options {
        capacity: Capacity::cores(1),
        ..Options::default()
    };
    run.keep_in(&store, None, None);
    let ran = loaded
        .copy_used(&*store)
        .and_then(|()| run_graph_in(&mut run, graph, &wanted, options, heard));
    let ran = ran.inspect_err(|error| run.fail(error))?;
    let failed = |(task, failure): &(TaskId, Failure)| FailedTask {
        address: ran
            .enactment
            .graph()
            .operation_at(*task)
            .signature
            .name
            .to_string(),
        failure: failure.clone(),
        attempts: 1,
        blocked: 0,
        from: Vec::new(),
    };
    let mut report = TuneReport {
        run: run.name().to_owned(),
        counts: ran.counts,
        operations: Vec::new(),
        failures: ran.failures.iter().map(failed).collect(),
        stopped: site.stop.is_stopping(),
    };
    run.end(report.status(), ran.counts, report.failures.is_empty());
    report.operations = measured(&operations, &*store)?;
    Ok(report)
}

/// The tasks of one instance, with everything at its default; those that are wanted are all of them.
fn one_instance(open: &Open) -> Result<(TaskGraph, Vec<TaskId>), Error> {
    let nothing_varies = Varied {
        sets: 1,
        ..Varied::default()
    };
    let unfit = |unfit: Unfit| {
        Error::usage(
            format!("parameter `{}` does not fit", unfit.parameter),
            None,
        )
    };
    let instances = Instances::new(&open.graph, &open.blueprint, &nothing_varies).map_err(unfit)?;
    let compact = Compact::new(&instances.template, &instances.sets);
    let (graph, mut tasks) = instances
        .tasks(&compact, &open.graph)
        .map_err(|error| Error::usage(error.to_string(), None))?;
    tasks.sort_unstable();
    tasks.dedup();
    Ok((graph, tasks))
}

/// What is remembered of the costs of operations, in their order.
fn measured(
    operations: &[Arc<Operation>],
    store: &dyn Store,
) -> Result<Vec<TunedOperation>, Error> {
    let asked: Vec<_> = operations.iter().collect();
    let mut costs = costs_of(&asked, store)?;
    let place = |name: &Arc<str>| {
        let mut known = operations.iter();
        known.position(|known| known.signature.name == *name)
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
    Ok(tuned.collect())
}
