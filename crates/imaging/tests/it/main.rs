//! The kernels and the segmentation against results of the reference implementation.

mod operations;
mod oracle;
mod shared;
