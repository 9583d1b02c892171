//! What was made from what, and the bytes: the store of Headwater.
//!
//! **What comes in:** [`Pending`](headwater_graph::Pending) products: a record (recipe, operation, version, parameters, inputs, outputs, times)
//! together with the staged files and bytes that its outputs consist of; and files whose contents have to be named.
//! **What goes out:** an [`Arc<dyn Store>`](headwater_graph::Store): for each recipe whether it is remembered and what
//! came of it; the bytes by digest, verified; the digests of files and directories; the list of runs.
//!
//! ```text
//!                     submit                 keep                              acknowledge
//!  finished task ──> Pending ──> Writer ──> objects ──> journal ──> records ──────────────> the engine may rely on it
//!                                (groups)   durable     durable     COMMIT
//! ```
//!
//! On disk a store is one folder, usually `.headwater/`:
//!
//! | path | what |
//! | --- | --- |
//! | `records.sqlite` | records, known objects, digest cache, runs; SQLite in WAL mode |
//! | `records.journal` | the same records once more, in a file that only grows; the database is made from it if damaged |
//! | `records.lock` | shared by whoever writes records, held alone by whoever replaces the database |
//! | `records.rebuild/` | a database that is being made anew |
//! | `damaged/1/` … | databases and journals that were set aside |
//! | `objects/ab/cdef…` | bytes, named by their BLAKE3 digest, never writable |
//! | `objects/damaged/` | objects that were found not to be what their name says |
//! | `staging/<claim>/`, `staging/<claim>.lock` | files on their way in; a claim is a run or a writer, alive while its lock is held |
//! | `work/<run>/`, `runs/<run>/` | belong to the executor and the facade; the store only says where they are |
//! | `leases/` | locked byte by byte, for as long as products are being made |
//! | `objects.lock` | held, shared, while objects are placed; exclusively, while some are taken away |
//! | `lock` | held for moments, while claims are made or swept |
//!
//! | file | noun |
//! | --- | --- |
//! | `store` | `FolderStore`: opening, the folders, who may write |
//! | `keep` | the order of steps that makes a batch durable: **read this first** |
//! | `writer` | [`Writer`]: groups what many threads submit into few commits |
//! | `records`, `product_rows`, `packed`, `details` | records of products, and the rows that they are in; `details` has the compact, checked encoding of their lists, `packed` the columns of any database |
//! | `aliases` | recipes that were found to be equal to a product |
//! | `leases` | who is making what, so that nothing is made twice at once |
//! | `queries` | what people ask: lists of products, what came before, what a version stands for |
//! | `costs` | what executions of an operation have cost |
//! | `objects`, `object_rows` | placing, finding and verifying bytes; what they are called, and what is written down of them |
//! | `collect` | taking bytes away when they are too many |
//! | `shares`, `room` | what runs with a limit on disk hold; all that has to do with room |
//! | `verify` | reading everything |
//! | `worth`, `habits` | what is worth keeping; how often products are read again |
//! | `digests`, `directory` | digests of files (cached) and of directories |
//! | `runs`, `run_rows` | what ran when, and how it ended; and the rows that say so |
//! | `run_files` | notes that a run leaves |
//! | `local` | its folders on this machine |
//! | `claims` | who is alive, and what the dead have left behind |
//! | `database`, `place` | the three ways of using the records, and what happens when they are damaged; where their files are, and who may use them |
//! | `connections`, `schema` | connections to one file, what their errors mean, tables and the format number |
//! | `journal`, `rebuild` | the journal, and making the records again from it |
//! | `damage` | what was found damaged, in words |
//! | `memory` | another store: one in memory |
//! | `beneath` | the folder, and everything in it by names that never lead out of it |
//! | `disk` | the few system calls that the standard library does not have |
//! | `lock`, `clock` | locks among threads, and the time of day |
//!
//! **Invariants:** a record is visible only when its objects are durable. Nothing is acknowledged before the commit
//! that holds it has reached the disk. A reader never waits for a writer; only who asks for the path of an object, in a
//! store that may be written to and for the first time in a run, waits until that is noted. No damaged byte makes this
//! crate panic, refuse to open a store, or give out a wrong record. `docs/crash-contract.md` has the promises and
//! their tests.

mod aliases;
mod beneath;
mod claims;
mod clock;
mod collect;
mod connections;
mod costs;
mod damage;
mod database;
mod details;
mod digests;
mod directory;
mod disk;
mod habits;
mod journal;
mod keep;
mod leases;
mod local;
mod lock;
mod lookup;
mod memory;
mod object_rows;
mod objects;
mod packed;
mod place;
mod product_rows;
mod queries;
mod rebuild;
mod records;
mod room;
mod run_files;
mod run_rows;
mod runs;
mod schema;
mod shares;
mod store;
mod verify;
mod worth;
mod writer;

use std::path::Path;
use std::sync::Arc;

use headwater_graph::{Mode, Store, StoreError};

use memory::MemoryStore;
use store::FolderStore;

pub use beneath::{Access, Kind, Root, is_planted};
pub use costs::Sum;
pub use directory::named_directory;
pub use disk::sync_names;
pub use packed::{Columns, gave_the_same, pack, unpack};
pub use writer::Writer;

/// Opens the store in a folder. With [`Mode::ReadWrite`] it is made if there is none.
pub fn open(root: &Path, mode: Mode) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(FolderStore::open(root, mode)?))
}

/// A new store in memory. Files of tasks lie in `folder`, which is made when it is needed and goes with the store, unless
/// it holds the folders of tasks that failed.
pub fn in_memory(folder: &Path) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new(folder.to_owned()))
}

/// Whether there is a store in this folder, or what one can be made from again.
pub fn is_store(root: &Path) -> bool {
    FolderStore::is_at(root)
}
