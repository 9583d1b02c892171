//! Stages and their tasks.
//!
//! Law: what cannot be read of a task leaves a hole that is noted in [`Places`], never a guess.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{Binding, Diagnostic, Place, Scalar, Stage, TaskDefinition, Wait};

use crate::formats::{STAGE, TASK, WAIT, WAIT_WORDS};
use crate::leaf::{self, Scope, inner_span};
use crate::name::NameRule;
use crate::report::Report;
use crate::shape::Fields;
use crate::tree::Node;
use crate::workflow::places::Places;

/// Reads the stages of a file. `errors` are the bytes at which mistakes have been found, sorted.
pub(crate) fn stages(
    node: &Node,
    scope: Scope<'_>,
    errors: &[usize],
    places: &mut Places,
    report: &mut Report,
) -> Vec<Stage> {
    let mut stages = Vec::new();
    for (key, value) in node.entries().unwrap_or_default() {
        let Some(name) = leaf::text(key) else {
            places.hidden_results = true;
            continue;
        };
        places.put(Place::Stage(Arc::clone(&name)), key.span, value.span);
        let mut reader = Reader {
            name,
            scope,
            errors,
            places: &mut *places,
            report: &mut *report,
        };
        stages.push(reader.stage(value));
    }
    stages
}

struct Reader<'a, 'r> {
    name: Arc<str>,
    scope: Scope<'a>,
    errors: &'a [usize],
    places: &'r mut Places,
    report: &'r mut Report,
}

impl Reader<'_, '_> {
    fn stage(&mut self, node: &Node) -> Stage {
        let mut stage = Stage::new(&self.name, Vec::new());
        if let Some(tasks) = node.items() {
            stage.tasks = self.tasks(tasks);
            return stage;
        }
        let fields = Fields::of(node, &STAGE);
        match fields.get("tasks").and_then(Node::items) {
            Some(tasks) => stage.tasks = self.tasks(tasks),
            None => {
                self.places.doubtful_stages.insert(Arc::clone(&self.name));
                self.places.hidden_results = true;
            }
        }
        for field in ["iterate", "wait", "after", "tolerate", "concurrency"] {
            if let Some((key, value)) = fields.entry(field) {
                self.places.put(self.field(field), key.span, value.span);
            }
        }
        if let Some(node) = fields.get("iterate")
            && let Ok(strategy) = leaf::strategy(node, self.scope.source)
        {
            for name in strategy.names() {
                if let Some(at) = node.text().and_then(|text| find_word(text, &name)) {
                    let span = inner_span(node, self.scope.source, at, at + name.len());
                    self.places.put_name(self.field("iterate"), &name, span);
                }
            }
            stage.iterate = Some(strategy);
        }
        stage.wait = fields
            .get("wait")
            .map(|node| self.wait(node))
            .unwrap_or_default();
        stage.after = fields
            .get("after")
            .map(|node| self.names("after", node))
            .unwrap_or_default();
        stage.tolerate = fields
            .get("tolerate")
            .and_then(|node| leaf::tolerance(node).ok());
        let concurrency = fields
            .get("concurrency")
            .and_then(|node| leaf::whole(node, 1).ok());
        stage.concurrency = concurrency.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        stage
    }

    fn field(&self, field: &'static str) -> Place {
        Place::StageField(Arc::clone(&self.name), field)
    }

    fn wait(&mut self, node: &Node) -> Wait {
        if node.items().is_some() {
            return Wait::Stages(self.names("wait", node));
        }
        if node.entries().is_some() {
            let per = Fields::of(node, &WAIT).get("per");
            let Some((per, name)) = per.and_then(|per| Some((per, leaf::text(per)?))) else {
                return Wait::All;
            };
            self.places.put_name(self.field("wait"), &name, per.span);
            return Wait::Per(name);
        }
        // A wrong word is reported; the stage still waits, so that its lists are not reported as well.
        let _ = leaf::word(node, WAIT_WORDS);
        Wait::All
    }

    fn names(&mut self, field: &'static str, node: &Node) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for item in node.items().unwrap_or_default() {
            let Some(name) = leaf::text(item) else {
                continue;
            };
            self.places.put_name(self.field(field), &name, item.span);
            names.push(name);
        }
        names
    }

    fn tasks(&mut self, nodes: &[Node]) -> Vec<TaskDefinition> {
        let tasks = nodes.iter().enumerate();
        tasks
            .map(|(position, node)| self.task(position, node))
            .collect()
    }

    fn task(&mut self, position: usize, node: &Node) -> TaskDefinition {
        let stage = Arc::clone(&self.name);
        let fields = Fields::of(node, &TASK);
        let first_error = self
            .errors
            .partition_point(|start| *start < node.span.start);
        let broken = self
            .errors
            .get(first_error)
            .is_some_and(|start| *start < node.span.end.max(node.span.start + 1));
        if broken || node.entries().is_none() {
            self.places
                .doubtful_tasks
                .insert((Arc::clone(&stage), position));
        }
        self.places.hidden_results |= node.entries().is_none();
        let (operation, operation_span) = match fields
            .get("op")
            .and_then(|node| Some((leaf::text(node)?, node.span)))
        {
            Some(found) => found,
            None => ("".into(), node.span),
        };
        self.places.put(
            Place::TaskOperation(Arc::clone(&stage), position),
            operation_span,
            operation_span,
        );
        self.places.put(
            Place::Task(Arc::clone(&stage), position),
            operation_span,
            operation_span,
        );
        let name = match fields.get("name").and_then(leaf::text) {
            Some(name) => name,
            None => {
                let name: Arc<str> = operation.rsplit('/').next().unwrap_or("").into();
                if let Some((message, _)) = NameRule::Address
                    .mistake(&name)
                    .filter(|_| !operation.is_empty())
                {
                    let message = format!("{message}, so it cannot be the name of the task");
                    self.report
                        .error_with(operation_span, message, "give the task a `name:`");
                }
                name
            }
        };
        let inputs = self.ports(&fields, "in", |port| {
            Place::TaskInput(Arc::clone(&stage), position, port)
        });
        let outputs = self.ports(&fields, "out", |port| {
            Place::TaskOutput(Arc::clone(&stage), position, port)
        });
        let parameters = self.parameters(&fields, position);
        TaskDefinition {
            name,
            operation,
            inputs,
            parameters,
            outputs,
        }
    }

    fn ports(
        &mut self,
        fields: &Fields<'_>,
        field: &str,
        place: impl Fn(Arc<str>) -> Place,
    ) -> BTreeMap<Arc<str>, Arc<str>> {
        let mut ports = BTreeMap::new();
        let Some(node) = fields.get(field) else {
            return ports;
        };
        let hides = field == "out";
        self.places.hidden_results |= hides && node.entries().is_none() && !node.is_nothing();
        for (key, value) in node.entries().unwrap_or_default() {
            let (Some(port), Some(name)) = (leaf::text(key), leaf::text(value)) else {
                self.places.hidden_results |= hides;
                continue;
            };
            self.places
                .put(place(Arc::clone(&port)), key.span, value.span);
            ports.entry(port).or_insert(name);
        }
        ports
    }

    fn parameters(&mut self, fields: &Fields<'_>, position: usize) -> BTreeMap<Arc<str>, Binding> {
        let mut parameters = BTreeMap::new();
        let entries = fields
            .get("params")
            .and_then(Node::entries)
            .unwrap_or_default();
        for (key, value) in entries {
            let (Some(name), Ok(literal)) = (leaf::text(key), leaf::literal(value)) else {
                continue;
            };
            let place = Place::TaskParameter(Arc::clone(&self.name), position, Arc::clone(&name));
            self.places.put(place, key.span, value.span);
            let binding = self.binding(literal, value);
            parameters.entry(name).or_insert(binding);
        }
        parameters
    }

    /// `$NAME` is a parameter, `$$x` the text `$x`, everything else itself.
    fn binding(&mut self, literal: Scalar, node: &Node) -> Binding {
        let Scalar::Text(text) = &literal else {
            return Binding::Literal(literal);
        };
        let Some(rest) = text.strip_prefix('$') else {
            return Binding::Literal(literal);
        };
        if rest.starts_with('$') {
            return Binding::Literal(Scalar::Text(rest.into()));
        }
        if NameRule::Common.mistake(rest).is_none() {
            return Binding::Parameter(rest.into());
        }
        if !rest.is_empty() {
            let message = "this is a literal text: only `$NAME` alone stands for a parameter";
            let hint = "write `$$` for a literal `$` at the beginning";
            self.report
                .push(Diagnostic::warning(node.span, message).with_hint(hint));
        }
        Binding::Literal(literal)
    }
}

/// Where a name stands in an iteration, as a word of its own.
fn find_word(text: &str, name: &str) -> Option<usize> {
    let ends =
        |sign: Option<char>| sign.is_none_or(|sign| sign.is_whitespace() || "(),".contains(sign));
    let mut found = text.match_indices(name).map(|(at, _)| at);
    found.find(|at| {
        ends(text[..*at].chars().next_back()) && ends(text[at + name.len()..].chars().next())
    })
}
