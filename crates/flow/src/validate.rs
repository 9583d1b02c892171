//! A tree against a shape: every place where something else stands than expected.
//!
//! Law: after this pass the readers of fields can be silent about kinds, unknown keys and missing keys; all
//! of those are reported here, and only here.

use headwater_graph::Diagnostic;

use crate::example;
use crate::excerpt::shorten;
use crate::formats::{OPERATION, STAGE, TASK};
use crate::leaf::{Leaf, Scope};
use crate::name::NameRule;
use crate::report::Report;
use crate::scalar;
use crate::shape::{Fields, Shape, Table};
use crate::suggest::listed;
use crate::tree::Node;

/// Reports what does not fit. With `damaged`, keys may be missing because the file ends too early.
pub(crate) fn validate(
    node: &Node,
    shape: &'static Shape,
    scope: Scope<'_>,
    damaged: bool,
    report: &mut Report,
) {
    let mut validator = Validator {
        scope,
        damaged,
        report,
    };
    validator.node(node, shape);
}

struct Validator<'a, 'r> {
    scope: Scope<'a>,
    damaged: bool,
    report: &'r mut Report,
}

impl Validator<'_, '_> {
    fn node(&mut self, node: &Node, shape: &'static Shape) {
        match shape {
            Shape::Anything => {}
            Shape::Maybe(_) if node.is_nothing() => {}
            Shape::Maybe(shape) => self.node(node, shape),
            Shape::Leaf(leaf) => self.leaf(node, leaf),
            Shape::Either(options) => self.either(node, shape, options),
            _ if !shape.fits(node) => self.unexpected(node, shape),
            Shape::List {
                of,
                what,
                least,
                most,
            } => {
                let items = node.items().unwrap_or_default();
                if (items.len() < *least || items.len() > *most) && !self.damaged {
                    let count = match items.len() {
                        0 => "an empty list".to_owned(),
                        1 => "a list of one".to_owned(),
                        length => format!("a list of {length}"),
                    };
                    let message = format!("expected {what}, found {count}");
                    self.report.error(node.span, message);
                }
                items.iter().for_each(|item| self.node(item, of));
            }
            Shape::Map { names, of, .. } => {
                for (key, value) in node.entries().unwrap_or_default() {
                    self.name(key, *names);
                    match example::of_setting(key, value, of, self.scope.source) {
                        Some(hint) => self.wrong(value, of, Some(hint)),
                        None => self.node(value, of),
                    }
                }
            }
            Shape::Record(table) => self.record(node, table),
        }
    }

    fn leaf(&mut self, node: &Node, leaf: &Leaf) {
        if let Err(diagnostic) = leaf.check(node, self.scope) {
            self.report.push(diagnostic);
        }
    }

    fn name(&mut self, key: &Node, rule: NameRule) {
        if let Err(diagnostic) = rule.read(key) {
            self.report.push(diagnostic);
        }
    }

    fn either(&mut self, node: &Node, shape: &'static Shape, options: &'static [Shape]) {
        let mut fitting = options.iter().filter(|option| option.fits(node));
        let (first, second) = (fitting.next(), fitting.next());
        match (first, second) {
            (None, _) => self.unexpected(node, shape),
            (Some(only), None) => {
                // `wait: al` is a misspelt word, `wait: align` was probably meant as a list.
                if let Shape::Leaf(leaf @ Leaf::Word(_)) = only {
                    match leaf.check(node, self.scope) {
                        Err(found) if found.hint.is_none() => self.unexpected(node, shape),
                        Err(found) => self.report.push(found),
                        Ok(()) => {}
                    }
                } else {
                    self.node(node, only);
                }
            }
            (Some(_), Some(_)) => {
                let passes = |option: &Shape| match option {
                    Shape::Leaf(leaf) => leaf.check(node, self.scope).is_ok(),
                    other => other.fits(node),
                };
                if !options.iter().any(passes) {
                    self.unexpected(node, shape);
                }
            }
        }
    }

    fn unexpected(&mut self, node: &Node, shape: &'static Shape) {
        if let Shape::Leaf(leaf) = shape {
            return self.report.push(leaf.unexpected(node));
        }
        let hint = wrapped(node, shape).or_else(|| example::of_method(node, shape));
        self.wrong(node, shape, hint);
    }

    fn wrong(&mut self, node: &Node, shape: &'static Shape, hint: Option<String>) {
        let message = format!("expected {}, found {}", shape.expects(), node.found());
        let diagnostic = Diagnostic::error(node.span, message);
        self.report.push(match hint {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        });
    }

    fn record(&mut self, node: &Node, table: &'static Table) {
        let fields = Fields::of(node, table);
        // An unknown name in the place of the only field is one mistake, not two.
        let replaced = table.is_single() && !fields.unknown.is_empty();
        for (key, value, meant) in &fields.unknown {
            match table.others {
                Some(others) => {
                    self.name(key, NameRule::Common);
                    self.node(value, others);
                    if let Some(meant) = meant {
                        let message = format!(
                            "`{}` is taken as a counter of its own",
                            key.text().map_or("", |text| text)
                        );
                        let hint = format!("did you mean `{meant}`?");
                        let found = Diagnostic::warning(key.span, message).with_hint(hint);
                        self.report.push(found);
                    }
                }
                None => self.unknown(key, *meant, table),
            }
        }
        for (field, found) in fields.all() {
            match found {
                Some((_, value)) => self.node(value, &field.shape),
                None if field.required && !self.damaged && !replaced => {
                    let message = format!("{} needs `{}`", table.what, field.name);
                    let hint = format!("add `{}: …`, {}", field.name, field.about);
                    self.report.error_with(first_line(node), message, hint);
                }
                None => {}
            }
        }
        self.exclusive(node, table, &fields, replaced);
    }

    fn exclusive(
        &mut self,
        node: &Node,
        table: &'static Table,
        fields: &Fields<'_>,
        replaced: bool,
    ) {
        let given: Vec<_> = table
            .one_of
            .iter()
            .filter_map(|name| fields.entry(name))
            .collect();
        match given.as_slice() {
            [] if table.one_needed && !self.damaged && !replaced => {
                let names = listed(table.one_of).replace(" and ", " or ");
                let message = format!("{} needs {names}", table.what);
                self.report.error(first_line(node), message);
            }
            [(first, _), (second, _), ..] => {
                let (first, name) = (first.text(), second.text());
                let first = first.map_or("", |text| text);
                let name = name.map_or("", |text| text);
                let message = format!("`{name}` and `{first}` exclude each other");
                self.report
                    .error_with(second.span, message, "keep one of them");
            }
            _ => {}
        }
    }

    fn unknown(&mut self, key: &Node, meant: Option<&'static str>, table: &'static Table) {
        let Some(text) = key.text() else {
            let message = format!("expected a field of {}, found {}", table.what, key.found());
            return self.report.error(key.span, message);
        };
        let message = format!("{} has no field `{}`", table.what, shorten(text));
        let names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
        let hint = if let Some(owner) = elsewhere(text, table) {
            format!("`{text}` belongs to {owner}")
        } else if let Some(meant) = meant {
            format!("did you mean `{meant}`?")
        } else if text.contains(['(', ')']) {
            "texts with commas need quotes inside `{…}`: \"cross(a, b)\"".to_owned()
        } else if **text == *"<<" {
            "merge keys are not supported; write the fields out".to_owned()
        } else if let [only] = names.as_slice() {
            format!("its only field is `{only}`")
        } else {
            format!("its fields are {}", listed(&names))
        };
        self.report.error_with(key.span, message, hint);
    }
}

/// Whose field it is, if it stands at the wrong level.
fn elsewhere(name: &str, table: &'static Table) -> Option<&'static str> {
    let has = |other: &'static Table| {
        !std::ptr::eq(other, table) && other.fields.iter().any(|field| field.name == name)
    };
    let level = [&TASK, &STAGE, &OPERATION]
        .iter()
        .any(|level| std::ptr::eq(*level, table));
    match () {
        () if !level => None,
        () if has(&STAGE) => Some("a stage"),
        () if has(&OPERATION) => Some("an operation"),
        () if has(&TASK) => Some("a task"),
        () => None,
    }
}

/// For a value where a list of such values belongs.
fn wrapped(node: &Node, shape: &Shape) -> Option<String> {
    let list = match shape {
        Shape::Either(options) => options
            .iter()
            .find(|option| matches!(option, Shape::List { .. }))?,
        other => other,
    };
    let Shape::List {
        of: Shape::Leaf(_), ..
    } = list
    else {
        return None;
    };
    let text = node.text()?;
    let parts: Vec<String> = text
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .map(|part| {
            let mut written = String::new();
            scalar::write_text(part, &mut written);
            written
        })
        .collect();
    (text.len() <= 40 && !text.contains(['\n', '"', '\'']))
        .then(|| format!("write `[{}]`", parts.join(", ")))
}

/// The place to point at for something that is missing in a collection: its first line.
fn first_line(node: &Node) -> headwater_graph::Span {
    match node.entries().and_then(|entries| entries.first()) {
        Some((key, _)) if key.span.line == node.span.line && key.span.start == node.span.start => {
            key.span
        }
        _ => node.span,
    }
}
