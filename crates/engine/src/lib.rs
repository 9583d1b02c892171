//! The engine: what every run has in common, be it of a workflow, a study, a sequence of calls or a graph.
//!
//! In come files that people wrote, and graphs of tasks that others made of them; out come products in a store, outputs
//! in a folder, and notes for those who ask later. This is the one place that wires the pure crates and the hands:
//!
//! ```text
//! file ─load→ Workflow ─data→ DataSet ─(enact)→ TaskGraph ─(enact + execute)→ events ─keep→ products ─deliver→ files
//! ```
//!
//! | file | step |
//! | --- | --- |
//! | `load`, `uses` | reads a workflow file, and finds out the versions of its programs |
//! | `data` | reads the data of a run: globs, tables, single values |
//! | `given` | reads files that people name, up to a limit |
//! | `sources` | the same as values of a program: workflows, data, settings |
//! | `surroundings` | folder, store, libraries, limits, progress, stop: what every verb is given |
//! | `locate` | where the store is |
//! | `limits`, `budget` | what a run may take; how a limit on memory is shared out |
//! | `machines` | who runs tasks: threads, or nodes |
//! | `run` | [`Run`]: one run, begun, run in rounds, and ended on every path |
//! | `places`, `temporary` | where the files of a run lie while it goes on |
//! | `keep`, `fetch`, `stash`, `thrift`, `room` | give products to the store and take them back; which bytes are worth their place, and what makes room |
//! | `lost` | products that are remembered, and whose bytes are gone |
//! | `listener` | hears of tasks, and passes it on to the next two rows |
//! | `ledger` | tasks as they end, for those who ask meanwhile |
//! | `progress`, `trace` | how far a run is, and what it did |
//! | `deliver`, `results_folder`, `whole` | writes outputs where the user finds them, and over nothing |
//! | `notes`, `failures`, `details`, `diagram`, `logs` | what a run leaves for those who ask later |
//! | `native` | a graph of tasks, run without files |
//! | `runs` | which run somebody means |
//! | `identifier`, `lock`, `error` | names of runs, locks, and the one error that reaches the edge |
//!
//! Read `run` first, then `keep` and `deliver`.
//!
//! **Invariant:** it knows nothing of reports and terminals.

pub mod budget;
pub mod data;
pub mod deliver;
pub mod details;
pub mod diagram;
mod error;
pub mod failures;
pub mod fetch;
pub mod given;
pub mod identifier;
pub mod keep;
pub mod ledger;
pub mod limits;
pub mod listener;
pub mod load;
pub mod locate;
pub mod lock;
pub mod logs;
pub mod lost;
pub mod machines;
pub mod native;
pub mod notes;
pub mod places;
pub mod progress;
pub mod results_folder;
pub mod room;
pub mod run;
pub mod runs;
mod settings;
pub mod sources;
pub mod stash;
mod strange;
mod surroundings;
pub mod temporary;
pub mod thrift;
pub mod trace;
pub mod uses;
pub mod whole;

pub use error::Error;
pub use limits::{Limits, Machines};
pub use locate::{StorePlace, open_store};
pub use progress::Progress;
pub use run::Run;
pub use sources::{Data, DataSource, Document, Setting, WorkflowSource};
pub use surroundings::Surroundings;
