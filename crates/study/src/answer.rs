//! From the values of the objective to sensitivity indices.
//!
//! Law: an answer is a function of the design, the values and the settings of the method, whatever order the values
//! arrived in. A value that is missing costs what needs it and nothing more.

use headwater_sensitivity::analyze::{
    self, AnalyzeError, Bootstrap, Estimate, MoatIndices, VbdIndices,
};

use crate::design::Design;
use headwater_report::study::{Indices, MoatRow, PrefixSummary, VbdPair, VbdRow, VbdRows};

/// The objective: by item, then by parameter set.
pub(crate) type Values = Vec<Vec<Option<f64>>>;

/// The indices of all items together, and of each.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) pooled: Indices,
    /// Empty where there is but one item.
    pub(crate) each: Vec<Indices>,
}

/// The indices that the values at the points of a design give.
pub(crate) fn answer(
    design: &Design,
    values: &[Vec<Option<f64>>],
    bootstrap: &Bootstrap,
) -> Result<Answer, AnalyzeError> {
    let items: Vec<&[Option<f64>]> = values.iter().map(Vec::as_slice).collect();
    let (pooled, each) = match design {
        Design::Table(_) => (Indices::None, Vec::new()),
        Design::Moat(design) => {
            let found = analyze::moat::tiles(design, &items, bootstrap)?;
            let each = found.each.iter().map(moat_rows).collect();
            (moat_rows(&found.pooled), each)
        }
        Design::Vbd(design) => {
            let found = analyze::vbd::tiles(design, &items, bootstrap)?;
            let each = found.each.iter().map(vbd_rows).collect();
            (vbd_rows(&found.pooled), each)
        }
    };
    let each = if items.len() > 1 { each } else { Vec::new() };
    Ok(Answer { pooled, each })
}

/// The indices of all items together at a prefix of a design, and how wide the widest interval is, in the unit of a
/// stop rule: of shares as they are, of effects relative to the largest. Whether that may end a phase says
/// [`Indices::is_enough`].
pub(crate) fn at_prefix(
    design: &Design,
    values: &[Vec<Option<f64>>],
    groups: usize,
    bootstrap: &Bootstrap,
) -> Result<(PrefixSummary, Option<f64>), AnalyzeError> {
    let design = design.prefix(groups);
    let sets = design.sets();
    let items: Vec<&[Option<f64>]> = values.iter().map(|values| &values[..sets]).collect();
    let (indices, widest) = match &design {
        Design::Table(_) => (Indices::None, None),
        Design::Moat(design) => {
            let found = analyze::moat::pooled(design, &items, bootstrap)?;
            (moat_rows(&found), found.widest())
        }
        Design::Vbd(design) => {
            let found = analyze::vbd::pooled(design, &items, bootstrap)?;
            (vbd_rows(&found), found.widest())
        }
    };
    let summary = PrefixSummary {
        groups,
        sets,
        indices,
    };
    Ok((summary, widest))
}

/// A number, if it is one; nothing is negative zero.
fn known(value: f64) -> Option<f64> {
    value.is_finite().then_some(value + 0.0)
}

fn parts(estimate: Estimate) -> (Option<f64>, Option<f64>) {
    (known(estimate.value), known(estimate.half_width))
}

fn moat_rows(found: &MoatIndices) -> Indices {
    let row = |effect: &analyze::Effect| {
        let (mu_star, mu_star_conf) = parts(effect.mu_star);
        MoatRow {
            mu: known(effect.mu),
            mu_star,
            mu_star_conf,
            sigma: known(effect.sigma),
            used: effect.used,
            lost: effect.lost,
            no_step: effect.no_step,
            steps: Some(effect.steps),
        }
    };
    Indices::Moat(found.parameters.iter().map(row).collect())
}

fn vbd_rows(found: &VbdIndices) -> Indices {
    let row = |share: &analyze::Share| {
        let ((s1, s1_conf), (st, st_conf)) = (parts(share.first), parts(share.total));
        VbdRow {
            s1,
            s1_conf,
            st,
            st_conf,
        }
    };
    let pair = |pair: &analyze::PairShare| {
        let (s2, s2_conf) = parts(pair.share);
        VbdPair {
            parameters: pair.parameters,
            s2,
            s2_conf,
        }
    };
    Indices::Vbd(VbdRows {
        rows: found.parameters.iter().map(row).collect(),
        pairs: found.pairs.iter().map(pair).collect(),
        used: found.used,
        lost: found.lost,
        constant: found.constant,
        drawn: Some(found.drawn),
    })
}
