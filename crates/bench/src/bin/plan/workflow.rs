//! The segmentation of nuclei as a template, its parameters, and what its tasks cost.
//!
//! Law: a task reads what the workflow in `examples/nuclei` lets it read; costs are those of table 6 of the paper, in
//! ten-thousandths of a stage; the channel split is no task of the seven.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_merge::{
    Compact, Occurrence, Sets, Sharing, Stages, Step, Template, Weight,
    Word::{self, Fixed, Node, Value},
};
use headwater_sensitivity::{Domain, Parameter, Points, Space};

/// What t1 to t7 cost.
pub(crate) const COSTS: [u64; 7] = [1_203, 2_090, 692, 349, 802, 3_959, 905];

/// (name, smallest value, distance, how many) of the fifteen parameters.
const PARAMETERS: [(&str, f64, f64, u32); 15] = [
    ("B", 210.0, 10.0, 4),
    ("G", 210.0, 10.0, 4),
    ("R", 210.0, 10.0, 4),
    ("T1", 2.5, 0.5, 11),
    ("T2", 2.5, 0.5, 11),
    ("G1", 5.0, 5.0, 16),
    ("G2", 2.0, 2.0, 20),
    ("MinSize", 2.0, 2.0, 20),
    ("MaxSize", 900.0, 50.0, 13),
    ("MinSizePl", 5.0, 5.0, 16),
    ("MinSizeSeg", 2.0, 2.0, 20),
    ("MaxSizeSeg", 900.0, 50.0, 13),
    ("FillHolesConn", 4.0, 4.0, 2),
    ("ReconConn", 4.0, 4.0, 2),
    ("WatershedConn", 4.0, 4.0, 2),
];

/// The most influential ones.
const INFLUENTIAL: [&str; 8] = [
    "T2",
    "G1",
    "G2",
    "MinSize",
    "MaxSize",
    "MinSizePl",
    "ReconConn",
    "WatershedConn",
];

/// All fifteen parameters, on their grids.
pub(crate) fn space() -> Space {
    let parameter = |(name, low, step, count): (&str, f64, f64, u32)| Parameter {
        name: Arc::from(name),
        domain: Domain::Grid { low, step, count },
    };
    Space {
        parameters: PARAMETERS.map(parameter).into(),
    }
}

/// The eight that matter, over all numbers of their ranges; connectivity stays 4 or 8.
pub(crate) fn continuous() -> Space {
    let mut space = space();
    space
        .parameters
        .retain(|parameter| INFLUENTIAL.contains(&&*parameter.name));
    for parameter in &mut space.parameters {
        let (low, high) = parameter.domain.bounds();
        if parameter.domain.count() != Some(2) {
            parameter.domain = Domain::Interval { low, high };
        }
    }
    space
}

/// Points as numbers of values; the first `limit` of them.
pub(crate) fn sets(space: &Space, points: &Points, limit: usize) -> Sets {
    let mut numbers: Vec<HashMap<u64, u32>> = vec![HashMap::new(); space.len()];
    let count = points.len().min(limit);
    let mut values = Vec::with_capacity(count * space.len());
    for row in points.rows().take(count) {
        for (value, numbers) in row.iter().zip(&mut numbers) {
            let next = numbers.len() as u32;
            values.push(*numbers.entry(value.to_bits()).or_insert(next));
        }
    }
    Sets::new(space.len(), count, values)
}

/// The segmentation, with the parameters of a space; those that it does not have stay as they are.
pub(crate) fn template(space: &Space) -> Template {
    let word = |name: &str| {
        let mut names = space.parameters.iter();
        match names.position(|parameter| &*parameter.name == name) {
            Some(column) => Value(column as u32),
            None => Fixed(0),
        }
    };
    let step = |operation: u32, parameters: &[&str], reads: &[u32]| {
        let mut words: Vec<Word> = vec![Fixed(operation)];
        words.extend(parameters.iter().map(|name| word(name)));
        words.extend(reads.iter().map(|step| Node(*step)));
        Step { words }
    };
    Template {
        steps: vec![
            step(0, &[], &[]),
            step(1, &["B", "G", "R", "T1", "T2"], &[0]),
            step(2, &["ReconConn"], &[0]),
            step(3, &["G1", "FillHolesConn"], &[2]),
            step(4, &["MinSize", "MaxSize"], &[3]),
            step(5, &["G2"], &[1, 3, 4]),
            step(6, &["MinSizePl", "WatershedConn"], &[5]),
            step(7, &["MinSizeSeg", "MaxSizeSeg", "FillHolesConn"], &[6]),
        ],
        occurrences: vec![Occurrence {
            stage: 0,
            steps: (1..8).collect(),
        }],
        stages: 1,
    }
}

/// What each node of the compact graph costs.
pub(crate) fn weights(compact: &Compact) -> Vec<Weight> {
    let cost = |step: u32| match step {
        0 => 0,
        step => COSTS[step as usize - 1],
    };
    let weight = |node: headwater_merge::Node<'_>| Weight {
        cost: cost(node.step),
        bytes: 1,
    };
    compact.nodes().map(weight).collect()
}

/// The stages that are left after merging whole ones.
pub(crate) fn stages(compact: &mut Compact) -> Stages {
    std::mem::take(&mut compact.stages[0].distinct)
}

/// A way of sharing, by its name.
pub(crate) fn sharing(name: &str) -> Sharing {
    match name {
        "graph" => Sharing::Graph,
        _ => Sharing::Chain,
    }
}
