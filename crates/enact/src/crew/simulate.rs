//! Virtual time for a crew: nodes that work, are slow, die, fall silent and come back.
//!
//! Law: the same crew and the same enactment, and the calls that the real manager makes. Each unit is one task. A node
//! that is cut off goes on with what it has; what it reports when it is back counts if nobody else was quicker.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use core::time::Duration;

use headwater_graph::TaskId;

use super::{Crew, CrewRules, DataId, Loss, NodeFacts, NodeId, Order, Unit, UnitId};
use crate::{Action, Done, Enactment, Ending, Recall, SimulationError, Time, World};

/// What happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It is gone at this moment, and that is seen at once.
    Dies(Time),
    /// Nothing is heard of it between these moments; it goes on meanwhile.
    CutOff(Time, Time),
    /// It stands still between these moments.
    Stands(Time, Time),
}

/// A node of a simulation.
#[derive(Debug, Clone)]
pub struct SimulatedNode {
    /// What it has.
    pub facts: NodeFacts,
    /// How much faster than the world says it is.
    pub power: f64,
    /// When it joins.
    pub joins: Time,
    /// What happens to it.
    pub troubles: Vec<Trouble>,
}

impl SimulatedNode {
    /// One with this number of cores, from the beginning, without trouble.
    pub fn new(cores: u64) -> SimulatedNode {
        SimulatedNode {
            facts: NodeFacts {
                cores,
                memory: None,
                others: Default::default(),
                until: None,
            },
            power: 1.0,
            joins: Time::default(),
            troubles: Vec::new(),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrewTrace {
    /// When the last task ended.
    pub makespan: Time,
    /// Tasks that a node began.
    pub begun: usize,
    /// Tasks whose end counted.
    pub ended: usize,
    /// Tasks that were with a node when it was lost.
    pub lost: usize,
    /// Ends that came too late: somebody else had been quicker, or was at it.
    pub late: usize,
    /// Units that were taken back before they began.
    pub retracted: usize,
    /// Bytes that went from node to node.
    pub moved: u64,
    /// The core time that tasks took whose end counted.
    pub busy: Duration,
    /// Units that were with a node at the end of its time.
    pub killed: usize,
}

/// A moment at which something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Joins(usize),
    Arrived(usize, UnitId),
    Ends(usize, UnitId, u32),
    Beats(usize, u32),
    Dies(usize),
    Stands(usize, Time),
    Back(usize),
}

const BEAT: Duration = Duration::from_secs(1);

struct Machine<'a> {
    is: &'a SimulatedNode,
    node: Option<NodeId>,
    /// Which life it is in: events of an earlier one mean nothing.
    life: u32,
    free: u64,
    queue: VecDeque<UnitId>,
    arrived: HashSet<UnitId>,
    /// When what runs ends.
    running: HashMap<UnitId, Time>,
    /// What it could not report.
    unreported: Vec<UnitId>,
    cut_off: bool,
    gone: bool,
}

struct Piece {
    task: TaskId,
    done: Done,
    cores: u64,
}

struct Simulation<'a> {
    enactment: &'a mut Enactment,
    recall: &'a mut dyn Recall,
    crew: Crew,
    rules: CrewRules,
    machines: Vec<Machine<'a>>,
    by_node: HashMap<NodeId, usize>,
    pieces: HashMap<UnitId, Piece>,
    /// The bytes of what was made.
    sizes: HashMap<TaskId, u64>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    now: Time,
    trace: CrewTrace,
}

/// Runs until everything has ended.
pub fn simulate_crew(
    enactment: &mut Enactment,
    nodes: &[SimulatedNode],
    rules: CrewRules,
    world: &mut dyn World,
    recall: &mut dyn Recall,
) -> Result<CrewTrace, SimulationError> {
    let machine = |is| Machine {
        is,
        node: None,
        life: 0,
        free: 0,
        queue: VecDeque::new(),
        arrived: HashSet::new(),
        running: HashMap::new(),
        unreported: Vec::new(),
        cut_off: false,
        gone: false,
    };
    let mut simulation = Simulation {
        enactment,
        recall,
        crew: Crew::new(rules),
        rules,
        machines: nodes.iter().map(machine).collect(),
        by_node: HashMap::new(),
        pieces: HashMap::new(),
        sizes: HashMap::new(),
        events: BinaryHeap::new(),
        sequence: 0,
        now: Time::default(),
        trace: CrewTrace::default(),
    };
    for (place, node) in nodes.iter().enumerate() {
        simulation.at(node.joins, Event::Joins(place));
        for trouble in &node.troubles {
            match trouble {
                Trouble::Dies(when) => simulation.at(*when, Event::Dies(place)),
                Trouble::CutOff(from, until) | Trouble::Stands(from, until) => {
                    let stands = matches!(trouble, Trouble::Stands(..));
                    let resumes = if stands { *until } else { Time::default() };
                    simulation.at(*from, Event::Stands(place, resumes));
                    simulation.at(*until, Event::Back(place));
                }
            }
        }
    }
    simulation.run(world)?;
    Ok(simulation.trace)
}

impl Simulation<'_> {
    fn at(&mut self, when: Time, event: Event) {
        self.events.push(Reverse((when, self.sequence, event)));
        self.sequence += 1;
    }

    fn run(&mut self, world: &mut dyn World) -> Result<(), SimulationError> {
        loop {
            let finished = self.offer(world)?;
            while let Some(order) = self.crew.next(self.now) {
                self.obey(order)?;
            }
            if finished {
                return Ok(());
            }
            let (_, with_nodes) = self.crew.counts();
            if with_nodes == 0 && self.crew.has_room() && self.crew.counts().0 == 0 {
                // Something may have been given back meanwhile.
                if self.offer(world)? {
                    return Ok(());
                }
            }
            self.advance()?;
        }
    }

    /// Asks for tasks as long as there is use for them; says whether everything has ended.
    fn offer(&mut self, world: &mut dyn World) -> Result<bool, SimulationError> {
        loop {
            if !self.crew.has_room() {
                return Ok(false);
            }
            match self.enactment.next(self.now) {
                Action::Start(start) => {
                    let done = world.run(self.enactment, &start);
                    let graph = self.enactment.graph();
                    let resources = &graph.operation_at(start.task).signature.resources;
                    let cores = resources.cores();
                    let mut reads = Vec::new();
                    graph.for_each_input_task(start.task, |input| {
                        let bytes = self.sizes.get(&input).copied().unwrap_or(0);
                        reads.push((DataId(input.0), bytes));
                    });
                    reads.sort_unstable();
                    reads.dedup();
                    let id = UnitId(self.sequence);
                    self.sequence += 1;
                    self.crew.submit(Unit {
                        id,
                        cores,
                        memory: resources.memory(),
                        others: Default::default(),
                        cost: done.duration,
                        reads,
                    });
                    let task = start.task;
                    self.pieces.insert(id, Piece { task, done, cores });
                }
                Action::Materialise(task) => self.enactment.materialised(task, 0),
                Action::Spill(task) => self.enactment.spilled(task, false),
                Action::Compare => {
                    let mut tasks = Vec::new();
                    self.enactment.take_comparisons(&mut tasks);
                    for task in tasks {
                        let key = self.enactment.content_key(task);
                        let found = key.and_then(|key| world.find(&key));
                        self.enactment.compared(task, key, found, self.recall)?;
                    }
                }
                Action::Wait(until) => {
                    if let Some(until) = until {
                        self.at(until, Event::Back(usize::MAX));
                    }
                    return Ok(false);
                }
                Action::Finished => return Ok(true),
            }
        }
    }

    fn obey(&mut self, order: Order) -> Result<(), SimulationError> {
        match order {
            Order::Assign(node, unit) => {
                let Some(place) = self.by_node.get(&node).copied() else {
                    return Ok(());
                };
                let mut missing = 0;
                if let Some(piece) = self.pieces.get(&unit) {
                    let graph = self.enactment.graph();
                    let (crew, sizes) = (&self.crew, &self.sizes);
                    graph.for_each_input_task(piece.task, |input| {
                        if !crew.holders(DataId(input.0)).contains(&node) {
                            missing += sizes.get(&input).copied().unwrap_or(0);
                        }
                    });
                }
                self.trace.moved += missing;
                let seconds = if missing == 0 {
                    0.0
                } else {
                    self.rules.latency + missing as f64 / self.rules.bandwidth
                };
                self.machines[place].queue.push_back(unit);
                self.at(
                    self.now + Duration::from_secs_f64(seconds),
                    Event::Arrived(place, unit),
                );
            }
            Order::Retract(node, unit) => {
                let place = self.by_node.get(&node).copied();
                if let Some(machine) = place.and_then(|place| self.machines.get_mut(place))
                    && !machine.cut_off
                    && let Some(found) = machine.queue.iter().position(|each| *each == unit)
                {
                    machine.queue.remove(found);
                    self.trace.retracted += 1;
                    self.crew.returned(node, unit);
                }
            }
            Order::Expire(node) => self.lose(node)?,
            Order::Release(node) => {
                if let Some(place) = self.by_node.get(&node).copied() {
                    self.machines[place].gone = true;
                }
                self.lose(node)?;
            }
        }
        Ok(())
    }

    fn lose(&mut self, node: NodeId) -> Result<(), SimulationError> {
        let Loss { units, data } = self.crew.lost(node);
        if let Some(place) = self.by_node.remove(&node) {
            self.machines[place].node = None;
        }
        for unit in units {
            self.trace.lost += 1;
            if let Some(piece) = self.pieces.get(&unit) {
                let task = piece.task;
                self.enactment
                    .finished(task, Ending::Busy, &[], self.now, self.recall)?;
            }
        }
        for data in data {
            self.enactment.lost(TaskId(data.0), self.recall)?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SimulationError> {
        let next = self.events.peek().map(|Reverse((when, _, _))| *when);
        let Some(moment) = next.into_iter().chain(self.crew.due()).min() else {
            let left = self.enactment.counts().left();
            return Err(SimulationError::Stuck { at: self.now, left });
        };
        self.now = self.now.max(moment);
        while let Some(Reverse((when, _, event))) = self.events.peek().copied() {
            if when > self.now {
                break;
            }
            self.events.pop();
            self.happens(event)?;
        }
        Ok(())
    }

    fn happens(&mut self, event: Event) -> Result<(), SimulationError> {
        match event {
            Event::Joins(place) => self.join(place),
            Event::Beats(place, life) => {
                let machine = &self.machines[place];
                if let Some(node) = machine
                    .node
                    .filter(|_| machine.life == life && !machine.gone)
                {
                    if !machine.cut_off {
                        self.crew.heard(node, self.now);
                    }
                    self.at(self.now + BEAT, Event::Beats(place, life));
                }
            }
            Event::Arrived(place, unit) => {
                self.machines[place].arrived.insert(unit);
                self.start(place);
            }
            Event::Ends(place, unit, life) => {
                let machine = &mut self.machines[place];
                if machine.gone || machine.life != life {
                    return Ok(());
                }
                // One that stood still ends later.
                match machine.running.get(&unit) {
                    Some(end) if *end > self.now => {
                        let end = *end;
                        self.at(end, Event::Ends(place, unit, life));
                        return Ok(());
                    }
                    Some(_) => drop(machine.running.remove(&unit)),
                    None => return Ok(()),
                }
                machine.free += self.pieces.get(&unit).map_or(0, |piece| piece.cores);
                if machine.cut_off {
                    machine.unreported.push(unit);
                } else {
                    self.report(place, unit)?;
                }
                self.start(place);
            }
            Event::Dies(place) => {
                self.machines[place].gone = true;
                if let Some(node) = self.machines[place].node {
                    self.lose(node)?;
                }
            }
            Event::Stands(place, resumes) => {
                let pause = resumes.0.saturating_sub(self.now.0);
                let machine = &mut self.machines[place];
                machine.cut_off = true;
                for end in machine.running.values_mut() {
                    end.0 = end.0.saturating_add(pause);
                }
            }
            Event::Back(place) => {
                if let Some(machine) = self.machines.get_mut(place).filter(|machine| !machine.gone)
                {
                    machine.cut_off = false;
                    if machine.node.is_none() {
                        self.join(place);
                    }
                    let unreported = std::mem::take(&mut self.machines[place].unreported);
                    for unit in unreported {
                        self.report(place, unit)?;
                    }
                    self.start(place);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, place: usize) {
        let machine = &mut self.machines[place];
        if machine.gone {
            return;
        }
        let used: u64 = {
            let running = machine.running.keys();
            running
                .filter_map(|unit| self.pieces.get(unit))
                .map(|piece| piece.cores)
                .sum()
        };
        machine.free = machine.is.facts.cores.saturating_sub(used);
        // What it has not begun when it comes back was given to somebody else.
        machine.queue.clear();
        let node = self.crew.joined(machine.is.facts.clone(), self.now);
        machine.node = Some(node);
        let life = machine.life;
        self.by_node.insert(node, place);
        self.at(self.now + BEAT, Event::Beats(place, life));
    }

    /// Begins what has all that it reads and for which there are cores, in order.
    fn start(&mut self, place: usize) {
        loop {
            let machine = &mut self.machines[place];
            let stands = machine.cut_off || machine.gone;
            let Some(unit) = machine.queue.front().copied().filter(|_| !stands) else {
                return;
            };
            let Some(piece) = self.pieces.get(&unit) else {
                machine.queue.pop_front();
                continue;
            };
            if piece.cores > machine.free || !machine.arrived.contains(&unit) {
                return;
            }
            machine.queue.pop_front();
            machine.arrived.remove(&unit);
            machine.free -= piece.cores;
            let end = self.now + piece.done.duration.div_f64(machine.is.power);
            machine.running.insert(unit, end);
            let life = machine.life;
            if machine.is.facts.until.is_some_and(|until| end > until) {
                self.trace.killed += 1;
            }
            self.trace.begun += 1;
            self.at(end, Event::Ends(place, unit, life));
        }
    }

    fn report(&mut self, place: usize, unit: UnitId) -> Result<(), SimulationError> {
        let counts = self.machines[place]
            .node
            .is_some_and(|node| self.crew.ended(node, unit));
        let Some(piece) = self.pieces.remove(&unit).filter(|_| counts) else {
            self.trace.late += 1;
            return Ok(());
        };
        let Piece { task, done, cores } = piece;
        self.trace.ended += 1;
        self.trace.makespan = self.trace.makespan.max(self.now);
        self.trace.busy += done.duration * u32::try_from(cores).unwrap_or(1);
        self.sizes.insert(task, done.memory);
        if let Some(node) = self.machines[place].node {
            self.crew.has(node, DataId(task.0));
        }
        let elapsed = done.duration;
        let (ending, outputs) = match &done.outputs {
            Some(outputs) => (Ending::Success { memory: 0, elapsed }, outputs.as_slice()),
            None => (Ending::Failure, &[][..]),
        };
        self.enactment
            .finished(task, ending, outputs, self.now, self.recall)?;
        let (mut shared, mut released) = (Vec::new(), Vec::new());
        self.enactment.take_shared(&mut shared);
        for (task, from) in shared {
            for node in self.crew.holders(DataId(from.0)).to_vec() {
                self.crew.has(node, DataId(task.0));
            }
        }
        self.enactment.take_released(&mut released);
        for task in released {
            self.crew.forget(DataId(task.0));
        }
        Ok(())
    }
}
