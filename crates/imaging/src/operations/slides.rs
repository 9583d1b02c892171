//! Slides: images that are read in tiles and whose masks are put together again.
//!
//! Law: a slide stays a file; a tile of it is named by a box, which is data, so that a list of boxes costs next to
//! nothing and each tile is read when its turn comes. Each tile is an image of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::sync::Arc;

use headwater_graph::{Operation, OperationError, Signature, Type, Value};

use super::values::colour_value;
use super::{Call, integers, operation};
use crate::files::{Format, ImageError, Level, RowFile, Slide, TileBox, Tiling, read_image, tiles};
use crate::mosaic::Mosaic;

pub(super) fn operations() -> Vec<Operation> {
    vec![partition(), tile(), stitch()]
}

fn failed(error: &ImageError) -> OperationError {
    OperationError::Failed(error.to_string())
}

fn open(call: &Call<'_>) -> Result<Slide, OperationError> {
    let reader = call.context.open(call.input("slide"))?;
    Slide::open(reader).map_err(|error| OperationError::Input {
        port: "slide".to_owned(),
        message: error.to_string(),
    })
}

fn count(call: &Call<'_>, name: &str, least: i64) -> Result<u64, OperationError> {
    let value = call.int(name)?;
    if value < least {
        return Err(OperationError::Parameter {
            parameter: name.to_owned(),
            message: format!("expected at least {least}, found {value}"),
        });
    }
    Ok(value.unsigned_abs())
}

/// The size of the level that is asked for.
fn level(call: &Call<'_>, slide: &Slide) -> Result<(usize, u64, u64), OperationError> {
    let place = count(call, "level", 0)? as usize;
    let found = slide.levels().get(place);
    let found = found.ok_or_else(|| OperationError::Parameter {
        parameter: "level".to_owned(),
        message: format!("the slide has levels 0 to {}", slide.levels().len() - 1),
    })?;
    Ok((place, found.width, found.height))
}

/// The boxes that a slide is cut into.
fn partition() -> Operation {
    let signature = Signature::new("partition", "1")
        .input("slide", Type::File)
        .output("boxes", Type::Record.list());
    let parameters = [("tile", 2048), ("halo", 0), ("level", 0)];
    operation(integers(signature, &parameters), |call| {
        let slide = open(call)?;
        let (place, width, height) = level(call, &slide)?;
        let (tile, halo) = (count(call, "tile", 0)?, count(call, "halo", 0)?);
        check_partition(&slide.levels()[place], tile)?;
        let boxes = tiles(width, height, tile, halo);
        let boxes: Vec<Value> = boxes
            .map(|tile| box_value(&tile, (width, height)))
            .collect();
        Ok(vec![("boxes", Value::List(boxes.into()))])
    })
}

/// Smaller tiles than this show nothing.
const LEAST_TILE: u64 = 16;

/// More tiles than this are a slip of the pen.
const MOST_TILES: u64 = 1 << 20;

/// Pixels that may be decoded in vain, all tiles taken together: some ten minutes.
const MOST_IN_VAIN: u64 = 1 << 36;

/// Whether a slide can be cut so. One that is stored in whole rows is decoded from its first row for every tile.
fn check_partition(level: &Level, tile: u64) -> Result<(), OperationError> {
    let (width, height) = (level.width, level.height);
    let wrong = |message: String| {
        Err(OperationError::Parameter {
            parameter: "tile".to_owned(),
            message,
        })
    };
    if tile == 0 {
        return Ok(());
    }
    if tile < LEAST_TILE {
        return wrong(format!(
            "expected at least {LEAST_TILE} pixels, or 0 for the whole slide, found {tile}"
        ));
    }
    let (across, down) = (width.div_ceil(tile), height.div_ceil(tile));
    let count = across.saturating_mul(down);
    if count > MOST_TILES {
        return wrong(format!(
            "{tile} would cut {width} × {height} pixels into {count} tiles; at most {MOST_TILES} are allowed"
        ));
    }
    if level.is_in_rows() && count.saturating_mul(width.saturating_mul(height)) > MOST_IN_VAIN {
        return wrong(format!(
            "the slide is stored in whole rows, and each of {count} tiles would decode them again; save it as a \
             tiled TIFF, take larger tiles, or use `headwater imaging segment --tile`"
        ));
    }
    Ok(())
}

/// The fields of a box, with the size of its slide.
type Field = (&'static str, fn(&mut TileBox) -> &mut u64);

const FIELDS: [Field; 8] = [
    ("x", |tile| &mut tile.x),
    ("y", |tile| &mut tile.y),
    ("width", |tile| &mut tile.width),
    ("height", |tile| &mut tile.height),
    ("outer-x", |tile| &mut tile.outer_x),
    ("outer-y", |tile| &mut tile.outer_y),
    ("outer-width", |tile| &mut tile.outer_width),
    ("outer-height", |tile| &mut tile.outer_height),
];

fn box_value(tile: &TileBox, (width, height): (u64, u64)) -> Value {
    let mut tile = *tile;
    let number = |value: u64| Value::Int(value.cast_signed());
    let mut fields: BTreeMap<Arc<str>, Value> = FIELDS
        .iter()
        .map(|(name, field)| (Arc::from(*name), number(*field(&mut tile))))
        .collect();
    fields.insert("slide-width".into(), number(width));
    fields.insert("slide-height".into(), number(height));
    Value::Record(Arc::new(fields))
}

/// The box of a record, and the size of its slide.
fn to_box(value: &Value) -> Result<(TileBox, (u64, u64)), OperationError> {
    let wrong = |message: String| OperationError::Input {
        port: "box".to_owned(),
        message,
    };
    let Value::Record(fields) = value else {
        let found = value.value_type();
        return Err(wrong(format!("expected a box of a slide, found {found}")));
    };
    let number = |name: &str| match fields.get(name) {
        Some(Value::Int(value)) if *value >= 0 => Ok(value.unsigned_abs()),
        _ => Err(wrong(format!(
            "expected a box of a slide: no `{name}` in it"
        ))),
    };
    let mut tile = TileBox::default();
    for (name, field) in FIELDS {
        *field(&mut tile) = number(name)?;
    }
    Ok((tile, (number("slide-width")?, number("slide-height")?)))
}

/// One tile, and its box with it: whoever puts tiles together again needs both.
fn tile() -> Operation {
    let signature = Signature::new("tile", "1")
        .input("slide", Type::File)
        .input("box", Type::Record)
        .output("box", Type::Record)
        .output("image", Type::Image)
        .working_on_outputs(220);
    operation(integers(signature, &[("level", 0)]), |call| {
        let mut slide = open(call)?;
        let (level, _, _) = level(call, &slide)?;
        let (tile, _) = to_box(call.input("box"))?;
        let image = slide
            .read(
                level,
                tile.outer_x,
                tile.outer_y,
                tile.outer_width,
                tile.outer_height,
            )
            .map_err(|error| failed(&error))?;
        Ok(vec![
            ("box", call.input("box").clone()),
            ("image", colour_value(image.view())?),
        ])
    })
}

/// The mask of a slide.
fn stitch() -> Operation {
    let signature = Signature::new("stitch", "1")
        .input("masks", Type::File.list())
        .input("boxes", Type::Record.list())
        .file_output("mask", "tif")
        .output("nuclei", Type::Int)
        .output("foreground", Type::Int);
    operation(signature, |call| {
        let (Value::List(masks), Value::List(boxes)) = (call.input("masks"), call.input("boxes"))
        else {
            return Err(OperationError::Failed("expected two lists".to_owned()));
        };
        if masks.len() != boxes.len() || boxes.is_empty() {
            return Err(OperationError::Input {
                port: "masks".to_owned(),
                message: format!(
                    "{} masks for {} tiles; expected one for each",
                    masks.len(),
                    boxes.len()
                ),
            });
        }
        let places: Vec<(TileBox, (u64, u64))> =
            boxes.iter().map(to_box).collect::<Result<_, _>>()?;
        let (first, (width, height)) = places[0];
        let scratch = call.context.scratch.clone().ok_or_else(|| {
            OperationError::Failed("there is no folder to write a mask to".to_owned())
        })?;
        let path = scratch.join("mask.tif");
        let file = fs::create_dir_all(&scratch).and_then(|()| File::create(&path));
        let file = file.map_err(|error| {
            OperationError::Failed(format!("cannot write `{}`: {error}", path.display()))
        })?;
        let mut rows = RowFile::new(
            BufWriter::new(file),
            Format::Tiff,
            width as usize,
            height as usize,
        )
        .map_err(|error| failed(&error))?;
        // The first tile is as large as tiles are, unless the slide is smaller.
        let size = first.width.max(first.height);
        let tiling = Tiling::new(width, height, size, 0);
        let mut mosaic = Mosaic::new(tiling, |row: &[u8]| rows.write_row(row));
        for ((tile, _), mask) in places.iter().zip(masks.iter()) {
            if call.context.cancel.is_cancelled() {
                return Err(OperationError::Cancelled);
            }
            let picture = read_image(&call.context.read(mask)?).map_err(|error| failed(&error))?;
            let placed = mosaic.place(tile, picture.into_mask().view());
            placed.map_err(|error| failed(&error))?;
        }
        let counts = mosaic.finish().map_err(|error| failed(&error))?;
        rows.finish().map_err(|error| failed(&error))?;
        Ok(vec![
            ("mask", call.context.give_file("mask.tif")?),
            ("nuclei", Value::Int(counts.nuclei.cast_signed())),
            ("foreground", Value::Int(counts.foreground.cast_signed())),
        ])
    })
}
