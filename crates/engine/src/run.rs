//! A run, from its beginning to its end: of a workflow, a study, a sequence of calls or a graph.
//!
//! Law: what was begun is ended. Whoever runs something says how it ended with [`Run::end`]; a run that is let go of
//! before, by an error on the way or a panic, closes its keeper, so that whatever was finished is kept, and is recorded
//! as failed with its reason. Only a process that is killed leaves a run that was not ended, and it is shown as
//! interrupted.
//!
//! One is made, gets a store to live in ([`Run::live_in`]) and one for its products ([`Run::keep_in`]), begins
//! ([`Run::begin`]), has its executor do what an enactment wants ([`Run::round`], [`Run::make`]), as often as there is
//! something to do, and ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_enact::Enactment;
use headwater_execute::{Executor, Keeper, Observer, PoolError, Round, Stop, Watched};
use headwater_graph::progress::RunFacts;
use headwater_graph::{Outputs, ReadFile, RunRecord, RunStatus, Store, Tally, TaskId};

use crate::keep::StoreKeeper;
use crate::ledger::Ledger;
use crate::lost::recompute_lost;
use crate::places::{Places, end_run, tidy_work};
use crate::progress::Clock;
use crate::temporary::{self, Temporary};
use crate::{Error, budget, identifier};

/// How long is waited for a group before it is looked whether the run is to stop.
const A_MOMENT: Duration = Duration::from_millis(200);

/// What a run is about, for the list of runs and for those who watch.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The name of the workflow, or of the program.
    pub workflow: String,
    /// The name of the study, if it is one.
    pub study: Option<String>,
    /// The file that was given.
    pub file: PathBuf,
    /// How many tasks are known.
    pub tasks: usize,
    /// Where outputs go.
    pub outputs: PathBuf,
    /// The command line.
    pub command: Vec<String>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing is recorded.
    Planned,
    Begun,
    Ended,
}

/// A run.
pub struct Run {
    name: String,
    began: Instant,
    executor: Box<dyn Executor>,
    stop: Stop,
    store: Option<Arc<dyn Store>>,
    read_only: bool,
    keeper: Option<StoreKeeper>,
    places: Places,
    /// A folder that goes with it, made when it is needed.
    scratch: Temporary,
    watched: Arc<Watched>,
    stage: Standing,
    /// As they were when they were last looked at.
    counts: Tally,
    /// When times of tasks are counted from.
    origin: Option<Instant>,
    ledger: Arc<Ledger>,
}

impl Run {
    /// A new run, from now on. As long as it lives nowhere else, the files of its tasks lie in a folder that goes with
    /// it.
    pub fn new(executor: impl Into<Box<dyn Executor>>, stop: &Stop) -> Run {
        Run::named(identifier::new_run(), executor, stop)
    }

    /// The same, under a name that somebody else has chosen.
    pub fn named(name: String, executor: impl Into<Box<dyn Executor>>, stop: &Stop) -> Run {
        let scratch = Temporary(temporary::fresh());
        Run {
            name,
            began: Instant::now(),
            executor: executor.into(),
            stop: stop.clone(),
            store: None,
            read_only: false,
            keeper: None,
            places: Places::apart(&scratch.0),
            scratch,
            watched: Arc::default(),
            stage: Standing::Planned,
            counts: Tally::default(),
            origin: None,
            ledger: Arc::default(),
        }
    }

    /// It is recorded in this store, and the files of its tasks lie there, unless nothing may be written to it.
    pub fn live_in(&mut self, store: &Arc<dyn Store>, read_only: bool) {
        if !read_only {
            tidy_work(&**store);
        }
        self.places = Places::new(&**store, &self.name, read_only);
        self.store = Some(Arc::clone(store));
        self.read_only = read_only;
    }

    /// Products are looked up and kept in this store, which may take at most `disk` bytes; they take their share of
    /// `memory` on their way.
    pub fn keep_in(
        &mut self,
        store: &Arc<dyn Store>,
        disk: Option<u64>,
        memory: Option<u64>,
    ) -> &mut StoreKeeper {
        budget::keep_to(memory);
        let room = budget::for_store(memory);
        let mut keeper = StoreKeeper::within(Arc::clone(store), &self.name, disk, room);
        keeper.ends_with(&self.stop);
        self.keeper.insert(keeper)
    }

    /// The files of the user that tasks read, as they were when they were digested.
    pub fn watch(&mut self, watched: Arc<Watched>) {
        self.watched = watched;
    }

    /// Its name: no other has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name, if it is in the list of runs: what may not write to its store is not.
    pub fn listed(&self) -> Option<&str> {
        self.is_recorded().then_some(&*self.name)
    }

    /// When it began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Whether somebody wants it to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_stopping()
    }

    /// Where it is recorded.
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }

    /// The same, if something may be written there.
    pub fn writable_store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref().filter(|_| !self.read_only)
    }

    /// A folder that goes with it; it is not made.
    pub fn scratch(&self) -> &Path {
        &self.scratch.0
    }

    /// The same, for whoever outlives the run.
    pub fn take_scratch(&mut self) -> Temporary {
        std::mem::replace(&mut self.scratch, Temporary(PathBuf::new()))
    }

    /// Where copies of the files lie that its programs use.
    pub fn uses(&self) -> PathBuf {
        self.places.uses()
    }

    /// Who keeps products, if somebody does.
    pub fn keeper(&mut self) -> Option<&mut StoreKeeper> {
        self.keeper.as_mut()
    }

    /// Whether products are looked up and kept.
    pub fn remembers(&self) -> bool {
        self.keeper.is_some()
    }

    /// Where its tasks are noted as they end.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Who runs its tasks.
    pub fn executor(&self) -> &dyn Executor {
        &*self.executor
    }

    /// The same, to let go of what is in memory.
    pub fn executor_mut(&mut self) -> &mut dyn Executor {
        &mut *self.executor
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        self.stage == Standing::Ended
    }

    fn is_recorded(&self) -> bool {
        self.stage != Standing::Planned && self.writable_store().is_some()
    }

    /// Begins: from now on it is in the list of runs. Gives the facts for those who watch.
    pub fn begin(&mut self, about: About) -> Result<(RunFacts, Clock), Error> {
        let record = RunRecord {
            id: self.name.clone(),
            workflow: about.workflow,
            file: about.file,
            started: identifier::now(),
            tasks: about.tasks as u64,
            outputs: about.outputs,
            command: about.command,
            host: identifier::host(),
            user: identifier::user(),
            ..RunRecord::default()
        };
        if let Some(store) = self.writable_store() {
            store.begin_run(&record)?;
            self.ledger = Arc::new(Ledger::of(store, &self.name));
        }
        self.stage = Standing::Begun;
        let store = self.store.as_ref();
        let written = store.map(|store| store.written()).unwrap_or_default();
        let facts = RunFacts {
            run: record.id,
            workflow: record.workflow,
            study: about.study,
            started: record.started,
            cores: self.executor.cores(),
            folder: record.outputs,
        };
        Ok((facts, Clock::start(self.began, written)))
    }

    /// Times of tasks are counted from when it began, not from the first round.
    pub fn count_from_beginning(&mut self) {
        self.origin = Some(self.began);
    }

    /// Has everything done that the enactment wants. Outputs of the tasks in `deliver` stay until they are
    /// [taken](Self::made); all rounds of one enactment name the same.
    pub fn round(
        &mut self,
        enactment: &mut Enactment,
        observer: &dyn Observer,
        deliver: &[TaskId],
    ) -> Result<(), PoolError> {
        let mut round = Round::new(enactment, observer, self.places.folders());
        round.began = *self.origin.get_or_insert(round.began);
        round.stop = self.stop.clone();
        round.watched = Arc::clone(&self.watched);
        round.deliver = deliver;
        if let Some(keeper) = &mut self.keeper {
            let files: Arc<dyn ReadFile> = Arc::new(keeper.resting_fetcher());
            round.files = Some(files);
            round.keeper = Some(keeper as &mut dyn Keeper);
        }
        let ran = self.executor.run(round);
        self.counts = enactment.counts();
        ran
    }

    /// The same, and what is wanted and cannot be had afterwards is made again. What ended it early, if anything did,
    /// is no error: whatever was finished is there.
    pub fn make(
        &mut self,
        enactment: &mut Enactment,
        observer: &dyn Observer,
    ) -> Result<Option<PoolError>, Error> {
        let mut ran = self.round(enactment, observer, &[]);
        while ran.is_ok()
            && !self.stop.is_stopping()
            && let Some(keeper) = &mut self.keeper
            && recompute_lost(enactment, keeper)?
        {
            ran = self.round(enactment, observer, &[]);
        }
        Ok(ran.err())
    }

    /// The outputs of these tasks, which were to be delivered. Nothing else stays in memory: the next round is of another
    /// enactment.
    pub fn made(&mut self, deliver: &[TaskId]) -> Vec<(TaskId, Arc<Outputs>)> {
        let mut made = Vec::new();
        for task in deliver {
            made.extend(self.executor.take(*task).map(|outputs| (*task, outputs)));
        }
        self.executor.clear();
        made
    }

    /// How many tasks stand where, over all rounds so far.
    pub fn count(&mut self, counts: Tally) {
        self.counts = counts;
    }

    /// Waits until everything that was finished is durable. Nothing is kept afterwards.
    pub fn close(&mut self) -> Result<(), Error> {
        match self.keeper.take().map(StoreKeeper::close) {
            Some(Err(error)) => Err(Error::Pool(PoolError::Keeper(error))),
            Some(Ok(())) => {
                self.settle();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Waits for a group that cannot be reached, as long as was asked for: what is made here is to be known there.
    fn settle(&self) {
        let Some(behind) = self.writable_store().and_then(|store| store.behind()) else {
            return;
        };
        let end = Instant::now() + behind.patience();
        while behind.settle(A_MOMENT).products > 0
            && Instant::now() < end
            && !self.stop.is_stopping()
        {}
        behind.tell_waiting();
    }

    /// Ends it. Folders of tasks are kept for those who want to look into them, unless nothing failed.
    pub fn end(&mut self, status: RunStatus, counts: Tally, nothing_failed: bool) {
        self.counts = counts;
        self.finish(status, nothing_failed, "");
    }

    /// Ends it because of an error.
    pub fn fail(&mut self, error: &Error) {
        let nothing_failed = self.counts.failed == 0;
        self.finish(RunStatus::Failed, nothing_failed, &error.to_string());
    }

    fn finish(&mut self, status: RunStatus, nothing_failed: bool, reason: &str) {
        let _ = self.close();
        if self.stage == Standing::Begun {
            if let Some(store) = self.writable_store() {
                end_run(&**store, &self.name, status, self.counts, reason);
            }
            self.stage = Standing::Ended;
        }
        self.places.forget(nothing_failed);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.stage != Standing::Ended {
            let reason = if std::thread::panicking() {
                "the engine stopped because of a bug of its own"
            } else {
                "it was given up before its end"
            };
            self.finish(RunStatus::Failed, self.counts.failed == 0, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_execute::Threads;
    use headwater_graph::Mode;

    use super::*;

    /// A run that was begun, in a store of its own.
    fn begun(folder: &Path) -> (Arc<dyn Store>, Run) {
        let store =
            headwater_remember::open(&folder.join(".headwater"), Mode::ReadWrite).expect("a store");
        let mut run = Run::new(Threads::new(1), &Stop::default());
        run.live_in(&store, false);
        run.keep_in(&store, None, None);
        run.begin(About::default()).expect("it begins");
        (store, run)
    }

    /// How the only run of a store stands, and why.
    fn only(store: &dyn Store) -> (RunStatus, String) {
        let runs = store.runs(2).expect("they can be read");
        let [run] = runs.as_slice() else {
            panic!("one run: {runs:?}");
        };
        assert!(!run.host.is_empty() && !run.user.is_empty());
        (run.status, run.reason.clone())
    }

    #[test]
    fn a_run_that_was_begun_ends_on_every_path() {
        type Path<'a> = (&'a dyn Fn(Run), RunStatus, &'a str);
        let error = || Error::Failed("no room".to_owned());
        let paths: [Path<'_>; 4] = [
            (
                &|mut run| run.end(RunStatus::Done, Tally::default(), true),
                RunStatus::Done,
                "",
            ),
            (&|mut run| run.fail(&error()), RunStatus::Failed, "no room"),
            (
                &drop::<Run>,
                RunStatus::Failed,
                "it was given up before its end",
            ),
            (
                &|run| {
                    let panic = std::panic::AssertUnwindSafe(|| {
                        let _run = run;
                        std::panic::resume_unwind(Box::new("oh"));
                    });
                    assert!(std::panic::catch_unwind(panic).is_err());
                },
                RunStatus::Failed,
                "the engine stopped because of a bug of its own",
            ),
        ];
        for (path, status, reason) in paths {
            let folder = tempfile::tempdir().expect("a folder");
            let (store, run) = begun(folder.path());
            let staging = store.run_folders(run.name()).staging;
            assert!(staging.is_dir());
            assert_eq!(only(&*store).0, RunStatus::Running);
            path(run);
            assert_eq!(only(&*store), (status, reason.to_owned()));
            assert!(!staging.exists(), "what it needed is gone");
        }
    }

    #[test]
    fn a_run_that_was_not_begun_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = headwater_remember::open(&folder.path().join(".headwater"), Mode::ReadWrite);
        let store = store.expect("a store");
        let mut run = Run::new(Threads::new(1), &Stop::default());
        run.live_in(&store, false);
        drop(run);
        assert_eq!(store.runs(1).expect("they can be read"), []);
    }
}
