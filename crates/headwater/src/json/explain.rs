//! Why tasks ran, and how runs differ.
//!
//! Law: a reason within another has the same fields as one that stands alone.

use headwater_engine::notes::Lost;
use headwater_report::json::{
    BecauseJson, CauseGroupJson, CauseJson, ExplanationJson, MadeJson, NamedJson,
    RunDifferenceJson, SideJson, StaleInputJson, StaleJson, WhyJson, path_text,
};

use super::seconds;
use crate::explain::{Cause, Change, Explanation, Group, Made, Named, RunDifference, Stale, Why};

impl Made {
    /// As `--json` prints it.
    pub fn json(&self) -> MadeJson {
        MadeJson {
            recipe: self.recipe.hex(),
            run: self.run.clone(),
            task: self.task.clone(),
            time: self.time,
            seconds: seconds(self.wall),
            giver: self.giver.clone(),
        }
    }
}

impl Named {
    /// As `--json` prints it.
    pub fn json(&self) -> NamedJson {
        NamedJson {
            identity: self.identity.clone(),
            name: self.name.clone(),
        }
    }
}

/// What changed: its name, what it was and what it is.
fn sides(change: &Change) -> (Option<&String>, Option<SideJson>, Option<SideJson>) {
    let text = |side: &Option<String>| side.clone().map(SideJson::Text);
    let named = |side: &Option<Named>| side.as_ref().map(|side| SideJson::Named(side.json()));
    let items = |side: usize| Some(SideJson::Items(side));
    match change {
        Change::Parameter { name, old, new } => (Some(name), text(old), text(new)),
        Change::Version { part, old, new } => (Some(part), text(old), text(new)),
        Change::Input { port, old, new } => (Some(port), named(old), named(new)),
        Change::Items { port, old, new, .. } => (Some(port), items(*old), items(*new)),
        Change::Order { port, .. } => (Some(port), None, None),
        Change::Link { port, old, new } => (Some(port), text(old), text(new)),
        Change::Operation { old, new } => {
            let text = |side: &String| Some(SideJson::Text(side.clone()));
            (None, text(old), text(new))
        }
        Change::Unknown => (None, None, None),
    }
}

fn cause_json(cause: &Cause) -> CauseJson {
    let (name, old, new) = sides(&cause.change);
    CauseJson {
        kind: cause.change.kind(),
        name: name.cloned(),
        old,
        new,
        operation: cause.operation.to_string(),
        tasks: cause.tasks.clone(),
        count: cause.count,
        text: cause.change.to_string(),
        lines: cause.change.lines(),
    }
}

fn stale_json(stale: &Stale) -> StaleJson {
    let inputs = stale.inputs.iter().map(|(task, made)| StaleInputJson {
        task: task.clone(),
        made: made.json(),
    });
    StaleJson {
        task: stale.task.clone(),
        recipe: stale.recipe.hex(),
        inputs: inputs.collect(),
    }
}

impl Explanation {
    /// What `headwater explain --json` prints.
    pub fn json(&self) -> ExplanationJson {
        let task = &self.task;
        let (why, more) = reason(&self.why);
        ExplanationJson {
            run: self.run.clone(),
            task: task.address.clone(),
            other_address: self.other_address.clone(),
            state: task.state.to_string(),
            recipe: task.recipe.hex(),
            operation: self.operation.as_deref().map(str::to_owned),
            seconds: seconds(task.wall),
            stale: self.stale.iter().map(stale_json).collect(),
            why,
            more,
        }
    }
}

/// A reason within another.
fn nested(why: Option<&Why>) -> Option<Box<BecauseJson>> {
    let (why, more) = reason(why?);
    Some(Box::new(BecauseJson { more, why }))
}

/// The word for a reason, and what belongs to it.
fn reason(why: &Why) -> (&'static str, WhyJson) {
    let causes = |list: &[Cause]| list.iter().map(cause_json).collect();
    let paths = |paths: &[std::path::PathBuf]| paths.iter().map(|path| path_text(path)).collect();
    match why {
        Why::Changed {
            compared,
            since,
            never_read,
            causes: list,
            incomplete,
        } => (
            "changed",
            WhyJson::Changed {
                compared: compared.json(),
                same_address: since.is_some(),
                since: since.clone(),
                never_read: never_read.iter().map(Named::json).collect(),
                causes: causes(list),
                incomplete: *incomplete,
            },
        ),
        Why::First => ("first", WhyJson::Nothing {}),
        Why::Impure => ("impure", WhyJson::Nothing {}),
        Why::AtOnce { made } => ("at-once", WhyJson::AtOnce { made: made.json() }),
        Why::Reused { made } => (
            "reused",
            WhyJson::Reused {
                made: made.json(),
                saved_seconds: seconds(made.cpu),
            },
        ),
        Why::NotNeeded => ("not-needed", WhyJson::Nothing {}),
        Why::CutOff {
            made,
            causes: list,
            incomplete,
        } => (
            "cut-off",
            WhyJson::CutOff {
                made: made.json(),
                saved_seconds: seconds(made.cpu),
                causes: causes(list),
                incomplete: *incomplete,
            },
        ),
        Why::Restored {
            lost,
            made,
            because,
        } => (
            "restored",
            WhyJson::Restored {
                lost: lost.map(Lost::name),
                made: made.as_ref().map(Made::json),
                because: nested(because.as_deref()),
            },
        ),
        Why::Failed {
            because,
            description,
            look,
        } => (
            "failed",
            WhyJson::Failed {
                because: nested(because.as_deref()),
                description: description.clone(),
                look: paths(look),
            },
        ),
        Why::Blocked {
            by,
            description,
            look,
        } => (
            "blocked",
            WhyJson::Blocked {
                blocked_by: by.clone(),
                description: description.clone(),
                look: paths(look),
            },
        ),
        Why::NoRecord => ("no-record", WhyJson::Nothing {}),
    }
}

/// In a group `tasks` and `count` are the tasks that differ, and those where it changed stand beside them.
fn group_json(group: &Group) -> CauseGroupJson {
    let cause = cause_json(&group.cause);
    CauseGroupJson {
        changed_at: cause.tasks,
        changed_count: cause.count,
        cause: CauseJson {
            tasks: group.tasks.clone(),
            count: group.tasks.len(),
            ..cause
        },
    }
}

impl RunDifference {
    /// What `headwater runs diff --json` prints.
    pub fn json(&self) -> RunDifferenceJson {
        let pair = |(first, second): &(String, String)| [first.clone(), second.clone()];
        RunDifferenceJson {
            runs: pair(&self.runs),
            workflows: pair(&self.workflows),
            only_first: self.only_first.clone(),
            only_second: self.only_second.clone(),
            same: self.same,
            equal: self.equal.clone(),
            different: self.different,
            causes: self.groups.iter().map(group_json).collect(),
            unexplained: self.unexplained.clone(),
            stale: self.stale.iter().map(stale_json).collect(),
            incomplete: self.incomplete,
        }
    }
}
