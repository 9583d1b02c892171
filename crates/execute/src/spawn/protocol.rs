//! What travels on a lane, and how a lane reaches the helper.
//!
//! Law: a lane carries at most one job at a time. The client writes one `Start`, then at most one
//! `Cancel`; the server answers every `Start` with exactly one reply and leaves a `Cancel` that
//! finds no job running without an answer. Because a stream keeps its order, a `Cancel` that comes
//! too late is always read before the next `Start` and can never hit the wrong job.
//!
//! Both ends are the same executable, so the format has no version: all integers are
//! little-endian, byte strings carry their length, and a message is its length followed by its
//! content.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::{Exit, ExitStatusKind, Namespace, Over, Request, SpawnError};

/// Above this a length can only be a sign of a broken stream: the kernel itself refuses arguments
/// and environments of more than a few megabytes.
const LONGEST_MESSAGE: usize = 16 << 20;
/// An inbox gives memory above this back after each message, so that one long command line does
/// not raise the helper's size, and with it the peak reported for all later programs.
const KEPT_CAPACITY: usize = 64 << 10;
const LENGTH: usize = size_of::<u32>();

/// What a client asks of a server.
#[derive(Debug)]
pub(super) enum Order {
    /// Run this program.
    Start(Box<Request>),
    /// End the running program.
    Cancel,
}

/// What a server tells its client.
#[derive(Debug)]
pub(super) enum Reply {
    /// The lane is served; sent once, before anything else.
    Ready,
    /// The program ran and has ended, or was not started.
    Done(Result<Exit, SpawnError>),
}

/// The received bytes of a stream that have not been taken as messages yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// Waits for the next message; `None` when the other side has closed the lane.
    pub(super) fn next(&mut self, stream: &UnixStream) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            if !self.fill(stream)? {
                return Ok(None);
            }
        }
    }

    /// Removes a message that has arrived as a whole.
    pub(super) fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((length, rest)) = self.bytes.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST_MESSAGE {
            return Err(malformed());
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let message = message.to_vec();
        self.bytes.drain(..LENGTH + length);
        if self.bytes.capacity() > KEPT_CAPACITY {
            self.bytes.shrink_to(KEPT_CAPACITY);
        }
        Ok(Some(message))
    }

    /// Reads once, waiting if nothing is there; `false` when the other side has closed the lane.
    pub(super) fn fill(&mut self, mut stream: &UnixStream) -> io::Result<bool> {
        let mut chunk = [0; 8 << 10];
        loop {
            match stream.read(&mut chunk) {
                Ok(count) => {
                    self.bytes.extend_from_slice(&chunk[..count]);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The other side closed without reading all we wrote: closed all the same.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Writes an encoded message in one go.
pub(super) fn send(mut stream: &UnixStream, message: &Message) -> io::Result<()> {
    stream.write_all(&message.bytes)
}

/// An encoded message, its length in front.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

const START: u8 = 1;
const CANCEL: u8 = 2;
const READY: u8 = 3;
const ENDED: u8 = 4;
const REFUSED: u8 = 5;

impl Message {
    /// A request to run a program; an error if it is too long for any program to be started.
    pub(super) fn start(request: &Request) -> Result<Message, SpawnError> {
        let mut writer = Writer::new(START);
        writer.text(&request.program);
        writer.integer(request.arguments.len() as u64);
        for argument in &request.arguments {
            writer.text(argument);
        }
        writer.integer(request.environment.len() as u64);
        for (name, value) in &request.environment {
            writer.text(name);
            writer.text(value);
        }
        writer.text(request.folder.as_os_str());
        writer.optional(request.stdin.as_deref(), |writer, path| {
            writer.text(path.as_os_str());
        });
        writer.text(request.stdout.as_os_str());
        writer.text(request.stderr.as_os_str());
        for most in request.most {
            writer.optional(most, Writer::integer);
        }
        writer.optional(request.timeout, Writer::duration);
        writer.duration(request.grace);
        let namespace = &request.namespace;
        writer.integer(namespace.read_only.len() as u64);
        for path in &namespace.read_only {
            writer.text(path.as_os_str());
        }
        writer.integer(namespace.over.len() as u64);
        for over in &namespace.over {
            writer.text(over.file.as_os_str());
            writer.text(over.at.as_os_str());
            writer.integer(over.identity.0);
            writer.integer(over.identity.1);
        }
        writer.finish().ok_or_else(|| SpawnError::Start {
            program: request.program.clone(),
            source: io::Error::from_raw_os_error(libc::E2BIG),
        })
    }

    /// The wish that the running program be ended.
    pub(super) fn cancel() -> Message {
        Writer::new(CANCEL).short()
    }

    /// The sign that a lane is served.
    pub(super) fn ready() -> Message {
        Writer::new(READY).short()
    }

    /// How a job went.
    pub(super) fn done(outcome: &Result<Exit, SpawnError>) -> Message {
        match outcome {
            Ok(exit) => {
                let mut writer = Writer::new(ENDED);
                let (kind, number) = match exit.status {
                    ExitStatusKind::Code(code) => (0, code),
                    ExitStatusKind::Signal(signal) => (1, signal),
                };
                writer.byte(kind);
                writer.integer(u64::from(number.cast_unsigned()));
                writer.byte(u8::from(exit.timed_out));
                writer.byte(u8::from(exit.cancelled));
                for said in exit.said {
                    writer.integer(said);
                }
                writer.duration(exit.wall);
                writer.duration(exit.user_cpu);
                writer.duration(exit.system_cpu);
                writer.integer(exit.peak_memory);
                writer.byte(u8::from(exit.peak_reliable));
                writer.short()
            }
            Err(error) => {
                let mut writer = Writer::new(REFUSED);
                let (kind, subject, source) = refusal(error);
                writer.byte(kind);
                writer.text(subject);
                let number = source.and_then(io::Error::raw_os_error);
                writer.integer(u64::from(number.unwrap_or(libc::EIO).cast_unsigned()));
                writer.short()
            }
        }
    }
}

const NOT_FOUND: u8 = 0;
const NOT_EXECUTABLE: u8 = 1;
const FOLDER: u8 = 2;
const FILE: u8 = 3;
const OTHER: u8 = 4;
const NAMESPACE: u8 = 5;

fn refusal(error: &SpawnError) -> (u8, &OsStr, Option<&io::Error>) {
    match error {
        SpawnError::NotFound { program } => (NOT_FOUND, program, None),
        SpawnError::NotExecutable { program, source } => (NOT_EXECUTABLE, program, Some(source)),
        SpawnError::Folder { folder, source } => (FOLDER, folder.as_os_str(), Some(source)),
        SpawnError::File { path, source } => (FILE, path.as_os_str(), Some(source)),
        SpawnError::Start { program, source } => (OTHER, program, Some(source)),
        SpawnError::Invalid { program, .. } => (OTHER, program, None),
        SpawnError::Cancelled | SpawnError::HelperDied => (OTHER, OsStr::new(""), None),
        SpawnError::Namespace { source } => (NAMESPACE, OsStr::new(""), Some(source)),
        SpawnError::Lane { source } => (OTHER, OsStr::new(""), Some(source)),
    }
}

/// Reads what a client sent.
pub(super) fn read_order(message: &[u8]) -> io::Result<Order> {
    let mut reader = Reader { rest: message };
    match reader.byte()? {
        START => Ok(Order::Start(Box::new(Request {
            program: reader.text()?,
            arguments: reader.list(Reader::text)?,
            environment: reader.list(|reader| Ok((reader.text()?, reader.text()?)))?,
            folder: reader.path()?,
            stdin: reader.optional(Reader::path)?,
            stdout: reader.path()?,
            stderr: reader.path()?,
            most: [
                reader.optional(Reader::integer)?,
                reader.optional(Reader::integer)?,
            ],
            timeout: reader.optional(Reader::duration)?,
            grace: reader.duration()?,
            namespace: Namespace {
                read_only: reader.list(Reader::path)?,
                over: reader.list(|reader| {
                    Ok(Over {
                        file: reader.path()?,
                        at: reader.path()?,
                        identity: (reader.integer()?, reader.integer()?),
                    })
                })?,
            },
        }))),
        CANCEL => Ok(Order::Cancel),
        _ => Err(malformed()),
    }
}

/// Reads what a server sent.
pub(super) fn read_reply(message: &[u8]) -> io::Result<Reply> {
    let mut reader = Reader { rest: message };
    match reader.byte()? {
        READY => Ok(Reply::Ready),
        ENDED => Ok(Reply::Done(Ok(Exit {
            status: match (reader.byte()?, reader.number()?) {
                (0, code) => ExitStatusKind::Code(code),
                (_, signal) => ExitStatusKind::Signal(signal),
            },
            timed_out: reader.byte()? != 0,
            cancelled: reader.byte()? != 0,
            said: [reader.integer()?, reader.integer()?],
            wall: reader.duration()?,
            user_cpu: reader.duration()?,
            system_cpu: reader.duration()?,
            peak_memory: reader.integer()?,
            peak_reliable: reader.byte()? != 0,
        }))),
        REFUSED => {
            let (kind, subject) = (reader.byte()?, reader.text()?);
            let source = io::Error::from_raw_os_error(reader.number()?);
            Ok(Reply::Done(Err(match kind {
                NOT_FOUND => SpawnError::NotFound { program: subject },
                NOT_EXECUTABLE => SpawnError::NotExecutable {
                    program: subject,
                    source,
                },
                FOLDER => SpawnError::Folder {
                    folder: subject.into(),
                    source,
                },
                FILE => SpawnError::File {
                    path: subject.into(),
                    source,
                },
                NAMESPACE => SpawnError::Namespace { source },
                _ => SpawnError::Start {
                    program: subject,
                    source,
                },
            })))
        }
        _ => Err(malformed()),
    }
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn new(tag: u8) -> Writer {
        let mut bytes = vec![0; LENGTH];
        bytes.push(tag);
        Writer { bytes }
    }

    fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn integer(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, value: &OsStr) {
        self.integer(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    fn duration(&mut self, value: Duration) {
        self.integer(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX));
    }

    fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn finish(mut self) -> Option<Message> {
        let length = self.bytes.len() - LENGTH;
        if length > LONGEST_MESSAGE {
            return None;
        }
        let length = u32::try_from(length).ok()?;
        self.bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
        Some(Message { bytes: self.bytes })
    }

    /// Finishes a message without content or with at most one string of a request that was short
    /// enough to be sent.
    fn short(self) -> Message {
        self.finish().expect("a reply is shorter than its request")
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn integer(&mut self) -> io::Result<u64> {
        let bytes = self.take(size_of::<u64>())?;
        Ok(u64::from_le_bytes(
            bytes.try_into().map_err(|_| malformed())?,
        ))
    }

    fn number(&mut self) -> io::Result<i32> {
        let value = u32::try_from(self.integer()?).map_err(|_| malformed())?;
        Ok(value.cast_signed())
    }

    fn text(&mut self) -> io::Result<OsString> {
        let length = usize::try_from(self.integer()?).map_err(|_| malformed())?;
        Ok(OsString::from_vec(self.take(length)?.to_vec()))
    }

    fn path(&mut self) -> io::Result<PathBuf> {
        Ok(self.text()?.into())
    }

    fn duration(&mut self) -> io::Result<Duration> {
        Ok(Duration::from_nanos(self.integer()?))
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> io::Result<T>) -> io::Result<Vec<T>> {
        let count = self.integer()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn optional<T>(&mut self, read: impl Fn(&mut Self) -> io::Result<T>) -> io::Result<Option<T>> {
        match self.byte()? {
            0 => Ok(None),
            _ => read(self).map(Some),
        }
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "malformed spawner message")
}

/// Room for the control message of one descriptor, aligned as the kernel's header needs it.
type ControlSpace = [u64; 4];

/// Hands a descriptor to the process at the other end of `control`.
pub(super) fn send_descriptor(control: &UnixStream, descriptor: BorrowedFd) -> io::Result<()> {
    let mut byte = 0_u8;
    let mut part = part_of(&mut byte);
    let mut space: ControlSpace = [0; _];
    let mut header = header_of(&mut part, &mut space);
    let number = descriptor.as_raw_fd();
    // SAFETY: `header` points to `space`, which is aligned for a `cmsghdr` and, as `header_of`
    // checked, has room for one descriptor; all of them outlive the call.
    let sent = unsafe {
        let control_header = libc::CMSG_FIRSTHDR(&raw const header);
        (*control_header).cmsg_level = libc::SOL_SOCKET;
        (*control_header).cmsg_type = libc::SCM_RIGHTS;
        (*control_header).cmsg_len = libc::CMSG_LEN(size_of_val(&number) as u32) as _;
        libc::CMSG_DATA(control_header)
            .cast::<libc::c_int>()
            .write_unaligned(number);
        // Without the flag a helper that has died would end this process by SIGPIPE.
        libc::sendmsg(control.as_raw_fd(), &raw mut header, libc::MSG_NOSIGNAL)
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Waits for a descriptor; `None` when the other process has gone.
pub(super) fn receive_descriptor(control: &UnixStream) -> io::Result<Option<OwnedFd>> {
    loop {
        let mut byte = 0_u8;
        let mut part = part_of(&mut byte);
        let mut space: ControlSpace = [0; _];
        let mut header = header_of(&mut part, &mut space);
        // SAFETY: `header` points to one writable byte and to writable control space of the
        // stated size, and both outlive the call.
        let received =
            unsafe { libc::recvmsg(control.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
        if received < 0 {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => continue,
                io::ErrorKind::ConnectionReset => return Ok(None),
                _ => return Err(error),
            }
        }
        if received == 0 {
            return Ok(None);
        }
        // SAFETY: the kernel has filled `space` and set the length in `header`, so the first
        // header, if there is one, is complete; the descriptor in it is new and owned by nobody.
        unsafe {
            let control_header = libc::CMSG_FIRSTHDR(&raw const header);
            if !control_header.is_null()
                && (*control_header).cmsg_level == libc::SOL_SOCKET
                && (*control_header).cmsg_type == libc::SCM_RIGHTS
            {
                let number = libc::CMSG_DATA(control_header)
                    .cast::<libc::c_int>()
                    .read_unaligned();
                return Ok(Some(OwnedFd::from_raw_fd(number)));
            }
        }
        // The descriptor did not fit in this process's table. The client notices that its lane is
        // closed; the other lanes go on.
    }
}

fn part_of(byte: &mut u8) -> libc::iovec {
    libc::iovec {
        iov_base: std::ptr::from_mut(byte).cast(),
        iov_len: 1,
    }
}

fn header_of(part: &mut libc::iovec, space: &mut ControlSpace) -> libc::msghdr {
    // SAFETY: `CMSG_SPACE` only computes; all-zero bytes are a valid `msghdr` with nothing in it.
    let (needed, mut header) = unsafe {
        let needed = libc::CMSG_SPACE(size_of::<libc::c_int>() as u32);
        (needed, std::mem::zeroed::<libc::msghdr>())
    };
    assert!(needed as usize <= size_of::<ControlSpace>());
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header.msg_control = space.as_mut_ptr().cast();
    header.msg_controllen = needed as _;
    header
}
