//! From a request to a running process group, or to the reason why there is none.
//!
//! Law: a group is signalled only while its leader has not been reaped. Until then the kernel does
//! not give the leader's number to anybody else, so a signal can never reach a stranger. `reap`
//! consumes the group for that reason.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::capture::Ends;
use super::namespace::{self, Prepared};
use super::{ExitStatusKind, Request, SpawnError};

/// Where programs are looked for if the request's environment has no `PATH`, as `execvp` does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// How long to go on trying to start a program whose file another process still has open for
/// writing. That process is a child of a sibling thread just before its `exec`, so it is short.
const BUSY_PAUSES: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(100),
];

/// A process group whose leader this process has started and not yet reaped.
#[derive(Debug)]
pub(super) struct Group {
    leader: libc::pid_t,
    /// Readable once the leader has ended; absent on kernels before 5.3.
    ended: Option<OwnedFd>,
}

/// What the kernel counted for a leader and the descendants it waited for.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) status: ExitStatusKind,
    pub(super) user_cpu: Duration,
    pub(super) system_cpu: Duration,
    /// In bytes.
    pub(super) peak_memory: u64,
}

impl Group {
    /// Starts the program of a request as the leader of a new group.
    pub(super) fn start(request: &Request, ends: Ends) -> Result<Group, SpawnError> {
        let leader = spawn(request, ends).map_err(|error| {
            // A missing folder shows itself in many ways, for example as an output file that
            // cannot be made, so it is asked about first.
            match check_folder(&request.folder) {
                Err(source) => SpawnError::Folder {
                    folder: request.folder.clone(),
                    source,
                },
                Ok(()) => error,
            }
        })?;
        Ok(Group {
            leader,
            ended: open_process(leader),
        })
    }

    /// The number of the program itself.
    pub(super) fn leader(&self) -> libc::pid_t {
        self.leader
    }

    /// A descriptor that becomes readable when the leader has ended, if the kernel has such.
    pub(super) fn ended_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.ended.as_ref().map(AsFd::as_fd)
    }

    /// Whether the leader has ended; it stays unreaped.
    pub(super) fn has_ended(&self) -> bool {
        // SAFETY: all-zero bytes are a valid `siginfo_t`; `waitid` writes to it only.
        unsafe {
            let mut information: libc::siginfo_t = std::mem::zeroed();
            let result = libc::waitid(
                libc::P_PID,
                self.leader.cast_unsigned(),
                &raw mut information,
                libc::WEXITED | libc::WNOHANG | libc::WNOWAIT,
            );
            // A failure means that the leader cannot be waited for, so nothing is left to wait for.
            result != 0 || information.si_pid() != 0
        }
    }

    /// Sends a signal to every process of the group.
    pub(super) fn signal(&self, signal: libc::c_int) {
        // SAFETY: plain system calls; the leader is unreaped, so its number is still its own.
        unsafe {
            if libc::kill(-self.leader, signal) != 0 {
                // The leader may have joined another group and left none of its own behind.
                libc::kill(self.leader, signal);
            }
        }
    }

    /// Waits for the leader and frees its number.
    pub(super) fn reap(self) -> io::Result<Usage> {
        let mut status = 0;
        // SAFETY: all-zero bytes are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both pointers are to live variables of the right types.
            let result = unsafe { libc::wait4(self.leader, &raw mut status, 0, &raw mut usage) };
            if result == self.leader {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let status = ExitStatus::from_raw(status);
        Ok(Usage {
            status: match (status.code(), status.signal()) {
                (Some(code), _) => ExitStatusKind::Code(code),
                (None, signal) => ExitStatusKind::Signal(signal.unwrap_or_default()),
            },
            user_cpu: duration_of(usage.ru_utime),
            system_cpu: duration_of(usage.ru_stime),
            peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or_default() * 1024,
        })
    }
}

fn duration_of(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let microseconds = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(microseconds)
}

/// A descriptor that stands for a process, whatever becomes of its number.
pub(super) fn open_process(leader: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: a plain system call; it returns a new descriptor, closed on exec, or -1.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, leader, 0);
        let descriptor = libc::c_int::try_from(descriptor).ok()?;
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor))
    }
}

fn spawn(request: &Request, ends: Ends) -> Result<libc::pid_t, SpawnError> {
    // The standard library falls back to a plain `fork` when it has to search a changed `PATH`
    // itself; with a path it starts the child by `posix_spawn`, which copies no page tables.
    let program = locate(request)?;
    let mut command = Command::new(&program);
    command
        .arg0(&request.program)
        .args(&request.arguments)
        .env_clear()
        .envs(
            request
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .current_dir(&request.folder)
        .process_group(0);
    command.stdin(match &request.stdin {
        Some(path) => Stdio::from(File::open(path).map_err(|source| file_error(path, source))?),
        None => Stdio::null(),
    });
    match ends {
        [None, None] if request.stderr == request.stdout => {
            // One open file has one position; two would overwrite each other.
            let stdout = create(&request.stdout)?;
            let shared = stdout.try_clone();
            let shared = shared.map_err(|source| file_error(&request.stderr, source))?;
            command.stdout(stdout).stderr(shared);
        }
        [stdout, stderr] => {
            command.stdout(stream(stdout, &request.stdout)?);
            command.stderr(stream(stderr, &request.stderr)?);
        }
    }
    if !request.namespace.is_empty() {
        let prepared = Prepared::new(request);
        // SAFETY: `enter` only makes system calls, and touches no memory but what was prepared before.
        unsafe { command.pre_exec(move || prepared.enter()) };
    }

    let mut pauses = BUSY_PAUSES.iter();
    loop {
        match command.spawn() {
            // Dropping the handle neither waits for the child nor ends it.
            Ok(child) => return Ok(child.id().cast_signed()),
            Err(error) if namespace::is_refusal(&error) => {
                return Err(SpawnError::Namespace {
                    source: namespace::reason(&error),
                });
            }
            Err(error) => match (error.raw_os_error(), pauses.next()) {
                (Some(libc::ETXTBSY), Some(&pause)) => thread::sleep(pause),
                _ => return Err(explain(request, &program, error)),
            },
        }
    }
}

/// The end of a pipe, or a file.
fn stream(end: Option<PipeWriter>, path: &Path) -> Result<Stdio, SpawnError> {
    match end {
        Some(end) => Ok(end.into()),
        None => create(path).map(Stdio::from),
    }
}

fn create(path: &Path) -> Result<File, SpawnError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options
        .open(path)
        .map_err(|source| file_error(path, source))
}

fn file_error(path: &Path, source: io::Error) -> SpawnError {
    SpawnError::File {
        path: path.to_path_buf(),
        source,
    }
}

/// The path of the program, as seen from the request's folder.
fn locate(request: &Request) -> Result<PathBuf, SpawnError> {
    let program = &request.program;
    let not_found = || SpawnError::NotFound {
        program: program.clone(),
    };
    if program.is_empty() {
        return Err(not_found());
    }
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    // As in the child's environment, the last of several values holds.
    let search = request
        .environment
        .iter()
        .rfind(|(name, _)| name == "PATH")
        .map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    let mut refused = None;
    for folder in search.as_bytes().split(|&byte| byte == b':') {
        // An empty entry means the folder the program runs in.
        let folder = match folder {
            [] => Path::new("."),
            folder => Path::new(OsStr::from_bytes(folder)),
        };
        let candidate = folder.join(program);
        let seen = request.folder.join(&candidate);
        match check_executable(&seen) {
            Ok(()) if seen.is_file() => return Ok(candidate),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied && seen.is_file() => {
                refused.get_or_insert(source);
            }
            _ => {}
        }
    }
    Err(match refused {
        Some(source) => not_executable(program, source),
        None => not_found(),
    })
}

fn not_executable(program: &OsString, source: io::Error) -> SpawnError {
    SpawnError::NotExecutable {
        program: program.clone(),
        source,
    }
}

/// Why a program with a known path could not be started; the folder has been entered.
fn explain(request: &Request, program: &Path, source: io::Error) -> SpawnError {
    let exists = || request.folder.join(program).exists();
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) if !exists() => SpawnError::NotFound {
            program: request.program.clone(),
        },
        // If the program is there, what is missing is the interpreter named in its first line.
        Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ENOEXEC | libc::EISDIR) => {
            not_executable(&request.program, source)
        }
        _ => SpawnError::Start {
            program: request.program.clone(),
            source,
        },
    }
}

fn check_folder(folder: &Path) -> io::Result<()> {
    if folder.metadata()?.is_dir() {
        check_executable(folder)
    } else {
        Err(io::Error::from_raw_os_error(libc::ENOTDIR))
    }
}

/// Whether this user may execute a file or enter a folder.
fn check_executable(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a live string that ends with a zero byte.
    match unsafe { libc::access(path.as_ptr(), libc::X_OK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
