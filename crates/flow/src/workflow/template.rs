//! Texts with placeholders.
//!
//! Law: in arguments every brace is a placeholder or doubled; in shell scripts every brace is literal unless
//! it forms a placeholder, because scripts are full of braces. A placeholder names a port or parameter that
//! exists, and one that makes sense where it stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::{Diagnostic, Part, Placeholder, ScalarType, Text, Type};

use crate::excerpt::shorten;
use crate::leaf::{Scope, inner_span};
use crate::quoting::{Context, contexts};
use crate::report::Report;
use crate::suggest::Suggester;
use crate::tree::Node;

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// An argument of a command.
    Argument,
    /// A shell script.
    Shell,
    /// The value of a variable.
    Variable,
    /// Standard input.
    Stdin,
    /// Where standard output or standard error goes.
    Destination,
    /// The path of an output.
    OutputPath,
}

/// What placeholders may name.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// Inputs and their types; `None` where the type is not known.
    pub(crate) inputs: BTreeMap<Arc<str>, Option<Type>>,
    /// Outputs, and whether they are collected by a pattern.
    pub(crate) outputs: BTreeMap<Arc<str>, bool>,
    /// Parameters and their types.
    pub(crate) parameters: BTreeMap<Arc<str>, ScalarType>,
}

/// Reads the text of a node.
pub(crate) fn template(
    node: &Node,
    role: Role,
    ports: &Ports,
    scope: Scope<'_>,
    report: &mut Report,
) -> Option<Text> {
    let text = node.text()?;
    let mut reader = Reader {
        node,
        role,
        ports,
        scope,
        report,
        literal: String::new(),
        parts: Vec::new(),
    };
    let pieces = if role == Role::Shell {
        shell_pieces(text)
    } else {
        argument_pieces(text)
    };
    let places: Vec<(usize, usize)> = pieces.iter().filter_map(Piece::place).collect();
    let around = if role == Role::Shell {
        contexts(text, &places)
    } else {
        vec![Context::Words; places.len()]
    };
    let mut around = around.into_iter();
    for piece in pieces {
        let context = match piece.place() {
            Some(_) => around.next().unwrap_or(Context::Words),
            None => Context::Words,
        };
        reader.piece(piece, context);
    }
    reader.flush();
    let text = Text(reader.parts);
    lists_stand_alone(node, role, &text, ports, report);
    Some(text)
}

/// A piece of a text, with the bytes it stands at.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Literal(&'t str),
    Placeholder {
        inner: &'t str,
        start: usize,
        end: usize,
    },
    Lone {
        brace: char,
        at: usize,
    },
}

impl Piece<'_> {
    /// The bytes of a placeholder.
    fn place(&self) -> Option<(usize, usize)> {
        match self {
            Piece::Placeholder { start, end, .. } => Some((*start, *end)),
            _ => None,
        }
    }
}

/// Every single brace counts.
fn argument_pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['{', '}']) {
        let start = at + found;
        pieces.push(Piece::Literal(&text[at..start]));
        let rest = &text[start..];
        at = if rest.starts_with("{{") || rest.starts_with("}}") {
            pieces.push(Piece::Literal(&rest[..1]));
            start + 2
        } else if rest.starts_with('}') {
            pieces.push(Piece::Lone {
                brace: '}',
                at: start,
            });
            start + 1
        } else {
            match rest[1..].find(['{', '}']) {
                Some(length) if rest[1 + length..].starts_with('}') => {
                    let end = start + length + 2;
                    let inner = &rest[1..=length];
                    pieces.push(Piece::Placeholder { inner, start, end });
                    end
                }
                _ => {
                    pieces.push(Piece::Lone {
                        brace: '{',
                        at: start,
                    });
                    start + 1
                }
            }
        };
    }
    pieces.push(Piece::Literal(&text[at..]));
    pieces
}

/// Only what looks like a placeholder counts; `${x}` never does, and `{{in.x}}` is `{in.x}`.
fn shell_pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('{') {
        let start = at + found;
        at = start + 1;
        let Some(length) = looks_like_placeholder(&text[start + 1..]) else {
            continue;
        };
        let end = start + length + 2;
        if text[..start].ends_with('$') {
            at = end;
        } else if text[from..start].ends_with('{') && text[end..].starts_with('}') {
            pieces.push(Piece::Literal(&text[from..start - 1]));
            pieces.push(Piece::Literal(&text[start..end]));
            from = end + 1;
            at = from;
        } else {
            pieces.push(Piece::Literal(&text[from..start]));
            let inner = &text[start + 1..end - 1];
            pieces.push(Piece::Placeholder { inner, start, end });
            from = end;
            at = end;
        }
    }
    pieces.push(Piece::Literal(&text[from..]));
    pieces
}

/// The length of what stands before the closing brace.
fn looks_like_placeholder(rest: &str) -> Option<usize> {
    let length = rest.find(|sign: char| !(sign.is_alphanumeric() || "_-.".contains(sign)))?;
    let inner = &rest[..length];
    let known = inner == "threads"
        || ["in.", "out.", "param."]
            .iter()
            .any(|start| inner.starts_with(start));
    (known && rest[length..].starts_with('}')).then_some(length)
}

struct Reader<'a, 'r> {
    node: &'a Node,
    role: Role,
    ports: &'a Ports,
    scope: Scope<'a>,
    report: &'r mut Report,
    literal: String,
    parts: Vec<Part>,
}

impl Reader<'_, '_> {
    fn flush(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            self.parts.push(Part::Literal(literal.into()));
        }
    }

    fn error(&mut self, start: usize, end: usize, message: String, hint: Option<String>) {
        let span = inner_span(self.node, self.scope.source, start, end);
        let mut diagnostic = Diagnostic::error(span, message);
        diagnostic.hint = hint;
        self.report.push(diagnostic);
    }

    fn piece(&mut self, piece: Piece<'_>, context: Context) {
        match piece {
            // A value with a line break would end the comment.
            Piece::Placeholder { inner, .. } if context == Context::Comment => {
                self.literal.push_str(&format!("{{{inner}}}"));
            }
            Piece::Literal(text) => self.literal.push_str(text),
            Piece::Lone { brace, at } => {
                let message = match brace {
                    '{' => "this `{` is not closed".to_owned(),
                    _ => "this `}` closes nothing".to_owned(),
                };
                let hint = format!("write `{brace}{brace}` for a literal `{brace}`");
                self.error(at, at + 1, message, Some(hint));
            }
            Piece::Placeholder { inner, start, end } => {
                match resolve(inner, self.ports) {
                    Err((message, hint)) => self.error(start, end, message, hint),
                    Ok(placeholder) => {
                        let mistake = misplaced(&placeholder, inner, self.role, self.ports)
                            .or_else(|| misquoted(&placeholder, inner, context, self.ports));
                        if let Some((message, hint)) = mistake {
                            self.error(start, end, message, hint);
                        }
                        self.flush();
                        self.parts.push(Part::Placeholder(placeholder));
                    }
                };
            }
        }
    }
}

type Mistake = (String, Option<String>);

fn resolve(inner: &str, ports: &Ports) -> Result<Placeholder, Mistake> {
    if inner == "threads" {
        return Ok(Placeholder::Threads);
    }
    let (kind, name) = inner.split_once('.').unwrap_or(("", inner));
    let (found, what) = match kind {
        "in" => {
            let input = |name: &str| {
                ports
                    .inputs
                    .get_key_value(name)
                    .map(|(port, _)| Arc::clone(port))
            };
            let list = || input(name.strip_suffix(".listfile")?).map(Placeholder::ListFile);
            (input(name).map(Placeholder::Input).or_else(list), "input")
        }
        "out" => {
            let port = ports.outputs.get_key_value(name);
            (
                port.map(|(port, _)| Placeholder::Output(Arc::clone(port))),
                "output",
            )
        }
        "param" => {
            let parameter = ports.parameters.get_key_value(name);
            (
                parameter.map(|(name, _)| Placeholder::Parameter(Arc::clone(name))),
                "parameter",
            )
        }
        _ => {
            let message = format!("`{{{}}}` is not a placeholder", shorten(inner));
            let hint = near(inner, ports).unwrap_or_else(|| {
                "placeholders are `{in.PORT}`, `{out.PORT}`, `{param.NAME}` and `{threads}`; write `{{` and `}}` for literal braces".to_owned()
            });
            return Err((message, Some(hint)));
        }
    };
    found.ok_or_else(|| {
        let message = format!("this operation has no {what} `{}`", shorten(name));
        (message, near(inner, ports))
    })
}

/// The placeholder that was probably meant.
fn near(inner: &str, ports: &Ports) -> Option<String> {
    let mut known: Vec<String> = Vec::new();
    known.extend(ports.inputs.keys().map(|name| format!("in.{name}")));
    known.extend(ports.outputs.keys().map(|name| format!("out.{name}")));
    known.extend(ports.parameters.keys().map(|name| format!("param.{name}")));
    known.push("threads".to_owned());
    let (_, name) = inner.split_once('.').unwrap_or(("", inner));
    let same = known.iter().find(|known| {
        known
            .split_once('.')
            .is_some_and(|(_, known)| known == name)
    });
    let mut suggester = Suggester::default();
    let found = same
        .map(String::as_str)
        .or_else(|| suggester.nearest(inner, known.iter().map(String::as_str)));
    found.map(|found| format!("did you mean `{{{found}}}`?"))
}

/// Why a placeholder cannot stand where it does.
fn misplaced(placeholder: &Placeholder, inner: &str, role: Role, ports: &Ports) -> Option<Mistake> {
    let path = matches!(role, Role::Destination | Role::OutputPath);
    match placeholder {
        Placeholder::Input(port) => {
            let port_type = ports.inputs.get(port)?.as_ref()?;
            (path && port_type.scalar().is_none()).then(|| {
                let message =
                    format!("`{{{inner}}}` is the path of an input and cannot be used in the path of an output file");
                (message, Some("write a fixed file name here".to_owned()))
            })
        }
        Placeholder::ListFile(port) => {
            let port_type = ports.inputs.get(port)?.as_ref()?;
            if path {
                let message = format!("`{{{inner}}}` cannot be used in the path of an output file");
                return Some((message, Some("write a fixed file name here".to_owned())));
            }
            port_type.element().is_none().then(|| {
                let message = format!("input `{port}` is not a list, so it has no list file");
                (message, Some(format!("write `{{in.{port}}}`")))
            })
        }
        Placeholder::Output(port) => {
            if role == Role::OutputPath {
                let message = "the path of an output cannot name an output".to_owned();
                return Some((message, None));
            }
            ports.outputs.get(port).copied().unwrap_or(false).then(|| {
                let message =
                    format!("output `{port}` is collected by `glob` and has no path of its own");
                (
                    message,
                    Some(
                        "write the files below the work folder, where the pattern finds them"
                            .to_owned(),
                    ),
                )
            })
        }
        Placeholder::Parameter(_) => None,
        Placeholder::Threads => path.then(|| {
            let message = "`{threads}` cannot be used in the path of an output file".to_owned();
            (
                message,
                Some("results do not depend on the number of threads".to_owned()),
            )
        }),
    }
}

/// Why the value of a placeholder would not reach a script as it is.
fn misquoted(
    placeholder: &Placeholder,
    inner: &str,
    context: Context,
    ports: &Ports,
) -> Option<Mistake> {
    let variable = format!("put it in a variable first: `x={{{inner}}}`, then write `$x`");
    let (place, hint) = match context {
        Context::Words | Context::Comment => return None,
        Context::Quotes => ("inside quotes", "write it without quotes".to_owned()),
        Context::Backslash => (
            "behind a backslash",
            "write it without the backslash".to_owned(),
        ),
        Context::Backquotes => (
            "inside backquotes",
            "write `$(…)` instead of backquotes".to_owned(),
        ),
        Context::Expansion => ("inside `${…}`", variable),
        Context::HereDocument => ("inside a here-document", variable),
        Context::Arithmetic => {
            let is_number = |found: ScalarType| found != ScalarType::Text;
            let plain = match placeholder {
                Placeholder::Threads => true,
                Placeholder::Parameter(name) => {
                    ports.parameters.get(name).copied().is_none_or(is_number)
                }
                Placeholder::Input(port) => match ports.inputs.get(port) {
                    Some(Some(found)) => found.scalar().is_some_and(is_number),
                    _ => true,
                },
                Placeholder::ListFile(_) | Placeholder::Output(_) => false,
            };
            if plain {
                return None;
            }
            let message =
                format!("placeholder `{{{inner}}}` is inside `$((…))` and is not a number");
            let is_text = match placeholder {
                Placeholder::Parameter(_) => true,
                Placeholder::Input(port) => {
                    let found = ports.inputs.get(port).and_then(Option::as_ref);
                    found.is_some_and(|found| found.scalar().is_some())
                }
                _ => false,
            };
            let hint = if is_text {
                "declare it as `int` or `float`".to_owned()
            } else {
                format!("if it holds a number, read it first: `x=$(cat {{{inner}}})`")
            };
            return Some((message, Some(hint)));
        }
    };
    let message = format!(
        "placeholder `{{{inner}}}` is {place}; values are quoted already when they are put in"
    );
    Some((message, Some(hint)))
}

fn lists_stand_alone(node: &Node, role: Role, text: &Text, ports: &Ports, report: &mut Report) {
    if role == Role::Shell || (role == Role::Argument && text.only_placeholder().is_some()) {
        return;
    }
    for placeholder in text.placeholders() {
        let Placeholder::Input(port) = placeholder else {
            continue;
        };
        let listed = ports
            .inputs
            .get(port)
            .and_then(Option::as_ref)
            .is_some_and(|found| found.element().is_some());
        if !listed {
            continue;
        }
        let (message, hint) = if role == Role::Argument {
            (
                format!(
                    "input `{port}` is a list, and `{{in.{port}}}` is not alone in its argument"
                ),
                format!(
                    "make \"{{in.{port}}}\" an argument of its own, or write `{{in.{port}.listfile}}`"
                ),
            )
        } else {
            (
                format!("input `{port}` is a list and has no single text"),
                format!("write `{{in.{port}.listfile}}`, the path of a file with all of them"),
            )
        };
        report.error_with(node.span, message, hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(pieces: Vec<Piece<'_>>) -> String {
        let shown = pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => (*text).to_owned(),
            Piece::Placeholder { inner, .. } => format!("<{inner}>"),
            Piece::Lone { brace, .. } => format!("!{brace}"),
        });
        shown.collect()
    }

    #[test]
    fn arguments() {
        let check = |text: &str, expected: &str| {
            assert_eq!(show(argument_pieces(text)), expected, "{text}");
        };
        check("", "");
        check("--angle={param.angle}x", "--angle=<param.angle>x");
        check("{in.a}{in.b}", "<in.a><in.b>");
        check("{{a}}", "{a}");
        check("{{{in.a}}}", "{<in.a>}");
        check("{", "!{");
        check("}", "!}");
        check("a{b", "a!{b");
        check("{in.{x}", "!{in.<x>");
        check("{}", "<>");
        check("ü{in.ü}ü", "ü<in.ü>ü");
    }

    #[test]
    fn scripts() {
        let check =
            |text: &str, expected: &str| assert_eq!(show(shell_pieces(text)), expected, "{text}");
        check("sort {in.text} > {out.text}", "sort <in.text> > <out.text>");
        check("awk '{print $1}' {in.a}", "awk '{print $1}' <in.a>");
        check(
            "echo ${VAR} ${threads} {threads}",
            "echo ${VAR} ${threads} <threads>",
        );
        check("echo {{in.a}}", "echo {in.a}");
        check("{ {in.a}; }", "{ <in.a>; }");
        check("a{b,c}", "a{b,c}");
        check("{in.a", "{in.a");
        check("{in.a b}", "{in.a b}");
        check("{{{in.a}}}", "{{in.a}}");
        check("ü{in.ü}", "ü<in.ü>");
        check("}{", "}{");
    }
}
