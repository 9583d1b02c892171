//! Workflows of which more is known only when something has run: lists of unknown length.
//!
//! Law: what a list is made from may depend on no parameter that varies, so that it is the same for every parameter set;
//! it is made beforehand, once, and from then on the study is like any other.

use std::sync::Arc;

use headwater_enact::{Blueprint, Requested};
use headwater_engine::load::Loaded;
use headwater_engine::{Error, Run};
use headwater_graph::{Index, Outputs, Source, TaskGraph, TaskId};
use headwater_merge::Compact;

use crate::assemble::{Cut, assemble};
use crate::facts::{Book, Part};
use crate::instances::{Instances, Varied};
use crate::load::Study;
use crate::names::Names;
use crate::round::Ground;

/// Runs what has to be known first.
pub(crate) struct Closer<'a> {
    pub(crate) study: &'a Study,
    pub(crate) loaded: &'a Loaded,
    pub(crate) ground: &'a Ground<'a>,
    pub(crate) book: &'a mut Book,
    pub(crate) run: &'a mut Run,
}

impl Closer<'_> {
    /// What the tasks that a blueprint waits for come to. In that of a reference nothing varies.
    pub(crate) fn made(
        &mut self,
        graph: &TaskGraph,
        blueprint: &Blueprint,
        varies: bool,
    ) -> Result<Vec<(TaskId, Outputs)>, Error> {
        refuse(self.study, self.loaded, graph, blueprint, varies)?;
        // Of each the first output stands for all.
        let request = |task: &TaskId| Requested {
            output: "".into(),
            index: Index::root(),
            source: Source::Product {
                task: *task,
                port: 0,
            },
        };
        let asked = Blueprint {
            stages: blueprint.stages.clone(),
            requested: blueprint.watched.iter().map(request).collect(),
            wanted: blueprint.watched.clone(),
            ..Blueprint::default()
        };
        let nothing_varies = Varied {
            sets: 1,
            ..Varied::default()
        };
        let instances = Instances::new(graph, &asked, &nothing_varies)
            .map_err(|unfit| crate::refuse::misfit(self.study, &unfit))?;
        let compact = Compact::new(&instances.template, &instances.sets);
        let workflow = &self.loaded.workflow;
        let from = (graph, &asked);
        let assembled = assemble(&instances, from, workflow, 0, &Cut::Shared, &compact)?;
        let mut tasks = Vec::with_capacity(blueprint.watched.len());
        for requested in &assembled.requested {
            requested.source.for_each_task(&mut |task| tasks.push(task));
        }
        let names = Names::new(workflow, &blueprint.stages, &instances);
        let ended = self.ground.run(assembled, names, &[], self.run)?;
        self.book.round(&ended, Part::Aside);
        self.book.tell(self.ground.progress);
        if let Some(keeper) = self.run.keeper() {
            // What lists are is read from records.
            let _ = keeper.eager_fetcher().flush();
        }
        if let Some(seen) = ended.failures.first() {
            let address = ended.names.address(&ended.enactment, seen.task);
            return Err(Error::Failed(format!(
                "what the study is to be computed for is not known: task `{address}`: {}",
                seen.failure.message
            )));
        }
        if let Some(trouble) = ended.trouble {
            return Err(trouble);
        }
        let outputs = |(watched, task): (&TaskId, TaskId)| {
            let recipe = ended.enactment.stored_as(task);
            let outputs = ended.fetcher.described(&recipe).ok_or_else(|| {
                let stopped = "stopped before it was known what the study is to be computed for";
                Error::Failed(stopped.to_owned())
            })?;
            Ok((*watched, outputs))
        };
        blueprint.watched.iter().zip(tasks).map(outputs).collect()
    }
}

/// Refuses a blueprint that waits for something that is not the same for every parameter set.
pub(crate) fn refuse(
    study: &Study,
    loaded: &Loaded,
    graph: &TaskGraph,
    blueprint: &Blueprint,
    varies: bool,
) -> Result<(), Error> {
    let studied = |name: &Arc<str>| {
        let mut studied = study.resolved.studied.iter();
        varies && studied.any(|known| known.name == *name)
    };
    let mut reached = vec![false; graph.len()];
    for task in graph.ids() {
        let own = blueprint.bindings.get(task.index());
        let mut varied = own.is_some_and(|bound| bound.iter().any(|(_, name)| studied(name)));
        graph.for_each_input_task(task, |input| varied |= reached[input.index()]);
        reached[task.index()] = varied;
    }
    for task in &blueprint.watched {
        let signature = &graph.operation_at(*task).signature;
        let why = match (signature.pure, reached[task.index()]) {
            (true, false) => continue,
            (false, _) => "is not pure, so what comes after it is another thing each time",
            (true, true) => {
                "depends on parameters that vary, so what comes after it differs from set to set"
            }
        };
        let stage = blueprint.stages.iter();
        let mut stage = stage.filter(|stage| stage.tasks.contains(task));
        let stage = stage.next().map_or("", |stage| {
            let workflow = &loaded.workflow;
            &*workflow.stages[stage.stage].name
        });
        return Err(study.mistake_at_objective(
            format!(
                "how much there is to compute is known only when operation `{}` in stage `{stage}` has run, and that {why}",
                signature.name
            ),
            "such a study can be planned; to run it, study an output that does not depend on that stage",
        ));
    }
    Ok(())
}
