//! Trajectories that lie far apart.
//!
//! Law: what is made large is the sum over pairs of trajectories of their squared distances, a distance being the sum
//! of the Euclidean distances of all pairs of their points (F. Campolongo, J. Cariboni and A. Saltelli, An effective
//! screening design for sensitivity analysis of large models, 2007).
//!
//! The best choice of r out of M has a combinatorial cost. Here one is found by adding, r times, the candidate that
//! adds most to the sum, and then offering each place once more to all candidates: O(r M k²) for the distances and
//! O(r² M) for sums. Large designs are chosen in batches of at most 50 out of 500, so that the cost grows with r only.

use super::axis::Axis;
use super::trajectory::Trajectory;

/// How many candidates there are for each place.
pub(super) const CANDIDATES_EACH: usize = 10;

/// How many trajectories are chosen together.
const BATCH: u32 = 50;

/// The sizes of batches: as few as possible, as equal as possible.
pub(super) fn batches(trajectories: u32) -> impl Iterator<Item = usize> {
    let count = trajectories.div_ceil(BATCH).max(1);
    let (size, more) = (trajectories / count, trajectories % count);
    (0..count).map(move |batch| (size + u32::from(batch < more)) as usize)
}

/// Which candidates are chosen, in ascending order.
pub(super) fn choose(candidates: &[Trajectory], count: usize, axes: &[Axis]) -> Vec<usize> {
    let paths: Vec<Path<'_>> = candidates.iter().map(|one| Path::new(one, axes)).collect();
    let mut differences = vec![0.0; axes.len()];
    let mut squares = |one: usize| -> Vec<f64> {
        let distance = |other| {
            let distance = paths[one].distance(other, &mut differences);
            distance * distance
        };
        paths.iter().map(distance).collect()
    };

    let mut chosen: Vec<usize> = Vec::with_capacity(count);
    let mut taken = vec![false; candidates.len()];
    // Per chosen one its squared distances from all candidates, and their sums.
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(count);
    let mut sums = vec![0.0; candidates.len()];
    for _ in 0..count.min(candidates.len()) {
        let best = largest(&sums, &taken);
        taken[best] = true;
        let row = squares(best);
        add(&mut sums, &row);
        chosen.push(best);
        rows.push(row);
    }
    for place in 0..chosen.len() {
        // Summed anew: differences of sums would gather rounding errors.
        sums.fill(0.0);
        for (other, row) in rows.iter().enumerate() {
            if other != place {
                add(&mut sums, row);
            }
        }
        let best = largest(&sums, &taken);
        if !taken[best] && sums[best] > sums[chosen[place]] {
            taken[chosen[place]] = false;
            taken[best] = true;
            chosen[place] = best;
            rows[place] = squares(best);
        }
    }
    chosen.sort_unstable();
    chosen
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
