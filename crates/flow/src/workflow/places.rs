//! Where the parts of a workflow stand in its file.
//!
//! Law: every problem of a workflow gets the narrowest place that shows it. A problem that only follows from
//! a mistake reported elsewhere is left out, so that a person fixes each mistake once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{
    Binding, Diagnostic, Place, Problem, Severity, Span, TaskDefinition, Workflow,
};

use crate::suggest::Suggester;

/// Key and value of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntrySpan {
    /// Where the key stands.
    pub(crate) key: Span,
    /// Where the value stands.
    pub(crate) value: Span,
}

/// Places, and what is in doubt.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By place; of two things with the same name the first counts.
    entries: BTreeMap<Place, EntrySpan>,
    /// Names inside a field that holds several.
    names: BTreeMap<(Place, Arc<str>), Span>,
    /// Operations whose ports have mistakes.
    pub(crate) doubtful_operations: BTreeSet<Arc<str>>,
    /// Data and parameters whose type could not be told.
    pub(crate) doubtful_names: BTreeSet<Arc<str>>,
    /// Tasks that have mistakes of their own.
    pub(crate) doubtful_tasks: BTreeSet<(Arc<str>, usize)>,
    /// Stages whose tasks could not be read.
    pub(crate) doubtful_stages: BTreeSet<Arc<str>>,
    /// Whether the results of some task could not be read, so that any name may be one of them.
    pub(crate) hidden_results: bool,
    /// Whether the parameters could not be read.
    pub(crate) hidden_parameters: bool,
}

/// Ports and parameters that do not exist, by task: each is probably one that is reported as not given.
#[derive(Debug, Default)]
struct Misspelt {
    inputs: BTreeMap<(Arc<str>, usize), usize>,
    parameters: BTreeMap<(Arc<str>, usize), usize>,
}

impl Misspelt {
    fn of(problems: &[Problem]) -> Misspelt {
        let mut misspelt = Misspelt::default();
        for problem in problems
            .iter()
            .filter(|problem| problem.message.contains(" has no "))
        {
            let (counts, stage, position) = match &problem.place {
                Place::TaskInput(stage, position, _) => (&mut misspelt.inputs, stage, position),
                Place::TaskParameter(stage, position, _) => {
                    (&mut misspelt.parameters, stage, position)
                }
                _ => continue,
            };
            *counts.entry((Arc::clone(stage), *position)).or_default() += 1;
        }
        misspelt
    }

    /// Whether a missing port is accounted for by one that does not exist.
    fn explains(&mut self, problem: &Problem) -> bool {
        let Place::Task(stage, position) = &problem.place else {
            return false;
        };
        let counts = if problem.message.starts_with("input `") {
            &mut self.inputs
        } else if problem.message.starts_with("parameter `") {
            &mut self.parameters
        } else {
            return false;
        };
        match counts.get_mut(&(Arc::clone(stage), *position)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

impl Places {
    /// Notes where something stands.
    pub(crate) fn put(&mut self, place: Place, key: Span, value: Span) {
        self.entries
            .entry(place)
            .or_insert(EntrySpan { key, value });
    }

    /// Notes where a name stands in a field.
    pub(crate) fn put_name(&mut self, place: Place, name: &Arc<str>, span: Span) {
        self.names.entry((place, Arc::clone(name))).or_insert(span);
    }

    /// Where each part stands, for mistakes that only show when the workflow meets its data.
    pub(crate) fn spans(&self) -> BTreeMap<Place, Span> {
        let span = |(place, entry): (&Place, &EntrySpan)| {
            let span = match place {
                Place::StageField(..) => entry.value,
                _ => entry.key,
            };
            (place.clone(), span)
        };
        self.entries.iter().map(span).collect()
    }

    /// The diagnostics for the problems of a workflow. With `failed`, there are errors already.
    pub(crate) fn diagnostics(
        &self,
        problems: Vec<Problem>,
        workflow: &Workflow,
        whole: Span,
        failed: bool,
    ) -> Vec<Diagnostic> {
        let mut stages: BTreeMap<&str, usize> = BTreeMap::new();
        for (position, stage) in workflow.stages.iter().enumerate() {
            stages.entry(&stage.name).or_insert(position);
        }
        let task = |stage: &Arc<str>, position: usize| {
            let stage = stages.get(&**stage)?;
            workflow.stages[*stage].tasks.get(position)
        };
        let mut misspelt = Misspelt::of(&problems);
        let kept: Vec<Problem> = problems
            .into_iter()
            .filter(|problem| !self.follows(problem, &task) && !misspelt.explains(problem))
            .collect();
        let failed = failed
            || kept
                .iter()
                .any(|problem| problem.severity == Severity::Error);
        let mut suggester = Suggester::default();
        kept.into_iter()
            // What nobody reads is often just what somebody misspelt.
            .filter(|problem| !failed || problem.severity == Severity::Error)
            .map(|problem| self.diagnostic(problem, whole, &mut suggester))
            .collect()
    }

    fn diagnostic(&self, problem: Problem, whole: Span, suggester: &mut Suggester) -> Diagnostic {
        let span = self.span(&problem).unwrap_or(whole);
        let mut hint = problem.hint;
        if let Some((wrong, names)) = &problem.unknown {
            let names = names.iter().map(|name| &**name);
            let near = suggester.nearest(wrong, names.clone());
            if let Some(near) = near {
                hint = Some(format!("did you mean `{near}`?"));
            } else if hint.is_none() {
                hint = suggester.hint(wrong, names);
            }
        }
        Diagnostic {
            severity: problem.severity,
            span: Some(span),
            message: problem.message,
            hint,
        }
    }

    fn span(&self, problem: &Problem) -> Option<Span> {
        let entry = self.entries.get(&problem.place)?;
        let unknown = problem.unknown.as_ref().map(|(name, _)| name);
        if let Some(name) = unknown
            && let Some(span) = self.names.get(&(problem.place.clone(), Arc::clone(name)))
        {
            return Some(*span);
        }
        let port = match &problem.place {
            Place::TaskInput(_, _, port)
            | Place::TaskParameter(_, _, port)
            | Place::TaskOutput(_, _, port) => port,
            Place::TaskOperation(..) | Place::StageField(..) | Place::Output(_) => {
                return Some(entry.value);
            }
            _ => return Some(entry.key),
        };
        // An unknown port is the key's mistake; everything else is the value's.
        let key = unknown == Some(port) && problem.message.contains(" has no ");
        Some(if key { entry.key } else { entry.value })
    }

    /// Whether a problem only follows from what has been reported already.
    fn follows<'w>(
        &self,
        problem: &Problem,
        task: &impl Fn(&Arc<str>, usize) -> Option<&'w TaskDefinition>,
    ) -> bool {
        let doubtful_operation = |found: &TaskDefinition| {
            found.operation.is_empty() || self.doubtful_operations.contains(&found.operation)
        };
        let hidden = problem.unknown.is_some() && problem.message.starts_with("nothing makes");
        match &problem.place {
            Place::TaskInput(stage, position, port) => {
                if hidden {
                    return self.hidden_results;
                }
                task(stage, *position).is_some_and(|found| {
                    let doubtful_data = found
                        .inputs
                        .get(port)
                        .is_some_and(|name| self.doubtful_names.contains(name));
                    doubtful_operation(found) || (doubtful_data && problem.unknown.is_none())
                })
            }
            Place::TaskParameter(stage, position, name) => {
                task(stage, *position).is_some_and(|found| {
                    let given = match found.parameters.get(name) {
                        Some(Binding::Parameter(given)) => Some(given),
                        _ => None,
                    };
                    let unknown = problem.unknown.as_ref().map(|(unknown, _)| unknown);
                    let missing = given.is_some()
                        && given == unknown
                        && !problem.message.contains(" has no ");
                    if missing {
                        return self.hidden_parameters;
                    }
                    let doubtful = given.is_some_and(|given| self.doubtful_names.contains(given));
                    doubtful_operation(found) || (doubtful && problem.unknown.is_none())
                })
            }
            Place::TaskOutput(stage, position, _) => {
                problem.unknown.is_some() && task(stage, *position).is_some_and(doubtful_operation)
            }
            Place::TaskOperation(stage, position) => {
                task(stage, *position).is_some_and(doubtful_operation)
            }
            Place::Task(stage, position) => {
                self.doubtful_tasks
                    .contains(&(Arc::clone(stage), *position))
                    || task(stage, *position).is_some_and(doubtful_operation)
            }
            Place::Stage(stage) | Place::StageField(stage, "iterate") => {
                self.doubtful_stages.contains(stage)
            }
            Place::Output(_) => hidden && self.hidden_results,
            _ => false,
        }
    }
}
