//! Reading JPEG, as a file and as a piece of a TIFF.
//!
//! Law: a stream that ends early is an error. Colours follow the markers of a file, and in a TIFF what the TIFF says.
//! Results are the same with and without vector instructions.

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::MAX_PIXELS;

use super::picture::check_size;
use super::samples::{Alpha, Layout, Meaning};
use super::{ImageError, Picture};

const FORMAT: &str = "JPEG";

/// More pixels than this cannot come of a byte: a block of 8 × 8 samples takes a bit, and a component sampled four
/// times as finely as another one in each direction spreads that over at most 128 pixels.
const PIXELS_PER_BYTE: u64 = 1_024;

/// The longest side that the format can express.
const LONGEST: usize = 65_535;

/// What the samples of a JPEG stream are to be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// What its markers say.
    Marked,
    /// As they are, without any change of colours.
    Raw,
}

/// Samples of a decoded stream, interleaved.
pub(crate) struct Decoded {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) channels: usize,
    pub(crate) samples: Vec<u8>,
}

/// Reads a JPEG file. Turning by EXIF orientation is left to the user.
pub(crate) fn read(bytes: &[u8]) -> Result<Picture, ImageError> {
    read_limited(bytes, MAX_PIXELS as u64)
}

/// Reads a JPEG file of at most `limit` pixels.
pub(crate) fn read_limited(bytes: &[u8], limit: u64) -> Result<Picture, ImageError> {
    let decoded = decode(bytes, Reading::Marked, limit)?;
    let meaning = match decoded.channels {
        1 => Meaning::Grey,
        4 => Meaning::Cmyk,
        _ => Meaning::Colour,
    };
    let layout = Layout {
        meaning,
        alpha: Alpha::None,
        samples: decoded.channels,
        deep: false,
    };
    let mut picture = layout.tone().blank(decoded.width, decoded.height);
    for (y, row) in decoded
        .samples
        .chunks_exact(decoded.width * decoded.channels)
        .enumerate()
    {
        layout.put_row(row, &mut picture, y);
    }
    Ok(picture)
}

/// Decodes a stream of at most `limit` pixels.
pub(crate) fn decode(bytes: &[u8], reading: Reading, limit: u64) -> Result<Decoded, ImageError> {
    decode_with(bytes, reading, limit, true)
}

fn decode_with(
    bytes: &[u8],
    reading: Reading,
    limit: u64,
    fast: bool,
) -> Result<Decoded, ImageError> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_use_unsafe(fast)
        .set_max_width(LONGEST)
        .set_max_height(LONGEST);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(damaged)?;
    let (Some((width, height)), Some(colours)) = (decoder.dimensions(), decoder.input_colorspace())
    else {
        return Err(ImageError::damaged(FORMAT, "it has no size"));
    };
    let pixels = width as u64 * height as u64;
    check_size(width as u64, height as u64)?;
    if pixels > limit {
        return Err(ImageError::TooLarge {
            width: width as u64,
            height: height as u64,
            limit,
            way_out: "a JPEG is decoded whole; save the image as a tiled TIFF",
        });
    }
    if pixels > (bytes.len() as u64).saturating_mul(PIXELS_PER_BYTE) {
        return Err(ImageError::Implausible {
            format: FORMAT,
            width: width as u64,
            height: height as u64,
            bytes: bytes.len() as u64,
        });
    }
    let out = match (colours, reading) {
        (ColorSpace::Luma, _) => ColorSpace::Luma,
        (ColorSpace::YCbCr | ColorSpace::RGB, Reading::Marked) => ColorSpace::RGB,
        // Adobe stores inks the other way round, which the decoder takes for granted.
        (ColorSpace::CMYK, Reading::Marked) if !is_adobe(bytes) => ColorSpace::CMYK,
        (ColorSpace::CMYK | ColorSpace::YCCK, Reading::Marked) => ColorSpace::RGB,
        (colours, Reading::Raw) => colours,
        (colours, _) => {
            return Err(ImageError::unsupported(
                FORMAT,
                format!("colours of the kind {colours:?}"),
            ));
        }
    };
    decoder.set_options(options.jpeg_set_out_colorspace(out));
    let samples = decoder.decode().map_err(damaged)?;
    // The decoder makes up a last block or two where bytes are missing.
    if !is_whole(bytes) {
        return Err(ImageError::damaged(FORMAT, "it ends too early"));
    }
    let channels = out.num_components();
    if samples.len() != width * height * channels {
        return Err(ImageError::damaged(
            FORMAT,
            "it has more or fewer samples than pixels need",
        ));
    }
    Ok(Decoded {
        width,
        height,
        channels,
        samples,
    })
}

/// Whether there is a mark of Adobe.
fn is_adobe(bytes: &[u8]) -> bool {
    bytes
        .windows(9)
        .any(|part| part.starts_with(b"\xff\xee") && part.ends_with(b"Adobe"))
}

/// Whether the end mark comes, in its place: after a scan.
fn is_whole(bytes: &[u8]) -> bool {
    let mut at = 2;
    let mut in_scan = false;
    while let Some(&[first, mark]) = bytes.get(at..at + 2) {
        if in_scan && (first != 0xff || matches!(mark, 0x00 | 0xff | 0xd0..=0xd7)) {
            at += 1;
            continue;
        }
        match (first, mark) {
            (0xff, 0xd9) => return in_scan,
            // Fill bytes, and marks without a length.
            (0xff, 0xff) => at += 1,
            (0xff, 0x01 | 0xd0..=0xd8) => at += 2,
            (0xff, _) => {
                let Some(&[upper, lower]) = bytes.get(at + 2..at + 4) else {
                    return false;
                };
                in_scan = mark == 0xda;
                at += 2 + usize::from(u16::from_be_bytes([upper, lower]));
            }
            _ => at += 1,
        }
    }
    false
}

fn damaged(error: DecodeErrors) -> ImageError {
    match error {
        DecodeErrors::Unsupported(scheme) => {
            ImageError::unsupported(FORMAT, format!("an unusual coding ({scheme:?})"))
        }
        DecodeErrors::ExhaustedData => ImageError::damaged(FORMAT, "it ends too early"),
        error => ImageError::damaged(FORMAT, format!("{error:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_instructions_change_no_sample() {
        for name in ["colour.jpg", "progressive.jpg", "grey.jpg", "cmyk.jpg"] {
            let (_, bytes) = crate::files::mutate::CORPUS
                .iter()
                .find(|(other, _)| *other == name)
                .unwrap();
            for reading in [Reading::Marked, Reading::Raw] {
                let fast = decode_with(bytes, reading, 1 << 20, true).unwrap();
                let plain = decode_with(bytes, reading, 1 << 20, false).unwrap();
                assert!(fast.samples == plain.samples, "{name}, {reading:?}");
            }
        }
    }

    #[test]
    fn inks_are_inverted_by_the_mark_of_adobe_alone() {
        let (_, bytes) = crate::files::mutate::CORPUS
            .iter()
            .find(|(name, _)| *name == "cmyk.jpg")
            .unwrap();
        let mark = bytes
            .windows(2)
            .position(|pair| pair == [0xff, 0xee])
            .unwrap();
        let without = [&bytes[..mark], &bytes[mark + 16..]].concat();
        // Its black is stored as 255 for none; without the mark that is full black.
        let picture = read(&without).unwrap().into_colour();
        assert!(
            picture
                .pixels()
                .as_flattened()
                .iter()
                .all(|&value| value < 8)
        );
        let picture = read(bytes).unwrap().into_colour();
        assert!(
            picture
                .pixels()
                .as_flattened()
                .iter()
                .any(|&value| value > 200)
        );
    }

    #[test]
    fn the_end_mark_counts_after_a_scan_only() {
        assert!(!is_whole(b"\xff\xd8\xff\xd9"));
        assert!(is_whole(b"\xff\xd8\xff\xda\0\x02ab\xff\0c\xff\xd9"));
        assert!(!is_whole(b"\xff\xd8\xff\xe1\0\x04\xff\xd9\xff\xda\0\x02ab"));
        assert!(!is_whole(b"\xff\xd8\xff\xda\0\x02ab\xff"));
    }
}
