//! The text of a study: its file, and settings that change what the file says.
//!
//! Law: every place of a study is a place in one text, the file with the settings behind it. Whoever reads on, or
//! finds a mistake later, need not know of settings; [`StudyText::sort`] tells which part a place is in, and where
//! in that part.

use std::ops::Range;

use headwater_graph::{Diagnostic, Span};

use crate::source::Source;

/// A study file, and settings such as `method.vbd.samples=400`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyText {
    /// The parts, with a line break between them.
    whole: String,
    /// Where they are: the file, then the settings.
    parts: Vec<Range<usize>>,
}

/// What there is to say about a part of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct PartDiagnostics {
    /// Which setting it is, counted from 0; `None` for the file.
    pub setting: Option<usize>,
    /// The text of the part.
    pub text: String,
    /// What there is to say, with places in that text.
    pub diagnostics: Vec<Diagnostic>,
}

impl StudyText {
    /// The text of a file, and settings, which are applied in their order.
    pub fn new(file: impl Into<String>, settings: &[impl AsRef<str>]) -> StudyText {
        let mut whole: String = file.into();
        let mut parts = Vec::with_capacity(settings.len() + 1);
        parts.push(0..whole.len());
        for setting in settings {
            whole.push('\n');
            let start = whole.len();
            whole.push_str(setting.as_ref());
            parts.push(start..whole.len());
        }
        StudyText { whole, parts }
    }

    /// The text that places of the study are in.
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// The file.
    pub fn file(&self) -> &str {
        self.part(&self.parts[0])
    }

    /// The settings.
    pub fn settings(&self) -> impl ExactSizeIterator<Item = &str> {
        self.parts[1..].iter().map(|part| self.part(part))
    }

    /// The settings with the bytes at which they begin.
    pub(super) fn placed(&self) -> impl Iterator<Item = (usize, &str)> {
        self.parts[1..]
            .iter()
            .map(|part| (part.start, self.part(part)))
    }

    /// Sorts diagnostics of the study to its parts: the file first, even if there is nothing to say about it, then
    /// the settings that there is something to say about.
    pub fn sort(&self, diagnostics: Vec<Diagnostic>) -> Vec<PartDiagnostics> {
        let mut sorted: Vec<Vec<Diagnostic>> = vec![Vec::new(); self.parts.len()];
        for found in diagnostics {
            let start = found.span.map_or(0, |span| span.start);
            let after = self.parts.partition_point(|part| part.start <= start);
            sorted[after.max(1) - 1].push(found);
        }
        let parts = sorted.into_iter().enumerate();
        parts
            .filter(|(number, found)| *number == 0 || !found.is_empty())
            .map(|(number, mut diagnostics)| {
                let part = &self.parts[number];
                let text = self.part(part);
                if number > 0 {
                    let source = Source::new(text);
                    let local = |span: Span| {
                        let byte = |byte: usize| byte.saturating_sub(part.start);
                        source.bytes(byte(span.start), byte(span.end))
                    };
                    for found in &mut diagnostics {
                        found.span = found.span.map(local);
                    }
                }
                PartDiagnostics {
                    setting: number.checked_sub(1),
                    text: text.to_owned(),
                    diagnostics,
                }
            })
            .collect()
    }

    fn part(&self, part: &Range<usize>) -> &str {
        &self.whole[part.clone()]
    }
}
