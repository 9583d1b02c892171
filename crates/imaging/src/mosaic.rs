//! The mask of a slide from the masks of its tiles.
//!
//! Law: each pixel of the slide comes from the tile whose core it lies in, rows go on as soon as their tiles are there,
//! and the counts are those of the whole mask: an object that crosses from tile to tile is one. At no time is there
//! more in memory than one row of tiles, a bit to a pixel, and a few numbers for each object.
//!
//! `picture` does the same for pictures of the tiles, and `next` knows whose turn it is.

mod next;
mod picture;

pub use picture::PictureMosaic;

use crate::files::{ImageError, TileBox, Tiling};
use crate::runs::{Components, Ground, Run, root, unite};
use crate::{Bitmap, Connectivity, View};

use next::Next;

/// What there is in a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaskCounts {
    /// 8-connected objects.
    pub nuclei: u64,
    /// Set pixels.
    pub foreground: u64,
}

/// Counts the objects of a mask that is given band by band, from top to bottom.
#[derive(Debug, Default)]
struct BandCounter {
    /// For each object so far one that it is part of, itself at first.
    parents: Vec<u32>,
    /// The runs of the last row so far, with their objects.
    last: Vec<(Run, u32)>,
    joined: u64,
    foreground: u64,
}

impl BandCounter {
    fn push(&mut self, band: &Bitmap) {
        if band.height() == 0 {
            return;
        }
        let components = Components::of(band, Ground::Fore, Connectivity::Eight);
        let before = self.parents.len() as u32;
        self.parents
            .extend(before..before + components.count() as u32);
        self.foreground += band.count();
        let mut upper = 0;
        for (run, number) in components.row(0) {
            let number = before + number;
            while self
                .last
                .get(upper)
                .is_some_and(|(above, _)| above.end < run.start)
            {
                upper += 1;
            }
            let touching = self.last[upper..].iter();
            for (_, above) in touching.take_while(|(above, _)| above.start <= run.end) {
                let parents = &mut self.parents;
                if root(parents, *above) != root(parents, number) {
                    unite(parents, *above, number);
                    self.joined += 1;
                }
            }
        }
        let last = components.row(band.height() - 1);
        self.last = last.map(|(run, number)| (run, before + number)).collect();
    }

    fn counts(&self) -> MaskCounts {
        MaskCounts {
            nuclei: self.parents.len() as u64 - self.joined,
            foreground: self.foreground,
        }
    }
}

/// Puts the mask of a slide together.
pub struct Mosaic<S> {
    next: Next,
    /// The row of tiles at hand.
    band: Bitmap,
    counter: BandCounter,
    row: Vec<u8>,
    sink: S,
}

impl<S> Mosaic<S> {
    /// Of a slide that is cut so. `sink` gets the rows of the mask.
    pub fn new(tiling: Tiling, sink: S) -> Mosaic<S> {
        let next = Next::new(tiling);
        let width = tiling.width() as usize;
        Mosaic {
            band: Bitmap::empty(width, next.height()),
            row: vec![0; width],
            next,
            counter: BandCounter::default(),
            sink,
        }
    }

    /// Puts the mask of a tile, with its halo if it has one, in its place. Tiles come in the order of the tiling.
    pub fn place<E>(&mut self, tile: &TileBox, mask: View<'_, u8>) -> Result<(), E>
    where
        S: FnMut(&[u8]) -> Result<(), E>,
        E: From<ImageError>,
    {
        let size = (mask.width(), mask.height());
        self.next.check(tile, "a mask", size)?;
        let (left, top) = tile.inset();
        let part = Bitmap::from_rows(tile.width as usize, tile.height as usize, |y, row| {
            let from = &mask.row(y + top as usize)[left as usize..];
            for (bit, pixel) in row.iter_mut().zip(from) {
                *bit = u8::from(*pixel != 0);
            }
        });
        self.band.set_from(tile.x as usize, 0, &part);
        if self.next.advance(tile) {
            self.counter.push(&self.band);
            for y in 0..self.band.height() {
                self.band.unpack_row(y, &mut self.row);
                (self.sink)(&self.row)?;
            }
            self.band = Bitmap::empty(self.band.width(), self.next.height());
        }
        Ok(())
    }

    /// What there is in the mask, once all tiles have come.
    pub fn finish(self) -> Result<MaskCounts, ImageError> {
        self.next.check_end()?;
        Ok(self.counter.counts())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Plane, naive};

    fn cut(mask: &Plane<u8>, tile: &TileBox) -> Plane<u8> {
        naive::plane(
            tile.outer_width as usize,
            tile.outer_height as usize,
            |x, y| mask.row(y + tile.outer_y as usize)[x + tile.outer_x as usize],
        )
    }

    proptest! {
        #[test]
        fn tiles_give_the_mask_they_were_cut_from(mask in naive::mask(), tile in 1u64..9, halo in 0u64..3) {
            let (width, height) = (mask.width() as u64, mask.height() as u64);
            let mut rows = Vec::new();
            let tiling = Tiling::new(width, height, tile, halo);
            let mut mosaic = Mosaic::new(tiling, |row: &[u8]| {
                rows.extend_from_slice(row);
                Ok::<(), ImageError>(())
            });
            for tile in tiling.boxes() {
                mosaic.place(&tile, cut(&mask, &tile).view()).unwrap();
            }
            let counts = mosaic.finish().unwrap();
            prop_assert_eq!(&rows, mask.pixels());
            let (_, nuclei) = naive::label(&mask, Connectivity::Eight);
            let foreground = mask.pixels().iter().filter(|pixel| **pixel != 0).count();
            let expected = MaskCounts { nuclei: nuclei.into(), foreground: foreground as u64 };
            prop_assert_eq!(counts, expected);
        }
    }

    #[test]
    fn a_missing_or_wrong_tile_is_an_error() {
        let mask = Plane::filled(4, 4, 255);
        let tiling = Tiling::new(4, 4, 2, 0);
        let boxes: Vec<TileBox> = tiling.boxes().collect();
        let mut mosaic = Mosaic::new(tiling, |_: &[u8]| Ok::<(), ImageError>(()));
        let part = cut(&mask, &boxes[0]);
        assert!(
            mosaic.place(&boxes[1], part.view()).is_err(),
            "not the next"
        );
        assert!(mosaic.place(&boxes[0], mask.view()).is_err(), "too large");
        for unsound in [
            TileBox {
                outer_x: 1,
                ..boxes[0]
            },
            TileBox {
                outer_width: 1,
                outer_height: 4,
                ..boxes[0]
            },
        ] {
            let mask = Plane::filled(
                unsound.outer_width as usize,
                unsound.outer_height as usize,
                0,
            );
            assert!(mosaic.place(&unsound, mask.view()).is_err(), "{unsound:?}");
        }
        mosaic.place(&boxes[0], part.view()).unwrap();
        assert!(mosaic.finish().is_err(), "three are missing");
    }
}
