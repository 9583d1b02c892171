//! How much is shared, by design and way of sharing.
//!
//! Law: reuse is 100 · (1 − distinct/all) over the tasks of the stages that are left after merging whole stages.

use std::error::Error;

use headwater_bench::{Bar, Claims};
use headwater_merge::{Compact, Tree};
use headwater_sensitivity::sample::moat::{self, Levels, Moat, StepLength, Walk};
use headwater_sensitivity::sample::vbd::{self, Sampler, Vbd};
use headwater_sensitivity::{Points, Space};

use crate::workflow;

/// The seeds whose mean is taken.
const SEEDS: u64 = 10;
/// The seed of the example study.
const SEED: u64 = 42;

/// Reuse of points in percent: chain, graph.
fn reuse(space: &Space, points: &Points) -> (f64, f64) {
    let sets = workflow::sets(space, points, usize::MAX);
    let template = workflow::template(space);
    let mut compact = Compact::new(&template, &sets);
    let stages = workflow::stages(&mut compact);
    let all = (stages.len() * stages.width()) as f64;
    let chain = Tree::new(&stages).tasks() as f64;
    // All nodes but the channel split.
    let graph = (compact.len() - 1) as f64;
    (100.0 * (1.0 - chain / all), 100.0 * (1.0 - graph / all))
}

/// Claims on reuse.
pub(crate) fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let space = workflow::space();
    let wanted = Moat {
        trajectories: 40,
        levels: Levels::Each(20),
        walk: Walk::Random,
        length: StepLength::Actual,
    };
    let mut means = (0.0, 0.0);
    for seed in SEED..SEED + SEEDS {
        let design = moat::design(&space, &wanted, seed)?;
        let (chain, graph) = reuse(&space, &design.points);
        if seed == SEED {
            let what = "chain reuse of 640 MOAT sets, from 33.2%";
            claims.note(&format!(
                "seed {SEED}: chain {chain:.2}%, graph {graph:.2}%"
            ));
            claims.claim(what, (chain - 33.2).abs(), "points", Bar::AtMost(1.5));
            let what = "graph reuse of 640 MOAT sets, from 50.8%";
            claims.claim(what, (graph - 50.8).abs(), "points", Bar::AtMost(1.5));
        }
        means.0 += chain / SEEDS as f64;
        means.1 += graph / SEEDS as f64;
    }
    claims.note(&format!(
        "mean of {SEEDS} seeds: chain {:.2}%, graph {:.2}%",
        means.0, means.1
    ));
    table_4(claims)
}

/// Table 4 of the paper.
fn table_4(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    let space = workflow::continuous();
    let rows = [
        ("MC", Sampler::Mc, [36.35, 36.46, 36.40]),
        ("LHS", Sampler::Lhs, [36.62, 36.44, 36.44]),
        ("QMC by Halton", Sampler::Halton, [35.10, 34.44, 33.48]),
        ("QMC by Sobol'", Sampler::Sobol, [35.10, 34.44, 33.48]),
    ];
    for (name, sampler, paper) in rows {
        for (samples, paper) in [200, 600, 1_000].into_iter().zip(paper) {
            let wanted = Vbd {
                samples,
                sampler,
                second_order: false,
            };
            let (mut chain, mut graph) = (0.0, 0.0);
            for seed in SEED..SEED + SEEDS {
                let design = vbd::design(&space, &wanted, seed)?;
                let found = reuse(&space, &design.points);
                chain += found.0 / SEEDS as f64;
                graph += found.1 / SEEDS as f64;
            }
            claims.note(&format!(
                "VBD, {name}, n = {samples}: chain {chain:.2}% (paper {paper}%), graph {graph:.2}%"
            ));
            let what = format!("reuse of VBD by {name}, n = {samples}, from the paper's {paper}%");
            claims.claim(&what, (chain - paper).abs(), "points", Bar::AtMost(3.0));
        }
    }
    Ok(())
}
