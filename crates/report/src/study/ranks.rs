//! What parameters are ranked by, and which places they may have.
//!
//! Law: no place is claimed that the intervals leave open, nor one that rests on too few effects or base points.

use headwater_sensitivity::analyze::moat::FEWEST_EFFECTS;
use headwater_sensitivity::analyze::vbd::FEWEST_SAMPLES;

use super::summary::{Indices, MoatRow, VbdRow};

impl Indices {
    /// What parameters are ranked by: μ*, or the total share; with half the width of its interval.
    pub fn sizes(&self) -> Vec<(Option<f64>, Option<f64>)> {
        match self {
            Indices::None => Vec::new(),
            Indices::Moat(rows) => {
                let size = |row: &MoatRow| (row.mu_star, row.mu_star_conf);
                rows.iter().map(size).collect()
            }
            Indices::Vbd(found) => {
                let size = |row: &VbdRow| (row.st, row.st_conf);
                found.rows.iter().map(size).collect()
            }
        }
    }

    /// Of each parameter, whether there are enough effects or base points for it to have a rank.
    fn enough(&self) -> Vec<bool> {
        match self {
            Indices::None => Vec::new(),
            Indices::Moat(rows) => {
                let enough = |row: &MoatRow| row.steps.unwrap_or(row.used) >= FEWEST_EFFECTS;
                rows.iter().map(enough).collect()
            }
            Indices::Vbd(found) => {
                let enough = found.drawn.unwrap_or(found.used) >= FEWEST_SAMPLES;
                vec![enough; found.rows.len()]
            }
        }
    }

    /// Whether all parameters have enough effects or base points to have a rank: without that no rule ends a phase.
    pub fn is_enough(&self) -> bool {
        self.enough().iter().all(|enough| *enough)
    }

    /// Whether any parameter has a rank. Where none has, the order of the parameters is that of their sizes, and nothing
    /// more is claimed.
    pub fn has_ranks(&self) -> bool {
        self.enough().iter().any(|enough| *enough)
    }

    /// The positions of the parameters by falling size; those of which nothing is known come last, equal ones stay in
    /// their order.
    pub fn ranking(&self) -> Vec<usize> {
        let sizes = self.sizes();
        let mut ranking: Vec<usize> = (0..sizes.len()).collect();
        let size = |position: usize| sizes[position].0.unwrap_or(f64::NEG_INFINITY);
        ranking.sort_by(|one, other| size(*other).total_cmp(&size(*one)));
        ranking
    }

    /// The places that each parameter may have, from 1 on, as far as the intervals of what it is ranked by tell: where they
    /// overlap there are several. Absent where its own interval is not known, or where it comes from too few effects or
    /// base points.
    pub fn places(&self) -> Vec<Option<(usize, usize)>> {
        let sizes = self.sizes();
        let interval =
            |((size, half), enough): (&(Option<f64>, Option<f64>), bool)| match (size, half) {
                (Some(size), Some(half)) if enough => (size - half, size + half),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            };
        let intervals: Vec<(f64, f64)> = sizes.iter().zip(self.enough()).map(interval).collect();
        let mut lows: Vec<f64> = intervals.iter().map(|interval| interval.0).collect();
        let mut highs: Vec<f64> = intervals.iter().map(|interval| interval.1).collect();
        lows.sort_by(f64::total_cmp);
        highs.sort_by(f64::total_cmp);
        let place = |(low, high): &(f64, f64)| {
            let above = lows.len() - lows.partition_point(|other| other <= high);
            let below = highs.partition_point(|other| other < low);
            low.is_finite().then_some((1 + above, sizes.len() - below))
        };
        intervals.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(sizes: &[(Option<f64>, Option<f64>)]) -> Indices {
        let row = |(mu_star, mu_star_conf): &(Option<f64>, Option<f64>)| MoatRow {
            mu: None,
            mu_star: *mu_star,
            mu_star_conf: *mu_star_conf,
            sigma: None,
            used: FEWEST_EFFECTS,
            lost: 0,
            no_step: 0,
            steps: Some(FEWEST_EFFECTS),
        };
        Indices::Moat(sizes.iter().map(row).collect())
    }

    #[test]
    fn intervals_that_overlap_leave_places_open() {
        let known = |size, half| (Some(size), Some(half));
        let places = |sizes: &[_]| sized(sizes).places();
        let apart = [known(3.0, 0.4), known(2.0, 0.4), known(1.0, 0.4)];
        let expected = [Some((1, 1)), Some((2, 2)), Some((3, 3))];
        assert_eq!(places(&apart), expected);
        // The first two overlap, the second two as well, the first and the third do not.
        let chain = [
            known(3.0, 0.6),
            known(2.0, 0.6),
            known(1.0, 0.6),
            known(0.0, 0.0),
        ];
        let expected = [Some((1, 2)), Some((1, 3)), Some((2, 3)), Some((4, 4))];
        assert_eq!(places(&chain), expected);
        // Equal ones share their places, and what is not known may be anywhere.
        let equal = [known(0.0, 0.0), known(0.0, 0.0), (Some(1.0), None)];
        assert_eq!(places(&equal), [Some((1, 3)), Some((1, 3)), None]);
        assert_eq!(places(&[]), []);
    }

    #[test]
    fn a_parameter_with_few_effects_has_no_place_and_may_be_anywhere() {
        let known = |size| (Some(size), Some(0.4));
        let mut found = sized(&[known(3.0), known(2.0), known(1.0)]);
        assert!(found.is_enough() && found.has_ranks());
        if let Indices::Moat(rows) = &mut found {
            rows[1].steps = Some(FEWEST_EFFECTS - 1);
        }
        assert_eq!(found.places(), [Some((1, 2)), None, Some((2, 3))]);
        assert!(!found.is_enough() && found.has_ranks());
        if let Indices::Moat(rows) = &mut found {
            rows.iter_mut().for_each(|row| row.steps = Some(2));
        }
        assert_eq!(found.places(), [None; 3]);
        assert!(!found.has_ranks());
        // A summary of an earlier version says how many effects there are.
        if let Indices::Moat(rows) = &mut found {
            rows.iter_mut().for_each(|row| row.steps = None);
        }
        assert!(found.is_enough());
    }
}
