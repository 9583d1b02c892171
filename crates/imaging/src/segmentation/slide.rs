//! The segmentation of a slide, tile by tile.
//!
//! Law: each tile is an image of its own, with its halo; a pixel of the mask and of the picture comes from the tile
//! whose core it lies in, and a reference is compared there and nowhere else. Tiles may be segmented in any order and
//! at the same time, and are put together in the order of the tiling, so that the result depends on neither.

use super::{Found, Job, Step};
use crate::compare::{PixelAgreement, SizesDiffer, compare_pixels};
use crate::files::{ImageError, TileBox, Tiling};
use crate::mosaic::{Mosaic, PictureMosaic};
use crate::nuclei::{Status, StatusCounts};
use crate::{Colour, Plane, View};

/// What a tile gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileFound {
    /// What the tile gives as an image, with its halo.
    pub found: Found,
    /// How well its core agrees with the reference, if there is one.
    pub agreement: Option<PixelAgreement>,
}

impl Job {
    /// Segments a tile. `image` is the tile with its halo, `reference` a mask of its core.
    pub fn run_tile(
        &self,
        tile: &TileBox,
        image: Plane<Colour>,
        reference: Option<View<'_, u8>>,
        mut began: impl FnMut(Step),
    ) -> Result<TileFound, SizesDiffer> {
        let found = self.run(image, &mut began);
        let agreement = reference.map(|reference| {
            began(Step::Compare);
            let mask = found.segmentation.mask.view();
            let core = tile.core_of(mask).ok_or(SizesDiffer {
                first: (mask.width(), mask.height()),
                second: (tile.outer_width as usize, tile.outer_height as usize),
            })?;
            compare_pixels(core.view(), reference)
        });
        Ok(TileFound {
            agreement: agreement.transpose()?,
            found,
        })
    }
}

/// What a slide gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlideFound {
    /// That of the tile that got furthest.
    pub status: Status,
    /// How many nuclei there are; one that crosses from tile to tile is one.
    pub nuclei: u64,
    /// How many pixels they have.
    pub foreground: u64,
    /// The tiles by how they came out.
    pub tally: StatusCounts,
    /// How well the mask agrees with the reference, as far as tiles had one.
    pub agreement: PixelAgreement,
}

/// Puts a slide together from what its tiles give. `M` gets the rows of the mask, `P` those of the picture.
pub struct SlideSegmentation<M, P> {
    mask: Mosaic<M>,
    picture: Option<PictureMosaic<P>>,
    tally: StatusCounts,
    agreement: PixelAgreement,
}

impl<M, P> SlideSegmentation<M, P> {
    /// Of a slide that is cut so, with a picture if there is a place for its rows.
    pub fn new(tiling: Tiling, mask: M, picture: Option<P>) -> SlideSegmentation<M, P> {
        SlideSegmentation {
            mask: Mosaic::new(tiling, mask),
            picture: picture.map(|sink| PictureMosaic::new(tiling, sink)),
            tally: StatusCounts::default(),
            agreement: PixelAgreement::default(),
        }
    }

    /// Puts what a tile gives in its place. Tiles come in the order of the tiling.
    pub fn place<E>(&mut self, tile: &TileBox, found: &TileFound) -> Result<(), E>
    where
        M: FnMut(&[u8]) -> Result<(), E>,
        P: FnMut(&[Colour]) -> Result<(), E>,
        E: From<ImageError>,
    {
        let TileFound { found, agreement } = found;
        self.tally.add(found.segmentation.status);
        if let Some(agreement) = agreement {
            self.agreement += *agreement;
        }
        self.mask.place(tile, found.segmentation.mask.view())?;
        if let (Some(picture), Some(drawn)) = (&mut self.picture, &found.drawn) {
            picture.place(tile, drawn.view())?;
        }
        Ok(())
    }

    /// What there is in the slide, once all tiles have come.
    pub fn finish(self) -> Result<SlideFound, ImageError> {
        if let Some(picture) = self.picture {
            picture.finish()?;
        }
        let counts = self.mask.finish()?;
        Ok(SlideFound {
            status: self.tally.furthest(),
            nuclei: counts.nuclei,
            foreground: counts.foreground,
            tally: self.tally,
            agreement: self.agreement,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nuclei::Parameters;
    use crate::{Synth, SynthOptions};

    const SIZE: (u64, u64) = (200, 150);

    fn cut<T: Copy>(whole: &Plane<T>, at: (u64, u64), size: (u64, u64)) -> Plane<T> {
        let row = |y: u64| &whole.row(y as usize)[at.0 as usize..][..size.0 as usize];
        let pixels = (at.1..at.1 + size.1).flat_map(row).copied().collect();
        Plane::new(size.0 as usize, size.1 as usize, pixels).unwrap()
    }

    /// The slide from its tiles: its mask, its picture and what is in it.
    fn in_tiles(
        job: &Job,
        (image, truth): &(Plane<Colour>, Plane<u8>),
        tiling: Tiling,
    ) -> (Plane<u8>, Plane<Colour>, SlideFound) {
        let (mut mask, mut picture) = (Vec::new(), Vec::new());
        let mask_rows = |row: &[u8]| {
            mask.extend_from_slice(row);
            Ok::<(), ImageError>(())
        };
        let picture_rows = |row: &[Colour]| {
            picture.extend_from_slice(row);
            Ok(())
        };
        let mut slide = SlideSegmentation::new(tiling, mask_rows, Some(picture_rows));
        for tile in tiling.boxes() {
            let outer = (tile.outer_width, tile.outer_height);
            let image = cut(image, (tile.outer_x, tile.outer_y), outer);
            let truth = cut(truth, (tile.x, tile.y), (tile.width, tile.height));
            let found = job.run_tile(&tile, image, Some(truth.view()), |_| {});
            slide.place(&tile, &found.unwrap()).unwrap();
        }
        let found = slide.finish().unwrap();
        let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
        (
            Plane::new(width, height, mask).unwrap(),
            Plane::new(width, height, picture).unwrap(),
            found,
        )
    }

    #[test]
    fn a_slide_is_its_tiles_each_an_image_of_its_own() {
        let (width, height) = (SIZE.0 as usize, SIZE.1 as usize);
        let synth = Synth::new(width, height, 7, SynthOptions::default()).unwrap();
        let slide = synth.band(0, height);
        let job = Job {
            parameters: Parameters::default(),
            normalize: false,
            overlay: true,
        };
        let whole = job.run(slide.0.clone(), |_| {});
        for (tile, halo) in [(0, 0), (64, 0), (64, 16), (150, 8)] {
            let tiling = Tiling::new(SIZE.0, SIZE.1, tile, halo);
            let (mask, picture, found) = in_tiles(&job, &slide, tiling);
            let compared = compare_pixels(mask.view(), slide.1.view());
            assert_eq!(Ok(found.agreement), compared);
            assert_eq!(found.foreground, found.agreement.first);
            assert_eq!(found.tally.total(), tiling.count() as u64);
            assert_eq!(found.status, Status::Done);
            if tiling.count() == 1 {
                assert_eq!(mask, whole.segmentation.mask);
                assert_eq!(found.nuclei, whole.segmentation.nuclei);
                assert_eq!(Some(picture), whole.drawn);
                continue;
            }
            for tile in tiling.boxes() {
                let outer = (tile.outer_width, tile.outer_height);
                let image = cut(&slide.0, (tile.outer_x, tile.outer_y), outer);
                let alone = job.run(image, |_| {});
                let (at, size) = ((tile.x, tile.y), (tile.width, tile.height));
                let core = tile.core_of(alone.segmentation.mask.view());
                assert_eq!(Some(cut(&mask, at, size)), core);
                let drawn = alone.drawn.unwrap();
                assert_eq!(Some(cut(&picture, at, size)), tile.core_of(drawn.view()));
            }
        }
    }

    #[test]
    fn a_reference_of_another_size_is_refused() {
        let job = Job {
            parameters: Parameters::default(),
            normalize: false,
            overlay: false,
        };
        let tile = Tiling::new(8, 8, 4, 2).get(0).unwrap();
        let run = |image: usize, reference: usize| {
            let image = Plane::filled(image, image, [255; 3]);
            let reference = Plane::filled(reference, reference, 0u8);
            job.run_tile(&tile, image, Some(reference.view()), |_| {})
        };
        assert!(run(6, 4).is_ok());
        assert!(run(6, 6).is_err(), "with the halo");
        assert!(run(4, 4).is_err(), "an image without its halo");
    }
}
