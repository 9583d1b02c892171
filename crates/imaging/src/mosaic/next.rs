//! Which tile of a slide has its turn.
//!
//! Law: tiles come in the order of their tiling, each once; an image fits its tile if it has the size of the box with
//! the halo.

use crate::files::{ImageError, TileBox, Tiling};

/// The tiles that are still to come.
#[derive(Debug)]
pub(super) struct Next {
    tiling: Tiling,
    /// How many tiles have come.
    placed: usize,
}

impl Next {
    pub(super) fn new(tiling: Tiling) -> Next {
        Next { tiling, placed: 0 }
    }

    /// How many rows of pixels the row of tiles at hand has; 0 after the last one.
    pub(super) fn height(&self) -> usize {
        self.tiling
            .get(self.placed)
            .map_or(0, |tile| tile.height as usize)
    }

    /// Refuses a tile that is not the next one, and an image that has not its size. `what` names the image.
    pub(super) fn check(
        &self,
        tile: &TileBox,
        what: &str,
        size: (usize, usize),
    ) -> Result<(), ImageError> {
        let misplaced = |problem: String| Err(ImageError::Misplaced { problem });
        if !tile.is_sound() {
            return misplaced("a tile whose halo does not hold its core".to_owned());
        }
        let core = (tile.x, tile.y, tile.width, tile.height);
        match self.tiling.get(self.placed) {
            Some(next) if (next.x, next.y, next.width, next.height) == core => {}
            _ => {
                return misplaced(format!(
                    "the tile of {} × {} pixels at ({}, {}) is not the next one",
                    tile.width, tile.height, tile.x, tile.y
                ));
            }
        }
        if (size.0 as u64, size.1 as u64) != (tile.outer_width, tile.outer_height) {
            return misplaced(format!(
                "{what} of {} × {} pixels for a tile of {} × {}",
                size.0, size.1, tile.outer_width, tile.outer_height
            ));
        }
        Ok(())
    }

    /// Goes on to the tile after this one. Whether it was the last of its row of tiles.
    pub(super) fn advance(&mut self, tile: &TileBox) -> bool {
        self.placed += 1;
        let next = self.tiling.get(self.placed);
        next.is_none_or(|next| next.y != tile.y)
    }

    /// Refuses an end before all tiles have come.
    pub(super) fn check_end(&self) -> Result<(), ImageError> {
        let count = self.tiling.count();
        let missing = count - self.placed;
        if missing > 0 {
            return Err(ImageError::Misplaced {
                problem: format!("{missing} of {count} tiles are missing"),
            });
        }
        Ok(())
    }
}
