//! What can go wrong between machines.

use std::io;
use std::path::PathBuf;

use headwater_graph::Fault;

/// An error of a node or of the manager of nodes.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The crew file is missing, or is not to be trusted.
    #[error("cannot use crew file `{}`: {reason}", path.display())]
    CrewFile {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The keys of a crew cannot be made or read.
    #[error("the keys of the crew cannot be used: {0}")]
    Keys(String),
    /// A connection could not be made, or broke.
    #[error("{what}: {error}")]
    Connection {
        /// What was tried.
        what: String,
        /// What came of it.
        error: io::Error,
    },
    /// The manager does not want this node.
    #[error("the manager refused this node: {0}")]
    Refused(String),
    /// Nodes could not be started.
    #[error("cannot start nodes: {reason}")]
    Launch {
        /// Why.
        reason: String,
        /// What would help.
        hint: Option<String>,
    },
    /// A text that says nothing about nodes.
    #[error("`{0}` does not say which nodes to use")]
    Spec(String),
}

impl NodeError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            NodeError::Spec(_) => Fault::User,
            _ => Fault::Environment,
        }
    }

    /// What would help.
    pub fn hint(&self) -> Option<String> {
        match self {
            NodeError::Spec(_) => Some(
                "write `local:N` for N processes on this machine, `slurm:N` for N jobs of Slurm, or `command:TEXT` \
                 for a command that starts one node, with `{node}` in the place of the program and its arguments"
                    .to_owned(),
            ),
            NodeError::Launch { hint, .. } => hint.clone(),
            _ => None,
        }
    }
}
