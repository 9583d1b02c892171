//! Sensitivity indices, from a design and what came out at its points.
//!
//! Law: `analyze::x` reads what `sample::x` makes, and nothing else.

/// How confidence intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// How many times the sample is drawn again from itself.
    pub resamples: u32,
    /// The level, such as 0.95.
    pub confidence: f64,
    /// Which of the random sequences.
    pub seed: u64,
}

/// An index and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The interval is `value ± half_width`; not a number where it cannot be told.
    pub half_width: f64,
}
