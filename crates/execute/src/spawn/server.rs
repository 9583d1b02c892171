//! The side that starts and watches programs.
//!
//! Law: one thread serves one lane, and at most one job runs on it; the thread waits for the end of
//! the program, for the client and for the clock at the same time. There is no table of jobs and no
//! lock. A closed lane means that nobody wants the result any more, so its group is killed at once:
//! programs never outlive the process that asked for them.
//!
//! The same code runs in the helper process and, where there is no helper, in threads of the
//! program itself. It therefore waits only for processes it started, each by its number.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use super::capture::Captures;
use super::protocol::{Inbox, Message, Order, read_order, receive_descriptor, send};
use super::start::Group;
use super::{Exit, Request, SpawnError};

/// A lane's thread needs little, and there may be hundreds of lanes.
const STACK: usize = 256 << 10;
/// How often to look whether a program has ended, on kernels that cannot tell.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The helper outlives these: a terminal or an administrator sends them to end the engine, and the
/// engine still needs the helper to end its programs in good order.
const OUTLIVED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The life of the helper process: serves the lanes that arrive on the descriptor `control` until
/// the main process has gone.
pub(super) fn serve(control: RawFd) -> ! {
    let result = prepare(control).and_then(|control| {
        let mut lanes = Vec::new();
        while let Some(lane) = receive_descriptor(&control)? {
            // Without a thread the lane is dropped, which tells the client.
            lanes.extend(serve_lane(UnixStream::from(lane), true));
        }
        Ok(lanes)
    });
    match result {
        Ok(lanes) => {
            // Every lane is closed now; their threads end once their groups are dead.
            for lane in lanes {
                let _ = lane.join();
            }
            process::exit(0)
        }
        Err(error) => {
            eprintln!("headwater: the spawner cannot serve: {error}");
            process::exit(2)
        }
    }
}

/// Makes this process a helper: deaf to the terminal and without any inherited descriptor but
/// `control` and standard error.
fn prepare(control: RawFd) -> io::Result<UnixStream> {
    // SAFETY: the descriptor was passed to this process for this purpose and nothing else uses it;
    // if it is not open, the duplication below fails.
    let control = unsafe { BorrowedFd::borrow_raw(control) };
    // The copy is closed on exec and above the standard descriptors.
    let copy = control.try_clone_to_owned()?;
    let control = UnixStream::from(copy);
    // Fails unless it is a Unix socket, as when somebody gives the hidden argument by hand.
    control.peer_addr()?;

    close_all_but(&control)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for standard in [libc::STDIN_FILENO, libc::STDOUT_FILENO] {
        // SAFETY: a plain system call on two open descriptors; no Rust object owns `standard`.
        if unsafe { libc::dup2(null.as_raw_fd(), standard) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    for signal in OUTLIVED {
        outlive(signal)?;
    }
    // An ignored SIGCHLD, which a parent can hand down, would make the kernel throw away the exit
    // status of every program.
    // SAFETY: setting a default disposition has no precondition.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    Ok(control)
}

/// Closes what this process has inherited and would hand down to every program, for example the
/// job slots of a `make` far up the line.
fn close_all_but(control: &UnixStream) -> io::Result<()> {
    let mut inherited = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        inherited.extend(name.to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    inherited.retain(|&number| number > libc::STDERR_FILENO && number != control.as_raw_fd());
    for number in inherited {
        // SAFETY: this process has one thread yet and no open file but `control`. The descriptor
        // that listed the folder is closed already, which makes this call fail without effect.
        unsafe { libc::close(number) };
    }
    Ok(())
}

/// Makes a signal do nothing to this process. The signal is caught rather than ignored, because
/// programs inherit what is ignored but not what is caught. One that was ignored from the start,
/// as under `nohup`, stays so for everybody.
fn outlive(signal: libc::c_int) -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: all-zero bytes are a valid `sigaction` with an empty mask; the handler does nothing,
    // so it may run at any point.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(signal, std::ptr::null(), &raw mut action);
        if asked == 0 && action.sa_sigaction == libc::SIG_IGN {
            return Ok(());
        }
        action = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Starts the thread that serves a lane until the client closes it.
pub(super) fn serve_lane(
    stream: UnixStream,
    peak_reliable: bool,
) -> io::Result<thread::JoinHandle<()>> {
    let builder = thread::Builder::new().name("lane".to_owned());
    builder.stack_size(STACK).spawn(move || {
        let mut lane = Lane {
            stream,
            inbox: Inbox::default(),
            peak_reliable,
        };
        // An error here is a lane that the client has closed or filled with nonsense. Leaving
        // closes our end, which is all the client needs to know.
        let _ = lane.serve();
    })
}

/// The server's end of a lane.
struct Lane {
    stream: UnixStream,
    inbox: Inbox,
    peak_reliable: bool,
}

/// Where a job is on its way to the end.
enum Phase {
    /// Free to run until the time-out.
    Running { timeout: Option<Instant> },
    /// Asked to end; killed when the grace is over.
    Asked { grace: Option<Instant> },
    /// Killed; the end must come.
    Killed,
}

impl Lane {
    fn serve(&mut self) -> io::Result<()> {
        send(&self.stream, &Message::ready())?;
        while let Some(message) = self.inbox.next(&self.stream)? {
            match read_order(&message)? {
                Order::Start(request) => {
                    let outcome = self.run(&request);
                    send(&self.stream, &Message::done(&outcome))?;
                }
                // Meant for a job that had ended before the order came.
                Order::Cancel => {}
            }
        }
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Exit, SpawnError> {
        let began = Instant::now();
        let (mut captures, ends) = Captures::open(request)?;
        let group = Group::start(request, ends)?;
        let (timed_out, cancelled) = self.watch(&group, &mut captures, began, request);
        let wall = began.elapsed();
        // The leader is dead but not reaped: what it left running in its group ends here.
        group.signal(libc::SIGKILL);
        let usage = group.reap().map_err(|source| SpawnError::Start {
            program: request.program.clone(),
            source,
        })?;
        Ok(Exit {
            status: usage.status,
            timed_out,
            cancelled,
            said: captures.finish(is_readable),
            wall,
            user_cpu: usage.user_cpu,
            system_cpu: usage.system_cpu,
            peak_memory: usage.peak_memory,
            peak_reliable: self.peak_reliable,
        })
    }

    /// Returns when the leader has ended: whether it ran out of time and whether it was cancelled.
    fn watch(
        &mut self,
        group: &Group,
        captures: &mut Captures,
        began: Instant,
        request: &Request,
    ) -> (bool, bool) {
        // A time too far away for the clock never comes.
        let mut phase = Phase::Running {
            timeout: request.timeout.and_then(|time| began.checked_add(time)),
        };
        let (mut timed_out, mut cancelled) = (false, false);
        let ask = || {
            group.signal(libc::SIGTERM);
            Phase::Asked {
                grace: Instant::now().checked_add(request.grace),
            }
        };
        let mut open = true;
        loop {
            let due = match phase {
                Phase::Running { timeout } => timeout,
                Phase::Asked { grace } => grace,
                Phase::Killed => None,
            };
            let lane = open.then(|| self.stream.as_fd());
            let event = wait(group, captures, lane, due);
            phase = match (event, phase) {
                (Event::Ended, _) => return (timed_out, cancelled),
                (Event::Lane, phase) => match (self.hear(), phase) {
                    (Heard::Cancel, Phase::Running { .. }) => {
                        cancelled = true;
                        ask()
                    }
                    (Heard::Cancel | Heard::Nothing, phase) => phase,
                    (Heard::Closed, _) => {
                        open = false;
                        group.signal(libc::SIGKILL);
                        Phase::Killed
                    }
                },
                (Event::Due, Phase::Running { .. }) => {
                    timed_out = true;
                    ask()
                }
                (Event::Due, _) => {
                    group.signal(libc::SIGKILL);
                    Phase::Killed
                }
            };
        }
    }

    /// Reads what the client has sent while its job runs.
    fn hear(&mut self) -> Heard {
        match self.inbox.fill(&self.stream).and_then(|open| {
            let order = self.inbox.take()?.map(|message| read_order(&message));
            Ok((open, order.transpose()?))
        }) {
            Ok((_, Some(Order::Cancel))) => Heard::Cancel,
            Ok((true, None)) => Heard::Nothing,
            Ok((false, None) | (_, Some(Order::Start(_)))) | Err(_) => Heard::Closed,
        }
    }
}

enum Heard {
    Cancel,
    /// Part of a message.
    Nothing,
    /// The client has gone or makes no sense.
    Closed,
}

enum Event {
    Ended,
    Lane,
    Due,
}

/// Waits for whatever happens first. The end of the program goes before all else, so that a program
/// that made it in time is not reported as late. What the program says is taken in meanwhile.
fn wait(
    group: &Group,
    captures: &mut Captures,
    lane: Option<BorrowedFd>,
    due: Option<Instant>,
) -> Event {
    loop {
        let mut left = due.map(|due| due.saturating_duration_since(Instant::now()));
        if group.ended_descriptor().is_none() {
            left = Some(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)));
        }
        // Rounded up: rounding down would spin through the last millisecond.
        let milliseconds = left.map_or(-1, |left| {
            let rounded = left.as_nanos().div_ceil(1_000_000);
            libc::c_int::try_from(rounded).unwrap_or(libc::c_int::MAX)
        });
        let [output, error] = captures.descriptors();
        let watched = [group.ended_descriptor(), lane, output, error];
        let [ended, heard, output, error] = poll(watched, milliseconds);
        if ended || (group.ended_descriptor().is_none() && group.has_ended()) {
            return Event::Ended;
        }
        if heard {
            return Event::Lane;
        }
        for (stream, said) in [output, error].into_iter().enumerate() {
            if said {
                captures.hear(stream);
            }
        }
        if due.is_some_and(|due| due <= Instant::now()) {
            return Event::Due;
        }
    }
}

/// Waits until one of these can be read or so many milliseconds have passed, for ever if that is negative; tells
/// which can be.
fn poll<const COUNT: usize>(
    descriptors: [Option<BorrowedFd>; COUNT],
    milliseconds: libc::c_int,
) -> [bool; COUNT] {
    let mut watched = descriptors.map(|descriptor| libc::pollfd {
        // Negative numbers are passed over.
        fd: descriptor.map_or(-1, |descriptor| descriptor.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: `watched` is a live array of the stated length.
    let count = unsafe { libc::poll(watched.as_mut_ptr(), COUNT as libc::nfds_t, milliseconds) };
    watched.map(|watched| count > 0 && watched.revents != 0)
}

fn is_readable(descriptor: BorrowedFd) -> bool {
    poll([Some(descriptor)], 0) == [true]
}
