//! What a program needs to become an operation: its arguments with placeholders, its environment, its
//! files.
//!
//! Law: a template is data. Filling it in yields exactly one argument per argument template, whatever the
//! values are, except for a list placeholder that stands alone, which yields one argument per item.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Digest, Signature, Type};

/// Something that a value is put in place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholder {
    /// `{in.PORT}`: the path of a file or folder, or the text of a scalar; for a list, all of them.
    Input(Arc<str>),
    /// `{in.PORT.listfile}`: the path of a file with one name per line.
    ListFile(Arc<str>),
    /// `{out.PORT}`: the path where the program is to write.
    Output(Arc<str>),
    /// `{param.NAME}`: the value of a parameter.
    Parameter(Arc<str>),
    /// `{threads}`: how many threads the task may use. It is not part of the recipe.
    Threads,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Literal(Arc<str>),
    /// To be filled in.
    Placeholder(Placeholder),
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(pub Vec<Part>);

impl Text {
    /// The placeholder, if the text is nothing else.
    pub fn only_placeholder(&self) -> Option<&Placeholder> {
        match self.0.as_slice() {
            [Part::Placeholder(placeholder)] => Some(placeholder),
            _ => None,
        }
    }

    /// All placeholders.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Literal(_) => None,
        })
    }
}

/// How the program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// A program and its arguments; no shell sees them.
    Arguments(Vec<Text>),
    /// A script for `/bin/sh`; placeholders are put in quoted.
    Shell(Text),
}

/// How an input is laid out in the work folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandInput {
    /// The file is linked as `<port>.<extension>`.
    pub extension: Option<Arc<str>>,
}

/// Where an output is found after the program has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Collect {
    /// One path below the work folder.
    Path(Text),
    /// All matching paths, sorted bytewise: a list.
    Glob(Arc<str>),
}

/// An output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Where it is.
    pub collect: Collect,
    /// File, directory, a list of these, or a scalar that is read from the file.
    pub output_type: Type,
    /// Whether it may be missing.
    pub optional: bool,
}

/// Where the version of a program comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionSource {
    /// A text in the file.
    Text(Arc<str>),
    /// What a command prints.
    Command(Vec<Arc<str>>),
}

/// Who says how many threads the libraries of a program start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threads {
    /// The engine: as many as the task has cores, by the variables that such libraries read.
    #[default]
    Allowance,
    /// The user: those variables are passed on as they are in the environment of the engine.
    Inherit,
}

/// Files that the program reads besides its inputs, as patterns relative to the workflow file.
pub type Uses = Vec<Arc<str>>;

/// A program as an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    /// How it is started.
    pub invocation: Invocation,
    /// By port.
    pub inputs: BTreeMap<Arc<str>, CommandInput>,
    /// By port.
    pub outputs: BTreeMap<Arc<str>, CommandOutput>,
    /// Variables set for the program, on top of the inherited allow-list.
    pub environment: BTreeMap<Arc<str>, Text>,
    /// Who says how many threads the libraries of the program start. It is not part of the recipe.
    pub threads: Threads,
    /// What it reads on standard input: the contents of a file, if the text is one file placeholder,
    /// otherwise the text itself.
    pub stdin: Option<Text>,
    /// Where standard output goes, below the work folder.
    pub stdout: Option<Text>,
    /// Where standard error goes, below the work folder.
    pub stderr: Option<Text>,
    /// Where the version of the tool comes from.
    pub version: Option<VersionSource>,
    /// Scripts and other files it needs; they lie in the work folder under the same names.
    pub uses: Uses,
    /// The files that `uses` stands for, once somebody has looked: (path below the workflow's folder, where
    /// it really is, digest). Sorted by path.
    pub used_files: Vec<UsedFile>,
}

/// A file that a program needs besides its inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// Path below the folder of the workflow file, with `/`.
    pub name: Arc<str>,
    /// Where it is.
    pub path: Arc<std::path::Path>,
    /// Its contents.
    pub digest: Digest,
    /// Whether it may be executed.
    pub executable: bool,
}

impl CommandTemplate {
    /// The version of an operation with these ports: that of the template, and how each input is read (a
    /// number for a float port is written as a float).
    pub fn version_for(&self, signature: &Signature, tool_version: Option<&str>) -> Arc<str> {
        let mut text = self.version(tool_version).to_string();
        for port in &signature.inputs {
            let (optional, named) = (u8::from(port.optional), u8::from(port.keep_name));
            text.push_str(&format!(
                "\n{} {} {optional} {named}",
                port.name, port.port_type
            ));
        }
        format!("command-{}", Digest::of(text.as_bytes()).hex()).into()
    }

    /// The version of the template: a digest of everything that may change what the program does. Not in
    /// it: resources, time-outs, retries, and the thread allowance.
    pub fn version(&self, tool_version: Option<&str>) -> Arc<str> {
        let mut out = Vec::new();
        let mut put = |bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        put(b"headwater command 1");
        match &self.invocation {
            Invocation::Arguments(arguments) => {
                put(b"arguments");
                put(&(arguments.len() as u64).to_le_bytes());
                arguments.iter().for_each(|text| put(&text_bytes(text)));
            }
            Invocation::Shell(text) => {
                put(b"shell");
                put(&text_bytes(text));
            }
        }
        for (port, input) in &self.inputs {
            put(b"input");
            put(port.as_bytes());
            put(input.extension.as_deref().unwrap_or("").as_bytes());
        }
        for (port, output) in &self.outputs {
            put(b"output");
            put(port.as_bytes());
            match &output.collect {
                Collect::Path(path) => {
                    put(b"path");
                    put(&text_bytes(path));
                }
                Collect::Glob(glob) => {
                    put(b"glob");
                    put(glob.as_bytes());
                }
            }
            put(output.output_type.to_string().as_bytes());
            put(&[u8::from(output.optional)]);
        }
        for (name, text) in &self.environment {
            put(b"environment");
            put(name.as_bytes());
            put(&text_bytes(text));
        }
        for (what, text) in [
            ("stdin", &self.stdin),
            ("stdout", &self.stdout),
            ("stderr", &self.stderr),
        ] {
            if let Some(text) = text {
                put(what.as_bytes());
                put(&text_bytes(text));
            }
        }
        if let Some(tool_version) = tool_version {
            put(b"version");
            put(tool_version.as_bytes());
        }
        for file in &self.used_files {
            put(b"uses");
            put(file.name.as_bytes());
            put(&file.digest.0);
            if file.executable {
                put(b"executable");
            }
        }
        format!("command-{}", Digest::of(&out).hex()).into()
    }
}

fn text_bytes(text: &Text) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    for part in &text.0 {
        match part {
            Part::Literal(literal) => put(0, literal.as_bytes()),
            Part::Placeholder(Placeholder::Input(port)) => put(1, port.as_bytes()),
            Part::Placeholder(Placeholder::ListFile(port)) => put(2, port.as_bytes()),
            Part::Placeholder(Placeholder::Output(port)) => put(3, port.as_bytes()),
            Part::Placeholder(Placeholder::Parameter(name)) => put(4, name.as_bytes()),
            Part::Placeholder(Placeholder::Threads) => put(5, b""),
        }
    }
    out
}
