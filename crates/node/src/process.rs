//! The node process: finds its manager, works for it, gives bytes to others, and goes when the manager says so or nobody
//! wants it any more.
//!
//! Law: a node that has lost its manager looks for it where the crew file says, for a while. What it had not begun is
//! forgotten then: the manager has given it to somebody else.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use headwater_execute::{Folders, Stop, machine_cores, machine_memory, machine_name};
use headwater_graph::Registry;
use headwater_graph::wire::WireWriter;

use crate::NodeError;
use crate::crew_file::CrewFile;
use crate::message::{Hello, MESSAGES, OBJECTS, ToManager, ToNode};
use crate::objects::{Puller, serve};
use crate::secure::{Receiver, Sender, Tls};
use crate::shelf::Shelf;
use crate::work::Desk;

/// A sign of life is given so often.
const BEAT: Duration = Duration::from_secs(1);
/// So long is waited before a manager that is gone is looked for again.
const PAUSE: Duration = Duration::from_millis(500);
/// Messages that are sent as one are not longer than this.
const MOST: usize = 1 << 20;

/// What is said to a node when it is started.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// The crew file.
    pub crew: PathBuf,
    /// What people call it; by default the name of the machine and the number of the process.
    pub name: Option<String>,
    /// Cores that it has; by default those of the machine.
    pub cores: Option<usize>,
    /// Bytes that it keeps in memory for others; by default a quarter of what the machine has.
    pub memory: Option<u64>,
    /// Other things that it has: gpu, a licence.
    pub others: Vec<(String, u64)>,
    /// Where it has a folder of its own; by default where temporary files are.
    pub folder: Option<PathBuf>,
    /// How long it may live.
    pub left: Option<Duration>,
    /// So long it looks for a manager that is gone.
    pub patience: Duration,
}

impl NodeOptions {
    /// A node of the crew that this file describes.
    pub fn of(crew: &Path) -> NodeOptions {
        NodeOptions {
            crew: crew.to_path_buf(),
            name: None,
            cores: None,
            memory: None,
            others: Vec::new(),
            folder: None,
            left: None,
            patience: Duration::from_secs(60),
        }
    }
}

impl NodeOptions {
    /// What Slurm says of the job that this process is: its cores, its folder, and how long it may go on.
    pub fn of_slurm(&mut self) {
        let said = |name: &str| std::env::var(name).ok();
        let number = |name: &str| said(name)?.parse::<usize>().ok();
        self.cores = number("SLURM_CPUS_PER_TASK")
            .or_else(|| number("SLURM_CPUS_ON_NODE"))
            .or(self.cores);
        self.folder = said("SLURM_TMPDIR")
            .map(PathBuf::from)
            .or(self.folder.take());
        self.left = self.left.or_else(|| time_left(&said("SLURM_JOB_ID")?));
    }
}

/// How long a job of Slurm may go on: asked once.
fn time_left(job: &str) -> Option<Duration> {
    let output = std::process::Command::new("squeue")
        .args(["-h", "-o", "%L", "-j", job])
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    parse_left(String::from_utf8_lossy(&output.stdout).trim())
}

/// `[DAYS-]HOURS:MINUTES:SECONDS`, `MINUTES:SECONDS`; anything else is no limit.
fn parse_left(text: &str) -> Option<Duration> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<u64>().ok()?, rest),
        None => (0, text),
    };
    let mut seconds = 0;
    for part in rest.split(':') {
        seconds = seconds * 60 + part.parse::<u64>().ok()?;
    }
    rest.contains(':')
        .then(|| Duration::from_secs(days * 86_400 + seconds))
}

/// A folder that goes with the process.
struct Own(PathBuf);

impl Drop for Own {
    fn drop(&mut self) {
        let _ = headwater_execute::remove_tree(&self.0);
    }
}

/// How a connection ended.
enum End {
    /// The node is to go.
    Told,
    /// The manager is gone.
    Lost,
}

/// Works as a node until the manager ends it.
pub fn run_node(options: &NodeOptions, libraries: Registry, stop: &Stop) -> Result<(), NodeError> {
    let host = machine_name();
    let name = options
        .name
        .clone()
        .unwrap_or_else(|| format!("{host}-{}", std::process::id()));
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let own = Own(parent.join(format!(
        "headwater-node-{}-{}",
        std::process::id(),
        crate::random_name()
    )));
    crate::make_private(&own.0).map_err(|error| NodeError::Connection {
        what: format!("cannot make folder `{}`", own.0.display()),
        error,
    })?;
    let cores = options.cores.unwrap_or_else(machine_cores) as u64;
    let memory = options
        .memory
        .unwrap_or_else(|| machine_memory().unwrap_or(4 << 30) / 4);
    let shelf = Arc::new(Shelf::new(own.0.join("shelf"), memory));
    let ends = options.left.map(|left| Instant::now() + left);
    let mut crew = CrewFile::read(&options.crew)?;
    let mut tls = Tls::of(&crew)?;
    let puller = Arc::new(Puller::new(tls.clone(), crew.addresses.clone(), false));
    let sees = fs::read_to_string(crew.folder.join("seen")).is_ok_and(|token| token == crew.token);
    let folders = if sees {
        // Where people look for them.
        let work = crew.work.join(&name);
        Folders::new(work, own.0.join("staging"), crew.logs.clone(), Vec::new())
    } else {
        Folders::below(&own.0)
    };
    let desk = Desk::new(
        &own.0,
        &folders,
        Arc::clone(&shelf),
        puller,
        Arc::new(libraries),
        cores,
        stop,
    );
    let hello = |crew: &CrewFile, address: &str| {
        let (protocol, scheme, build) = Hello::versions();
        Hello {
            protocol,
            scheme,
            build,
            name: name.clone(),
            host: host.clone(),
            cores,
            memory: None,
            others: options.others.clone(),
            address: address.to_owned(),
            token: fs::read_to_string(crew.folder.join("seen")).ok(),
            left: ends.map(|ends| ends.saturating_duration_since(Instant::now())),
        }
    };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| desk.work(cores));
        let mut lost_at = Instant::now();
        let ended = loop {
            let attempt = connect(&tls, &crew, &shelf, |address| hello(&crew, address));
            match attempt {
                Ok(link) => {
                    let ended = link.follow(&desk, &crew, &tls, stop);
                    desk.left();
                    match ended {
                        End::Told => break Ok(()),
                        End::Lost => lost_at = Instant::now(),
                    }
                }
                Err(error @ NodeError::Refused(_)) => break Err(error),
                Err(error) if lost_at.elapsed() > options.patience => break Err(error),
                Err(_) => {}
            }
            if stop.is_stopping() {
                break Ok(());
            }
            std::thread::sleep(PAUSE);
            // A manager that was started again is somewhere else; one that has ended has taken the file away.
            match CrewFile::read(&options.crew) {
                Ok(found) => {
                    if found != crew {
                        tls = Tls::of(&found)?;
                        crew = found;
                    }
                }
                Err(_) if !options.crew.exists() => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        desk.cancel();
        desk.close();
        let _ = worker.join();
        ended
    })
}

/// A connection to the manager.
struct Link {
    sender: Sender,
    receiver: Receiver,
    rates: Option<headwater_graph::Rates>,
    name: String,
    sees: bool,
    /// Whoever wants bytes comes here.
    _server: Server,
}

fn connect(
    tls: &Tls,
    crew: &CrewFile,
    shelf: &Arc<Shelf>,
    hello: impl FnOnce(&str) -> Hello,
) -> Result<Link, NodeError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| NodeError::Connection { what, error }
    };
    let secure = tls
        .connect(&crew.addresses)
        .map_err(failed("cannot reach the manager"))?;
    // Others reach this machine where the manager does.
    let own = secure
        .local()
        .map_err(failed("cannot find out the own address"))?;
    let server = Server::start(own.ip(), tls, shelf).map_err(failed("cannot listen"))?;
    let address = server.address.to_string();
    let mut stream = secure.stream();
    stream
        .write_all(&[MESSAGES])
        .map_err(failed("cannot begin"))?;
    let (sender, mut receiver) = stream.channel().map_err(failed("cannot begin"))?;
    let hello = hello(&address);
    let sees = hello.token.as_deref() == Some(&*crew.token);
    let mut writer = WireWriter::new();
    ToManager::Hello(Box::new(hello)).write(&mut writer);
    sender.send(&writer.bytes).map_err(failed("cannot begin"))?;
    let answer = receiver
        .receive()
        .map_err(failed("the manager does not answer"))?;
    let answer = answer.as_deref().map(ToNode::read);
    match answer {
        Some(Ok(ToNode::Welcome { name, keeps })) => Ok(Link {
            sender,
            receiver,
            rates: keeps,
            name,
            sees,
            _server: server,
        }),
        Some(Ok(ToNode::Refused(reason))) => Err(NodeError::Refused(reason)),
        _ => Err(failed("the manager does not answer")(
            io::ErrorKind::InvalidData.into(),
        )),
    }
}

impl Link {
    /// Does what the manager says.
    fn follow(self, desk: &Desk, crew: &CrewFile, tls: &Tls, stop: &Stop) -> End {
        let Link {
            sender,
            mut receiver,
            rates,
            name,
            sees,
            _server,
        } = self;
        let (out, messages) = mpsc::channel();
        let shared = sees.then(|| crew.folder.join(&name));
        let puller = Arc::new(Puller::new(tls.clone(), crew.addresses.clone(), sees));
        desk.joined(out.clone(), puller, shared, rates);
        let over = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            let writer = sender.clone();
            scope.spawn(move || write_all(&messages, &writer));
            let (beats, is_over) = (out.clone(), Arc::clone(&over));
            let beating = scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) && beats.send(ToManager::Beat).is_ok() {
                    std::thread::park_timeout(BEAT);
                    if stop.is_stopping() {
                        let _ = beats.send(ToManager::Leaving("it was stopped".to_owned()));
                        return;
                    }
                }
            });
            let ended = loop {
                let message = match receiver.receive() {
                    Ok(Some(message)) => message,
                    Ok(None) | Err(_) => break End::Lost,
                };
                match ToNode::read(&message) {
                    Ok(ToNode::Assign(assignment)) => desk.arrived(*assignment),
                    Ok(ToNode::Retract(unit)) => desk.retract(unit),
                    Ok(ToNode::Forget(digests)) => desk.shelf.forget(&digests),
                    Ok(ToNode::Clear) => desk.clear(),
                    Ok(ToNode::Cancel) => desk.cancel(),
                    Ok(ToNode::End) => break End::Told,
                    Ok(ToNode::Refused(_)) | Err(_) => break End::Lost,
                    Ok(ToNode::Welcome { .. }) => {}
                }
            };
            over.store(true, Ordering::Relaxed);
            beating.thread().unpark();
            // The writer ends when nobody can say anything any more.
            desk.left();
            drop(out);
            sender.close();
            ended
        })
    }
}

/// Sends messages, several as one where there are several.
fn write_all(messages: &mpsc::Receiver<ToManager>, sender: &Sender) {
    while let Ok(first) = messages.recv() {
        let mut writer = WireWriter::new();
        first.write(&mut writer);
        while writer.bytes.len() < MOST
            && let Ok(next) = messages.try_recv()
        {
            next.write(&mut writer);
        }
        if sender.send(&writer.bytes).is_err() {
            // Whoever reads notices it, too; what is still said is thrown away.
            return;
        }
    }
}

/// Gives bytes to others, on threads of its own.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Server {
    fn start(ip: IpAddr, tls: &Tls, shelf: &Arc<Shelf>) -> io::Result<Server> {
        let listener = TcpListener::bind((ip, 0))?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, tls, shelf) = (Arc::clone(&over), tls.clone(), Arc::clone(shelf));
        std::thread::Builder::new()
            .name("headwater-objects".to_owned())
            .spawn(move || {
                for socket in listener.incoming() {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let Ok(socket) = socket else {
                        continue;
                    };
                    let (tls, shelf) = (tls.clone(), Arc::clone(&shelf));
                    let give = move || -> io::Result<()> {
                        let mut stream = tls.accept(socket)?.stream();
                        let mut kind = [0];
                        stream.read_exact(&mut kind)?;
                        if kind == [OBJECTS] {
                            serve(stream, &*shelf, &AtomicU64::new(0))?;
                        }
                        Ok(())
                    };
                    // Somebody who is not of the crew gets nothing, and who cannot be served asks elsewhere.
                    let _ = std::thread::Builder::new().spawn(give);
                }
            })?;
        Ok(Server { address, over })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // So that the thread looks up.
        let _ = std::net::TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_says_of_the_time_left_is_read() {
        let seconds = |text: &str| parse_left(text).map(|left| left.as_secs());
        assert_eq!(seconds("4:05"), Some(245));
        assert_eq!(seconds("1:00:00"), Some(3600));
        assert_eq!(seconds("2-01:00:01"), Some(2 * 86_400 + 3601));
        for text in ["UNLIMITED", "INVALID", "", "NOT_SET", "7"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
