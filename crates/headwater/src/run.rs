//! One run, from plan to report.
//!
//! Law: giving the same request again continues where the last one stopped; a failed task stops only what
//! needs it; whatever was finished is kept, however the run ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use headwater_enact::Enactment;
use headwater_engine::deliver::{DeliveredAll, deliver, link_last, table, values};
use headwater_engine::fetch::StoreFetcher;
use headwater_engine::limits::check_environment;
use headwater_engine::listener::{Heard, InWorkflow, Listener, address_of, failed_tasks, fate};
use headwater_engine::lock::locked;
use headwater_engine::lost::{recompute_lost, recompute_lost_inputs, wanted_products};
use headwater_engine::places::take_damage;
use headwater_engine::results_folder::{Finishing, ResultsFolder, refuse_in_store};
use headwater_engine::run::About;
use headwater_engine::temporary::{Temporary, fresh};
use headwater_engine::trace::{Trace, TraceRow};
use headwater_engine::{Error, Run, Surroundings, budget, diagram, failures, notes};
use headwater_graph::{Attempt, FailedTask, Index, RunTask, TaskId};
use headwater_report::page;
use headwater_report::run::run_report_html;

use crate::plan::{Prepared, prepare};
use crate::{Destination, RunReport, RunRequest, run_page};

/// Runs `request`, from plan to report.
pub(crate) fn run(request: &RunRequest, site: &Surroundings) -> Result<RunReport, Error> {
    check_environment()?;
    let mut run = Run::new(site.executor()?, &site.stop);
    let mut prepared = prepare(request, site, Some(&mut run))?;
    // Goes with everything in it: what it would have told is in the report.
    let aside = (request.outputs == Destination::Values).then(|| Temporary(fresh()));
    let folder = match (&aside, &request.outputs) {
        (Some(aside), _) => aside.0.clone(),
        (None, Destination::Folder(folder)) => site.results(Some(folder), run.name()),
        (None, _) => site.results(None, run.name()),
    };
    refuse_in_store(&folder, &prepared.store.place())?;
    // Held until everything is written.
    let results = ResultsFolder::take_empty(&folder)?;
    let job = WorkflowJob {
        request,
        site,
        results: &results,
    };
    let done = job.run(&mut prepared, &mut run);
    match &done {
        Ok(report) => {
            run.end(report.status(), report.counts, report.failures.is_empty());
        }
        Err(error) => run.fail(error),
    }
    done.map(|mut report| {
        // What did not succeed may go on in the same folder.
        let finishing = report.succeeded().then(|| Finishing::new(results));
        report.finishing = finishing.filter(|_| request.holds_folder);
        report
    })
}

/// What is asked of a run.
struct WorkflowJob<'a> {
    request: &'a RunRequest,
    site: &'a Surroundings,
    results: &'a ResultsFolder,
}

impl WorkflowJob<'_> {
    /// Whether outputs are given as values.
    fn gives_values(&self) -> bool {
        self.request.outputs == Destination::Values
    }

    /// Where people find the results; nowhere if they are values.
    fn folder(&self) -> PathBuf {
        if self.gives_values() {
            PathBuf::new()
        } else {
            self.results.path().to_owned()
        }
    }

    /// Everything between the plan and the end.
    fn run(&self, prepared: &mut Prepared, run: &mut Run) -> Result<RunReport, Error> {
        let fetcher = self.open(prepared, run)?;
        let about = About {
            workflow: prepared.loaded.workflow.name.to_string(),
            study: None,
            file: prepared.file(),
            tasks: prepared.enactment.counts().tasks,
            outputs: self.folder(),
            command: self.request.command.clone(),
        };
        let (facts, clock) = run.begin(about)?;
        let started = facts.started;
        self.site.progress.about(facts, clock);
        if let Some(store) = run.writable_store() {
            let _ = store.note_versions(&prepared.loaded.versions);
        }
        note(prepared, run);
        prepared.loaded.copy_used(&*prepared.store)?;
        (self.results).write("inputs.yaml", prepared.saved.as_bytes())?;
        let trace = Mutex::new(Trace::create(self.results)?);
        let (heard, trouble) = self.execute(prepared, run, &trace)?;
        let kept = run.close();
        note(prepared, run);
        let recorded = record_tasks(prepared, &heard, &trace, run);
        let mut report = self.finish(prepared, run, &heard, &fetcher)?;
        report
            .errors
            .extend(recorded.err().map(|error| error.to_string()));
        let trouble = trouble.or(kept.err());
        report.errors.extend(trouble.map(|error| error.to_string()));
        report.seconds = run.began().elapsed().as_secs_f64();
        self.write_page(prepared, run, &mut report, &heard, started);
        Ok(report)
    }

    /// Everything that can be wrong with the data is found here, before anything is written.
    fn open(&self, prepared: &mut Prepared, run: &mut Run) -> Result<StoreFetcher, Error> {
        let limits = &self.site.limits;
        let keeper = run.keep_in(&prepared.store, limits.disk, limits.memory);
        keeper.tells(&self.site.progress);
        if self.gives_values() {
            keeper.holds_wanted();
        }
        let opened = prepared.enactment.open(keeper);
        opened.map_err(|error| prepared.loaded.mistakes(&[error]))?;
        recompute_lost(&mut prepared.enactment, keeper)?;
        // Under a limit on disk what will be needed is said to be in use before room is made.
        while limits.disk.is_some() && recompute_lost_inputs(&mut prepared.enactment, keeper)? {}
        Ok(keeper.resting_fetcher())
    }

    /// Runs everything that has to run. What ended it early, if anything did, comes with what was heard until
    /// then: whatever was finished is still delivered.
    fn execute(
        &self,
        prepared: &mut Prepared,
        run: &mut Run,
        trace: &Mutex<Trace>,
    ) -> Result<(Heard, Option<Error>), Error> {
        let stages = prepared.loaded.workflow.stages.iter();
        let stages: Vec<Arc<str>> = stages.map(|stage| Arc::clone(&stage.name)).collect();
        let ledger = Arc::clone(run.ledger());
        let listener = Listener {
            progress: &self.site.progress,
            naming: &InWorkflow,
            stages: &stages,
            trace,
            ledger: &ledger,
            heard: Mutex::default(),
        };
        self.site.progress.stages(&stages);
        self.site.progress.begin(&prepared.enactment);
        run.watch(Arc::clone(&prepared.watched));
        // Outputs that only a later round asked for may turn out to be gone from the store.
        let trouble = run.make(&mut prepared.enactment, &listener)?;
        run.made(&[]);
        self.site.progress.finish();
        Ok((listener.into_heard(), trouble.map(Error::Pool)))
    }

    /// A run does not fail for want of its report.
    fn write_page(
        &self,
        prepared: &Prepared,
        run: &Run,
        report: &mut RunReport,
        heard: &Heard,
        started: i64,
    ) {
        let summary = run_page::summary(prepared, self.request, report, heard, started);
        if let Some(store) = run.writable_store() {
            let kept = run_page::remember(&summary, &**store, run.name());
            report
                .notes
                .extend(kept.err().map(|error| error.to_string()));
        }
        if self.gives_values() {
            return;
        }
        let page = run_report_html(&summary);
        match self.results.write(page::REPORT, page.as_bytes()) {
            Ok(path) => report.report = Some(path),
            Err(error) => report.notes.push(format!("there is no report: {error}")),
        }
    }

    /// Writes what came out, and says what became of everything.
    fn finish(
        &self,
        prepared: &mut Prepared,
        run: &Run,
        heard: &Heard,
        fetcher: &StoreFetcher,
    ) -> Result<RunReport, Error> {
        let (results, folder) = (self.results, self.folder());
        let failed = failed(prepared, heard);
        let DeliveredAll {
            outputs,
            missing,
            notes,
        } = deliver(
            &prepared.enactment,
            &prepared.loaded,
            &prepared.current,
            fetcher,
            (!self.gives_values()).then_some(results),
        )?;
        results.write("outputs.csv", table(&outputs, &folder).as_bytes())?;
        if !failed.is_empty() {
            let all = failures::in_words(&failed);
            results.write(failures::FAILURES, all.as_bytes())?;
        }
        if let Some(store) = run.writable_store() {
            let _ = failures::note(&**store, run.name(), &failed);
        }
        if self.request.outputs == Destination::Outputs {
            link_last(&folder);
        }
        let damage = take_damage(&*prepared.store);
        let enactment = &mut prepared.enactment;
        let mut errors: Vec<String> = enactment.errors().iter().map(ToString::to_string).collect();
        let mut counts = enactment.counts();
        let left = counts.left();
        // A wish to stop that came when everything was there has stopped nothing. What has to be made once more, because
        // there was no room for it, counts as executed and is not there.
        let is_unfinished = left > 0
            || (wanted_products(enactment).keys())
                .any(|task| !enactment.coordinator().state(*task).is_settled());
        // A helper that failed, such as the reading of an image, is not counted among the tasks, but it failed.
        counts.failed = counts.failed.max(failed.len());
        // An output that was put off, or has gone meanwhile, would have been made again.
        let stopped = run.is_stopping() && (is_unfinished || !missing.is_empty());
        if !stopped {
            errors.extend(missing);
        }
        Ok(RunReport {
            run: run.name().to_owned(),
            workflow: Arc::clone(&prepared.loaded.workflow.name),
            counts,
            left,
            seconds: 0.0,
            outputs,
            failures: failed,
            errors,
            notes: damage
                .chain(fetcher.take_notes())
                .chain(enactment.take_notes())
                .chain(budget::told(
                    enactment.coordinator(),
                    self.site.limits.memory,
                    "--memory",
                ))
                .chain(notes)
                .collect(),
            diagnostics: std::mem::take(&mut prepared.diagnostics),
            folder,
            stopped,
            report: None,
            finishing: None,
        })
    }
}

/// Notes are for explanations; a run does not fail for want of one.
fn note(prepared: &Prepared, run: &Run) {
    let Some(store) = run.writable_store() else {
        return;
    };
    let enactment = &prepared.enactment;
    let address = |task| address_of(enactment, task);
    let round = notes::WholeRound {
        enactment,
        address: &address,
        others: &|visit| enactment.for_each_other_address(visit),
    };
    let _ = notes::write(
        &**store,
        run.name(),
        &[notes::Part::Whole(round)],
        &prepared.current,
    );
    let definition = |task| {
        let (stage, name) = enactment.definition(task)?;
        Some((stage, &**name))
    };
    let part = diagram::Part {
        enactment,
        definition: &definition,
        address: &address,
    };
    let _ = diagram::note(
        &**store,
        run.name(),
        &prepared.loaded.workflow,
        &[],
        &[part],
        &[],
    );
}

fn failed(prepared: &Prepared, heard: &Heard) -> Vec<FailedTask> {
    let enactment = &prepared.enactment;
    let from = |task| values(enactment, &origin(enactment, task), &prepared.current);
    failed_tasks(enactment, &InWorkflow, &heard.failures, &from)
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
    heard: &Heard,
    trace: &Mutex<Trace>,
    run: &Run,
) -> Result<(), Error> {
    let enactment = &prepared.enactment;
    let stages = &prepared.loaded.workflow.stages;
    let ended = heard.ran.iter().filter(|ran| ran.state.last().is_some());
    let ran: BTreeMap<TaskId, (u64, u64)> = ended
        .map(|ran| (ran.task, (ran.started, ran.wall)))
        .collect();
    let mut trace = locked(trace);
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
        if !ran.contains_key(&task) {
            let stage = enactment.coordinator().stage(task);
            let stage = stage.and_then(|stage| stages.get(stage));
            let row = TraceRow {
                task: &address,
                state: Attempt::Last(state),
                stage: stage.map_or("", |stage| &stage.name),
                operation: &enactment.graph().operation_at(task).signature.name,
                recipe: enactment.graph().recipe(task),
                ran: None,
                error: "",
            };
            row.write(&mut trace);
        }
        rows.push(RunTask {
            address,
            recipe: enactment.graph().recipe(task),
            state,
            started,
            wall,
        });
    }
    let _ = trace.flush();
    if let Some(store) = run.writable_store() {
        store.put_run_tasks(run.name(), &rows)?;
    }
    Ok(())
}
