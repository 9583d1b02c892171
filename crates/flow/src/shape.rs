//! Shapes: what may be written where.
//!
//! Law: a format is one constant [`Shape`]. The reader checks a tree against it, finds its fields through
//! it, and the JSON Schema is printed from it; there is no second list of fields anywhere.

use crate::leaf::Leaf;
use crate::name::NameRule;
use crate::suggest::Suggester;
use crate::tree::Node;

/// What may be written in one place.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A single value.
    Leaf(Leaf),
    /// A list.
    List {
        /// What each item is.
        of: &'static Shape,
        /// In words: `a list of stage names`.
        what: &'static str,
        /// How many items there are at least.
        least: usize,
        /// How many items there are at most.
        most: usize,
    },
    /// Names that the user chooses, each with a value. Nothing at all is an empty one.
    Map {
        /// The rule for the names.
        names: NameRule,
        /// What each value is.
        of: &'static Shape,
        /// In words: `input names with their types`.
        what: &'static str,
    },
    /// Fields that the format knows.
    Record(&'static Table),
    /// One of these. They differ in kind (single value, list, mapping), or are all single values.
    Either(&'static [Shape]),
    /// This, or nothing at all.
    Maybe(&'static Shape),
    /// Whatever YAML can say.
    Anything,
}

/// The fields of a record.
#[derive(Debug)]
pub(crate) struct Table {
    /// In words: `a stage`.
    pub(crate) what: &'static str,
    /// Its fields, in the order people write them.
    pub(crate) fields: &'static [Field],
    /// Fields that exclude each other.
    pub(crate) one_of: &'static [&'static str],
    /// Whether one of `one_of` has to be there.
    pub(crate) one_needed: bool,
    /// What other names stand for; `None`: there are no others.
    pub(crate) others: Option<&'static Shape>,
    /// What fields are called elsewhere, and their names here.
    pub(crate) synonyms: &'static [(&'static str, &'static str)],
}

/// A field of a record.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its key.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) shape: Shape,
    /// Whether it has to be there.
    pub(crate) required: bool,
    /// What it is for, in one line.
    pub(crate) about: &'static str,
}

impl Field {
    /// A field that may be left out.
    pub(crate) const fn new(name: &'static str, shape: Shape, about: &'static str) -> Field {
        Field {
            name,
            shape,
            required: false,
            about,
        }
    }

    /// A field that has to be there.
    pub(crate) const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
        Field {
            name,
            shape,
            required: true,
            about,
        }
    }
}

impl Table {
    /// A record with these fields and nothing else to say.
    pub(crate) const fn new(what: &'static str, fields: &'static [Field]) -> Table {
        Table {
            what,
            fields,
            one_of: &[],
            one_needed: false,
            others: None,
            synonyms: &[],
        }
    }

    /// The same with words that people may know its fields by.
    pub(crate) const fn with_synonyms(
        self,
        synonyms: &'static [(&'static str, &'static str)],
    ) -> Table {
        Table { synonyms, ..self }
    }

    /// Whether exactly one field is to be there, so that another name stands in the place of one.
    pub(crate) fn is_single(&self) -> bool {
        let chosen = |field: &Field| self.one_of.contains(&field.name);
        self.fields.len() == 1 || self.fields.iter().all(chosen)
    }
}

impl Shape {
    /// A list of any length.
    pub(crate) const fn list(of: &'static Shape, what: &'static str) -> Shape {
        Shape::List {
            of,
            what,
            least: 0,
            most: usize::MAX,
        }
    }

    /// Whether a node is of the right kind, whatever is in it.
    pub(crate) fn fits(&self, node: &Node) -> bool {
        match self {
            Shape::Leaf(_) => node.is_scalar() && !node.is_nothing(),
            Shape::List { .. } => node.items().is_some(),
            Shape::Map { .. } => node.entries().is_some() || node.is_nothing(),
            Shape::Record(_) => node.entries().is_some(),
            Shape::Either(options) => options.iter().any(|option| option.fits(node)),
            Shape::Maybe(shape) => node.is_nothing() || shape.fits(node),
            Shape::Anything => true,
        }
    }

    /// What is expected, in words.
    pub(crate) fn expects(&self) -> String {
        match self {
            Shape::Leaf(leaf) => leaf.expects(),
            Shape::List { what, .. } | Shape::Map { what, .. } => (*what).to_owned(),
            Shape::Record(table) => {
                let names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
                match names.as_slice() {
                    [only] => format!("`{{{only}: …}}`"),
                    _ => format!("{} as a mapping", table.what),
                }
            }
            Shape::Either(options) => {
                let words: Vec<String> = options.iter().map(Shape::expects).collect();
                match words.as_slice() {
                    [first @ .., last] if !first.is_empty() => {
                        format!("{} or {last}", first.join(", "))
                    }
                    _ => words.concat(),
                }
            }
            Shape::Maybe(shape) => shape.expects(),
            Shape::Anything => "a value".to_owned(),
        }
    }
}

/// The entries of a mapping, sorted to the fields of a table.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    table: &'static Table,
    /// Key and value, by position of the field.
    found: Vec<Option<(&'n Node, &'n Node)>>,
    /// Entries that are no field, and the field that was probably meant. If that one is not there and only
    /// misspelt, the entry is taken for it.
    pub(crate) unknown: Vec<(&'n Node, &'n Node, Option<&'static str>)>,
}

impl<'n> Fields<'n> {
    /// Sorts the entries of a node; of one that is no mapping there are none.
    pub(crate) fn of(node: &'n Node, table: &'static Table) -> Fields<'n> {
        let mut found = vec![None; table.fields.len()];
        let mut strangers = Vec::new();
        for (key, value) in node.entries().unwrap_or_default() {
            let name = key.text().map_or("", |text| text);
            match table.fields.iter().position(|field| field.name == name) {
                Some(at) => {
                    // A key given twice is reported by the parser; the first one counts.
                    found[at].get_or_insert((key, value));
                }
                None => strangers.push((key, value)),
            }
        }
        let mut unknown = Vec::new();
        for (key, value) in strangers {
            let name = key.text().map_or("", |text| text);
            // What is in an entry that another program knows has the words of that program: it is left alone.
            if let Some((_, meant)) = table.synonyms.iter().find(|(other, _)| *other == name) {
                unknown.push((key, value, Some(*meant)));
                continue;
            }
            let names = table.fields.iter().map(|field| field.name);
            let meant = Suggester::default().nearest(name, names);
            if let Some(meant) = meant.filter(|_| table.others.is_none())
                && let Some(at) = table.fields.iter().position(|field| field.name == meant)
            {
                found[at].get_or_insert((key, value));
            }
            unknown.push((key, value, meant));
        }
        Fields {
            table,
            found,
            unknown,
        }
    }

    /// Key and value of a field.
    pub(crate) fn entry(&self, name: &str) -> Option<(&'n Node, &'n Node)> {
        let at = self
            .table
            .fields
            .iter()
            .position(|field| field.name == name);
        debug_assert!(at.is_some(), "`{name}` is no field of {}", self.table.what);
        self.found[at?]
    }

    /// The value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|(_, value)| value)
    }

    /// All fields with what was found for them.
    pub(crate) fn all(
        &self,
    ) -> impl Iterator<Item = (&'static Field, Option<(&'n Node, &'n Node)>)> {
        self.table.fields.iter().zip(self.found.iter().copied())
    }
}
