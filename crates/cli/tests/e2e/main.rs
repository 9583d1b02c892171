//! The `headwater` command as its users meet it: real files, real programs, real signals.
//!
//! Every test works in a folder of its own and says in its name what a user relies on. Nothing here waits for
//! a clock: where a test has to meet a moment, it watches a file that the commands write.

mod another_user;
mod arguments;
mod book;
mod collected;
mod counts;
mod cutoff;
mod dag;
mod disk;
mod docs;
mod examples;
mod explain;
mod failures;
mod given;
mod group;
mod hard;
mod imaging;
mod interrupt;
mod json;
mod keeping;
mod kill;
mod limits;
mod meanwhile;
mod memory;
mod memory_store;
mod mistakes;
mod modes;
mod names;
mod new;
mod nodes;
mod nuclei;
mod numbers;
mod outputs;
mod place;
mod planted;
mod protect;
mod report;
mod restore;
mod reuse;
mod samples;
mod security;
mod sequence;
mod slurm;
mod study;
mod study_again;
mod study_plan;
mod study_record;
mod study_run;
mod study_settings;
mod study_steps;
mod study_troubles;
mod threads;
mod traps;
mod watching;
