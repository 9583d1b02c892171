//! The report of a run: gathered when it ends, and made again later.
//!
//! | file | what |
//! | --- | --- |
//! | `gather` | the summary, from what the tasks of a run came to |
//! | `keep` | the files: the page, and the summary in the store |

mod gather;
mod keep;

pub(crate) use gather::summary;
pub use keep::report_run;
pub(crate) use keep::{Figures, figures, remember};
