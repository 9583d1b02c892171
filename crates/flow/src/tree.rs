//! A YAML file as a tree of nodes that know where they stand.
//!
//! Law: the tree says what is written, not what it means: `5` is the text `5`, written plainly. JSON is YAML
//! in flow style and gives the same tree. A tree is at most [`DEPTH`] nodes deep, so walking it recursively
//! is safe.

use std::sync::Arc;

use headwater_graph::Span;

use crate::excerpt::shorten;
use crate::scalar::{is_number, is_special};

/// How deep a tree may be.
pub(crate) const DEPTH: usize = 64;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Where it stands. A collection in block style spans its entries; an alias is where it is used.
    pub(crate) span: Span,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A single value.
    Scalar {
        /// Its text, without quotes.
        text: Arc<str>,
        /// Whether it has neither quotes nor a block marker, so that `5` is a number.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values, in the order of the file. A key given twice is there twice.
    Mapping(Vec<(Node, Node)>),
}

/// What was read of a file.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The document, if there is one.
    pub(crate) root: Option<Node>,
    /// Whether a mistake in the syntax may have hidden a part of it.
    pub(crate) damaged: bool,
    /// The bytes at which the text was changed to read on after a mistake.
    pub(crate) patches: Vec<usize>,
}

impl Node {
    /// The text of a scalar, however it is written; `None` for collections and for nothing at all.
    pub(crate) fn text(&self) -> Option<&Arc<str>> {
        match &self.kind {
            Kind::Scalar { text, plain } if !(*plain && text.is_empty()) => Some(text),
            _ => None,
        }
    }

    /// Whether nothing is written here.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true } if text.is_empty())
    }

    /// Whether this is a scalar, or nothing.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self.kind, Kind::Scalar { .. })
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The entries of a mapping.
    pub(crate) fn entries(&self) -> Option<&[(Node, Node)]> {
        match &self.kind {
            Kind::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The first value under a key.
    pub(crate) fn get(&self, name: &str) -> Option<(&Node, &Node)> {
        let entries = self.entries()?.iter();
        let mut found = entries.filter(|(key, _)| key.text().is_some_and(|text| **text == *name));
        found.next().map(|(key, value)| (key, value))
    }

    /// What is here, for messages: `the text `abc``, `a list`, `nothing`.
    pub(crate) fn found(&self) -> String {
        match &self.kind {
            Kind::Sequence(_) => "a list".to_owned(),
            Kind::Mapping(_) => "a mapping".to_owned(),
            Kind::Scalar { text, plain } => {
                if *plain && text.is_empty() {
                    "nothing".to_owned()
                } else if *plain && is_number(text) {
                    format!("the number `{}`", shorten(text))
                } else if text.is_empty() {
                    "an empty text".to_owned()
                } else if !*plain && is_special(text) {
                    format!("the text `{}`", shorten(text))
                } else {
                    format!("`{}`", shorten(text))
                }
            }
        }
    }

    /// Number of nodes and depth.
    pub(crate) fn measure(&self) -> (usize, usize) {
        let mut size = 1;
        let mut depth = 0;
        let mut take = |node: &Node| {
            let (more, below) = node.measure();
            size += more;
            depth = depth.max(below);
        };
        match &self.kind {
            Kind::Scalar { .. } => {}
            Kind::Sequence(items) => items.iter().for_each(take),
            Kind::Mapping(entries) => entries.iter().for_each(|(key, value)| {
                take(key);
                take(value);
            }),
        }
        (size, depth + 1)
    }
}
