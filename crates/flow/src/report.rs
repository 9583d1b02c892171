//! The diagnostics of one file while it is being read.
//!
//! Law: reading goes on after a mistake; what is returned at the end is sorted by position, and holds a
//! value only if none of the diagnostics is an error.

use headwater_graph::{Diagnostic, Span};

/// What a reader made of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Read<T> {
    /// What the file says; there unless `diagnostics` has an error.
    pub value: Option<T>,
    /// Everything there is to say about the file, sorted by position.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Read<T> {
    /// Whether the file cannot be used.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Collects diagnostics.
#[derive(Debug, Default)]
pub(crate) struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Takes one.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Takes an error.
    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(span, message));
    }

    /// Takes an error with a way out.
    pub(crate) fn error_with(
        &mut self,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(Diagnostic::error(span, message).with_hint(hint));
    }

    /// A way out for the errors at a place that have none.
    pub(crate) fn help(&mut self, span: Span, hint: &str) {
        let at = |found: &&mut Diagnostic| found.span == Some(span) && found.hint.is_none();
        for found in self.diagnostics.iter_mut().filter(at) {
            found.hint = Some(hint.into());
        }
    }

    /// A better way out for the errors at a place.
    pub(crate) fn instead(&mut self, span: Span, hint: &str) {
        let at = |found: &&mut Diagnostic| found.span == Some(span);
        for found in self.diagnostics.iter_mut().filter(at) {
            found.hint = Some(hint.into());
        }
    }

    /// The bytes at which errors begin, sorted.
    pub(crate) fn error_starts(&self) -> Vec<usize> {
        let errors = self.diagnostics.iter().filter(|found| found.is_error());
        let mut starts: Vec<usize> = errors.filter_map(|found| Some(found.span?.start)).collect();
        starts.sort_unstable();
        starts
    }

    /// How many there are so far.
    pub(crate) fn len(&self) -> usize {
        self.diagnostics.len()
    }

    /// Forgets what was found after the first `parsed` diagnostics at places where the text was patched to
    /// read on: there is a diagnostic for each patch, and the rest would speak of a text nobody wrote.
    pub(crate) fn forget_patched(&mut self, parsed: usize, patches: &[usize]) {
        if patches.is_empty() {
            return;
        }
        let mut position = 0;
        self.diagnostics.retain(|found| {
            position += 1;
            let inside = |span: Span| {
                patches
                    .iter()
                    .any(|patch| (span.start..span.end).contains(patch))
            };
            position <= parsed || !found.span.is_some_and(inside)
        });
    }

    /// Ends the reading.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Read<T> {
        let mut diagnostics = self.diagnostics;
        // The sort is stable: what is found at one place stays in the order it was found in.
        diagnostics.sort_by_key(|found| found.span.map(|span| (span.start, span.end)));
        diagnostics.dedup();
        let failed = diagnostics.iter().any(Diagnostic::is_error);
        Read {
            value: value.filter(|_| !failed),
            diagnostics,
        }
    }
}
