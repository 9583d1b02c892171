//! The workflow of a study over its data, for its objective, with the references that it is compared with.
//!
//! Law: nothing depends on the values of parameters that vary. References are outputs of other instances in the same
//! graph, at the values that parameters have where they do not vary; what only they need is part of no stage that counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_enact::{
    Blueprint, BlueprintStage, DataSet, Expander, OpenError, Requested, Settled, ShapeError,
};
use headwater_engine::Error;
use headwater_engine::load::Loaded;
use headwater_graph::{Index, OutputBinding, Outputs, Scalar, Source, TaskGraph, TaskId, Workflow};

use crate::load::Study;

/// A workflow over its data, with everything that the objective needs.
pub(crate) struct Open {
    pub(crate) graph: TaskGraph,
    pub(crate) blueprint: Blueprint,
    /// The stages that make outputs of other instances, which are bound to inputs.
    pub(crate) reference_stages: Vec<BlueprintStage>,
    /// How many such outputs there are.
    pub(crate) references: usize,
    /// Each of them: what it is, and where in the graph it comes from.
    pub(crate) made: Vec<MadeReference>,
    /// The requests of the blueprint that are for the objective: one for each item.
    pub(crate) items: Vec<usize>,
    /// By request of the blueprint: the inputs that it was made from, references left out.
    pub(crate) ancestry: Vec<Vec<(Arc<str>, Index)>>,
}

/// An output of another instance that is bound to an input.
#[derive(Debug, Clone)]
pub(crate) struct MadeReference {
    pub(crate) input: Arc<str>,
    pub(crate) output: Arc<str>,
    pub(crate) index: Index,
    pub(crate) source: Source,
}

impl Open {
    /// The stages, those of references first.
    pub(crate) fn stages(&self) -> impl Iterator<Item = &BlueprintStage> {
        self.reference_stages.iter().chain(&self.blueprint.stages)
    }
}

/// The workflow with these outputs, and with these inputs made rather than given.
fn asking_for(workflow: &Workflow, outputs: &[OutputBinding], made: &[Arc<str>]) -> Arc<Workflow> {
    let mut workflow = workflow.clone();
    workflow.outputs = outputs.to_vec();
    for input in &mut workflow.inputs {
        input.optional |= made.contains(&input.name);
    }
    Arc::new(workflow)
}

/// Expands the workflow for the objective, with the references that it is compared with.
pub(crate) fn open(
    study: &Study,
    loaded: &Loaded,
    data_set: &DataSet,
    baseline: &BTreeMap<Arc<str>, Scalar>,
) -> Result<Open, Error> {
    open_for(study, loaded, data_set, baseline, &[], None)
}

/// Runs what the tasks that a blueprint waits for come to; in that of a reference nothing varies.
pub(crate) type Close<'a> =
    dyn FnMut(&TaskGraph, &Blueprint, bool) -> Result<Vec<(TaskId, Outputs)>, Error> + 'a;

/// Goes on with a blueprint until everything is known, where somebody can run what has to be known first.
fn complete(
    expander: &mut Expander,
    graph: &mut TaskGraph,
    blueprint: &mut Blueprint,
    closer: Option<&mut Close<'_>>,
    varies: bool,
) -> Result<Result<(), ShapeError>, Error> {
    let Some(closer) = closer else {
        return Ok(Ok(()));
    };
    while !blueprint.watched.is_empty() {
        for (task, outputs) in closer(graph, blueprint, varies)? {
            expander.settled(graph, task, Settled::Outputs(&outputs));
        }
        if let Err(error) = expander.extend_blueprint(graph, blueprint) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

/// The same for the objective and other outputs. Where more is known only when something has run, `closer` runs it;
/// without one the blueprint stays open.
pub(crate) fn open_for(
    study: &Study,
    loaded: &Loaded,
    data_set: &DataSet,
    baseline: &BTreeMap<Arc<str>, Scalar>,
    others: &[OutputBinding],
    mut closer: Option<&mut Close<'_>>,
) -> Result<Open, Error> {
    let shape = |errors: Vec<ShapeError>| {
        let pairs = errors.iter().find_map(|error| match error {
            ShapeError::Unrelated { .. } | ShapeError::Unequal { .. } => {
                study.mistake_of_pairs(error.to_string())
            }
            _ => None,
        });
        if let Some(pairs) = pairs {
            return pairs;
        }
        let errors = errors.into_iter().map(OpenError::Shape);
        loaded.mistakes(&errors.collect::<Vec<_>>())
    };
    let mut graph = TaskGraph::unshared();
    let mut data_set = data_set.clone();
    let references = study.references(&loaded.workflow);
    let made: Vec<Arc<str>> = references
        .iter()
        .map(|(input, _)| Arc::clone(input))
        .collect();
    let mut items = 0;
    let mut made_references = Vec::new();
    let mut reference_stages = Vec::new();
    let mut pending: Vec<_> = references.iter().collect();
    // A reference may need another one: those that can be made come first, in whatever order they are written.
    while !pending.is_empty() {
        let before = pending.len();
        let (mut left, mut why) = (Vec::new(), None);
        for reference in pending {
            let (input, output) = reference;
            let workflow = asking_for(&loaded.workflow, std::slice::from_ref(output), &made);
            let mut expander =
                Expander::new(&workflow, &loaded.registry, &data_set, baseline).map_err(shape)?;
            let mut expanded = expander
                .blueprint(&mut graph)
                .map_err(|error| shape(vec![error]))?;
            let closer = closer.as_deref_mut();
            complete(&mut expander, &mut graph, &mut expanded, closer, false)?
                .map_err(|error| shape(vec![error]))?;
            match expander.products(&output.data, input, &loaded.registry) {
                Some(products) => {
                    items += expanded.requested.len();
                    reference_stages.extend(expanded.stages);
                    let made = expanded.requested.into_iter();
                    made_references.extend(made.map(|requested| MadeReference {
                        input: Arc::clone(input),
                        output: requested.output,
                        index: requested.index,
                        source: requested.source,
                    }));
                    data_set.products.push(products);
                }
                None => {
                    let lacks = expanded.requested.is_empty() && expanded.open.is_empty();
                    why = Some(no_reference(study, input, output, lacks));
                    left.push(reference);
                }
            }
        }
        if let Some(why) = why.filter(|_| left.len() == before) {
            return Err(why);
        }
        pending = left;
    }
    let objective = &study.resolved.objective;
    let mut outputs = vec![objective.clone()];
    for other in others {
        // What is asked for twice is asked for once.
        if outputs.iter().all(|known| known.name != other.name) {
            outputs.push(other.clone());
        }
    }
    let workflow = asking_for(&loaded.workflow, &outputs, &[]);
    let mut expander =
        Expander::new(&workflow, &loaded.registry, &data_set, baseline).map_err(shape)?;
    let mut blueprint = expander
        .blueprint(&mut graph)
        .map_err(|error| shape(vec![error]))?;
    complete(&mut expander, &mut graph, &mut blueprint, closer, true)?
        .map_err(|error| shape(vec![error]))?;
    let is_objective = |requested: &Requested| requested.output == objective.name;
    if !blueprint.requested.iter().any(is_objective) && blueprint.open.is_empty() {
        let mut empty = data_set.columns.iter();
        if let Some(column) = empty.find(|column| column.items.is_empty()) {
            return Err(study.mistake_at_objective(
                format!("there is nothing to study: `{}` has no items", column.input),
                "give it at least one under `inputs`",
            ));
        }
        return Err(study.mistake_at_objective(
            format!(
                "there is nothing to study: `{}` needs an optional input that is not given",
                objective.name
            ),
            "give all inputs that it needs under `inputs`",
        ));
    }
    let ancestry = |requested: &Requested| {
        let output = outputs.iter().find(|known| known.name == requested.output);
        let mut from = output.map_or_else(Vec::new, |output| {
            expander.ancestry(&output.data, &requested.index)
        });
        from.retain(|(input, _)| !made.contains(input));
        from
    };
    Ok(Open {
        items: (0..blueprint.requested.len())
            .filter(|position| is_objective(&blueprint.requested[*position]))
            .collect(),
        ancestry: blueprint.requested.iter().map(ancestry).collect(),
        graph,
        blueprint,
        reference_stages,
        references: items,
        made: made_references,
    })
}

/// A reference that cannot be bound: it lacks an input, or how many there are is not known yet.
fn no_reference(study: &Study, input: &Arc<str>, output: &OutputBinding, lacks: bool) -> Error {
    let name = &output.name;
    let (message, hint) = if lacks {
        (
            format!(
                "the stage that makes `{name}` reads `{input}` itself, or another optional input that is not given"
            ),
            "make the reference in a stage that does not read it",
        )
    } else {
        (
            format!("how many `{name}` there are is not known before something has run"),
            "give the reference as files",
        )
    };
    study.mistake_at_input(input, message, hint)
}
