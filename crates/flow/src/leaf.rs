//! Single values that fields take, from their nodes.
//!
//! Law: checking a leaf and reading it is one function, so what passes the check can be read, and the other
//! way round.

use core::time::Duration;
use std::sync::Arc;

use headwater_graph::{Diagnostic, Registry, Scalar, Span, Strategy, Tolerance, Type};

use crate::excerpt::shorten;
use crate::name::NameRule;
use crate::quantity;
use crate::scalar::{Plain, plain};
use crate::source::Source;
use crate::suggest::{Suggester, listed};
use crate::tree::{Kind, Node};

/// How many `list of` a type may have.
const LIST_DEPTH: usize = 8;

/// What a single value has to be.
#[derive(Debug)]
pub(crate) enum Leaf {
    /// `1`, the number of the format.
    Format,
    /// A name by a rule; the text says of what.
    Name(NameRule, &'static str),
    /// Any text; numbers and truth values count as the text they are written as.
    Text(&'static str),
    /// `true` or `false`.
    Flag,
    /// A whole number, not below this.
    Whole(u64),
    /// Any number.
    Number,
    /// A number, a truth value or a text.
    Literal,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a type.
    Type,
    /// `10m`.
    Duration,
    /// `1GiB`.
    Size,
    /// `cross(a, dot(b, c))`.
    Strategy,
    /// `3` or `5%`.
    Tolerance,
    /// A path or pattern below the folder of the task or of the file.
    Path,
}

/// What leaves are read against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The text they stand in.
    pub(crate) source: &'a Source<'a>,
    /// The types that exist.
    pub(crate) registry: &'a Registry,
}

type Reading<T> = Result<T, Diagnostic>;

impl Leaf {
    /// What is expected, in words.
    pub(crate) fn expects(&self) -> String {
        match self {
            Leaf::Format => "the number of the format, `1`".to_owned(),
            Leaf::Name(_, what) | Leaf::Text(what) => (*what).to_owned(),
            Leaf::Flag => "`true` or `false`".to_owned(),
            Leaf::Whole(0) => "a whole number, 0 or more".to_owned(),
            Leaf::Whole(least) => format!("a whole number from {least} on"),
            Leaf::Number => "a number".to_owned(),
            Leaf::Literal => "a number, a truth value or a text".to_owned(),
            Leaf::Word(words) => listed(words).replace(" and ", " or "),
            Leaf::Type => "a type".to_owned(),
            Leaf::Duration => "a time such as `30s`, `10m` or `1h30m`".to_owned(),
            Leaf::Size => "a size such as `500MB` or `2GiB`".to_owned(),
            Leaf::Strategy => "an iteration such as `cross(a, dot(b, c))`".to_owned(),
            Leaf::Tolerance => "a number of items such as `3`, or a share such as `5%`".to_owned(),
            Leaf::Path => "a path".to_owned(),
        }
    }

    /// What is wrong with a node as this leaf.
    pub(crate) fn check(&self, node: &Node, scope: Scope<'_>) -> Reading<()> {
        if !node.is_scalar() {
            return Err(self.unexpected(node));
        }
        match self {
            Leaf::Format => format(node),
            Leaf::Name(rule, _) => match node.text() {
                Some(_) => rule.read(node).map(drop),
                None => Err(self.unexpected(node)),
            },
            Leaf::Text(_) => match node.text() {
                Some(_) => Ok(()),
                None => Err(self.unexpected(node)),
            },
            Leaf::Flag => flag(node).map(drop),
            Leaf::Whole(least) => whole(node, *least).map(drop),
            Leaf::Number => number(node).map(drop),
            Leaf::Literal => literal(node).map(drop),
            Leaf::Word(words) => word(node, words).map(drop),
            Leaf::Type => type_name(node, scope.registry).map(drop),
            Leaf::Duration => duration(node).map(drop),
            Leaf::Size => size(node).map(drop),
            Leaf::Strategy => strategy(node, scope.source).map(drop),
            Leaf::Tolerance => tolerance(node).map(drop),
            Leaf::Path => path(node).map(drop),
        }
    }

    /// `expected X, found Y`.
    pub(crate) fn unexpected(&self, node: &Node) -> Diagnostic {
        let message = format!("expected {}, found {}", self.expects(), node.found());
        let diagnostic = Diagnostic::error(node.span, message);
        match bare_placeholder(node) {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        }
    }
}

/// `{in.x}` without quotes is a mapping to YAML.
fn bare_placeholder(node: &Node) -> Option<String> {
    let [(key, value)] = node.entries()? else {
        return None;
    };
    let name = key.text()?;
    let looks = *name == "threads".into()
        || ["in.", "out.", "param."]
            .iter()
            .any(|start| name.starts_with(start));
    (looks && value.is_nothing()).then(|| format!("put it in quotes: \"{{{}}}\"", shorten(name)))
}

fn format(node: &Node) -> Reading<()> {
    match value(node)? {
        Some(Scalar::Int(1)) => Ok(()),
        Some(Scalar::Int(number)) => {
            let message = format!("this program reads format 1, and the file says {number}");
            Err(Diagnostic::error(node.span, message).with_hint("write `headwater: 1`"))
        }
        _ => Err(Leaf::Format
            .unexpected(node)
            .with_hint("write `headwater: 1`")),
    }
}

/// The text as it is written.
pub(crate) fn text(node: &Node) -> Option<Arc<str>> {
    node.text().map(Arc::clone)
}

/// The value of a node; `None` for null.
pub(crate) fn value(node: &Node) -> Reading<Option<Scalar>> {
    match &node.kind {
        Kind::Scalar { text, plain: true } => match plain(text) {
            Plain::Null => Ok(None),
            Plain::Value(value) => Ok(Some(value)),
            Plain::Refused(message, hint) => {
                Err(Diagnostic::error(node.span, message).with_hint(hint))
            }
        },
        Kind::Scalar { text, .. } => Ok(Some(Scalar::Text(Arc::clone(text)))),
        _ => {
            let message = format!("expected a single value, found {}", node.found());
            Err(Diagnostic::error(node.span, message))
        }
    }
}

/// `true` or `false`.
pub(crate) fn flag(node: &Node) -> Reading<bool> {
    match &node.kind {
        Kind::Scalar { plain: true, .. } => match value(node)? {
            Some(Scalar::Bool(value)) => Ok(value),
            Some(Scalar::Text(word)) => Err(match word.to_lowercase().as_str() {
                "yes" | "on" | "y" => Leaf::Flag.unexpected(node).with_hint("write `true`"),
                "no" | "off" | "n" => Leaf::Flag.unexpected(node).with_hint("write `false`"),
                _ => Leaf::Flag.unexpected(node),
            }),
            _ => Err(Leaf::Flag.unexpected(node)),
        },
        Kind::Scalar { text, .. } if matches!(&**text, "true" | "false") => {
            Err(Leaf::Flag.unexpected(node).with_hint("remove the quotes"))
        }
        _ => Err(Leaf::Flag.unexpected(node)),
    }
}

/// A whole number, not below `least`.
pub(crate) fn whole(node: &Node, least: u64) -> Reading<u64> {
    let expected = Leaf::Whole(least);
    match &node.kind {
        Kind::Scalar { plain: true, .. } => match value(node)? {
            Some(Scalar::Int(number)) => u64::try_from(number)
                .ok()
                .filter(|number| *number >= least)
                .ok_or_else(|| expected.unexpected(node)),
            _ => Err(expected.unexpected(node)),
        },
        Kind::Scalar { text, .. } if text.parse::<u64>().is_ok() => {
            Err(expected.unexpected(node).with_hint("remove the quotes"))
        }
        _ => Err(expected.unexpected(node)),
    }
}

/// Any number.
pub(crate) fn number(node: &Node) -> Reading<f64> {
    match value(node)? {
        Some(Scalar::Int(number)) => Ok(number as f64),
        Some(Scalar::Float(number)) => Ok(number),
        _ => Err(Leaf::Number.unexpected(node)),
    }
}

/// A number, a truth value or a text.
pub(crate) fn literal(node: &Node) -> Reading<Scalar> {
    if !node.is_scalar() {
        return Err(Leaf::Literal.unexpected(node));
    }
    value(node)?.ok_or_else(|| {
        let diagnostic = Leaf::Literal.unexpected(node);
        match node.text() {
            Some(text) => {
                diagnostic.with_hint(format!("put it in quotes if it is a text: \"{text}\""))
            }
            None => diagnostic,
        }
    })
}

/// One of some words.
pub(crate) fn word(node: &Node, words: &'static [&'static str]) -> Reading<&'static str> {
    let Some(text) = node.text() else {
        return Err(Leaf::Word(words).unexpected(node));
    };
    if let Some(found) = words.iter().find(|word| ***word == **text) {
        return Ok(found);
    }
    let diagnostic = Leaf::Word(words).unexpected(node);
    // Only what a program makes may be found by a pattern.
    let member = text
        .strip_prefix("list of ")
        .filter(|_| words.contains(&"file"));
    if let Some(member) = member.filter(|member| words.contains(member)) {
        let hint = format!("what a `glob` finds is a list already: write `type: {member}`");
        return Err(diagnostic.with_hint(hint));
    }
    let common = synonym(text).filter(|common| words.contains(common));
    let near = common.or_else(|| Suggester::default().nearest(text, words.iter().copied()));
    Err(match near {
        Some(near) => diagnostic.with_hint(format!("did you mean `{near}`?")),
        None => diagnostic,
    })
}

/// What a type of another language is called here.
fn synonym(name: &str) -> Option<&'static str> {
    Some(match name {
        "string" | "str" => "text",
        "integer" | "long" => "int",
        "double" | "real" | "number" => "float",
        "boolean" => "bool",
        "folder" | "dir" => "directory",
        "path" => "file",
        "enum" => "choice",
        _ => return None,
    })
}

/// The name of a type that exists.
pub(crate) fn type_name(node: &Node, registry: &Registry) -> Reading<Type> {
    let Some(text) = node.text() else {
        return Err(Leaf::Type.unexpected(node));
    };
    let mut name = text.trim();
    let mut depth = 0;
    while let Some(element) = name.strip_prefix("list of ") {
        name = element.trim();
        depth += 1;
    }
    if depth > LIST_DEPTH {
        let message = format!("lists of lists end at {LIST_DEPTH} levels");
        return Err(Diagnostic::error(node.span, message));
    }
    let element: Type = match name.parse() {
        Ok(found) => found,
        Err(never) => match never {},
    };
    let known = match &element {
        Type::Opaque(_) => registry.codec(&element).is_some(),
        _ => true,
    };
    if known {
        return Ok((0..depth).fold(element, |inner, _| inner.list()));
    }
    let message = format!("there is no type `{}`", shorten(name));
    let diagnostic = Diagnostic::error(node.span, message);
    let libraries: Vec<String> = registry.codec_types().map(Type::to_string).collect();
    let names = Type::NAMES
        .into_iter()
        .chain(libraries.iter().map(String::as_str));
    let near = synonym(name).or_else(|| Suggester::default().nearest(name, names));
    Err(match near {
        Some(near) => diagnostic.with_hint(format!("did you mean `{near}`?")),
        None if name == "list" || name.starts_with("list ") => {
            diagnostic.with_hint("write `list of TYPE`")
        }
        None => diagnostic.with_hint(format!(
            "types are {}, and `list of` one of them",
            listed(&Type::NAMES)
        )),
    })
}

/// A time.
pub(crate) fn duration(node: &Node) -> Reading<Duration> {
    let found = node.text().and_then(|text| quantity::duration(text));
    found.ok_or_else(|| Leaf::Duration.unexpected(node))
}

/// A number of bytes.
pub(crate) fn size(node: &Node) -> Reading<u64> {
    let found = node.text().and_then(|text| quantity::size(text));
    found.ok_or_else(|| Leaf::Size.unexpected(node))
}

/// How many failed items are accepted.
pub(crate) fn tolerance(node: &Node) -> Reading<Tolerance> {
    let found = node.text().and_then(|text| quantity::tolerance(text));
    found.ok_or_else(|| Leaf::Tolerance.unexpected(node))
}

/// An iteration.
pub(crate) fn strategy(node: &Node, source: &Source<'_>) -> Reading<Strategy> {
    let Some(text) = node.text() else {
        return Err(Leaf::Strategy.unexpected(node));
    };
    Strategy::parse(text).map_err(|error| {
        let span = inner_span(node, source, error.at, error.at);
        let message = format!("in this iteration, {}", error.message);
        Diagnostic::error(span, message).with_hint("an iteration looks like `cross(a, dot(b, c))`")
    })
}

/// The place of some bytes of a node's text, where the text stands in the file as it is; else the node's.
pub(crate) fn inner_span(node: &Node, source: &Source<'_>, start: usize, end: usize) -> Span {
    let Some(text) = node.text() else {
        return node.span;
    };
    let written = source.slice(node.span);
    let quotes = usize::from(written.starts_with(['"', '\'']));
    if written
        .get(quotes..)
        .is_some_and(|written| written.starts_with(&**text))
    {
        let begin = node.span.start + quotes;
        let end = end.max(start + 1).min(text.len().max(start));
        return source.bytes(begin + start, begin + end);
    }
    // A block or a text with escapes: the same piece, if it occurs as often there.
    let piece = text.get(start..end).unwrap_or("");
    if piece.is_empty() || text.matches(piece).count() != written.matches(piece).count() {
        return node.span;
    }
    let number = text[..start].matches(piece).count();
    match written.match_indices(piece).nth(number) {
        Some((at, _)) => {
            let begin = node.span.start + at;
            source.bytes(begin, begin + piece.len())
        }
        None => node.span,
    }
}

/// A path or pattern that stays inside the folder it is relative to.
pub(crate) fn path(node: &Node) -> Reading<Arc<str>> {
    let Some(text) = node.text() else {
        return Err(Leaf::Path.unexpected(node));
    };
    let wrong = if text.is_empty() {
        Some("this path is empty")
    } else if text.starts_with('/') || text.starts_with('~') {
        Some("this path is absolute")
    } else if text.split('/').any(|part| part == "..") {
        Some("this path leaves its folder")
    } else if text.contains(['\0', '\n', '\r']) {
        Some("this path has a line break")
    } else {
        None
    };
    match wrong {
        None => Ok(Arc::clone(text)),
        Some(message) => {
            let hint = "paths are relative, go down only, and have no `..`";
            Err(Diagnostic::error(node.span, message).with_hint(hint))
        }
    }
}
