//! What is made of masks: comparisons, pictures, files; and images made up for tests.
//!
//! Law: comparisons are of images of one size; a mask may be any grey image, labels may be 16 bits deep.

use std::sync::Arc;

use headwater_graph::{FileValue, Operation, OperationError, Signature, Type, Value};

use super::values::{colour_value, encode, grey_value};
use super::{Call, integers, operation, reals, shortest};
use crate::synth::{Synth, SynthOptions};
use crate::{MAX_PIXELS, OUTLINE, SizesDiffer, compare_objects, compare_pixels, overlay};

pub(super) fn operations() -> Vec<Operation> {
    vec![dice(), objects(), overlay_operation(), save(), synth()]
}

fn differ(port: &str, error: &SizesDiffer) -> OperationError {
    OperationError::Input {
        port: port.to_owned(),
        message: error.to_string(),
    }
}

/// Pixel by pixel.
fn dice() -> Operation {
    let signature = Signature::new("dice", "1")
        .input("a", Type::Image)
        .input("b", Type::Image)
        .output("dice", Type::Float)
        .output("jaccard", Type::Float)
        .output("differing", Type::Int);
    operation(signature, |call| {
        let (one, other) = (call.mask("a")?, call.mask("b")?);
        let agreement =
            compare_pixels(one.view(), other.view()).map_err(|error| differ("b", &error))?;
        Ok(vec![
            ("dice", Value::Float(agreement.dice())),
            ("jaccard", Value::Float(agreement.jaccard())),
            ("differing", Value::Int(agreement.differing() as i64)),
        ])
    })
}

/// Object by object.
fn objects() -> Operation {
    let signature = Signature::new("compare-objects", "1")
        .input("mask", Type::Image)
        .input("reference", Type::Image)
        .output("f1", Type::Float)
        .output("matches", Type::Int)
        .output("mean-dice", Type::Float)
        .output("objects", Type::Int)
        .output("references", Type::Int)
        .working("mask", 650)
        .working("reference", 650);
    operation(signature, |call| {
        let (mask, reference) = (call.labels("mask")?, call.labels("reference")?);
        let agreement = compare_objects(mask.view(), reference.view())
            .map_err(|error| differ("reference", &error))?;
        Ok(vec![
            ("f1", Value::Float(agreement.f1())),
            ("matches", Value::Int(agreement.matches as i64)),
            ("mean-dice", Value::Float(agreement.mean_dice)),
            ("objects", Value::Int(agreement.objects as i64)),
            ("references", Value::Int(agreement.references as i64)),
        ])
    })
}

fn overlay_operation() -> Operation {
    let signature = Signature::new("overlay", "1")
        .input("image", Type::Image)
        .input("mask", Type::Image)
        .output("image", Type::Image)
        .working("image", 110);
    let [red, green, blue] = OUTLINE.map(i64::from);
    let colour = [("red", red), ("green", green), ("blue", blue)];
    let signature = integers(signature, &colour);
    operation(integers(signature, &[("thickness", 1)]), |call| {
        let level = |name: &str| Ok::<_, OperationError>(call.int(name)?.clamp(0, 255) as u8);
        let outline = [level("red")?, level("green")?, level("blue")?];
        let mask = call.mask("mask")?;
        let drawn = overlay(
            call.colour("image")?.view(),
            mask.view(),
            outline,
            level("thickness")?,
        )
        .map_err(|error| differ("mask", &error))?;
        Ok(vec![("image", colour_value(drawn.view())?)])
    })
}

/// An image as a PNG file: small enough to wait in a list for the rest of its slide.
fn save() -> Operation {
    let signature = Signature::new("save", "1")
        .input("image", Type::Image)
        .file_output("file", "png")
        .working("image", 360);
    operation(signature, |call| {
        let bytes = encode(call.input("image"))?;
        let file = FileValue::of_bytes(bytes);
        Ok(vec![("file", Value::File(Arc::new(file)))])
    })
}

fn synth() -> Operation {
    let options = SynthOptions::default();
    let signature = Signature::new("synth", "1")
        .output("image", Type::Image)
        .output("mask", Type::Image)
        .working_on_outputs(110);
    let sizes = [("width", 1024), ("height", 1024), ("seed", 1)];
    let signature = reals(
        integers(signature, &sizes),
        &[("density", shortest(options.density))],
    );
    operation(signature, |call: &mut Call<'_>| {
        let size = |name: &str| {
            usize::try_from(call.int(name)?).map_err(|_| OperationError::Parameter {
                parameter: name.to_owned(),
                message: "expected a number of pixels".to_owned(),
            })
        };
        let options = SynthOptions {
            density: call.float("density")? as f32,
            ..SynthOptions::default()
        };
        let (width, height) = (size("width")?, size("height")?);
        if width.saturating_mul(height) > MAX_PIXELS {
            return Err(OperationError::Parameter {
                parameter: "width".to_owned(),
                message: format!(
                    "{width} × {height} pixels are too many for one image; `headwater imaging synth` writes files of \
                     any size"
                ),
            });
        }
        let seed = call.int("seed")?.cast_unsigned();
        let synth = Synth::new(width, height, seed, options)
            .map_err(|error| OperationError::Failed(error.to_string()))?;
        let (image, mask) = synth.band(0, height);
        Ok(vec![
            ("image", colour_value(image.view())?),
            ("mask", grey_value(mask.view())?),
        ])
    })
}
