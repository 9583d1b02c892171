//! Who runs the tasks of a sequence.
//!
//! Law: an executor does what the enactment says until nothing that was asked for is left to do, and has the outputs
//! that the enactment believes are in memory. The program gets handles and asks for bytes when it wants them; what one
//! task makes goes to the next without passing through the program.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use headwater_enact::Enactment;
use headwater_execute::{
    CommandSettings, Keeper, NothingKept, Observer, PlainFiles, Pool, PoolError, Session, Stop,
    Watched,
};
use headwater_graph::{ReadFile, TaskId, Value};

/// Where the files of programs lie while they run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Folders {
    /// Where programs run.
    pub work: PathBuf,
    /// Where files that tasks made lie until they are stored.
    pub staging: PathBuf,
    /// Where what programs say is kept.
    pub logs: PathBuf,
    /// Folders with files that programs are given and never write to.
    pub sheltered: Vec<PathBuf>,
}

/// What an executor works with in one round.
#[non_exhaustive]
pub struct Round<'a> {
    /// What has to run; it has been asked for what is wanted.
    pub enactment: &'a mut Enactment,
    /// Who keeps products, if somebody does.
    pub keeper: Option<&'a mut dyn Keeper>,
    /// Who hears what happens.
    pub observer: &'a dyn Observer,
    /// When to end early.
    pub stop: &'a Stop,
    /// Where files lie.
    pub folders: &'a Folders,
    /// Gets at files for native operations; by default they are read where they lie.
    pub files: Option<Arc<dyn ReadFile>>,
    /// Files of the user, which nobody may change while tasks read them.
    pub watched: Arc<Watched>,
    /// When the sequence began: times are counted from there.
    pub began: Instant,
}

/// Runs tasks and has their outputs.
pub trait Executor: Send {
    /// How many tasks can run at once.
    fn cores(&self) -> usize;

    /// Runs until everything that was asked for has ended, or somebody wants to stop.
    fn run(&mut self, round: Round<'_>) -> Result<(), PoolError>;

    /// An output of a task, if it is in memory.
    fn output(&self, task: TaskId, port: u16) -> Option<Value>;

    /// The file with the outputs of a task, if they were written out because memory was short.
    fn written_out(&self, _task: TaskId) -> Option<PathBuf> {
        None
    }

    /// Lets go of what the enactment no longer needs in memory.
    fn tidy(&mut self, enactment: &mut Enactment);

    /// What the node is called that has the outputs; the process of the program itself has none.
    fn node(&self) -> Option<&str> {
        None
    }
}

/// Runs tasks on threads of this process.
pub struct Threads {
    workers: usize,
    session: Option<Session>,
    /// Where outputs are that memory was too short for.
    spilled: PathBuf,
}

impl Threads {
    /// So many threads.
    pub fn new(workers: usize) -> Threads {
        Threads {
            workers: workers.max(1),
            session: None,
            spilled: PathBuf::new(),
        }
    }

    /// A thread for each core of this machine.
    pub fn all() -> Threads {
        Threads::new(headwater_engine::limits::machine_cores())
    }
}

impl Executor for Threads {
    fn cores(&self) -> usize {
        self.workers
    }

    fn run(&mut self, round: Round<'_>) -> Result<(), PoolError> {
        let remembers = round.keeper.is_some();
        let mut nothing = NothingKept;
        let keeper = round.keeper.unwrap_or(&mut nothing);
        let staging = |name: &str| -> PathBuf { Path::join(&round.folders.staging, name) };
        self.spilled = staging("spilled");
        let pool = Pool {
            workers: self.workers,
            commands: CommandSettings {
                work: round.folders.work.clone(),
                staging: staging("files"),
                logs: round.folders.logs.clone(),
                logged: Arc::default(),
                environment: headwater_execute::inherited_environment(),
                temporary: round.folders.staging.clone(),
                watched: round.watched,
                sheltered: round.folders.sheltered.clone(),
            },
            scratch: self.spilled.clone(),
            stop: round.stop.clone(),
            files: round.files.or_else(|| Some(Arc::new(PlainFiles))),
            deliver: Vec::new(),
        };
        let session = self
            .session
            .get_or_insert_with(|| Session::since(round.began));
        pool.resume(session, round.enactment, keeper, round.observer, remembers)
    }

    fn output(&self, task: TaskId, port: u16) -> Option<Value> {
        self.session.as_ref()?.output(task, port)
    }

    fn written_out(&self, task: TaskId) -> Option<PathBuf> {
        Session::written_out(task, &self.spilled)
    }

    fn tidy(&mut self, enactment: &mut Enactment) {
        if let Some(session) = &mut self.session {
            session.tidy(enactment);
        }
    }
}
