//! Image kernels, and the nuclei segmentation workflow made of them.

mod compare;
mod normalize;
mod overlay;
mod plane;
mod synth;

pub use compare::{ObjectAgreement, PixelAgreement, SizesDiffer, compare_objects, compare_pixels};
pub use normalize::{Target, normalize};
pub use overlay::{OUTLINE, overlay};
pub use plane::{Colour, Connectivity, MAX_PIXELS, Plane, View};
pub use synth::{MAX_SIDE, Synth, SynthError, SynthOptions};
