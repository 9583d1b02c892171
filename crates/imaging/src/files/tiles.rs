//! Cutting a slide into boxes.
//!
//! Law: the cores of the boxes cover the slide, each pixel exactly once, row of tiles after row of tiles; a box with
//! its halo is its core enlarged on all four sides and clipped to the slide.

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
}

/// The boxes of a slide, cores of `tile × tile` pixels (less at the right and lower edge) with a halo of `halo`
/// pixels. A tile of 0 stands for the whole slide.
pub fn tiles(width: u64, height: u64, tile: u64, halo: u64) -> impl Iterator<Item = TileBox> {
    let tile = if tile == 0 {
        width.max(height).max(1)
    } else {
        tile
    };
    let (columns, rows) = (width.div_ceil(tile), height.div_ceil(tile));
    (0..rows).flat_map(move |row| {
        (0..columns).map(move |column| {
            let (x, y) = (column * tile, row * tile);
            let (right, lower) = (
                x.saturating_add(tile).min(width),
                y.saturating_add(tile).min(height),
            );
            let (outer_x, outer_y) = (x.saturating_sub(halo), y.saturating_sub(halo));
            TileBox {
                x,
                y,
                width: right - x,
                height: lower - y,
                outer_x,
                outer_y,
                outer_width: right.saturating_add(halo).min(width) - outer_x,
                outer_height: lower.saturating_add(halo).min(height) - outer_y,
            }
        })
    })
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
}
