//! Settings: single values of a study file, given elsewhere.
//!
//! Law: a setting says what its place in the file would say, and is checked with the file, by the same rules. It puts
//! a value in the place of another one, or adds what is not there; it takes nothing away that it does not name. A
//! setting with a mistake changes nothing.

use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

use headwater_graph::{Diagnostic, Span};

use super::text::StudyText;
use crate::excerpt::shorten;
use crate::formats::{OVERRIDE, STUDY_SHAPE};
use crate::parse::parse;
use crate::report::Report;
use crate::shape::{Shape, Table};
use crate::source::Source;
use crate::tree::{DEPTH, Kind, Node};

/// What a setting looks like, for messages.
const FORM: &str = "a setting is PATH=VALUE, where the path has keys with dots between them: `method.vbd.samples=400`";

/// Applies the settings of a study to its tree, in their order. `false` if one of them has a mistake.
pub(super) fn graft(
    root: &mut Node,
    text: &StudyText,
    whole: &Source<'_>,
    report: &mut Report,
) -> bool {
    let mut sound = true;
    for (start, setting) in text.placed() {
        let written = Written {
            setting,
            start,
            whole,
        };
        match written.read(report) {
            Some((keys, value, text)) => match put(root, &keys, value, text) {
                Ok(()) => {}
                Err(mistake) => {
                    report.push(*mistake);
                    sound = false;
                }
            },
            None => sound = false,
        }
    }
    sound
}

/// A key of a path.
struct Key {
    name: Arc<str>,
    span: Span,
}

impl Key {
    /// As it is written in a path.
    fn written(&self) -> Cow<'_, str> {
        if self.name.contains(['.', '=']) {
            Cow::Owned(format!("\"{}\"", self.name))
        } else {
            Cow::Borrowed(&self.name)
        }
    }

    fn node(&self) -> Node {
        Node {
            span: self.span,
            kind: Kind::Scalar {
                text: Arc::clone(&self.name),
                plain: true,
            },
        }
    }
}

/// A setting, and where it stands.
struct Written<'a> {
    setting: &'a str,
    start: usize,
    whole: &'a Source<'a>,
}

impl<'a> Written<'a> {
    fn span(&self, start: usize, end: usize) -> Span {
        self.whole.bytes(self.start + start, self.start + end)
    }

    /// The path, the value and its text.
    fn read(&self, report: &mut Report) -> Option<(Vec<Key>, Node, &'a str)> {
        let (keys, begin) = self.path(report)?;
        let text = &self.setting[begin..];
        let mut found = Report::default();
        let tree = parse(&Source::new(text), &mut found);
        let found = found.finish::<()>(None).diagnostics;
        let shift = |span: Span| self.span(begin + span.start, begin + span.end);
        let failed = tree.damaged || found.iter().any(Diagnostic::is_error);
        for mut diagnostic in found {
            diagnostic.span = diagnostic.span.map(shift);
            report.push(diagnostic);
        }
        if failed {
            return None;
        }
        let value = match tree.root {
            Some(mut root) => {
                shift_all(&mut root, &shift);
                root
            }
            None => nothing(self.span(begin, self.setting.len())),
        };
        if keys.len() + value.measure().1 >= DEPTH {
            let span = self.span(0, begin - 1);
            report.error(span, format!("this is more than {DEPTH} levels deep"));
            return None;
        }
        Some((keys, value, text))
    }

    /// The keys of the path, and where the value begins. A key with a dot or an equals sign in it stands in quotes.
    fn path(&self, report: &mut Report) -> Option<(Vec<Key>, usize)> {
        let mut keys = Vec::new();
        let mut begin = 0;
        let mut quote = None;
        for (at, sign) in self.setting.char_indices() {
            match (quote, sign) {
                (Some(open), sign) if open == sign => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if self.setting[begin..at].trim().is_empty() => {
                    quote = Some(sign);
                }
                (None, '.' | '=') => {
                    keys.push(self.key(begin, at, report)?);
                    begin = at + 1;
                    if sign == '=' {
                        return Some((keys, begin));
                    }
                }
                (None, _) => {}
            }
        }
        let message = match quote {
            Some(quote) => format!("the quote `{quote}` in this path does not end"),
            None => format!("`{}` has no `=`", shorten(self.setting)),
        };
        report.error_with(self.span(0, self.setting.len()), message, FORM);
        None
    }

    fn key(&self, start: usize, end: usize, report: &mut Report) -> Option<Key> {
        let written = &self.setting[start..end];
        let start = start + (written.len() - written.trim_start().len());
        let name = written.trim();
        let span = self.span(start, start + name.len());
        let quoted = ['"', '\''].iter().find_map(|quote| {
            let inner = name.strip_prefix(*quote)?;
            inner.strip_suffix(*quote)
        });
        let name = quoted.unwrap_or(name);
        if name.is_empty() {
            report.error_with(span, "a key is missing here", FORM);
            return None;
        }
        let name = name.into();
        Some(Key { name, span })
    }
}

fn nothing(span: Span) -> Node {
    Node {
        span,
        kind: Kind::Scalar {
            text: "".into(),
            plain: true,
        },
    }
}

fn shift_all(node: &mut Node, shift: &impl Fn(Span) -> Span) {
    node.span = shift(node.span);
    match &mut node.kind {
        Kind::Scalar { .. } => {}
        Kind::Sequence(items) => items.iter_mut().for_each(|item| shift_all(item, shift)),
        Kind::Mapping(entries) => entries.iter_mut().for_each(|(key, value)| {
            shift_all(key, shift);
            shift_all(value, shift);
        }),
    }
}

/// Puts a value in its place. What is on the way there and missing is added.
fn put(root: &mut Node, keys: &[Key], value: Node, text: &str) -> Result<(), Box<Diagnostic>> {
    let mut value = Some(value);
    let mut node = root;
    let mut shape = Some(&STUDY_SHAPE);
    for (depth, key) in keys.iter().enumerate() {
        if node.is_nothing() {
            node.kind = Kind::Mapping(Vec::new());
            node.span = key.span;
        }
        let found = node.found();
        let Kind::Mapping(entries) = &mut node.kind else {
            let may_have_keys = shape.is_none_or(|shape| below(shape, &key.name).is_some());
            let way_out = if may_have_keys {
                format!("replace it as a whole: `{}`", replacing(keys, depth, text))
            } else {
                format!("write `{}`", replacing(&keys[..depth], depth, text))
            };
            return Err(Box::new(blocked(keys, depth, &found, way_out)));
        };
        let named = |name: &str| {
            let is = |known: &Node| known.text().is_some_and(|text| **text == *name);
            entries.iter().position(|(known, _)| is(known))
        };
        let place = match named(&key.name) {
            Some(place) => place,
            None => {
                let rivals = shape.and_then(table).map(|table| rivals(table, &key.name));
                let rival = rivals
                    .unwrap_or_default()
                    .into_iter()
                    .find(|rival| named(rival).is_some());
                if let Some(rival) = rival {
                    return Err(Box::new(excluded(keys, depth, rival, text)));
                }
                entries.push((key.node(), nothing(key.span)));
                entries.len() - 1
            }
        };
        shape = shape.and_then(|shape| below(shape, &key.name));
        let entry = &mut entries[place];
        if depth + 1 == keys.len()
            && let Some(value) = value.take()
        {
            *entry = (key.node(), value);
        }
        node = &mut entry.1;
    }
    Ok(())
}

/// A path that leads through something that has no keys.
fn blocked(keys: &[Key], depth: usize, found: &str, way_out: String) -> Diagnostic {
    let key = &keys[depth];
    let Some(holder) = depth.checked_sub(1).map(|depth| &keys[depth]) else {
        return Diagnostic::error(
            key.span,
            format!("the study file is {found}, and has no keys"),
        );
    };
    let message = format!(
        "`{}` is {found} in this study, so there is no `{}` in it",
        holder.name, key.name
    );
    Diagnostic::error(holder.span, message).with_hint(way_out)
}

/// A key that cannot stand beside another one that is there.
fn excluded(keys: &[Key], depth: usize, rival: &str, text: &str) -> Diagnostic {
    let key = &keys[depth];
    let message = format!(
        "`{}` and `{rival}` exclude each other, and this study has `{rival}`",
        key.name
    );
    let hint = format!(
        "replace them as a whole: `{}`",
        replacing(keys, depth, text)
    );
    Diagnostic::error(key.span, message).with_hint(hint)
}

/// The setting that says the same by a mapping, from this depth on.
fn replacing(keys: &[Key], depth: usize, text: &str) -> String {
    const LONGEST: usize = 60;
    let (before, after) = keys.split_at(depth.min(keys.len()));
    let path: Vec<Cow<'_, str>> = before.iter().map(Key::written).collect();
    let text = text.trim();
    let simple =
        text.starts_with(['{', '[']) || !text.contains([',', ':', '#', '{', '}', '[', ']']);
    let short = text.len() <= LONGEST && !text.contains(['\n', '\r', '`', '\'']);
    let mut written = if simple && short {
        text.to_owned()
    } else {
        "VALUE".to_owned()
    };
    for key in after.iter().rev() {
        written = format!("{{{}: {written}}}", key.name);
    }
    format!("--set '{}={written}'", path.join("."))
}

/// The fields of a record, or of the record among several shapes.
fn table(shape: &Shape) -> Option<&'static Table> {
    match shape {
        Shape::Record(table) => Some(table),
        Shape::Maybe(shape) => table(shape),
        _ => None,
    }
}

/// What stands under a key.
fn below(shape: &'static Shape, name: &str) -> Option<&'static Shape> {
    match shape {
        Shape::Record(table) => {
            let field = table.fields.iter().find(|field| field.name == name);
            field.map_or(table.others, |field| Some(&field.shape))
        }
        Shape::Map { of, .. } => Some(of),
        Shape::Maybe(shape) => below(shape, name),
        Shape::Either(options) => options.iter().find_map(|option| below(option, name)),
        Shape::Leaf(_) | Shape::List { .. } | Shape::Anything => None,
    }
}

/// The fields that cannot stand beside this one.
fn rivals(table: &'static Table, name: &str) -> Vec<&'static str> {
    if ptr::eq(table, &OVERRIDE) {
        return match name {
            "value" => vec!["range", "step", "values"],
            "values" => vec!["value", "range", "step"],
            "range" | "step" => vec!["value", "values"],
            _ => Vec::new(),
        };
    }
    if !table.one_of.contains(&name) {
        return Vec::new();
    }
    let others = table.one_of.iter().copied();
    others.filter(|other| *other != name).collect()
}
