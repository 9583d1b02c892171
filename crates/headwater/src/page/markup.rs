//! A strict reader of markup: what it takes is well-formed XML, but for the doctype.
//!
//! Law: it knows nothing of HTML; each element is closed, each attribute quoted and given once, each reference known.

/// An element, with the names of those that it stands in.
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) within: Vec<String>,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// All elements in order, or the first thing that is wrong.
pub(crate) fn check(page: &str) -> Result<Vec<Element>, String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>\n").ok_or("no doctype")?;
    let mut open: Vec<String> = Vec::new();
    let mut elements = Vec::new();
    while let Some(start) = rest.find('<') {
        text(&rest[..start])?;
        let end = rest.find('>').ok_or("a tag without end")?;
        let tag = rest
            .get(start + 1..end)
            .ok_or_else(|| format!("a > in text: {:.60}", &rest[..start]))?;
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        let (tag, empty) = tag
            .strip_suffix('/')
            .map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric()) {
            return Err(format!("no name of an element: {name:?}"));
        }
        elements.push(Element {
            name: name.to_owned(),
            attributes: read(attributes)?,
            within: open.clone(),
        });
        if !empty {
            open.push(name.to_owned());
        }
    }
    text(rest)?;
    match open.last() {
        Some(name) => Err(format!("<{name}> is not closed")),
        None => Ok(elements),
    }
}

fn read(mut rest: &str) -> Result<Vec<(String, String)>, String> {
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest
            .split_once("=\"")
            .ok_or_else(|| format!("no value: {rest}"))?;
        let (value, after) = after
            .split_once('"')
            .ok_or_else(|| format!("no end: {rest}"))?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-:".contains(letter);
        if key.is_empty() || !key.chars().all(plain) {
            return Err(format!("no name of an attribute: {key:?}"));
        }
        if attributes.iter().any(|(other, _)| other == key) {
            return Err(format!("{key} stands twice"));
        }
        text(value)?;
        attributes.push((key.to_owned(), value.to_owned()));
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    Ok(attributes)
}

/// Text may hold what references stand for only as references.
fn text(text: &str) -> Result<(), String> {
    if text.contains(['<', '>']) {
        return Err(format!("a < or > in text: {text:.60}"));
    }
    if let Some(control) = text
        .chars()
        .find(|letter| letter.is_control() && *letter != '\n' && *letter != '\t')
    {
        return Err(format!("a control character: {control:?}"));
    }
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"]
            .iter()
            .any(|reference| part.starts_with(reference));
        if !known {
            return Err(format!("a & alone: &{part:.20}"));
        }
    }
    Ok(())
}

#[test]
fn what_is_not_well_formed_is_told() {
    let wrong = [
        "<p>",
        "<p></b>",
        "<p a=b></p>",
        "<p a=\"1\" a=\"2\"></p>",
        "<p>&nbsp;</p>",
        "<p>\u{1}</p>",
        "a > b",
        "<>",
        "<p",
    ];
    for page in wrong {
        assert!(
            check(&format!("<!DOCTYPE html>\n{page}")).is_err(),
            "{page}"
        );
    }
    let right = check("<!DOCTYPE html>\n<p class=\"a b\">x<br/>&amp;</p>\n").unwrap_or_default();
    assert_eq!(right.len(), 2);
    assert_eq!(right[1].within, ["p"]);
}
