//! Starting programs through a helper process that stays small.
//!
//! Law: a program is the child of a process that was started before anything was loaded. The
//! kernel counts what the parent had resident as the child's own peak, and a large parent is slow
//! to fork; a helper that never grows avoids both. Whatever happens, every started program ends
//! before its [`Spawner::run`] returns or soon after this process is gone, and with it everything
//! that descends from it, also what has left its process group, its session or its parent.
//!
//! ```text
//! run ─Request→ lane ─→ process of the lane ─→ process group, orphans
//!  ↑                        │
//!  └────────── Exit ────────┘
//! ```
//!
//! A lane is a pair of connected sockets. Its near end belongs to the thread that is in
//! [`Spawner::run`], and the far end to a child of the helper; idle lanes are kept for the next
//! caller, so there are as many lanes as there have been programs at a time. Without a helper the
//! far ends belong to threads of this process, and everything else stays the same, except that
//! peaks are marked unreliable, that programs outlive a killed engine, and that what leaves its
//! process group is not ended: adopting orphans would change the program that this is part of.
//!
//! Read `server` for how a program is watched, `orphans` for what becomes of the processes it
//! leaves behind, `start` for how it is started and why it may not be, `namespace` for what it sees
//! read-only, `capture` for what is kept of what it says, `protocol` for what travels.
//!
//! Not promised: what runs as another user (`sudo`) cannot be ended; what another service starts
//! because it was asked to (`systemd-run`, `at`, `docker`) does not descend from the program; if
//! the helper and its lanes are all killed with SIGKILL at once, what they were running goes on.

mod capture;
mod namespace;
mod orphans;
mod protocol;
mod server;
mod start;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use protocol::{Inbox, Message, Reply, read_reply, send, send_descriptor};

/// The hidden first argument that turns the program into its own helper.
const HELPER_ARGUMENT: &str = "--headwater-spawner";
/// The program of this process, whatever it is called by now.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// How long the helper may take to say that it serves. It normally takes about a millisecond; a
/// program that calls `init` only after long work, against its rule, gets here.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a program may take to end itself after it was asked to.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);

static GLOBAL: OnceLock<Spawner> = OnceLock::new();

/// Starts the helper process. Call it first in `main`, before anything is allocated or any thread
/// is started.
///
/// In the helper itself this serves and never returns. Calling it again does nothing; neither does
/// calling it after [`Spawner::global`], which has then settled for direct spawning.
pub fn init() {
    serve_if_asked();
    GLOBAL.get_or_init(|| Spawner::with_helper(THIS_PROGRAM).unwrap_or_else(|_| Spawner::direct()));
}

/// The same with another program as the helper, for a program that cannot be started once more to be its own. The other
/// one calls [`init`] first in its `main`. An error says why it cannot be the helper; programs are then started directly.
pub fn init_with(helper: &Path) -> io::Result<()> {
    serve_if_asked();
    let mut refused = Ok(());
    GLOBAL.get_or_init(|| {
        Spawner::with_proven_helper(helper).unwrap_or_else(|error| {
            refused = Err(error);
            Spawner::direct()
        })
    });
    refused
}

/// In the helper itself this serves and never returns.
fn serve_if_asked() {
    let mut arguments = env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == HELPER_ARGUMENT)
    {
        let control = arguments
            .next()
            .and_then(|number| number.to_str()?.parse().ok());
        // An impossible descriptor makes the server say what is wrong.
        server::serve(control.unwrap_or(-1));
    }
}

/// A program to run and all it is given; nothing is inherited from this process but its user, its
/// limits and its umask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// A name that is looked up in the `PATH` of `environment`, or a path; a relative path starts
    /// from `folder`.
    pub program: OsString,
    /// The arguments after the program's name.
    pub arguments: Vec<OsString>,
    /// The complete environment. Of several values for a name the last one holds.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder the program runs in.
    pub folder: PathBuf,
    /// The file read as standard input; without one there is nothing to read.
    pub stdin: Option<PathBuf>,
    /// The file for standard output, made anew.
    pub stdout: PathBuf,
    /// The file for standard error, made anew; may be the same as `stdout`.
    pub stderr: PathBuf,
    /// At most this many bytes are kept of standard output and of standard error, half of them from the beginning and
    /// half from the end, with a line between them; a silent stream leaves no file. Without a bound the file is given
    /// to the program itself.
    pub most: [Option<u64>; 2],
    /// How long the program may run before it is ended.
    pub timeout: Option<Duration>,
    /// How long the program may take to end itself, once asked to, before it is killed.
    pub grace: Duration,
    /// What the program and its children see read-only.
    pub namespace: Namespace,
}

/// What a program sees otherwise than everybody else. Without anything in it the program sees what everybody sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Namespace {
    /// Files and folders that are read-only; one that is not there is passed over.
    pub read_only: Vec<PathBuf>,
    /// Files that are found at another place too, read-only.
    pub over: Vec<Over>,
}

/// A file that a program finds at another place, whatever somebody puts under its own name meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Where the file is.
    pub file: PathBuf,
    /// Where the program finds it; a file has to be there.
    pub at: PathBuf,
    /// Its device and inode: if another file has its name by then, the program is not started (`ESTALE`).
    pub identity: (u64, u64),
}

impl Namespace {
    /// Whether the program sees what everybody sees.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read_only.is_empty() && self.over.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let over = self.over.iter().flat_map(|over| [&over.file, &over.at]);
        self.read_only.iter().chain(over)
    }
}

impl Request {
    /// A program without arguments, environment, input or time limit.
    pub fn new(
        program: impl Into<OsString>,
        folder: impl Into<PathBuf>,
        stdout: impl Into<PathBuf>,
        stderr: impl Into<PathBuf>,
    ) -> Request {
        Request {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: folder.into(),
            stdin: None,
            stdout: stdout.into(),
            stderr: stderr.into(),
            most: [None; 2],
            timeout: None,
            grace: DEFAULT_GRACE,
            namespace: Namespace::default(),
        }
    }

    /// The request with paths that mean the same in the helper, whose current folder is the one
    /// this process had at its start.
    fn absolute(&self) -> Result<Request, SpawnError> {
        let file = |path: &Path| {
            path::absolute(path).map_err(|source| SpawnError::File {
                path: path.to_path_buf(),
                source,
            })
        };
        Ok(Request {
            folder: path::absolute(&self.folder).map_err(|source| SpawnError::Folder {
                folder: self.folder.clone(),
                source,
            })?,
            stdin: self.stdin.as_deref().map(file).transpose()?,
            stdout: file(&self.stdout)?,
            stderr: file(&self.stderr)?,
            namespace: Namespace {
                read_only: (self.namespace.read_only.iter())
                    .map(|path| file(path))
                    .collect::<Result<_, _>>()?,
                over: (self.namespace.over.iter())
                    .map(|over| {
                        Ok(Over {
                            file: file(&over.file)?,
                            at: file(&over.at)?,
                            identity: over.identity,
                        })
                    })
                    .collect::<Result<_, SpawnError>>()?,
            },
            ..self.clone()
        })
    }

    /// Refuses what the kernel's strings, which end at a zero byte, cannot hold.
    fn check(&self) -> Result<(), SpawnError> {
        let has_zero = |text: &OsStr| text.as_bytes().contains(&0);
        let paths = [
            Some(&self.folder),
            self.stdin.as_ref(),
            Some(&self.stdout),
            Some(&self.stderr),
        ];
        let bad_name = |name: &OsStr| name.is_empty() || name.as_bytes().contains(&b'=');
        let problem = if has_zero(&self.program) {
            "its name contains a zero byte"
        } else if self.arguments.iter().any(|argument| has_zero(argument)) {
            "an argument contains a zero byte"
        } else if self
            .environment
            .iter()
            .any(|(name, value)| has_zero(name) || has_zero(value))
        {
            "an environment variable contains a zero byte"
        } else if self.environment.iter().any(|(name, _)| bad_name(name)) {
            "the name of an environment variable is empty or contains `=`"
        } else if (paths.into_iter().flatten())
            .chain(self.namespace.paths())
            .any(|path| has_zero(path.as_os_str()))
        {
            "a path contains a zero byte"
        } else {
            return Ok(());
        };
        Err(SpawnError::Invalid {
            program: self.program.clone(),
            problem,
        })
    }
}

/// How a program ended and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, or the signal that ended it.
    pub status: ExitStatusKind,
    /// Whether it was asked to end because its time was over.
    pub timed_out: bool,
    /// Whether it was asked to end by [`Cancel::cancel`].
    pub cancelled: bool,
    /// How many bytes it said on standard output and standard error, where these are bounded.
    pub said: [u64; 2],
    /// From before its start to its end.
    pub wall: Duration,
    /// Processor time in user mode, of the program and the children it waited for.
    pub user_cpu: Duration,
    /// Processor time in the kernel, of the program and the children it waited for.
    pub system_cpu: Duration,
    /// The largest resident size, in bytes, of the program or any child it waited for. Never below
    /// the size of the process that started it, which is a few megabytes for the helper.
    pub peak_memory: u64,
    /// Whether the helper started the program; if not, `peak_memory` may be the size of this
    /// process.
    pub peak_reliable: bool,
}

impl Exit {
    /// Whether the program ended by itself with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status == ExitStatusKind::Code(0) && !self.timed_out && !self.cancelled
    }
}

/// The two ways in which a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatusKind {
    /// It ended with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Why there is no [`Exit`].
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program.
    #[error("program `{}` not found", .program.display())]
    NotFound {
        /// As in the request.
        program: OsString,
    },
    /// The program's file is there but cannot be executed: no permission, an unknown format, or
    /// an interpreter that is missing.
    #[error("program `{}` cannot be executed", .program.display())]
    NotExecutable {
        /// As in the request.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The folder to run in is missing or may not be entered.
    #[error("folder `{}` cannot be entered", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file for input or output cannot be opened.
    #[error("file `{}` cannot be opened", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program cannot be kept from writing to what it should only read; it was not started.
    #[error("no namespace of mounts can be had")]
    Namespace {
        /// What the system said.
        source: io::Error,
    },
    /// The request holds something that no program can be given.
    #[error("program `{}` cannot be started: {problem}", .program.display())]
    Invalid {
        /// As in the request.
        program: OsString,
        /// What it is.
        problem: &'static str,
    },
    /// The system refused for another reason, such as arguments that are too long.
    #[error("program `{}` cannot be started", .program.display())]
    Start {
        /// As in the request.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// Cancelled before the program was started.
    #[error("cancelled before the start")]
    Cancelled,
    /// The helper process has ended, or the part of it that watched the program; the program was
    /// killed for that, or its fate is unknown.
    #[error("the helper process that starts programs has died")]
    HelperDied,
    /// No connection to the helper could be made.
    #[error("the helper process that starts programs cannot be reached")]
    Lane {
        /// What the system said.
        source: io::Error,
    },
}

/// A wish that can be made at any time, from any thread, to end the programs that were started
/// with it. Clones are the same wish.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    state: Arc<Mutex<CancelState>>,
}

#[derive(Debug, Default)]
struct CancelState {
    cancelled: bool,
    /// The lanes with a job that listens to this wish. A lane leaves before it is used again.
    running: Vec<Arc<UnixStream>>,
}

impl Cancel {
    /// A wish that nobody has made yet.
    #[must_use]
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Ends the programs running with this token and keeps others from starting. Returns at once;
    /// [`Spawner::run`] returns when the program has ended.
    pub fn cancel(&self) {
        let mut state = lock(&self.state);
        if !state.cancelled {
            state.cancelled = true;
            for lane in &state.running {
                // A lane that cannot be written to has no program left to end.
                let _ = send(lane, &Message::cancel());
            }
        }
    }

    /// Whether the wish has been made.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        lock(&self.state).cancelled
    }

    /// Makes the wish reach the job just sent on `lane`, for as long as the result lives.
    fn listen<'a>(&'a self, lane: &'a Arc<UnixStream>) -> Listening<'a> {
        let mut state = lock(&self.state);
        if state.cancelled {
            let _ = send(lane, &Message::cancel());
        }
        state.running.push(Arc::clone(lane));
        Listening { cancel: self, lane }
    }
}

struct Listening<'a> {
    cancel: &'a Cancel,
    lane: &'a Arc<UnixStream>,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.cancel.state);
        state.running.retain(|lane| !Arc::ptr_eq(lane, self.lane));
    }
}

/// Runs programs, as many at a time as there are callers.
#[derive(Debug)]
pub struct Spawner {
    host: Mutex<Host>,
    idle: Mutex<Vec<Lane>>,
}

/// Who serves the far ends of lanes.
#[derive(Debug)]
enum Host {
    Helper(Helper),
    ThisProcess,
}

#[derive(Debug)]
struct Helper {
    control: Arc<UnixStream>,
    process: Child,
    /// Whether any lane was ever served. If not, the program did not call `init` in the process
    /// that should have become the helper, and there will never be one.
    served: bool,
}

/// The near end of a lane.
#[derive(Debug)]
struct Lane {
    stream: Arc<UnixStream>,
    inbox: Inbox,
}

impl Spawner {
    /// The spawner of this process: with the helper if [`init`] was called, else direct.
    pub fn global() -> &'static Spawner {
        GLOBAL.get_or_init(Spawner::direct)
    }

    /// A spawner without a helper: programs are children of this process.
    #[must_use]
    pub fn direct() -> Spawner {
        Spawner::on(Host::ThisProcess)
    }

    fn on(host: Host) -> Spawner {
        Spawner {
            host: Mutex::new(host),
            idle: Mutex::default(),
        }
    }

    /// With a helper that serves: another program may be none.
    fn with_proven_helper(program: &Path) -> io::Result<Spawner> {
        let spawner = Spawner::with_helper(program)?;
        let lane = spawner.open().map_err(io::Error::other)?;
        if spawner.helper_process().is_none() {
            return Err(io::Error::other("it does not serve"));
        }
        lock(&spawner.idle).push(lane);
        Ok(spawner)
    }

    fn with_helper(program: impl AsRef<OsStr>) -> io::Result<Spawner> {
        let (control, far) = UnixStream::pair()?;
        let process = Command::new(program)
            .arg0("headwater-spawner")
            .arg(HELPER_ARGUMENT)
            // The socket takes the place of standard input. Any other number would have to be made
            // inheritable first, and then every child of the program could inherit it.
            .arg("0")
            .stdin(OwnedFd::from(far))
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Spawner::on(Host::Helper(Helper {
            control: Arc::new(control),
            process,
            served: false,
        })))
    }

    /// The process number of the helper, if programs are started by one.
    pub fn helper_process(&self) -> Option<u32> {
        match &*lock(&self.host) {
            Host::Helper(helper) => Some(helper.process.id()),
            Host::ThisProcess => None,
        }
    }

    /// Runs a program and waits for its end.
    ///
    /// The program leads a process group of its own. On time-out or cancellation the group gets
    /// SIGTERM and, after the grace, SIGKILL. What is left of the group when the program has ended
    /// is killed and, with a helper, so is everything else that descends from the program.
    pub fn run(&self, request: &Request, cancel: &Cancel) -> Result<Exit, SpawnError> {
        request.check()?;
        let message = Message::start(&request.absolute()?)?;
        let idle = lock(&self.idle).pop();
        let mut lane = match idle {
            Some(lane) => lane,
            None => self.open()?,
        };
        // Asked as late as possible, since opening a lane may have taken a while.
        if cancel.is_cancelled() {
            lock(&self.idle).push(lane);
            return Err(SpawnError::Cancelled);
        }
        let outcome = lane.carry(&message, cancel);
        match outcome {
            Ok(outcome) => {
                lock(&self.idle).push(lane);
                outcome
            }
            Err(_) => Err(self.broken()),
        }
    }

    /// A new lane, served and ready.
    fn open(&self) -> Result<Lane, SpawnError> {
        let unreachable = |source| SpawnError::Lane { source };
        let (near, far) = UnixStream::pair().map_err(unreachable)?;
        let control = match &*lock(&self.host) {
            Host::Helper(helper) => Some(Arc::clone(&helper.control)),
            Host::ThisProcess => None,
        };
        let Some(control) = control else {
            server::serve_in_thread(far).map_err(unreachable)?;
            return Lane::new(near).map_err(unreachable);
        };
        let sent = send_descriptor(&control, far.as_fd());
        drop(far);
        match sent.and_then(|()| Lane::new(near)) {
            Ok(lane) => {
                if let Host::Helper(helper) = &mut *lock(&self.host) {
                    helper.served = true;
                }
                Ok(lane)
            }
            Err(error) => self.open_otherwise(error),
        }
    }

    /// What to do when the helper did not serve a new lane.
    fn open_otherwise(&self, error: io::Error) -> Result<Lane, SpawnError> {
        {
            let mut host = lock(&self.host);
            match &mut *host {
                Host::Helper(helper) if helper.served => {
                    let _ = helper.process.try_wait();
                    return Err(match error.kind() {
                        io::ErrorKind::BrokenPipe => SpawnError::HelperDied,
                        _ => SpawnError::Lane { source: error },
                    });
                }
                Host::Helper(helper) => {
                    // Whatever it is, it is no helper. Nothing was asked of it yet, so nothing can
                    // be run twice.
                    let _ = helper.process.kill();
                    let _ = helper.process.wait();
                }
                Host::ThisProcess => {}
            }
            *host = Host::ThisProcess;
        }
        self.open()
    }

    /// The error for a lane that broke; clears away the helper if it is dead.
    fn broken(&self) -> SpawnError {
        if let Host::Helper(helper) = &mut *lock(&self.host) {
            // Without this it would stay a zombie. If it is only about to die, the next caller
            // clears it away.
            let _ = helper.process.try_wait();
        }
        SpawnError::HelperDied
    }
}

impl Lane {
    /// Waits until the lane is served.
    fn new(stream: UnixStream) -> io::Result<Lane> {
        let mut lane = Lane {
            stream: Arc::new(stream),
            inbox: Inbox::default(),
        };
        lane.stream.set_read_timeout(Some(PATIENCE))?;
        match lane.receive()? {
            Reply::Ready => lane.stream.set_read_timeout(None)?,
            Reply::Done(_) => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(lane)
    }

    /// One job from order to reply. An outer error means that the lane cannot be used again.
    fn carry(&mut self, start: &Message, cancel: &Cancel) -> io::Result<Result<Exit, SpawnError>> {
        send(&self.stream, start)?;
        let stream = Arc::clone(&self.stream);
        let listening = cancel.listen(&stream);
        let reply = self.receive();
        drop(listening);
        match reply? {
            Reply::Done(outcome) => Ok(outcome),
            Reply::Ready => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn receive(&mut self) -> io::Result<Reply> {
        match self.inbox.next(&self.stream)? {
            Some(message) => read_reply(&message),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// No invariant spans a panic here, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_no_helper_is_refused() {
        for program in ["/bin/true", "/nowhere/at/all"] {
            let refused = Spawner::with_proven_helper(Path::new(program));
            assert!(refused.is_err(), "{program}");
        }
    }
}
