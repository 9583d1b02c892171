//! The nuclei study beside a straightforward Python version of it.
//!
//! Law: both sides answer the same question on the same image, on as many cores.

use std::error::Error;

use crate::Bench;
use crate::table::Table;
use crate::venv::Needs;

/// What the Python version imports.
pub(crate) const NEEDS: Needs = Needs {
    name: "study",
    packages: &[],
};

/// Measures both.
pub(crate) fn run(bench: &Bench) -> Result<Vec<Table>, Box<dyn Error>> {
    let _ = bench;
    Ok(Vec::new())
}
