//! Image kernels, and the nuclei segmentation workflow made of them.

mod distance;
mod plane;
mod reconstruct;
mod spans;

pub use distance::{distance, distance_or_max, squared_distance};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use reconstruct::{Grey, reconstruct, reconstruct_in_place, reconstruct_in_spans};
pub use spans::Spans;
