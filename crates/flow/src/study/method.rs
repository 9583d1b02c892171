//! How a study draws its samples.
//!
//! Law: a method holds every setting, written or not; the defaults stand here and nowhere else.

use std::sync::Arc;

use headwater_graph::{Diagnostic, Span};

use super::{Placed, check_path, placed};
use crate::formats::{
    DESIGN_WORDS, LENGTH_WORDS, LEVEL_WORDS, METHOD, MOAT, SAMPLER_WORDS, SCREEN, THEN, TWO_PHASE,
    VBD,
};
use crate::leaf;
use crate::report::Report;
use crate::scalar::{rounded, shown};
use crate::shape::Fields;
use crate::tree::Node;

/// How samples are drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Screening by changing one parameter at a time.
    Moat(MoatMethod),
    /// Decomposition of variance.
    Vbd(VbdMethod),
    /// Screening of all parameters, then a decomposition of variance of those with the largest effects.
    TwoPhase {
        /// The screening.
        screen: MoatMethod,
        /// How many parameters the second phase keeps; at least 1.
        keep: Placed<u32>,
        /// The decomposition.
        then: VbdMethod,
    },
    /// Samples that the user brings: the path of a table, as it is written.
    Table(Placed<Arc<str>>),
}

impl Method {
    /// How many evaluations the method asks for with so many parameters; `None` where a table says it.
    pub fn evaluations(&self, parameters: usize) -> Option<u64> {
        match self {
            Method::Moat(moat) => Some(moat.evaluations(parameters)),
            Method::Vbd(vbd) => Some(vbd.evaluations(parameters)),
            Method::TwoPhase { screen, keep, then } => {
                let kept = parameters.min(keep.value as usize);
                let second = then.evaluations(kept);
                Some(screen.evaluations(parameters).saturating_add(second))
            }
            Method::Table(_) => None,
        }
    }
}

/// How many values a parameter takes in a screening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// As many for every parameter; even, and at least 2.
    Each(u32),
    /// As many as the parameter has values.
    Grid,
}

/// How trajectories are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// At random.
    Random,
    /// At random, and of many such those that lie furthest apart.
    Spread,
    /// From base points of a quasi-random sequence, one step in each direction.
    Radial,
}

/// What the effects of a screening are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepLength {
    /// The step that was taken, in parts of the parameter's range.
    Actual,
    /// The step between the levels of the design, whatever values the parameter has.
    Nominal,
}

/// Screening by changing one parameter at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct MoatMethod {
    /// How many trajectories; at least 1, and 2 where there are intervals.
    pub trajectories: u32,
    /// Where `trajectories` stands, or `moat` where it is left out.
    pub trajectories_span: Span,
    /// How many values a parameter takes.
    pub levels: Levels,
    /// Where `levels` stands, or `moat` where it is left out.
    pub levels_span: Span,
    /// How trajectories are chosen: `design`.
    pub walk: Walk,
    /// What effects are divided by: `step`.
    pub step: StepLength,
    /// How many resamples the intervals come from; 0 for none, never 1.
    pub bootstrap: u32,
    /// The share that the intervals cover; above 0 and below 1.
    pub confidence: f64,
}

impl MoatMethod {
    /// r(k+1).
    pub fn evaluations(&self, parameters: usize) -> u64 {
        u64::from(self.trajectories).saturating_mul(parameters as u64 + 1)
    }
}

/// How base points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampler {
    /// Independently.
    Mc,
    /// A Latin hypercube.
    Lhs,
    /// A scrambled Halton sequence.
    Halton,
    /// A scrambled Sobol' sequence.
    Sobol,
}

/// Decomposition of variance.
#[derive(Debug, Clone, PartialEq)]
pub struct VbdMethod {
    /// How many base points; at least 1, and 2 where there are intervals.
    pub samples: u32,
    /// Where `samples` stands.
    pub samples_span: Span,
    /// How they are drawn.
    pub sampler: Sampler,
    /// Whether effects of pairs are wanted.
    pub second_order: bool,
    /// How many resamples the intervals come from; 0 for none, never 1.
    pub bootstrap: u32,
    /// The share that the intervals cover; above 0 and below 1.
    pub confidence: f64,
}

impl VbdMethod {
    /// n(k+2), or n(2k+2) with second order.
    pub fn evaluations(&self, parameters: usize) -> u64 {
        let parameters = parameters as u64;
        let rows = if self.second_order {
            parameters.saturating_mul(2).saturating_add(2)
        } else {
            parameters.saturating_add(2)
        };
        u64::from(self.samples).saturating_mul(rows)
    }
}

const TRAJECTORIES: u32 = 10;
const LEVELS: u32 = 20;
const BOOTSTRAP: u32 = 100;
const CONFIDENCE: f64 = 0.95;

/// The most levels that a parameter may have.
const MOST_LEVELS: u32 = 1_000_000;
/// The most resamples that intervals may come from.
const MOST_RESAMPLES: u32 = 100_000;

/// Reads a method, and where its name stands. What has the wrong kind has been reported.
pub(super) fn method(node: &Node, report: &mut Report) -> Option<(Method, Span)> {
    let fields = Fields::of(node, &METHOD);
    if let Some((key, node)) = fields.entry("moat") {
        let moat = moat(key, node, report)?;
        return Some((Method::Moat(moat), key.span));
    }
    if let Some((key, node)) = fields.entry("vbd") {
        return Some((Method::Vbd(vbd(node, report)?), key.span));
    }
    if let Some((key, node)) = fields.entry("two-phase") {
        let phases = Fields::of(node, &TWO_PHASE);
        let screen = phases.get("screen").and_then(|node| {
            let (key, node) = Fields::of(node, &SCREEN).entry("moat")?;
            moat(key, node, report)
        });
        let keep = phases.get("keep").and_then(|node| {
            let value = count(node, 1, u32::MAX, report)?;
            let span = node.span;
            Some(Placed { value, span })
        });
        let then = phases
            .get("then")
            .and_then(|node| vbd(Fields::of(node, &THEN).get("vbd")?, report));
        let (screen, keep, then) = (screen?, keep?, then?);
        return Some((Method::TwoPhase { screen, keep, then }, key.span));
    }
    let (key, node) = fields.entry("table")?;
    let path = placed(node)?;
    check_path(&path, report);
    Some((Method::Table(path), key.span))
}

/// A whole number from `least` to `most`.
fn count(node: &Node, least: u64, most: u32, report: &mut Report) -> Option<u32> {
    let number = leaf::whole(node, least).ok()?;
    let fitting = u32::try_from(number).ok().filter(|number| *number <= most);
    if fitting.is_none() {
        let message = format!("{number} is more than a study can have");
        report.error_with(node.span, message, format!("at most {most} will do"));
    }
    fitting
}

/// The value of a field as `read` has it, or the default where the field is not there.
fn or<T>(node: Option<&Node>, default: T, read: impl FnOnce(&Node) -> Option<T>) -> Option<T> {
    match node {
        Some(node) => read(node),
        None => Some(default),
    }
}

fn moat(key: &Node, node: &Node, report: &mut Report) -> Option<MoatMethod> {
    let fields = Fields::of(node, &MOAT);
    let trajectories = or(fields.get("trajectories"), TRAJECTORIES, |node| {
        count(node, 1, u32::MAX, report)
    });
    let levels = or(fields.get("levels"), Levels::Each(LEVELS), |node| {
        if leaf::word(node, LEVEL_WORDS).is_ok() {
            return Some(Levels::Grid);
        }
        let number = count(node, 2, MOST_LEVELS, report)?;
        if number % 2 != 0 {
            let message = format!("{number} levels are an odd number, and steps jump half of them");
            let (below, above) = (number - 1, u64::from(number) + 1);
            let hint = format!("write `levels: {below}` or `levels: {above}`");
            report.error_with(node.span, message, hint);
            return None;
        }
        Some(Levels::Each(number))
    });
    let walk = or(fields.get("design"), Walk::Random, |node| {
        Some(match leaf::word(node, DESIGN_WORDS).ok()? {
            "spread" => Walk::Spread,
            "radial" => Walk::Radial,
            _ => Walk::Random,
        })
    });
    let step = or(fields.get("step"), StepLength::Actual, |node| {
        Some(match leaf::word(node, LENGTH_WORDS).ok()? {
            "nominal" => StepLength::Nominal,
            _ => StepLength::Actual,
        })
    });
    let (bootstrap, confidence) = intervals(&fields, report);
    let (trajectories, bootstrap) = (trajectories?, bootstrap?);
    let place = |name: &str| fields.get(name).map_or(key.span, |node| node.span);
    let span = place("trajectories");
    if trajectories == 1 && bootstrap > 0 {
        let message = "one trajectory gives no interval";
        let hint = "take at least 2, or write `bootstrap: 0` to have no intervals";
        report.error_with(span, message, hint);
    }
    if walk == Some(Walk::Radial)
        && let Some((key, _)) = fields.entry("levels")
    {
        let message = "radial designs do not use `levels`: any value of a parameter may come";
        let hint = "leave it out, or take another design";
        report.push(Diagnostic::note(key.span, message).with_hint(hint));
    }
    Some(MoatMethod {
        trajectories,
        trajectories_span: span,
        levels: levels?,
        levels_span: place("levels"),
        walk: walk?,
        step: step?,
        bootstrap,
        confidence: confidence?,
    })
}

fn vbd(node: &Node, report: &mut Report) -> Option<VbdMethod> {
    let fields = Fields::of(node, &VBD);
    let samples = fields
        .get("samples")
        .and_then(|node| count(node, 1, u32::MAX, report));
    let sampler = or(fields.get("sampler"), Sampler::Sobol, |node| {
        Some(match leaf::word(node, SAMPLER_WORDS).ok()? {
            "mc" => Sampler::Mc,
            "lhs" => Sampler::Lhs,
            "halton" => Sampler::Halton,
            _ => Sampler::Sobol,
        })
    });
    let second_order = or(fields.get("second-order"), false, |node| {
        leaf::flag(node).ok()
    });
    let (bootstrap, confidence) = intervals(&fields, report);
    let (samples, sampler, bootstrap) = (samples?, sampler?, bootstrap?);
    let span = fields.get("samples").map_or(node.span, |node| node.span);
    if samples == 1 && bootstrap > 0 {
        let message = "one base point gives no interval";
        let hint = "take at least 2, or write `bootstrap: 0` to have no intervals";
        report.error_with(span, message, hint);
    } else if sampler == Sampler::Sobol && !samples.is_power_of_two() {
        let next = u64::from(samples).next_power_of_two();
        let message =
            format!("{samples} is no power of two; Sobol' points are evenly spread only for one");
        let hint = format!(
            "write `samples: {}` or `samples: {next}`, or take another sampler",
            next / 2
        );
        report.push(Diagnostic::note(span, message).with_hint(hint));
    }
    Some(VbdMethod {
        samples,
        samples_span: span,
        sampler,
        second_order: second_order?,
        bootstrap,
        confidence: confidence?,
    })
}

fn intervals(fields: &Fields<'_>, report: &mut Report) -> (Option<u32>, Option<f64>) {
    let bootstrap = or(fields.get("bootstrap"), BOOTSTRAP, |node| {
        let resamples = count(node, 0, MOST_RESAMPLES, report)?;
        if resamples == 1 {
            let hint = "write `bootstrap: 0` to have no intervals, or take at least 2";
            report.error_with(node.span, "one resample gives no interval", hint);
            return None;
        }
        Some(resamples)
    });
    let confidence = or(fields.get("confidence"), CONFIDENCE, |node| {
        share("confidence", CONFIDENCE, node, report)
    });
    (bootstrap, confidence)
}

/// A number above 0 and below 1, for a field of this name.
pub(super) fn share(name: &str, usual: f64, node: &Node, report: &mut Report) -> Option<f64> {
    let share = leaf::number(node).ok()?;
    if share > 0.0 && share < 1.0 {
        return Some(share);
    }
    let written = shown(share);
    let message = format!("`{name}` is above 0 and below 1, and {written} is not");
    // Somebody may have thought of percent.
    let meant = if share > 1.0 && share < 100.0 {
        rounded(share / 100.0)
    } else {
        usual
    };
    let hint = format!("write `{name}: {}`", shown(meant));
    report.error_with(node.span, message, hint);
    None
}
