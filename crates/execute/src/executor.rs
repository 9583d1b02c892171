//! Who runs tasks and has what they made.
//!
//! Law: an executor does what the enactment says until nothing that was asked for is left to do, and has the outputs
//! that the enactment believes are in memory. Whoever runs something gets handles and asks for bytes when it wants
//! them; what one task makes goes to the next without passing through its hands.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use headwater_enact::Enactment;
use headwater_graph::{Outputs, ReadFile, TaskId, Value};

use crate::ended::Observer;
use crate::files::PlainFiles;
use crate::folders::Folders;
use crate::keeper::{Keeper, NothingKept};
use crate::machine::machine_cores;
use crate::pool::{Pool, PoolError, Session};
use crate::stop::Stop;
use crate::watch::Watched;

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
    pub stop: Stop,
    /// Where files lie.
    pub folders: &'a Folders,
    /// Gets at files for native operations; by default they are read where they lie.
    pub files: Option<Arc<dyn ReadFile>>,
    /// Files of the user, which nobody may change while tasks read them.
    pub watched: Arc<Watched>,
    /// Times are counted from then.
    pub began: Instant,
    /// Tasks of the enactment whose outputs stay in memory until they are taken. All rounds of one enactment name the
    /// same.
    pub deliver: &'a [TaskId],
}

impl<'a> Round<'a> {
    /// A round that begins now, in which nothing is kept.
    pub fn new(
        enactment: &'a mut Enactment,
        observer: &'a dyn Observer,
        folders: &'a Folders,
    ) -> Round<'a> {
        Round {
            enactment,
            keeper: None,
            observer,
            stop: Stop::default(),
            folders,
            files: None,
            watched: Arc::default(),
            began: Instant::now(),
            deliver: &[],
        }
    }
}

/// Runs tasks and has their outputs.
pub trait Executor: Send {
    /// How many tasks can run at once.
    fn cores(&self) -> usize;

    /// Runs until everything that was asked for has ended, or somebody wants to stop.
    fn run(&mut self, round: Round<'_>) -> Result<(), PoolError>;

    /// An output of a task, if it is in memory.
    fn output(&self, task: TaskId, port: u16) -> Option<Value>;

    /// The outputs of a task that was to be delivered, if it ran; they are no longer in memory here then.
    fn take(&mut self, task: TaskId) -> Option<Arc<Outputs>>;

    /// The file with the outputs of a task, if they were written out because memory was short.
    fn written_out(&self, _task: TaskId) -> Option<PathBuf> {
        None
    }

    /// Lets go of what the enactment no longer needs in memory.
    fn tidy(&mut self, enactment: &mut Enactment);

    /// Lets go of everything: the next round is of another enactment.
    fn clear(&mut self);

    /// What the node is called that has the outputs; the process of the program itself has none.
    fn node(&self) -> Option<&str> {
        None
    }
}

impl<E: Executor + 'static> From<E> for Box<dyn Executor> {
    fn from(executor: E) -> Box<dyn Executor> {
        Box::new(executor)
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
        Threads::new(machine_cores())
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
        self.spilled = round.folders.spilled();
        let pool = Pool {
            workers: self.workers,
            commands: round.folders.commands(round.watched),
            scratch: self.spilled.clone(),
            stop: round.stop,
            files: round.files.or_else(|| Some(Arc::new(PlainFiles))),
        };
        let session = self
            .session
            .get_or_insert_with(|| Session::new(round.began, round.deliver));
        pool.run(session, round.enactment, keeper, round.observer, remembers)
    }

    fn output(&self, task: TaskId, port: u16) -> Option<Value> {
        self.session.as_ref()?.output(task, port)
    }

    fn take(&mut self, task: TaskId) -> Option<Arc<Outputs>> {
        self.session.as_mut()?.take(task)
    }

    fn written_out(&self, task: TaskId) -> Option<PathBuf> {
        Session::written_out(task, &self.spilled)
    }

    fn tidy(&mut self, enactment: &mut Enactment) {
        if let Some(session) = &mut self.session {
            session.tidy(enactment);
        }
    }

    fn clear(&mut self) {
        if self.session.take().is_some() {
            // It is there only if something was written out.
            let _ = std::fs::remove_dir_all(&self.spilled);
        }
    }
}
