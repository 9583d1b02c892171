//! Image kernels, and the nuclei segmentation workflow made of them.

mod bits;
mod compare;
mod cross;
mod distance;
pub mod files;
mod fill;
mod label;
mod lines;
mod mosaic;
#[cfg(test)]
mod naive;
mod normalize;
pub mod nuclei;
mod octagon;
mod operations;
mod overlay;
mod plane;
mod reconstruct;
mod room;
mod runs;
mod select;
mod spans;
mod synth;
mod watershed;

pub use bits::Bitmap;
pub use compare::{
    ObjectAgreement, PixelAgreement, SizesDiffer, compare_objects, compare_pixels, objects_of,
};
pub use cross::{dilate, erode, open};
pub use distance::{distance, distance_or_max, squared_distance};
pub use fill::fill;
pub use label::{count_components, filter_by_area, label};
pub use lines::{repair_lines, without_lines};
pub use mosaic::{MaskCounts, Mosaic};
pub use normalize::{Target, normalize};
pub use octagon::open_by_octagon;
pub use operations::{LIBRARY, colour_value, grey_value, operations, register};
pub use overlay::{OUTLINE, overlay};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use reconstruct::{Grey, reconstruct, reconstruct_in_place, reconstruct_in_spans};
pub use select::select;
pub use spans::Spans;
pub use synth::{MAX_SIDE, Synth, SynthError, SynthOptions};
pub use watershed::{LINE, flood, watershed};
