//! Why a command of the tool could not do its work.
//!
//! Law: a failure says what happened and, where there is something to do about it, what; findings of `tidy` are not
//! failures of the tool but its result, and live in [`crate::tidy::Problem`].

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a command of the tool stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage {
        /// What is wrong with it.
        what: String,
    },
    /// A program could not be started at all.
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program ended with a code other than zero.
    Step {
        /// The command line.
        command: String,
        /// Its exit code, or none when a signal ended it.
        code: Option<i32>,
        /// What to do about it.
        hint: &'static str,
    },
    /// A file or folder could not be read.
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Figures of benchmarks are not what they should be.
    Figures {
        /// What is wrong with them.
        what: String,
    },
    /// `cargo metadata` printed something unexpected.
    Metadata {
        /// What was looked for and not found.
        missing: String,
    },
}

impl Failure {
    /// A complaint about the command line.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Failure::Usage { what: what.into() }
    }

    /// The exit code of the tool for this failure: 2 for wrong use, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage { .. } => 2,
            _ => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage { what } => {
                write!(out, "{what}\nhint: `cargo xtask help` lists the commands")
            }
            Failure::Start { command, source } => write!(out, "cannot start `{command}`: {source}"),
            Failure::Step {
                command,
                code,
                hint,
            } => {
                match code {
                    Some(code) => write!(out, "`{command}` ended with code {code}")?,
                    None => write!(out, "`{command}` was ended by a signal")?,
                }
                write!(out, "\nhint: {hint}")
            }
            Failure::Read { path, source } => {
                write!(out, "cannot read `{}`: {source}", path.display())
            }
            Failure::Write { path, source } => {
                write!(out, "cannot write `{}`: {source}", path.display())
            }
            Failure::Figures { what } => write!(
                out,
                "{what}\nhint: `cargo xtask bench all --json > docs/figures.json` measures anew"
            ),
            Failure::Metadata { missing } => write!(out, "`cargo metadata` gave no {missing}"),
        }
    }
}
