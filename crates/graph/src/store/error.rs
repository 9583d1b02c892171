//! What a store says when it cannot do what was asked.
//!
//! Law: an error says whose fault it is and, where that is known, what to do.

use std::path::PathBuf;

use crate::{Digest, Fault};

/// A store that cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Reading or writing failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, with the path.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The database refused.
    #[error("the record database: {0}")]
    Database(String),
    /// An object is not there.
    #[error("object {0} is not in the store")]
    Missing(Digest),
    /// An object or a record is not what its name says.
    #[error("{what} is damaged")]
    Damaged {
        /// Which.
        what: String,
    },
    /// The store is of another version.
    #[error("the store at {path} has format {found}; this program reads format {wanted}")]
    Format {
        /// Where.
        path: PathBuf,
        /// What it has.
        found: i64,
        /// What was expected.
        wanted: i64,
    },
    /// The store may not be written to.
    #[error("the store is read-only")]
    ReadOnly,
    /// The records would lie on a file system that is shared between machines.
    #[error(
        "the store at {path} is on a network file system ({kind}), where its database is not safe"
    )]
    NetworkFileSystem {
        /// Where.
        path: PathBuf,
        /// The name of the file system.
        kind: &'static str,
    },
    /// A store of a group cannot be reached now.
    #[error("the store of the group cannot be reached: {0}")]
    Away(String),
    /// A store of a group does not let this user do it.
    #[error("the store of the group refuses: {0}")]
    Refused(String),
    /// A part of the store lies elsewhere, where nothing may be removed or written to on its account.
    #[error("`{path}` is neither a file nor a folder of the store's own")]
    NotOwn {
        /// Which part.
        path: PathBuf,
    },
}

impl StoreError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            StoreError::Format { .. }
            | StoreError::ReadOnly
            | StoreError::NetworkFileSystem { .. }
            | StoreError::Refused(_)
            | StoreError::NotOwn { .. } => Fault::User,
            StoreError::Io { .. }
            | StoreError::Database(_)
            | StoreError::Away(_)
            | StoreError::Missing(_)
            | StoreError::Damaged { .. } => Fault::Environment,
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Format { .. } => {
                Some("use the program that made the store, or name another folder as the store")
            }
            StoreError::NetworkFileSystem { .. } => {
                Some("name a folder on a disk of this machine as the store")
            }
            StoreError::NotOwn { .. } => Some(
                "a store is moved or linked as a whole; if it came from somebody else, do not use it",
            ),
            StoreError::Damaged { .. } => {
                Some("give the command again: what is damaged is made anew")
            }
            StoreError::Away(_) => Some(
                "wait for it with --wait-for-store TIME, or use a store of your own (--store FOLDER)",
            ),
            StoreError::Refused(_) => Some(
                "ask the owner of the database for the role headwater_reader or headwater_writer",
            ),
            StoreError::Io { source, .. }
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Some(
                    "use it without writing to it (--read-only), or name another folder as the store (--store)",
                )
            }
            StoreError::Io { .. }
            | StoreError::Database(_)
            | StoreError::Missing(_)
            | StoreError::ReadOnly => None,
        }
    }
}
