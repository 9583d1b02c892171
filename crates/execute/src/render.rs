//! Filling in templates.
//!
//! Law: one argument template gives one argument, whatever the values are; only a list placeholder that
//! stands alone gives one argument per item. In a shell script every value is quoted, so that no value can
//! become a second word or a command.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_graph::text::shell_quote;
use headwater_graph::{Invocation, Part, Placeholder, Text};

/// What the placeholders of one task stand for.
#[derive(Debug, Default)]
pub(crate) struct Fill {
    /// By input port: one text, or several for a list.
    pub(crate) inputs: BTreeMap<Arc<str>, Filled>,
    pub(crate) outputs: BTreeMap<Arc<str>, String>,
    pub(crate) parameters: BTreeMap<Arc<str>, String>,
    pub(crate) list_files: BTreeMap<Arc<str>, String>,
    /// The names under which files and folders of inputs lie in the work folder.
    pub(crate) placed: Vec<String>,
    pub(crate) threads: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Filled {
    One(String),
    Several(Vec<String>),
    /// An optional input that is not bound.
    Nothing,
}

impl Filled {
    /// All the texts there are.
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Filled::One(text) => std::slice::from_ref(text),
            Filled::Several(texts) => texts,
            Filled::Nothing => &[],
        }
    }
}

impl Fill {
    /// Whether something of this name was put into the work folder for an input: a file, an item of a list, or
    /// anything in a folder.
    pub(crate) fn is_laid_out(&self, name: &str) -> bool {
        // `./a` and `b//c` are `a` and `b/c`.
        let parts = name.split('/').filter(|part| !matches!(*part, "" | "."));
        let name = &*parts.collect::<Vec<&str>>().join("/");
        let is = |input: &str| {
            name == input
                || name
                    .strip_prefix(input)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        let names = self.placed.iter().chain(self.list_files.values());
        names.into_iter().any(|input| is(input))
    }

    fn values(&self, placeholder: &Placeholder) -> Filled {
        let known = match placeholder {
            Placeholder::Input(port) => {
                return self.inputs.get(port).cloned().unwrap_or(Filled::Nothing);
            }
            Placeholder::ListFile(port) => self.list_files.get(port),
            Placeholder::Output(port) => self.outputs.get(port),
            Placeholder::Parameter(name) => self.parameters.get(name),
            Placeholder::Threads => return Filled::One(self.threads.max(1).to_string()),
        };
        known.map_or(Filled::Nothing, |text| Filled::One(text.clone()))
    }

    /// The whole text; several values are joined by blanks.
    pub(crate) fn text(&self, text: &Text) -> String {
        self.write(text, |value| value.to_owned())
    }

    fn write(&self, text: &Text, quote: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        for part in &text.0 {
            match part {
                Part::Literal(literal) => out.push_str(literal),
                Part::Placeholder(placeholder) => match self.values(placeholder) {
                    Filled::One(value) => out.push_str(&quote(&value)),
                    Filled::Several(values) => {
                        let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
                        out.push_str(&quoted.join(" "));
                    }
                    Filled::Nothing => {}
                },
            }
        }
        out
    }

    /// The arguments of one argument template.
    fn argument(&self, text: &Text, out: &mut Vec<String>) {
        match text
            .only_placeholder()
            .map(|placeholder| self.values(placeholder))
        {
            Some(Filled::Several(values)) => out.extend(values),
            Some(Filled::Nothing) => {}
            _ => out.push(self.text(text)),
        }
    }

    /// The program and its arguments.
    pub(crate) fn invocation(&self, invocation: &Invocation) -> Vec<String> {
        match invocation {
            Invocation::Arguments(arguments) => {
                let mut out = Vec::new();
                arguments
                    .iter()
                    .for_each(|argument| self.argument(argument, &mut out));
                out
            }
            Invocation::Shell(script) => {
                vec![
                    "/bin/sh".to_owned(),
                    "-e".to_owned(),
                    "-c".to_owned(),
                    self.write(script, shell_quote),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[Part]) -> Text {
        Text(parts.to_vec())
    }

    fn literal(text: &str) -> Part {
        Part::Literal(text.into())
    }

    fn parameter(name: &str) -> Part {
        Part::Placeholder(Placeholder::Parameter(name.into()))
    }

    fn fill(name: &str, value: &str) -> Fill {
        let mut fill = Fill::default();
        fill.parameters.insert(name.into(), value.to_owned());
        fill
    }

    #[test]
    fn one_template_one_argument() {
        for value in [
            "plain",
            "two words",
            "it's",
            "a\nb",
            "-rf",
            "",
            "$(reboot)",
            "\"",
            "*",
        ] {
            let invocation = Invocation::Arguments(vec![
                text(&[literal("tool")]),
                text(&[parameter("p")]),
                text(&[literal("--x="), parameter("p")]),
            ]);
            let arguments = fill("p", value).invocation(&invocation);
            assert_eq!(
                arguments,
                ["tool".to_owned(), value.to_owned(), format!("--x={value}")]
            );
        }
    }

    #[test]
    fn a_name_is_laid_out_however_it_is_written() {
        let fill = Fill {
            placed: vec!["mine.txt".to_owned(), "folder".to_owned()],
            ..Fill::default()
        };
        for name in [
            "mine.txt",
            "./mine.txt",
            "folder",
            "folder//a",
            "././folder/a",
        ] {
            assert!(fill.is_laid_out(name), "{name}");
        }
        for name in ["mine", "mine.txt.gz", "sub/mine.txt", "folders/a"] {
            assert!(!fill.is_laid_out(name), "{name}");
        }
    }

    /// A value is text to the last: what looks like a placeholder in it is not filled in.
    #[test]
    fn values_are_not_looked_into_for_placeholders() {
        let mut fill = fill("p", "{param.q} {in.x} {{threads}}");
        fill.parameters.insert("q".into(), "second".to_owned());
        let arguments = Invocation::Arguments(vec![text(&[parameter("p")])]);
        let script = Invocation::Shell(text(&[parameter("p")]));
        assert_eq!(
            fill.invocation(&arguments),
            ["{param.q} {in.x} {{threads}}"]
        );
        assert_eq!(
            fill.invocation(&script)[3],
            "'{param.q} {in.x} {{threads}}'"
        );
    }

    #[test]
    fn a_list_alone_gives_one_argument_per_item() {
        let mut fill = Fill::default();
        fill.inputs
            .insert("l".into(), Filled::Several(vec!["a b".into(), "c".into()]));
        let list = Part::Placeholder(Placeholder::Input("l".into()));
        let invocation = Invocation::Arguments(vec![text(&[literal("tool")]), text(&[list])]);
        assert_eq!(fill.invocation(&invocation), ["tool", "a b", "c"]);
    }

    #[test]
    fn the_shell_sees_quoted_values() {
        let script = Invocation::Shell(text(&[literal("echo "), parameter("p")]));
        let script = &fill("p", "a'; rm -rf $HOME").invocation(&script)[3];
        assert_eq!(script, r"echo 'a'\''; rm -rf $HOME'");
    }
}
