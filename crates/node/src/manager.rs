//! The manager of nodes: an executor whose tasks run in other processes, on this machine or others.
//!
//! Law: everything is decided by the enactment and the crew, which are pure; here is what carries it out. A task that was with
//! a node that is gone is done again by another one, and that is no failure of the task. Who reports first counts. Bytes go
//! from node to node; what comes here is what they are.

mod directory;
mod give;
mod own;
mod reception;
mod settle;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use headwater_enact::crew::{Crew, CrewRules, DataId, NodeFacts, NodeId, Order, UnitId};
use headwater_enact::{Action, Enactment, Ending, Start, Time};
use headwater_execute::{
    AsRecall, Executor, Fetch, Folders, Hand, Keeper, NothingKept, Observer, PoolError, Ports,
    Round, Stop, Watched,
};
use headwater_graph::{
    Digest, FileValue, Handle, Lease, Outputs, Rates, Recipe, StoredOutput, TaskId, Value,
};

use crate::NodeError;
use crate::crew_file::CrewFile;
use crate::launch::{Launch, Launched, Program};
use crate::message::{Assignment, Hello, ToManager, ToNode};
use crate::objects::Puller;
use crate::secure::Tls;
use crate::shelf::Shelf;
use crate::work::Files;
use directory::Directory;
use own::OwnTask;
use reception::{Event, Guest, Reception};

/// The longest pause of the manager: a wish to stop comes from a signal handler, which cannot wake anybody.
const PAUSE: Duration = Duration::from_millis(50);
/// So long is waited for the first of the nodes that were started here.
const PATIENCE: Duration = Duration::from_secs(30);
/// So long nodes may take to go.
const GOING: Duration = Duration::from_secs(5);
/// Bytes that the manager itself keeps in memory.
const SHELF: u64 = 1 << 30;

/// Which nodes, and how they are started.
#[derive(Debug, Clone)]
pub struct NodesOptions {
    /// Which.
    pub launch: Launch,
    /// What is started.
    pub program: Program,
    /// Cores of this machine that may be used.
    pub cores: usize,
    /// What is said to `sbatch` besides.
    pub slurm: Vec<String>,
    /// Where the manager listens; by default at loopback where all nodes are here, else at the address by which this
    /// machine reaches others.
    pub listen: Option<IpAddr>,
}

/// What is known of a node for those who ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeReport {
    /// What it is called.
    pub name: String,
    /// The machine that it is on.
    pub host: String,
    /// Its cores.
    pub cores: u64,
    /// Tasks that it has done.
    pub tasks: usize,
    /// How long these took together, in nanoseconds.
    pub busy: u64,
    /// Why it is gone, if it is.
    pub gone: Option<String>,
}

/// What went over the connections of the manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of objects that the manager gave to nodes.
    pub given: u64,
    /// Bytes of objects that the manager took from nodes.
    pub taken: u64,
    /// Tasks that were with a node when it was lost.
    pub lost: usize,
}

/// A node that is here.
struct Link {
    guest: Guest,
    address: Arc<str>,
    sees: bool,
    report: usize,
}

/// A task that is with a node, or waits for one.
struct Piece {
    start: Start,
    key: Option<Recipe>,
    lease: Option<Lease>,
}

/// A unit that was submitted.
struct Work {
    /// As it is sent.
    assignment: Assignment,
    /// Its tasks, in the order of the part; none for those that have been reported.
    pieces: Vec<Option<Piece>>,
}

/// What a task made.
#[derive(Clone)]
struct Product {
    outputs: Arc<[StoredOutput]>,
    /// Bytes that it consists of, and that nodes may have.
    objects: Arc<[Digest]>,
    /// They are in the store, or in a file here, so that no node has to stay for them.
    is_safe: bool,
}

/// What is there once nodes were started.
struct Started {
    file: PathBuf,
    crew: CrewFile,
    _reception: Reception,
    launched: Launched,
    events: mpsc::Receiver<Event>,
    own_events: mpsc::Sender<Event>,
    puller: Puller,
    at: Instant,
}

/// Runs tasks on nodes.
pub struct Nodes {
    options: NodesOptions,
    started: Option<Started>,
    crew: Crew,
    directory: Arc<Directory>,
    links: HashMap<NodeId, Link>,
    /// The nodes by the number of their connection.
    guests: HashMap<u64, NodeId>,
    reports: Vec<NodeReport>,
    work: HashMap<UnitId, Work>,
    next_unit: u64,
    products: HashMap<TaskId, Product>,
    /// What comes from outside, by its position in the graph.
    externals: HashMap<u32, Option<StoredOutput>>,
    /// How many products have these bytes.
    uses: HashMap<Digest, u32>,
    /// Tasks whose outputs stay until they are taken.
    deliver: HashSet<TaskId>,
    /// How often a task could not begin because something that it reads could not be had.
    not_begun: HashMap<TaskId, u32>,
    /// Tasks that run in this process: what they need when they end.
    own: HashMap<TaskId, Piece>,
    waiting: Vec<OwnTask>,
    hand: Option<Arc<Hand>>,
    origin: Instant,
    cancelled: bool,
    /// Products are kept.
    remembers: bool,
    lost: usize,
    scratch: PathBuf,
}

impl Nodes {
    /// Nodes are started when there is something to do.
    pub fn new(options: NodesOptions) -> Nodes {
        let scratch = std::env::temp_dir().join(format!(
            "headwater-manager-{}-{}",
            std::process::id(),
            crate::random_name()
        ));
        let shelf = Arc::new(Shelf::new(scratch.join("shelf"), SHELF));
        Nodes {
            options,
            started: None,
            crew: Crew::new(CrewRules::default()),
            directory: Arc::new(Directory::new(shelf)),
            links: HashMap::new(),
            guests: HashMap::new(),
            reports: Vec::new(),
            work: HashMap::new(),
            next_unit: 0,
            products: HashMap::new(),
            externals: HashMap::new(),
            uses: HashMap::new(),
            deliver: HashSet::new(),
            not_begun: HashMap::new(),
            own: HashMap::new(),
            waiting: Vec::new(),
            hand: None,
            origin: Instant::now(),
            cancelled: false,
            remembers: false,
            lost: 0,
            scratch,
        }
    }

    /// The nodes that there were, in the order in which they came.
    pub fn reports(&self) -> &[NodeReport] {
        &self.reports
    }

    /// What went over the connections of the manager.
    pub fn traffic(&self) -> Traffic {
        let taken = self.started.as_ref().map_or(0, |started| {
            started
                .puller
                .pulled
                .load(std::sync::atomic::Ordering::Relaxed)
        });
        Traffic {
            given: self
                .directory
                .sent
                .load(std::sync::atomic::Ordering::Relaxed),
            taken,
            lost: self.lost,
        }
    }

    fn now(&self) -> Time {
        Time::default() + self.origin.elapsed()
    }

    /// Starts nodes, once.
    fn start(&mut self, folders: &Folders) -> Result<(), NodeError> {
        if self.started.is_some() {
            return Ok(());
        }
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| NodeError::Connection { what, error }
        };
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ip = match self.options.listen {
            Some(ip) => ip,
            None if self.options.launch.is_local() => local,
            None => own_address().unwrap_or(local),
        };
        let (listener, address) = Reception::bind(ip).map_err(failed("cannot listen"))?;
        let folder = folders.staging.join("nodes");
        fs::create_dir_all(&folder).map_err(failed("cannot make a folder for nodes"))?;
        let token = crate::random_name();
        fs::write(folder.join("seen"), &token).map_err(failed("cannot make a file for nodes"))?;
        let mut crew = CrewFile::new("run", vec![address.to_string()], &folder, token)?;
        crew.work = folders.work.clone();
        crew.logs = folders.logs.clone();
        let tls = Tls::of(&crew)?;
        let file = folder.join("crew.json");
        crew.write(&file)
            .map_err(failed("cannot write the crew file"))?;
        let (sender, events) = mpsc::channel();
        let directory = Arc::clone(&self.directory);
        let reception = Reception::open(listener, tls.clone(), directory, sender.clone())
            .map_err(failed("cannot listen"))?;
        let log = folder.join("logs");
        let options = &self.options;
        let launched =
            options
                .launch
                .start(&options.program, &file, options.cores, &options.slurm, &log);
        let launched = launched.inspect_err(|_| drop(fs::remove_file(&file)))?;
        self.started = Some(Started {
            puller: Puller::new(tls, crew.addresses.clone(), false),
            file,
            crew,
            _reception: reception,
            launched,
            events,
            own_events: sender,
            at: Instant::now(),
        });
        Ok(())
    }

    /// What a digest stands for, brought here from whoever has it.
    fn bring(&self, digest: &Digest) -> bool {
        let shelf = &self.directory.shelf;
        if shelf.has(digest) {
            return true;
        }
        if let Some(path) = self.directory.path(digest) {
            shelf.adopt(*digest, &path);
            return true;
        }
        let peers = self.directory.peers(digest);
        let started = self.started.as_ref();
        started.is_some_and(|started| started.puller.bring_from(&peers, digest, shelf))
    }

    /// The value of an output, with its files where they can be read.
    fn value(&self, output: &StoredOutput) -> Option<Value> {
        if let Some(encoding) = &output.encoding
            && !self.bring(encoding)
        {
            return None;
        }
        let shelf = &self.directory.shelf;
        let located = |file: &FileValue| {
            let handle = match &file.handle {
                Handle::Stored if self.bring(&file.digest) => {
                    Handle::Path(shelf.path(&file.digest)?)
                }
                Handle::Stored => return None,
                other => other.clone(),
            };
            Some(FileValue {
                handle,
                ..file.clone()
            })
        };
        shelf.value(output)?.with_files(&mut { located })
    }

    fn product_value(&self, task: TaskId, port: u16) -> Option<Value> {
        let product = self.products.get(&task)?;
        self.value(product.outputs.get(usize::from(port))?)
    }

    /// Forgets what a task made. Says what nobody has any use for now.
    fn drop_product(&mut self, task: TaskId) -> Vec<Digest> {
        let Some(product) = self.products.remove(&task) else {
            return Vec::new();
        };
        let mut unused = Vec::new();
        for digest in product.objects.iter() {
            if let Some(uses) = self.uses.get_mut(digest) {
                *uses -= 1;
                if *uses == 0 {
                    self.uses.remove(digest);
                    unused.push(*digest);
                }
            }
        }
        unused
    }

    fn put_product(&mut self, task: TaskId, product: Product) {
        for digest in product.objects.iter() {
            *self.uses.entry(*digest).or_default() += 1;
        }
        // What was there before is counted no more.
        self.drop_product(task);
        self.products.insert(task, product);
    }

    /// Nobody needs what a task made.
    fn release(&mut self, task: TaskId) {
        if self.deliver.contains(&task) {
            return;
        }
        let unused = self.drop_product(task);
        let holders = self.crew.forget(DataId(task.0));
        if unused.is_empty() {
            return;
        }
        self.directory.forget(&unused);
        self.directory.shelf.forget(&unused);
        for node in holders {
            if let Some(link) = self.links.get(&node) {
                link.guest.say(ToNode::Forget(unused.clone()));
            }
        }
    }

    fn end(&mut self) {
        for link in self.links.values() {
            link.guest.say(ToNode::End);
        }
        if let Some(mut started) = self.started.take() {
            let _ = fs::remove_file(&started.file);
            // One that has not come yet hears nothing, and ends when it finds nobody.
            let all = self.links.len() >= started.launched.alive();
            started
                .launched
                .end(if all { GOING } else { Duration::ZERO });
            for link in self.links.values() {
                link.guest.close();
            }
        }
        self.links.clear();
        self.guests.clear();
        let _ = headwater_execute::remove_tree(&self.scratch);
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.directory.set_store(None);
        self.end();
    }
}

/// The address by which this machine reaches others.
fn own_address() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    // Nothing is sent: it only says by which way it would go.
    socket.connect(("192.0.2.1", 9)).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}

/// What a round of the manager works with.
struct Desk<'a> {
    folders: &'a Folders,
    enactment: &'a mut Enactment,
    keeper: &'a mut dyn Keeper,
    observer: &'a dyn Observer,
    fetcher: Arc<dyn Fetch>,
    stop: Stop,
    began: Instant,
    remembers: bool,
    compares: bool,
    error: Option<PoolError>,
}

impl Desk<'_> {
    fn now(&self) -> Time {
        Time::default() + self.began.elapsed()
    }

    fn put_back(&mut self, task: TaskId, ending: Ending) {
        let now = self.now();
        let recall = &mut AsRecall(self.keeper);
        if let Err(error) = self.enactment.finished(task, ending, &[], now, recall) {
            self.error.get_or_insert(error.into());
        }
        self.observer.returned(self.enactment, task);
    }

    fn lost(&mut self, task: TaskId) {
        let recall = &mut AsRecall(self.keeper);
        if let Err(error) = self.enactment.lost(task, recall) {
            self.error.get_or_insert(error.into());
        }
    }
}

impl Executor for Nodes {
    fn cores(&self) -> usize {
        match self.options.launch {
            Launch::Local(_) => self.options.cores,
            _ => usize::try_from(self.crew.cores())
                .unwrap_or(usize::MAX)
                .max(self.options.launch.count()),
        }
    }

    fn run(&mut self, round: Round<'_>) -> Result<(), PoolError> {
        self.deliver.extend(round.deliver);
        let remembers = round.keeper.is_some();
        self.remembers = remembers;
        let mut nothing = NothingKept;
        let keeper = round.keeper.unwrap_or(&mut nothing);
        let fetcher = keeper.fetcher();
        self.directory.set_store(Some(Arc::clone(&fetcher)));
        self.hand = Some(Arc::new(self.own_hand(
            round.folders,
            round.watched,
            &round.stop,
        )));
        let compares = round.enactment.coordinator().compares();
        let mut desk = Desk {
            folders: round.folders,
            enactment: round.enactment,
            keeper,
            observer: round.observer,
            fetcher,
            stop: round.stop,
            began: round.began,
            remembers,
            compares,
            error: None,
        };
        self.tidy(desk.enactment);
        let ended = self.go_on(&mut desk);
        // What the store has stays to be had; whoever waits for it to close is not kept waiting.
        self.directory.set_store(None);
        if let Some(hand) = self.hand.take() {
            hand.clean_up();
        }
        ended
    }

    fn output(&self, task: TaskId, port: u16) -> Option<Value> {
        self.product_value(task, port)
    }

    fn take(&mut self, task: TaskId) -> Option<Arc<Outputs>> {
        let count = self.products.get(&task)?.outputs.len() as u16;
        let outputs: Option<Outputs> = (0..count)
            .map(|port| self.product_value(task, port))
            .collect();
        self.deliver.remove(&task);
        outputs.map(Arc::new)
    }

    fn tidy(&mut self, enactment: &mut Enactment) {
        let mut released = Vec::new();
        enactment.take_released(&mut released);
        released.into_iter().for_each(|task| self.release(task));
    }

    fn clear(&mut self) {
        self.deliver.clear();
        let tasks: Vec<TaskId> = self.products.keys().copied().collect();
        for task in tasks {
            self.drop_product(task);
            self.crew.forget(DataId(task.0));
        }
        self.not_begun.clear();
        self.uses.clear();
        self.externals.clear();
        self.directory.clear();
        for link in self.links.values() {
            link.guest.say(ToNode::Clear);
        }
    }
}

impl Nodes {
    /// What runs tasks in this process.
    fn own_hand(&self, folders: &Folders, watched: Arc<Watched>, stop: &Stop) -> Hand {
        let own = Folders::new(
            folders.work.join("own"),
            folders.staging.join("own"),
            folders.logs.clone(),
            folders.sheltered.clone(),
        );
        let files = Arc::new(Files(Arc::clone(&self.directory.shelf)));
        let reader: Arc<dyn headwater_graph::ReadFile> = Arc::clone(&files) as _;
        Hand::new(&own, watched, stop, reader, files)
    }

    /// Works until everything has ended.
    fn go_on(&mut self, desk: &mut Desk<'_>) -> Result<(), PoolError> {
        loop {
            if desk.stop.is_stopping() || desk.error.is_some() {
                desk.enactment.stop();
            }
            if desk.stop.is_now() && !std::mem::replace(&mut self.cancelled, true) {
                for link in self.links.values() {
                    link.guest.say(ToNode::Cancel);
                }
            }
            self.hear(desk, Duration::ZERO);
            let finished = self.offer(desk);
            self.order(desk);
            if finished && self.work.is_empty() && self.own.is_empty() {
                return desk.error.take().map_or(Ok(()), Err);
            }
            if let Some(reason) = self.nobody_comes() {
                if let Some(error) = desk.error.take() {
                    return Err(error);
                }
                return Err(PoolError::Nodes(reason));
            }
            let due = self
                .crew
                .due()
                .map(|due| due.0.saturating_sub(self.now().0));
            let pause = due.map_or(PAUSE, |due| Duration::from_nanos(due).min(PAUSE));
            self.hear(desk, pause.max(Duration::from_micros(100)));
        }
    }

    /// Why no node will ever come, if that is so.
    fn nobody_comes(&mut self) -> Option<String> {
        if !self.links.is_empty() || !self.own.is_empty() {
            return None;
        }
        let started = self.started.as_mut()?;
        if started.launched.may_come()
            && (started.launched.processes().is_empty() || started.at.elapsed() < PATIENCE)
        {
            return None;
        }
        let last = self.reports.last();
        let why = last.and_then(|report| {
            Some(format!(
                "; the last one, `{}`: {}",
                report.name,
                report.gone.as_ref()?
            ))
        });
        let logs = started.crew.folder.join("logs");
        let said = last_words(&logs);
        Some(format!(
            "no node is left to go on{}{}",
            why.unwrap_or_default(),
            said.map_or_else(String::new, |said| format!("; one said: {said}"))
        ))
    }

    /// Takes in what has happened; waits for something, at most so long.
    fn hear(&mut self, desk: &mut Desk<'_>, longest: Duration) {
        /// So much is taken in before something else is done.
        const MOST: usize = 10_000;
        let Some(started) = self.started.as_ref() else {
            std::thread::sleep(longest);
            return;
        };
        let mut events = Vec::new();
        if longest > Duration::ZERO {
            events.extend(started.events.recv_timeout(longest));
        }
        events.extend(started.events.try_iter().take(MOST));
        for event in events {
            match event {
                Event::Came(number, hello, guest) => self.came(number, *hello, guest),
                Event::Said(number, said) => {
                    let Some(node) = self.guests.get(&number).copied() else {
                        continue;
                    };
                    self.crew.heard(node, self.now());
                    for message in said {
                        self.said(desk, node, message);
                    }
                }
                Event::Went(number, reason) => {
                    if let Some(node) = self.guests.remove(&number) {
                        self.went(desk, node, &reason);
                    }
                }
                Event::Own(end) => self.own_ended(desk, *end),
            }
        }
    }

    fn came(&mut self, number: u64, hello: Hello, guest: Guest) {
        let facts = NodeFacts {
            cores: hello.cores.max(1),
            memory: hello.memory,
            others: hello
                .others
                .iter()
                .map(|(name, amount)| (name.as_str().into(), *amount))
                .collect(),
            until: hello.left.map(|left| self.now() + left),
        };
        let node = self.crew.joined(facts, self.now());
        let token = self
            .started
            .as_ref()
            .map(|started| started.crew.token.clone());
        let name = format!("{}-{}", file_name(&hello.name), node.0);
        guest.say(ToNode::Welcome {
            name,
            keeps: self.remembers.then(Rates::default),
        });
        self.reports.push(NodeReport {
            name: hello.name,
            host: hello.host,
            cores: hello.cores,
            tasks: 0,
            busy: 0,
            gone: None,
        });
        self.guests.insert(number, node);
        self.links.insert(
            node,
            Link {
                guest,
                address: hello.address.into(),
                sees: hello.token.is_some() && hello.token == token,
                report: self.reports.len() - 1,
            },
        );
    }

    /// A node is gone: what it had is done by others.
    fn went(&mut self, desk: &mut Desk<'_>, node: NodeId, reason: &str) {
        let Some(link) = self.links.remove(&node) else {
            return;
        };
        self.guests.retain(|_, guest| *guest != node);
        link.guest.close();
        self.reports[link.report].gone = Some(reason.to_owned());
        let loss = self.crew.lost(node);
        self.directory.lost(node);
        for unit in loss.units {
            if let Some(work) = self.work.remove(&unit) {
                for piece in work.pieces.into_iter().flatten() {
                    self.lost += 1;
                    desk.put_back(piece.start.task, Ending::Busy);
                }
            }
        }
        for data in loss.data {
            let task = TaskId(data.0);
            let is_safe = self
                .products
                .get(&task)
                .is_none_or(|product| product.is_safe);
            if !is_safe && !self.deliver_is_here(task) {
                self.drop_product(task);
                desk.lost(task);
            }
        }
        self.pass_on(desk);
    }

    /// Whether everything that a task made is in this process.
    fn deliver_is_here(&self, task: TaskId) -> bool {
        let Some(product) = self.products.get(&task) else {
            return false;
        };
        product
            .objects
            .iter()
            .all(|digest| self.directory.shelf.has(digest))
    }

    /// Asks for tasks as long as there is use for them; says whether everything has ended.
    fn offer(&mut self, desk: &mut Desk<'_>) -> bool {
        let mut batch: Vec<Start> = Vec::new();
        loop {
            let stopping = desk.enactment.coordinator().is_stopped();
            let has_room = self.crew.has_room() || (self.links.is_empty() && self.work.is_empty());
            if !has_room && !stopping {
                return false;
            }
            match desk.enactment.next(desk.now()) {
                Action::Start(start) => {
                    batch.clear();
                    batch.push(start);
                    let cores = usize::try_from(2 * self.crew.cores()).unwrap_or(1);
                    desk.enactment.ride_along(start.task, cores, &mut batch);
                    self.start_batch(desk, &batch);
                    if self.links.is_empty() {
                        return false;
                    }
                }
                Action::Materialise(task) => self.materialise(desk, task),
                Action::Spill(task) => desk.enactment.spilled(task, false),
                Action::Compare => self.compare(desk),
                Action::Wait(_) => return false,
                Action::Finished => return true,
            }
        }
    }

    /// Does what the crew says.
    fn order(&mut self, desk: &mut Desk<'_>) {
        while let Some(order) = self.crew.next(self.now()) {
            match order {
                Order::Assign(node, unit) => {
                    if let (Some(link), Some(work)) = (self.links.get(&node), self.work.get(&unit))
                    {
                        link.guest
                            .say(ToNode::Assign(Box::new(work.assignment.clone())));
                    }
                }
                Order::Retract(node, unit) => {
                    if let Some(link) = self.links.get(&node) {
                        link.guest.say(ToNode::Retract(unit.0));
                    }
                }
                Order::Expire(node) => self.went(desk, node, "it has been silent for too long"),
                Order::Release(node) => {
                    if let Some(link) = self.links.get(&node) {
                        link.guest.say(ToNode::End);
                    }
                    self.went(desk, node, "its time is over");
                }
            }
        }
    }

    /// Outputs of a remembered task are to be had: where they are is found out, and nothing is moved.
    fn materialise(&mut self, desk: &mut Desk<'_>, task: TaskId) {
        if self.products.contains_key(&task) {
            desk.enactment.materialised(task, 0);
            return;
        }
        let recipe = desk.enactment.stored_as(task);
        let ports = desk
            .enactment
            .ports_read(task)
            .map_or(Ports::All, Ports::These);
        let count = desk
            .enactment
            .graph()
            .operation_at(task)
            .signature
            .outputs
            .len();
        let described = desk
            .remembers
            .then(|| desk.fetcher.described(&recipe, &ports))
            .flatten()
            .filter(|outputs| outputs.len() == count);
        match described {
            Some(outputs) => {
                let product = Product {
                    outputs: outputs.into(),
                    objects: Arc::default(),
                    is_safe: true,
                };
                self.put_product(task, product);
                desk.enactment.materialised(task, 0);
            }
            None => desk.lost(task),
        }
        self.pass_on(desk);
    }

    /// Finds out which of the tasks that could start are equal to something that is there.
    fn compare(&mut self, desk: &mut Desk<'_>) {
        let mut tasks = Vec::new();
        desk.enactment.take_comparisons(&mut tasks);
        let unidentified = desk.enactment.unidentified(&tasks);
        let recipes: Vec<Recipe> = unidentified
            .iter()
            .map(|task| desk.enactment.stored_as(*task))
            .collect();
        let contents = if recipes.is_empty() {
            Vec::new()
        } else {
            desk.fetcher.contents(&recipes)
        };
        for (task, contents) in unidentified.into_iter().zip(contents) {
            if let Some(contents) = contents {
                desk.enactment.identify(task, contents);
            }
        }
        let keys: Vec<Option<Recipe>> = tasks
            .iter()
            .map(|task| desk.enactment.content_key(*task))
            .collect();
        let unknown = |(task, key): (&TaskId, &Option<Recipe>)| {
            key.filter(|key| desk.enactment.leader(*task, key).is_none())
        };
        let asked: Vec<Recipe> = tasks.iter().zip(&keys).filter_map(unknown).collect();
        let answers = if asked.is_empty() {
            Vec::new()
        } else {
            desk.fetcher.equal(&asked)
        };
        let found: HashMap<Recipe, _> = asked
            .into_iter()
            .zip(answers)
            .filter_map(|(key, answer)| Some((key, answer?)))
            .collect();
        for (task, key) in tasks.into_iter().zip(keys) {
            let found = key.and_then(|key| found.get(&key).cloned());
            let recall = &mut AsRecall(desk.keeper);
            if let Err(error) = desk.enactment.compared(task, key, found, recall) {
                desk.error.get_or_insert(error.into());
            }
        }
        self.pass_on(desk);
        desk.observer.compared(desk.enactment);
    }

    /// Does with outputs what the coordinator decided: some now belong to equal tasks, too, and some are no longer needed.
    fn pass_on(&mut self, desk: &mut Desk<'_>) {
        let mut shared = Vec::new();
        desk.enactment.take_shared(&mut shared);
        for (task, from) in shared {
            if let Some(product) = self.products.get(&from).cloned() {
                self.put_product(task, product);
            }
            for node in self.crew.holders(DataId(from.0)).to_vec() {
                self.crew.has(node, DataId(task.0));
            }
        }
        self.tidy(desk.enactment);
    }

    /// What a node says.
    fn said(&mut self, desk: &mut Desk<'_>, node: NodeId, message: ToManager) {
        match message {
            ToManager::Hello(_) | ToManager::Beat => {}
            ToManager::Made(made) => self.made(desk, node, *made),
            ToManager::Failed {
                unit,
                task,
                ran,
                failure,
            } => self.failed(desk, node, UnitId(unit), task, ran, &failure),
            ToManager::Ended(unit) => self.unit_ended(desk, node, UnitId(unit)),
            ToManager::Declined { unit, reason } => {
                self.declined(desk, node, UnitId(unit), &reason);
            }
            ToManager::Returned(unit) => self.crew.returned(node, UnitId(unit)),
            ToManager::Missing { unit, digests } => {
                self.missing(desk, node, UnitId(unit), &digests);
            }
            ToManager::Leaving(reason) => {
                self.crew.drain(node);
                if let Some(link) = self.links.get(&node) {
                    self.reports[link.report].gone = Some(reason);
                }
            }
        }
    }
}

/// A name that can be part of the name of a file.
fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).take(40).collect()
}

/// The last line that a node wrote to its log.
fn last_words(logs: &Path) -> Option<String> {
    let mut newest: Option<String> = None;
    for entry in fs::read_dir(logs).ok()?.flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            newest = Some(headwater_graph::text::printable(line).into_owned());
        }
    }
    newest
}
