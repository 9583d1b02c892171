//! The tasks of all instances of a study, shared as far as is asked for.
//!
//! Law: whatever is shared, every parameter set asks for tasks that compute the same; only how often a task stands in
//! the graph differs. References, and tasks that nobody wrote down, stand there once. What a bucket makes no other
//! bucket reads, and its tasks run one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_enact::{Blueprint, Occurrence, Requested, StageRules};
use headwater_engine::Error;
use headwater_graph::{Index, Source, TaskGraph, TaskId, Workflow};
use headwater_merge::{Buckets, Compact, StageRows, Tree};

use crate::instances::{Adding, Instances};

/// How the tasks of a stage kind are told apart beyond what they compute.
pub(crate) enum Cut {
    /// Not at all: equal tasks are one.
    Shared,
    /// Each set has its own.
    BySet,
    /// Each stage that differs has its own.
    ByStage,
    /// Common beginnings of stages are one.
    ByChain,
    /// By bucket; in it, equal tasks are one, or common beginnings.
    ByBucket {
        /// By kind of stage; none for those that are not cut.
        buckets: Vec<Option<Buckets>>,
        /// Whether only common beginnings are shared.
        chain: bool,
    },
}

/// Where a task stands: the first place that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskPlace {
    /// Which step of an instance.
    pub(crate) step: u32,
    /// Which parameter set; [`REFERENCE`] where no set asks for it.
    pub(crate) set: u32,
}

/// The set of what only references need.
pub(crate) const REFERENCE: u32 = u32::MAX;

/// So many places are noted where tasks stand besides the first one.
const MOST_SHARED: usize = 100_000;

/// A graph, ready to run.
pub(crate) struct Assembled {
    pub(crate) graph: TaskGraph,
    /// What was asked for by name; the number of the parameter set is the first position of the index.
    pub(crate) requested: Vec<Requested>,
    /// By request: the set, and the position among the requests of the blueprint.
    pub(crate) cells: Vec<(u32, u32)>,
    /// Tasks that have to be done, set after set.
    pub(crate) wanted: Vec<TaskId>,
    /// By task.
    pub(crate) places: Vec<TaskPlace>,
    /// Other places where tasks stand, the first [`MOST_SHARED`].
    pub(crate) shared: Vec<(TaskPlace, TaskId)>,
    /// By task, how many sets and items ask for it.
    pub(crate) asks: Vec<u32>,
    /// By node of the compact graph its task, where equal tasks are one.
    pub(crate) of_nodes: Vec<TaskId>,
    /// By step, the task of the last set; of what only references need there is but this one.
    pub(crate) of_steps: Vec<TaskId>,
    pub(crate) rules: Vec<StageRules>,
    pub(crate) occurrences: Vec<Occurrence>,
}

/// What tells the copies of a task apart.
type Owner = u64;

/// The rows of a stage kind by what they consist of, and whom their tasks belong to.
struct Rows<'a> {
    numbers: HashMap<&'a [u32], u32>,
    tree: Option<Tree>,
    bucket: Option<Vec<u32>>,
}

impl<'a> Rows<'a> {
    fn new(kind: usize, rows: &'a StageRows, cut: &Cut) -> Rows<'a> {
        let distinct = &rows.distinct;
        let numbered = matches!(cut, Cut::ByStage | Cut::ByChain | Cut::ByBucket { .. });
        let numbers = if numbered && !distinct.is_empty() {
            distinct.rows().zip(0..).collect()
        } else {
            HashMap::new()
        };
        let chain = matches!(cut, Cut::ByChain | Cut::ByBucket { chain: true, .. });
        let bucket = match cut {
            Cut::ByBucket { buckets, .. } => buckets[kind].as_ref().map(|buckets| {
                let mut of = vec![0; distinct.len()];
                for (bucket, members) in (0..).zip(&buckets.stages) {
                    members.iter().for_each(|row| of[*row as usize] = bucket);
                }
                of
            }),
            _ => None,
        };
        Rows {
            numbers,
            tree: (chain && distinct.width() > 1).then(|| Tree::new(distinct)),
            bucket,
        }
    }

    /// Whom the tasks of a row belong to, in the order of the row.
    fn owners(&self, cut: &Cut, (set, place): (usize, usize), row: &[u32]) -> Vec<Owner> {
        let number = || self.numbers.get(row).copied().unwrap_or_default();
        match cut {
            Cut::Shared => vec![0; row.len()],
            // Equal items of one set are evaluations of their own.
            Cut::BySet => vec![(set as Owner) << 32 | place as Owner; row.len()],
            Cut::ByStage => vec![Owner::from(number()); row.len()],
            Cut::ByChain => self.chain(number(), row.len()),
            Cut::ByBucket { chain, .. } => {
                let bucket = self.bucket.as_ref().map_or(0, |of| of[number() as usize]);
                let within = if *chain {
                    self.chain(number(), row.len())
                } else {
                    vec![0; row.len()]
                };
                let owner = |within: Owner| Owner::from(bucket) << 32 | within;
                within.into_iter().map(owner).collect()
            }
        }
    }

    /// The nodes of the reuse tree that lead to a row.
    fn chain(&self, row: u32, width: usize) -> Vec<Owner> {
        let mut owners = vec![0; width];
        if let Some(tree) = &self.tree {
            let mut at = tree.leaves()[row as usize];
            for owner in owners.iter_mut().rev() {
                *owner = Owner::from(at);
                at = tree.node(at).parent;
            }
        }
        owners
    }
}

/// Puts the tasks of all instances of a blueprint, with the graph that it is in, into one graph.
pub(crate) fn assemble(
    instances: &Instances,
    (from, blueprint): (&TaskGraph, &Blueprint),
    workflow: &Workflow,
    first_set: usize,
    cut: &Cut,
    compact: &Compact,
) -> Result<Assembled, Error> {
    let failed = |error: headwater_graph::GraphError| Error::usage(error.to_string(), None);
    let steps = instances.template.steps.len();
    let kinds: Vec<Rows<'_>> = compact
        .stages
        .iter()
        .enumerate()
        .map(|(kind, rows)| Rows::new(kind, rows, cut))
        .collect();
    let graph = match cut {
        Cut::Shared => TaskGraph::new(),
        _ => TaskGraph::unshared(),
    };
    let mut adding = Adding::new(instances, from, graph);
    let mut of_reference = vec![true; steps];
    for occurrence in &instances.template.occurrences {
        for step in &occurrence.steps {
            of_reference[*step as usize] = false;
        }
    }
    let mut bucket_rules: Vec<StageRules> = Vec::new();
    let mut first_rule = Vec::new();
    if let Cut::ByBucket { buckets, .. } = cut {
        for buckets in buckets {
            first_rule.push(bucket_rules.len());
            let several = buckets.as_ref().map_or(0, Buckets::len);
            let rule = StageRules {
                concurrency: Some(1),
                ..StageRules::default()
            };
            bucket_rules.extend(std::iter::repeat_n(rule, several));
        }
    }
    let mut made: HashMap<(u32, u32, Owner), TaskId> = HashMap::new();
    // Where equal tasks are one, the node says which.
    let is_shared = matches!(cut, Cut::Shared);
    let mut of_nodes: Vec<Option<TaskId>> = if is_shared {
        vec![None; compact.len()]
    } else {
        Vec::new()
    };
    let mut assembled = Assembled {
        graph: TaskGraph::new(),
        requested: Vec::new(),
        cells: Vec::new(),
        wanted: Vec::new(),
        places: Vec::new(),
        shared: Vec::new(),
        asks: Vec::new(),
        of_nodes: Vec::new(),
        of_steps: Vec::new(),
        rules: Vec::new(),
        occurrences: Vec::new(),
    };
    let limited = |stage: &headwater_graph::Stage| stage.concurrency.is_some();
    let ordered = blueprint
        .stages
        .iter()
        .any(|stage| !stage.after.is_empty() || !stage.after_stages.is_empty());
    let in_stages =
        (ordered || workflow.stages.iter().any(limited)) && !matches!(cut, Cut::ByBucket { .. });
    let mut seen_wanted: Vec<bool> = Vec::new();
    let mut trouble = None;
    // The kind of stage that a step is of, and whom its task belongs to.
    let mut owners: Vec<(u32, Owner)> = vec![(0, 0); steps];
    let mut tasks: Vec<TaskId> = vec![TaskId(0); steps];
    let again = Compact::with(&instances.template, &instances.sets, |set, nodes| {
        if trouble.is_some() {
            return;
        }
        if !matches!(cut, Cut::Shared) {
            for (place, occurrence) in instances.template.occurrences.iter().enumerate() {
                let row: Vec<u32> = occurrence
                    .steps
                    .iter()
                    .map(|step| nodes[*step as usize])
                    .collect();
                // A stage of one task is shared as a whole or not at all, and what is shared with a reference stands
                // there once.
                if row.len() == 1 && !matches!(cut, Cut::BySet) {
                    continue;
                }
                let found = kinds[occurrence.stage as usize].owners(cut, (set, place), &row);
                for (step, owner) in occurrence.steps.iter().zip(found) {
                    owners[*step as usize] = (occurrence.stage + 1, owner);
                }
            }
        }
        for step in 0..steps {
            let node = nodes[step];
            let (kind, owner) = owners[step];
            let key = (node, kind, owner);
            let known = if is_shared {
                of_nodes[node as usize]
            } else {
                made.get(&key).copied()
            };
            let task = match known {
                Some(task) => task,
                None => {
                    let added = adding.add(step as u32, compact.node(node), &|step, _| tasks[step]);
                    let task = match added {
                        Ok(task) => task,
                        Err(error) => {
                            trouble = Some(error);
                            return;
                        }
                    };
                    if is_shared {
                        of_nodes[node as usize] = Some(task);
                    } else {
                        made.insert(key, task);
                    }
                    if assembled.places.len() == task.index() {
                        assembled.places.push(TaskPlace {
                            step: step as u32,
                            set: REFERENCE,
                        });
                        assembled.asks.push(0);
                        let bucket = kind
                            .checked_sub(1)
                            .filter(|kind| kinds[*kind as usize].bucket.is_some());
                        if let Some(kind) = bucket {
                            let number = (owner >> 32) as usize;
                            assembled.occurrences.push(Occurrence {
                                stage: first_rule[kind as usize] + number,
                                tasks: vec![task],
                                ..Occurrence::default()
                            });
                        }
                    }
                    task
                }
            };
            assembled.asks[task.index()] += u32::from(!of_reference[step]);
            let place = &mut assembled.places[task.index()];
            if place.set == REFERENCE && !of_reference[step] {
                *place = TaskPlace {
                    step: step as u32,
                    set: (first_set + set) as u32,
                };
            } else if !of_reference[step] && assembled.shared.len() < MOST_SHARED {
                let other = TaskPlace {
                    step: step as u32,
                    set: (first_set + set) as u32,
                };
                assembled.shared.push((other, task));
            }
            tasks[step] = task;
        }
        let task_of = |task: &TaskId| instances.step(*task).map(|step| tasks[step]);
        for task in blueprint.wanted.iter().filter_map(task_of) {
            if seen_wanted.len() <= task.index() {
                seen_wanted.resize(task.index() + 1, false);
            }
            if !std::mem::replace(&mut seen_wanted[task.index()], true) {
                assembled.wanted.push(task);
            }
        }
        for (position, requested) in (0..).zip(&blueprint.requested) {
            let mut index = vec![(first_set + set) as u32];
            index.extend(&requested.index.0);
            let source = moved(
                &requested.source,
                &|task| task_of(&task).unwrap_or(task),
                &mut |position| {
                    let external = from.external_at(position).clone();
                    adding.graph.external(external)
                },
            );
            assembled.cells.push((set as u32, position));
            assembled.requested.push(Requested {
                output: Arc::clone(&requested.output),
                index: Index(index.into()),
                source,
            });
        }
        if in_stages {
            for stage in &blueprint.stages {
                assembled.occurrences.push(Occurrence {
                    stage: stage.stage,
                    tasks: stage.tasks.iter().filter_map(task_of).collect(),
                    after: stage.after.iter().filter_map(task_of).collect(),
                    after_stages: stage.after_stages.clone(),
                });
            }
        }
    });
    debug_assert_eq!(
        again.len(),
        compact.len(),
        "the same sets give the same nodes"
    );
    if let Some(error) = trouble {
        return Err(failed(error));
    }
    if in_stages {
        let rule = |stage: &headwater_graph::Stage| StageRules {
            name: Arc::clone(&stage.name),
            ancestors: Vec::new(),
            concurrency: stage.concurrency,
        };
        assembled.rules = workflow.stages.iter().map(rule).collect();
        // Instances of a stage come in index order.
        assembled
            .occurrences
            .sort_by_key(|occurrence| occurrence.stage);
    } else {
        assembled.rules = bucket_rules;
    }
    assembled.of_nodes = of_nodes.into_iter().flatten().collect();
    assembled.graph = adding.graph;
    assembled.of_steps = tasks;
    Ok(assembled)
}

/// The source, with other tasks in it, and other things from outside.
fn moved(
    source: &Source,
    task_of: &dyn Fn(TaskId) -> TaskId,
    external: &mut dyn FnMut(u32) -> Source,
) -> Source {
    match source {
        Source::External(position) => external(*position),
        Source::Product { task, port } => Source::Product {
            task: task_of(*task),
            port: *port,
        },
        Source::List(sources) => {
            let sources = sources.iter();
            let sources = sources.map(|source| moved(source, task_of, external));
            Source::List(Arc::new(sources.collect()))
        }
        Source::Record(fields) => {
            let mut field = |(key, source): &(Arc<str>, Source)| {
                (Arc::clone(key), moved(source, task_of, external))
            };
            Source::Record(Arc::new(fields.iter().map(&mut field).collect()))
        }
    }
}
