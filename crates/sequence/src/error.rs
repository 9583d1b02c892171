//! What can go wrong with a call or with an item.
//!
//! Law: a call that failed is no error of the sequence; who asks for an item that it would have made, or that needs
//! such an item, is told which call failed and why.

use std::fmt;
use std::sync::Arc;

use headwater_derive::{CallError, CallId};
use headwater_enact::PlanError;
use headwater_engine::Error;
use headwater_graph::text::printable;
use headwater_graph::{FailedTask, Failure, Fault, Type};

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// Which.
    pub call: CallId,
    /// What people call it, such as `iqsort[2]`.
    pub address: String,
    /// Its operation.
    pub operation: Arc<str>,
    /// Why.
    pub failure: Failure,
    /// How often it was tried.
    pub attempts: u32,
    /// How many other tasks could not run because of it.
    pub blocked: usize,
}

impl FailedCall {
    /// Everything a person needs: which call, why, its command, the end of what it said, where its folder is and how to
    /// run it again alone. The first line is the whole in short.
    pub fn description(&self) -> String {
        self.task().description()
    }

    /// The same as a task that failed.
    pub(crate) fn task(&self) -> FailedTask {
        FailedTask {
            address: self.address.clone(),
            failure: self.failure.clone(),
            attempts: self.attempts,
            blocked: self.blocked,
            from: Vec::new(),
        }
    }
}

/// An item that cannot be had, because a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// What the item is called.
    pub item: String,
    /// The call that would have written it.
    pub writer: String,
    /// The call that failed: the writer itself, or one that it needs.
    pub cause: Arc<FailedCall>,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unavailable {
            item,
            writer,
            cause,
        } = self;
        write!(f, "`{item}` is not available: ")?;
        if *writer != cause.address {
            write!(f, "call {writer}, which writes it, needs ")?;
        }
        write!(
            f,
            "call {} of `{}`, which failed: {}",
            cause.address, cause.operation, cause.failure.message
        )?;
        let said = cause.failure.stderr.trim_end();
        if !said.is_empty() {
            write!(f, "\n{}", printable(said))?;
        }
        if let Some(folder) = &cause.failure.folder {
            write!(f, "\nits files are in {}", folder.display())?;
        }
        Ok(())
    }
}

fn told(failed: &[Arc<FailedCall>]) -> String {
    let all: Vec<String> = failed.iter().map(|failed| failed.description()).collect();
    all.join("\n\n")
}

/// Something that cannot be done with a sequence.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SequenceError {
    /// A call that cannot be made.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A port or a parameter that an operation does not have.
    #[error("`{operation}` has no {what} `{name}`")]
    Unknown {
        /// The operation.
        operation: Arc<str>,
        /// `input`, `output` or `parameter`.
        what: &'static str,
        /// The name.
        name: Arc<str>,
        /// The names that there are.
        known: Vec<Arc<str>>,
    },
    /// An item of another sequence.
    #[error("an item belongs to another sequence")]
    Foreign,
    /// An item whose handle was dropped before the end, or that was never written.
    #[error("`{item}` has no value")]
    NoValue {
        /// What it is called.
        item: String,
    },
    /// An item that cannot be had, because a call failed.
    #[error("{0}")]
    Unavailable(Box<Unavailable>),
    /// The value of an item is not what its handle says.
    #[error("`{item}` is `{given}`, not `{wanted}`")]
    Types {
        /// What it is called.
        item: String,
        /// What its handle says.
        wanted: Type,
        /// What it is.
        given: Type,
    },
    /// Calls failed, and somebody wanted none to.
    #[error("{}", told(.0))]
    Failed(Vec<Arc<FailedCall>>),
    /// Somebody stopped the sequence before the item was made.
    #[error("stopped before `{item}` was made")]
    Stopped {
        /// What it is called.
        item: String,
    },
    /// An item was made, and its bytes are not where they should be.
    #[error("`{item}` was made, but its bytes are gone")]
    Gone {
        /// What it is called.
        item: String,
    },
    /// An operation asks for more than there is.
    #[error("`{operation}` can never run here: {why}")]
    TooLarge {
        /// The operation.
        operation: Arc<str>,
        /// What it asks for.
        why: PlanError,
    },
    /// The engine or the store cannot go on.
    #[error(transparent)]
    Engine(#[from] Error),
}

/// What a program shows that gives it back from `main`: the message, and what would help.
impl fmt::Debug for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let SequenceError::Engine(error) = self {
            return fmt::Debug::fmt(error, f);
        }
        write!(f, "{self}")?;
        match self.hint() {
            Some(hint) => write!(f, "\n  help: {hint}"),
            None => Ok(()),
        }
    }
}

impl SequenceError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            SequenceError::Engine(error) => error.fault(),
            SequenceError::Unavailable(_)
            | SequenceError::Failed(_)
            | SequenceError::Stopped { .. }
            | SequenceError::Gone { .. } => Fault::Environment,
            _ => Fault::User,
        }
    }

    /// What would help, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            SequenceError::Call(error) => error.hint().map(str::to_owned),
            SequenceError::Unknown { known, what, .. } if known.is_empty() => {
                Some(format!("it has no {what} at all"))
            }
            SequenceError::Unknown { known, .. } => {
                let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                Some(format!("there is {}", names.join(", ")))
            }
            SequenceError::Foreign => {
                Some("take its value and give it to this sequence".to_owned())
            }
            SequenceError::NoValue { .. } => {
                Some("give it a value, or call something that writes it first".to_owned())
            }
            SequenceError::TooLarge { .. } => {
                Some("let it ask for less, or begin the sequence with more".to_owned())
            }
            SequenceError::Gone { .. } => {
                Some("run the program again: what is gone is made again".to_owned())
            }
            SequenceError::Engine(error) => error.hint(),
            _ => None,
        }
    }
}
