//! The side that starts and watches programs.
//!
//! Law: a lane is served by a process of its own, a child of the helper, and at most one job runs on it; the
//! process waits for the end of the program, for the client, for the helper and for the clock at the same time.
//! There is no table of jobs and no lock. A closed lane means that nobody wants the result any more, so its job
//! is killed at once: programs never outlive the process that asked for them.
//!
//! Because the process of a lane adopts whatever its job leaves behind, each orphan has exactly one job that it
//! can belong to; see `orphans`. A lane and the helper hold the two ends of a socket, the tie, so that each
//! notices the end of the other: what a killed lane ran is adopted and ended by the helper, and a lane whose
//! helper was killed ends its job.
//!
//! Where there is no helper the same code runs in threads of the program itself. It then waits only for processes
//! it started, each by its number, and ends only their groups: the other children are none of its business.

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
use super::{Exit, Request, SpawnError, orphans};

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
    match prepare(control).and_then(attend) {
        Ok(()) => process::exit(0),
        Err(error) => {
            eprintln!("headwater: the spawner cannot serve: {error}");
            process::exit(2)
        }
    }
}

/// A process that serves a lane, seen from the helper.
struct LaneProcess {
    number: libc::pid_t,
    /// Hangs up when the process has ended.
    tie: UnixStream,
}

/// Starts a process for each lane that arrives, and clears away after those that end.
fn attend(control: UnixStream) -> io::Result<()> {
    let mut lanes: Vec<LaneProcess> = Vec::new();
    loop {
        let ties = lanes.iter().map(|lane| Some(lane.tie.as_fd()));
        let mut watched: Vec<_> = ties.map(readable).collect();
        watched.push(readable(Some(control.as_fd())));
        poll(&mut watched, -1);
        let arrived = watched.pop().is_some_and(|control| control.revents != 0);
        if watched.iter().any(|tie| tie.revents != 0) {
            let mut ties = watched.iter();
            lanes.retain(|lane| {
                let ended = ties.next().is_some_and(|tie| tie.revents != 0);
                if ended {
                    orphans::wait_for(lane.number);
                }
                !ended
            });
            // A lane that ended in good order has left nothing; one that was killed may have.
            let numbers: Vec<_> = lanes.iter().map(|lane| lane.number).collect();
            orphans::end_all_but(&numbers);
        }
        if !arrived {
            continue;
        }
        let Some(lane) = receive_descriptor(&control)? else {
            break;
        };
        // Without a process the lane is dropped, which tells the client.
        let Ok((near, far)) = UnixStream::pair() else {
            continue;
        };
        // SAFETY: this process has one thread, so its copy may go on as any process does.
        match unsafe { libc::fork() } {
            0 => {
                // Whoever holds the other end of a tie or of the control socket counts as alive.
                drop((lanes, control, near));
                serve_alone(UnixStream::from(lane), far)
            }
            number if number > 0 => lanes.push(LaneProcess { number, tie: near }),
            _ => {}
        }
    }
    // Every lane is closed now; their processes end once their jobs are dead.
    for lane in lanes {
        orphans::wait_for(lane.number);
    }
    orphans::end_all_but(&[]);
    Ok(())
}

/// The life of a process that serves one lane.
fn serve_alone(stream: UnixStream, helper: UnixStream) -> ! {
    orphans::adopt();
    let mut lane = Lane {
        stream,
        inbox: Inbox::default(),
        helper: Some(helper),
        forsaken: false,
    };
    // An error here is a lane that the client has closed or filled with nonsense. Leaving closes our end, which is
    // all the client needs to know.
    let _ = lane.serve();
    process::exit(0)
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
    // Caught, it interrupts waiting, so that an orphan that has ended is noticed.
    outlive(libc::SIGCHLD)?;
    orphans::adopt();
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

/// Starts a thread of this process that serves a lane until the client closes it.
pub(super) fn serve_in_thread(stream: UnixStream) -> io::Result<()> {
    let builder = thread::Builder::new().name("lane".to_owned());
    let thread = builder.stack_size(STACK).spawn(move || {
        let mut lane = Lane {
            stream,
            inbox: Inbox::default(),
            helper: None,
            forsaken: false,
        };
        // As for a process of its own.
        let _ = lane.serve();
    });
    thread.map(drop)
}

/// The server's end of a lane.
struct Lane {
    stream: UnixStream,
    inbox: Inbox,
    /// The tie to the helper, which hangs up when that has ended. With one, this process serves the lane and does
    /// nothing else, so all its children belong to the job; without one, it is the process of somebody else.
    helper: Option<UnixStream>,
    /// The helper has ended, and nobody would clear away after this process if it were killed as well.
    forsaken: bool,
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
        while let Some(message) = self.next_order()? {
            match read_order(&message)? {
                Order::Start(request) => {
                    let outcome = self.run(&request);
                    if self.forsaken {
                        // The job was killed for that, which is no result of its program.
                        return Ok(());
                    }
                    send(&self.stream, &Message::done(&outcome))?;
                }
                // Meant for a job that had ended before the order came.
                Order::Cancel => {}
            }
        }
        Ok(())
    }

    /// Waits for the next order; `None` when it will never come.
    fn next_order(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(helper) = &self.helper else {
            return self.inbox.next(&self.stream);
        };
        loop {
            if let Some(message) = self.inbox.take()? {
                return Ok(Some(message));
            }
            let mut watched = [&self.stream, helper].map(|stream| readable(Some(stream.as_fd())));
            poll(&mut watched, -1);
            let [heard, forsaken] = watched.map(|watched| watched.revents != 0);
            if forsaken || (heard && !self.inbox.fill(&self.stream)?) {
                return Ok(None);
            }
        }
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
        // And so does what has left the group.
        if self.helper.is_some() {
            orphans::end_all_but(&[]);
        }
        Ok(Exit {
            status: usage.status,
            timed_out,
            cancelled,
            said: captures.finish(is_readable),
            wall,
            user_cpu: usage.user_cpu,
            system_cpu: usage.system_cpu,
            peak_memory: usage.peak_memory,
            peak_reliable: self.helper.is_some(),
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
            let event = self.wait(group, captures, open, due);
            phase = match (event, phase) {
                (Event::Ended, _) => return (timed_out, cancelled),
                (Event::Lane, phase) => match (self.hear(), phase) {
                    (Said::Cancel, Phase::Running { .. }) => {
                        cancelled = true;
                        ask()
                    }
                    (Said::Cancel | Said::Nothing, phase) => phase,
                    (Said::Closed, _) => {
                        open = false;
                        group.signal(libc::SIGKILL);
                        Phase::Killed
                    }
                },
                (Event::Forsaken, _) => {
                    (open, self.forsaken) = (false, true);
                    group.signal(libc::SIGKILL);
                    Phase::Killed
                }
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

    /// Waits for whatever happens first. The end of the program goes before all else, so that a program
    /// that made it in time is not reported as late. What the program says is taken in meanwhile.
    fn wait(
        &self,
        group: &Group,
        captures: &mut Captures,
        open: bool,
        due: Option<Instant>,
    ) -> Event {
        let lane = open.then(|| self.stream.as_fd());
        let helper = self.helper.as_ref().filter(|_| open);
        let helper = helper.map(|helper| helper.as_fd());
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
            let mut watched = [group.ended_descriptor(), lane, helper, output, error].map(readable);
            let interrupted = !poll(&mut watched, milliseconds);
            let [ended, heard, forsaken, output, error] =
                watched.map(|watched| watched.revents != 0);
            if ended || (group.ended_descriptor().is_none() && group.has_ended()) {
                return Event::Ended;
            }
            if forsaken {
                return Event::Forsaken;
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
            if interrupted && self.helper.is_some() {
                orphans::reap_ended(group);
            }
        }
    }

    /// Reads what the client has sent while its job runs.
    fn hear(&mut self) -> Said {
        match self.inbox.fill(&self.stream).and_then(|open| {
            let order = self.inbox.take()?.map(|message| read_order(&message));
            Ok((open, order.transpose()?))
        }) {
            Ok((_, Some(Order::Cancel))) => Said::Cancel,
            Ok((true, None)) => Said::Nothing,
            Ok((false, None) | (_, Some(Order::Start(_)))) | Err(_) => Said::Closed,
        }
    }
}

enum Said {
    Cancel,
    /// Part of a message.
    Nothing,
    /// The client has gone or makes no sense.
    Closed,
}

enum Event {
    Ended,
    Lane,
    /// The helper has ended.
    Forsaken,
    Due,
}

/// An entry for [`poll`] that waits until a descriptor can be read or is hung up.
fn readable(descriptor: Option<BorrowedFd>) -> libc::pollfd {
    libc::pollfd {
        // Negative numbers are passed over.
        fd: descriptor.map_or(-1, |descriptor| descriptor.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    }
}

/// Waits until something is ready or the time is over, for ever if it is negative; `false` when a signal came
/// first, and then nothing is marked as ready.
fn poll(watched: &mut [libc::pollfd], milliseconds: libc::c_int) -> bool {
    // SAFETY: `watched` is a live slice of the stated length.
    let count = unsafe {
        libc::poll(
            watched.as_mut_ptr(),
            watched.len() as libc::nfds_t,
            milliseconds,
        )
    };
    count >= 0
}

fn is_readable(descriptor: BorrowedFd) -> bool {
    let mut watched = [readable(Some(descriptor))];
    poll(&mut watched, 0) && watched[0].revents != 0
}
