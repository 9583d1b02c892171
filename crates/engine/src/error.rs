//! What can go wrong before and around a run. A task that fails is not an error: it is part of a report.

use std::fmt;
use std::path::PathBuf;

use headwater_enact::OpenError;
use headwater_execute::PoolError;
use headwater_graph::{Diagnostic, Fault, StoreError};

/// Something that keeps a run from starting, or from going on.
#[derive(thiserror::Error)]
pub enum Error {
    /// A file with mistakes. [`headwater_flow::render`] shows them.
    #[error("{} has mistakes", .file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Its text.
        text: String,
        /// The mistakes.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file that cannot be read or written.
    #[error("{what} `{}`: {source}", .path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A flag or a value that does not fit.
    #[error("{message}")]
    Use {
        /// What is wrong.
        message: String,
        /// What would fix it.
        hint: Option<String>,
    },
    /// The data does not fit the workflow, or the workflow does not fit the machine.
    #[error("{}", several(.0))]
    Open(Vec<OpenError>),
    /// The store cannot do what was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What everything else depends on failed, or was stopped.
    #[error("{0}")]
    Failed(String),
    /// The run could not go on.
    #[error(transparent)]
    Pool(#[from] PoolError),
}

fn several(errors: &[OpenError]) -> String {
    let lines: Vec<String> = errors
        .iter()
        .map(|error| match error.hint() {
            Some(hint) => format!("{error}\n  help: {hint}"),
            None => error.to_string(),
        })
        .collect();
    lines.join("\n")
}

/// What a program shows that gives it back from `main`: the message, mistakes of a file with their lines, and what
/// would help.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        if let Error::File {
            file,
            text,
            diagnostics,
        } = self
        {
            let shown = headwater_flow::render(diagnostics, &file.to_string_lossy(), text, false);
            write!(f, "\n{}", shown.trim_end())?;
        }
        match self.hint() {
            Some(hint) => write!(f, "\n  help: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(feature = "group")]
impl From<headwater_group::OpenError> for Error {
    fn from(error: headwater_group::OpenError) -> Error {
        match error {
            headwater_group::OpenError::Address(wrong) => Error::usage(wrong.message, wrong.hint),
            headwater_group::OpenError::Store(error) => Error::Store(error),
        }
    }
}

impl Error {
    /// Something was asked for that cannot be done, and what would help.
    pub fn usage(message: impl Into<String>, hint: impl Into<Option<String>>) -> Error {
        Error::Use {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A file or folder, and what could not be done with it.
    pub fn io(what: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Error {
        Error::Io {
            what,
            path: path.into(),
            source,
        }
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Error::File { .. } | Error::Use { .. } | Error::Open(_) => Fault::User,
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Fault::User
            }
            Error::Io { .. } | Error::Pool(_) | Error::Failed(_) => Fault::Environment,
            Error::Store(error) => error.fault(),
        }
    }

    /// What would fix it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Use { hint, .. } => hint.clone(),
            Error::Store(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }
}
