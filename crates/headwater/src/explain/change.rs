//! The differences between two products of one operation, and how they read.
//!
//! Law: two records with different recipes have at least one difference, unless what an implicit or unknown source
//! stands for hides it. Comparing looks at nothing but the two records and what their versions stand for.

use std::collections::HashMap;
use std::fmt;

use headwater_graph::{ProductRecord, Recipe, Scalar};

use super::source::{Source, short_identity};

/// Something from outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Named {
    /// `file:digest`, `directory:digest`, `value:digest` or `name:text`.
    pub identity: String,
    /// What it was called, where that was noted: a path, or the value itself.
    pub name: Option<String>,
}

impl fmt::Display for Named {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) if self.identity.starts_with("value:") => out.write_str(name),
            Some(name) => write!(out, "`{name}` ({})", self.digest()),
            None => out.write_str(&short_identity(&self.identity)),
        }
    }
}

impl Named {
    /// The first digits of its digest.
    fn digest(&self) -> &str {
        let digest = self
            .identity
            .split_once(':')
            .map_or("", |(_, digest)| digest);
        digest.get(..12).unwrap_or(digest)
    }
}

/// One thing that is not as it was. `None` is: not there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Change {
    /// The value of a parameter.
    Parameter {
        /// Which.
        name: String,
        /// Before.
        old: Option<String>,
        /// Now.
        new: Option<String>,
    },
    /// A part of what the version of the operation stands for.
    Version {
        /// Which: `command`, `shell`, `stdin`, `env NAME`, `uses PATH`, `tool`, …; `version` where all that is known
        /// are two versions.
        part: String,
        /// Before.
        old: Option<String>,
        /// Now.
        new: Option<String>,
    },
    /// Something from outside.
    Input {
        /// The port that reads it.
        port: String,
        /// Before.
        old: Option<Named>,
        /// Now.
        new: Option<Named>,
    },
    /// How many items a list has.
    Items {
        /// The port that reads it.
        port: String,
        /// Before.
        old: usize,
        /// Now.
        new: usize,
        /// What the items that came were made from, and those before were not; where that is known.
        added: Vec<Named>,
        /// What the items that went were made from, and those now are not.
        removed: Vec<Named>,
    },
    /// In which order a list has its items.
    Order {
        /// The port that reads it.
        port: String,
        /// How many items there are.
        items: usize,
    },
    /// The port is bound to something of another kind, or to another output.
    Link {
        /// The port.
        port: String,
        /// Before.
        old: Option<String>,
        /// Now.
        new: Option<String>,
    },
    /// Another operation stands there.
    Operation {
        /// Before.
        old: String,
        /// Now.
        new: String,
    },
    /// There is no record to compare.
    Unknown,
}

impl Change {
    /// A word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Change::Parameter { .. } => "parameter",
            Change::Version { .. } => "version",
            Change::Input { .. } => "input",
            Change::Items { .. } => "items",
            Change::Order { .. } => "order",
            Change::Link { .. } => "link",
            Change::Operation { .. } => "operation",
            Change::Unknown => "unknown",
        }
    }

    /// The lines that went (`-`) and came (`+`), where the texts are too long to stand on one line.
    pub fn lines(&self) -> Vec<String> {
        let Change::Version {
            part,
            old: Some(old),
            new: Some(new),
        } = self
        else {
            return Vec::new();
        };
        if part.starts_with("uses ") || (is_short(old) && is_short(new)) {
            return Vec::new();
        }
        line_diff(old, new)
    }
}

fn is_short(text: &str) -> bool {
    let text = text.trim_end();
    !text.contains('\n') && text.chars().count() <= 60
}

/// At most so many lines of a difference are shown.
const MOST_LINES: usize = 20;

/// Which lines went and which came. Beginning and end in common are set aside first; what is left is compared line by
/// line if it is not too long.
fn line_diff(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let start = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(same)
        .count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut lines = Vec::new();
    let (mut at, mut to) = (0, 0);
    for (i, j) in common(old, new).into_iter().chain([(old.len(), new.len())]) {
        lines.extend(old[at..i].iter().map(|line| format!("- {line}")));
        lines.extend(new[to..j].iter().map(|line| format!("+ {line}")));
        (at, to) = (i + 1, j + 1);
    }
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("  … and {more} more lines"));
    }
    lines
}

/// Positions of a longest common subsequence; none for texts that are too long.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) > 1_000_000 {
        return Vec::new();
    }
    let width = new.len() + 1;
    let mut length = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i * width + j] = if old[i] == new[j] {
                length[(i + 1) * width + j + 1] + 1
            } else {
                length[(i + 1) * width + j].max(length[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if length[(i + 1) * width + j] >= length[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// `a -> b`, where either may not be there.
struct Arrow<'a, T>(&'a Option<T>, &'a Option<T>);

impl<T: fmt::Display> fmt::Display for Arrow<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arrow(Some(old), Some(new)) => write!(out, "{old} -> {new}"),
            Arrow(None, Some(new)) => write!(out, "{new}, which was not there"),
            Arrow(Some(old), None) => write!(out, "{old} is gone"),
            Arrow(None, None) => Ok(()),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Parameter { name, old, new } => {
                write!(out, "parameter `{name}`: {}", Arrow(old, new))
            }
            Change::Version { part, old, new } => version(out, part, old, new),
            Change::Input {
                port,
                old: Some(old),
                new: Some(new),
            } if old.name.is_some()
                && old.name == new.name
                && !new.identity.starts_with("value:") =>
            {
                let kind = new.identity.split(':').next().unwrap_or_default();
                let name = new.name.as_deref().unwrap_or_default();
                let (old, new) = (old.digest(), new.digest());
                write!(
                    out,
                    "input `{port}`: the {kind} `{name}` changed ({old} -> {new})"
                )
            }
            Change::Input { port, old, new } => write!(out, "input `{port}`: {}", Arrow(old, new)),
            Change::Items {
                port,
                old,
                new,
                added,
                removed,
            } => {
                let items = |number: &usize| match number {
                    1 => "1 item".to_owned(),
                    several => format!("{several} items"),
                };
                write!(out, "input `{port}`: {} -> {}", items(old), items(new))?;
                for (what, things) in [("added", added), ("removed", removed)] {
                    if things.is_empty() {
                        continue;
                    }
                    let names: Vec<String> = things.iter().take(3).map(Named::to_string).collect();
                    let more = match things.len() {
                        0..=3 => String::new(),
                        all => format!(" and {} more", all - 3),
                    };
                    write!(out, "; {what}: {}{more}", names.join(", "))?;
                }
                Ok(())
            }
            Change::Order { port, items } => {
                write!(
                    out,
                    "input `{port}`: the order of its {items} items changed"
                )
            }
            Change::Link { port, old, new } => write!(out, "input `{port}`: {}", Arrow(old, new)),
            Change::Operation { old, new } => {
                write!(out, "operation `{new}` is in the place of `{old}`")
            }
            Change::Unknown => write!(out, "there is no record of it to compare"),
        }
    }
}

fn version(
    out: &mut fmt::Formatter<'_>,
    part: &str,
    old: &Option<String>,
    new: &Option<String>,
) -> fmt::Result {
    if let Some(file) = part.strip_prefix("uses ") {
        // What follows a digest is whether the file may be executed.
        let digest = |text: &String| {
            let digest = text.split(',').next().unwrap_or_default();
            digest.chars().take(12).collect::<String>()
        };
        return match (old, new) {
            (Some(old), Some(new)) if digest(old) != digest(new) => {
                let (old, new) = (digest(old), digest(new));
                write!(out, "the file `{file}` changed ({old} -> {new})")
            }
            (Some(_), Some(new)) if new.ends_with("executable") => {
                write!(
                    out,
                    "the file `{file}` may be executed, and could not before"
                )
            }
            (Some(_), Some(_)) => write!(out, "the file `{file}` can no longer be executed"),
            (None, _) => write!(out, "the file `{file}` is used, and was not before"),
            (Some(_), None) => write!(out, "the file `{file}` is no longer used"),
        };
    }
    let what = match part {
        "command" | "shell" | "shell (braces doubled)" => "its command".to_owned(),
        "tool" => "the version of its program".to_owned(),
        "version" => "version".to_owned(),
        other => format!("`{other}`"),
    };
    match (old, new) {
        (Some(old), Some(new)) if is_short(old) && is_short(new) => {
            write!(out, "{what}: {} -> {}", old.trim_end(), new.trim_end())
        }
        (Some(_), Some(_)) => write!(out, "{what} changed"),
        (None, Some(new)) if is_short(new) => {
            write!(out, "{what}: {}, which was not there", new.trim_end())
        }
        (None, _) => write!(out, "{what}: it was not there"),
        (Some(_), None) => write!(out, "{what}: it is gone"),
    }
}

/// What tells two records apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Differences {
    /// The changes that belong to the task itself. Names of things from outside are not filled in.
    pub(crate) changes: Vec<Change>,
    /// The versions differ.
    pub(crate) version: bool,
    /// Products that it reads instead of others: before, now.
    pub(crate) upstream: Vec<(Recipe, Recipe)>,
    /// Of lists that are longer or shorter, what came and what went without a match.
    pub(crate) unpaired: Vec<Unpaired>,
}

/// Items that have no match on the other side.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Unpaired {
    /// The port that reads them.
    pub(crate) port: String,
    /// Products and things from outside that came.
    pub(crate) came: (Vec<Recipe>, Vec<String>),
    /// Those that went.
    pub(crate) went: (Vec<Recipe>, Vec<String>),
}

/// The products and the things from outside of which items consist.
fn contents<'s>(items: impl Iterator<Item = &'s &'s Source<'s>>) -> (Vec<Recipe>, Vec<String>) {
    let (mut recipes, mut externals) = (Vec::new(), Vec::new());
    for item in items {
        item.for_each_product(&mut |recipe, _| recipes.push(recipe));
        if let Source::External(identity) = item {
            externals.push((*identity).to_owned());
        }
    }
    (recipes, externals)
}

/// How many of version, parameters and inputs differ.
pub(crate) fn distance(old: &ProductRecord, new: &ProductRecord) -> usize {
    let parameters = both(&old.parameters, &new.parameters);
    let inputs = both(&old.inputs, &new.inputs);
    usize::from(old.version != new.version)
        + parameters.filter(|(_, old, new)| old != new).count()
        + inputs.filter(|(_, old, new)| old != new).count()
}

/// The differences between two records of one operation.
pub(crate) fn differences(old: &ProductRecord, new: &ProductRecord) -> Differences {
    let mut found = Differences {
        version: old.version != new.version,
        ..Differences::default()
    };
    for (name, old, new) in both(&old.parameters, &new.parameters) {
        if old != new {
            let text = |value: Option<&Scalar>| value.map(Scalar::to_string);
            found.changes.push(Change::Parameter {
                name: name.to_owned(),
                old: text(old),
                new: text(new),
            });
        }
    }
    for (port, old, new) in both(&old.inputs, &new.inputs) {
        match (old, new) {
            (Some(old), Some(new)) => {
                found.compare(port, &Source::parse(old), &Source::parse(new));
            }
            (old, new) => {
                let text =
                    |source: Option<&String>| source.map(|source| Source::parse(source).describe());
                found.changes.push(Change::Link {
                    port: port.to_owned(),
                    old: text(old),
                    new: text(new),
                });
            }
        }
    }
    found
}

/// The entries of two sorted lists, by name.
fn both<'a, T>(
    old: &'a [(std::sync::Arc<str>, T)],
    new: &'a [(std::sync::Arc<str>, T)],
) -> impl Iterator<Item = (&'a str, Option<&'a T>, Option<&'a T>)> {
    fn find<'a, T>(list: &'a [(std::sync::Arc<str>, T)], name: &str) -> Option<&'a T> {
        list.iter()
            .find(|(other, _)| **other == *name)
            .map(|(_, value)| value)
    }
    let gone = old
        .iter()
        .filter(|(name, _)| find(new, name).is_none())
        .map(|(name, value)| (&**name, Some(value), None));
    let there = new
        .iter()
        .map(|(name, value)| (&**name, find(old, name), Some(value)));
    there.chain(gone)
}

/// What changed in what two versions stand for.
pub(crate) fn version_changes(
    old: (&str, Option<&[(String, String)]>),
    new: (&str, Option<&[(String, String)]>),
) -> Vec<Change> {
    let change = |part: &str, old: Option<&String>, new: Option<&String>| Change::Version {
        part: part.to_owned(),
        old: old.cloned(),
        new: new.cloned(),
    };
    let mut changes = Vec::new();
    if let (Some(old), Some(new)) = (old.1, new.1) {
        let find = |parts: &[(String, String)], label: &str| {
            let found = parts.iter().find(|(other, _)| other == label);
            found.map(|(_, text)| text.clone())
        };
        for (label, text) in new {
            let before = find(old, label);
            if before.as_ref() != Some(text) {
                changes.push(change(label, before.as_ref(), Some(text)));
            }
        }
        for (label, text) in old {
            if find(new, label).is_none() {
                changes.push(change(label, Some(text), None));
            }
        }
    }
    if changes.is_empty() {
        let shown = |version: &str| -> String { version.chars().take(20).collect() };
        changes.push(change("version", Some(&shown(old.0)), Some(&shown(new.0))));
    }
    changes
}

/// The items that others do not have, in order; each of the others stands for one.
fn unmatched<'s>(items: &'s [Source<'s>], others: &'s [Source<'s>]) -> Vec<&'s Source<'s>> {
    let mut left: HashMap<&Source<'_>, usize> = HashMap::new();
    for other in others {
        *left.entry(other).or_default() += 1;
    }
    let mut found = Vec::new();
    for item in items {
        match left.get_mut(item) {
            Some(count) if *count > 0 => *count -= 1,
            _ => found.push(item),
        }
    }
    found
}

impl Differences {
    fn compare(&mut self, name: &str, old: &Source<'_>, new: &Source<'_>) {
        let port = name;
        if old == new {
            return;
        }
        let link = |old: &Source<'_>, new: &Source<'_>| Change::Link {
            port: port.to_owned(),
            old: Some(old.describe()),
            new: Some(new.describe()),
        };
        match (old, new) {
            (
                Source::Product { recipe, port },
                Source::Product {
                    recipe: other,
                    port: other_port,
                },
            ) => {
                if recipe != other {
                    self.upstream.push((*recipe, *other));
                }
                if port != other_port {
                    self.changes.push(link(old, new));
                }
            }
            (Source::External(old), Source::External(new)) => {
                let named = |identity: &str| {
                    Some(Named {
                        identity: identity.to_owned(),
                        name: None,
                    })
                };
                self.changes.push(Change::Input {
                    port: port.to_owned(),
                    old: named(old),
                    new: named(new),
                });
            }
            (Source::List(old), Source::List(new)) => {
                // What both have in common aside, the rest is compared in order.
                let (gone, came) = (unmatched(old, new), unmatched(new, old));
                let port = port.to_owned();
                if old.len() != new.len() {
                    let pairs = gone.len().min(came.len());
                    self.unpaired.push(Unpaired {
                        port: port.clone(),
                        came: contents(came.iter().skip(pairs)),
                        went: contents(gone.iter().skip(pairs)),
                    });
                    self.changes.push(Change::Items {
                        port,
                        old: old.len(),
                        new: new.len(),
                        added: Vec::new(),
                        removed: Vec::new(),
                    });
                } else if came.is_empty() {
                    let items = new.len();
                    self.changes.push(Change::Order { port, items });
                }
                for (old, new) in gone.into_iter().zip(came) {
                    self.compare(name, old, new);
                }
            }
            (
                Source::Record { of, fields },
                Source::Record {
                    of: other_of,
                    fields: others,
                },
            ) if of == other_of
                && fields
                    .iter()
                    .map(|(key, _)| key)
                    .eq(others.iter().map(|(key, _)| key)) =>
            {
                for ((_, old), (_, new)) in fields.iter().zip(others) {
                    self.compare(port, old, new);
                }
            }
            _ => self.changes.push(link(old, new)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn record(
        number: u8,
        parameters: &[(&str, i64)],
        inputs: &[(&str, &str)],
    ) -> ProductRecord {
        ProductRecord {
            recipe: Recipe([number; 32]),
            content: None,
            operation: "op".into(),
            version: "1".into(),
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).into(), Scalar::Int(*value)))
                .collect(),
            inputs: inputs
                .iter()
                .map(|(port, source)| ((*port).into(), (*source).to_owned()))
                .collect(),
            outputs: Vec::new(),
            wall: 0,
            cpu: 0,
            peak_memory: 0,
            run: "run".into(),
            time: 0,
        }
    }

    fn product(number: u8, port: &str) -> String {
        format!("{}:{port}", Recipe([number; 32]))
    }

    fn told(old: &ProductRecord, new: &ProductRecord) -> (Vec<String>, Vec<(u8, u8)>) {
        let found = differences(old, new);
        (
            found.changes.iter().map(Change::to_string).collect(),
            found
                .upstream
                .iter()
                .map(|(old, new)| (old.0[0], new.0[0]))
                .collect(),
        )
    }

    #[test]
    fn parameters_by_name() {
        let old = record(1, &[("a", 1), ("gone", 2), ("same", 3)], &[]);
        let new = record(2, &[("a", 5), ("came", 4), ("same", 3)], &[]);
        let expected = [
            "parameter `a`: 1 -> 5",
            "parameter `came`: 4, which was not there",
            "parameter `gone`: 2 is gone",
        ];
        assert_eq!(
            told(&old, &new),
            (expected.map(str::to_owned).to_vec(), Vec::new())
        );
        assert_eq!(distance(&old, &new), 3);
        assert_eq!(distance(&old, &old), 0);
    }

    #[test]
    fn a_product_leads_upstream_and_a_port_does_not() {
        let (a, b, c) = (product(7, "x"), product(8, "x"), product(7, "y"));
        let old = record(1, &[], &[("in", &a)]);
        assert_eq!(
            told(&old, &record(2, &[], &[("in", &b)])),
            (Vec::new(), vec![(7, 8)])
        );
        let swapped =
            "input `in`: output `x` of product 070707070707 -> output `y` of product 070707070707";
        assert_eq!(
            told(&old, &record(2, &[], &[("in", &c)])),
            (vec![swapped.to_owned()], Vec::new())
        );
    }

    #[test]
    fn items_pair_up_whatever_their_order() {
        let list = |numbers: &[u8]| {
            let items: Vec<String> = numbers.iter().map(|number| product(*number, "x")).collect();
            record(
                numbers[0],
                &[],
                &[("in", &format!("[{}]", items.join(", ")))],
            )
        };
        assert_eq!(
            told(&list(&[1, 2, 3]), &list(&[1, 9, 3])),
            (Vec::new(), vec![(2, 9)])
        );
        let counted = |text: &str| vec![format!("input `in`: {text}")];
        assert_eq!(
            told(&list(&[1, 2]), &list(&[1, 5, 2])),
            (counted("2 items -> 3 items"), Vec::new())
        );
        assert_eq!(
            told(&list(&[1, 2, 3]), &list(&[3, 1, 2])),
            (counted("the order of its 3 items changed"), Vec::new())
        );
        assert_eq!(
            told(&list(&[1, 2, 3]), &list(&[3, 1, 9])),
            (Vec::new(), vec![(2, 9)]),
            "what moved is what it was"
        );
        assert_eq!(
            told(&list(&[1, 2]), &list(&[1])),
            (counted("2 items -> 1 item"), Vec::new())
        );
        assert_eq!(
            told(&list(&[1, 2]), &list(&[3, 4, 5])),
            (counted("2 items -> 3 items"), vec![(1, 3), (2, 4)])
        );
    }

    #[test]
    fn things_from_outside() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let change = |kind: &str, old: Option<&str>, new: Option<&str>| {
            let named = |digest: &str, name: Option<&str>| {
                Some(Named {
                    identity: format!("{kind}:{digest}"),
                    name: name.map(str::to_owned),
                })
            };
            let port = "image".to_owned();
            let (old, new) = (named(&a, old), named(&b, new));
            Change::Input { port, old, new }.to_string()
        };
        let (name, other) = (Some("data/a.png"), Some("b.png"));
        assert_eq!(
            change("file", name, name),
            "input `image`: the file `data/a.png` changed (aaaaaaaaaaaa -> bbbbbbbbbbbb)"
        );
        assert_eq!(
            change("file", name, other),
            "input `image`: `data/a.png` (aaaaaaaaaaaa) -> `b.png` (bbbbbbbbbbbb)"
        );
        assert_eq!(
            change("directory", None, None),
            "input `image`: directory aaaaaaaaaaaa -> directory bbbbbbbbbbbb"
        );
        assert_eq!(
            change("value", Some("3"), Some("4")),
            "input `image`: 3 -> 4"
        );
        let old = record(1, &[], &[("image", &format!("file:{a}"))]);
        let new = record(
            2,
            &[],
            &[("image", &product(3, "x")), ("more", &format!("file:{b}"))],
        );
        let expected = [
            "input `image`: file aaaaaaaaaaaa -> output `x` of product 030303030303",
            "input `more`: file bbbbbbbbbbbb, which was not there",
        ];
        assert_eq!(told(&old, &new).0, expected);
    }

    #[test]
    fn items_of_lists_lead_to_the_list() {
        let item = |position: u8, number: u8| {
            let text = format!(
                "headwater/item(position={position}, list={}):item",
                product(number, "words")
            );
            record(number, &[], &[("in", &text)])
        };
        assert_eq!(told(&item(1, 5), &item(1, 6)), (Vec::new(), vec![(5, 6)]));
        assert_eq!(told(&item(1, 5), &item(2, 5)).0, ["input `in`: 1 -> 2"]);
    }

    fn parts(texts: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(label, text): &(&str, &str)| ((*label).to_owned(), (*text).to_owned());
        texts.iter().map(owned).collect()
    }

    #[test]
    fn versions_by_their_parts() {
        let old = parts(&[
            ("shell", "one\ntwo\nthree\n"),
            ("tool", "1.0\n"),
            ("uses a.py", "0123456789abcdef"),
            ("uses b.py", "00"),
            ("uses d.py", "11"),
            ("uses e.py", "11, executable"),
            ("env LANG", "C"),
        ]);
        let new = parts(&[
            ("shell", "one\n2\nthree\n"),
            ("tool", "1.1\n"),
            ("uses a.py", "ffffffffffffffff"),
            ("uses c.py", "00"),
            ("uses d.py", "11, executable"),
            ("uses e.py", "11"),
            ("env LANG", "C"),
        ]);
        let changes = version_changes(("x", Some(&old)), ("y", Some(&new)));
        let texts: Vec<String> = changes.iter().map(Change::to_string).collect();
        assert_eq!(
            texts,
            [
                "its command changed",
                "the version of its program: 1.0 -> 1.1",
                "the file `a.py` changed (0123456789ab -> ffffffffffff)",
                "the file `c.py` is used, and was not before",
                "the file `d.py` may be executed, and could not before",
                "the file `e.py` can no longer be executed",
                "the file `b.py` is no longer used",
            ]
        );
        assert_eq!(changes[0].lines(), ["- two", "+ 2"]);
        assert!(changes[1..].iter().all(|change| change.lines().is_empty()));
        let unknown = version_changes(("1", None), ("2", Some(&new)));
        assert_eq!(unknown[0].to_string(), "version: 1 -> 2");
    }

    #[test]
    fn a_line_difference_shows_what_went_and_what_came() {
        assert_eq!(line_diff("a\nb\nc", "a\nc"), ["- b"]);
        assert_eq!(line_diff("a", "a\nb"), ["+ b"]);
        assert_eq!(
            line_diff("a\nx\nb\ny\nc", "a\nX\nb\nY\nc"),
            ["- x", "+ X", "- y", "+ Y"]
        );
        let many = |sign: &str| (0..30).map(|n| format!("{sign}{n}\n")).collect::<String>();
        let long = line_diff(&many("a"), &many("b"));
        assert_eq!(long.len(), MOST_LINES + 1);
        assert_eq!(long[MOST_LINES], "  … and 40 more lines");
    }
}
