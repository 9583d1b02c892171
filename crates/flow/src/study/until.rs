//! When a study has seen enough.
//!
//! Law: the rule speaks of the half-widths of intervals, so it stands only where the method gives indices with
//! intervals. What a method has as its number of samples or trajectories is the most that is run.

use headwater_graph::Span;

use super::method::{Method, share};
use crate::formats::UNTIL;
use crate::report::Report;
use crate::shape::Fields;
use crate::tree::Node;

/// When a study has seen enough.
///
/// It is asked at fixed prefixes of the design, in order, of the indices of all items together; the first prefix that
/// fulfils it is the last that is evaluated. Of two phases it holds for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// How wide half an interval may be; above 0 and below 1. For shares of variance this is the half-width itself,
    /// and for a screening it is a part of the largest μ*.
    pub ci: f64,
    /// Where `until` stands.
    pub span: Span,
}

/// Reads the rule. What has the wrong kind has been reported.
pub(super) fn until(
    key: &Node,
    node: &Node,
    method: Option<&Method>,
    report: &mut Report,
) -> Option<Until> {
    let span = key.span;
    let wrong = match method {
        Some(Method::Table(_)) => Some((
            "`until` needs indices, and a table of own samples gives none".to_owned(),
            "leave `until` out: all rows of the table are evaluated".to_owned(),
        )),
        Some(method) => without_intervals(method).map(|phase| {
            (
                format!("`until` needs intervals, and `{phase}` has `bootstrap: 0`"),
                "leave `bootstrap` out to have intervals, or leave `until` out".to_owned(),
            )
        }),
        None => None,
    };
    if let Some((message, hint)) = wrong {
        report.error_with(span, message, hint);
    }
    let ci = share("ci", 0.05, Fields::of(node, &UNTIL).get("ci")?, report)?;
    Some(Until { ci, span })
}

/// A phase that gives no intervals.
fn without_intervals(method: &Method) -> Option<&'static str> {
    let (screen, then) = match method {
        Method::Moat(moat) => (Some(moat), None),
        Method::Vbd(vbd) => (None, Some(vbd)),
        Method::TwoPhase { screen, then, .. } => (Some(screen), Some(then)),
        Method::Table(_) => (None, None),
    };
    match (screen, then) {
        (Some(moat), _) if moat.bootstrap == 0 => Some("moat"),
        (_, Some(vbd)) if vbd.bootstrap == 0 => Some("vbd"),
        _ => None,
    }
}
