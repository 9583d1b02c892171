//! The crew: the manager's view of its nodes.
//!
//! Law: a pure state machine. What happens comes with `now`; what has to be done is asked for with [`Crew::next`]. A
//! unit is with one node, or waits; it is given back when its node is lost, and who lost it is not the unit's fault. Only
//! the manager takes units back from nodes. Nothing depends on the order in which nodes joined, but for ties.
//!
//! A unit is a part of a task graph that one node runs as a whole. A unit is given to the node where it is expected to end
//! first, data that is already there counts; a node gets at most twice what it can run at once, so that it fetches what
//! it needs next while it works. When nothing waits any more, what a busy node has not begun is taken back for an idle
//! one.

mod simulate;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use core::time::Duration;

use headwater_place::{Machine, Work, finish};

pub use simulate::{CrewTrace, SimulatedNode, Trouble, simulate_crew};

use crate::Time;

/// A node that has joined. A node that was lost and comes back is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A unit of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitId(pub u64);

/// Bytes that nodes have and that units read, by a number that the manager chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataId(pub u32);

/// What a node has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its cores.
    pub cores: u64,
    /// Bytes of memory for tasks; `None` if it does not say.
    pub memory: Option<u64>,
    /// Other things that it has, by name: gpu, a licence.
    pub others: BTreeMap<Arc<str>, u64>,
    /// When it will be ended, if it will.
    pub until: Option<Time>,
}

/// What a unit needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Its name.
    pub id: UnitId,
    /// Cores that it takes while it runs.
    pub cores: u64,
    /// Bytes of memory that it takes.
    pub memory: u64,
    /// Other things that it takes.
    pub others: BTreeMap<Arc<str>, u64>,
    /// How long it is expected to take.
    pub cost: Duration,
    /// What it reads: which bytes, and how many.
    pub reads: Vec<(DataId, u64)>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Give a unit to a node.
    Assign(NodeId, UnitId),
    /// Ask a node for a unit that it has not begun; it answers with [`Crew::returned`], or not, if it has begun.
    Retract(NodeId, UnitId),
    /// A node has not been heard of for too long: tell [`Crew::lost`], and have nothing more to do with it.
    Expire(NodeId),
    /// A node that takes no more units has none left: it may end.
    Release(NodeId),
}

/// What was lost with a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// The units that were with it, in the order in which they were given to it.
    pub units: Vec<UnitId>,
    /// The bytes that no other node has.
    pub data: Vec<DataId>,
}

/// How the crew works.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrewRules {
    /// A node that is silent for so long is lost.
    pub lease: Duration,
    /// So long before its end a node gets nothing more.
    pub margin: Duration,
    /// Bytes per second between two nodes.
    pub bandwidth: f64,
    /// Seconds until the first of them comes.
    pub latency: f64,
}

impl Default for CrewRules {
    fn default() -> CrewRules {
        CrewRules {
            lease: Duration::from_secs(15),
            margin: Duration::from_secs(60),
            bandwidth: 1e9,
            latency: 2e-4,
        }
    }
}

#[derive(Debug)]
struct Node {
    facts: NodeFacts,
    heard: Time,
    /// Units that it has, in the order in which they were given.
    units: Vec<UnitId>,
    /// The cores of these.
    cores: u64,
    /// Core nanoseconds of these.
    queued: u64,
    /// Takes nothing more.
    draining: bool,
    released: bool,
    data: BTreeSet<DataId>,
}

impl Node {
    /// The work that a core of it has before it, for the order of nodes.
    fn load(&self) -> u64 {
        self.queued / self.facts.cores.max(1)
    }
}

#[derive(Debug)]
struct Held {
    unit: Unit,
    node: Option<NodeId>,
    /// It was asked back.
    asked_back: bool,
    /// Nodes that cannot do it.
    declined: Vec<NodeId>,
}

/// The nodes, and what they do.
#[derive(Debug, Default)]
pub struct Crew {
    rules: CrewRules,
    nodes: BTreeMap<NodeId, Node>,
    /// Nodes that take units, by load.
    by_load: BTreeSet<(u64, NodeId)>,
    units: HashMap<UnitId, Held>,
    waiting: VecDeque<UnitId>,
    holders: HashMap<DataId, Vec<NodeId>>,
    next_node: u32,
}

impl Crew {
    /// A crew without nodes.
    pub fn new(rules: CrewRules) -> Crew {
        Crew {
            rules,
            ..Crew::default()
        }
    }

    /// A node has joined.
    pub fn joined(&mut self, facts: NodeFacts, now: Time) -> NodeId {
        let id = NodeId(self.next_node);
        self.next_node += 1;
        self.by_load.insert((0, id));
        self.nodes.insert(
            id,
            Node {
                facts,
                heard: now,
                units: Vec::new(),
                cores: 0,
                queued: 0,
                draining: false,
                released: false,
                data: BTreeSet::new(),
            },
        );
        id
    }

    /// A node was heard of.
    pub fn heard(&mut self, node: NodeId, now: Time) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.heard = node.heard.max(now);
        }
    }

    /// A node takes nothing more.
    pub fn drain(&mut self, node: NodeId) {
        if let Some(found) = self.nodes.get_mut(&node) {
            found.draining = true;
            self.by_load.remove(&(found.load(), node));
        }
    }

    /// A unit is to be run. Units are given out in the order in which they come.
    pub fn submit(&mut self, unit: Unit) {
        let id = unit.id;
        let held = Held {
            unit,
            node: None,
            asked_back: false,
            declined: Vec::new(),
        };
        if self.units.insert(id, held).is_none() {
            self.waiting.push_back(id);
        }
    }

    /// A unit has ended, well or not. Says whether it was with this node.
    pub fn ended(&mut self, node: NodeId, unit: UnitId) -> bool {
        let is_its = self
            .units
            .get(&unit)
            .is_some_and(|held| held.node == Some(node));
        if is_its {
            self.take_off(unit);
            self.units.remove(&unit);
        }
        is_its
    }

    /// A unit is no longer wanted. Gives the node that has it.
    pub fn withdraw(&mut self, unit: UnitId) -> Option<NodeId> {
        let node = self.take_off(unit);
        if self.units.remove(&unit).is_some() && node.is_none() {
            self.waiting.retain(|waiting| *waiting != unit);
        }
        node
    }

    /// A node has given back a unit that it had not begun: it was asked for it, or goes.
    pub fn returned(&mut self, node: NodeId, unit: UnitId) {
        if self
            .units
            .get(&unit)
            .is_some_and(|held| held.node == Some(node))
        {
            self.take_off(unit);
            self.waiting.push_front(unit);
        }
    }

    /// A node cannot do a unit. Says whether another one might.
    pub fn declined(&mut self, node: NodeId, unit: UnitId) -> bool {
        if let Some(held) = self.units.get_mut(&unit) {
            held.declined.push(node);
        }
        self.returned(node, unit);
        self.can_be_done(unit)
    }

    /// Whether one of the nodes that are here could do a unit, some time.
    pub fn can_be_done(&self, unit: UnitId) -> bool {
        let Some(held) = self.units.get(&unit) else {
            return false;
        };
        self.nodes
            .iter()
            .any(|(id, node)| !node.draining && fits(&node.facts, held, *id))
    }

    /// A node is gone. What it had is given back.
    pub fn lost(&mut self, node: NodeId) -> Loss {
        let Some(found) = self.nodes.remove(&node) else {
            return Loss::default();
        };
        self.by_load.remove(&(found.load(), node));
        let mut loss = Loss {
            units: found.units,
            data: Vec::new(),
        };
        for unit in &loss.units {
            self.units.remove(unit);
        }
        for data in found.data {
            if let Some(holders) = self.holders.get_mut(&data) {
                holders.retain(|holder| *holder != node);
                if holders.is_empty() {
                    self.holders.remove(&data);
                    loss.data.push(data);
                }
            }
        }
        loss
    }

    /// A node has bytes that others may want.
    pub fn has(&mut self, node: NodeId, data: DataId) {
        if let Some(found) = self.nodes.get_mut(&node)
            && found.data.insert(data)
        {
            self.holders.entry(data).or_default().push(node);
        }
    }

    /// Nobody wants these bytes any more. Gives the nodes that have them.
    pub fn forget(&mut self, data: DataId) -> Vec<NodeId> {
        let holders = self.holders.remove(&data).unwrap_or_default();
        for node in &holders {
            if let Some(node) = self.nodes.get_mut(node) {
                node.data.remove(&data);
            }
        }
        holders
    }

    /// The nodes that have these bytes.
    pub fn holders(&self, data: DataId) -> &[NodeId] {
        self.holders.get(&data).map_or(&[], Vec::as_slice)
    }

    /// The nodes that are here, with what they have.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeFacts)> {
        self.nodes.iter().map(|(id, node)| (*id, &node.facts))
    }

    /// The units that a node has.
    pub fn units_of(&self, node: NodeId) -> &[UnitId] {
        self.nodes.get(&node).map_or(&[], |node| &node.units)
    }

    /// The node that has a unit.
    pub fn node_of(&self, unit: UnitId) -> Option<NodeId> {
        self.units.get(&unit)?.node
    }

    /// How many cores there are, at nodes that take units.
    pub fn cores(&self) -> u64 {
        let taking = self.nodes.values().filter(|node| !node.draining);
        taking.map(|node| node.facts.cores).sum()
    }

    /// How many units wait, and how many are with nodes.
    pub fn counts(&self) -> (usize, usize) {
        let waiting = self.waiting.len();
        (waiting, self.units.len() - waiting)
    }

    /// Whether there is use for another unit: each node is to have what it does next.
    pub fn has_room(&self) -> bool {
        let (waiting, _) = self.counts();
        let room = |node: &Node| (2 * node.facts.cores).saturating_sub(node.cores);
        let room: u64 = self
            .by_load
            .iter()
            .filter_map(|(_, id)| self.nodes.get(id).map(room))
            .sum();
        (waiting as u64) < room
    }

    /// What to do next, if there is something to do.
    pub fn next(&mut self, now: Time) -> Option<Order> {
        if let Some(node) = self.silent(now) {
            return Some(Order::Expire(node));
        }
        self.drain_in_time(now);
        if let Some(order) = self.assign(now) {
            return Some(order);
        }
        self.retract().or_else(|| self.release())
    }

    /// When something is due that nobody tells: a node may have been silent for too long, or near its end.
    pub fn due(&self) -> Option<Time> {
        let due = |node: &Node| {
            let lease = node.heard + self.rules.lease + Duration::from_nanos(1);
            match node.facts.until.filter(|_| !node.draining) {
                Some(until) => lease.min(self.last_start(until)),
                None => lease,
            }
        };
        self.nodes.values().map(due).min()
    }

    fn last_start(&self, until: Time) -> Time {
        let margin = crate::nanoseconds(self.rules.margin);
        Time(until.0.saturating_sub(margin))
    }

    fn silent(&self, now: Time) -> Option<NodeId> {
        let is_silent = |node: &Node| now > node.heard + self.rules.lease;
        let mut nodes = self.nodes.iter();
        nodes.find(|(_, node)| is_silent(node)).map(|(id, _)| *id)
    }

    fn drain_in_time(&mut self, now: Time) {
        let near = |node: &Node| {
            let until = node.facts.until.filter(|_| !node.draining);
            until.is_some_and(|until| now >= self.last_start(until))
        };
        let near: Vec<NodeId> = self
            .nodes
            .iter()
            .filter(|(_, node)| near(node))
            .map(|(id, _)| *id)
            .collect();
        near.into_iter().for_each(|node| self.drain(node));
    }

    /// The first unit that waits and that a node has room for. Those behind one that nobody has room for may overtake it,
    /// as long as that is near the front.
    fn assign(&mut self, now: Time) -> Option<Order> {
        const LOOKAHEAD: usize = 64;
        for place in 0..self.waiting.len().min(LOOKAHEAD) {
            let unit = self.waiting[place];
            let Some(node) = self.best(unit, now) else {
                continue;
            };
            self.waiting.remove(place);
            self.put_on(unit, node);
            return Some(Order::Assign(node, unit));
        }
        None
    }

    /// The node where a unit would end first, of those that have room for it: the least loaded ones, and those that have
    /// something that it reads.
    fn best(&self, unit: UnitId, now: Time) -> Option<NodeId> {
        /// So many of the least loaded are looked at; those with data come on top.
        const LEAST: usize = 4;
        let held = self.units.get(&unit)?;
        let takes = |id: NodeId, node: &Node| {
            let room = node.cores == 0 || node.cores + held.unit.cores <= 2 * node.facts.cores;
            let ends = node
                .facts
                .until
                .is_none_or(|until| now + held.unit.cost < until);
            room && ends && !node.draining && fits(&node.facts, held, id)
        };
        let least = self.by_load.iter().map(|(_, id)| *id);
        let takes_it = |id: &NodeId| self.nodes.get(id).is_some_and(|node| takes(*id, node));
        let mut candidates: Vec<NodeId> = least.filter(takes_it).take(LEAST).collect();
        for (data, _) in &held.unit.reads {
            candidates.extend(self.holders(*data).iter().copied().filter(takes_it));
        }
        candidates.sort_unstable();
        candidates.dedup();
        let estimates = candidates.into_iter().filter_map(|id| {
            // Of equal ones the one with less to do, so that quick units are spread.
            let node = self.nodes.get(&id)?;
            Some((
                self.finish(held, node, node.cores, node.queued),
                node.cores,
                id,
            ))
        });
        let better = |a: &(f64, u64, NodeId), b: &(f64, u64, NodeId)| {
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2))
        };
        estimates.min_by(better).map(|(_, _, id)| id)
    }

    /// When a unit would end on a node, in seconds from now, of which these cores are taken, with this many core
    /// nanoseconds to do.
    fn finish(&self, held: &Held, node: &Node, cores: u64, queued: u64) -> f64 {
        let missing = held.unit.reads.iter();
        let missing = missing.filter(|(data, _)| !node.data.contains(data));
        // Where cores are free it begins at once.
        let is_free = cores + held.unit.cores <= node.facts.cores;
        let machine = Machine {
            cores: node.facts.cores as f64,
            power: 1.0,
            queued: if is_free { 0.0 } else { queued as f64 / 1e9 },
            bandwidth: self.rules.bandwidth,
            latency: self.rules.latency,
        };
        let work = Work {
            cost: held.unit.cost.as_secs_f64(),
            cores: held.unit.cores as f64,
            missing: missing.map(|(_, bytes)| bytes).sum(),
        };
        finish(&machine, &work)
    }

    /// Whether a unit that waits at a node would end sooner on one that has free cores.
    fn is_better_there(&self, unit: UnitId, here: &Node, there: NodeId) -> bool {
        let (Some(held), Some(idle)) = (self.units.get(&unit), self.nodes.get(&there)) else {
            return false;
        };
        let own = held.unit.cores;
        !held.asked_back
            && fits(&idle.facts, held, there)
            && idle.cores + own <= idle.facts.cores
            && self.finish(held, idle, idle.cores, idle.queued)
                < self.finish(
                    held,
                    here,
                    here.cores - own,
                    here.queued - core_time(&held.unit),
                )
    }

    /// Takes a unit that a node has not begun back for one that has nothing to do.
    fn retract(&mut self) -> Option<Order> {
        if !self.waiting.is_empty() {
            return None;
        }
        let is_idle = |id: &NodeId| {
            self.nodes
                .get(id)
                .is_some_and(|node| node.cores < node.facts.cores)
        };
        let (_, idle) = self
            .by_load
            .first()
            .copied()
            .filter(|(_, id)| is_idle(id))?;
        // What begins first was given first: the last is the one that waits longest.
        for (_, id) in self.by_load.iter().rev() {
            let node = self.nodes.get(id)?;
            if node.cores <= node.facts.cores {
                continue;
            }
            let last = node.units.iter().rev();
            let mut last = last.filter(|unit| self.is_better_there(**unit, node, idle));
            let last = last.next();
            // As long as one is on its way back, nothing more is asked of that node.
            let asks = node.units.iter().any(|unit| {
                let held = self.units.get(unit);
                held.is_some_and(|held| held.asked_back)
            });
            if let (Some(unit), false) = (last.copied(), asks) {
                let id = *id;
                if let Some(held) = self.units.get_mut(&unit) {
                    held.asked_back = true;
                }
                return Some(Order::Retract(id, unit));
            }
        }
        None
    }

    fn release(&mut self) -> Option<Order> {
        let is_done = |node: &Node| node.draining && !node.released && node.units.is_empty();
        let (id, node) = self.nodes.iter_mut().find(|(_, node)| is_done(node))?;
        node.released = true;
        Some(Order::Release(*id))
    }

    fn put_on(&mut self, unit: UnitId, id: NodeId) {
        let (Some(held), Some(node)) = (self.units.get_mut(&unit), self.nodes.get_mut(&id)) else {
            return;
        };
        held.node = Some(id);
        held.asked_back = false;
        self.by_load.remove(&(node.load(), id));
        node.units.push(unit);
        node.cores += held.unit.cores;
        node.queued += core_time(&held.unit);
        if !node.draining {
            self.by_load.insert((node.load(), id));
        }
    }

    /// A unit is with no node any more. Gives the one that had it.
    fn take_off(&mut self, unit: UnitId) -> Option<NodeId> {
        let held = self.units.get_mut(&unit)?;
        let id = held.node.take()?;
        held.asked_back = false;
        let node = self.nodes.get_mut(&id)?;
        self.by_load.remove(&(node.load(), id));
        node.units.retain(|held| *held != unit);
        node.cores -= held.unit.cores;
        node.queued -= core_time(&held.unit);
        if !node.draining {
            self.by_load.insert((node.load(), id));
        }
        Some(id)
    }
}

/// Core nanoseconds that a unit is expected to take.
fn core_time(unit: &Unit) -> u64 {
    // So much less than there are numbers for that those of many units can be added up.
    let most = u64::MAX >> 24;
    crate::nanoseconds(unit.cost)
        .saturating_mul(unit.cores)
        .min(most)
}

/// Whether a node has what a unit needs.
fn fits(facts: &NodeFacts, held: &Held, id: NodeId) -> bool {
    let unit = &held.unit;
    let memory = facts.memory.is_none_or(|memory| unit.memory <= memory);
    let has = |(name, amount): (&Arc<str>, &u64)| {
        facts.others.get(name).is_some_and(|there| there >= amount)
    };
    unit.cores <= facts.cores
        && memory
        && unit.others.iter().all(has)
        && !held.declined.contains(&id)
}
