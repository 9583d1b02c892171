//! Giving out tasks: units are made of them, and what must not or cannot run elsewhere runs here.
//!
//! Law: before a task is given out it is claimed, so that no other run makes the same. What cannot travel runs in this
//! process, as on one machine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_enact::crew::{DataId, Unit, UnitId};
use headwater_enact::{Ending, Start};
use headwater_execute::{LeaseAnswer, PoolError, inputs_of};
use headwater_graph::{External, Giver, GraphPart, Handle, Identity, StoredOutput, TaskId};

use super::directory::Directory;
use super::own::OwnTask;
use super::{Desk, Nodes, Piece, Product, Work};
use crate::message::Assignment;

/// A task of which nothing is known is expected to take this long.
const UNKNOWN: Duration = Duration::from_millis(100);

/// Says where things are that units read.
struct Giving<'a> {
    products: &'a HashMap<TaskId, Product>,
    directory: &'a Directory,
    externals: &'a mut HashMap<u32, Option<StoredOutput>>,
}

impl Giver for Giving<'_> {
    fn product(&mut self, task: TaskId, port: u16) -> Option<(Identity, StoredOutput)> {
        let product = self.products.get(&task)?;
        let output = product.outputs.get(usize::from(port))?.clone();
        // Who runs it asks for no content key.
        Some((Identity::Value(output.digest), output))
    }

    fn external(&mut self, position: u32, external: &External) -> Option<StoredOutput> {
        if let Some(known) = self.externals.get(&position) {
            return known.clone();
        }
        let output = self.shelve(external);
        self.externals.insert(position, output.clone());
        output
    }
}

impl Giving<'_> {
    fn shelve(&self, external: &External) -> Option<StoredOutput> {
        let mut files = Vec::new();
        external.value.for_each_file(&mut |file| {
            if let Handle::Path(path) = &file.handle {
                files.push((file.digest, Arc::clone(path)));
            }
        });
        let shelved = self.directory.shelf.shelve(&external.value).ok()?;
        for (digest, path) in files {
            self.directory.file(digest, &path);
        }
        Some(shelved.output)
    }
}

impl Nodes {
    /// Finds out which of these tasks have to run, and makes units of those.
    pub(super) fn start_batch(&mut self, desk: &mut Desk<'_>, batch: &[Start]) {
        // Where everything is remembered no node is started.
        if let Err(error) = self.start(desk.folders) {
            let hint = error.hint().map(|hint| format!(" ({hint})"));
            let error = PoolError::Nodes(format!("{error}{}", hint.unwrap_or_default()));
            desk.error.get_or_insert(error);
            for start in batch {
                desk.observer.started(desk.enactment, start);
                desk.put_back(start.task, Ending::Cancelled);
            }
            return;
        }
        let mut pieces = Vec::with_capacity(batch.len());
        for start in batch {
            let task = start.task;
            let key = desk.enactment.runs_under(task);
            let recipe = desk.enactment.graph().recipe(task);
            let signature = &desk.enactment.graph().operation_at(task).signature;
            let is_kept = desk.remembers && signature.pure && !signature.implicit;
            desk.observer.started(desk.enactment, start);
            let mut lease = None;
            if is_kept && !start.brief {
                match desk.fetcher.claim(&recipe, key.as_ref(), start.restoring) {
                    LeaseAnswer::Granted(granted) => lease = granted,
                    LeaseAnswer::Busy => {
                        desk.put_back(task, Ending::Busy);
                        continue;
                    }
                    LeaseAnswer::Made(contents) => {
                        if desk.compares {
                            desk.enactment.identify(task, contents);
                        }
                        desk.put_back(task, Ending::Found);
                        self.pass_on(desk);
                        continue;
                    }
                }
            }
            pieces.push(Piece {
                start: *start,
                key,
                lease,
            });
        }
        if !pieces.is_empty() {
            self.give(desk, pieces);
        }
    }

    /// Makes a unit of tasks; where one of them cannot travel, each is given alone, and that one runs here.
    fn give(&mut self, desk: &mut Desk<'_>, mut pieces: Vec<Piece>) {
        let graph = desk.enactment.graph();
        let tasks: Vec<TaskId> = pieces.iter().map(|piece| piece.start.task).collect();
        let mut giving = Giving {
            products: &self.products,
            directory: &self.directory,
            externals: &mut self.externals,
        };
        match GraphPart::of(graph, &tasks, &mut giving) {
            Some(part) => self.submit(desk, part, pieces),
            None if pieces.len() > 1 => {
                for piece in pieces {
                    self.give(desk, vec![piece]);
                }
            }
            None => {
                if let Some(piece) = pieces.pop() {
                    self.run_here(desk, piece);
                }
            }
        }
    }

    fn submit(&mut self, desk: &mut Desk<'_>, part: GraphPart, pieces: Vec<Piece>) {
        let graph = desk.enactment.graph();
        for operation in part.operations() {
            for file in operation.used_files() {
                self.directory.file(file.digest, &file.path);
            }
        }
        let id = UnitId(self.next_unit);
        self.next_unit += 1;
        let (mut cores, mut memory) = (1, 0);
        let mut others = std::collections::BTreeMap::new();
        let mut cost = Duration::ZERO;
        let mut reads = Vec::new();
        let (mut wanted, mut timeouts) = (Vec::new(), Vec::new());
        for piece in &pieces {
            let task = piece.start.task;
            let signature = &graph.operation_at(task).signature;
            cores = cores.max(signature.resources.cores());
            memory = memory.max(signature.resources.memory());
            for (name, amount) in &signature.resources.0 {
                if !matches!(&**name, "cores" | "memory") {
                    others.insert(Arc::clone(name), *amount);
                }
            }
            let expected = desk.enactment.coordinator();
            let expected = expected.expected_time(graph.operation_index(task));
            cost += expected.unwrap_or(UNKNOWN);
            graph.for_each_input_task(task, |input| {
                if let Some(product) = self.products.get(&input) {
                    let bytes = product
                        .outputs
                        .iter()
                        .filter(|output| output.encoding.is_some());
                    reads.push((DataId(input.0), bytes.map(|output| output.size).sum()));
                }
            });
            wanted.push(if self.is_delivered(task) {
                (0..signature.outputs.len() as u16).collect()
            } else {
                desk.enactment.requested_ports(task)
            });
            timeouts.push(piece.start.timeout);
        }
        reads.sort_unstable();
        reads.dedup();
        let unit = Unit {
            id,
            cores,
            memory,
            others,
            cost,
            reads,
        };
        let mut modes = Vec::new();
        for given in part.given().iter().filter(|given| given.product.is_none()) {
            self.directory.modes_of(&given.output, &mut modes);
        }
        let assignment = Assignment {
            modes,
            unit: id.0,
            part,
            wanted,
            timeouts,
            cores,
        };
        self.crew.submit(unit);
        self.work.insert(
            id,
            Work {
                assignment,
                pieces: pieces.into_iter().map(Some).collect(),
            },
        );
        if !self.links.is_empty() && !self.crew.can_be_done(id) {
            self.here_instead(desk, id);
        }
    }

    /// Runs the tasks of a unit in this process, because no node can.
    pub(super) fn here_instead(&mut self, desk: &mut Desk<'_>, unit: UnitId) {
        self.crew.withdraw(unit);
        if let Some(work) = self.work.remove(&unit) {
            for piece in work.pieces.into_iter().flatten() {
                self.run_here(desk, piece);
            }
        }
    }

    /// Runs a task in this process.
    fn run_here(&mut self, desk: &mut Desk<'_>, piece: Piece) {
        let graph = desk.enactment.graph();
        let start = piece.start;
        let task = start.task;
        let product = |task: TaskId, port: u16| self.product_value(task, port);
        let Some(inputs) = inputs_of(graph, task, &product) else {
            // Something that it reads is gone.
            let mut gone = Vec::new();
            graph.for_each_input_task(task, |input| gone.push(input));
            gone.retain(|input| {
                let count = self
                    .products
                    .get(input)
                    .map_or(0, |product| product.outputs.len());
                count == 0
                    || (0..count as u16).any(|port| self.product_value(*input, port).is_none())
            });
            desk.put_back(task, Ending::Busy);
            for input in gone {
                self.drop_product(input);
                desk.lost(input);
            }
            return;
        };
        let own = OwnTask {
            task,
            attempt: start.attempt,
            origin: desk.began,
            operation: Arc::clone(graph.operation_at(task)),
            recipe: graph.recipe(task),
            inputs,
            parameters: graph.parameters(task).to_vec(),
            timeout: start.timeout,
        };
        self.own.insert(task, piece);
        self.waiting.push(own);
        self.start_own();
    }

    /// Begins tasks in this process, as many as there are cores for.
    pub(super) fn start_own(&mut self) {
        let cores = self.options.cores.max(1);
        while let (Some(hand), Some(started)) = (&self.hand, &self.started) {
            let running = self.own.len() - self.waiting.len().min(self.own.len());
            if running >= cores {
                return;
            }
            let Some(own) = self.waiting.pop() else {
                return;
            };
            own.start(hand, &started.own_events);
        }
    }
}
