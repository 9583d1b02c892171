//! From an image to its mask and its picture: what is done before and after the seven tasks, whole or in tiles.
//!
//! Law: an image is normalized if that is asked for, then segmented; outlines are drawn on the image as it was given.
//! Nothing here knows files, threads or clocks: each step is reported as it begins, for those who measure.
//!
//! `slide` does it tile by tile. Read this file first.

mod slide;

pub use slide::{SlideFound, SlideSegmentation, TileFound};

use crate::nuclei::{self, Parameters, Segmentation, Task};
use crate::{Colour, OUTLINE, Plane, Target, normalize, overlay};

/// How wide outlines are drawn.
const THICKNESS: u8 = 1;

/// What is to be done to an image, be it a whole one or a tile.
#[derive(Debug, Clone)]
pub struct Job {
    /// The parameters of the seven tasks.
    pub parameters: Parameters,
    /// Whether the stain is brought to that of the usual target first.
    pub normalize: bool,
    /// Whether outlines are drawn.
    pub overlay: bool,
}

/// A step of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The stain is brought to that of the usual target.
    Normalize,
    /// A task of the segmentation.
    Task(Task),
    /// Outlines are drawn.
    Overlay,
    /// The mask is compared with a reference.
    Compare,
}

/// What an image gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The mask, and what is in it.
    pub segmentation: Segmentation,
    /// The image with outlines, if they were asked for.
    pub drawn: Option<Plane<Colour>>,
}

impl Job {
    /// Segments an image. `began` hears of each step before it starts; a step ends where the next one begins.
    pub fn run(&self, image: Plane<Colour>, mut began: impl FnMut(Step)) -> Found {
        let (original, image) = if self.normalize {
            began(Step::Normalize);
            let normalized = normalize(image.view(), &Target::default());
            (self.overlay.then_some(image), normalized)
        } else {
            (None, image)
        };
        let segmentation = nuclei::segment(image.view(), &self.parameters, |task| {
            began(Step::Task(task));
        });
        let drawn = self.overlay.then(|| {
            began(Step::Overlay);
            let image = original.as_ref().unwrap_or(&image);
            overlay(image.view(), segmentation.mask.view(), OUTLINE, THICKNESS)
                .unwrap_or_else(|_| unreachable!("the mask has the size of its image"))
        });
        Found {
            segmentation,
            drawn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_in_order_and_only_those_that_are_asked_for() {
        let image = Plane::filled(8, 8, [255; 3]);
        for (normalize, overlay) in [(false, false), (true, false), (false, true), (true, true)] {
            let job = Job {
                parameters: Parameters::default(),
                normalize,
                overlay,
            };
            let mut steps = Vec::new();
            let found = job.run(image.clone(), |step| steps.push(step));
            let mut expected = Vec::new();
            expected.extend(normalize.then_some(Step::Normalize));
            // It is background, which the first task finds.
            expected.extend([Task::Split, Task::RedBloodCells].map(Step::Task));
            expected.extend(overlay.then_some(Step::Overlay));
            assert_eq!(steps, expected);
            // Of nothing there is no outline, and the image is the one that was given.
            assert_eq!(found.drawn, overlay.then(|| image.clone()));
        }
    }
}
