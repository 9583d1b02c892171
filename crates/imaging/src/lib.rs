//! Image kernels, and the nuclei segmentation workflow made of them.

pub mod files;
mod plane;

pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
