//! The picture of a slide from the pictures of its tiles.
//!
//! Law: each pixel of the slide comes from the tile whose core it lies in, and rows go on as soon as their tiles are
//! there. At no time is there more in memory than the colours of one row of tiles.

use super::next::Next;
use crate::files::{ImageError, TileBox, Tiling};
use crate::{Colour, View};

/// Puts the picture of a slide together.
pub struct PictureMosaic<S> {
    next: Next,
    width: usize,
    /// The row of tiles at hand.
    band: Vec<Colour>,
    sink: S,
}

impl<S> PictureMosaic<S> {
    /// Of a slide that is cut so. `sink` gets the rows of the picture.
    pub fn new(tiling: Tiling, sink: S) -> PictureMosaic<S> {
        PictureMosaic {
            next: Next::new(tiling),
            width: tiling.width() as usize,
            band: Vec::new(),
            sink,
        }
    }

    /// Puts the picture of a tile, with its halo if it has one, in its place. Tiles come in the order of the tiling.
    pub fn place<E>(&mut self, tile: &TileBox, picture: View<'_, Colour>) -> Result<(), E>
    where
        S: FnMut(&[Colour]) -> Result<(), E>,
        E: From<ImageError>,
    {
        let size = (picture.width(), picture.height());
        self.next.check(tile, "a picture", size)?;
        self.band.resize(self.width * tile.height as usize, [0; 3]);
        let (left, top) = tile.inset();
        let (from, to) = (left as usize, tile.x as usize);
        let width = tile.width as usize;
        let rows = self.band.chunks_exact_mut(self.width);
        for (y, row) in (top as usize..).zip(rows) {
            row[to..][..width].copy_from_slice(&picture.row(y)[from..][..width]);
        }
        if self.next.advance(tile) {
            for row in self.band.chunks_exact(self.width) {
                (self.sink)(row)?;
            }
        }
        Ok(())
    }

    /// Ends the picture, once all tiles have come.
    pub fn finish(self) -> Result<(), ImageError> {
        self.next.check_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plane;

    #[test]
    fn tiles_give_the_picture_they_were_cut_from() {
        let (width, height) = (7_u8, 5_u8);
        let pixel = |x: u64, y: u64| [x as u8, y as u8, 9];
        let cut = |x: u64, y: u64, width: u64, height: u64| {
            let row = |y: u64| (x..x + width).map(move |x| pixel(x, y));
            let pixels = (y..y + height).flat_map(row).collect();
            Plane::new(width as usize, height as usize, pixels).unwrap()
        };
        for (tile, halo) in [(1, 0), (2, 1), (3, 0), (3, 2), (0, 4), (100, 0)] {
            let tiling = Tiling::new(width.into(), height.into(), tile, halo);
            let mut rows: Vec<Colour> = Vec::new();
            let mut mosaic = PictureMosaic::new(tiling, |row: &[Colour]| {
                rows.extend_from_slice(row);
                Ok::<(), ImageError>(())
            });
            for part in tiling.boxes() {
                let (x, y) = (part.outer_x, part.outer_y);
                let picture = cut(x, y, part.outer_width, part.outer_height);
                mosaic.place(&part, picture.view()).unwrap();
            }
            mosaic.finish().unwrap();
            let whole = cut(0, 0, width.into(), height.into());
            assert_eq!(rows, whole.pixels(), "tiles of {tile}, halo {halo}");
        }
    }

    #[test]
    fn what_the_sink_says_comes_back() {
        #[derive(Debug, PartialEq)]
        enum Refused {
            Misplaced,
            Full,
        }
        impl From<ImageError> for Refused {
            fn from(_: ImageError) -> Refused {
                Refused::Misplaced
            }
        }
        let tiling = Tiling::new(2, 2, 1, 0);
        let mut mosaic = PictureMosaic::new(tiling, |_: &[Colour]| Err(Refused::Full));
        let picture = Plane::filled(1, 1, [0; 3]);
        let [one, two] = [0, 1].map(|number| tiling.get(number).unwrap());
        let early = mosaic.place(&two, picture.view());
        assert_eq!(early, Err(Refused::Misplaced));
        assert_eq!(mosaic.place(&one, picture.view()), Ok(()));
        assert_eq!(mosaic.place(&two, picture.view()), Err(Refused::Full));
        assert!(mosaic.finish().is_err(), "two are missing");
    }
}
