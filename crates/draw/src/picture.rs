//! A diagram of which everything has its place.

use crate::face::{Face, Heading};

/// What is wrong with the labels of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flaws {
    /// How many arrows have something to say and found no place for it.
    pub(crate) left_out: usize,
    /// How many other arrows run through labels.
    pub(crate) crossed: usize,
}

/// A box.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Rectangle {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rectangle {
    /// Whether two boxes share some room.
    pub(crate) fn overlaps(&self, other: &Rectangle) -> bool {
        let beside = self.x + self.width <= other.x || other.x + other.width <= self.x;
        let above = self.y + self.height <= other.y || other.y + other.height <= self.y;
        !beside && !above
    }

    /// The same box elsewhere.
    pub(crate) fn moved(self, x: f64, y: f64) -> Rectangle {
        Rectangle {
            x: self.x + x,
            y: self.y + y,
            ..self
        }
    }
}

/// The box of a stage, or of a part of it.
#[derive(Debug, Clone)]
pub(crate) struct StageBox {
    pub(crate) place: Rectangle,
    pub(crate) heading: Heading,
    /// How far from the left edge of the box the heading begins.
    pub(crate) heading_at: f64,
    /// The nodes in it.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look whether they are"))]
    pub(crate) nodes: Vec<usize>,
}

/// An arrow.
#[derive(Debug, Clone)]
pub(crate) struct Arrow {
    /// The position of its edge.
    pub(crate) edge: usize,
    /// From the upper end to the lower.
    pub(crate) corners: Vec<(f64, f64)>,
    /// It closes a circle, and goes up: its tip is at the upper end.
    pub(crate) turned: bool,
    /// What stands beside it, where there is room: the middle of the text, and its lines.
    pub(crate) label: Option<(f64, f64, Vec<String>)>,
}

/// Where everything is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) stages: Vec<StageBox>,
    /// By node.
    pub(crate) faces: Vec<Face>,
    pub(crate) nodes: Vec<Rectangle>,
    pub(crate) arrows: Vec<Arrow>,
    /// What is wrong with labels.
    pub(crate) flaws: Flaws,
}

impl Picture {
    /// Makes room at the sides, for what stands between these bounds.
    pub(crate) fn widen(&mut self, left: f64, right: f64) {
        self.width = right.max(self.width) - left.min(0.0);
        if left >= 0.0 {
            return;
        }
        let stages = self.stages.iter_mut().map(|stage| &mut stage.place);
        for place in self.nodes.iter_mut().chain(stages) {
            place.x -= left;
        }
        for arrow in &mut self.arrows {
            arrow.corners.iter_mut().for_each(|corner| corner.0 -= left);
            if let Some((x, _, _)) = &mut arrow.label {
                *x -= left;
            }
        }
    }
}
