//! Methods in words.

use headwater_flow::{Levels, Method, MoatMethod, Sampler, VbdMethod, Walk};

/// The method of the first phase of a study, in words.
pub(crate) fn first_in_words(method: &Method, at_most: bool) -> String {
    match method {
        Method::TwoPhase { screen, .. } => moat_in_words(screen, at_most),
        other => in_words(other, at_most),
    }
}

/// The method of a study, in words; `at_most`: a rule may end it earlier.
pub(crate) fn in_words(method: &Method, at_most: bool) -> String {
    match method {
        Method::Moat(moat) => moat_in_words(moat, at_most),
        Method::Vbd(vbd) => vbd_in_words(vbd, at_most),
        Method::TwoPhase { screen, keep, then } => format!(
            "{}, then {} of the {} with the largest effects",
            moat_in_words(screen, at_most),
            vbd_in_words(then, at_most),
            match keep.value {
                1 => "parameter".to_owned(),
                several => format!("{several} parameters"),
            }
        ),
        Method::Table(table) => format!("samples of {}", table.value),
    }
}

/// What stands before a number that a rule may leave unreached.
fn most(at_most: bool) -> &'static str {
    if at_most { "at most " } else { "" }
}

fn moat_in_words(moat: &MoatMethod, at_most: bool) -> String {
    let levels = match (moat.walk, moat.levels) {
        // A radial design has no levels.
        (Walk::Radial, _) => String::new(),
        (_, Levels::Each(levels)) => format!(", {levels} levels"),
        (_, Levels::Grid) => ", levels of the grid".to_owned(),
    };
    let walk = match moat.walk {
        Walk::Random => "random",
        Walk::Spread => "spread",
        Walk::Radial => "radial",
    };
    let ending = if moat.trajectories == 1 { "y" } else { "ies" };
    format!(
        "MOAT, {}{} {walk} trajector{ending}{levels}",
        most(at_most),
        moat.trajectories
    )
}

pub(crate) fn vbd_in_words(vbd: &VbdMethod, at_most: bool) -> String {
    let sampler = match vbd.sampler {
        Sampler::Mc => "Monte Carlo",
        Sampler::Lhs => "Latin hypercube",
        Sampler::Halton => "Halton",
        Sampler::Sobol => "Sobol'",
    };
    let second = if vbd.second_order {
        ", second order"
    } else {
        ""
    };
    let ending = if vbd.samples == 1 { "" } else { "s" };
    format!(
        "VBD, {}{} base point{ending} ({sampler}){second}",
        most(at_most),
        vbd.samples
    )
}
