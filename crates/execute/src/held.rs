//! The outputs that tasks in flight read.
//!
//! Law: what is here is what the coordinator believes is here. Outputs that were written out come back
//! equal.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_graph::{Outputs, Source, TaskGraph, TaskId, Type, Value, decode, encode_to};

/// Outputs by task.
#[derive(Debug, Default)]
pub(crate) struct Held {
    slots: Vec<Option<Arc<Outputs>>>,
    /// Tasks whose outputs stay to the end, by id.
    wanted: Vec<bool>,
    /// Positions of outputs that were not brought back with the others.
    absent: HashMap<TaskId, Vec<u16>>,
}

impl Held {
    /// The outputs of `wanted` stay to the end.
    pub(crate) fn new(wanted: &[TaskId]) -> Held {
        let length = wanted
            .iter()
            .map(|task| task.index() + 1)
            .max()
            .unwrap_or(0);
        let mut flags = vec![false; length];
        wanted.iter().for_each(|task| flags[task.index()] = true);
        Held {
            slots: Vec::new(),
            wanted: flags,
            absent: HashMap::new(),
        }
    }

    /// Nobody needs these outputs for now; they are given back to be dropped, unless they are wanted.
    pub(crate) fn release(&mut self, task: TaskId) -> Option<Arc<Outputs>> {
        if self.is_wanted(task) {
            return None;
        }
        self.remove(task)
    }

    /// Whether the outputs of a task stay to the end.
    pub(crate) fn is_wanted(&self, task: TaskId) -> bool {
        self.wanted.get(task.index()) == Some(&true)
    }

    pub(crate) fn put(&mut self, task: TaskId, outputs: Arc<Outputs>) {
        if self.slots.len() <= task.index() {
            self.slots.resize(task.index() + 1, None);
        }
        self.slots[task.index()] = Some(outputs);
        if !self.absent.is_empty() {
            self.absent.remove(&task);
        }
    }

    pub(crate) fn get(&self, task: TaskId) -> Option<&Arc<Outputs>> {
        self.slots.get(task.index()).and_then(Option::as_ref)
    }

    /// An output of a task, if it is there.
    pub(crate) fn output(&self, task: TaskId, port: u16) -> Option<Value> {
        let absent = self.absent.get(&task);
        if absent.is_some_and(|absent| absent.contains(&port)) {
            None
        } else {
            self.get(task)?.get(usize::from(port)).cloned()
        }
    }

    /// Says which outputs of a task are not there, though the others are.
    pub(crate) fn lacks(&mut self, task: TaskId, absent: Vec<u16>) {
        if !absent.is_empty() {
            self.absent.insert(task, absent);
        }
    }

    /// Whether an output of a task is not there, though the others are.
    pub(crate) fn is_incomplete(&self, task: TaskId) -> bool {
        self.absent.contains_key(&task)
    }

    /// The outputs of `from` are those of `task`, too.
    pub(crate) fn share(&mut self, task: TaskId, from: TaskId) {
        if let Some(outputs) = self.get(from).cloned() {
            self.put(task, outputs);
        }
        if let Some(absent) = self.absent.get(&from).cloned() {
            self.lacks(task, absent);
        }
    }

    /// An input of `task` of which it needs an output that is not there.
    pub(crate) fn incomplete_input(&self, graph: &TaskGraph, task: TaskId) -> Option<TaskId> {
        if self.absent.is_empty() {
            return None;
        }
        let mut incomplete = None;
        for (_, source) in graph.inputs(task) {
            source.for_each_product(&mut |input, port| {
                let absent = self.absent.get(&input);
                if absent.is_some_and(|absent| absent.contains(&port)) {
                    incomplete = Some(input);
                }
            });
        }
        incomplete
    }

    /// The tasks before `reader` in whose outputs there is one of these files: those that made them, and those that
    /// passed them on.
    pub(crate) fn holders(
        &self,
        graph: &TaskGraph,
        reader: TaskId,
        is_one: &dyn Fn(&Path) -> bool,
    ) -> Vec<TaskId> {
        let has = |task: TaskId| {
            let mut has = false;
            for value in self.get(task).iter().flat_map(|outputs| outputs.iter()) {
                value.for_each_file(&mut |file| {
                    has |= file.handle.path().is_some_and(|path| is_one(path));
                });
            }
            has
        };
        let (mut next, mut found) = (vec![reader], Vec::new());
        while let Some(task) = next.pop() {
            graph.for_each_input_task(task, |input| {
                if !found.contains(&input) && has(input) {
                    next.push(input);
                    found.push(input);
                }
            });
        }
        found
    }

    pub(crate) fn remove(&mut self, task: TaskId) -> Option<Arc<Outputs>> {
        if !self.absent.is_empty() {
            self.absent.remove(&task);
        }
        self.slots.get_mut(task.index()).and_then(Option::take)
    }

    /// The inputs of a task, in the order of its ports; unbound ones are null.
    pub(crate) fn inputs(&self, graph: &TaskGraph, task: TaskId) -> Option<Vec<Value>> {
        inputs_of(graph, task, &|task, port| {
            self.get(task)?.get(usize::from(port)).cloned()
        })
    }
}

/// The inputs of a task, in the order of its ports; unbound ones are null. `product` gives outputs of other tasks; `None`
/// if one is not here.
pub fn inputs_of(
    graph: &TaskGraph,
    task: TaskId,
    product: &dyn Fn(TaskId, u16) -> Option<Value>,
) -> Option<Vec<Value>> {
    let ports = &graph.operation_at(task).signature.inputs;
    let mut inputs = vec![Value::Null; ports.len()];
    for (port, source) in graph.inputs(task) {
        let position = usize::from(*port);
        inputs[position] = value_of(graph, source, &ports[position].port_type, product)?;
    }
    Some(inputs)
}

/// The value of a source, as a port of that type takes it.
fn value_of(
    graph: &TaskGraph,
    source: &Source,
    wanted: &Type,
    product: &dyn Fn(TaskId, u16) -> Option<Value>,
) -> Option<Value> {
    let value = match source {
        Source::Product { task, port } => product(*task, *port)?,
        Source::External(position) => graph.external_at(*position).value.clone(),
        Source::List(sources) => {
            let element = wanted.element().unwrap_or(&Type::Any);
            let mut values = Vec::with_capacity(sources.len());
            for source in sources.iter() {
                // An optional output that was not made has no place in a list.
                match value_of(graph, source, element, product)? {
                    Value::Null => {}
                    value => values.push(value),
                }
            }
            Value::List(values.into())
        }
        Source::Record(fields) => {
            let values: Option<_> = fields
                .iter()
                .map(|(key, source)| {
                    let value = value_of(graph, source, &Type::Any, product)?;
                    Some((Arc::clone(key), value))
                })
                .collect();
            Value::Record(Arc::new(values?))
        }
    };
    Some(match (&value, wanted) {
        (Value::Int(number), Type::Float) => Value::Float(*number as f64),
        _ => value,
    })
}

fn spill_path(folder: &Path, task: TaskId) -> PathBuf {
    folder.join(format!("spilled-{}", task.0))
}

/// Writes outputs to a file of their own. Outputs that speak of files keep those where they are.
pub(crate) fn spill(folder: &Path, task: TaskId, outputs: &Outputs) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = std::fs::File::create(spill_path(folder, task))?;
    // Memory is short: what is large is not put together first.
    encode_to(&Value::List(outputs.clone().into()), &mut file)
}

/// Reads back what [`spill`] wrote, which is not there any more then.
pub(crate) fn unspill(folder: &Path, task: TaskId) -> Option<Outputs> {
    let outputs = peek(folder, task);
    let _ = std::fs::remove_file(spill_path(folder, task));
    outputs
}

/// Reads what [`spill`] wrote.
fn peek(folder: &Path, task: TaskId) -> Option<Outputs> {
    read_written_out(&spill_path(folder, task))
}

/// The file that [`spill`] has written, if it is there.
pub(crate) fn written_out(folder: &Path, task: TaskId) -> Option<PathBuf> {
    Some(spill_path(folder, task)).filter(|path| path.exists())
}

/// The outputs of a task that were written to a file because memory was short.
pub fn read_written_out(path: &Path) -> Option<Outputs> {
    let bytes = std::fs::read(path).ok()?;
    match decode(&bytes).ok()? {
        Value::List(outputs) => Some(outputs.to_vec()),
        _ => None,
    }
}

/// Whether a value speaks of files, whose places an encoding does not keep.
pub(crate) fn speaks_of_files(value: &Value) -> bool {
    match value {
        Value::File(_) | Value::Directory(_) => true,
        Value::List(items) => items.iter().any(speaks_of_files),
        Value::Record(fields) => fields.values().any(speaks_of_files),
        _ => false,
    }
}
