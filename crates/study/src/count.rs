//! What is shared, counted: instances, stages and tasks before and after merging.
//!
//! Law: the same compact graph gives all three ways of counting. Nothing shared: every task of the stages that differ.
//! Chain: a task is shared if all tasks before it in its stage are. Graph: a task is shared if it is the same.

use headwater_merge::{Compact, Sharing, StageRows, Stages, Tree, Weight};

/// What the stages of one kind come to.
#[derive(Debug)]
pub(crate) struct StageCount {
    /// How many instances there are.
    pub(crate) instances: usize,
    /// Those that differ.
    pub(crate) distinct: usize,
    /// How many tasks an instance has.
    pub(crate) width: usize,
    /// Tasks of those that differ, if they share common beginnings; and what these cost.
    pub(crate) chain: Sum,
    /// If they share whatever is the same.
    pub(crate) graph: Sum,
    /// If they share nothing.
    pub(crate) nothing: Sum,
    /// Their reuse tree, where an instance has several tasks.
    pub(crate) tree: Option<Tree>,
}

/// Tasks, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) tasks: usize,
    /// What all of them cost.
    pub(crate) cost: u64,
    /// What those cost that are still to be done.
    pub(crate) to_do: u64,
}

/// What tasks cost, by node of the compact graph.
#[derive(Debug)]
pub(crate) struct Weights {
    /// All of them.
    pub(crate) all: Vec<Weight>,
    /// Those that are still to be done; the others cost nothing.
    pub(crate) to_do: Vec<Weight>,
}

impl Sum {
    fn of(nodes: impl Iterator<Item = u32>, weights: &Weights) -> Sum {
        nodes.fold(Sum::default(), |sum, node| Sum {
            tasks: sum.tasks + 1,
            cost: sum.cost + weights.all[node as usize].cost,
            to_do: sum.to_do + weights.to_do[node as usize].cost,
        })
    }
}

impl StageCount {
    pub(crate) fn new(rows: &StageRows, weights: &Weights) -> StageCount {
        let distinct = &rows.distinct;
        let cells = || distinct.rows().flatten().copied();
        let nothing = Sum::of(cells(), weights);
        let mut seen = vec![false; weights.all.len()];
        let first = |node: &u32| !std::mem::replace(&mut seen[*node as usize], true);
        let graph = Sum::of(cells().filter(first), weights);
        let tree = (distinct.width() > 1).then(|| Tree::new(distinct));
        let chain = match &tree {
            None => graph,
            Some(tree) => Sum::of(
                (1..tree.len() as u32).map(|node| tree.node(node).task),
                weights,
            ),
        };
        StageCount {
            instances: rows.instances,
            distinct: distinct.len(),
            width: distinct.width(),
            chain,
            graph,
            nothing,
            tree,
        }
    }

    /// What is left under a way of sharing.
    pub(crate) fn left(&self, sharing: Sharing) -> Sum {
        match sharing {
            Sharing::Nothing => self.nothing,
            Sharing::Chain => self.chain,
            Sharing::Graph => self.graph,
        }
    }
}

/// How much is saved, in percent.
pub(crate) fn percent(left: u64, all: u64) -> f64 {
    match all {
        0 => 0.0,
        all => 100.0 * (1.0 - left as f64 / all as f64),
    }
}

/// The nodes that stages consist of, each once.
pub(crate) fn nodes_of_stages(compact: &Compact) -> Vec<bool> {
    let mut found = vec![false; compact.len()];
    let cells = |rows: &Stages| rows.rows().flatten().copied().collect::<Vec<u32>>();
    for node in compact.stages.iter().flat_map(|rows| cells(&rows.distinct)) {
        found[node as usize] = true;
    }
    found
}
