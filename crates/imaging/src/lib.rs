//! Image kernels, and the nuclei segmentation workflow made of them.

mod bits;
mod cross;
mod fill;
mod label;
#[cfg(test)]
mod naive;
mod octagon;
mod compare;
mod normalize;
mod overlay;
pub mod files;
mod plane;
mod runs;
mod select;

pub use bits::Bitmap;
pub use cross::{dilate, erode, open};
pub use fill::fill;
pub use label::{count_components, filter_by_area, label};
pub use octagon::open_by_octagon;
pub use compare::{ObjectAgreement, PixelAgreement, SizesDiffer, compare_objects, compare_pixels};
pub use normalize::{Target, normalize};
pub use overlay::{OUTLINE, overlay};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use select::select;
mod distance;
mod plane;
mod reconstruct;
mod spans;

pub use distance::{distance, distance_or_max, squared_distance};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use reconstruct::{Grey, reconstruct, reconstruct_in_place, reconstruct_in_spans};
pub use spans::Spans;
mod lines;
mod plane;
mod watershed;

pub use lines::{repair_lines, without_lines};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use watershed::{LINE, flood, watershed};
