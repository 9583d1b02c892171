//! What the version of a command stands for, in words.
//!
//! Law: two commands with different versions differ in at least one part. A part is a label and a text that people
//! can compare with what they wrote.

use std::collections::BTreeSet;

use crate::{Collect, CommandTemplate, Invocation, Part, Placeholder, Signature, Text};

/// Beginnings of placeholders. A script in which one of them stands for itself is written with doubled braces.
const BEGINNINGS: [&str; 4] = ["{in.", "{out.", "{param.", "{threads}"];

impl CommandTemplate {
    /// Everything that [`CommandTemplate::version_for`] covers, as labels and texts: `command`, `stdin`, `env NAME`,
    /// `input PORT`, `output PORT`, `uses PATH` (a digest, and whether it may be
    /// executed), `tool` (the version of the program) and so on. Besides,
    /// `pure` where the operation is not.
    pub fn version_parts(
        &self,
        signature: &Signature,
        tool_version: Option<&str>,
    ) -> Vec<(String, String)> {
        let mut parts = vec![invocation(&self.invocation)];
        let mut put = |label: String, text: String| parts.push((label, text));
        for (label, text) in [
            ("stdin", &self.stdin),
            ("stdout", &self.stdout),
            ("stderr", &self.stderr),
        ] {
            if let Some(text) = text {
                put(label.to_owned(), doubled(text));
            }
        }
        for (name, text) in &self.environment {
            put(format!("env {name}"), doubled(text));
        }
        if let Some(tool_version) = tool_version {
            put("tool".to_owned(), tool_version.to_owned());
        }
        for file in &self.used_files {
            let executable = if file.executable { ", executable" } else { "" };
            let text = format!("{}{executable}", file.digest.hex());
            put(format!("uses {}", file.name), text);
        }
        let declared = signature.inputs.iter().map(|port| &port.name);
        let ports: BTreeSet<_> = declared.chain(self.inputs.keys()).collect();
        for name in ports {
            let port = signature.inputs.iter().find(|port| port.name == *name);
            let laid_out = self.inputs.get(name);
            let mut text = port.map_or("no port".to_owned(), |port| port.port_type.to_string());
            for (holds, word) in [
                (port.is_some_and(|port| port.optional), "optional"),
                (port.is_some_and(|port| port.keep_name), "keep_name"),
                (laid_out.is_none(), "not laid out"),
            ] {
                if holds {
                    text.push_str(", ");
                    text.push_str(word);
                }
            }
            if let Some(extension) = laid_out.and_then(|input| input.extension.as_deref()) {
                text.push_str(", extension ");
                text.push_str(extension);
            }
            put(format!("input {name}"), text);
        }
        for (name, output) in &self.outputs {
            let optional = if output.optional { ", optional" } else { "" };
            let (how, place) = match &output.collect {
                Collect::Path(path) => ("path", doubled(path)),
                Collect::Glob(glob) => ("glob", glob.to_string()),
            };
            let text = format!("{}{optional}, {how} {place}", output.output_type);
            put(format!("output {name}"), text);
        }
        if !signature.pure {
            put("pure".to_owned(), "false".to_owned());
        }
        parts
    }
}

/// The command, an argument per line, or the script.
fn invocation(invocation: &Invocation) -> (String, String) {
    match invocation {
        Invocation::Arguments(arguments) => {
            let lines: Vec<String> = arguments.iter().map(argument).collect();
            ("command".to_owned(), lines.join("\n"))
        }
        Invocation::Shell(text) => {
            let is_literal = |part: &Part| match part {
                Part::Literal(literal) => BEGINNINGS.iter().any(|begin| literal.contains(begin)),
                Part::Placeholder(_) => false,
            };
            if text.0.iter().any(is_literal) {
                ("shell (braces doubled)".to_owned(), doubled(text))
            } else {
                ("shell".to_owned(), written(text, str::to_owned))
            }
        }
    }
}

/// One argument on one line: quoted if it would not be one, or would look like a quoted one.
fn argument(text: &Text) -> String {
    let plain = doubled(text);
    if plain.is_empty() || plain.contains('\n') || plain.starts_with('"') {
        format!("{plain:?}")
    } else {
        plain
    }
}

/// As it stands in a file where braces are doubled.
fn doubled(text: &Text) -> String {
    written(text, |literal| {
        literal.replace('{', "{{").replace('}', "}}")
    })
}

fn written(text: &Text, literal: impl Fn(&str) -> String) -> String {
    let part = |part: &Part| match part {
        Part::Literal(text) => literal(text),
        Part::Placeholder(Placeholder::Input(port)) => format!("{{in.{port}}}"),
        Part::Placeholder(Placeholder::ListFile(port)) => format!("{{in.{port}.listfile}}"),
        Part::Placeholder(Placeholder::Output(port)) => format!("{{out.{port}}}"),
        Part::Placeholder(Placeholder::Parameter(name)) => format!("{{param.{name}}}"),
        Part::Placeholder(Placeholder::Threads) => "{threads}".to_owned(),
    };
    text.0.iter().map(part).collect()
}
