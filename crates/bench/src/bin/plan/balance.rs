//! How evenly buckets spread over workers: table 5 of the paper, by list scheduling.
//!
//! Law: planners know the mean costs; the schedule runs on varied ones, drawn per task and seed. All plans are taken
//! dearest bucket first, by mean cost. The baseline, no fine-grain reuse, is one bucket per stage.

use std::error::Error;

use headwater_bench::{Bar, Claims};
use headwater_merge::{
    Buckets, Compact, CostBalanced, Merge, Rtma, Sharing, Stages, Tree, Trtma, Weight, makespan_of,
};
use headwater_sensitivity::sample::moat::{self, Levels, Moat, StepLength, Walk};

use crate::workflow;

/// Workers and the paper's speedup.
const TABLE_5: [(usize, f64); 6] = [
    (8, 1.33),
    (16, 1.34),
    (32, 1.27),
    (64, 1.12),
    (128, 1.04),
    (256, 1.01),
];
/// The parameter sets: 62 trajectories and 8 points.
const SETS: usize = 1_000;

struct Case {
    stages: Stages,
    tree: Tree,
    mean: Vec<Weight>,
    varied: Vec<Weight>,
}

impl Case {
    fn new(seed: u64) -> Result<Case, Box<dyn Error>> {
        let space = workflow::space();
        let wanted = Moat {
            trajectories: 63,
            levels: Levels::Each(20),
            walk: Walk::Random,
            length: StepLength::Actual,
        };
        let design = moat::design(&space, &wanted, seed)?;
        let sets = workflow::sets(&space, &design.points, SETS);
        let mut compact = Compact::new(&workflow::template(&space), &sets);
        let mean = workflow::weights(&compact);
        let stages = workflow::stages(&mut compact);
        let tree = Tree::new(&stages);
        let varied = mean.iter().enumerate().map(|(task, weight)| Weight {
            cost: weight.cost * (700 + draw(seed, task as u64) % 601) / 1_000,
            bytes: weight.bytes,
        });
        let varied = varied.collect();
        Ok(Case {
            stages,
            tree,
            mean,
            varied,
        })
    }

    fn costs(&self, buckets: &Buckets, weights: &[Weight], sharing: Sharing) -> Vec<u64> {
        let loads = buckets.loads(&self.stages, &self.tree, weights, sharing);
        loads.iter().map(|load| load.cost).collect()
    }

    /// When buckets end.
    fn end(&self, buckets: &Buckets, workers: usize, sharing: Sharing) -> f64 {
        let planned = self.costs(buckets, &self.mean, sharing);
        let actual = self.costs(buckets, &self.varied, sharing);
        let mut order: Vec<usize> = (0..planned.len()).collect();
        order.sort_by_key(|bucket| std::cmp::Reverse(planned[*bucket]));
        makespan_of(order.into_iter().map(|bucket| actual[bucket]), workers) as f64
    }
}

/// A number that depends on all bits of both.
fn draw(seed: u64, task: u64) -> u64 {
    let mut bits = (seed << 32 ^ task).wrapping_add(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    bits
}

/// The least, the mean.
fn summary(ratios: &[f64]) -> (f64, f64) {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    (least, ratios.iter().sum::<f64>() / ratios.len() as f64)
}

/// Claims on balance.
pub(crate) fn measure(claims: &mut Claims, seeds: u64) -> Result<(), Box<dyn Error>> {
    let cases: Result<Vec<Case>, _> = (42..42 + seeds).map(Case::new).collect();
    let cases = cases?;
    for (workers, paper) in TABLE_5 {
        let max_buckets = 3 * workers;
        let trtma = Trtma {
            max_buckets,
            paper: false,
        };
        let rtma = Rtma {
            max_bucket_size: 10,
            paper: false,
        };
        let ours = |sharing| CostBalanced::new(workers, None, sharing);
        let plans: [(&dyn Merge, Sharing); 4] = [
            (&trtma, Sharing::Chain),
            (&rtma, Sharing::Chain),
            (&ours(Sharing::Chain), Sharing::Chain),
            (&ours(Sharing::Graph), Sharing::Graph),
        ];
        let mut speedups: [Vec<f64>; 4] = Default::default();
        let mut over_bound = Vec::new();
        for case in &cases {
            let single = Buckets::single(&case.stages);
            let none = case.end(&single, workers, Sharing::Nothing);
            for ((algorithm, sharing), speedups) in plans.iter().zip(&mut speedups) {
                let buckets = algorithm.merge(&case.stages, &case.tree, &case.mean);
                speedups.push(none / case.end(&buckets, workers, *sharing));
            }
            let all: u64 = (1..case.tree.len() as u32)
                .map(|node| case.varied[case.tree.node(node).task as usize].cost)
                .sum();
            over_bound.push(none * workers as f64 / all as f64);
        }
        let [trtma, rtma, chain, graph] = speedups;
        claims.note(&format!(
            "{workers} workers, mean speedup over no fine-grain reuse: TRTMA {:.3} (paper {paper}), RTMA {:.3}, \
             cost-balanced {:.3}, with graph sharing {:.3}; at most {:.3} with chain sharing",
            summary(&trtma).1,
            summary(&rtma).1,
            summary(&chain).1,
            summary(&graph).1,
            summary(&over_bound).1,
        ));
        for (name, ours) in [("chain", &chain), ("graph", &graph)] {
            let what = format!("{workers} workers, {name} sharing, least speedup of {seeds} seeds");
            claims.claim(&what, summary(ours).0, "times", Bar::AtLeast(1.0));
            let over: Vec<f64> = ours
                .iter()
                .zip(&trtma)
                .map(|(one, other)| one / other)
                .collect();
            let what = format!("{workers} workers, {name} sharing, least gain over TRTMA");
            claims.claim(&what, summary(&over).0, "times", Bar::AtLeast(1.0));
            let below = over.iter().filter(|gain| **gain < 1.0).count();
            if below > 0 {
                claims.note(&format!("below TRTMA with {below} of {seeds} seeds"));
            }
        }
    }
    Ok(())
}
