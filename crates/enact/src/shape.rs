//! The shape of data: which positions its index paths have, and where each position comes from.
//!
//! Law: two axes are related when they count the same source. Inputs of a stage that are not named by
//! `iterate` pair along related axes; an axis with one item is broadcast; whatever is left over is an error
//! that shows what could have been meant.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_graph::{Index, Strategy};

/// What an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lineage {
    /// The items of a source of the data set.
    Source(u32),
    /// The items of each list of this data.
    Unfolded(u32),
    /// The groups of a workflow input, by the position of its column.
    Groups(u32),
}

/// One position of an index path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) lineage: BTreeSet<Lineage>,
    /// How many positions there are, where that is known before anything runs.
    pub(crate) extent: Option<usize>,
}

pub(crate) type Shape = Vec<Axis>;

/// How the position of an axis follows from the path of something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Map {
    /// It is the same as this position.
    Same(usize),
    /// It is the group that this position belongs to.
    Group {
        place: usize,
        /// Position of the column whose groups count.
        column: u32,
    },
    /// It is always the first.
    First,
}

/// How the inputs of a stage are combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    Unit(usize),
    Cross(Vec<Plan>),
    Dot(Vec<Plan>),
    /// For each row of `base` the one row of `other` whose path follows from it.
    Attach {
        base: Box<Plan>,
        other: Box<Plan>,
        maps: Vec<Map>,
    },
}

impl Plan {
    /// Calls `visit` with every unit, from left to right, and whether an item of it may be part of several
    /// rows; `reused` says so of the plan as a whole.
    pub(crate) fn for_each_unit(&self, reused: bool, visit: &mut impl FnMut(usize, bool)) {
        match self {
            Plan::Unit(unit) => visit(*unit, reused),
            Plan::Cross(parts) => parts
                .iter()
                .for_each(|part| part.for_each_unit(true, visit)),
            Plan::Dot(parts) => parts
                .iter()
                .for_each(|part| part.for_each_unit(reused, visit)),
            Plan::Attach { base, other, .. } => {
                base.for_each_unit(reused, visit);
                other.for_each_unit(true, visit);
            }
        }
    }
}

/// Inputs of a stage that cannot be combined.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum ShapeError {
    /// No common ancestor.
    #[error(
        "stage `{stage}` reads `{left}` and `{right}`, which have no common ancestor: it is not clear how their items pair"
    )]
    Unrelated {
        /// Which stage.
        stage: Arc<str>,
        /// One input.
        left: Arc<str>,
        /// The other.
        right: Arc<str>,
    },
    /// Several ways to pair.
    #[error(
        "stage `{stage}` reads `{left}` and `{right}`, which share an ancestor in more than one way"
    )]
    Ambiguous {
        /// Which stage.
        stage: Arc<str>,
        /// One input.
        left: Arc<str>,
        /// The other.
        right: Arc<str>,
    },
    /// `dot` over paths of different lengths.
    #[error(
        "stage `{stage}`: `{left}` has index paths of {left_rank} positions and `{right}` of {right_rank}; `dot` needs the same"
    )]
    Ranks {
        /// Which stage.
        stage: Arc<str>,
        /// One side.
        left: String,
        /// Its number of positions.
        left_rank: usize,
        /// The other side.
        right: String,
        /// Its number of positions.
        right_rank: usize,
    },
    /// `per` names something that the input does not come from.
    #[error("stage `{stage}` waits per `{per}`, but `{data}` does not come from it{more}")]
    NotPer {
        /// Which stage.
        stage: Arc<str>,
        /// What `per` names.
        per: Arc<str>,
        /// Which input.
        data: Arc<str>,
        /// More about it.
        more: &'static str,
    },
    /// Groups that were made first do not each lie in one group of what `per` names.
    #[error(
        "stage `{stage}` waits per `{per}`, but `{data}` was made per `{made_per}`, and one group of `{made_per}` lies in several of `{per}`: `{made_per}[{first}]` and `{made_per}[{second}]` are equal, `{per}[{first}]` and `{per}[{second}]` are not"
    )]
    Straddles {
        /// Which stage.
        stage: Arc<str>,
        /// What `per` names.
        per: Arc<str>,
        /// Which input.
        data: Arc<str>,
        /// What it was grouped by before.
        made_per: Arc<str>,
        /// A row of the data.
        first: u32,
        /// Another one.
        second: u32,
    },
    /// Index sets that have to be equal are not.
    #[error(
        "stage `{stage}`: `{left}` has {left_count} items and `{right}` has {right_count}; the first without a partner is [{unmatched}] of `{unmatched_side}`"
    )]
    Unequal {
        /// Which stage.
        stage: Arc<str>,
        /// One side.
        left: String,
        /// How many items it has.
        left_count: usize,
        /// The other side.
        right: String,
        /// How many items it has.
        right_count: usize,
        /// The first index path without a partner.
        unmatched: Index,
        /// On which side that stands.
        unmatched_side: String,
    },
    /// One item is wanted where there are several.
    #[error(
        "stage `{stage}`: port `{port}` of task `{task}` takes one item, but `{data}` has {count}"
    )]
    Several {
        /// Which stage.
        stage: Arc<str>,
        /// Which task.
        task: Arc<str>,
        /// Which port.
        port: Arc<str>,
        /// Which data.
        data: Arc<str>,
        /// How many items it has.
        count: usize,
    },
    /// The data set lacks a required input.
    #[error("input `{input}` is not given")]
    Missing {
        /// Which.
        input: Arc<str>,
    },
    /// A parameter has neither value nor default.
    #[error("parameter `{parameter}` has no default and no value was given")]
    Parameter {
        /// Which.
        parameter: Arc<str>,
    },
    /// More items failed than a synchronised stage accepts.
    #[error(
        "task `{address}`: {failed} of {expected} items of `{data}` failed, and {allowed} may; missing are {items}"
    )]
    TooManyFailed {
        /// Which stage.
        stage: Arc<str>,
        /// The task that cannot run.
        address: String,
        /// Which input.
        data: Arc<str>,
        /// How many failed.
        failed: usize,
        /// Of how many.
        expected: usize,
        /// How many may fail.
        allowed: Box<str>,
        /// Some of them, by name and index path.
        items: String,
    },
    /// More instances than a machine can hold.
    #[error("stage `{stage}` would run {count} times; at most {most} are possible")]
    TooMany {
        /// Which stage.
        stage: Arc<str>,
        /// How often.
        count: u64,
        /// How often it may.
        most: u64,
    },
    /// More stages than there are numbers for.
    #[error("the workflow has {count} stages; at most 65,534 are possible")]
    Stages {
        /// How many.
        count: usize,
    },
    /// Stages in a circle. The workflow was not checked.
    #[error("stage `{stage}` waits for itself, by way of others")]
    Cycle {
        /// One of them.
        stage: Arc<str>,
    },
    /// The graph refused a task. The workflow was not checked, or this is a bug.
    #[error("task `{address}`: {reason}")]
    Task {
        /// Which.
        address: String,
        /// Why.
        reason: String,
    },
}

impl ShapeError {
    /// The stage that it stands at.
    pub fn stage(&self) -> Option<&Arc<str>> {
        match self {
            ShapeError::Unrelated { stage, .. }
            | ShapeError::Ambiguous { stage, .. }
            | ShapeError::Ranks { stage, .. }
            | ShapeError::NotPer { stage, .. }
            | ShapeError::Straddles { stage, .. }
            | ShapeError::Unequal { stage, .. }
            | ShapeError::Several { stage, .. }
            | ShapeError::TooManyFailed { stage, .. }
            | ShapeError::TooMany { stage, .. }
            | ShapeError::Cycle { stage } => Some(stage),
            ShapeError::Stages { .. }
            | ShapeError::Missing { .. }
            | ShapeError::Parameter { .. }
            | ShapeError::Task { .. } => None,
        }
    }

    /// What would fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ShapeError::Unrelated { left, right, .. } => Some(format!(
                "write items that belong together in one row of the data file, under `rows:`; for all other items say how they are combined: `iterate: \"dot({left}, {right})\"` pairs them by position, `iterate: \"cross({left}, {right})\"` makes all combinations"
            )),
            ShapeError::Ambiguous { left, right, .. } => Some(format!(
                "say how: `iterate: \"dot({left}, {right})\"` pairs them by position, `iterate: \"cross({left}, {right})\"` makes all combinations"
            )),
            ShapeError::Ranks { .. } => Some("pair data of equal depth, or use `cross`".to_owned()),
            ShapeError::NotPer { .. } => {
                Some("name an input that all data of the stage comes from".to_owned())
            }
            ShapeError::Straddles { per, made_per, .. } => Some(format!(
                "where all rows of one `{made_per}` have the same `{per}`, the one can follow the other; positions count the rows of the data from 0"
            )),
            ShapeError::Unequal { .. } => {
                Some("`dot` pairs by position and needs the same items on both sides; write items that belong together in one row of the data file, under `rows:`".to_owned())
            }
            ShapeError::Several { data, .. } => Some(format!(
                "declare the port as a list to receive all items of `{data}`"
            )),
            ShapeError::Missing { input } => Some(format!(
                "give it in the file named by --inputs, under `inputs: {{{input}: …}}`"
            )),
            ShapeError::Parameter { parameter } => {
                Some(format!("give it with --set {parameter}=VALUE"))
            }
            ShapeError::TooManyFailed { .. } => Some(
                "see why they failed, or let the stage go on without them with `tolerate`"
                    .to_owned(),
            ),
            ShapeError::TooMany { .. } => Some(
                "`cross` makes all combinations of its parts; `dot` pairs them by position; or divide the data \
                 between several runs, which share what is in the store"
                    .to_owned(),
            ),
            ShapeError::Stages { .. } => Some("put several tasks into one stage".to_owned()),
            ShapeError::Cycle { .. } | ShapeError::Task { .. } => None,
        }
    }
}

/// One input of a stage, for planning.
pub(crate) struct Unit {
    pub(crate) name: Arc<str>,
    pub(crate) shape: Shape,
}

/// Knows which source the groups of a column belong to.
pub(crate) struct Groups<'a> {
    pub(crate) source_of_column: &'a dyn Fn(u32) -> Option<u32>,
}

/// Combines the units of a stage: as `iterate` says, and the rest by common ancestry.
pub(crate) fn combine(
    stage: &Arc<str>,
    units: &[Unit],
    iterate: Option<&Strategy>,
    groups: &Groups<'_>,
) -> Result<(Plan, Shape), ShapeError> {
    let mut parts: Vec<(Plan, Shape, Arc<str>)> = Vec::new();
    let mut used = vec![false; units.len()];
    let iterated = iterate
        .map(|strategy| follow(stage, units, strategy))
        .transpose()?;
    if let Some((plan, shape)) = iterated.flatten() {
        let mut first = None;
        plan.for_each_unit(false, &mut |unit, _| {
            used[unit] = true;
            first = first.or(Some(unit));
        });
        let name = first.map_or_else(|| Arc::clone(stage), |unit| Arc::clone(&units[unit].name));
        parts.push((plan, shape, name));
    }
    for (position, unit) in units
        .iter()
        .enumerate()
        .filter(|(position, _)| !used[*position])
    {
        parts.push((
            Plan::Unit(position),
            unit.shape.clone(),
            Arc::clone(&unit.name),
        ));
    }
    if parts.is_empty() {
        // Nothing comes in: the stage runs once.
        return Ok((Plan::Cross(Vec::new()), Vec::new()));
    }
    // The largest is what the others attach to; among equals, the first that works.
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|position| std::cmp::Reverse(parts[*position].1.len()));
    let mut first_error = None;
    for base in order {
        match attach_all(stage, &parts, base, groups) {
            Ok(found) => return Ok(found),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or(ShapeError::Missing {
        input: Arc::clone(stage),
    }))
}

fn attach_all(
    stage: &Arc<str>,
    parts: &[(Plan, Shape, Arc<str>)],
    base: usize,
    groups: &Groups<'_>,
) -> Result<(Plan, Shape), ShapeError> {
    let (mut plan, mut shape, name) = parts[base].clone();
    for (position, (other, other_shape, other_name)) in parts.iter().enumerate() {
        if position == base {
            continue;
        }
        let maps = relate(&shape, other_shape, groups).map_err(|ambiguous| {
            let (stage, left, right) =
                (Arc::clone(stage), Arc::clone(&name), Arc::clone(other_name));
            if ambiguous {
                ShapeError::Ambiguous { stage, left, right }
            } else {
                ShapeError::Unrelated { stage, left, right }
            }
        })?;
        for (axis, map) in other_shape.iter().zip(&maps) {
            if let Map::Same(place) = map {
                shape[*place].lineage.extend(&axis.lineage);
            }
        }
        plan = Plan::Attach {
            base: Box::new(plan),
            other: Box::new(other.clone()),
            maps,
        };
    }
    Ok((plan, shape))
}

/// How the positions of `other` follow from a path of shape `base`; `Err(true)` if in several ways.
pub(crate) fn relate(base: &Shape, other: &Shape, groups: &Groups<'_>) -> Result<Vec<Map>, bool> {
    let mut maps = Vec::with_capacity(other.len());
    for axis in other {
        let same = |candidate: &Axis| !candidate.lineage.is_disjoint(&axis.lineage);
        let places: Vec<usize> = (0..base.len())
            .filter(|place| same(&base[*place]))
            .collect();
        let map = match places.as_slice() {
            // Two positions from one: that would take the diagonal, and drop the rest in silence.
            [place] if maps.contains(&Map::Same(*place)) => return Err(true),
            [place] => Map::Same(*place),
            [] => match group_map(base, axis, groups)? {
                Some(map) => map,
                None if axis.extent == Some(1) => Map::First,
                None => return Err(false),
            },
            // The same data on both sides, position by position, is no riddle.
            _ if base.len() == other.len() && base == other => Map::Same(maps.len()),
            _ => return Err(true),
        };
        maps.push(map);
    }
    Ok(maps)
}

fn group_map(base: &Shape, axis: &Axis, groups: &Groups<'_>) -> Result<Option<Map>, bool> {
    for lineage in &axis.lineage {
        let Lineage::Groups(column) = lineage else {
            continue;
        };
        let Some(source) = (groups.source_of_column)(*column) else {
            continue;
        };
        let counts = |place: &usize| base[*place].lineage.contains(&Lineage::Source(source));
        let places: Vec<usize> = (0..base.len()).filter(counts).collect();
        match places.as_slice() {
            [] => {}
            [place] => {
                return Ok(Some(Map::Group {
                    place: *place,
                    column: *column,
                }));
            }
            _ => return Err(true),
        }
    }
    Ok(None)
}

/// What a strategy says, without the data that is not there; `None` if none of it is.
fn follow(
    stage: &Arc<str>,
    units: &[Unit],
    strategy: &Strategy,
) -> Result<Option<(Plan, Shape)>, ShapeError> {
    let parts = match strategy {
        Strategy::Name(name) => {
            // Of a list that is read both as one thing and item by item, the items are meant.
            let named = (0..units.len()).filter(|unit| units[*unit].name == *name);
            let position = named.max_by_key(|unit| units[*unit].shape.len());
            return Ok(position.map(|unit| (Plan::Unit(unit), units[unit].shape.clone())));
        }
        Strategy::Cross(parts) | Strategy::Dot(parts) => parts,
    };
    let mut plans = Vec::new();
    let mut shapes: Vec<(Shape, &Strategy)> = Vec::new();
    for part in parts {
        if let Some((plan, shape)) = follow(stage, units, part)? {
            plans.push(plan);
            shapes.push((shape, part));
        }
    }
    if plans.len() < 2 {
        return Ok(plans
            .pop()
            .zip(shapes.pop())
            .map(|(plan, (shape, _))| (plan, shape)));
    }
    if let Strategy::Cross(_) = strategy {
        let shape = shapes.into_iter().flat_map(|(shape, _)| shape).collect();
        return Ok(Some((Plan::Cross(plans), shape)));
    }
    let (mut shape, first) = shapes.remove(0);
    for (other, part) in shapes {
        if shape.len() != other.len() {
            return Err(ShapeError::Ranks {
                stage: Arc::clone(stage),
                left: first.to_string(),
                left_rank: shape.len(),
                right: part.to_string(),
                right_rank: other.len(),
            });
        }
        for (axis, other) in shape.iter_mut().zip(other) {
            axis.lineage.extend(other.lineage);
            axis.extent = axis.extent.or(other.extent);
        }
    }
    Ok(Some((Plan::Dot(plans), shape)))
}
