//! The kernels and the segmentation against results of the reference implementation.

mod colour;
mod docs;
mod operations;
mod oracle;
mod shared;
mod synth;
