//! Image kernels, and the nuclei segmentation workflow made of them.

mod plane;

pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
