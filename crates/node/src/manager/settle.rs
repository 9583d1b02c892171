//! What becomes of tasks that were with nodes.
//!
//! Law: the end of a task counts once, from whoever has it when it is reported. What a node says of a unit that is with
//! somebody else by now is not heard.

use std::sync::Arc;
use std::time::Duration;

use headwater_enact::Ending;
use headwater_enact::crew::{DataId, NodeId, UnitId};
use headwater_execute::{AsRecall, Execution, Finished, Made, Ports};
use headwater_graph::{
    Digest, Failure, FailureKind, Identity, Outputs, StoredOutput, TaskId, Type, Value, decode,
};

use super::own::OwnEnd;
use super::{Desk, Nodes, Piece, Product};
use crate::message::{MadeTask, RanFor};

/// At most this often what a task reads is made again because its node cannot have it.
const MADE_AGAIN: u32 = 3;

impl Nodes {
    /// A task of a unit that this node has, and that was not reported before.
    fn piece(&mut self, node: NodeId, unit: UnitId, task: u32) -> Option<Piece> {
        if self.crew.node_of(unit) != Some(node) {
            return None;
        }
        let work = self.work.get_mut(&unit)?;
        work.pieces.get_mut(task as usize)?.take()
    }

    fn execution(&self, desk: &Desk<'_>, piece: &Piece, ran: &RanFor) -> Execution {
        let now = desk.began.elapsed();
        Execution {
            task: piece.start.task,
            attempt: piece.start.attempt,
            started: now.saturating_sub(ran.ago + ran.elapsed),
            elapsed: ran.elapsed,
            usage: ran.usage,
        }
    }

    /// A task ended well.
    pub(super) fn made(&mut self, desk: &mut Desk<'_>, node: NodeId, made: MadeTask) {
        let Some(piece) = self.piece(node, UnitId(made.unit), made.task) else {
            return;
        };
        let task = piece.start.task;
        let execution = self.execution(desk, &piece, &made.ran);
        let signature = &desk.enactment.graph().operation_at(task).signature;
        let ports: Vec<Type> = signature
            .outputs
            .iter()
            .map(|port| port.port_type.clone())
            .collect();
        if made.outputs.len() != ports.len() || made.contents.len() != ports.len() {
            let message = format!(
                "its node gave {} outputs instead of {}",
                made.outputs.len(),
                ports.len()
            );
            return self.ended_badly(
                desk,
                &execution,
                &Failure::new(FailureKind::Output, message),
            );
        }
        let (sees, report, address) = match self.links.get(&node) {
            Some(link) => (link.sees, link.report, Arc::clone(&link.address)),
            None => return,
        };
        self.reports[report].tasks += 1;
        self.reports[report].busy += u64::try_from(made.ran.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let wanted = desk.enactment.requested_ports(task);
        let mut placed = Vec::new();
        let mut is_safe = true;
        for object in &made.objects {
            self.directory.has(object.digest, node, &address);
            match &object.placed {
                // Nothing but what is in the folder of nodes is taken from there.
                Some(path) if sees && self.is_of_nodes(path) => {
                    self.directory.file(object.digest, path);
                    placed.push((object.digest, path.clone()));
                }
                _ if wanted.contains(&object.output)
                    && desk.remembers
                    && self.bring(&object.digest) =>
                {
                    match self.directory.shelf.path(&object.digest) {
                        Some(path) => placed.push((object.digest, path.to_path_buf())),
                        None => is_safe = false,
                    }
                }
                _ => is_safe = false,
            }
        }
        let product = Product {
            outputs: made.outputs.into(),
            objects: made.objects.iter().map(|object| object.digest).collect(),
            is_safe: is_safe && (desk.remembers || made.objects.is_empty()),
        };
        self.crew.has(node, DataId(task.0));
        let outputs = Arc::clone(&product.outputs);
        self.put_product(task, product);
        let values = self.seen(desk, &ports, &outputs);
        self.ended_well(
            desk,
            piece,
            &execution,
            &outputs,
            made.contents,
            placed,
            &values,
        );
    }

    /// Whether a path leads below the folder that nodes write to.
    fn is_of_nodes(&self, path: &std::path::Path) -> bool {
        let folder = self.started.as_ref().map(|started| &started.crew.folder);
        let inside = folder.and_then(|folder| path.strip_prefix(folder).ok());
        let is_plain =
            |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
        inside.is_some_and(|inside| inside.components().all(is_plain))
            && std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
    }

    /// Outputs as far as the enactment asks for them: small ones as they are, of lists how long they are.
    fn seen(&self, desk: &Desk<'_>, ports: &[Type], outputs: &[StoredOutput]) -> Outputs {
        let unfolds = desk.enactment.expander().is_some();
        let seen = |(port, output): (&Type, &StoredOutput)| match (&output.inline, port) {
            (Some(bytes), _) => decode(bytes).unwrap_or(Value::Null),
            (None, Type::List(_) | Type::Any) if unfolds => {
                self.value(output).unwrap_or(Value::Null)
            }
            _ => Value::Null,
        };
        ports.iter().zip(outputs).map(seen).collect()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all of it is known of one task, in two ways"
    )]
    fn ended_well(
        &mut self,
        desk: &mut Desk<'_>,
        piece: Piece,
        execution: &Execution,
        outputs: &[StoredOutput],
        contents: Vec<Identity>,
        placed: Vec<(Digest, std::path::PathBuf)>,
        values: &Outputs,
    ) {
        let task = execution.task;
        let signature = &desk.enactment.graph().operation_at(task).signature;
        let is_kept = !signature.implicit && signature.pure;
        let made = self.made_of(desk, piece, contents);
        if is_kept
            && let Err(error) =
                desk.keeper
                    .keep_made(desk.enactment.graph(), execution, outputs, placed, made)
        {
            desk.error.get_or_insert(error.into());
        }
        self.settle(desk, execution, values);
    }

    /// What is known of a task besides its outputs.
    fn made_of(&self, desk: &mut Desk<'_>, piece: Piece, contents: Vec<Identity>) -> Made {
        let task = piece.start.task;
        let signature = &desk.enactment.graph().operation_at(task).signature;
        let is_kept = !signature.implicit && signature.pure;
        if desk.compares {
            desk.enactment.identify(task, contents.clone());
        }
        let again = desk.enactment.coordinator().is_made_again(task);
        let key = match desk.enactment.compared_by(task).copied() {
            None if again && desk.compares && is_kept => desk.enactment.content_key(task),
            compared => compared.or(piece.key),
        };
        Made {
            contents,
            key,
            lease: piece.lease,
            again,
            wanted: Ports::These(desk.enactment.requested_ports(task)),
        }
    }

    /// Tells the enactment and whoever watches that a task ended well.
    fn settle(&mut self, desk: &mut Desk<'_>, execution: &Execution, values: &Outputs) {
        let now = desk.now();
        let ending = Ending::Success {
            memory: 0,
            elapsed: execution.elapsed,
        };
        let recall = &mut AsRecall(desk.keeper);
        let told = desk
            .enactment
            .finished(execution.task, ending, values, now, recall);
        if let Err(error) = told {
            desk.error.get_or_insert(error.into());
        }
        desk.observer
            .finished(desk.enactment, execution, &Finished::Success(values));
        self.pass_on(desk);
    }

    /// A task of a node failed.
    pub(super) fn failed(
        &mut self,
        desk: &mut Desk<'_>,
        node: NodeId,
        unit: UnitId,
        task: u32,
        ran: RanFor,
        failure: &Failure,
    ) {
        if let Some(piece) = self.piece(node, unit, task) {
            let execution = self.execution(desk, &piece, &ran);
            self.ended_badly(desk, &execution, failure);
        }
    }

    fn ended_badly(&mut self, desk: &mut Desk<'_>, execution: &Execution, failure: &Failure) {
        let ending = match failure.kind {
            FailureKind::Cancelled if desk.stop.is_stopping() => Ending::Cancelled,
            FailureKind::Cancelled => Ending::Fatal,
            // A program that is not there will not be there in a second either.
            FailureKind::NotStarted | FailureKind::Input => Ending::Fatal,
            _ => Ending::Failure,
        };
        let now = desk.now();
        let recall = &mut AsRecall(desk.keeper);
        let told = desk
            .enactment
            .finished(execution.task, ending, &[], now, recall);
        if let Err(error) = told {
            desk.error.get_or_insert(error.into());
        }
        desk.observer
            .finished(desk.enactment, execution, &Finished::Failure(failure));
        self.pass_on(desk);
    }

    /// A node has reported all that there is to say of a unit.
    pub(super) fn unit_ended(&mut self, desk: &mut Desk<'_>, node: NodeId, unit: UnitId) {
        if !self.crew.ended(node, unit) {
            return;
        }
        if let Some(work) = self.work.remove(&unit) {
            // What read something that failed did not run.
            for piece in work.pieces.into_iter().flatten() {
                desk.put_back(piece.start.task, Ending::Busy);
            }
        }
    }

    /// A node cannot do a unit: another one may, or this process.
    pub(super) fn declined(
        &mut self,
        desk: &mut Desk<'_>,
        node: NodeId,
        unit: UnitId,
        reason: &str,
    ) {
        if self.crew.node_of(unit) != Some(node) {
            return;
        }
        let _ = reason;
        if !self.crew.declined(node, unit) {
            self.here_instead(desk, unit);
        }
    }

    /// What a unit reads cannot be had: products are made again, and files of the user have been changed.
    pub(super) fn missing(
        &mut self,
        desk: &mut Desk<'_>,
        node: NodeId,
        unit: UnitId,
        digests: &[Digest],
    ) {
        if !self.crew.ended(node, unit) {
            return;
        }
        let Some(work) = self.work.remove(&unit) else {
            return;
        };
        let mut gone = Vec::new();
        for piece in work.pieces.into_iter().flatten() {
            let task = piece.start.task;
            let before = gone.len();
            desk.enactment.graph().for_each_input_task(task, |input| {
                let has = |output: &StoredOutput| {
                    output
                        .encoding
                        .is_some_and(|encoding| digests.contains(&encoding))
                        || output
                            .inline
                            .as_deref()
                            .and_then(|bytes| decode(bytes).ok())
                            .is_some_and(|value| {
                                let mut has = false;
                                value.for_each_file(&mut |file| {
                                    has |= digests.contains(&file.digest);
                                });
                                has
                            })
                };
                let product = self.products.get(&input);
                let is_gone = product.is_some_and(|product| {
                    product.outputs.iter().any(has)
                        || product
                            .objects
                            .iter()
                            .any(|digest| digests.contains(digest))
                });
                if is_gone {
                    gone.push(input);
                }
            });
            let times = self.not_begun.entry(task).or_default();
            *times += 1;
            if gone.len() > before && *times <= MADE_AGAIN {
                desk.put_back(task, Ending::Busy);
                continue;
            }
            let message = if digests.iter().any(|digest| self.directory.has_file(digest)) {
                "a file that it reads is not what it was when the run began".to_owned()
            } else {
                "what it reads cannot be had by its node".to_owned()
            };
            let execution = Execution {
                task,
                attempt: piece.start.attempt,
                started: desk.began.elapsed(),
                elapsed: Duration::ZERO,
                usage: Default::default(),
            };
            self.ended_badly(desk, &execution, &Failure::new(FailureKind::Input, message));
        }
        gone.sort_unstable();
        gone.dedup();
        for task in gone {
            self.drop_product(task);
            self.crew.forget(DataId(task.0));
            desk.lost(task);
        }
        self.directory.forget(digests);
        self.pass_on(desk);
    }

    /// A task that ran in this process has ended.
    pub(super) fn own_ended(&mut self, desk: &mut Desk<'_>, end: OwnEnd) {
        let OwnEnd { execution, result } = end;
        let task = execution.task;
        let Some(piece) = self.own.remove(&task) else {
            return;
        };
        match result {
            Err(failure) => self.ended_badly(desk, &execution, &failure),
            Ok(outputs) => match self.shelved(&outputs) {
                Err(failure) => self.ended_badly(desk, &execution, &failure),
                Ok((product, contents)) => {
                    let signature = &desk.enactment.graph().operation_at(task).signature;
                    let is_kept = !signature.implicit && signature.pure;
                    self.put_product(task, product);
                    let outputs = Arc::new(outputs);
                    let made = self.made_of(desk, piece, contents);
                    if is_kept {
                        let graph = desk.enactment.graph();
                        let kept = desk.keeper.keep(graph, &execution, &outputs, made);
                        if let Err(error) = kept {
                            desk.error.get_or_insert(error.into());
                        }
                    }
                    self.settle(desk, &execution, &outputs);
                }
            },
        }
        self.start_own();
    }

    /// Puts outputs on the shelf of this process, from where nodes may have them.
    fn shelved(&self, outputs: &Outputs) -> Result<(Product, Vec<Identity>), Failure> {
        let (mut stored, mut contents, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        for value in outputs {
            let shelved = self.directory.shelf.shelve(value).map_err(|error| {
                Failure::new(
                    FailureKind::Output,
                    format!("an output cannot be kept: {error}"),
                )
            })?;
            stored.push(shelved.output);
            contents.push(shelved.contents);
            objects.extend(shelved.objects.into_iter().map(|(digest, _)| digest));
        }
        let product = Product {
            outputs: stored.into(),
            objects: objects.into(),
            is_safe: true,
        };
        Ok((product, contents))
    }

    /// Whether a task is one of those that are to be delivered.
    pub(super) fn is_delivered(&self, task: TaskId) -> bool {
        self.deliver.contains(&task)
    }
}
