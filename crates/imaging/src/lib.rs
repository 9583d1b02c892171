//! Image kernels, and the nuclei segmentation workflow made of them.
//!
//! What comes in: pixels, as a [`View`] of them, or the bytes of an image file. What goes out: pixels, as a
//! [`Plane`] or a [`Bitmap`], numbers about them, or a file; and, for the engine, the operations that
//! [`register`] adds.
//!
//! | file | noun |
//! | --- | --- |
//! | `plane`, `bits`, `runs`, `spans` | an image, a binary image, its components, its rows in pieces |
//! | `fill`, `label`, `select`, `cross` | kernels on binary images |
//! | `octagon`, `reconstruct`, `distance`, `watershed`, `lines` | kernels on grey and colour images |
//! | `nuclei` | the seven tasks and their parameters |
//! | `normalize`, `compare`, `overlay`, `synth` | before and after the segmentation |
//! | `files`, `mosaic` | image files, slides in tiles, a slide's mask and picture from its tiles' |
//! | `segmentation` | all of that done to an image, or to a slide tile by tile |
//! | `operations` | all of it as operations of a workflow |
//! | `room`, `wide`, `naive` | memory for large images; wide registers; plain definitions for tests |
//!
//! Read `plane.rs` first, then `nuclei.rs`, then `segmentation.rs`.
//!
//! **Invariant:** a kernel is a function of its arguments: no threads, no files, no clock; the same pixels on every
//! machine. Each is held against its plain definition on random images, and the whole against masks of the program it
//! was modelled on.

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
pub mod segmentation;
mod select;
mod spans;
mod synth;
mod watershed;
mod wide;

pub use bits::Bitmap;
pub use compare::{
    ObjectAgreement, PixelAgreement, SizesDiffer, compare_objects, compare_pixels, objects_of,
};
pub use cross::{dilate, erode, open};
pub use distance::{distance, distance_or_max, squared_distance};
pub use fill::fill;
pub use label::{count_components, filter_by_area, label};
pub use lines::{repair_lines, without_lines};
pub use mosaic::{MaskCounts, Mosaic, PictureMosaic};
pub use normalize::{Target, normalize};
pub use octagon::open_by_octagon;
pub use operations::{LIBRARY, colour_value, grey_value, operations, register};
pub use overlay::{OUTLINE, overlay};
pub use plane::{Colour, Connectivity, LONGEST_SIDE, MAX_PIXELS, Plane, View};
pub use reconstruct::{Grey, reconstruct, reconstruct_in_place, reconstruct_in_spans};
pub use select::select;
pub use spans::Spans;
pub use synth::{MAX_SIDE, Synth, SynthError, SynthOptions};
pub use watershed::{LINE, flood, watershed};
