//! What there is to say about the indices of a phase before somebody relies on them.
//!
//! Law: remarks are a function of the phase. They say where there are too few effects or base points for ranks, and which
//! values no index can have: a share of the variance lies between 0 and 1, and a parameter's own share is at most its total
//! one. Whether that is chance says the interval: within it the estimate is merely rough, beyond it something else is wrong.

use headwater_sensitivity::analyze::moat::FEWEST_EFFECTS;
use headwater_sensitivity::analyze::vbd::FEWEST_SAMPLES;

use super::summary::{Indices, MoatRow, PhaseSummary, VbdRow};

/// So many parameters are named.
const NAMED: usize = 4;

impl PhaseSummary {
    /// What there is to say about the indices, in words: one text for each remark, without a full stop.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.too_few().into_iter().collect();
        if let Indices::Vbd(found) = &self.pooled {
            remarks.extend(self.impossible(&found.rows));
            remarks.extend(self.impossible_items());
        }
        remarks
    }

    /// What there are too few of, where not every parameter has a rank.
    fn too_few(&self) -> Option<String> {
        if self.pooled.is_enough() {
            return None;
        }
        match &self.pooled {
            Indices::None => None,
            Indices::Vbd(found) => {
                let there = counted(found.drawn.unwrap_or(found.used), "base point");
                Some(format!(
                    "too few for ranks: {there}, and {FEWEST_SAMPLES} are needed"
                ))
            }
            Indices::Moat(rows) if !self.pooled.has_ranks() => {
                let most = rows.iter().map(steps).max().unwrap_or(0);
                // What was lost or stands still is no effect.
                let there = if most == self.groups {
                    match self.groups {
                        1 => "1 trajectory".to_owned(),
                        many => format!("{many} trajectories"),
                    }
                } else {
                    format!("at most {} of a parameter", counted(most, "effect"))
                };
                Some(format!(
                    "too few for ranks: {there}, and {FEWEST_EFFECTS} are needed"
                ))
            }
            Indices::Moat(rows) => {
                let few = rows.iter().enumerate();
                let few = few.filter(|(_, row)| steps(row) < FEWEST_EFFECTS);
                let few = few.map(|(place, row)| format!("{} ({})", self.name(place), steps(row)));
                Some(format!(
                    "too few effects for a rank, of which {FEWEST_EFFECTS} are needed: {}",
                    some(few.collect())
                ))
            }
        }
    }

    /// Shares that cannot be.
    fn impossible(&self, rows: &[VbdRow]) -> Vec<String> {
        let shares = || {
            let rows = rows.iter().enumerate();
            rows.flat_map(|(place, row)| {
                let name = self.name(place);
                [
                    (format!("S1 of {name}"), row.s1, row.s1_conf),
                    (format!("ST of {name}"), row.st, row.st_conf),
                ]
            })
            .filter_map(|(what, share, half)| Some((what, share?, half)))
        };
        let mut remarks = Vec::new();
        let above: Vec<String> = shares()
            .filter(|(_, share, _)| *share > 1.0)
            .map(|(what, share, half)| format!("{what} is {}", written(share, half)))
            .collect();
        if !above.is_empty() {
            remarks.push(format!(
                "{}: no share of the variance is above 1; more samples are needed",
                some(above)
            ));
        }
        let beyond: Vec<String> = shares()
            .filter(|(_, share, half)| half.is_some_and(|half| share + half < 0.0))
            .map(|(what, share, half)| format!("{what} is {}", written(share, half)))
            .collect();
        if !beyond.is_empty() {
            remarks.push(format!(
                "{}: no share is below 0, and the interval does not hold 0; {WRONG}",
                some(beyond)
            ));
        }
        let below: Vec<String> = shares()
            .filter(|(_, share, half)| *share < 0.0 && half.is_none_or(|half| share + half >= 0.0))
            .map(|(what, ..)| what)
            .collect();
        if !below.is_empty() {
            let verb = if below.len() == 1 { "is" } else { "are" };
            remarks.push(format!(
                "{} {verb} below 0, as estimates of small shares may be: read as 0",
                some(below)
            ));
        }
        remarks.extend(self.first_above_total(rows));
        remarks
    }

    /// Parameters whose own share is larger than their total one.
    fn first_above_total(&self, rows: &[VbdRow]) -> Vec<String> {
        let above = rows.iter().enumerate().filter_map(|(place, row)| {
            let (first, total) = (row.s1?, row.st?);
            let both = || {
                format!(
                    "S1 of {} is {}, its ST {}",
                    self.name(place),
                    written(first, row.s1_conf),
                    written(total, row.st_conf)
                )
            };
            (first > total).then(|| (both(), is_beyond(row)))
        });
        let (beyond, within): (Vec<_>, Vec<_>) = above.partition(|(_, beyond)| *beyond);
        let texts = |found: Vec<(String, bool)>| {
            let texts = found.into_iter().map(|(text, _)| text).collect();
            some(texts)
        };
        let mut remarks = Vec::new();
        if !beyond.is_empty() {
            remarks.push(format!(
                "{}: S1 is never above ST, and the intervals do not allow it; {WRONG}",
                texts(beyond)
            ));
        }
        if !within.is_empty() {
            remarks.push(format!(
                "{}: S1 is never above ST; the difference lies within the intervals",
                texts(within)
            ));
        }
        remarks
    }

    /// On how many items shares cannot be, by more than chance.
    fn impossible_items(&self) -> Option<String> {
        let is_impossible = |found: &&Indices| match found {
            Indices::Vbd(found) => found.rows.iter().any(|row| {
                let above = |share: Option<f64>| share.is_some_and(|share| share > 1.0);
                above(row.s1) || above(row.st) || is_beyond(row)
            }),
            Indices::None | Indices::Moat(_) => false,
        };
        let many = self.each.iter().filter(is_impossible).count();
        (many > 0).then(|| {
            format!(
                "on {many} of {} items there are shares above 1, or S1 above ST by more than their intervals allow",
                self.each.len()
            )
        })
    }

    fn name(&self, place: usize) -> &str {
        self.parameters
            .get(place)
            .map_or("a parameter", |known| &known.name)
    }
}

/// What else than chance may be the reason.
const WRONG: &str =
    "does the objective also depend on something else, for example on random numbers?";

/// Whether a parameter's own share is larger than its total one by more than their intervals allow.
fn is_beyond(row: &VbdRow) -> bool {
    match (row.s1, row.s1_conf, row.st, row.st_conf) {
        (Some(s1), Some(s1_conf), Some(st), Some(st_conf)) => s1 - s1_conf > st + st_conf,
        _ => false,
    }
}

fn steps(row: &MoatRow) -> usize {
    row.steps.unwrap_or(row.used)
}

/// A share with half its interval, as it can stand in any text.
fn written(share: f64, half: Option<f64>) -> String {
    match half {
        Some(half) => format!("{share:.3} ± {half:.3}"),
        None => format!("{share:.3}"),
    }
}

fn counted(many: usize, noun: &str) -> String {
    let s = if many == 1 { "" } else { "s" };
    format!("{many} {noun}{s}")
}

/// The first few of some texts.
fn some(texts: Vec<String>) -> String {
    let more = match texts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", texts[..texts.len().min(NAMED)].join(", "))
}
