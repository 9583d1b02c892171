//! Iteration strategies: trees of `cross` and `dot` over data names.
//!
//! Law: the text form and the tree are the same thing; `parse` and `Display` are inverse. The names are
//! those of data, each at most once.

use std::fmt;
use std::sync::Arc;

/// How the items of several inputs are combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// The items of one name.
    Name(Arc<str>),
    /// All combinations; index paths are concatenated from left to right.
    Cross(Vec<Strategy>),
    /// Items of equal index path.
    Dot(Vec<Strategy>),
}

/// A text that is not a strategy.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct StrategyError {
    /// Byte position in the text.
    pub at: usize,
    /// What is wrong.
    pub message: String,
}

impl Strategy {
    /// Reads `cross(a, dot(b, c))`.
    pub fn parse(text: &str) -> Result<Strategy, StrategyError> {
        let mut parser = Parser {
            text,
            at: 0,
            names: Vec::new(),
        };
        let strategy = parser.strategy(0)?;
        parser.blank();
        if parser.at < text.len() {
            return Err(parser.error("nothing more is expected here"));
        }
        Ok(strategy)
    }

    /// All names, from left to right.
    pub fn names(&self) -> Vec<Arc<str>> {
        match self {
            Strategy::Name(name) => vec![Arc::clone(name)],
            Strategy::Cross(parts) | Strategy::Dot(parts) => {
                parts.iter().flat_map(Strategy::names).collect()
            }
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, parts) = match self {
            Strategy::Name(name) => return f.write_str(name),
            Strategy::Cross(parts) => ("cross", parts),
            Strategy::Dot(parts) => ("dot", parts),
        };
        write!(f, "{word}(")?;
        for (position, part) in parts.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{part}")?;
        }
        f.write_str(")")
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    names: Vec<String>,
}

impl Parser<'_> {
    fn error(&self, message: impl Into<String>) -> StrategyError {
        StrategyError {
            at: self.at,
            message: message.into(),
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn word(&mut self) -> String {
        let length = self
            .rest()
            .find(|c: char| c.is_whitespace() || "(),".contains(c))
            .unwrap_or(self.rest().len());
        let word = self.rest()[..length].to_owned();
        self.at += length;
        word
    }

    fn strategy(&mut self, depth: usize) -> Result<Strategy, StrategyError> {
        if depth > 64 {
            return Err(self.error("nested too deeply"));
        }
        self.blank();
        let start = self.at;
        let word = self.word();
        if word.is_empty() {
            return Err(self.error("expected a data name, `cross(…)` or `dot(…)`"));
        }
        self.blank();
        if !self.rest().starts_with('(') {
            if self.names.contains(&word) {
                self.at = start;
                return Err(self.error(format!("`{word}` is named twice")));
            }
            self.names.push(word.clone());
            return Ok(Strategy::Name(word.into()));
        }
        if word != "cross" && word != "dot" {
            self.at = start;
            return Err(self.error(format!("`{word}` is neither `cross` nor `dot`")));
        }
        self.at += 1;
        let mut parts = Vec::new();
        loop {
            parts.push(self.strategy(depth + 1)?);
            self.blank();
            if self.rest().starts_with(',') {
                self.at += 1;
            } else if self.rest().starts_with(')') {
                self.at += 1;
                break;
            } else {
                return Err(self.error("expected `,` or `)`"));
            }
        }
        if parts.len() < 2 {
            self.at = start;
            return Err(self.error(format!("`{word}` combines at least two names")));
        }
        Ok(if word == "cross" {
            Strategy::Cross(parts)
        } else {
            Strategy::Dot(parts)
        })
    }
}
