//! What stands on a node or above a stage, and how much room it takes.
//!
//! Law: every line fits into its box; what is too long is cut, and whole in the text that shows when one points at it.

use crate::model::{DiagramGroup, DiagramNode, NodeKind};
use crate::text::{cut, plain, width, wrapped};

/// The size of names.
pub(crate) const NAME: f64 = 13.0;
/// The size of everything else.
pub(crate) const SMALL: f64 = 11.0;
/// Nodes are at least and at most that wide.
const WIDTHS: (f64, f64) = (72.0, 230.0);
/// Between text and the sides of a node.
const SIDE: f64 = 11.0;
/// The bar that shows how tasks ended.
pub(crate) const BAR: f64 = 5.0;

/// How a line of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A name.
    Name,
    /// Something about it.
    Small,
    /// Parameters that vary.
    Varied,
}

/// What stands on a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Face {
    pub(crate) lines: Vec<(Style, String)>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// The whole of it.
    pub(crate) title: String,
    pub(crate) bar: bool,
}

impl Face {
    pub(crate) fn of(node: &DiagramNode) -> Face {
        let lines = lines(node);
        let size = |style: Style| if style == Style::Name { NAME } else { SMALL };
        let widest = lines.iter().map(|(style, text)| width(text, size(*style)));
        let widest = widest.fold(0.0, f64::max) + 2.0 * SIDE;
        // The ends of inputs and outputs are round.
        let round = if node.kind == NodeKind::Task {
            0.0
        } else {
            8.0
        };
        let box_width = (widest + round).clamp(WIDTHS.0, WIDTHS.1).ceil();
        let room = box_width - 2.0 * SIDE - round;
        let bar = node.counts.is_some_and(|counts| counts.settled() > 0);
        let mut face = Face {
            width: box_width,
            height: 12.0 + if bar { BAR + 4.0 } else { 0.0 },
            title: title(node),
            bar,
            lines: Vec::with_capacity(lines.len()),
        };
        for (style, text) in lines {
            face.height += line_height(style);
            face.lines.push((style, cut(&text, size(style), room)));
        }
        face
    }
}

/// What stands on a node, line by line, uncut.
pub(crate) fn lines(node: &DiagramNode) -> Vec<(Style, String)> {
    let mut lines = vec![(Style::Name, plain(&node.label))];
    let mut small = |text: String| lines.push((Style::Small, plain(&text)));
    if let Some(operation) = node.told_operation() {
        small(operation.to_owned());
    }
    node.words.iter().for_each(|words| small(words.clone()));
    let ended = (node.told_counts(), node.told_seconds());
    match ended {
        (Some(counts), Some(seconds)) if counts.len() < 16 => {
            small(format!("{counts}, {seconds}"));
        }
        (counts, seconds) => counts.into_iter().chain(seconds).for_each(small),
    }
    if !node.varied.is_empty() {
        let varied = plain(&format!("varies {}", node.varied.join(", ")));
        let varied = wrapped(&varied, SMALL, WIDTHS.1 - 2.0 * SIDE);
        lines.extend(varied.into_iter().map(|line| (Style::Varied, line)));
    }
    lines
}

/// How much height a line takes.
pub(crate) fn line_height(style: Style) -> f64 {
    match style {
        Style::Name => 17.0,
        Style::Small | Style::Varied => 15.0,
    }
}

/// Everything about a node, for those who point at it.
fn title(node: &DiagramNode) -> String {
    let what = match node.kind {
        NodeKind::Input => "input ",
        NodeKind::Output => "output ",
        NodeKind::Task => "",
    };
    let name = node.address.as_deref().unwrap_or(&node.label);
    let mut lines = vec![format!("{what}{name}")];
    lines.extend(node.operation.clone());
    lines.extend(node.words.iter().cloned());
    lines.extend(node.told_counts());
    lines.extend(node.told_seconds());
    if !node.varied.is_empty() {
        lines.push(format!("varies {}", node.varied.join(", ")));
    }
    if node.optional {
        lines.push("may be absent".to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    lines.join("\n")
}

/// What stands above a stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heading {
    pub(crate) name: String,
    pub(crate) words: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) title: String,
}

impl Heading {
    /// `part` is which box of how many, for a stage that could not be drawn as one.
    pub(crate) fn of(group: &DiagramGroup, part: Option<(usize, usize)>) -> Heading {
        let part = part.map(|(part, of)| format!(" ({part} of {of})"));
        let whole = plain(&format!("{}{}", group.name, part.unwrap_or_default()));
        let all_words = plain(&group.words.join(" · "));
        let name = cut(&whole, NAME, WIDTHS.1);
        let words = cut(&all_words, SMALL, WIDTHS.1);
        let title = if all_words.is_empty() {
            format!("stage {whole}")
        } else {
            format!("stage {whole}\n{all_words}")
        };
        Heading {
            width: width(&name, NAME).max(width(&words, SMALL)),
            height: if words.is_empty() { 24.0 } else { 38.0 },
            name,
            words,
            title,
        }
    }
}
