//! Shares of the variance, from designs of base points (Sobol' indices).
//!
//! Law: a base point counts if all its rows have a finite output; otherwise it is as though it had never been drawn.
//! So all indices speak of the same base points. This favours nothing as long as rows fail for reasons that have
//! nothing to do with the parameters; where they do, the indices speak of the part of the space that works.
//!
//! With y less its mean over all rows that count, means over base points, and V the variance of the rows A and B:
//!
//! | index | estimator |
//! | --- | --- |
//! | first order S_i | mean of B (AB_i − A) ÷ V (Saltelli et al. 2010) |
//! | total S_Ti | mean of ½ (A − AB_i)² ÷ V (Jansen 1999) |
//! | second order S_ij | mean of (BA_i AB_j − A B) ÷ V − S_i − S_j (Saltelli 2002) |
//!
//! Where nothing is missing and the output is not constant, these are those of `SALib.analyze.sobol`.
//!
//! # How resamples are made
//!
//! An index is a ratio of sums over base points, so a resample is the same sums with each base point weighted by how
//! often it was drawn. The terms of the sums are computed once. They lie in panels of four columns, and four resamples
//! go over a panel at a time: sixteen running sums, which a processor keeps in its registers.

use super::bootstrap::{Draws, Spread};
use super::{AnalyzeError, Bootstrap, Estimate, Tiles, check_outputs, falling, number, widest};
use crate::sample::VbdDesign;

/// What share of the variance a parameter has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// S_i: by itself.
    pub first: Estimate,
    /// S_Ti: by itself and together with others.
    pub total: Estimate,
}

/// What share of the variance two parameters have together, beyond what each has by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairShare {
    /// The positions of the two, the smaller first.
    pub parameters: (usize, usize),
    /// S_ij.
    pub share: Estimate,
}

/// The shares of all parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct VbdIndices {
    /// One per parameter, in the order of the columns of the design.
    pub parameters: Vec<Share>,
    /// One per pair, (0, 1), (0, 2) and so on; empty if the design has no rows for pairs.
    pub pairs: Vec<PairShare>,
    /// How many base points count; of several tiles, the sum.
    pub used: usize,
    /// How many do not, because a row has no finite output; of several tiles, the sum.
    pub lost: usize,
    /// Whether the output is the same, but for rounding, at all rows A and B that count: there is no variance to have
    /// shares of, and no index is a number.
    pub constant: bool,
}

impl VbdIndices {
    /// The positions of the parameters by falling total share; those of which nothing is known come last.
    pub fn ranking(&self) -> Vec<usize> {
        let totals: Vec<f64> = self
            .parameters
            .iter()
            .map(|share| share.total.value)
            .collect();
        falling(&totals)
    }

    /// How wide half the widest interval of all first-order and total shares is. Not known where an interval is not
    /// known, and so never for a constant output. Pairs are not asked.
    pub fn widest(&self) -> Option<f64> {
        let shares = self.parameters.iter();
        widest(shares.flat_map(|share| [share.first.half_width, share.total.half_width]))
    }

    /// Whether the half-widths of the intervals of all first-order and total shares are at most this; where that is not
    /// known they are not.
    pub fn within(&self, half_width: f64) -> bool {
        self.widest().is_some_and(|widest| widest <= half_width)
    }
}

/// The indices of a design, from one output per point.
///
/// Intervals are made by drawing as many base points as count again from themselves; a resample without variance is
/// left out. One base point makes no interval.
///
/// # Errors
///
/// If there are not as many outputs as points, the design has not the points it announces, the confidence level is none,
/// or there are more resamples than [`MOST_RESAMPLES`](super::MOST_RESAMPLES).
pub fn indices(
    design: &VbdDesign,
    outputs: &[Option<f64>],
    bootstrap: &Bootstrap,
) -> Result<VbdIndices, AnalyzeError> {
    pooled(design, &[outputs], bootstrap)
}

/// The indices of each tile, and those of all together.
///
/// # Errors
///
/// As [`indices`].
pub fn tiles(
    design: &VbdDesign,
    tiles: &[&[Option<f64>]],
    bootstrap: &Bootstrap,
) -> Result<Tiles<VbdIndices>, AnalyzeError> {
    Tiles::by(tiles, |tiles| pooled(design, tiles, bootstrap))
}

/// The indices of several tiles that were evaluated at the points of one design.
///
/// They are those of the vector of all outputs (Lamboni et al. 2011; Gamboa et al. 2014): the sum over tiles of the
/// variance that a parameter makes, ÷ the sum of the variances. So effects on two tiles do not cancel, a tile whose
/// output varies more weighs more, and one whose output is constant weighs nothing. Each tile has its own base points
/// that count. A base point is drawn again on all tiles together.
///
/// # Errors
///
/// As [`indices`].
pub fn pooled(
    design: &VbdDesign,
    tiles: &[&[Option<f64>]],
    bootstrap: &Bootstrap,
) -> Result<VbdIndices, AnalyzeError> {
    let reach = bootstrap.reach()?;
    let layout = Layout::of(design)?;
    check_outputs(design.points.len(), tiles)?;
    let scale = scale(tiles);
    let tiles: Vec<Tile<'_>> = tiles
        .iter()
        .map(|outputs| Tile::new(outputs, &layout, scale))
        .collect();
    // Base points that count on no tile are not drawn.
    let drawn: Vec<usize> = (0..design.samples as usize)
        .filter(|&base| tiles.iter().any(|tile| tile.counts[base]))
        .collect();
    let resamples = if drawn.len() < 2 {
        0
    } else {
        bootstrap.resamples as usize
    };
    let mut whole = Tally::new(&layout);
    let mut again = vec![Tally::new(&layout); resamples];
    let mut panels = Panels::default();
    let mut weights = vec![[0.0; WIDE]; drawn.len()];
    for tile in &tiles {
        panels.fill(&layout, tile, &drawn);
        weights.fill([1.0; WIDE]);
        panels.weigh(&weights, core::slice::from_mut(&mut whole));
        // The same draws for each tile.
        let mut draws = Draws::new(bootstrap.seed, 0);
        for group in again.chunks_mut(WIDE) {
            weights.fill([0.0; WIDE]);
            for lane in 0..group.len() {
                for _ in 0..drawn.len() {
                    let weights = &mut weights[draws.below(drawn.len())];
                    weights[lane] += 1.0;
                }
            }
            panels.weigh(&weights, group);
        }
    }
    // As for SALib, what is below this is rounding.
    let floor = f64::EPSILON * tiles.iter().map(|tile| tile.variance).sum::<f64>();
    let used = tiles.iter().map(Tile::used).sum();
    Ok(VbdIndices {
        used,
        lost: tiles.len() * design.samples as usize - used,
        constant: used > 0 && whole.variance <= floor,
        ..shares(&layout, &whole, &again, floor, reach)
    })
}

/// Where things lie.
struct Layout {
    parameters: usize,
    second_order: bool,
    /// Rows of a base point.
    rows: usize,
}

impl Layout {
    fn of(design: &VbdDesign) -> Result<Layout, AnalyzeError> {
        let parameters = design.points.width();
        let second_order = design.second_order;
        let rows = design.group();
        let expected = u64::from(design.samples) * rows as u64;
        if expected != design.points.len() as u64 {
            return Err(AnalyzeError::Rows {
                samples: design.samples,
                parameters,
                second_order,
                expected,
                points: design.points.len(),
            });
        }
        Ok(Layout {
            parameters,
            second_order,
            rows,
        })
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = if self.second_order {
            self.parameters
        } else {
            0
        };
        (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
    }

    /// How many indices there are.
    fn indices(&self) -> usize {
        2 * self.parameters + self.pairs().count()
    }
}

/// A power of two that brings all outputs near 1, so that no square is too large; it changes no digit.
fn scale(tiles: &[&[Option<f64>]]) -> f64 {
    let outputs = tiles.iter().flat_map(|tile| tile.iter());
    let largest = outputs
        .filter_map(|&output| number(output))
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let (_, exponent) = libm::frexp(largest);
    libm::ldexp(1.0, -exponent.clamp(-1000, 1000))
}

/// The outputs of a tile, and what is known of them as a whole.
struct Tile<'a> {
    outputs: &'a [Option<f64>],
    scale: f64,
    /// Per base point, whether it counts.
    counts: Vec<bool>,
    /// Over the rows that count.
    mean: f64,
    variance: f64,
    /// Whether the rows A and B that count are all the same.
    constant: bool,
}

impl<'a> Tile<'a> {
    fn new(outputs: &'a [Option<f64>], layout: &Layout, scale: f64) -> Tile<'a> {
        let bases = || outputs.chunks_exact(layout.rows);
        let counts: Vec<bool> = bases()
            .map(|rows| rows.iter().all(|&output| number(output).is_some()))
            .collect();
        let counting = || {
            bases()
                .zip(&counts)
                .filter_map(|(rows, &counts)| counts.then_some(rows))
        };
        let values = || counting().flatten().flatten().map(|value| value * scale);
        let count = (counts.iter().filter(|&&counts| counts).count() * layout.rows).max(1) as f64;
        let near = values().sum::<f64>() / count;
        let mean = near + values().map(|value| value - near).sum::<f64>() / count;
        let variance = values()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / count;
        let mut ends = counting().flat_map(|rows| [rows[0], rows[rows.len() - 1]]);
        let first = ends.next();
        let constant = ends.all(|end| Some(end) == first);
        Tile {
            outputs,
            scale,
            counts,
            mean,
            variance,
            constant,
        }
    }

    fn used(&self) -> usize {
        self.counts.iter().filter(|&&counts| counts).count()
    }
}

/// Columns of a panel, and resamples that go over it at a time.
const WIDE: usize = 4;

/// Columns before those of the indices: whether the base point counts, A + B, A² + B².
const HEAD: usize = 3;

/// The terms of all sums: a row per base point that is drawn, and a column per sum.
#[derive(Default)]
struct Panels {
    /// One panel after another, each with all rows.
    terms: Vec<[f64; WIDE]>,
    rows: usize,
    columns: usize,
}

impl Panels {
    /// Puts the terms of a tile in the place of those before.
    fn fill(&mut self, layout: &Layout, tile: &Tile<'_>, drawn: &[usize]) {
        self.rows = drawn.len();
        self.columns = HEAD + layout.indices();
        self.terms.clear();
        self.terms
            .resize(self.columns.div_ceil(WIDE) * self.rows, [0.0; WIDE]);
        if tile.constant {
            return self.count_only(tile, drawn);
        }
        let parameters = layout.parameters;
        let mut outputs = vec![0.0; layout.rows];
        for (row, &base) in drawn.iter().enumerate() {
            if !tile.counts[base] {
                continue;
            }
            let found = &tile.outputs[base * layout.rows..][..layout.rows];
            for (output, found) in outputs.iter_mut().zip(found) {
                *output = found.unwrap_or(f64::NAN) * tile.scale - tile.mean;
            }
            let (a, b) = (outputs[0], outputs[layout.rows - 1]);
            let (ab, ba) = outputs[1..].split_at(parameters);
            let firsts = ab.iter().map(|ab| b * (ab - a));
            let totals = ab.iter().map(|ab| 0.5 * (a - ab) * (a - ab));
            let pairs = layout.pairs().map(|(i, j)| ba[i] * ab[j] - a * b);
            let terms = [1.0, a + b, a * a + b * b].into_iter();
            for (column, term) in terms.chain(firsts).chain(totals).chain(pairs).enumerate() {
                self.terms[column / WIDE * self.rows + row][column % WIDE] = term;
            }
        }
    }

    /// The terms of a tile whose rows A and B are all the same: it has no variance, exactly.
    fn count_only(&mut self, tile: &Tile<'_>, drawn: &[usize]) {
        for (row, &base) in drawn.iter().enumerate() {
            self.terms[row][0] = f64::from(u8::from(tile.counts[base]));
        }
    }

    /// Adds the sums under these weights to the tallies, one per lane.
    fn weigh(&self, weights: &[[f64; WIDE]], tallies: &mut [Tally]) {
        let mut sums = vec![[0.0; WIDE]; self.columns.next_multiple_of(WIDE)];
        if self.rows > 0 {
            for (panel, sums) in self
                .terms
                .chunks_exact(self.rows)
                .zip(sums.chunks_exact_mut(WIDE))
            {
                let by_lane = product(panel, weights);
                for (lane, columns) in by_lane.iter().enumerate() {
                    for (column, sum) in columns.iter().enumerate() {
                        sums[column][lane] = *sum;
                    }
                }
            }
        }
        for (lane, tally) in tallies.iter_mut().enumerate() {
            tally.add(sums.iter().take(self.columns).map(|sums| sums[lane]));
        }
    }
}

/// The sums of each column of a panel under each lane of weights: `[lane][column]`.
fn product(panel: &[[f64; WIDE]], weights: &[[f64; WIDE]]) -> [[f64; WIDE]; WIDE] {
    let mut sums = [[0.0; WIDE]; WIDE];
    for (terms, weights) in panel.iter().zip(weights) {
        for lane in 0..WIDE {
            for column in 0..WIDE {
                sums[lane][column] += weights[lane] * terms[column];
            }
        }
    }
    sums
}

/// The variance and the numerators of all indices, summed over tiles.
#[derive(Debug, Clone)]
struct Tally {
    variance: f64,
    numerators: Vec<f64>,
}

impl Tally {
    fn new(layout: &Layout) -> Tally {
        Tally {
            variance: 0.0,
            numerators: vec![0.0; layout.indices()],
        }
    }

    /// Adds what the column sums of a tile say.
    fn add(&mut self, mut sums: impl Iterator<Item = f64>) {
        let mut next = || sums.next().unwrap_or(0.0);
        let (count, sum, squares) = (next(), next(), next());
        if count == 0.0 {
            return;
        }
        let mean = sum / (2.0 * count);
        self.variance += squares / (2.0 * count) - mean * mean;
        for (numerator, sum) in self.numerators.iter_mut().zip(sums) {
            *numerator += sum / count;
        }
    }

    /// The indices: first order of all parameters, total, pairs. `None` without variance.
    fn indices<'a>(
        &'a self,
        layout: &Layout,
        floor: f64,
    ) -> Option<impl Iterator<Item = f64> + 'a> {
        if self.variance <= floor {
            return None;
        }
        let ratio = |numerator: f64| numerator / self.variance;
        let (singles, pairs) = self.numerators.split_at(2 * layout.parameters);
        let pairs: Vec<f64> = layout
            .pairs()
            .zip(pairs)
            .map(|((i, j), both)| ratio(*both) - ratio(singles[i]) - ratio(singles[j]))
            .collect();
        Some(
            singles
                .iter()
                .map(move |single| ratio(*single))
                .chain(pairs),
        )
    }
}

/// The indices with their intervals, from the sums over the whole and over each resample.
fn shares(layout: &Layout, whole: &Tally, again: &[Tally], floor: f64, reach: f64) -> VbdIndices {
    let mut spreads = vec![Spread::default(); layout.indices()];
    for indices in again
        .iter()
        .filter_map(|tally| tally.indices(layout, floor))
    {
        for (spread, index) in spreads.iter_mut().zip(indices) {
            spread.add(index);
        }
    }
    let estimates: Vec<Estimate> = match whole.indices(layout, floor) {
        None => vec![Estimate::UNKNOWN; layout.indices()],
        Some(indices) => indices
            .zip(&spreads)
            .map(|(value, spread)| Estimate {
                value,
                half_width: reach * spread.deviation(),
            })
            .collect(),
    };
    let (first, rest) = estimates.split_at(layout.parameters);
    let (total, pairs) = rest.split_at(layout.parameters);
    VbdIndices {
        parameters: first
            .iter()
            .zip(total)
            .map(|(&first, &total)| Share { first, total })
            .collect(),
        pairs: layout
            .pairs()
            .zip(pairs)
            .map(|(parameters, &share)| PairShare { parameters, share })
            .collect(),
        used: 0,
        lost: 0,
        constant: false,
    }
}
