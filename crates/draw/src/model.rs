//! What a drawing shows, before anybody has said where.
//!
//! Law: a diagram is plain data and a function of what is drawn. Ends of edges are positions; whoever draws leaves out
//! what points to nothing, so a diagram that was read from a file cannot break a drawing.

use headwater_graph::Tally;
use headwater_graph::text::grouped;
use serde::{Deserialize, Serialize};

/// A workflow, or a run of one, as boxes and arrows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Diagram {
    /// What it is a drawing of.
    pub title: String,
    /// Lines below the title: how the run went, which parameters vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Stages, in the order of the file.
    pub groups: Vec<DiagramGroup>,
    /// Inputs, tasks, outputs.
    pub nodes: Vec<DiagramNode>,
    /// Who reads what, and who waits for whom.
    pub edges: Vec<DiagramEdge>,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiagramGroup {
    /// Its name.
    pub name: String,
    /// What is special about it, such as `wait: all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NodeKind {
    /// An input of the workflow.
    Input,
    /// A task, or all tasks of one definition.
    #[default]
    Task,
    /// An output of the workflow.
    Output,
}

/// An input, a task, an output.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DiagramNode {
    /// What it stands for.
    pub kind: NodeKind,
    /// Its name.
    pub label: String,
    /// The position of its stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// The operation of a task, the type of an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Further lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Parameters that it reads and that a study varies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varied: Vec<String>,
    /// It may be absent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// Where it stands: `stage.task`, or `stage.task[index]` of a single task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// How many tasks it stands for, in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// What became of them, where the run has said so.
    #[serde(default, with = "counts", skip_serializing_if = "Option::is_none")]
    pub counts: Option<Tally>,
    /// How long they took together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Counts of tasks as files have them: those that ran for their bytes alone are not among the executed ones.
mod counts {
    use headwater_graph::Tally;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Written {
        executed: usize,
        reused: usize,
        failed: usize,
        blocked: usize,
        cut_off: usize,
        restored: usize,
    }

    pub(super) fn serialize<S: Serializer>(
        counts: &Option<Tally>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let written = |counts: &Tally| Written {
            executed: counts.executed.saturating_sub(counts.restored),
            reused: counts.reused,
            failed: counts.failed,
            blocked: counts.blocked,
            cut_off: counts.cut_off,
            restored: counts.restored,
        };
        counts.as_ref().map(written).serialize(serializer)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        deserializer: D,
    ) -> Result<Option<Tally>, D::Error> {
        let tally = |written: Written| {
            let mut tally = Tally {
                executed: written.executed.saturating_add(written.restored),
                restored: written.restored,
                reused: written.reused,
                failed: written.failed,
                blocked: written.blocked,
                cut_off: written.cut_off,
                ..Tally::default()
            };
            tally.tasks = tally.settled();
            tally
        };
        Ok(Option::<Written>::deserialize(deserializer)?.map(tally))
    }
}

/// What an edge says.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EdgeKind {
    /// One reads what the other makes.
    #[default]
    Data,
    /// One comes after the other, without data.
    After,
    /// One waits until the other has nothing left to do.
    Wait,
    /// One comes later in a program than the other and may not be mistaken for it, though no data passes.
    Order,
}

/// An end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiagramEnd {
    /// The node at this position.
    Node(usize),
    /// The whole stage at this position.
    Group(usize),
}

/// An arrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagramEdge {
    /// What comes first.
    pub from: DiagramEnd,
    /// What comes later.
    pub to: DiagramEnd,
    /// What it says.
    pub kind: EdgeKind,
    /// The names of the data; in sequences of calls, what each means, such as `RAW x`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// What it carries may be absent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// How many edges of single tasks it stands for, in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl DiagramEdge {
    /// What stands beside the arrow.
    pub fn label(&self) -> String {
        let mut label = match self.kind {
            EdgeKind::Data | EdgeKind::Order => self.names.join(", "),
            EdgeKind::After => "after".to_owned(),
            EdgeKind::Wait => "wait".to_owned(),
        };
        if let Some(count @ 2..) = self.count {
            let gap = if label.is_empty() { "" } else { " " };
            label.push_str(&format!("{gap}×{}", grouped(count)));
        }
        label
    }
}

impl DiagramNode {
    /// Whether its operation says more than its name.
    pub fn told_operation(&self) -> Option<&str> {
        let operation = self.operation.as_deref()?;
        (operation != self.label).then_some(operation)
    }

    /// Says how many tasks it stands for, and what became of those that have ended.
    pub fn stand_for(&mut self, tally: Tally) {
        self.tasks = Some(tally.tasks as u64);
        self.counts = Some(Tally {
            tasks: tally.settled(),
            planned: 0,
            recomputed: 0,
            ..tally
        });
    }

    /// What became of its tasks, in words: `118 executed, 2 failed`.
    pub fn told_counts(&self) -> Option<String> {
        let single = self.tasks.is_none_or(|tasks| tasks == 1);
        let counts = self.counts.unwrap_or_default();
        let ended = counts.settled() as u64;
        let told = counts
            .by_outcome()
            .into_iter()
            .filter(|(_, count)| *count > 0);
        let mut told: Vec<String> = told
            .map(|(outcome, count)| {
                if single && ended == 1 {
                    outcome.name().to_owned()
                } else {
                    format!("{} {outcome}", grouped(count as u64))
                }
            })
            .collect();
        let tasks = self.tasks.unwrap_or(0);
        if told.is_empty() {
            return self.tasks.map(|tasks| match tasks {
                // Equal tasks are one, and that is where it was first asked for.
                0 => "no tasks".to_owned(),
                1 => "not ended".to_owned(),
                several => format!("{} tasks", grouped(several)),
            });
        }
        if let Some(open @ 1..) = tasks.checked_sub(ended) {
            told.push(format!("{} not ended", grouped(open)));
        }
        Some(told.join(", "))
    }

    /// How long its tasks took, in words.
    pub fn told_seconds(&self) -> Option<String> {
        let seconds = self.seconds.filter(|seconds| *seconds > 0.0)?;
        Some(match seconds {
            below if below < 0.0995 => format!("{:.0} ms", (below * 1e3).max(1.0)),
            below if below < 99.5 => format!("{below:.1} s"),
            below if below < 5400.0 => format!("{:.0} min", below / 60.0),
            hours => format!("{:.1} h", hours / 3600.0),
        })
    }
}
