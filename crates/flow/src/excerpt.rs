//! Texts of files as messages show them: in one line, and not too long.

/// The beginning of a text, in one line, for messages.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.trim_end().replace(['\n', '\r'], " ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let mut short: String = line.chars().take(LONGEST - 1).collect();
    short.push('…');
    short
}
