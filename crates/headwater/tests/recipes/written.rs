//! One tree, written as YAML in many ways.
//!
//! Law: whatever a [`Pen`] does with a tree, it reads back as the same tree.

/// What a file says.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// Fields; their order says nothing.
    Map(Vec<(String, Node)>),
    /// Items in their order.
    List(Vec<Node>),
    /// A text.
    Text(String),
    /// A number, written as it is.
    Number(i64),
    /// A truth value, written as it is.
    Word(&'static str),
}

/// A mapping.
pub(crate) fn map<const N: usize>(fields: [(&str, Node); N]) -> Node {
    Node::Map(fields.map(|(name, node)| (name.to_owned(), node)).into())
}

/// A text.
pub(crate) fn text(text: &str) -> Node {
    Node::Text(text.to_owned())
}

/// A list of texts.
pub(crate) fn texts<const N: usize>(items: [&str; N]) -> Node {
    Node::List(items.map(text).into())
}

/// Makes choices. The plain pen always makes the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Pen {
    seed: Option<u64>,
}

impl Pen {
    /// Writes everything in one plain way.
    pub(crate) fn plain() -> Pen {
        Pen { seed: None }
    }

    /// Writes as the seed says.
    pub(crate) fn with(seed: u64) -> Pen {
        Pen { seed: Some(seed) }
    }

    /// A number below `choices`; 0 for the plain pen.
    pub(crate) fn choose(&mut self, choices: usize) -> usize {
        let Some(seed) = &mut self.seed else {
            return 0;
        };
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) % choices as u64) as usize
    }

    /// The text of a file.
    pub(crate) fn file(&mut self, node: &Node) -> String {
        let mut out = String::new();
        if self.choose(3) == 1 {
            out.push_str("# a comment at the top\n\n");
        }
        self.block(node, 0, &mut out);
        if self.choose(3) == 1 {
            out.push_str("\n# the end\n");
        }
        out
    }

    fn shuffled<'a>(&mut self, fields: &'a [(String, Node)]) -> Vec<&'a (String, Node)> {
        let mut order: Vec<&(String, Node)> = fields.iter().collect();
        for place in (1..order.len()).rev() {
            // The plain pen leaves the order as it is.
            let other = place - self.choose(place + 1);
            order.swap(place, other);
        }
        order
    }

    fn end_of_line(&mut self, indent: usize, out: &mut String) {
        match self.choose(6) {
            1 => out.push_str("   # beside: a [comment] {with} marks\n"),
            2 => out.push_str("  \n"),
            3 => out.push_str("\n\n"),
            4 => out.push_str(&format!("\n{}# between\n", " ".repeat(indent))),
            _ => out.push('\n'),
        }
    }

    /// Lines at this indentation, each with its end.
    fn block(&mut self, node: &Node, indent: usize, out: &mut String) {
        let margin = " ".repeat(indent);
        let deeper = indent + 1 + [1, 0, 3][self.choose(3)];
        match node {
            Node::Map(fields) => {
                for (name, value) in self.shuffled(fields) {
                    out.push_str(&margin);
                    self.key(name, out);
                    out.push(':');
                    self.value(value, deeper, out);
                }
            }
            Node::List(items) => {
                for item in items {
                    out.push_str(&margin);
                    out.push('-');
                    self.value(item, deeper, out);
                }
            }
            leaf => {
                self.leaf(leaf, out);
                out.push('\n');
            }
        }
    }

    /// What follows a colon or a dash.
    fn value(&mut self, node: &Node, indent: usize, out: &mut String) {
        match node {
            Node::Map(fields) if !fields.is_empty() && self.choose(2) == 0 => {
                self.end_of_line(indent, out);
                self.block(node, indent, out);
            }
            Node::List(items) if !items.is_empty() && self.choose(2) == 0 => {
                self.end_of_line(indent, out);
                self.block(node, indent, out);
            }
            Node::Text(text) if !text.starts_with([' ', '\n']) && self.choose(4) == 3 => {
                // A text that ends a line ends it here too.
                let ended = text.strip_suffix('\n');
                out.push_str(if ended.is_some() { " |\n" } else { " |-\n" });
                for line in ended.unwrap_or(text).split('\n') {
                    out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
                }
            }
            other => {
                out.push_str(["", "  "][self.choose(2)]);
                out.push(' ');
                self.flow(other, indent, out);
                self.end_of_line(indent, out);
            }
        }
    }

    fn space(&mut self, indent: usize, out: &mut String) {
        match self.choose(4) {
            1 => out.push(' '),
            2 => out.push_str(&format!("\n{}", " ".repeat(indent + 2))),
            _ => {}
        }
    }

    fn flow(&mut self, node: &Node, indent: usize, out: &mut String) {
        match node {
            Node::Map(fields) => {
                out.push('{');
                for (place, (name, value)) in self.shuffled(fields).into_iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    self.space(indent, out);
                    self.key(name, out);
                    out.push_str(": ");
                    self.flow(value, indent, out);
                    self.space(indent, out);
                }
                out.push('}');
            }
            Node::List(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    self.space(indent, out);
                    self.flow(item, indent, out);
                    self.space(indent, out);
                }
                out.push(']');
            }
            leaf => self.leaf(leaf, out),
        }
    }

    fn key(&mut self, name: &str, out: &mut String) {
        match self.choose(4) {
            1 => out.push_str(&format!("\"{name}\"")),
            2 => out.push_str(&format!("'{name}'")),
            _ => out.push_str(name),
        }
    }

    fn leaf(&mut self, node: &Node, out: &mut String) {
        match node {
            Node::Number(number) => out.push_str(&number.to_string()),
            Node::Word(word) => out.push_str(word),
            Node::Text(text) => self.text(text, out),
            Node::Map(_) | Node::List(_) => {}
        }
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let plain = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
        match self.choose(3) {
            0 | 1 if plain => out.push_str(text),
            2 if !text.contains('\n') => {
                out.push_str(&format!("'{}'", text.replace('\'', "''")));
            }
            _ => {
                let escaped = text
                    .replace('\\', "\\\\")
                    .replace('"', "\\\"")
                    .replace('\n', "\\n");
                out.push_str(&format!("\"{escaped}\""));
            }
        }
    }
}
