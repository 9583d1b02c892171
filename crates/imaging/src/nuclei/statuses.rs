//! The tiles of a slide by how they came out.
//!
//! Law: the status of a slide is that of the tile that got furthest: one tile with nuclei makes a slide with nuclei,
//! however much background is around it.

use super::Status;

/// How many tiles came out how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusCounts([u64; Status::ALL.len()]);

impl StatusCounts {
    /// Counts a tile.
    pub fn add(&mut self, status: Status) {
        self.0[status as usize] += 1;
    }

    /// All statuses with their numbers of tiles, in the order of [`Status::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = (Status, u64)> {
        Status::ALL.into_iter().zip(self.0)
    }

    /// How many tiles there are.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The status of the tile that got furthest; without tiles [`Status::Done`].
    pub fn furthest(&self) -> Status {
        let from_the_end = [
            Status::Done,
            Status::Nothing,
            Status::LikelyBackground,
            Status::Background,
        ];
        let reached = |status: &Status| self.0[*status as usize] > 0;
        from_the_end.into_iter().find(reached).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slide_is_as_far_as_its_furthest_tile() {
        use Status::{Background, Done, LikelyBackground, Nothing};
        for (tiles, furthest) in [
            (&[][..], Done),
            (&[Background], Background),
            (&[Background, LikelyBackground], LikelyBackground),
            (&[Nothing, LikelyBackground, Background], Nothing),
            (&[Background, Done, Nothing], Done),
        ] {
            let mut tally = StatusCounts::default();
            tiles.iter().for_each(|status| tally.add(*status));
            assert_eq!(tally.furthest(), furthest, "{tiles:?}");
            assert_eq!(tally.total(), tiles.len() as u64);
            for (status, count) in tally.counts() {
                let expected = tiles.iter().filter(|tile| **tile == status).count();
                assert_eq!(count, expected as u64);
            }
        }
    }
}
