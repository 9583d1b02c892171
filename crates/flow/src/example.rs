//! What to write where a study file has something of another kind.
//!
//! Law: an example keeps what stands in the file, as far as it can; written as it says, it is of the right kind.

use std::ptr;

use crate::formats::{METHOD, MOAT, OVERRIDE, SCREEN, THEN, TWO_PHASE, UNTIL, VBD};
use crate::scalar;
use crate::shape::{Shape, Table};
use crate::source::Source;
use crate::suggest::Suggester;
use crate::tree::{Kind, Node};

/// The longest piece of a file that is repeated in an example.
const LONGEST: usize = 40;

const MOAT_EXAMPLE: &str = "moat: {trajectories: 10}";
const VBD_EXAMPLE: &str = "vbd: {samples: 256}";
const TWO_PHASE_EXAMPLE: &str =
    "two-phase: {screen: {moat: {trajectories: 10}}, keep: 8, then: {vbd: {samples: 256}}}";
const TABLE_EXAMPLE: &str = "table: samples.csv";

/// For something that is no mapping, in the place of a method, a part of one, or what ends it.
pub(crate) fn of_method(node: &Node, shape: &Shape) -> Option<String> {
    let table = record(shape)?;
    let is = |other: &'static Table| ptr::eq(table, other);
    let count = match &node.kind {
        Kind::Scalar { text, plain: true } => text.parse::<u32>().ok(),
        _ => None,
    };
    let example = if is(&METHOD) {
        let word = node.text().map_or("", |text| text);
        format!("method: {{{}}}", example(named(word)))
    } else if is(&SCREEN) {
        format!("screen: {{{MOAT_EXAMPLE}}}")
    } else if is(&THEN) {
        format!("then: {{{VBD_EXAMPLE}}}")
    } else if is(&TWO_PHASE) {
        TWO_PHASE_EXAMPLE.to_owned()
    } else if is(&MOAT) {
        count.map_or(MOAT_EXAMPLE.to_owned(), |count| {
            format!("moat: {{trajectories: {count}}}")
        })
    } else if is(&UNTIL) {
        let width = match &node.kind {
            Kind::Scalar { text, plain: true } => text.parse::<f64>().ok(),
            _ => None,
        };
        let width = width.filter(|width| *width > 0.0 && *width < 1.0);
        let width = width.map_or("0.05".to_owned(), scalar::shown);
        format!("until: {{ci: {width}}}")
    } else if is(&VBD) {
        if node.is_nothing() {
            return Some(format!("it needs `samples`: write `{VBD_EXAMPLE}`"));
        }
        count.map_or(VBD_EXAMPLE.to_owned(), |count| {
            format!("vbd: {{samples: {count}}}")
        })
    } else {
        return None;
    };
    Some(format!("write `{example}`"))
}

/// The method that somebody means by a word.
fn named(word: &str) -> &str {
    let known = METHOD.synonyms.iter().find(|(other, _)| *other == word);
    if let Some((_, method)) = known {
        return method;
    }
    if METHOD.fields.iter().any(|field| field.name == word) {
        return word;
    }
    let names = METHOD.fields.iter().map(|field| field.name);
    Suggester::default().nearest(word, names).unwrap_or("moat")
}

fn example(method: &str) -> &'static str {
    match method {
        "vbd" => VBD_EXAMPLE,
        "two-phase" => TWO_PHASE_EXAMPLE,
        "table" => TABLE_EXAMPLE,
        _ => MOAT_EXAMPLE,
    }
}

/// For a value or a list in the place of what a study says about a parameter.
pub(crate) fn of_setting(
    key: &Node,
    node: &Node,
    shape: &Shape,
    source: &Source<'_>,
) -> Option<String> {
    if shape.fits(node) || !ptr::eq(record(shape)?, &OVERRIDE) {
        return None;
    }
    let name = key.text()?;
    let written = source.slice(node.span).trim_end();
    let short = written.len() <= LONGEST && !written.contains(['\n', '\r', '`']);
    match node.items() {
        Some(items) => {
            let number = |item: &Node| matches!(&item.kind, Kind::Scalar { text, plain: true } if scalar::is_number(text));
            let field = match items {
                [low, high] if number(low) && number(high) => "range",
                _ => "values",
            };
            let written = if short && written.starts_with('[') {
                written
            } else {
                "[a, b]"
            };
            Some(format!("write `{name}: {{{field}: {written}}}`"))
        }
        None => {
            let written = if short { written } else { "V" };
            Some(format!(
                "`{name}: {{value: {written}}}` fixes it, `{name}: {{range: [a, b]}}` varies it"
            ))
        }
    }
}

fn record(shape: &Shape) -> Option<&'static Table> {
    match shape {
        Shape::Record(table) => Some(table),
        Shape::Maybe(shape) => record(shape),
        _ => None,
    }
}
