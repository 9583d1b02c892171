//! Normalization, the split into channels and the seven tasks.
//!
//! Law: the ports say what really depends on what: only the first task reads green and blue, and only the fifth reads
//! what the first one found.

use headwater_graph::{Operation, OperationError, Scalar, ScalarType, Signature, Type, Value};

use super::values::{colour_value, empty_value, grey_value, mask_value};
use super::{Call, Given, integers, operation, reals, shortest};
use crate::nuclei::{self, Parameters, Status, byte};
use crate::{Bitmap, Connectivity, Target, View, normalize};

pub(super) fn operations() -> Vec<Operation> {
    let defaults = Parameters::default();
    let connectivity = |value: Connectivity| match value {
        Connectivity::Four => 4,
        Connectivity::Eight => 8,
    };
    vec![
        normalization(),
        operation(
            helper(
                Signature::new("split", "1")
                    .input("image", Type::Image)
                    .output("red", Type::Image)
                    .output("green", Type::Image)
                    .output("blue", Type::Image)
                    .working("image", 110),
            ),
            split,
        ),
        operation(
            reals(
                integers(
                    Signature::new("red-blood-cells", "1")
                        .input("red", Type::Image)
                        .input("green", Type::Image)
                        .input("blue", Type::Image)
                        .output("mask", Type::Image)
                        .output("status", Type::Int)
                        .working("red", 50),
                    &[
                        ("red", defaults.r.into()),
                        ("green", defaults.g.into()),
                        ("blue", defaults.b.into()),
                    ],
                ),
                &[("t1", defaults.t1.into()), ("t2", defaults.t2.into())],
            ),
            red_blood_cells,
        ),
        operation(
            integers(
                Signature::new("reconstruct-background", "1")
                    .input("red", Type::Image)
                    .output("inverted", Type::Image)
                    .output("background", Type::Image)
                    .working("red", 220),
                &[("connectivity", connectivity(defaults.recon_conn))],
            ),
            reconstruct_background,
        ),
        operation(
            integers(
                Signature::new("threshold", "1")
                    .input("inverted", Type::Image)
                    .input("background", Type::Image)
                    .output("difference", Type::Image)
                    .output("mask", Type::Image)
                    .working("inverted", 150),
                &[
                    ("threshold", defaults.g1.into()),
                    ("connectivity", connectivity(defaults.fill_holes_conn)),
                ],
            ),
            threshold,
        ),
        operation(
            integers(
                Signature::new("filter-candidates", "1")
                    .input("mask", Type::Image)
                    .output("mask", Type::Image)
                    .output("status", Type::Int)
                    .working("mask", 50),
                &[
                    ("min-size", defaults.min_size),
                    ("max-size", defaults.max_size),
                ],
            ),
            filter_candidates,
        ),
        operation(
            integers(
                Signature::new("candidates", "1")
                    .input("difference", Type::Image)
                    .input("seeds", Type::Image)
                    .input("red-blood-cells", Type::Image)
                    .input("background-status", Type::Int)
                    .input("seeds-status", Type::Int)
                    .output("mask", Type::Image)
                    .output("status", Type::Int)
                    .working("difference", 50),
                &[("threshold", defaults.g2.into())],
            ),
            candidates,
        ),
        operation(
            integers(
                Signature::new("separate", "1")
                    .input("image", Type::Image)
                    .input("mask", Type::Image)
                    .input("status", Type::Int)
                    .output("mask", Type::Image)
                    .output("status", Type::Int)
                    .working("mask", 900),
                &[
                    ("min-size", defaults.min_size_pl),
                    ("connectivity", connectivity(defaults.watershed_conn)),
                ],
            ),
            separate,
        ),
        operation(
            integers(
                Signature::new("final-filter", "1")
                    .input("mask", Type::Image)
                    .input("status", Type::Int)
                    .output("mask", Type::Image)
                    .output("nuclei", Type::Int)
                    .output("status", Type::Int)
                    .working("mask", 50),
                &[
                    ("min-size", defaults.min_size_seg),
                    ("max-size", defaults.max_size_seg),
                    ("connectivity", connectivity(defaults.fill_holes_conn)),
                ],
            ),
            final_filter,
        ),
    ]
}

/// A task that is not worth counting or remembering: making its outputs again is as quick as reading them.
fn helper(mut signature: Signature) -> Signature {
    signature.implicit = true;
    signature
}

/// The names of the parameters that say what normalization aims at: mean, then standard deviation, of each channel.
const TARGET: [(&str, &str); 3] = [
    ("mean-l", "std-l"),
    ("mean-a", "std-a"),
    ("mean-b", "std-b"),
];

fn normalization() -> Operation {
    let target = Target::default();
    let mut signature = Signature::new("normalize", "1")
        .input("image", Type::Image)
        .output("image", Type::Image)
        .working("image", 150)
        .parameter("apply", ScalarType::Bool, Some(Scalar::Bool(true)));
    for (channel, (mean, std)) in TARGET.into_iter().enumerate() {
        let defaults = [
            (mean, shortest(target.mean[channel])),
            (std, shortest(target.std[channel])),
        ];
        signature = reals(signature, &defaults);
    }
    operation(signature, |call| {
        if !call.bool("apply")? {
            return Ok(vec![("image", call.input("image").clone())]);
        }
        let mut target = Target::default();
        for (channel, (mean, std)) in TARGET.into_iter().enumerate() {
            target.mean[channel] = call.float(mean)? as f32;
            target.std[channel] = call.float(std)? as f32;
        }
        let normalized = normalize(call.colour("image")?.view(), &target);
        Ok(vec![("image", colour_value(normalized.view())?)])
    })
}

fn split(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let [red, green, blue] = nuclei::split(call.colour("image")?.view());
    Ok(vec![
        ("red", grey_value(red.view())?),
        ("green", grey_value(green.view())?),
        ("blue", grey_value(blue.view())?),
    ])
}

fn status_value(status: Status) -> Value {
    Value::Int(status.code())
}

/// What a task gives when there is nothing to do.
fn stopped<T>(status: Status, image: View<'_, T>) -> Result<Given, OperationError> {
    Ok(vec![
        ("mask", empty_value((image.width(), image.height()))?),
        ("status", status_value(status)),
    ])
}

fn red_blood_cells(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let (red, green, blue) = (call.grey("red")?, call.grey("green")?, call.grey("blue")?);
    call.same_size(("red", red), ("green", green))?;
    call.same_size(("red", red), ("blue", blue))?;
    let parameters = Parameters {
        r: byte(call.int("red")?),
        g: byte(call.int("green")?),
        b: byte(call.int("blue")?),
        t1: call.float("t1")? as f32,
        t2: call.float("t2")? as f32,
        ..Parameters::default()
    };
    let cells = nuclei::red_blood_cells(red, green, blue, &parameters);
    Ok(vec![
        ("mask", mask_value(&cells.mask)?),
        ("status", status_value(cells.status)),
    ])
}

fn bitmap(mask: View<'_, u8>) -> Bitmap {
    Bitmap::from_mask(mask)
}

fn connectivity(call: &Call<'_>) -> Result<Connectivity, OperationError> {
    call.int("connectivity").map(Connectivity::from_parameter)
}

fn sizes(call: &Call<'_>) -> Result<(i64, i64), OperationError> {
    Ok((call.int("min-size")?, call.int("max-size")?))
}

fn reconstruct_background(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let made = nuclei::reconstruct_background(call.grey("red")?, connectivity(call)?);
    Ok(vec![
        ("inverted", grey_value(made.inverted.view())?),
        ("background", grey_value(made.reconstructed.view())?),
    ])
}

fn threshold(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let (inverted, background) = (call.grey("inverted")?, call.grey("background")?);
    call.same_size(("inverted", inverted), ("background", background))?;
    let level = byte(call.int("threshold")?);
    let made = nuclei::threshold(inverted, background, level, connectivity(call)?);
    Ok(vec![
        ("difference", grey_value(made.difference.view())?),
        ("mask", mask_value(&made.mask)?),
    ])
}

fn filter_candidates(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let (mask, status) = nuclei::filter_candidates(&bitmap(call.grey("mask")?), sizes(call)?);
    Ok(vec![
        ("mask", mask_value(&mask)?),
        ("status", status_value(status)),
    ])
}

fn candidates(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let difference = call.grey("difference")?;
    let status = call.status("background-status")?;
    let status = status.or(call.status("seeds-status")?);
    if status != Status::Done {
        return stopped(status, difference);
    }
    let (seeds, cells) = (call.grey("seeds")?, call.grey("red-blood-cells")?);
    call.same_size(("difference", difference), ("seeds", seeds))?;
    call.same_size(("difference", difference), ("red-blood-cells", cells))?;
    let level = byte(call.int("threshold")?);
    let mask = nuclei::candidates(difference, &bitmap(seeds), &bitmap(cells), level);
    Ok(vec![
        ("mask", mask_value(&mask)?),
        ("status", status_value(status)),
    ])
}

fn separate(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let (image, mask) = (call.colour("image")?, call.grey("mask")?);
    let status = call.status("status")?;
    if status != Status::Done {
        return stopped(status, mask);
    }
    call.same_size(("image", image.view()), ("mask", mask))?;
    let separated = nuclei::separate(
        image.view(),
        &bitmap(mask),
        call.int("min-size")?,
        connectivity(call)?,
    );
    Ok(vec![
        ("mask", mask_value(&separated)?),
        ("status", status_value(status)),
    ])
}

fn final_filter(call: &mut Call<'_>) -> Result<Given, OperationError> {
    let mask = call.grey("mask")?;
    let status = call.status("status")?;
    if status != Status::Done {
        let mut given = stopped(status, mask)?;
        given.push(("nuclei", Value::Int(0)));
        return Ok(given);
    }
    let (mask, status, nuclei) =
        nuclei::final_filter(&bitmap(mask), sizes(call)?, connectivity(call)?);
    Ok(vec![
        ("mask", mask_value(&mask)?),
        ("nuclei", Value::Int(nuclei as i64)),
        ("status", status_value(status)),
    ])
}
