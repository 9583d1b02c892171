//! What a port read, as records say it: from text to a tree.
//!
//! Law: any text can be given; one that is none of ours is [`Source::Other`] and equal only to itself.

use headwater_graph::Recipe;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source<'a> {
    /// An output of a task.
    Product {
        /// The task.
        recipe: Recipe,
        /// The output.
        port: &'a str,
    },
    /// Something from outside: `file:digest`, `directory:digest`, `value:digest`, `name:text`.
    External(&'a str),
    /// Several, in order.
    List(Vec<Source<'a>>),
    /// Several, by key; or what a helper task reads, under the name of its operation.
    Record {
        /// The operation of the helper task and the port that is read; empty for a plain record.
        of: (&'a str, &'a str),
        /// In the order in which they stand.
        fields: Vec<(&'a str, Source<'a>)>,
    },
    /// Anything else.
    Other(&'a str),
}

impl<'a> Source<'a> {
    /// Reads the text of a record.
    pub(crate) fn parse(text: &'a str) -> Source<'a> {
        let mut reader = Reader { rest: text };
        match reader.source(0) {
            Some(source) if reader.rest.is_empty() => source,
            // The name that a user gave may hold anything.
            _ if text.starts_with("name:") => Source::External(text),
            _ => Source::Other(text),
        }
    }

    /// Visits every product in it.
    pub(crate) fn for_each_product(&self, visit: &mut impl FnMut(Recipe, &str)) {
        self.for_each(&mut |source| {
            if let Source::Product { recipe, port } = source {
                visit(*recipe, port);
            }
        });
    }

    /// Visits everything in it that consists of nothing else.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&Source<'a>)) {
        match self {
            Source::List(items) => items.iter().for_each(|item| item.for_each(visit)),
            Source::Record { fields, .. } => {
                fields.iter().for_each(|(_, field)| field.for_each(visit));
            }
            Source::Product { .. } | Source::External(_) | Source::Other(_) => visit(self),
        }
    }

    /// In a few words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Source::Product { recipe, port } => {
                format!("output `{port}` of product {}", recipe.short())
            }
            Source::External(identity) => short_identity(identity),
            Source::List(items) => format!("a list of {}", items.len()),
            Source::Record {
                of: ("", _),
                fields,
            } => format!("a record of {}", fields.len()),
            Source::Record { of: (name, _), .. } => format!("what `{name}` gives"),
            Source::Other(text) => (*text).to_owned(),
        }
    }
}

/// `file:` and the first digits of the digest.
pub(crate) fn short_identity(identity: &str) -> String {
    match identity.split_once(':') {
        Some((kind @ ("file" | "directory" | "value"), digest)) => {
            format!("{kind} {}", digest.get(..12).unwrap_or(digest))
        }
        Some(("name", name)) => name.to_owned(),
        _ => identity.to_owned(),
    }
}

/// Lists within lists, no deeper than this.
const DEEPEST: usize = 50;

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(sign)?;
        Some(())
    }

    /// Everything up to a sign that ends a word.
    fn word(&mut self, ends: &[char]) -> &'a str {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn source(&mut self, depth: usize) -> Option<Source<'a>> {
        if depth > DEEPEST {
            return None;
        }
        if self.take('[').is_some() {
            let mut items = Vec::new();
            while self.take(']').is_none() {
                if !items.is_empty() {
                    self.rest = self.rest.strip_prefix(", ")?;
                }
                items.push(self.source(depth + 1)?);
            }
            return Some(Source::List(items));
        }
        if self.take('{').is_some() {
            let fields = self.fields('}', depth)?;
            return Some(Source::Record {
                of: ("", ""),
                fields,
            });
        }
        let whole = self.rest;
        let head = self.word(&[':', '(', ',', ']', '}', ')', '=']);
        if self.take('(').is_some() {
            let fields = self.fields(')', depth)?;
            self.take(':')?;
            let port = self.word(&[',', ']', '}', ')']);
            return Some(Source::Record {
                of: (head, port),
                fields,
            });
        }
        if self.take(':').is_none() {
            // The value of a parameter of a helper task.
            return Some(Source::Other(head));
        }
        let tail = self.word(&[',', ']', '}', ')']);
        let text = &whole[..head.len() + 1 + tail.len()];
        match head {
            "file" | "directory" | "value" | "name" => Some(Source::External(text)),
            _ => Some(Source::Product {
                recipe: head.parse().ok()?,
                port: tail,
            }),
        }
    }

    fn fields(&mut self, end: char, depth: usize) -> Option<Vec<(&'a str, Source<'a>)>> {
        let mut fields = Vec::new();
        while self.take(end).is_none() {
            if !fields.is_empty() {
                self.rest = self.rest.strip_prefix(", ")?;
            }
            let key = self.word(&['=']);
            self.take('=')?;
            fields.push((key, self.source(depth + 1)?));
        }
        Some(fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn product(port: &str) -> Source<'_> {
        Source::Product {
            recipe: Recipe([0xaa; 32]),
            port,
        }
    }

    #[test]
    fn all_kinds_of_sources() {
        let file = format!("file:{A}");
        let plain = format!("{A}:image");
        assert_eq!(Source::parse(&plain), product("image"));
        assert_eq!(Source::parse(&file), Source::External(&file));
        let list = format!("[{A}:x, {file}, []]");
        assert_eq!(
            Source::parse(&list),
            Source::List(vec![
                product("x"),
                Source::External(&file),
                Source::List(Vec::new())
            ])
        );
        let record = format!("{{a={A}:x, b={file}}}");
        assert_eq!(
            Source::parse(&record),
            Source::Record {
                of: ("", ""),
                fields: vec![("a", product("x")), ("b", Source::External(&file))]
            }
        );
        let item = format!("headwater/item(position=3, list={A}:words):item");
        assert_eq!(
            Source::parse(&item),
            Source::Record {
                of: ("headwater/item", "item"),
                fields: vec![("position", Source::Other("3")), ("list", product("words"))]
            }
        );
        let mut seen = Vec::new();
        let nested = format!("[{item}, {plain}]");
        Source::parse(&nested).for_each_product(&mut |_, port| seen.push(port.to_owned()));
        assert_eq!(seen, ["words", "image"]);
    }

    #[test]
    fn a_name_may_hold_anything() {
        for name in ["name:a, b]", "name:", "name:x(y", "name:a:b"] {
            assert_eq!(Source::parse(name), Source::External(name));
        }
    }

    #[test]
    fn what_is_none_of_ours_is_itself() {
        for text in ["", "]", "[", "{a}", "zz:port", "[[", &"[".repeat(10_000)] {
            assert_eq!(Source::parse(text), Source::Other(text));
        }
    }

    proptest! {
        #[test]
        fn nonsense_never_panics(text in r"[\[\]{}()=:, aé]{0,20}") {
            let _ = Source::parse(&text).describe();
        }
    }
}
