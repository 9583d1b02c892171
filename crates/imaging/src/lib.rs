//! Image kernels, and the nuclei segmentation workflow made of them.

mod lines;
mod plane;
mod watershed;

pub use lines::{repair_lines, without_lines};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use watershed::{LINE, flood, watershed};
