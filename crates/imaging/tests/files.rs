//! Image files: what odd ones become, what is written comes back, slides in parts.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_imaging::files::{
    ImageError, Packing, Picture, Pixel, PngRows, Slide, TiffWriter, mutate, read_image, tiles,
    write_png,
};
use headwater_imaging::{Colour, LONGEST_SIDE, Plane, View};
use proptest::prelude::*;

const WIDTH: usize = 37;
const HEIGHT: usize = 29;

fn fixture(name: &str) -> &'static [u8] {
    mutate::CORPUS
        .iter()
        .find(|(other, _)| *other == name)
        .unwrap()
        .1
}

/// A file of the data that is kept beside the project, if it is there.
fn shared(path: &str) -> Option<PathBuf> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .skip(2)
        .map(|folder| folder.join("../shared").join(path))
        .find(|file| file.exists());
    if file.is_none() {
        println!("skipped: there is no ../shared/{path}");
    }
    file
}

/// The colours that the fixtures show.
fn colour(x: usize, y: usize) -> Colour {
    [(x * 6) as u8, (y * 8) as u8, ((x + y) * 3) as u8]
}

fn grey(x: usize, y: usize) -> u8 {
    ((x * 5 + y * 2) % 256) as u8
}

fn plane<T>(width: usize, height: usize, pixel: impl Fn(usize, usize) -> T) -> Plane<T> {
    let pixels = (0..width * height)
        .map(|at| pixel(at % width, at / width))
        .collect();
    Plane::new(width, height, pixels).unwrap()
}

fn expect_colour(name: &str, pixel: impl Fn(usize, usize) -> Colour) {
    let picture = read_image(fixture(name)).unwrap();
    assert!(
        picture == Picture::Colour(plane(WIDTH, HEIGHT, pixel)),
        "{name}"
    );
}

/// The largest and the mean difference of the channels.
fn difference(one: &[Colour], other: &[Colour]) -> (u8, f64) {
    assert_eq!(one.len(), other.len());
    let differences = one
        .as_flattened()
        .iter()
        .zip(other.as_flattened())
        .map(|(one, other)| one.abs_diff(*other));
    let most = differences.clone().max().unwrap_or(0);
    (
        most,
        differences.map(f64::from).sum::<f64>() / (3 * one.len()) as f64,
    )
}

#[test]
fn lossless_files_give_their_exact_pixels() {
    for name in [
        "colour.png",
        "interlaced.png",
        "strips-lzw.tif",
        "tiles-deflate.tif",
        "planar.tif",
        "cmyk.tif",
    ] {
        expect_colour(name, colour);
    }
    let deep = plane(WIDTH, HEIGHT, |x, y| (x * 1_700 + y * 7) as u16);
    for name in ["deep.png", "deep-big-endian.tif"] {
        assert!(
            read_image(fixture(name)).unwrap() == Picture::Deep(deep.clone()),
            "{name}"
        );
    }
    let picture = read_image(fixture("grey.png")).unwrap();
    assert!(picture == Picture::Grey(plane(WIDTH, HEIGHT, grey)));
}

#[test]
fn odd_files_become_what_the_table_says() {
    let over_white = |x: usize, y: usize| {
        let alpha = (x * 7) as u32 % 256;
        colour(x, y)
            .map(|value| ((u32::from(value) * alpha + 255 * (255 - alpha) + 127) / 255) as u8)
    };
    expect_colour("alpha.png", over_white);
    expect_colour("alpha.tif", over_white);
    expect_colour("palette.png", |x, y| {
        let index = grey(x, y) / 16;
        [index * 16, 255 - index * 16, index * 3]
    });
    expect_colour("palette.tif", |x, y| {
        [grey(x, y), 255 - grey(x, y), grey(x, y) / 2]
    });
    expect_colour("deep-colour.tif", |x, y| {
        [x * 1_700, y * 2_000, (x + y) * 900].map(|value| (value as u16 >> 8) as u8)
    });
    let bit = |x: usize, y: usize| if (x / 3 + y / 2) % 2 == 1 { 255 } else { 0 };
    assert!(read_image(fixture("bit.png")).unwrap() == Picture::Grey(plane(WIDTH, HEIGHT, bit)));
    let negative = plane(WIDTH, HEIGHT, |x, y| 255 - bit(x, y));
    assert!(read_image(fixture("bit.tif")).unwrap() == Picture::Grey(negative));
}

#[test]
fn jpeg_files_are_near_what_was_written() {
    let expected = plane(WIDTH, HEIGHT, colour);
    for (name, bound) in [
        ("colour.jpg", 8),
        ("progressive.jpg", 12),
        ("cmyk.jpg", 4),
        ("tiles-rgb-jpeg.tif", 8),
        // Its writer put black beyond the image, which colours the last pixels; libjpeg says the same.
        ("tiles-ycbcr.tif", 56),
    ] {
        let picture = read_image(fixture(name)).unwrap();
        assert!(matches!(picture, Picture::Colour(_)), "{name}");
        let (most, mean) = difference(picture.into_colour().pixels(), expected.pixels());
        assert!(
            most <= bound && mean < 3.0,
            "{name}: at most {most}, on average {mean}"
        );
    }
    assert!(matches!(
        read_image(fixture("grey.jpg")).unwrap(),
        Picture::Grey(_)
    ));
}

#[test]
fn errors_say_what_was_found_and_what_to_do() {
    let message = |bytes: &[u8]| read_image(bytes).unwrap_err().to_string();
    let text = message(b"slide,nuclei\n1,2\n");
    assert!(
        text.contains("text file") && text.contains("expected PNG"),
        "{text}"
    );
    let png = fixture("colour.png");
    assert!(message(&png[..png.len() / 2]).contains("ends too early"));
    let jpeg = fixture("colour.jpg");
    assert!(message(&jpeg[..jpeg.len() - 2]).contains("ends too early"));
    let tiff = fixture("alpha.tif");
    assert!(message(&tiff[..tiff.len() - 9]).contains("ends too early"));
}

/// The bytes of a PNG with another size in its header and the right sum.
fn resized(png: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png.to_vec();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    mutate::mend_sums(&mut bytes);
    bytes
}

#[test]
fn sizes_that_the_data_cannot_hold_are_refused() {
    let png = fixture("colour.png");
    let none = read_image(&resized(png, 0, 29));
    assert!(none.is_err(), "{none:?}");
    assert!(read_image(&resized(png, 0, 0)).is_err());
    for (width, height) in [
        (30_000, 30_000),
        (0x7fff_ffff, 0x7fff_ffff),
        (1 << 20, 1_024),
    ] {
        let error = read_image(&resized(png, width, height)).unwrap_err();
        assert!(matches!(error, ImageError::Implausible { .. }), "{error}");
        assert!(Slide::open(Cursor::new(resized(png, width, height))).is_err());
    }
    let mut jpeg = fixture("colour.jpg").to_vec();
    let frame = jpeg
        .windows(2)
        .position(|pair| pair == [0xff, 0xc0])
        .unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x7f, 0xff, 0x7f, 0xff]);
    let error = read_image(&jpeg).unwrap_err();
    assert!(matches!(error, ImageError::Implausible { .. }), "{error}");
}

#[test]
fn a_strip_of_100_000_pixels_is_an_image() {
    let strip = plane(100_000, 1, |x, _| [(x % 251) as u8, (x / 251) as u8, 7]);
    let png = write_png(strip.view()).unwrap();
    assert!(read_image(&png).unwrap() == Picture::Colour(strip.clone()));
    let mut slide = Slide::open(Cursor::new(png)).unwrap();
    assert!(slide.read(0, 99_990, 0, 10, 1).unwrap().pixels() == &strip.pixels()[99_990..]);
    let tiff = tiff_file(strip.view(), 256, Packing::Deflate);
    assert!(read_image(&tiff).unwrap() == Picture::Colour(strip));
    let column = plane(1, 100_000, |_, y| y as u16);
    assert!(read_image(&write_png(column.view()).unwrap()).unwrap() == Picture::Deep(column));
}

fn tiff_file<T: Pixel>(view: View<'_, T>, tile: u64, packing: Packing) -> Vec<u8> {
    let (width, height) = (view.width() as u64, view.height() as u64);
    let mut writer =
        TiffWriter::<_, T>::new(Cursor::new(Vec::new()), width, height, tile, packing).unwrap();
    // The last tiles first: any order will do.
    let mut boxes: Vec<_> = tiles(width, height, tile, 0).collect();
    boxes.reverse();
    for part in boxes {
        let mut pixels = Vec::new();
        for y in part.y..part.y + part.height {
            pixels
                .extend_from_slice(&view.row(y as usize)[part.x as usize..][..part.width as usize]);
        }
        let part_view = View::new(part.width as usize, part.height as usize, &pixels).unwrap();
        writer.write(part.x, part.y, part_view).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn another_program_reads_the_tiles_that_are_written() {
    let colours = plane(70, 50, |x, y| [(x * 3) as u8, (y * 5) as u8, (x ^ y) as u8]);
    let labels = plane(33, 47, |x, y| (x * 1_000 + y) as u16);
    for packing in [Packing::Plain, Packing::Deflate] {
        let file = tiff_file(colours.view(), 16, packing);
        let mut decoder = tiff::decoder::Decoder::new(Cursor::new(&file)).unwrap();
        assert_eq!(decoder.dimensions().unwrap(), (70, 50));
        let tiff::decoder::DecodingResult::U8(read) = decoder.read_image().unwrap() else {
            panic!("8 bits");
        };
        assert!(read == colours.pixels().as_flattened(), "{packing:?}");
        let file = tiff_file(labels.view(), 32, packing);
        let mut decoder = tiff::decoder::Decoder::new(Cursor::new(&file)).unwrap();
        let tiff::decoder::DecodingResult::U16(read) = decoder.read_image().unwrap() else {
            panic!("16 bits");
        };
        assert!(read == labels.pixels(), "{packing:?}");
    }
}

#[test]
fn boxes_that_are_no_tiles_are_refused() {
    let some = plane(16, 16, |_, _| 0u8);
    let begin =
        || TiffWriter::<_, u8>::new(Cursor::new(Vec::new()), 40, 40, 16, Packing::Plain).unwrap();
    assert!(TiffWriter::<_, u8>::new(Cursor::new(Vec::new()), 40, 40, 20, Packing::Plain).is_err());
    assert!(TiffWriter::<_, u8>::new(Cursor::new(Vec::new()), 0, 40, 16, Packing::Plain).is_err());
    assert!(begin().write(8, 0, some.view()).is_err());
    assert!(begin().write(32, 0, some.view()).is_err());
    let mut twice = begin();
    twice.write(16, 0, some.view()).unwrap();
    let message = twice.write(16, 0, some.view()).unwrap_err().to_string();
    assert!(message.contains("before"), "{message}");
    let message = twice.finish().err().unwrap().to_string();
    assert!(message.contains("(0, 0) was never written"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read(width in 1usize..90, height in 1usize..70, seed in any::<u64>(), noise in 0u64..3) {
        let value = |x: usize, y: usize| match noise {
            0 => (x as u64 / 7 + y as u64 / 5) * 40,
            1 => seed.wrapping_mul(x as u64 * 31 + y as u64 * 17 + 1) >> 40,
            _ => seed,
        };
        let greys = plane(width, height, |x, y| value(x, y) as u8);
        let deeps = plane(width, height, |x, y| value(x, y) as u16);
        let colours = plane(width, height, |x, y| [value(x, y) as u8, value(y, x) as u8, x as u8]);
        prop_assert!(read_image(&write_png(greys.view()).unwrap()).unwrap() == Picture::Grey(greys.clone()));
        prop_assert!(read_image(&write_png(deeps.view()).unwrap()).unwrap() == Picture::Deep(deeps.clone()));
        prop_assert!(read_image(&write_png(colours.view()).unwrap()).unwrap() == Picture::Colour(colours.clone()));
        for packing in [Packing::Plain, Packing::Deflate] {
            prop_assert!(read_image(&tiff_file(greys.view(), 32, packing)).unwrap() == Picture::Grey(greys.clone()));
            prop_assert!(read_image(&tiff_file(deeps.view(), 16, packing)).unwrap() == Picture::Deep(deeps.clone()));
            let file = tiff_file(colours.view(), 48, packing);
            prop_assert!(read_image(&file).unwrap() == Picture::Colour(colours.clone()));
            mutate::exercise(&file);
        }
        mutate::exercise(&write_png(colours.view()).unwrap());
    }
}

#[test]
fn rows_are_written_as_they_come() {
    let colours = plane(300, 200, |x, y| [x as u8, y as u8, (x * y) as u8]);
    let mut rows = PngRows::<_, Colour>::new(Vec::new(), 300, 200).unwrap();
    assert!(
        rows.write_row(&colours.row(0)[1..]).is_err(),
        "too short a row"
    );
    for y in 0..200 {
        rows.write_row(colours.row(y)).unwrap();
    }
    assert!(rows.write_row(colours.row(0)).is_err(), "a row too many");
    let file = rows.finish().unwrap();
    assert!(read_image(&file).unwrap() == Picture::Colour(colours));
    let early = PngRows::<_, u8>::new(Vec::new(), 3, 2).unwrap();
    assert!(early.finish().is_err(), "rows are missing");
    assert!(PngRows::<_, u8>::new(Vec::new(), 0, 2).is_err());
}

/// A disk with so much room.
#[derive(Default)]
struct Disk(usize);

impl std::io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        if written == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_fills_up_is_an_error_at_any_byte() {
    let write = |room: usize| {
        let mut rows = PngRows::<_, u8>::new(Disk(room), 5, 2)?;
        rows.write_row(&[1; 5])?;
        rows.write_row(&[2; 5])?;
        rows.finish()
    };
    let room = (0..500).find(|&room| write(room).is_ok()).unwrap();
    let whole = write_png(plane(5, 2, |_, y| y as u8 + 1).view()).unwrap();
    assert!(
        room >= whole.len(),
        "{room} bytes cannot hold {}",
        whole.len()
    );
}

#[test]
fn a_box_outside_the_slide_is_an_error() {
    let mut slide = Slide::open(Cursor::new(fixture("tiles-deflate.tif"))).unwrap();
    assert_eq!((slide.width(), slide.height()), (37, 29));
    assert!(matches!(
        slide.read(0, 30, 0, 8, 1),
        Err(ImageError::Outside { .. })
    ));
    assert!(matches!(
        slide.read(1, 0, 0, 1, 1),
        Err(ImageError::Outside { .. })
    ));
    assert!(matches!(
        slide.read(0, u64::MAX, 0, 2, 1),
        Err(ImageError::Outside { .. })
    ));
    assert!(matches!(
        slide.read(0, 0, 0, 0, 1),
        Err(ImageError::Empty { .. })
    ));
}

#[test]
fn a_slide_without_a_cache_has_the_same_pixels() {
    for (name, bytes) in mutate::CORPUS {
        let whole = read_image(bytes).unwrap().into_colour();
        let mut slide = Slide::open(Cursor::new(bytes)).unwrap().with_cache(0);
        // From below, so that a PNG has to begin again.
        for y in (0..slide.height()).rev().step_by(9) {
            let row = slide.read(0, 0, y, slide.width(), 1).unwrap();
            assert!(row.pixels() == whole.row(y as usize), "{name}, row {y}");
        }
    }
}

#[test]
fn levels_of_a_slide_are_its_tiled_images() {
    let mut slide = Slide::open(Cursor::new(fixture("aperio.tif"))).unwrap();
    let sizes: Vec<_> = slide
        .levels()
        .iter()
        .map(|level| (level.width, level.height, level.downsample))
        .collect();
    assert_eq!(
        sizes,
        [(60, 44, 1.0), (15, 11, 4.0)],
        "neither thumbnail nor label nor macro"
    );
    let read = slide.read(0, 50, 40, 10, 4).unwrap();
    assert!(
        read == plane(10, 4, |x, y| [(x + 50) * 4, (y + 40) * 4, (x + y + 90) * 2]
            .map(|value| value as u8))
    );
    let read = slide.read(1, 3, 2, 12, 9).unwrap();
    assert!(
        read == plane(12, 9, |x, y| [(x + 3) * 16, (y + 2) * 16, (x + y + 5) * 8]
            .map(|value| value as u8))
    );
}

/// A file that counts what is read of it.
struct Counted(Cursor<Vec<u8>>, Arc<AtomicU64>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn overlapping_tiles_decode_nothing_twice_while_the_cache_holds_a_row_of_them() {
    let colours = plane(200, 150, |x, y| {
        [(x * y) as u8, (x * 7) as u8, (y * 3) as u8]
    });
    let read = |file: &[u8], cache: usize| {
        let count = Arc::new(AtomicU64::new(0));
        let input = Counted(Cursor::new(file.to_vec()), Arc::clone(&count));
        let mut slide = Slide::open(input).unwrap().with_cache(cache);
        for part in tiles(200, 150, 40, 6) {
            let (x, y) = (part.outer_x, part.outer_y);
            slide
                .read(0, x, y, part.outer_width, part.outer_height)
                .unwrap();
        }
        count.load(Ordering::Relaxed)
    };
    // A row of boxes with their halo: 52 rows and the rest of the tiles they begin and end in, of 208 × 3 bytes.
    let row = 84 * 208 * 3;
    // Headers are looked at twice.
    let headers = 4_096;
    let tiff = tiff_file(colours.view(), 16, Packing::Plain);
    assert!(read(&tiff, row) <= tiff.len() as u64 + headers);
    assert!(
        read(&tiff, 0) > tiff.len() as u64 * 3 / 2,
        "without a cache it is read again"
    );
    let png = write_png(colours.view()).unwrap();
    assert!(read(&png, 0) <= png.len() as u64 + headers);
}

#[test]
fn tiles_that_a_file_leaves_out_are_white() {
    let colours = plane(40, 20, |_, _| [1, 2, 3]);
    let mut file = tiff_file(colours.view(), 16, Packing::Plain);
    // The list of lengths is the last thing before the directory; its first entry is the tile at the corner.
    let directory = u64::from_le_bytes(file[8..16].try_into().unwrap()) as usize;
    let lengths = directory - 6 * 8;
    file[lengths..lengths + 8].copy_from_slice(&[0; 8]);
    let expected = plane(40, 20, |x, y| {
        if x < 16 && y < 16 {
            [255; 3]
        } else {
            [1, 2, 3]
        }
    });
    assert!(read_image(&file).unwrap() == Picture::Colour(expected));
}

#[test]
fn compression_that_is_not_read_is_named_with_a_way_out() {
    let colours = plane(16, 16, |_, _| [1, 2, 3]);
    let mut file = tiff_file(colours.view(), 16, Packing::Plain);
    let directory = u64::from_le_bytes(file[8..16].try_into().unwrap()) as usize;
    let value = directory + 8 + 3 * 20 + 12;
    file[value..value + 2].copy_from_slice(&33_003u16.to_le_bytes());
    let message = read_image(&file).unwrap_err().to_string();
    assert!(
        message.contains("JPEG 2000") && message.contains("convert"),
        "{message}"
    );
    assert!(Slide::open(Cursor::new(file)).is_err());
}

#[test]
fn an_aperio_slide_has_the_pixels_that_libjpeg_gives() {
    let (Some(svs), Some(crop)) = (
        shared("data/histology/other/CMU-1-Small-Region.svs"),
        shared("data/histology/other/CMU-1-Small-Region_crop1024.png"),
    ) else {
        return;
    };
    let mut slide = Slide::open(File::open(&svs).unwrap()).unwrap();
    assert_eq!((slide.width(), slide.height()), (2_220, 2_967));
    assert_eq!(
        slide.levels().len(),
        1,
        "thumbnail, label and macro are no levels"
    );
    assert_eq!(slide.levels()[0].chunk, (240, 240));
    let read = slide.read(0, 600, 800, 1_024, 1_024).unwrap();
    let expected = read_image(&std::fs::read(crop).unwrap())
        .unwrap()
        .into_colour();
    let (most, mean) = difference(read.pixels(), expected.pixels());
    println!("differs from libjpeg by at most {most}, on average {mean:.5}");
    assert!(most <= 4 && mean < 0.5, "at most {most}, on average {mean}");
    let whole = read_image(&std::fs::read(&svs).unwrap())
        .unwrap()
        .into_colour();
    for part in tiles(2_220, 2_967, 700, 30).step_by(5) {
        let (x, y) = (part.outer_x, part.outer_y);
        let read = slide
            .read(0, x, y, part.outer_width, part.outer_height)
            .unwrap();
        let rows = (0..read.height())
            .all(|row| read.row(row) == &whole.row(y as usize + row)[x as usize..][..read.width()]);
        assert!(rows, "the part at ({x}, {y})");
    }
}

#[test]
fn labels_and_photographs_of_the_data_are_read() {
    let Some(folder) = shared("data/histology") else {
        return;
    };
    let read = |path: &str| read_image(&std::fs::read(folder.join(path)).unwrap()).unwrap();
    assert!(matches!(read("other/img2d.tif"), Picture::Deep(_)));
    assert!(matches!(read("other/mask2d.tif"), Picture::Deep(_)));
    assert!(matches!(read("other/histo.jpg"), Picture::Colour(_)));
    let labels = read("dsb2018/he_4193474b_labels.png")
        .into_labels()
        .unwrap();
    let photograph = read("dsb2018/he_4193474b.png");
    assert_eq!(
        (labels.width(), labels.height()),
        (photograph.width(), photograph.height())
    );
    assert!(labels.pixels().iter().any(|&label| label > 1));
}

/// Where the value of a tag of a small TIFF file of the little-end form is, and how many bytes it has.
fn tag_value(bytes: &[u8], wanted: u16) -> (usize, usize) {
    let short = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    let long = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let first = long(4) as usize;
    let entries = (0..usize::from(short(first))).map(|entry| first + 2 + 12 * entry);
    let at = entries.into_iter().find(|at| short(*at) == wanted).unwrap();
    let size = if short(at + 2) == 3 { 2 } else { 4 };
    match long(at + 4) as usize * size {
        0..=4 => (at + 8, size),
        _ => (long(at + 8) as usize, size),
    }
}

#[test]
fn a_jpeg_tile_that_ends_early_is_an_error() {
    const TILE_BYTES: u16 = 325;
    let whole = fixture("tiles-ycbcr.tif");
    let (at, size) = tag_value(whole, TILE_BYTES);
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&whole[at..at + size]);
    let count = u64::from_le_bytes(bytes);
    for less in [1, 4, 10, 20, 100] {
        let mut cut = whole.to_vec();
        cut[at..at + size].copy_from_slice(&(count - less).to_le_bytes()[..size]);
        let error = read_image(&cut).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{less} bytes less: {error}");
    }
}

#[test]
fn tiles_that_the_file_has_no_room_for_are_not_counted() {
    // 16,384 × 16,384 tiles of one pixel each, and a list of one of them.
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    let side = 16_384u32;
    let tags = [
        (256, side),
        (257, side),
        (258, 8),
        (259, 1),
        (262, 1),
        (277, 1),
        (322, 1),
        (323, 1),
        (324, 8),
        (325, 1),
    ];
    bytes.extend((tags.len() as u16).to_le_bytes());
    for (tag, value) in tags {
        bytes.extend((tag as u16).to_le_bytes());
        bytes.extend(4u16.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    let mut slide = Slide::open(Cursor::new(bytes)).unwrap();
    let side = u64::from(side);
    assert!(slide.read(0, 0, 0, side, side).is_err());
}

#[test]
fn a_side_that_is_too_long_is_refused_in_words() {
    let mut file = Vec::new();
    let mut rows = PngRows::<_, u8>::new(Cursor::new(Vec::new()), LONGEST_SIDE + 1, 1).unwrap();
    rows.write_row(&vec![0; LONGEST_SIDE + 1]).unwrap();
    file.extend(rows.finish().unwrap().into_inner());
    let error = read_image(&file).unwrap_err().to_string();
    assert!(error.contains("1048577 × 1 pixels"), "{error}");
}
