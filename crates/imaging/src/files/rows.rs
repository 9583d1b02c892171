//! An image file that is written row by row, whatever its format.
//!
//! Law: rows go in from top to bottom, all of them; what is held in memory is a few hundred rows at most.

use std::io::{Seek, Write};

use super::{ImageError, Packing, Pixel, PngRows, TiffWriter};
use crate::View;

/// How many pixels a tile of a TIFF file is wide and high.
const TILE: usize = 256;

/// Which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// PNG.
    Png,
    /// Tiled TIFF of the big form.
    Tiff,
}

impl Format {
    /// The format that the extension of a file's name stands for.
    pub fn of_extension(extension: &str) -> Option<Format> {
        match extension.to_ascii_lowercase().as_str() {
            "png" => Some(Format::Png),
            "tif" | "tiff" => Some(Format::Tiff),
            _ => None,
        }
    }
}

/// The file.
pub enum RowFile<W: Write + Seek + 'static, T: Pixel> {
    /// A PNG file.
    Png(Box<PngRows<W, T>>),
    /// A TIFF file, and the rows that do not fill a tile yet.
    Tiff {
        /// The file.
        writer: Box<TiffWriter<W, T>>,
        /// Pixels in a row.
        width: usize,
        /// The row of tiles that is under way.
        rows: Vec<T>,
        /// Where it begins.
        y: u64,
    },
}

impl<W: Write + Seek + 'static, T: Pixel> RowFile<W, T> {
    /// Begins a file of `height` rows of `width` pixels.
    pub fn new(to: W, format: Format, width: usize, height: usize) -> Result<Self, ImageError> {
        match format {
            Format::Png => {
                let file = PngRows::new(to, width, height)?;
                Ok(RowFile::Png(Box::new(file)))
            }
            Format::Tiff => {
                let (wide, high, tile) = (width as u64, height as u64, TILE as u64);
                let writer = TiffWriter::new(to, wide, high, tile, Packing::Deflate)?;
                Ok(RowFile::Tiff {
                    writer: Box::new(writer),
                    width,
                    rows: Vec::with_capacity(width * TILE),
                    y: 0,
                })
            }
        }
    }

    /// Writes the next row.
    pub fn write_row(&mut self, row: &[T]) -> Result<(), ImageError> {
        match self {
            RowFile::Png(file) => file.write_row(row),
            RowFile::Tiff {
                writer,
                width,
                rows,
                y,
            } => {
                if row.len() != *width {
                    let found = row.len();
                    return Err(ImageError::Misplaced {
                        problem: format!("a row of {found} pixels where {width} are expected"),
                    });
                }
                rows.extend_from_slice(row);
                if rows.len() == *width * TILE {
                    write_tiles(writer, *width, rows, y)?;
                }
                Ok(())
            }
        }
    }

    /// Ends the file and gives it back, flushed; an error when rows are missing.
    pub fn finish(self) -> Result<W, ImageError> {
        let mut to = match self {
            RowFile::Png(file) => file.finish()?,
            RowFile::Tiff {
                mut writer,
                width,
                mut rows,
                mut y,
            } => {
                if !rows.is_empty() {
                    write_tiles(&mut writer, width, &mut rows, &mut y)?;
                }
                writer.finish()?
            }
        };
        to.flush()?;
        Ok(to)
    }
}

fn write_tiles<W: Write + Seek, T: Pixel>(
    writer: &mut TiffWriter<W, T>,
    width: usize,
    rows: &mut Vec<T>,
    y: &mut u64,
) -> Result<(), ImageError> {
    let height = rows.len() / width.max(1);
    if let Some(view) = View::new(width, height, rows) {
        writer.write(0, *y, view)?;
    }
    *y += height as u64;
    rows.clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;
    use crate::Plane;
    use crate::files::{Picture, read_image};

    #[test]
    fn rows_come_back_from_both_formats() {
        for format in [Format::Png, Format::Tiff] {
            for (width, height) in [(1, 1), (300, 256), (257, 513)] {
                let pixels = (0..width * height).map(|at| (at % 251) as u8).collect();
                let plane = Plane::new(width, height, pixels).unwrap();
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("image");
                let file = File::create(&path).unwrap();
                let mut rows = RowFile::new(file, format, width, height).unwrap();
                for row in plane.view().rows() {
                    rows.write_row(row).unwrap();
                }
                assert!(rows.finish().is_ok());
                let mut bytes = Vec::new();
                File::open(&path).unwrap().read_to_end(&mut bytes).unwrap();
                assert_eq!(read_image(&bytes).unwrap(), Picture::Grey(plane));
            }
        }
    }

    #[test]
    fn missing_rows_are_an_error() {
        for format in [Format::Png, Format::Tiff] {
            let folder = tempfile::tempdir().unwrap();
            let file = File::create(folder.path().join("image")).unwrap();
            let mut rows = RowFile::<_, u8>::new(file, format, 4, 3).unwrap();
            rows.write_row(&[0; 4]).unwrap();
            assert!(rows.write_row(&[0; 5]).is_err());
            assert!(rows.finish().is_err());
        }
    }
}
