//! The bytes of a strip or tile, unpacked.
//!
//! Law: exactly as many bytes come out as are asked for, or an error; what more is in the packed bytes is padding.

use fdeflate::{DecompressionError, Decompressor};
use weezl::decode::Configuration;
use weezl::{BitOrder, LzwStatus};

use super::FORMAT;
use crate::files::ImageError;
use crate::files::png_reader::DEFLATE_RATIO;

/// How strips and tiles are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Lzw,
    Deflate,
    PackBits,
    Jpeg,
}

impl Compression {
    /// From the number in the file.
    pub(crate) fn from_number(number: u64) -> Result<Compression, ImageError> {
        let name = match number {
            1 => return Ok(Compression::None),
            5 => return Ok(Compression::Lzw),
            7 => return Ok(Compression::Jpeg),
            8 | 32_946 => return Ok(Compression::Deflate),
            32_773 => return Ok(Compression::PackBits),
            2..=4 => "fax compression",
            6 => "JPEG compression of the old style (6)",
            33_003 | 33_005 => "JPEG 2000 compression (Aperio 33003 or 33005)",
            34_712 => "JPEG 2000 compression (34712)",
            34_925 => "LZMA compression",
            50_000 | 34_926 => "Zstandard compression",
            50_001 | 34_927 => "WebP compression",
            50_002 => "JPEG XL compression",
            _ => "compression of an unknown kind",
        };
        Err(ImageError::Unsupported {
            format: FORMAT,
            found: if name.ends_with("kind") {
                format!("{name} ({number})")
            } else {
                name.to_owned()
            },
            way_out: "convert it, for instance with \
                      `vips tiffsave IN OUT.tif --tile --pyramid --compression jpeg`"
                .to_owned(),
        })
    }

    /// How many bytes a packed byte can become at most.
    pub(crate) fn ratio(self) -> u64 {
        match self {
            Compression::None => 1,
            // Two bytes repeat one up to 128 times.
            Compression::PackBits => 64,
            Compression::Deflate => DEFLATE_RATIO,
            // A code of 12 bits stands for at most 4,096 bytes.
            Compression::Lzw => 4_096,
            // 1,024 pixels of at most 4 samples.
            Compression::Jpeg => 4_096,
        }
    }

    /// Unpacks bytes that are not JPEG.
    pub(crate) fn unpack(self, packed: Vec<u8>, size: usize) -> Result<Vec<u8>, ImageError> {
        let short = || ImageError::damaged(FORMAT, "a strip or tile ends too early");
        match self {
            Compression::None => {
                let mut bytes = packed;
                if bytes.len() < size {
                    return Err(short());
                }
                bytes.truncate(size);
                Ok(bytes)
            }
            Compression::Deflate => inflate(&packed, size),
            Compression::Lzw => {
                let mut bytes = vec![0; size];
                let mut decoder = Configuration::with_tiff_size_switch(BitOrder::Msb, 8)
                    .with_yield_on_full_buffer(true)
                    .build();
                let (mut from, mut to) = (packed.as_slice(), bytes.as_mut_slice());
                while !to.is_empty() {
                    let step = decoder.decode_bytes(from, to);
                    from = &from[step.consumed_in..];
                    to = &mut to[step.consumed_out..];
                    match step.status {
                        Ok(LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
                        _ if to.is_empty() => {}
                        Ok(_) => return Err(short()),
                        Err(error) => {
                            return Err(ImageError::damaged(
                                FORMAT,
                                format!("a strip or tile cannot be unpacked from LZW ({error})"),
                            ));
                        }
                    }
                }
                Ok(bytes)
            }
            Compression::PackBits => pack_bits(&packed, size).ok_or_else(short),
            Compression::Jpeg => Err(ImageError::damaged(
                FORMAT,
                "JPEG where bytes were expected",
            )),
        }
    }
}

fn inflate(packed: &[u8], size: usize) -> Result<Vec<u8>, ImageError> {
    let damaged = |problem: &str| {
        ImageError::damaged(
            FORMAT,
            format!("a strip or tile cannot be inflated: {problem}"),
        )
    };
    let mut bytes = vec![0; size];
    let mut decoder = Decompressor::new();
    let (mut read, mut done) = (0, 0);
    while done < size {
        let (more_read, more_done) = decoder
            .read(&packed[read..], &mut bytes, done, true)
            .map_err(|error| damaged(&format!("{error:?}")))?;
        read += more_read;
        done += more_done;
        if done < size && (decoder.is_done() || more_read + more_done == 0) {
            return Err(damaged("it ends too early"));
        }
    }
    // The sum of all bytes comes after them; what more there is does not matter.
    let rest = decoder.read(&packed[read..], &mut bytes, done, true);
    if !decoder.is_done() && matches!(rest, Err(DecompressionError::WrongChecksum)) {
        return Err(damaged("its sum is wrong"));
    }
    Ok(bytes)
}

fn pack_bits(mut packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        let (&head, rest) = packed.split_first()?;
        packed = match head {
            0..=127 => {
                let run = usize::from(head) + 1;
                bytes.extend_from_slice(rest.get(..run)?);
                &rest[run..]
            }
            128 => rest,
            129..=255 => {
                let (&byte, rest) = rest.split_first()?;
                bytes.extend(std::iter::repeat_n(byte, 257 - usize::from(head)));
                rest
            }
        };
    }
    bytes.truncate(size);
    Some(bytes)
}

/// Undoes the differences along a row of samples.
pub(crate) fn undo_differences_8(row: &mut [u8], samples: usize) {
    for at in samples..row.len() {
        row[at] = row[at].wrapping_add(row[at - samples]);
    }
}

/// The same for samples of 16 bits.
pub(crate) fn undo_differences_16(row: &mut [u16], samples: usize) {
    for at in samples..row.len() {
        row[at] = row[at].wrapping_add(row[at - samples]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_repeated_and_cut_to_size() {
        let packed = [2, 1, 2, 3, 128, 254, 9];
        assert_eq!(pack_bits(&packed, 6).unwrap(), [1, 2, 3, 9, 9, 9]);
        assert_eq!(pack_bits(&packed, 5).unwrap(), [1, 2, 3, 9, 9]);
        assert_eq!(pack_bits(&packed, 7), None);
    }

    #[test]
    fn what_is_too_short_is_an_error() {
        for way in [
            Compression::None,
            Compression::Lzw,
            Compression::Deflate,
            Compression::PackBits,
        ] {
            assert!(way.unpack(Vec::new(), 1).is_err());
            assert!(way.unpack(Vec::new(), 0).is_ok(), "{way:?}");
        }
    }

    #[test]
    fn compression_that_is_not_read_is_named() {
        let message = Compression::from_number(33_003).unwrap_err().to_string();
        assert!(
            message.contains("JPEG 2000") && message.contains("vips"),
            "{message}"
        );
    }
}
