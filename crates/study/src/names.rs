//! What the tasks of a study are called.
//!
//! Law: a task has the address of the first place that asks for it, `stage.task[set-index]`: the number of the parameter
//! set is the first position of every index path. What only references need has `default` in the place of the number.

use std::fmt::Write;
use std::sync::Arc;

use headwater_enact::{BlueprintStage, Enactment};
use headwater_engine::listener::Naming;
use headwater_graph::{Index, TaskId, Workflow};

use crate::assemble::{REFERENCE, TaskPlace};
use crate::instances::Instances;

/// Where a step of an instance stands in the workflow.
#[derive(Debug, Clone)]
pub(crate) struct StepName {
    /// The position of the stage.
    pub(crate) stage: usize,
    /// The name of the task in it.
    pub(crate) task: Arc<str>,
    /// Which instance of the stage.
    pub(crate) index: Index,
}

/// What tasks are called.
#[derive(Debug)]
pub(crate) struct Names {
    /// By step; none for what nobody wrote down.
    pub(crate) steps: Vec<Option<StepName>>,
    stages: Vec<Arc<str>>,
    /// By task.
    places: Vec<TaskPlace>,
    /// Other places of tasks.
    shared: Vec<(TaskPlace, TaskId)>,
}

impl Naming for Names {
    fn address(&self, enactment: &Enactment, task: TaskId) -> String {
        Names::address(self, enactment, task)
    }

    fn stage(&self, _: &Enactment, task: TaskId) -> Option<usize> {
        self.step(task).map(|step| step.stage)
    }
}

impl Names {
    /// The names of the steps that stand in stages; tasks come with [`Names::at`].
    pub(crate) fn new<'a>(
        workflow: &Workflow,
        stages: impl IntoIterator<Item = &'a BlueprintStage>,
        instances: &Instances,
    ) -> Names {
        let mut steps = vec![None; instances.tasks.len()];
        for stage in stages {
            for (task, name) in stage.tasks.iter().zip(&stage.names) {
                if let Some(step) = instances.step(*task) {
                    steps[step] = Some(StepName {
                        stage: stage.stage,
                        task: Arc::clone(name),
                        index: stage.index.clone(),
                    });
                }
            }
        }
        let stages = workflow.stages.iter();
        Names {
            steps,
            stages: stages.map(|stage| Arc::clone(&stage.name)).collect(),
            places: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// Tasks stand at these places, and some at others too.
    pub(crate) fn at(&mut self, places: Vec<TaskPlace>, shared: Vec<(TaskPlace, TaskId)>) {
        (self.places, self.shared) = (places, shared);
    }

    /// Visits the other addresses of tasks that several sets or items ask for.
    pub(crate) fn for_each_other_address(&self, visit: &mut dyn FnMut(String, TaskId)) {
        for (place, task) in &self.shared {
            if let Some(address) = self.address_at(place) {
                visit(address, *task);
            }
        }
    }

    /// The name of a stage.
    pub(crate) fn stage(&self, stage: usize) -> &Arc<str> {
        &self.stages[stage]
    }

    /// The names of all stages.
    pub(crate) fn stages(&self) -> &[Arc<str>] {
        &self.stages
    }

    /// Where a task stands.
    pub(crate) fn place(&self, task: TaskId) -> Option<TaskPlace> {
        self.places.get(task.index()).copied()
    }

    /// The step that a task is of, if somebody wrote it down.
    pub(crate) fn step(&self, task: TaskId) -> Option<&StepName> {
        let place = self.places.get(task.index())?;
        self.steps[place.step as usize].as_ref()
    }

    /// Whether no set asks for a task.
    pub(crate) fn is_reference(&self, task: TaskId) -> bool {
        let place = self.places.get(task.index());
        place.is_some_and(|place| place.set == REFERENCE)
    }

    /// Where tasks stand besides.
    pub(crate) fn shared(&self) -> &[(TaskPlace, TaskId)] {
        &self.shared
    }

    /// The address of a task that somebody wrote down.
    pub(crate) fn own(&self, task: TaskId) -> Option<String> {
        self.address_at(self.places.get(task.index())?)
    }

    fn address_at(&self, place: &TaskPlace) -> Option<String> {
        let step = self.steps[place.step as usize].as_ref()?;
        let stage = &self.stages[step.stage];
        let mut address = String::with_capacity(stage.len() + step.task.len() + 16);
        address.push_str(stage);
        address.push('.');
        address.push_str(&step.task);
        let _ = match place.set {
            REFERENCE => write!(address, "[default"),
            set => write!(address, "[{set}"),
        };
        if !step.index.0.is_empty() {
            let _ = write!(address, "-{}", step.index);
        }
        address.push(']');
        Some(address)
    }

    /// The address of a task; one that the engine added (reading a file) goes by the first task that it is for.
    pub(crate) fn address(&self, enactment: &Enactment, task: TaskId) -> String {
        let (mut at, mut reads) = (task, false);
        loop {
            if let Some(own) = self.own(at) {
                return if reads {
                    format!("{own} (reading)")
                } else {
                    own
                };
            }
            match enactment.coordinator().first_reader(at) {
                // Readers come later in the graph, so this ends.
                Some(reader) => (at, reads) = (reader, true),
                None => {
                    let operation = enactment.graph().operation_at(task);
                    return operation.signature.name.to_string();
                }
            }
        }
    }
}
