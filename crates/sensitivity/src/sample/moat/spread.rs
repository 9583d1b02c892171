//! Trajectories that lie far apart.
//!
//! Law: what is made large is the sum over pairs of trajectories of their squared distances, a distance being the sum
//! of the Euclidean distances of all pairs of their points (F. Campolongo, J. Cariboni and A. Saltelli, An effective
//! screening design for sensitivity analysis of large models, 2007). Distances are between levels, those of choices
//! without order too: their own steps have no part in what is chosen.
//!
//! The best choice of r out of M has a combinatorial cost. Here a good one is found by starting from the two that lie
//! furthest apart, adding the candidate that adds most to the sum until there are r, and then offering each place to
//! all candidates until no exchange adds anything, at most ten times. That costs O(M² k²) for distances and O(r² M)
//! per pass. Large designs are chosen in batches of at most 50 out of 500, so that the cost grows with r only.

use super::axis::Axis;
use super::trajectory::Trajectory;

/// How many candidates there are for each place.
pub(super) const CANDIDATES_EACH: usize = 10;

/// How many trajectories are chosen together.
const BATCH: u32 = 50;

/// How often each place is offered at most.
const PASSES: u32 = 10;

/// The sizes of batches: as few as possible, as equal as possible.
pub(super) fn batches(trajectories: u32) -> impl Iterator<Item = usize> {
    let count = trajectories.div_ceil(BATCH).max(1);
    let (size, more) = (trajectories / count, trajectories % count);
    (0..count).map(move |batch| (size + u32::from(batch < more)) as usize)
}

/// Which candidates are chosen, in ascending order.
pub(super) fn choose(candidates: &[Trajectory], count: usize, axes: &[Axis]) -> Vec<usize> {
    let (squares, furthest) = distances(candidates, axes);
    let row = |candidate: usize| &squares[candidate * candidates.len()..][..candidates.len()];

    let mut chosen: Vec<usize> = Vec::with_capacity(count);
    let mut taken = vec![false; candidates.len()];
    // Per candidate the sum of its squared distances from those chosen.
    let mut sums = vec![0.0; candidates.len()];
    for place in 0..count.min(candidates.len()) {
        let best = match furthest.get(place) {
            Some(one) => *one,
            None => largest(&sums, &taken),
        };
        taken[best] = true;
        add(&mut sums, row(best));
        chosen.push(best);
    }
    for _ in 0..PASSES {
        let mut better = false;
        for place in 0..chosen.len() {
            // Summed anew: differences of sums would gather rounding errors.
            sums.fill(0.0);
            for (other, candidate) in chosen.iter().enumerate() {
                if other != place {
                    add(&mut sums, row(*candidate));
                }
            }
            let best = largest(&sums, &taken);
            if !taken[best] && sums[best] > sums[chosen[place]] {
                taken[chosen[place]] = false;
                taken[best] = true;
                chosen[place] = best;
                better = true;
            }
        }
        if !better {
            break;
        }
    }
    chosen.sort_unstable();
    chosen
}

/// The squared distances of all pairs of candidates, and the two that lie furthest apart.
fn distances(candidates: &[Trajectory], axes: &[Axis]) -> (Vec<f64>, [usize; 2]) {
    let paths: Vec<Path<'_>> = candidates.iter().map(|one| Path::new(one, axes)).collect();
    let count = paths.len();
    let mut differences = vec![0.0; axes.len()];
    let mut squares = vec![0.0; count * count];
    let (mut furthest, mut most) = ([0, 1], 0.0);
    for (one, path) in paths.iter().enumerate() {
        for other in one + 1..count {
            let squared = square(path.distance(&paths[other], &mut differences));
            squares[one * count + other] = squared;
            squares[other * count + one] = squared;
            if squared > most {
                (furthest, most) = ([one, other], squared);
            }
        }
    }
    (squares, furthest)
}

fn add(sums: &mut [f64], row: &[f64]) {
    for (sum, square) in sums.iter_mut().zip(row) {
        *sum += square;
    }
}

/// The candidate with the largest sum that is not taken, the first of equal ones; the first of all if all are taken.
fn largest(sums: &[f64], taken: &[bool]) -> usize {
    let mut best: Option<usize> = None;
    for (candidate, sum) in sums.iter().enumerate() {
        if !taken[candidate] && best.is_none_or(|best| *sum > sums[best]) {
            best = Some(candidate);
        }
    }
    best.unwrap_or(0)
}

/// A trajectory in the unit cube.
struct Path<'a> {
    base: Vec<f64>,
    after: Vec<f64>,
    order: &'a [u32],
}

impl Path<'_> {
    fn new<'a>(trajectory: &'a Trajectory, axes: &[Axis]) -> Path<'a> {
        let units = |levels: &[u32]| {
            let axes = axes.iter().zip(levels);
            axes.map(|(axis, level)| axis.unit(*level)).collect()
        };
        Path {
            base: units(&trajectory.base),
            after: units(&trajectory.after),
            order: &trajectory.order,
        }
    }

    /// The sum of the distances of all pairs of points, in O(k²): a step changes one term of a squared distance.
    /// `differences` is room for a number per parameter.
    fn distance(&self, other: &Path<'_>, differences: &mut [f64]) -> f64 {
        // How the squared distance changes when the other path takes the step of a parameter.
        let mut from_base = 0.0;
        for (parameter, at) in self.base.iter().enumerate() {
            from_base += square(at - other.base[parameter]);
            differences[parameter] =
                square(at - other.after[parameter]) - square(at - other.base[parameter]);
        }
        let mut sum = other.sum_from(from_base, differences);
        for parameter in self.order {
            let parameter = *parameter as usize;
            let (before, at) = (self.base[parameter], self.after[parameter]);
            let (start, end) = (other.base[parameter], other.after[parameter]);
            from_base += square(at - start) - square(before - start);
            differences[parameter] = square(at - end) - square(at - start);
            sum += other.sum_from(from_base, differences);
        }
        sum
    }

    /// The sum of distances of all points of this path from one point, given its squared distance from the first and
    /// how each step changes that.
    fn sum_from(&self, first: f64, differences: &[f64]) -> f64 {
        let mut squared = first;
        let mut sum = squared.max(0.0).sqrt();
        for parameter in self.order {
            squared += differences[*parameter as usize];
            sum += squared.max(0.0).sqrt();
        }
        sum
    }
}

fn square(value: f64) -> f64 {
    value * value
}
