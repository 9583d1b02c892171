//! Mutated image files, for finding input that breaks the readers.
//!
//! Law: a seed gives the same bytes on every machine. [`exercise`] panics if a law of the readers is broken, so a
//! loop over seeds is a test of all of them.

use std::io::Cursor;

use super::{Picture, Slide, read_image, tiles};

/// Files that mutation starts from, with their names.
pub const CORPUS: [(&str, &[u8]); 23] = [
    ("colour.png", include_bytes!("../../fixtures/colour.png")),
    ("grey.png", include_bytes!("../../fixtures/grey.png")),
    ("deep.png", include_bytes!("../../fixtures/deep.png")),
    ("alpha.png", include_bytes!("../../fixtures/alpha.png")),
    ("bit.png", include_bytes!("../../fixtures/bit.png")),
    ("palette.png", include_bytes!("../../fixtures/palette.png")),
    (
        "interlaced.png",
        include_bytes!("../../fixtures/interlaced.png"),
    ),
    ("colour.jpg", include_bytes!("../../fixtures/colour.jpg")),
    (
        "progressive.jpg",
        include_bytes!("../../fixtures/progressive.jpg"),
    ),
    ("grey.jpg", include_bytes!("../../fixtures/grey.jpg")),
    ("cmyk.jpg", include_bytes!("../../fixtures/cmyk.jpg")),
    (
        "strips-lzw.tif",
        include_bytes!("../../fixtures/strips-lzw.tif"),
    ),
    (
        "tiles-deflate.tif",
        include_bytes!("../../fixtures/tiles-deflate.tif"),
    ),
    (
        "deep-big-endian.tif",
        include_bytes!("../../fixtures/deep-big-endian.tif"),
    ),
    ("planar.tif", include_bytes!("../../fixtures/planar.tif")),
    ("alpha.tif", include_bytes!("../../fixtures/alpha.tif")),
    ("bit.tif", include_bytes!("../../fixtures/bit.tif")),
    ("palette.tif", include_bytes!("../../fixtures/palette.tif")),
    (
        "tiles-ycbcr.tif",
        include_bytes!("../../fixtures/tiles-ycbcr.tif"),
    ),
    (
        "tiles-rgb-jpeg.tif",
        include_bytes!("../../fixtures/tiles-rgb-jpeg.tif"),
    ),
    (
        "deep-colour.tif",
        include_bytes!("../../fixtures/deep-colour.tif"),
    ),
    ("cmyk.tif", include_bytes!("../../fixtures/cmyk.tif")),
    ("aperio.tif", include_bytes!("../../fixtures/aperio.tif")),
];

/// Values that headers tend to be wrong about.
const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    7,
    8,
    16,
    32,
    255,
    0x7fff_ffff,
    0xffff_ffff,
    0x10000,
    u64::MAX,
];

/// Above this many pixels a picture is not compared with the slide.
const COMPARED: usize = 1 << 20;

/// A small generator of numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// The file of a seed.
pub fn mutated(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let (name, start) = CORPUS[dice.below(CORPUS.len())];
    let mut bytes = start.to_vec();
    for _ in 0..=dice.below(4) {
        mutate(&mut bytes, &mut dice);
    }
    // A PNG with wrong sums is refused at once; most are to get further.
    if name.ends_with(".png") && dice.below(8) > 0 {
        mend_sums(&mut bytes);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    // Half of the changes go to the first bytes, where headers are; a TIFF has its tags at either end.
    let at = match dice.below(4) {
        0 | 1 => dice.below(bytes.len().min(160)),
        2 => dice.below(bytes.len()),
        _ => bytes.len() - 1 - dice.below(bytes.len().min(300)),
    };
    match dice.below(8) {
        0 | 1 => bytes[at] ^= 1 << dice.below(8),
        2 => bytes[at] = dice.next() as u8,
        3 | 4 => {
            let number = NUMBERS[dice.below(NUMBERS.len())];
            let size = 1 << dice.below(4);
            let number = if dice.below(2) == 0 {
                number.to_le_bytes()[..size].to_vec()
            } else {
                number.to_be_bytes()[8 - size..].to_vec()
            };
            for (to, from) in bytes[at..].iter_mut().zip(number) {
                *to = from;
            }
        }
        5 => bytes.truncate(at),
        6 => {
            let length = dice.below(40).min(bytes.len() - at);
            bytes.drain(at..at + length);
        }
        _ => {
            let (_, other) = CORPUS[dice.below(CORPUS.len())];
            let from = dice.below(other.len());
            let length = dice.below(60).min(other.len() - from);
            let part = other[from..from + length].iter().copied();
            if dice.below(2) == 0 {
                bytes.splice(at..at, part);
            } else {
                let end = (at + length).min(bytes.len());
                bytes.splice(at..end, part);
            }
        }
    }
}

/// Puts right sums on the chunks of a PNG, as far as they can be followed.
pub fn mend_sums(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = bytes.get(at..at + 4) {
        let length = head
            .iter()
            .fold(0, |number, &byte| number << 8 | usize::from(byte));
        let end = at.saturating_add(8).saturating_add(length);
        if end.saturating_add(4) > bytes.len() {
            return;
        }
        let sum = sum(&bytes[at + 4..end]);
        bytes[end..end + 4].copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
}

/// The sum of a chunk: CRC-32, bit by bit.
fn sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

/// Reads bytes in all ways there are.
///
/// # Panics
/// When a picture has no pixels, or the same file as a slide has other pixels.
pub fn exercise(bytes: &[u8]) {
    let picture = read_image(bytes);
    let slide = Slide::open(Cursor::new(bytes.to_vec()));
    if let Ok(picture) = &picture {
        assert!(
            picture.width() > 0 && picture.height() > 0,
            "a picture without pixels"
        );
    }
    let Ok(mut slide) = slide else {
        return;
    };
    if let Ok(picture) = &picture {
        assert_eq!(
            slide.width(),
            picture.width() as u64,
            "the width of the slide"
        );
        assert_eq!(
            slide.height(),
            picture.height() as u64,
            "the height of the slide"
        );
        if picture.width() * picture.height() <= COMPARED {
            compare(&mut slide, picture);
        }
    }
    for level in 0..slide.levels().len() {
        let found = slide.levels()[level];
        let (width, height) = (found.width.min(50), found.height.min(50));
        // Either is fine; it must only come back.
        let _ = slide.read(
            level,
            found.width - width,
            found.height - height,
            width,
            height,
        );
    }
}

/// The picture put together from boxes of the slide is the picture.
fn compare(slide: &mut Slide, picture: &Picture) {
    let (width, height) = (picture.width() as u64, picture.height() as u64);
    let tile = (width.max(height) / 3).max(1);
    for part in tiles(width, height, tile, 2) {
        let (x, y) = (part.outer_x, part.outer_y);
        let read = slide
            .read(0, x, y, part.outer_width, part.outer_height)
            .expect("a part of what was read whole");
        let mut expected = picture.clone().into_colour();
        let whole = std::mem::replace(
            &mut expected,
            crate::Plane::filled(
                part.outer_width as usize,
                part.outer_height as usize,
                [0; 3],
            ),
        );
        for row in 0..part.outer_height as usize {
            let from = &whole.row(y as usize + row)[x as usize..][..part.outer_width as usize];
            expected.row_mut(row).copy_from_slice(from);
        }
        assert!(read == expected, "the part at ({x}, {y}) of the slide");
    }
}
