//! Who runs tasks: threads of this process, or other processes, here and on other machines.
//!
//! Law: what comes out is the same. What one of these cannot do yet is refused before anything runs.

use headwater_execute::{Executor, Threads};
use headwater_graph::Registry;

use crate::Error;
use crate::limits::{Limits, Machines};

impl Limits {
    /// Who runs tasks within these limits.
    pub fn executor(&self) -> Result<Box<dyn Executor>, Error> {
        match &self.machines {
            None => Ok(Threads::new(self.cores_here()).into()),
            Some(machines) => self.nodes(machines),
        }
    }

    #[cfg(feature = "nodes")]
    fn nodes(&self, machines: &Machines) -> Result<Box<dyn Executor>, Error> {
        use headwater_node::{Launch, NodeError, Nodes, NodesOptions, Program};

        for (flag, given) in [("--memory", self.memory), ("--disk", self.disk)] {
            if given.is_some() {
                return Err(Error::usage(
                    format!("{flag} cannot be kept to with --nodes yet"),
                    Some(format!("leave {flag} out, or run without --nodes")),
                ));
            }
        }
        let unclear = |error: NodeError| Error::usage(error.to_string(), error.hint());
        let launch: Launch = machines.nodes.parse().map_err(unclear)?;
        let program = Program::of_this()
            .map_err(|source| Error::io("cannot find", "/proc/self/exe", source))?;
        Ok(Nodes::new(NodesOptions {
            launch,
            program,
            cores: self.cores_here(),
            slurm: machines.slurm.clone(),
            listen: None,
        })
        .into())
    }

    #[cfg(not(feature = "nodes"))]
    fn nodes(&self, machines: &Machines) -> Result<Box<dyn Executor>, Error> {
        Err(Error::usage(
            format!(
                "this program was built without nodes, such as `{}`",
                machines.nodes
            ),
            Some("build it with the cargo feature `nodes`".to_owned()),
        ))
    }
}

/// Works as a node, if the arguments of this process say that it is one, and ends it then.
#[cfg(feature = "nodes")]
pub fn serve_if_asked(libraries: impl FnOnce() -> Registry) {
    let Some(options) = headwater_node::node_of_arguments(std::env::args_os().skip(1)) else {
        return;
    };
    let stop = headwater_execute::Stop::default();
    match headwater_node::run_node(&options, libraries(), &stop) {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            // Whoever started it reads this where it has its log.
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// A program without nodes is none.
#[cfg(not(feature = "nodes"))]
pub fn serve_if_asked(_libraries: impl FnOnce() -> Registry) {}
