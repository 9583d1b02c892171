//! The file formats of Headwater: from text to positioned trees to own types.
//!
//! What comes in: the text of a file that somebody wrote, and the [`Registry`](headwater_graph::Registry) of
//! what libraries bring. What goes out: a [`WorkflowFile`], a [`DataFile`] or a [`StudyFile`], and every mistake of the
//! file as a [`Diagnostic`](headwater_graph::Diagnostic) with its line and column, which [`render`] shows.
//!
//! ```text
//! text ─parse→ Tree ─validate(Shape)→ Fields ─read→ Workflow ─graph::check→ problems ─Places→ Diagnostics
//! ```
//!
//! | file | noun |
//! | --- | --- |
//! | `source` | a text and its positions; the only maker of spans |
//! | `tree`, `parse`, `syntax` | nodes with spans, from the events of the YAML parser; its errors in plain words |
//! | `shape`, `leaf`, `formats` | what may be written where; `formats` is the grammar of all files |
//! | `validate`, `schema` | the two readers of shapes: one checks trees, one prints JSON Schema |
//! | `read` | text that becomes a workflow, whichever kind of file it is |
//! | `workflow` and its folder | what workflow files say, part by part |
//! | `programs` | files of operations alone |
//! | `study` and its folder | study files, settings that change them, and what they mean for their workflow; `study/studied` has what is asked of the values of a parameter |
//! | `descriptor` | stage descriptors: JSON that others write, read as a workflow of one stage |
//! | `settings` | settings files: which store is used |
//! | `starter` | files to start from: a workflow, a study, a study of a workflow that is there, a Rust library of operations |
//! | `workflow/places` | from problems of a workflow to places in its file |
//! | `data` | data files, and writing them |
//! | `data/csv` | data files as CSV, and [`TextTable`]: tables of anything |
//! | `name`, `scalar`, `quantity`, `suggest`, `excerpt` | names, single values, times and sizes, what may have been meant, long texts in messages |
//! | `report`, `render` | diagnostics while reading, and as text |
//!
//! Read `formats.rs` first, then `read.rs`, then `workflow.rs`.
//!
//! **Invariant:** any text can be given to any reader; none panics, and none stops at the first mistake.
//! Nothing here opens a file: patterns and paths are handed on as they are written.

mod data;
mod descriptor;
mod distinct;
mod example;
mod excerpt;
mod formats;
mod leaf;
#[doc(hidden)]
pub mod mutate;
mod name;
mod parse;
mod programs;
mod quantity;
mod quoting;
mod read;
mod render;
mod report;
mod scalar;
mod schema;
mod settings;
mod shape;
mod source;
mod starter;
mod study;
mod suggest;
mod syntax;
mod tree;
mod validate;
mod workflow;

pub use data::csv::{TextTable, read_table};
pub use data::write::{write_data, write_scalar};
pub use data::{
    DataColumn, DataFile, DataFormat, DataRow, DataShape, DataValue, Datum, DatumValue,
    ParameterSetting, is_data, read_data,
};
pub use programs::{is_programs, read_programs};
pub use quantity::duration as read_duration;
pub use read::{read_descriptor, read_workflow};
pub use render::render;
pub use report::Read;
pub use schema::{
    data_schema, descriptor_schema, operations_schema, settings_schema, study_schema,
    workflow_schema,
};
pub use settings::{SettingsFile, StoreSettings, is_settings, read_settings};
pub use starter::{
    Dependency, StarterError, StarterFile, library_of, starter_name, starter_study,
    starter_workflow, study_of,
};
pub use study::{
    DEFAULT_SEED, Levels, MOST_SET_VALUES, MOST_SETS, Method, MoatMethod, Override,
    PartDiagnostics, Placed, ResolvedStudy, Sampler, Setting, Step, StepLength, StudiedParameter,
    StudiedValues, StudyFile, StudyInput, StudyParameters, StudyText, StudyValue, Until, VbdMethod,
    Walk, is_study, read_study, read_study_with, resolve,
};
pub use suggest::suggestion;
pub use workflow::WorkflowFile;
pub use workflow::operation::OperationPlaces;
pub use workflow::parameter::{SettingError, fit_parameter, read_scalar_setting};
