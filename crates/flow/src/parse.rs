//! From text to [`Tree`], by way of the events of `saphyr-parser`.
//!
//! Law: any text gives a tree and diagnostics, in time linear in the text. Aliases are put in at their
//! places, up to a fixed number of nodes; what is nested too deeply is left out; neither grows without bound.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use headwater_graph::{Diagnostic, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::excerpt::shorten;
use crate::report::Report;
use crate::source::Source;
use crate::syntax::{self, Recovery};
use crate::tree::{DEPTH, Kind, Node, Tree};

/// How many nodes aliases and anchors may add.
const ALIAS_NODES: usize = 100_000;
/// How often reading is tried again after a mistake in the syntax; each time costs one pass over the text.
const RECOVERIES: usize = 10;

/// Reads a text.
pub(crate) fn parse(source: &Source<'_>, report: &mut Report) -> Tree {
    if let Some(at) = source.text().find('\0') {
        // The parser takes it for the end of the text.
        let message = "the file holds a character that is not text";
        report.error_with(source.bytes(at, at + 1), message, "is this the right file?");
        return Tree {
            damaged: true,
            ..Tree::default()
        };
    }
    let mut text = without_foreign_comments(source, report);
    let mut damaged = false;
    let mut patches = Vec::new();
    for attempt in 0.. {
        let (mut tree, found, failure) = attempt_to_parse(source, &text);
        let recovery = match failure {
            None => Recovery::None,
            Some((diagnostic, recovery)) => {
                report.push(diagnostic);
                tree.damaged = true;
                recovery
            }
        };
        let patched = if attempt < RECOVERIES {
            patch(&text, &recovery)
        } else {
            None
        };
        match patched {
            Some(patched) => {
                let harmless = matches!(recovery, Recovery::Patch { damaged: false, .. });
                damaged |= !harmless;
                if let Recovery::Patch { byte, .. } = recovery {
                    patches.push(byte);
                }
                text = Cow::Owned(patched);
            }
            None => {
                found
                    .into_iter()
                    .for_each(|diagnostic| report.push(diagnostic));
                tree.damaged |= damaged;
                tree.patches = patches;
                return tree;
            }
        }
    }
    Tree::default()
}

/// The text with `// …` in JSON made a comment of YAML, which a diagnostic asks for.
fn without_foreign_comments<'s>(source: &Source<'s>, report: &mut Report) -> Cow<'s, str> {
    let text = source.text();
    let comments = syntax::foreign_comments(text);
    let Some(&first) = comments.first() else {
        return Cow::Borrowed(text);
    };
    let span = source.bytes(first, first + 2);
    let message = format!("`{}` begins no comment", source.slice(span));
    let hint = "comments begin with `#`, in JSON as well";
    report.error_with(span, message, hint);
    let mut patched = String::with_capacity(text.len());
    let mut from = 0;
    for at in comments {
        patched.push_str(&text[from..at]);
        patched.push_str(" #");
        from = at + 2;
    }
    patched.push_str(&text[from..]);
    Cow::Owned(patched)
}

/// The text with other characters of the same length, if that changes anything.
fn patch(text: &str, recovery: &Recovery) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    match recovery {
        Recovery::None => return None,
        Recovery::Patch { byte, .. } => {
            let old = bytes.get_mut(*byte)?;
            // Only ASCII is ever replaced; anything else would break the text.
            if !old.is_ascii() || *old == b'x' {
                return None;
            }
            *old = b'x';
        }
        Recovery::Tabs => {
            let tabs: Vec<usize> = syntax::indenting_tabs(text).collect();
            if tabs.is_empty() {
                return None;
            }
            tabs.into_iter().for_each(|at| bytes[at] = b' ');
        }
    }
    String::from_utf8(bytes).ok()
}

type Failure = (Diagnostic, Recovery);

fn attempt_to_parse(source: &Source<'_>, text: &str) -> (Tree, Vec<Diagnostic>, Option<Failure>) {
    // The parser counts characters; it is given the text without byte order mark.
    let (text, shift) = match text.strip_prefix('\u{feff}') {
        Some(rest) => (rest, 1),
        None => (text, 0),
    };
    let mut builder = Builder::new(source);
    let mut parser = Parser::new_from_str(text);
    let mut documents = 0;
    while let Some(next) = parser.next_event() {
        let (event, marks) = match next {
            Ok(found) => found,
            Err(error) => {
                let at = error.marker().index() + shift;
                let at = source.characters(at, at);
                let failure = syntax::explain(source, error.info(), at, builder.open_bracket());
                return (builder.finish(true), builder.diagnostics, Some(failure));
            }
        };
        let span = source.characters(marks.start.index() + shift, marks.end.index() + shift);
        match event {
            Event::StreamEnd => break,
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    let message = "the file holds a second document";
                    let hint =
                        "one file describes one thing; remove the line `---` or split the file";
                    let found = Diagnostic::error(span, message).with_hint(hint);
                    builder.diagnostics.push(found);
                    break;
                }
            }
            other => builder.event(other, span),
        }
    }
    (builder.finish(false), builder.diagnostics, None)
}

/// A collection that is being read.
#[derive(Debug)]
struct Frame {
    span: Span,
    anchor: usize,
    kind: FrameKind,
}

#[derive(Debug)]
enum FrameKind {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<(Node, Node)>,
        key: Option<Node>,
        /// The line each key was first given in.
        seen: HashMap<Arc<str>, usize>,
    },
}

#[derive(Debug)]
struct Anchored {
    node: Node,
    size: usize,
    depth: usize,
}

#[derive(Debug)]
struct Builder<'a> {
    source: &'a Source<'a>,
    root: Option<Node>,
    frames: Vec<Frame>,
    /// How many collections below the deepest one allowed are open.
    skipping: usize,
    anchors: HashMap<usize, Anchored>,
    alias_nodes: usize,
    too_deep: bool,
    too_many: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    fn new(source: &'a Source<'a>) -> Builder<'a> {
        Builder {
            source,
            root: None,
            frames: Vec::new(),
            skipping: 0,
            anchors: HashMap::new(),
            alias_nodes: 0,
            too_deep: false,
            too_many: false,
            diagnostics: Vec::new(),
        }
    }

    /// The innermost `[` or `{` that is still open.
    fn open_bracket(&self) -> Option<Span> {
        let brackets = self.frames.iter().rev().map(|frame| frame.span);
        brackets.into_iter().find_map(|span| {
            let text = self.source.slice(span);
            let bracket = text.ends_with(['[', '{']);
            bracket.then(|| self.source.bytes(span.end - 1, span.end))
        })
    }

    fn event(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::SequenceStart(anchor, tag) => {
                self.tag(tag.as_deref(), span);
                self.open(span, anchor, FrameKind::Sequence(Vec::new()));
            }
            Event::MappingStart(anchor, tag) => {
                self.tag(tag.as_deref(), span);
                let kind = FrameKind::Mapping {
                    entries: Vec::new(),
                    key: None,
                    seen: HashMap::new(),
                };
                self.open(span, anchor, kind);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if self.skipping > 0 {
                    self.skipping -= 1;
                } else {
                    self.close(span);
                }
            }
            _ if self.skipping > 0 => {}
            Event::Scalar(text, style, anchor, tag) => {
                let quoted = self.tag(tag.as_deref(), span);
                let node = self.scalar(&text, style, quoted, span);
                self.anchor(anchor, &node);
                self.add(node);
            }
            Event::Alias(anchor) => {
                let node = self.alias(anchor, span);
                self.add(node);
            }
            _ => {}
        }
    }

    /// Whether the tag makes a text of anything; tags that these files do not know are reported.
    fn tag(&mut self, tag: Option<&Tag>, span: Span) -> bool {
        let Some(tag) = tag else { return false };
        if tag.is_yaml_core_schema() {
            return tag.suffix == "str";
        }
        if tag.handle.is_empty() && tag.suffix == "!" {
            return true;
        }
        let message = format!(
            "the YAML tag `{}` means nothing here",
            shorten(&tag.to_string())
        );
        let hint = "remove it, or put the text in quotes";
        let found = Diagnostic::error(span, message).with_hint(hint);
        self.diagnostics.push(found);
        false
    }

    fn scalar(&self, text: &str, style: ScalarStyle, quoted: bool, span: Span) -> Node {
        let plain = style == ScalarStyle::Plain && !quoted;
        let span = if plain && text.is_empty() {
            // The parser puts nothing at the next token; people look for it where it is missing.
            let end = self.last_end().unwrap_or(span.start);
            self.source.bytes(end, end)
        } else {
            let written = self.source.slice(span);
            let end = span.start + written.trim_end().len();
            Span {
                end: end.max(span.start),
                ..span
            }
        };
        Node {
            span,
            kind: Kind::Scalar {
                text: text.into(),
                plain,
            },
        }
    }

    /// The end of what was read last in the innermost collection.
    fn last_end(&self) -> Option<usize> {
        let frame = self.frames.last()?;
        Some(match &frame.kind {
            FrameKind::Mapping { key: Some(key), .. } => key.span.end,
            FrameKind::Mapping { entries, .. } => entries.last()?.1.span.end,
            FrameKind::Sequence(_) => return None,
        })
    }

    fn anchor(&mut self, anchor: usize, node: &Node) {
        if anchor == 0 {
            return;
        }
        let (size, depth) = node.measure();
        if self.afford(size, node.span) {
            let node = node.clone();
            self.anchors.insert(anchor, Anchored { node, size, depth });
        }
    }

    fn afford(&mut self, size: usize, span: Span) -> bool {
        self.alias_nodes += size;
        if self.alias_nodes <= ALIAS_NODES {
            return true;
        }
        if !self.too_many {
            self.too_many = true;
            let message = "the aliases of this file stand for too many values";
            self.diagnostics.push(Diagnostic::error(span, message));
        }
        false
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Node {
        let nothing = Node {
            span,
            kind: Kind::Scalar {
                text: "".into(),
                plain: false,
            },
        };
        let Some(known) = self.anchors.get(&anchor) else {
            if !self.too_many {
                let message = "this alias stands for something that contains itself";
                self.diagnostics.push(Diagnostic::error(span, message));
            }
            return nothing;
        };
        let (size, depth) = (known.size, known.depth);
        if self.frames.len() + depth > DEPTH {
            self.report_depth(span);
            return nothing;
        }
        if !self.afford(size, span) {
            return nothing;
        }
        match self.anchors.get(&anchor) {
            Some(known) => Node {
                span,
                kind: known.node.kind.clone(),
            },
            None => nothing,
        }
    }

    fn report_depth(&mut self, span: Span) {
        if !self.too_deep {
            self.too_deep = true;
            let message = format!("this is nested more than {DEPTH} levels deep");
            self.diagnostics.push(Diagnostic::error(span, message));
        }
    }

    fn open(&mut self, span: Span, anchor: usize, kind: FrameKind) {
        if self.skipping > 0 {
            self.skipping += 1;
        } else if self.frames.len() + 1 >= DEPTH {
            self.report_depth(span);
            self.skipping = 1;
            let kind = Kind::Sequence(Vec::new());
            self.add(Node { span, kind });
        } else {
            self.frames.push(Frame { span, anchor, kind });
        }
    }

    fn close(&mut self, end: Span) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let flow = self.source.slice(frame.span).ends_with(['[', '{']);
        let (kind, last) = match frame.kind {
            FrameKind::Sequence(items) => {
                let last = items.last().map(|item| item.span.end);
                (Kind::Sequence(items), last)
            }
            FrameKind::Mapping { mut entries, .. } => {
                if flow {
                    self.mend_parentheses(&mut entries);
                }
                let last = entries
                    .last()
                    .map(|(key, value)| value.span.end.max(key.span.end));
                (Kind::Mapping(entries), last)
            }
        };
        let end = if flow { Some(end.end) } else { last };
        let span = Span {
            end: end.unwrap_or(frame.span.end).max(frame.span.end),
            ..frame.span
        };
        let node = Node { span, kind };
        self.anchor(frame.anchor, &node);
        self.add(node);
    }

    fn add(&mut self, node: Node) {
        let Some(frame) = self.frames.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match &mut frame.kind {
            FrameKind::Sequence(items) => items.push(node),
            FrameKind::Mapping { entries, key, seen } => match key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    if let Some(text) = node.text() {
                        if let Some(line) = seen.get(text) {
                            let message = format!("`{}` is given twice", shorten(text));
                            let hint = format!("the first one is in line {line}");
                            let found = Diagnostic::error(node.span, message).with_hint(hint);
                            self.diagnostics.push(found);
                        } else {
                            seen.insert(Arc::clone(text), node.span.line);
                        }
                    }
                    *key = Some(node);
                }
            },
        }
    }

    /// `{iterate: cross(a, b)}` is read by YAML as `iterate: "cross(a"` and a key `b)`. Say so, and go on
    /// with what was meant.
    fn mend_parentheses(&mut self, entries: &mut Vec<(Node, Node)>) {
        let mut rest = std::mem::take(entries).into_iter().peekable();
        while let Some((key, mut value)) = rest.next() {
            let mut open = open_parentheses(&value);
            let mut last = None;
            while open > 0
                && let Some((part, _)) = rest.next_if(|(_, value)| value.is_nothing())
            {
                open += open_parentheses(&part);
                last = Some(part.span);
            }
            if let Some(last) = last {
                let span = Source::join(value.span, last);
                let text = self.source.slice(span);
                let short = shorten(text);
                let message = format!("`{short}` needs quotes inside `{{…}}`");
                let hint = format!("write \"{short}\"; without quotes the comma ends the value");
                self.diagnostics
                    .push(Diagnostic::error(span, message).with_hint(hint));
                let kind = Kind::Scalar {
                    text: text.into(),
                    plain: true,
                };
                value = Node { span, kind };
            }
            entries.push((key, value));
        }
    }

    /// The tree so far. `cut` says that the parser gave up: what is open is closed as it is.
    fn finish(&mut self, cut: bool) -> Tree {
        while !self.frames.is_empty() {
            let end = self.frames.last().map_or(0, |frame| frame.span.end);
            let end = self.last_end().unwrap_or(end);
            self.close(self.source.bytes(end, end));
        }
        Tree {
            root: self.root.take(),
            damaged: cut,
            patches: Vec::new(),
        }
    }
}

/// How many parentheses a plain text opens without closing them; negative if it closes more.
fn open_parentheses(node: &Node) -> i64 {
    match &node.kind {
        Kind::Scalar { text, plain: true } => text.bytes().fold(0, |open, byte| match byte {
            b'(' => open + 1,
            b')' => open - 1,
            _ => open,
        }),
        _ => 0,
    }
}
