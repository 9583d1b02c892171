//! Other machines: processes that run tasks for a run that goes on elsewhere.
//!
//! What comes in: a round of a run, for an [`Executor`](headwater_execute::Executor) as any other. What goes out: the same
//! round with everything ended, and products in the store. In between the tasks are in other processes, which this one has
//! started ([`Launch`]) and which connect to it.
//!
//! | file | noun |
//! | --- | --- |
//! | `manager` and its folder | [`Nodes`]: the executor. `reception` lets nodes in, `directory` knows where bytes are, `give` makes units of tasks, `settle` is what becomes of tasks, `own` runs what must not run elsewhere |
//! | `process` | [`run_node`]: the node process |
//! | `work` | its desk: units come in, are provided with what they read, and run |
//! | `message` | what the two say to each other |
//! | `objects`, `shelf` | bytes by digest: from process to process, and in one |
//! | `secure`, `crew_file` | connections, and the keys that a crew has |
//! | `launch` | how nodes are started: here, by a command, by Slurm |
//!
//! Read `message.rs` first, then `manager.rs` and `process.rs`.
//!
//! **Invariant:** what is decided is decided by `enact`: the coordinator says what runs, the crew says where.
//!
//! **Invariant:** nothing that a node says leads outside of the folder that nodes write to, and no bytes are used before they
//! were compared with their digest.

mod crew_file;
mod error;
mod launch;
mod manager;
mod message;
mod objects;
mod process;
mod secure;
mod shelf;
mod work;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

pub use crew_file::CrewFile;
pub use error::NodeError;
pub use launch::{Launch, Launched, Program};
pub use manager::{NodeReport, Nodes, NodesOptions, Traffic};
pub use process::{NodeOptions, run_node};

/// The argument that makes a program a node.
pub const HIDDEN: &str = "--headwater-node";

/// Makes a folder that nobody else may look into.
fn make_private(folder: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// A name that nobody else has.
fn random_name() -> String {
    let mut bytes = [0; 8];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    if read.is_err() {
        // The number of the process and the time do where there is nothing better.
        bytes = (u64::from(std::process::id()) << 32
            | std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |since| u64::from(since.subsec_nanos())))
        .to_le_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a program is to be as a node, if its arguments say that it is one: [`HIDDEN`], the crew file, and options as
/// `--name=TEXT`.
pub fn node_of_arguments(arguments: impl Iterator<Item = OsString>) -> Option<NodeOptions> {
    let mut arguments = arguments;
    if arguments.next()? != HIDDEN {
        return None;
    }
    let mut options = NodeOptions::of(&PathBuf::from(arguments.next()?));
    for argument in arguments {
        let argument = argument.to_string_lossy().into_owned();
        let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
        match name {
            "--name" => options.name = Some(value.to_owned()),
            "--cores" => options.cores = value.parse().ok(),
            "--patience" => {
                let seconds = value.parse().ok();
                options.patience = seconds.map_or(options.patience, std::time::Duration::from_secs);
            }
            "--slurm" => options.of_slurm(),
            // A later build may say more; builds are compared when it joins.
            _ => {}
        }
    }
    Some(options)
}
