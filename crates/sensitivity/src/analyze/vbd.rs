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
//! # How intervals are made
//!
//! An index is a ratio of sums over base points. From these sums the index without a base point follows at once, and so
//! do the pseudo-values of the index (M. H. Quenouille 1956; J. W. Tukey 1958): what each base point adds to it, whatever
//! the number of tiles. They are the values that `interval.rs` wants. A resample is their sum and that of their squares,
//! each base point weighted by how often it was drawn. Both lie in panels of four columns, and four resamples go over a
//! panel at a time: sixteen running sums, which a processor keeps in its registers.

use super::bootstrap::Draws;
use super::interval::{Reach, studentised};
use super::{AnalyzeError, Bootstrap, Estimate, Tiles, check_outputs, falling, number, widest};
use crate::sample::VbdDesign;

/// The fewest base points with which parameters have ranks: intervals of fewer hold the true value too rarely.
pub const FEWEST_SAMPLES: usize = 64;

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
    /// How many base points count on any tile.
    pub drawn: usize,
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

    /// Whether [`FEWEST_SAMPLES`] base points count.
    pub fn enough(&self) -> bool {
        self.drawn >= FEWEST_SAMPLES
    }

    /// Whether the half-widths of the intervals of all first-order and total shares are at most this; where that is not
    /// known, or there are not [`enough`](Self::enough) base points, they are not.
    pub fn within(&self, half_width: f64) -> bool {
        self.enough() && self.widest().is_some_and(|widest| widest <= half_width)
    }
}

/// The indices of a design, from one output per point.
///
/// Intervals are made by drawing as many base points as count again from themselves: a studentised bootstrap, at least as
/// wide as Student's interval. One base point makes no interval, and neither do those of which a single one makes all of
/// the variance.
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
    bootstrap.check()?;
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
    let tells = bootstrap.tells(drawn.len());
    let mut whole = Tally::new(&layout);
    // The sums without each base point.
    let mut without = vec![Tally::new(&layout); if tells { drawn.len() } else { 0 }];
    let mut panels = Panels::default();
    for tile in &tiles {
        panels.fill(&layout, tile, &drawn);
        let sums = panels.sums();
        whole.add(sums.iter().copied());
        for (row, tally) in without.iter_mut().enumerate() {
            tally.add(
                sums.iter()
                    .zip(panels.row(row))
                    .map(|(sum, term)| sum - term),
            );
        }
    }
    drop(panels);
    // As for SALib, what is below this is rounding.
    let floor = f64::EPSILON * tiles.iter().map(|tile| tile.variance).sum::<f64>();
    let half_widths = match whole.indices(&layout, floor) {
        Some(indices) if tells => half_widths(
            &layout,
            &indices.collect::<Vec<_>>(),
            &without,
            floor,
            bootstrap,
        ),
        _ => None,
    };
    let used = tiles.iter().map(Tile::used).sum();
    Ok(VbdIndices {
        used,
        lost: tiles.len() * design.samples as usize - used,
        drawn: drawn.len(),
        constant: used > 0 && whole.variance <= floor,
        ..shares(&layout, &whole, half_widths.as_deref(), floor)
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

    /// The columns of a row.
    fn row(&self, row: usize) -> impl Iterator<Item = f64> {
        let panels = (0..self.columns.div_ceil(WIDE)).map(move |panel| panel * self.rows + row);
        let terms = panels.flat_map(|place| self.terms[place]);
        terms.take(self.columns)
    }

    /// The sums of all columns.
    fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for row in 0..self.rows {
            for (sum, term) in sums.iter_mut().zip(self.row(row)) {
                *sum += term;
            }
        }
        sums
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

/// Half the intervals of all indices; none where the index without some base point is not known.
fn half_widths(
    layout: &Layout,
    indices: &[f64],
    without: &[Tally],
    floor: f64,
    bootstrap: &Bootstrap,
) -> Option<Vec<f64>> {
    let count = without.len();
    let added = PseudoValues::new(layout, indices, without, floor)?;
    let mut resamples = vec![vec![0.0; bootstrap.resamples as usize]; indices.len()];
    let mut draws = Draws::new(bootstrap.seed, 0);
    let mut weights = vec![[0.0; WIDE]; count];
    for first in (0..bootstrap.resamples as usize).step_by(WIDE) {
        let lanes = WIDE.min(bootstrap.resamples as usize - first);
        weights.fill([0.0; WIDE]);
        for lane in 0..lanes {
            for _ in 0..count {
                let weights = &mut weights[draws.below(count)];
                weights[lane] += 1.0;
            }
        }
        for (panel, indices) in added
            .panels
            .chunks_exact(count)
            .zip(resamples.chunks_mut(PAIRED))
        {
            let sums = product(panel, &weights);
            for (lane, sums) in sums.iter().enumerate().take(lanes) {
                for (index, sums) in indices.iter_mut().zip(sums.chunks_exact(2)) {
                    index[first + lane] = studentised(count as f64, sums[0], sums[1]);
                }
            }
        }
    }
    let mut reach = Reach::new(bootstrap);
    let errors = added.errors.iter().zip(&mut resamples);
    Some(
        errors
            .map(|(error, resamples)| reach.of(count, resamples) * error)
            .collect(),
    )
}

/// Indices of which a panel has the pseudo-values and their squares.
const PAIRED: usize = WIDE / 2;

/// The pseudo-values of all indices, less their mean.
struct PseudoValues {
    /// One panel after another, each with a row per base point: value, square, value, square.
    panels: Vec<[f64; WIDE]>,
    /// The standard errors of their means.
    errors: Vec<f64>,
}

impl PseudoValues {
    fn new(
        layout: &Layout,
        indices: &[f64],
        without: &[Tally],
        floor: f64,
    ) -> Option<PseudoValues> {
        let (rows, count) = (without.len(), without.len() as f64);
        let mut panels = vec![[0.0; WIDE]; indices.len().div_ceil(PAIRED) * rows];
        let mut means = vec![0.0; indices.len()];
        for (row, tally) in without.iter().enumerate() {
            let left = tally.indices(layout, floor)?;
            for (place, (index, left)) in indices.iter().zip(left).enumerate() {
                // Of the pseudo-value, what differs from the index itself.
                let value = (count - 1.0) * (index - left);
                panels[place / PAIRED * rows + row][place % PAIRED * 2] = value;
                means[place] += value / count;
            }
        }
        let mut errors = vec![0.0; indices.len()];
        for (place, (error, mean)) in errors.iter_mut().zip(&means).enumerate() {
            for terms in &mut panels[place / PAIRED * rows..][..rows] {
                let terms = &mut terms[place % PAIRED * 2..][..2];
                terms[0] -= mean;
                terms[1] = terms[0] * terms[0];
                *error += terms[1];
            }
            *error = (*error / (count * (count - 1.0))).sqrt();
        }
        Some(PseudoValues { panels, errors })
    }
}

/// The indices with their intervals.
fn shares(layout: &Layout, whole: &Tally, half_widths: Option<&[f64]>, floor: f64) -> VbdIndices {
    let half_width = |place: usize| half_widths.map_or(f64::NAN, |known| known[place]);
    let estimates: Vec<Estimate> = match whole.indices(layout, floor) {
        None => vec![Estimate::UNKNOWN; layout.indices()],
        Some(indices) => indices
            .enumerate()
            .map(|(place, value)| Estimate {
                value,
                half_width: half_width(place),
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
        drawn: 0,
        constant: false,
    }
}
