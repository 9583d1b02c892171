//! One run, from plan to report.
//!
//! Law: giving the same request again continues where the last one stopped; a failed task stops only what
//! needs it; whatever was finished is kept, however the run ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use headwater_enact::{Counts, Enactment};
use headwater_engine::deliver::{DeliveredAll, deliver, link_last, table, values};
use headwater_engine::failed::FailedTask;
use headwater_engine::fetch::StoreFetcher;
use headwater_engine::keep::StoreKeeper;
use headwater_engine::limits::check_environment;
use headwater_engine::lost::{recompute_lost, recompute_lost_inputs};
use headwater_engine::places::{Places, end_run, tidy_work, told_damage};
use headwater_engine::progress::{Clock, Listener, RunFacts, TraceRow, address_of, fate};
use headwater_engine::results_folder::ResultsFolder;
use headwater_engine::trace::Trace;
use headwater_engine::{Error, Progress, budget, diagram, notes};
use headwater_execute::{Pool, PoolError, Stop};
use headwater_graph::{Index, Registry, TaskId};
use headwater_remember::{RunRecord, RunStatus, RunTask, Store};
use headwater_report::page;
use headwater_report::run::run_report_html;

use crate::plan::{Prepared, prepare};
use crate::{RunReport, RunRequest, run_page};

/// Runs `request` until everything has ended or `stop` is asked for.
///
/// `libraries` has the operations that the workflow may use besides its own. Outputs, the store and a data file are
/// looked for in `current`, unless the request says where. Who has a clone of `progress` sees how far it is, and who has
/// one of `stop` can end it; what was finished is kept.
///
/// ```
/// use headwater::graph::Registry;
/// use headwater::runs::Delivered;
/// use headwater::{Progress, RunRequest, Stop};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(folder.join("greet.yaml"), r#"
/// headwater: 1
/// workflow: greet
/// parameters: {name: {type: text, default: world}}
/// stages:
///   greet:
///     tasks: [{op: say, params: {name: $name}, out: {line: line}}]
/// outputs: {greeting: line}
/// operations:
///   say:
///     shell: printf 'hello %s' {param.name} > {out.line}
///     params: {name: text}
///     outputs: {line: {type: file, path: line.txt}}
/// "#)?;
/// let request = RunRequest {
///     flow: folder.join("greet.yaml"),
///     settings: vec!["name=you".to_owned()],
///     ..RunRequest::default()
/// };
/// let report = headwater::run(&request, &Registry::new(), folder, &Progress::default(), &Stop::default())?;
///
/// // Reading the report: what failed, what came out, and how much had to be done.
/// for failed in &report.failures {
///     eprintln!("{}", failed.description());
/// }
/// let greeting = &report.outputs["greeting"][0];
/// let Delivered::Path(path) = &greeting.what else { panic!("a file") };
/// assert_eq!(std::fs::read_to_string(path)?, "hello you");
/// assert_eq!((report.counts.executed, report.counts.reused()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    request: &RunRequest,
    libraries: &Registry,
    current: &Path,
    progress: &Progress,
    stop: &Stop,
) -> Result<RunReport, Error> {
    let began = Instant::now();
    check_environment()?;
    let run = headwater_engine::identifier::new_run();
    let mut prepared = prepare(request, libraries, &request.store, current, Some(&run))?;
    let store = Arc::clone(&prepared.store);
    if !request.store.read_only {
        tidy_work(&store);
    }
    // Held until everything is written.
    let results = ResultsFolder::take_empty(&match &request.outputs {
        Some(folder) => current.join(folder),
        None => current.join("outputs").join(&run),
    })?;
    let folder = results.path().to_owned();
    budget::keep_to(request.limits.memory);
    let room = budget::for_store(request.limits.memory);
    let mut keeper = StoreKeeper::within(Arc::clone(&store), &run, request.limits.disk, room);
    // Everything that can be wrong with the data is found here, before anything is written.
    let opened = prepared
        .enactment
        .open(&mut keeper)
        .map_err(|error| prepared.loaded.mistakes(&[error]));
    let opened = opened.and_then(|()| {
        recompute_lost(&mut prepared.enactment, &mut keeper)?;
        // Under a limit on disk what will be needed is said to be in use before room is made.
        while request.limits.disk.is_some()
            && recompute_lost_inputs(&mut prepared.enactment, &mut keeper)?
        {}
        Ok(())
    });
    if let Err(error) = opened {
        let _ = keeper.close();
        return Err(error);
    }
    let read_only = request.store.read_only;
    let record = RunRecord {
        id: run.clone(),
        workflow: prepared.loaded.workflow.name.to_string(),
        file: std::path::absolute(&request.flow).unwrap_or_else(|_| request.flow.clone()),
        started: headwater_engine::identifier::now(),
        tasks: prepared.enactment.counts().tasks as u64,
        outputs: folder.clone(),
        command: request.command.clone(),
        ..RunRecord::default()
    };
    let facts = RunFacts {
        run: run.clone(),
        workflow: record.workflow.clone(),
        study: None,
        started: record.started,
        cores: prepared.cores,
        folder: folder.clone(),
    };
    progress.about(facts, Clock::start(began, store.written()));
    if !read_only {
        store.begin_run(&record)?;
        let _ = store.note_versions(&prepared.loaded.versions);
        note(&store, &run, &prepared, current);
    }
    let places = Places::new(&store, &run, read_only);
    if let Err(error) = prepared.loaded.copy_used(&store) {
        let _ = keeper.close();
        let counts = prepared.enactment.counts();
        end_run(&store, read_only, &run, RunStatus::Failed, counts);
        places.forget(true);
        return Err(error);
    }
    let fetcher = keeper.resting_fetcher();
    let inputs = results.write("inputs.yaml", prepared.saved.as_bytes());
    let executed = inputs.and_then(|_| {
        let (prepared, keeper) = (&mut prepared, &mut keeper);
        execute(prepared, keeper, progress, stop, &places, &results)
    });
    let kept = keeper.close();
    let kept = kept.map_err(|error| Error::Pool(PoolError::Keeper(error)));
    let ended = executed.and_then(|(listener, trouble)| {
        if !read_only {
            note(&store, &run, &prepared, current);
        }
        let mut report = finish(
            &mut prepared,
            request,
            &listener,
            &fetcher,
            &run,
            &results,
            stop,
        )?;
        let trouble = trouble.or(kept.err());
        report.errors.extend(trouble.map(|error| error.to_string()));
        Ok((report, listener))
    });
    let (mut report, listener) = ended.inspect_err(|_| {
        let counts = prepared.enactment.counts();
        end_run(&store, read_only, &run, RunStatus::Failed, counts);
    })?;
    report.seconds = began.elapsed().as_secs_f64();
    let summary = run_page::summary(&prepared, request, &report, &listener, record.started);
    if !read_only {
        let kept = run_page::remember(&summary, &store, &run);
        report
            .notes
            .extend(kept.err().map(|error| error.to_string()));
    }
    // A run does not fail for want of its report.
    let page = run_report_html(&summary);
    match results.write(page::REPORT, page.as_bytes()) {
        Ok(path) => report.report = Some(path),
        Err(error) => report.notes.push(format!("there is no report: {error}")),
    }
    let status = report.status();
    end_run(&store, read_only, &report.run, status, report.counts);
    places.forget(report.failures.is_empty());
    // What was stopped may go on in the same folder.
    if !report.stopped {
        results.finish();
    }
    Ok(report)
}

/// Notes are for explanations; a run does not fail for want of one.
fn note(store: &Store, run: &str, prepared: &Prepared, current: &Path) {
    let enactment = &prepared.enactment;
    let address = |task| address_of(enactment, task);
    let round = notes::Round {
        enactment,
        address: &address,
        others: &|visit| enactment.for_each_other_address(visit),
    };
    let _ = notes::write(store, run, &[notes::Part::Whole(round)], current);
    let definition = |task| {
        let (stage, name) = enactment.definition(task)?;
        Some((stage, &**name))
    };
    let part = diagram::Part {
        enactment,
        definition: &definition,
        address: &address,
    };
    let _ = diagram::note(store, run, &prepared.loaded.workflow, &[], &[part], &[]);
}

/// Runs everything that has to run. What ended it early, if anything did, comes with what was heard until
/// then: whatever was finished is still delivered.
fn execute(
    prepared: &mut Prepared,
    keeper: &mut StoreKeeper,
    progress: &Progress,
    stop: &Stop,
    places: &Places,
    results: &ResultsFolder,
) -> Result<(Listener, Option<Error>), Error> {
    let trace = Trace::create(results)?;
    let stages = prepared.loaded.workflow.stages.iter();
    let listener = Listener {
        progress: progress.clone(),
        stages: stages.map(|stage| Arc::clone(&stage.name)).collect(),
        trace: Mutex::new(Some(trace)),
        failures: Mutex::new(Vec::new()),
        tasks: Mutex::new(Vec::new()),
    };
    progress.begin(&listener.stages, &prepared.enactment);
    let pool = Pool {
        workers: prepared.cores,
        commands: places.commands(Arc::clone(&prepared.watched)),
        scratch: places.spilled(),
        stop: stop.clone(),
        files: Some(Arc::new(keeper.resting_fetcher())),
        deliver: Vec::new(),
    };
    let mut ran = pool.run(&mut prepared.enactment, keeper, &listener, true);
    // Outputs that only a later round asked for may turn out to be gone from the store.
    while ran.is_ok() && !stop.is_stopping() && recompute_lost(&mut prepared.enactment, keeper)? {
        ran = pool.run(&mut prepared.enactment, keeper, &listener, true);
    }
    progress.finish();
    Ok((listener, ran.err().map(Error::Pool)))
}

fn finish(
    prepared: &mut Prepared,
    request: &RunRequest,
    listener: &Listener,
    fetcher: &StoreFetcher,
    run: &str,
    results: &ResultsFolder,
    stop: &Stop,
) -> Result<RunReport, Error> {
    let folder = results.path().to_owned();
    let failures = failures(prepared, listener);
    let DeliveredAll {
        outputs,
        missing,
        notes,
    } = deliver(
        &prepared.enactment,
        &prepared.loaded,
        &prepared.current,
        fetcher,
        results,
    )?;
    results.write("outputs.csv", table(&outputs, &folder).as_bytes())?;
    if !failures.is_empty() {
        let all: Vec<String> = failures.iter().map(FailedTask::description).collect();
        let all = all.join("\n\n") + "\n";
        results.write("failures.txt", all.as_bytes())?;
    }
    if request.outputs.is_none() {
        link_last(&folder);
    }
    let mut damage = prepared.store.take_damage();
    damage.sort();
    damage.dedup();
    let recorded = record_tasks(prepared, listener, run, request.store.read_only);
    let enactment = &mut prepared.enactment;
    let mut errors: Vec<String> = enactment.errors().iter().map(ToString::to_string).collect();
    errors.extend(missing);
    errors.extend(recorded.err().map(|error| error.to_string()));
    let mut counts = enactment.counts();
    let left = left(&counts);
    // A helper that failed, such as the reading of an image, is not counted among the tasks, but it failed.
    counts.failed = counts.failed.max(failures.len());
    Ok(RunReport {
        run: run.to_owned(),
        workflow: Arc::clone(&prepared.loaded.workflow.name),
        counts,
        left,
        seconds: 0.0,
        outputs,
        failures,
        errors,
        notes: told_damage(damage)
            .chain(fetcher.take_notes())
            .chain(enactment.take_notes())
            .chain(budget::told(
                enactment.coordinator(),
                request.limits.memory,
                "--memory",
            ))
            .chain(notes)
            .collect(),
        diagnostics: std::mem::take(&mut prepared.diagnostics),
        folder,
        // A wish to stop that came when everything was there has stopped nothing.
        stopped: stop.is_stopping() && left > 0,
        report: None,
    })
}

/// How many tasks were not come to.
fn left(counts: &Counts) -> usize {
    let ended = counts.executed + counts.failed + counts.blocked + counts.cut_off;
    counts.tasks.saturating_sub(counts.reused() + ended)
}

fn failures(prepared: &Prepared, listener: &Listener) -> Vec<FailedTask> {
    let mut blocked: BTreeMap<TaskId, usize> = BTreeMap::new();
    let enactment = &prepared.enactment;
    for (task, cause) in enactment.blocked() {
        if enactment.graph().operation_at(*task).signature.implicit {
            continue;
        }
        *blocked.entry(*cause).or_default() += 1;
    }
    let mut seen = listener
        .failures
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    // In the order of the workflow, not of arrival.
    seen.sort_by_key(|seen| seen.task);
    seen.iter()
        .map(|seen| FailedTask {
            address: address_of(enactment, seen.task),
            failure: seen.failure.clone(),
            attempts: seen.attempts,
            blocked: blocked.get(&seen.task).copied().unwrap_or(0),
            from: values(enactment, &origin(enactment, seen.task), &prepared.current),
        })
        .collect()
}

/// The inputs behind a task; those of its first reader for one that the engine added.
fn origin(enactment: &Enactment, task: TaskId) -> Vec<(Arc<str>, Index)> {
    let mut task = task;
    loop {
        if let Some(origin) = enactment.origin(task) {
            return origin.inputs;
        }
        // Readers come later in the graph, so this ends.
        match enactment.coordinator().first_reader(task) {
            Some(reader) => task = reader,
            None => return Vec::new(),
        }
    }
}

/// Says in the trace and in the store what became of every task.
fn record_tasks(
    prepared: &Prepared,
    listener: &Listener,
    run: &str,
    read_only: bool,
) -> Result<(), Error> {
    let enactment = &prepared.enactment;
    let ran: BTreeMap<TaskId, (u64, u64)> = {
        let tasks = listener
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tasks
            .iter()
            .filter(|ran| ran.is_final())
            .map(|ran| (ran.task, (ran.started, ran.wall)))
            .collect()
    };
    let mut trace = listener
        .trace
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut rows = Vec::new();
    for task in enactment
        .graph()
        .ids()
        .filter(|task| enactment.coordinator().stage(*task).is_some())
    {
        let Some(state) = fate(enactment, task) else {
            continue;
        };
        let address = enactment
            .address(task)
            .map(|address| address.text)
            .unwrap_or_default();
        let (started, wall) = ran.get(&task).copied().unwrap_or((0, 0));
        if let Some(trace) = trace.as_mut().filter(|_| !ran.contains_key(&task)) {
            let stage = enactment.coordinator().stage(task);
            let stage = stage.and_then(|stage| listener.stages.get(stage));
            let row = TraceRow {
                task: &address,
                state: state.name(),
                stage: stage.map_or("", |name| name),
                operation: &enactment.graph().operation_at(task).signature.name,
                recipe: enactment.graph().recipe(task),
                ran: None,
                error: "",
            };
            row.write(trace);
        }
        rows.push(RunTask {
            address,
            recipe: enactment.graph().recipe(task),
            state,
            started,
            wall,
        });
    }
    if let Some(mut trace) = trace.take() {
        let _ = trace.flush();
    }
    if !read_only {
        prepared.store.put_run_tasks(run, &rows)?;
    }
    Ok(())
}
