//! A mistake in a file that somebody wrote: where it is, what was expected, and a way out.
//!
//! Law: a diagnostic can be understood without knowing the program. Reading a file never stops at the
//! first one; readers return what they could make, plus all diagnostics.

use std::fmt;

/// A half-open range of bytes in one text, with the 1-based line and column (in characters) of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// 1-based line of the first byte.
    pub line: usize,
    /// 1-based column of the first byte, counted in characters.
    pub column: usize,
}

/// Whether a diagnostic stops the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably does not say what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// Whose fault an error is; every error of every crate knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The user's file, flag or data.
    User,
    /// The machine: a full disk, a missing program, a permission.
    Environment,
    /// Headwater itself.
    Bug,
}

/// One mistake, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is; `None` when it concerns the file as a whole.
    pub span: Option<Span>,
    /// What is wrong, in one line, naming things in backticks, without a full stop.
    pub message: String,
    /// What would fix it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            span: Some(span),
            message: message.into(),
            hint: None,
        }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(span, message)
        }
    }

    /// A note at `span`.
    pub fn note(span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Note,
            ..Diagnostic::error(span, message)
        }
    }

    /// Adds a way out.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it stops the work.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Whether a character turns the order of those around it, so that a text reads as something else than it is; or ends a
/// line without looking like it. Where people read a text, something else stands for it.
pub fn turns_text(sign: char) -> bool {
    matches!(
        sign,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}
