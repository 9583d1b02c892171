//! What is reported to people and programs: plain facts, and the pages and texts that are made of them.
//!
//! In come facts that whoever has them puts into the types here: [`run::RunSummary`], [`study::StudySummary`]. Out come
//! pages and JSON. Read `run/summary.rs` and `study/summary.rs` first: all else is a function of them.
//!
//! | file | what |
//! | --- | --- |
//! | `page` | what all pages have in common: frame, style, tables, charts, numbers, and that everything is escaped |
//! | `events`, `metrics` | how far a run is: JSON for programs, text for Prometheus |
//! | `json` | what `--json` prints, as types; of a study in `study/json.rs` |
//! | `run` | a run: its summary and its page |
//! | `study` | a study: its summary, its results as JSON, and its page |
//!
//! **Invariant:** it knows no stores, no files and no execution. A page needs nothing but itself.

mod counted;
pub mod events;
pub mod json;
mod metrics;
pub mod page;
pub mod run;
pub mod study;

pub use metrics::metrics;
