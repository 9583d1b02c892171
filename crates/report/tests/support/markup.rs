//! Pages read as XML.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

/// An element, with the names of those that it stands in, the outermost first.
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) within: Vec<String>,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }
}

/// All elements in order, or the first thing that is wrong.
pub(crate) fn check(page: &str) -> Result<Vec<Element>, String> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(page, options);
    let document = document.map_err(|error| error.to_string())?;
    let name = |node: Node<'_, '_>| node.tag_name().name().to_owned();
    let elements = document.descendants().filter(Node::is_element);
    let elements = elements.map(|node| {
        let outer = node.ancestors().skip(1).filter(Node::is_element);
        let mut within: Vec<String> = outer.map(name).collect();
        within.reverse();
        let attributes = node.attributes();
        Element {
            name: name(node),
            attributes: attributes
                .map(|found| (found.name().to_owned(), found.value().to_owned()))
                .collect(),
            within,
        }
    });
    Ok(elements.collect())
}
