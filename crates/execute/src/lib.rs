//! Doing what the coordinator says: worker threads, programs, work folders.
//!
//! What comes in: an [`Enactment`](headwater_enact::Enactment) and a [`Keeper`] for products. What goes
//! out: the same enactment with everything settled, and what each task came to, told to an [`Observer`] as
//! it happens.
//!
//! | file | noun |
//! | --- | --- |
//! | `executor` | [`Executor`], [`Threads`]: who runs tasks and has what they made |
//! | `pool` | worker threads that ask the coordinator for work |
//! | `hand` | [`Hand`]: doing one task with inputs that are here |
//! | `ended` | [`Execution`], [`Finished`], [`Observer`]: how tasks end, and who hears of it |
//! | `stop` | [`Stop`]: the wish to stop |
//! | `keeper` | [`Keeper`], [`Fetch`]: what the pool asks of whoever keeps products |
//! | `held` | the outputs that tasks in flight read: in memory or written out |
//! | `native` | native operations: panics and time-outs stay their own |
//! | `processor` | the processor time of native operations |
//! | `files` | [`PlainFiles`]: files that native operations read, and those that they give |
//! | `command` | a program as a task: folder, arguments, outputs, failure |
//! | `allowance` | how many threads the libraries of a program may start |
//! | `render` | filling in templates |
//! | `give` | what a program is given: inputs and the files it uses, out of its reach |
//! | `protect` | the ways in which they are kept out of its reach |
//! | `proof` | [`Proven`]: files whose bytes are known to be right, and what they looked like |
//! | `folders` | [`Folders`]: where files of tasks lie |
//! | `folder` | work folders: collecting outputs |
//! | `system` | what is asked of the kernel about files |
//! | `pattern` | [`files_matching`]: patterns of file names |
//! | `watch` | [`Watched`]: whether anybody has written to what tasks read |
//! | `version` | [`version_said`]: what a program says of its version |
//! | `machine` | what this machine is and has |
//! | `spawn` | [`spawn::Spawner`]: the small helper process that starts programs |
//!
//! Read `executor.rs` first, then `pool.rs`.
//!
//! **Invariant:** decides nothing. What runs, when and in which order is up to `enact`; what is kept, and
//! where, is up to the [`Keeper`].

mod allowance;
mod collect;
mod command;
mod ended;
mod executor;
mod files;
mod folder;
mod folders;
mod give;
mod hand;
mod held;
mod keeper;
mod machine;
mod memory;
mod native;
mod pattern;
mod pool;
mod processor;
mod proof;
mod protect;
mod render;
pub mod spawn;
mod stop;
mod system;
mod version;
mod watch;

pub use allowance::thread_allowance;
pub use command::inherited_environment;
pub use ended::{Execution, Finished, Observer, Usage};
pub use executor::{Executor, Round, Threads};
pub use files::PlainFiles;
pub use folder::{copy_value, remove_tree};
pub use folders::Folders;
pub use hand::{Hand, Order, Ran};
pub use held::{inputs_of, read_written_out};
pub use keeper::{
    AsRecall, Fetch, Fetched, Keeper, KeeperError, LeaseAnswer, Made, NothingKept, Ports,
};
pub use machine::{machine_cores, machine_memory, machine_name};
pub use memory::give_back_large_blocks;
pub use pattern::{PatternError, files_matching, is_pattern};
pub use pool::PoolError;
pub use proof::Proven;
pub use protect::check_protection;
pub use stop::Stop;
pub use version::version_said;
pub use watch::Watched;
