//! Cutting a slide into boxes.
//!
//! Law: the cores of the boxes cover the slide, each pixel exactly once, row of tiles after row of tiles; a box with
//! its halo is its core enlarged on all four sides and clipped to the slide.

use crate::{Plane, View};

/// A part of a slide to be worked on, and how much around it is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TileBox {
    /// Left edge of the core.
    pub x: u64,
    /// Upper edge of the core.
    pub y: u64,
    /// Width of the core.
    pub width: u64,
    /// Height of the core.
    pub height: u64,
    /// Left edge with the halo.
    pub outer_x: u64,
    /// Upper edge with the halo.
    pub outer_y: u64,
    /// Width with the halo.
    pub outer_width: u64,
    /// Height with the halo.
    pub outer_height: u64,
}

impl TileBox {
    /// Whether the box with the halo holds the core.
    pub(crate) fn is_sound(&self) -> bool {
        let holds = |outer: u64, outer_size: u64, core: u64, core_size: u64| {
            let end = |from: u64, size: u64| from.checked_add(size);
            outer <= core
                && end(core, core_size)
                    .zip(end(outer, outer_size))
                    .is_some_and(|(core, outer)| core <= outer)
        };
        holds(self.outer_x, self.outer_width, self.x, self.width)
            && holds(self.outer_y, self.outer_height, self.y, self.height)
    }

    /// Where the core begins within the box with the halo.
    pub fn inset(&self) -> (u64, u64) {
        (self.x - self.outer_x, self.y - self.outer_y)
    }

    /// The core alone, of an image of the box with its halo; `None` for an image of another size.
    pub fn core_of<T: Copy>(&self, outer: View<'_, T>) -> Option<Plane<T>> {
        let size = (outer.width() as u64, outer.height() as u64);
        if size != (self.outer_width, self.outer_height) || !self.is_sound() {
            return None;
        }
        let (left, top) = self.inset();
        let (left, top) = (left as usize, top as usize);
        let (width, height) = (self.width as usize, self.height as usize);
        let mut pixels = Vec::with_capacity(width * height);
        for y in 0..height {
            pixels.extend_from_slice(&outer.row(top + y)[left..left + width]);
        }
        Plane::new(width, height, pixels)
    }
}

/// How a slide is cut: cores of `tile × tile` pixels (less at the right and lower edge), each with a halo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    width: u64,
    height: u64,
    /// At least 1.
    tile: u64,
    halo: u64,
}

/// A stretch of a side of a slide: where the core begins and how long it is, then the same with the halo.
struct Stretch {
    core: (u64, u64),
    outer: (u64, u64),
}

impl Tiling {
    /// Of a slide of `width × height` pixels. A tile of 0 stands for the whole slide.
    pub fn new(width: u64, height: u64, tile: u64, halo: u64) -> Tiling {
        let tile = if tile == 0 {
            width.max(height).max(1)
        } else {
            tile
        };
        Tiling {
            width,
            height,
            tile,
            halo,
        }
    }

    /// Pixels in a row of the slide.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Rows of the slide.
    pub fn height(&self) -> u64 {
        self.height
    }

    /// How many tiles there are.
    pub fn count(&self) -> usize {
        let count = self.columns().saturating_mul(self.rows());
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// A tile by its number: from left to right, row of tiles after row of tiles.
    pub fn get(&self, number: usize) -> Option<TileBox> {
        if number >= self.count() {
            return None;
        }
        let number = number as u64;
        Some(self.at(number % self.columns(), number / self.columns()))
    }

    /// The tiles in the order of their numbers.
    pub fn boxes(self) -> impl Iterator<Item = TileBox> {
        (0..self.rows())
            .flat_map(move |row| (0..self.columns()).map(move |column| self.at(column, row)))
    }

    /// How many pixels the largest tile has, with its halo.
    pub fn largest(&self) -> u64 {
        let longest = |count: u64, size: u64| {
            let lengths = (0..count).map(|place| self.stretch(place, size).outer.1);
            lengths.max().unwrap_or(0)
        };
        // Every width meets every height.
        let width = longest(self.columns(), self.width);
        width.saturating_mul(longest(self.rows(), self.height))
    }

    fn columns(&self) -> u64 {
        self.width.div_ceil(self.tile)
    }

    fn rows(&self) -> u64 {
        self.height.div_ceil(self.tile)
    }

    fn at(&self, column: u64, row: u64) -> TileBox {
        let across = self.stretch(column, self.width);
        let down = self.stretch(row, self.height);
        TileBox {
            x: across.core.0,
            y: down.core.0,
            width: across.core.1,
            height: down.core.1,
            outer_x: across.outer.0,
            outer_y: down.outer.0,
            outer_width: across.outer.1,
            outer_height: down.outer.1,
        }
    }

    /// Of the tiles along a side of `size` pixels the one at that place.
    fn stretch(&self, place: u64, size: u64) -> Stretch {
        let start = place * self.tile;
        let end = start.saturating_add(self.tile).min(size);
        let outer_start = start.saturating_sub(self.halo);
        let outer_end = end.saturating_add(self.halo).min(size);
        Stretch {
            core: (start, end - start),
            outer: (outer_start, outer_end - outer_start),
        }
    }
}

/// The boxes of a [`Tiling`] of a slide of `width × height` pixels.
pub fn tiles(width: u64, height: u64, tile: u64, halo: u64) -> impl Iterator<Item = TileBox> {
    Tiling::new(width, height, tile, halo).boxes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_cover_each_pixel_once_and_halos_stay_inside() {
        for (width, height, tile, halo) in [
            (1, 1, 1, 0),
            (7, 5, 3, 2),
            (10, 10, 4, 100),
            (5, 9, 0, 1),
            (6, 6, 3, 0),
        ] {
            let mut seen = vec![0; (width * height) as usize];
            for part in tiles(width, height, tile, halo) {
                for y in part.y..part.y + part.height {
                    for x in part.x..part.x + part.width {
                        seen[(y * width + x) as usize] += 1;
                    }
                }
                assert_eq!(part.outer_x, part.x.saturating_sub(halo));
                assert_eq!(
                    part.outer_y + part.outer_height,
                    (part.y + part.height + halo).min(height)
                );
                assert_eq!(
                    part.outer_x + part.outer_width,
                    (part.x + part.width + halo).min(width)
                );
                assert_eq!(part.inset(), (part.x - part.outer_x, part.y - part.outer_y));
            }
            assert!(seen.iter().all(|&count| count == 1));
        }
        assert_eq!(tiles(0, 5, 4, 1).count(), 0);
        assert_eq!(tiles(u64::MAX, 1, u64::MAX - 1, u64::MAX).count(), 2);
    }

    #[test]
    fn a_tiling_knows_its_tiles_by_number() {
        for (width, height, tile, halo) in [(7, 5, 3, 2), (10, 10, 4, 100), (5, 9, 0, 1)] {
            let tiling = Tiling::new(width, height, tile, halo);
            let boxes: Vec<TileBox> = tiling.boxes().collect();
            let found: Vec<TileBox> = (0..).map_while(|number| tiling.get(number)).collect();
            assert_eq!(found, boxes);
            assert_eq!(tiling.count(), boxes.len());
            let sizes = boxes
                .iter()
                .map(|part| part.outer_width * part.outer_height);
            assert_eq!(Some(tiling.largest()), sizes.max());
        }
        let nothing = Tiling::new(0, 5, 4, 1);
        assert_eq!((nothing.get(0), nothing.largest()), (None, 0));
    }

    #[test]
    fn the_core_is_cut_out_of_its_halo() {
        let tiling = Tiling::new(5, 4, 2, 1);
        let slide: Vec<u8> = (0..20).collect();
        for part in tiling.boxes() {
            let cut = |x: u64, y: u64, width: u64, height: u64| {
                let row = |y: u64| &slide[(y * 5 + x) as usize..][..width as usize];
                let pixels = (y..y + height).flat_map(row).copied().collect();
                Plane::new(width as usize, height as usize, pixels).unwrap()
            };
            let outer = cut(
                part.outer_x,
                part.outer_y,
                part.outer_width,
                part.outer_height,
            );
            let core = cut(part.x, part.y, part.width, part.height);
            assert_eq!(part.core_of(outer.view()), Some(core));
            assert_eq!(part.core_of(Plane::filled(9, 9, 0u8).view()), None);
        }
    }
}
