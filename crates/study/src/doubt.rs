//! What puts the answer of a study in doubt, though nothing failed.
//!
//! Law: nothing here knows what values mean. A reference all of whose values are equal shows nothing, whatever it is of; a
//! cut between parameters whose intervals overlap may be chance.

use std::collections::HashMap;
use std::sync::Arc;

use headwater_enact::Requested;
use headwater_engine::deliver::ValueReader;
use headwater_flow::Method;
use headwater_graph::{Array, Index, Source, Value};
use headwater_report::study::{PhaseSummary, StudyItem};

use crate::assemble::Assembled;
use crate::instances::Instances;
use crate::load::Study;
use crate::open::{MadeReference, Open};
use crate::round::EndedRound;

/// So many items or parameters are named.
const NAMED: usize = 4;

/// What a reference is asked for as: no output has a blank in its name.
pub(crate) fn asked_as(made: &MadeReference) -> Arc<str> {
    format!(" {}", made.input).into()
}

/// The references of a study in the graph of all its tasks: asked for, so that their bytes are kept and can be looked at.
pub(crate) fn references(
    open: &Open,
    instances: &Instances,
    assembled: &Assembled,
) -> Vec<Requested> {
    let asked = |made: &MadeReference| {
        let Source::Product { task, port } = &made.source else {
            return None;
        };
        let task = assembled.of_steps.get(instances.step(*task)?)?;
        Some(Requested {
            output: asked_as(made),
            index: made.index.clone(),
            source: Source::Product {
                task: *task,
                port: *port,
            },
        })
    };
    open.made.iter().filter_map(asked).collect()
}

/// The references whose values are all equal, as far as their bytes are there; from what the first round has made.
pub(crate) fn blank(open: &Open, ended: &EndedRound) -> Vec<MadeReference> {
    let mut reader = ValueReader::new(&ended.fetcher);
    let mut asked: HashMap<(&str, &Index), &Source> = HashMap::new();
    for requested in ended.enactment.requested() {
        if requested.output.starts_with(' ') {
            asked.insert((&requested.output, &requested.index), &requested.source);
        }
    }
    let mut is_blank = |made: &&MadeReference| {
        let name = asked_as(made);
        let source = asked.get(&(&*name, &made.index));
        let value = source.and_then(|source| reader.value(&ended.enactment, source));
        value.is_some_and(|value| shows_nothing(&value))
    };
    open.made.iter().filter(&mut is_blank).cloned().collect()
}

/// Whether a value is an image or an array without any difference in it.
pub(crate) fn shows_nothing(value: &Value) -> bool {
    match value {
        Value::Image(image) => is_even(&image.array),
        Value::Array(array) => is_even(array),
        _ => false,
    }
}

/// Whether all elements are equal; of an image, all pixels.
fn is_even(array: &Array) -> bool {
    let bytes = array.bytes();
    let shape = array.shape();
    // The channels of an image, or of the last axis of an array with as many axes, belong to one pixel.
    let together = match shape {
        [_, _, channels] => *channels as usize,
        _ => 1,
    };
    let elements: u64 = shape.iter().product();
    let element = bytes.len().checked_div(elements as usize).unwrap_or(0);
    let part = (element * together).max(1);
    let Some(first) = bytes.get(..part) else {
        return false;
    };
    bytes.chunks_exact(part).all(|other| other == first)
}

/// What is to be told of blank references.
pub(crate) fn about_blank(
    blank: &[MadeReference],
    made: &[MadeReference],
    items: &[StudyItem],
) -> Vec<String> {
    let mut told = Vec::new();
    let mut inputs: Vec<&Arc<str>> = blank.iter().map(|one| &one.input).collect();
    inputs.dedup();
    for input in inputs {
        let own: Vec<&MadeReference> = blank.iter().filter(|one| one.input == *input).collect();
        let all = made.iter().filter(|one| one.input == *input).count();
        let output = &own[0].output;
        let named = |one: &&MadeReference| {
            let index = one.index.to_string();
            let item = items.iter().find(|item| item.index == index);
            let name = item.and_then(|item| item.inputs.first());
            match name {
                Some((_, name)) => format!("{index} ({name})"),
                None => index,
            }
        };
        let whose = match (all, own.as_slice()) {
            (1, _) => format!("input `{input}`, `{output}` at the default parameters, is blank"),
            (_, [only]) => format!(
                "input `{input}`, `{output}` at the default parameters, is blank for item {}, of {all}",
                named(only)
            ),
            (_, several) => {
                let names: Vec<String> = several.iter().take(NAMED).map(named).collect();
                let more = match several.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "input `{input}`, `{output}` at the default parameters, is blank for {} of {all} items: {}{more}",
                    several.len(),
                    names.join(", ")
                )
            }
        };
        told.push(format!(
            "{whose}: all its values are the same, so there is nothing to compare with; look at the default `{output}` first, \
             and change the defaults, fix other values or give a reference of your own"
        ));
    }
    told
}

/// What is reported of the parameters that a second phase keeps.
pub(crate) fn about_kept(study: &Study, screen: &PhaseSummary) -> Vec<String> {
    let open = about_the_last_kept(study, screen);
    open.into_iter().chain(about_unknown(screen)).collect()
}

/// Parameters of which the screening says nothing: they are not kept, and nobody knows whether they matter.
fn about_unknown(screen: &PhaseSummary) -> Option<String> {
    let sizes = screen.pooled.sizes();
    let unknown = screen.parameters.iter().zip(&sizes);
    let names: Vec<String> = unknown
        .filter(|(_, size)| size.0.is_none())
        .map(|(parameter, _)| format!("`{}`", parameter.name))
        .collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        format!(
            "the screening has no effects of {}{more}, so it is not known whether the second phase should have kept it",
            names[..names.len().min(NAMED)].join(", ")
        )
    })
}

/// Where the parameters that a second phase keeps are cut off at a place that is open.
fn about_the_last_kept(study: &Study, screen: &PhaseSummary) -> Option<String> {
    let Method::TwoPhase { keep, .. } = &study.study.method else {
        return None;
    };
    let keep = keep.value as usize;
    let (ranking, sizes) = (screen.pooled.ranking(), screen.pooled.sizes());
    let (kept, left) = ranking.split_at_checked(keep)?;
    let ends = |place: &usize| match sizes.get(*place)? {
        (Some(size), Some(half)) => Some((size - half, size + half)),
        _ => None,
    };
    let last = kept.last()?;
    // Of two without any effect it does not matter which is kept.
    let matters = |place: &&usize| sizes[**place].0.is_some_and(|size| size > 0.0);
    let overlapping: Vec<&usize> = left
        .iter()
        .filter(matters)
        .filter(|place| match (ends(last), ends(place)) {
            (Some(last), Some(other)) => other.1 >= last.0,
            _ => false,
        })
        .collect();
    if !screen.pooled.has_ranks() && !left.is_empty() {
        return Some(format!(
            "the screening has too few trajectories for ranks, so the {keep} parameters that were kept for the second phase may \
             not be those that matter most; screen longer"
        ));
    }
    if overlapping.is_empty() {
        return None;
    }
    let names: Vec<String> = [last]
        .into_iter()
        .chain(overlapping)
        .filter_map(|place| screen.parameters.get(*place))
        .map(|parameter| format!("`{}`", parameter.name))
        .collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "the screening does not decide which parameter has rank {keep}: the intervals of {}{more} overlap. `{}` was \
         kept for the second phase; keep more parameters, or use more trajectories",
        names[..names.len().min(NAMED)].join(", "),
        screen.parameters.get(*last)?.name
    ))
}

#[cfg(test)]
mod tests {
    use headwater_graph::{ElementType, Image};

    use super::*;

    fn image(bytes: &[u8], channels: u64) -> Value {
        let shape = [1, bytes.len() as u64 / channels, channels];
        Value::Image(Arc::new(Image {
            array: Array::new(ElementType::U8, &shape, bytes).expect("an array"),
            channels: "any".into(),
        }))
    }

    #[test]
    fn an_image_of_one_colour_shows_nothing() {
        assert!(shows_nothing(&image(&[0, 0, 0, 0], 1)));
        assert!(shows_nothing(&image(&[1, 2, 3, 1, 2, 3], 3)));
        assert!(!shows_nothing(&image(&[0, 0, 255, 0], 1)));
        assert!(!shows_nothing(&image(&[1, 2, 3, 1, 2, 4], 3)));
        assert!(!shows_nothing(&Value::Float(0.0)));
        let numbers: Vec<u8> = [2.5_f32; 3]
            .iter()
            .flat_map(|one| one.to_le_bytes())
            .collect();
        let array = Array::new(ElementType::F32, &[3], &numbers).expect("an array");
        assert!(shows_nothing(&Value::Array(array)));
    }

    #[test]
    fn blank_references_are_named_by_item() {
        let made: Vec<MadeReference> = (0..3)
            .map(|number| MadeReference {
                input: "reference".into(),
                output: "mask".into(),
                index: Index([number].into()),
                source: Source::External(0),
            })
            .collect();
        let items: Vec<StudyItem> = (0..3)
            .map(|number| StudyItem {
                index: number.to_string(),
                inputs: vec![("tile".to_owned(), format!("{number}.png"))],
            })
            .collect();
        let blank = [made[0].clone(), made[2].clone()];
        let told = about_blank(&blank, &made, &items);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("is blank for 2 of 3 items: 0 (0.png), 2 (2.png): all its"));
        assert!(about_blank(&[], &made, &items).is_empty());
        let one = about_blank(&made[1..2], &made, &items);
        assert!(one[0].contains("is blank for item 1 (1.png), of 3: "));
    }
}
