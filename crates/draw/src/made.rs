//! What all texts of graphs have in common.

/// What every graph of ours has in its beginning.
pub(crate) const MADE: &str = "made by headwater dag";
/// The colour of arrows that say an order alone, where there are no style sheets.
pub(crate) const ORDER: &str = "#a8487f";
