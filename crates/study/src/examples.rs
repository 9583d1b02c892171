//! Parameter sets worth looking at: where the objective is highest, where it is lowest, and the default.
//!
//! Law: which sets these are says `extremes.rs`. All examples show the same item. The images are those that the workflow
//! makes there, made smaller where they are large.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_enact::{Blueprint, DataSet, Requested};
use headwater_engine::deliver::ValueReader;
use headwater_engine::{Error, Run};
use headwater_graph::{
    Array, ElementType, Image, Index, OutputBinding, Scalar, TaskGraph, Type, Value,
};
use headwater_merge::Compact;
use headwater_report::study::{ExampleImage, PhaseSummary, StudyExample};

use super::extremes;
use crate::assemble::{Cut, REFERENCE, assemble};
use crate::close::Closer;
use crate::facts::{Book, Part};
use crate::instances::{Instances, Varied};
use crate::names::Names;
use crate::open::{Close, open_for};
use crate::phase::{EndedPhase, Workplace};
use crate::round::{number, products};

/// No side of an image that is shown is longer.
const LONGEST: usize = 640;

/// What is shown, and what is to be told of it.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    pub(crate) found: Vec<StudyExample>,
    pub(crate) notes: Vec<String>,
}

/// An evaluation that is worth looking at.
struct Chosen {
    name: &'static str,
    /// Which phase and which of its sets; none for the default.
    set: Option<(usize, usize)>,
    item: usize,
    value: Option<f64>,
    /// Over all items, where there are several.
    mean: Option<f64>,
}

/// The sets with the highest and the lowest mean over all items, and the default; all on the item on which the two differ
/// most.
fn choose(phases: &[&PhaseSummary]) -> Vec<Chosen> {
    let Some((best, worst)) = extremes::find(phases) else {
        return Vec::new();
    };
    let values = |at| extremes::values(phases, at);
    let apart = |(best, worst): (Option<f64>, Option<f64>)| match (best, worst) {
        (Some(best), Some(worst)) => (best - worst).abs(),
        _ => f64::NEG_INFINITY,
    };
    let items = values(best.0).zip(values(worst.0)).map(apart);
    // Of equal ones the first.
    let (item, _) = items
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |most, (item, apart)| {
            if apart > most.1 { (item, apart) } else { most }
        });
    let several = phases.iter().any(|phase| phase.values.len() > 1);
    let chosen = |name, (at, mean, _): extremes::Found| Chosen {
        name,
        set: Some(at),
        item,
        value: values(at).nth(item).flatten(),
        mean: several.then_some(mean),
    };
    let default = Chosen {
        name: "default",
        set: None,
        item,
        value: None,
        mean: None,
    };
    vec![chosen("best", best), chosen("worst", worst), default]
}

/// Makes the examples. `images` are the outputs that are images; without one there are no examples.
pub(crate) fn examples(
    site: &Workplace<'_>,
    data_set: &DataSet,
    phases: &[EndedPhase],
    images: &[OutputBinding],
    book: &mut Book,
    run: &mut Run,
) -> Result<Examples, Error> {
    let summaries: Vec<&PhaseSummary> = phases.iter().map(|phase| &phase.summary).collect();
    let chosen = choose(&summaries);
    if images.is_empty() || chosen.is_empty() || !run.remembers() {
        return Ok(Examples::default());
    }
    let objective = &site.study.resolved.objective;
    let others: Vec<OutputBinding> = images.to_vec();
    let mut closer = Closer {
        study: site.study,
        loaded: site.loaded,
        ground: site.ground,
        book,
        run,
    };
    let (study, loaded, baseline) = (site.study, site.loaded, site.baseline);
    let mut close =
        |graph: &TaskGraph, blueprint: &Blueprint, varies| closer.made(graph, blueprint, varies);
    let close: Option<&mut Close<'_>> = Some(&mut close);
    let open = open_for(study, loaded, data_set, baseline, &others, close)?;
    let rows: Vec<BTreeMap<Arc<str>, Scalar>> = chosen
        .iter()
        .map(|chosen| extremes::parameters(site, phases, chosen.set))
        .collect();
    let varied = table(
        &site
            .study
            .resolved
            .studied
            .iter()
            .map(|known| Arc::clone(&known.name))
            .collect::<Vec<_>>(),
        &rows,
    );
    let Ok(instances) = Instances::new(&open.graph, &open.blueprint, &varied) else {
        return Ok(Examples::default());
    };
    let compact = Compact::new(&instances.template, &instances.sets);
    let workflow = &site.loaded.workflow;
    let mut assembled = assemble(
        &instances,
        (&open.graph, &open.blueprint),
        workflow,
        0,
        &Cut::Shared,
        &compact,
    )?;
    let items: Vec<&Index> = site
        .open
        .items
        .iter()
        .map(|position| &site.open.blueprint.requested[*position].index)
        .collect();
    // Of each output the one that belongs to the item, or else the first.
    let pick = |set: usize, item: usize, output: &Arc<str>| -> Option<usize> {
        let of_set = |place: &usize| {
            assembled.cells[*place].0 as usize == set
                && assembled.requested[*place].output == *output
        };
        let places: Vec<usize> = (0..assembled.requested.len()).filter(of_set).collect();
        let wanted = items.get(item);
        let exact = places.iter().find(|place| {
            let index = &assembled.requested[**place].index.0[1..];
            wanted.is_some_and(|wanted| *wanted.0 == *index)
        });
        exact.or(places.first()).copied()
    };
    let mut picked: Vec<(usize, Arc<str>, Requested)> = Vec::new();
    for (set, chosen) in chosen.iter().enumerate() {
        let names = images.iter().map(|output| &output.name);
        for name in std::iter::once(&objective.name).chain(names) {
            if let Some(place) = pick(set, chosen.item, name) {
                picked.push((set, Arc::clone(name), assembled.requested[place].clone()));
            }
        }
    }
    assembled.requested = picked.iter().map(|(_, _, found)| found.clone()).collect();
    assembled.wanted = products(&assembled.requested);
    // Who else asks for what is shown was noted when it was asked for.
    assembled.shared.clear();
    for place in &mut assembled.places {
        let chosen = chosen.get(place.set as usize).and_then(|one| one.set);
        place.set = chosen.map_or(REFERENCE, |(phase, set)| {
            (summaries[phase].first_set + set) as u32
        });
    }
    let names = Names::new(workflow, open.stages(), &instances);
    let ended = site.ground.run(assembled, names, &[], run)?;
    book.round(&ended, Part::Aside);
    book.tell(site.ground.progress);
    if let Some(error) = ended.trouble {
        return Err(error);
    }
    let notes = ended.failures.iter().map(|seen| {
        let address = ended.names.address(&ended.enactment, seen.task);
        format!(
            "an example cannot be shown: task `{address}`: {}",
            seen.failure.message
        )
    });
    let notes = notes.collect();
    let mut reader = ValueReader::new(&ended.fetcher);
    let mut found: Vec<StudyExample> = chosen
        .iter()
        .zip(&rows)
        .map(|(chosen, row)| StudyExample {
            name: chosen.name.to_owned(),
            set: chosen
                .set
                .map(|(phase, set)| summaries[phase].first_set + set),
            item: chosen.item,
            value: chosen.value,
            mean: chosen.mean,
            parameters: site
                .study
                .resolved
                .studied
                .iter()
                .filter_map(|known| {
                    let value = row.get(&known.name)?;
                    Some((known.name.to_string(), value.to_string()))
                })
                .collect(),
            images: Vec::new(),
        })
        .collect();
    for (set, name, requested) in &picked {
        let Some(value) = reader.value(&ended.enactment, &requested.source) else {
            continue;
        };
        if *name == objective.name {
            found[*set].value = found[*set].value.or_else(|| number(&value));
        } else if let Some(image) = shown(site, name, &value) {
            found[*set].images.push(image);
        }
    }
    found.retain(|example| !example.images.is_empty());
    Ok(Examples { found, notes })
}

/// Rows as a table of parameter sets.
fn table(names: &[Arc<str>], rows: &[BTreeMap<Arc<str>, Scalar>]) -> Varied {
    let names: Vec<Arc<str>> = names
        .iter()
        .filter(|name| rows.iter().all(|row| row.contains_key(*name)))
        .cloned()
        .collect();
    let mut varied = Varied {
        values: vec![Vec::new(); names.len()],
        cells: Vec::new(),
        sets: rows.len(),
        names,
    };
    for row in rows {
        for (column, name) in varied.names.iter().enumerate() {
            varied.cells.push(varied.values[column].len() as u32);
            varied.values[column].push(row[name].clone());
        }
    }
    varied
}

/// The value as an image to be looked at.
fn shown(site: &Workplace<'_>, output: &Arc<str>, value: &Value) -> Option<ExampleImage> {
    let Value::Image(image) = value else {
        return None;
    };
    let small = smaller(image)?;
    let (height, width) = (small.array.shape()[0], small.array.shape()[1]);
    let codec = site.ground.registry.codec(&Type::Image)?;
    let is_png = codec
        .extensions
        .first()
        .is_some_and(|first| **first == *"png");
    let bytes = (codec.encode)(&Value::Image(Arc::new(small))).ok()?;
    is_png.then(|| ExampleImage {
        output: output.to_string(),
        width: width as usize,
        height: height as usize,
        png: base64(&bytes),
    })
}

/// The image, each pixel of which is the mean of so many that it fits.
fn smaller(image: &Image) -> Option<Image> {
    let shape: Vec<usize> = image
        .array
        .shape()
        .iter()
        .map(|side| *side as usize)
        .collect();
    let [height, width, channels] = shape[..] else {
        return None;
    };
    if image.array.element_type() != ElementType::U8 || height == 0 || width == 0 {
        return None;
    }
    let factor = height.max(width).div_ceil(LONGEST);
    let bytes = image.array.bytes();
    let (rows, columns) = (height.div_ceil(factor), width.div_ceil(factor));
    let mut small = Vec::with_capacity(rows * columns * channels);
    for row in 0..rows {
        for column in 0..columns {
            let (bottom, right) = (
                height.min((row + 1) * factor),
                width.min((column + 1) * factor),
            );
            for channel in 0..channels {
                let (mut sum, mut count) = (0_u32, 0_u32);
                for y in row * factor..bottom {
                    for x in column * factor..right {
                        sum += u32::from(bytes[(y * width + x) * channels + channel]);
                        count += 1;
                    }
                }
                small.push(((sum + count / 2) / count) as u8);
            }
        }
    }
    let shape = [rows as u64, columns as u64, channels as u64];
    Some(Image {
        array: Array::new(ElementType::U8, &shape, &small)?,
        channels: Arc::clone(&image.channels),
    })
}

/// Bytes in base 64 (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let part = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for sign in 0..4 {
            text.push(if sign <= chunk.len() {
                char::from(SIGNS[(bits >> (18 - 6 * sign) & 63) as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_report::study::{Indices, PhaseKind};

    fn phase(values: Vec<Vec<Option<f64>>>) -> PhaseSummary {
        PhaseSummary {
            kind: PhaseKind::Table,
            method: String::new(),
            confidence: None,
            parameters: Vec::new(),
            fixed: Vec::new(),
            levels: None,
            step: headwater_report::study::EffectStep::Actual,
            groups: 0,
            groups_planned: 0,
            first_set: 0,
            sets: values[0].len(),
            sets_planned: values[0].len(),
            rule: None,
            failed: Vec::new(),
            pooled: Indices::None,
            each: Vec::new(),
            convergence: Vec::new(),
            values,
        }
    }

    #[test]
    fn sets_are_judged_by_all_items_and_shown_on_one() {
        // On the first item set 0 is best, on the second worst; over both, set 1 is best and set 2 worst. Set 3 has no
        // value on one of them.
        let one = vec![Some(1.0), Some(0.75), Some(0.5), Some(9.0)];
        let other = vec![Some(0.0), Some(0.75), Some(0.25), None];
        let chosen = choose(&[&phase(vec![one, other])]);
        let shown: Vec<_> = chosen
            .iter()
            .map(|one| (one.name, one.set, one.item, one.value, one.mean))
            .collect();
        assert_eq!(
            shown,
            [
                ("best", Some((0, 1)), 1, Some(0.75), Some(0.75)),
                ("worst", Some((0, 2)), 1, Some(0.25), Some(0.375)),
                ("default", None, 1, None, None),
            ]
        );
        // With one item the mean is the value.
        let single = choose(&[&phase(vec![vec![Some(2.0), Some(1.0)]])]);
        assert_eq!((single[0].value, single[0].mean), (Some(2.0), None));
        assert!(choose(&[&phase(vec![vec![None]])]).is_empty());
        // An item that failed altogether leaves the others to be judged by as a whole.
        let one = vec![Some(1.0), Some(0.75), Some(0.5), Some(9.0)];
        let other = vec![Some(0.0), Some(0.75), Some(0.25), None];
        let failed = choose(&[&phase(vec![one, vec![None; 4], other])]);
        let sets: Vec<_> = failed.iter().map(|one| (one.set, one.item)).collect();
        assert_eq!(sets, [(Some((0, 1)), 2), (Some((0, 2)), 2), (None, 2)]);
    }

    /// The examples of RFC 4648, section 10.
    #[test]
    fn base_64_is_that_of_everybody() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let found: Vec<String> = texts.iter().map(|text| base64(text.as_bytes())).collect();
        assert_eq!(
            found,
            [
                "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"
            ]
        );
    }

    #[test]
    fn a_large_image_becomes_the_means_of_its_parts() {
        let side = LONGEST + 2;
        let bytes: Vec<u8> = (0..side * side)
            .map(|at| if at % side < 2 { 100 } else { 200 })
            .collect();
        let image = Image {
            array: Array::new(ElementType::U8, &[side as u64, side as u64, 1], &bytes).unwrap(),
            channels: "grey".into(),
        };
        let small = smaller(&image).unwrap();
        assert_eq!(
            small.array.shape(),
            [(side / 2) as u64, (side / 2) as u64, 1]
        );
        assert_eq!(small.array.bytes()[..3], [100, 200, 200]);
    }
}
