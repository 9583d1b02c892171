//! The kernels and the segmentation against results of the reference implementation.

mod oracle;
mod shared;
