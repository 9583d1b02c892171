//! The skeleton of a Rust library with the operations that a stage descriptor names.
//!
//! Law: the library compiles, has every operation under the name and with the ports of the descriptor, and fails where
//! one is called whose body nobody has written, with the name of the file to write it in. Names become identifiers that
//! are distinct and no words of the language.

use std::collections::BTreeSet;
use std::fmt::Write;

use headwater_graph::{ParameterDeclaration, Port, ScalarType, Signature, Type};

use super::{StarterFile, commented, quoted};
use crate::scalar::write;
use crate::workflow::WorkflowFile;

/// Where the library gets Headwater from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dependency {
    /// The registry, in this version.
    Version(String),
    /// The folder of the crate.
    Path(String),
}

/// The skeleton of a library: the name of its package, and its files. `file` is what a descriptor says, whose text is
/// given too, read without any library.
pub fn library_of(
    text: &str,
    file: &WorkflowFile,
    dependency: &Dependency,
) -> (String, Vec<StarterFile>) {
    let stage = &file.workflow.name;
    let mut taken: BTreeSet<String> = RESERVED.iter().map(|name| (*name).to_owned()).collect();
    let modules: Vec<Module<'_>> = file
        .operations
        .iter()
        .map(|operation| Module::new(&operation.signature, &mut taken))
        .collect();
    let libraries: BTreeSet<Option<&str>> = modules.iter().map(|module| module.library).collect();
    let stem = match libraries.iter().collect::<Vec<_>>().as_slice() {
        [Some(library)] => library,
        _ => &**stage,
    };
    let package = format!("{}-operations", identifier(stem).replace('_', "-"));
    let mut files = vec![
        source("Cargo.toml", manifest(&package, stage, dependency)),
        source("src/lib.rs", root(stage, &modules)),
        source("src/main.rs", main(&package)),
        source("src/ports.rs", include_str!("ports.txt").to_owned()),
    ];
    for module in &modules {
        files.push(source(&module.path(), module.text()));
    }
    files.push(source("tests/stage.rs", test(&package, &modules)));
    files.push(source("stage.json", text.to_owned()));
    files.push(source("data.yaml", data(file)));
    files.push(source(
        ".gitignore",
        "/target\n/outputs\n/.headwater\n".to_owned(),
    ));
    (package, files)
}

fn source(path: &str, text: String) -> StarterFile {
    StarterFile {
        path: path.to_owned(),
        text,
    }
}

/// Names of modules that mean something else here.
const RESERVED: [&str; 7] = ["main", "lib", "ports", "headwater", "std", "core", "alloc"];

/// The words of the language, those that are kept for later among them.
const KEYWORDS: [&str; 53] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "macro_rules",
];

/// A list that is wider is written one below the other, as `rustfmt` has it.
const WIDEST_LIST: usize = 60;

/// A name as an identifier: `segmentNuclei` is `segment_nuclei`.
fn identifier(name: &str) -> String {
    let signs: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (place, sign) in signs.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| signs[before]);
        let after = signs.get(place + 1);
        let begins = sign.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins || !sign.is_ascii_alphanumeric() {
            out.push('_');
        }
        if sign.is_ascii_alphanumeric() {
            out.push(sign.to_ascii_lowercase());
        }
    }
    let words: Vec<&str> = out.split('_').filter(|word| !word.is_empty()).collect();
    let mut out = words.join("_");
    if !out.starts_with(|first: char| first.is_ascii_lowercase()) {
        out.insert(0, 'x');
    }
    if KEYWORDS.contains(&&*out) {
        out.push('_');
    }
    out
}

/// An identifier that nothing else has.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let first = identifier(name);
    let mut found = first.clone();
    let mut number = 2;
    while !taken.insert(found.clone()) {
        found = format!("{}_{number}", first.trim_end_matches('_'));
        number += 1;
    }
    found
}

/// A text as Rust has it.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

/// A port or a parameter, and its field.
struct Field<'a, T> {
    what: &'a T,
    field: String,
}

fn fields<'a, T>(all: &'a [T], name: impl Fn(&T) -> &str) -> Vec<Field<'a, T>> {
    let mut taken = BTreeSet::new();
    all.iter()
        .map(|what| Field {
            field: unique(name(what), &mut taken),
            what,
        })
        .collect()
}

/// An operation and the file that it stands in.
struct Module<'a> {
    name: String,
    library: Option<&'a str>,
    /// Its name within the library.
    operation: &'a str,
    signature: &'a Signature,
    inputs: Vec<Field<'a, Port>>,
    outputs: Vec<Field<'a, Port>>,
    parameters: Vec<Field<'a, ParameterDeclaration>>,
}

/// How a type of the descriptor looks in Rust.
struct Form {
    /// As an input, where `'a` is how long it is lent.
    input: &'static str,
    /// The function of `ports` that takes it from a value.
    from: &'static str,
    /// As an output.
    output: &'static str,
    /// From the output, which stands in the place of `@`, to a value.
    into: &'static str,
    about: &'static str,
}

fn form(port_type: &Type) -> Form {
    let form = |input, from, output, into, about| Form {
        input,
        from,
        output,
        into,
        about,
    };
    match port_type {
        Type::Int => form("i64", "int", "i64", "Value::Int(@)", "a whole number"),
        Type::Float => form("f64", "float", "f64", "Value::Float(@)", "a number"),
        Type::Array => form("&'a Array", "array", "Array", "Value::Array(@)", "an array"),
        Type::List(element) if **element == Type::Array => form(
            "Vec<&'a Array>",
            "arrays",
            "Vec<Array>",
            "Value::List(@.into_iter().map(Value::Array).collect())",
            "a list of arrays",
        ),
        Type::List(element) if **element == Type::Float => form(
            "Vec<f64>",
            "floats",
            "Vec<f64>",
            "Value::List(@.into_iter().map(Value::Float).collect())",
            "a list of numbers",
        ),
        Type::File => form(
            "&'a Value",
            "file",
            "Value",
            "@",
            "a file; see `Context::read`, and to make one `FileValue::of_bytes` and `Context::give_file`",
        ),
        _ => form("&'a Value", "value", "Value", "@", "a value"),
    }
}

/// A type as Rust has it.
fn type_of(port_type: &Type) -> String {
    match port_type {
        Type::List(element) => format!("{}.list()", type_of(element)),
        Type::Int => "Type::Int".to_owned(),
        Type::Float => "Type::Float".to_owned(),
        Type::Array => "Type::Array".to_owned(),
        Type::File => "Type::File".to_owned(),
        _ => "Type::Any".to_owned(),
    }
}

impl<'a> Module<'a> {
    fn new(signature: &'a Signature, taken: &mut BTreeSet<String>) -> Module<'a> {
        let (library, operation) = match signature.name.split_once('/') {
            Some((library, operation)) => (Some(library), operation),
            None => (None, &*signature.name),
        };
        let function = operation.rsplit('.').next().unwrap_or(operation);
        Module {
            name: unique(function, taken),
            library,
            operation,
            inputs: fields(&signature.inputs, |port| &port.name),
            outputs: fields(&signature.outputs, |port| &port.name),
            parameters: fields(&signature.parameters, |parameter| &parameter.name),
            signature,
        }
    }

    fn path(&self) -> String {
        format!("src/{}.rs", self.name)
    }

    /// Whether what it reads is lent to it.
    fn lends(&self) -> bool {
        let lent = |field: &Field<'_, Port>| form(&field.what.port_type).input.contains("'a");
        self.inputs.iter().any(lent)
    }

    /// What it takes from the engine.
    fn imports(&self) -> String {
        let ports = || self.inputs.iter().chain(&self.outputs);
        let arrays = |field: &Field<'_, Port>| {
            let form = form(&field.what.port_type);
            form.input.contains("Array")
        };
        let mut names = vec!["Context", "Operation", "OperationError"];
        if ports().any(arrays) {
            names.push("Array");
        }
        names.push("Scalar");
        if !self.parameters.is_empty() {
            names.push("ScalarType");
        }
        names.push("Signature");
        if ports().next().is_some() {
            names.push("Type");
        }
        names.push("Value");
        names.sort_unstable();
        let names = names.join(", ");
        let line = format!("use headwater::graph::{{{names}}};\n");
        if line.len() <= 101 {
            line
        } else {
            format!("use headwater::graph::{{\n    {names},\n}};\n")
        }
    }

    fn text(&self) -> String {
        let name = &self.signature.name;
        let mut out = format!(
            "//! The operation `{name}`: write its [`run`].\n//!\n//! A change of what it computes is a change of its \
             version, in [`operation`]: results of\n//! another version are not reused.\n\n{}\n",
            self.imports()
        );
        if !(self.inputs.is_empty() && self.parameters.is_empty()) {
            out += "use crate::ports;\n\n";
        }
        let mut arguments = Vec::new();
        if !self.inputs.is_empty() {
            let lifetime = if self.lends() { "<'a>" } else { "" };
            let _ = write!(
                out,
                "/// What it reads.\n#[derive(Debug)]\npub struct Inputs{lifetime} {{\n"
            );
            for field in &self.inputs {
                let form = form(&field.what.port_type);
                let _ = write!(
                    out,
                    "    /// `{}`: {}.\n    pub {}: {},\n",
                    field.what.name, form.about, field.field, form.input
                );
            }
            out += "}\n\n";
            let lifetime = if self.lends() { "<'_>" } else { "" };
            arguments.push(("inputs", format!("&Inputs{lifetime}")));
        }
        if !self.parameters.is_empty() {
            out += "/// Its parameters.\n#[derive(Debug)]\npub struct Parameters {\n";
            for field in &self.parameters {
                let (kind, about) = match field.what.scalar_type {
                    ScalarType::Int => ("i64", "a whole number"),
                    _ => ("f64", "a number"),
                };
                let _ = write!(
                    out,
                    "    /// `{}`: {about}.\n    pub {}: {kind},\n",
                    field.what.name, field.field
                );
            }
            out += "}\n\n";
            arguments.push(("parameters", "&Parameters".to_owned()));
        }
        if !self.outputs.is_empty() {
            out += "/// What it makes.\n#[derive(Debug)]\npub struct Outputs {\n";
            for field in &self.outputs {
                let form = form(&field.what.port_type);
                let _ = write!(
                    out,
                    "    /// `{}`: {}.\n    pub {}: {},\n",
                    field.what.name, form.about, field.field, form.output
                );
            }
            out += "}\n\n";
        }
        arguments.push(("context", "&mut Context".to_owned()));
        self.write_run(&arguments, &mut out);
        self.write_operation(&mut out);
        self.write_body(&arguments, &mut out);
        out
    }

    fn write_run(&self, arguments: &[(&str, String)], out: &mut String) {
        let made = if self.outputs.is_empty() {
            "()"
        } else {
            "Outputs"
        };
        let list: String = arguments
            .iter()
            .map(|(name, kind)| format!("    {name}: {kind},\n"))
            .collect();
        let one_line: Vec<String> = arguments
            .iter()
            .map(|(name, kind)| format!("{name}: {kind}"))
            .collect();
        let one_line = format!(
            "pub fn run({}) -> Result<{made}, OperationError> {{\n",
            one_line.join(", ")
        );
        out.push_str("/// Computes the outputs, from what it is given and from nothing else.\n");
        if one_line.len() <= 101 {
            out.push_str(&one_line);
        } else {
            let _ = write!(
                out,
                "pub fn run(\n{list}) -> Result<{made}, OperationError> {{\n"
            );
        }
        let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
        let names = match names.as_slice() {
            [one] => (*one).to_owned(),
            several => format!("({})", several.join(", ")),
        };
        let message = format!(
            "`{}` is not written yet: write `run` in {}",
            self.signature.name,
            self.path()
        );
        let _ = write!(
            out,
            "    // Your code here, instead of these lines.\n    let _ = {names};\n    let message = {};\n    \
             Err(message.into())\n}}\n\n",
            literal(&message)
        );
    }

    fn write_operation(&self, out: &mut String) {
        let _ = write!(
            out,
            "/// The operation, with its ports and parameters as workflows see them.\n\
             pub fn operation() -> Operation {{\n    let signature = Signature::new({}, \"1\")",
            literal(self.operation)
        );
        for port in &self.signature.inputs {
            let (name, kind) = (literal(&port.name), type_of(&port.port_type));
            let _ = write!(out, "\n        .input({name}, {kind})");
        }
        for port in &self.signature.outputs {
            let (name, kind) = (literal(&port.name), type_of(&port.port_type));
            let _ = write!(out, "\n        .output({name}, {kind})");
        }
        for parameter in &self.signature.parameters {
            let name = literal(&parameter.name);
            let kind = match parameter.scalar_type {
                ScalarType::Int => "Int",
                _ => "Float",
            };
            let _ = write!(
                out,
                "\n        .parameter({name}, ScalarType::{kind}, None)"
            );
            if parameter.truncate && parameter.scalar_type == ScalarType::Int {
                let _ = write!(out, "\n        .truncating({name})");
            }
        }
        out.push_str(";\n    Operation::native(signature, body)\n}\n\n");
    }

    fn write_body(&self, arguments: &[(&str, String)], out: &mut String) {
        let unused = |empty: bool| if empty { "_" } else { "" };
        let _ = write!(
            out,
            "/// From values to what [`run`] takes, and back. Both are in the order of their names.\nfn body(\n    \
             {}inputs: &[Value],\n    {}parameters: &[Scalar],\n    context: &mut Context,\n) -> Result<Vec<Value>, \
             OperationError> {{\n",
            unused(self.inputs.is_empty()),
            unused(self.parameters.is_empty()),
        );
        if !self.inputs.is_empty() {
            out.push_str("    let inputs = Inputs {\n");
            for (place, field) in self.inputs.iter().enumerate() {
                let (name, from) = (literal(&field.what.name), form(&field.what.port_type).from);
                let _ = writeln!(
                    out,
                    "        {}: ports::{from}(inputs, {place}, {name})?,",
                    field.field
                );
            }
            out.push_str("    };\n");
        }
        if !self.parameters.is_empty() {
            out.push_str("    let parameters = Parameters {\n");
            for (place, field) in self.parameters.iter().enumerate() {
                let from = match field.what.scalar_type {
                    ScalarType::Int => "int_parameter",
                    _ => "float_parameter",
                };
                let name = literal(&field.what.name);
                let _ = writeln!(
                    out,
                    "        {}: ports::{from}(parameters, {place}, {name})?,",
                    field.field
                );
            }
            out.push_str("    };\n");
        }
        let given: Vec<String> = arguments
            .iter()
            .map(|(name, _)| match *name {
                "context" => "context".to_owned(),
                name => format!("&{name}"),
            })
            .collect();
        let call = format!("run({})?", given.join(", "));
        if self.outputs.is_empty() {
            let _ = write!(out, "    {call};\n    Ok(Vec::new())\n}}\n");
            return;
        }
        let values: Vec<String> = self
            .outputs
            .iter()
            .map(|field| {
                let into = form(&field.what.port_type).into;
                into.replace('@', &format!("outputs.{}", field.field))
            })
            .collect();
        let one_line = values.join(", ");
        let _ = writeln!(out, "    let outputs = {call};");
        if one_line.len() <= WIDEST_LIST {
            let _ = writeln!(out, "    Ok(vec![{one_line}])");
        } else {
            let lines = values.join(",\n        ");
            let _ = writeln!(out, "    Ok(vec![\n        {lines},\n    ])");
        }
        out.push_str("}\n");
    }
}

fn manifest(package: &str, stage: &str, dependency: &Dependency) -> String {
    let from = match dependency {
        Dependency::Version(version) => toml(version),
        Dependency::Path(path) => format!("{{ path = {} }}", toml(path)),
    };
    format!(
        "\
[package]
name = {}
description = {}
version = \"0.1.0\"
edition = \"2024\"
publish = false

[dependencies]
headwater = {from}

# So that it stands alone wherever it lies; take this away to make it part of a workspace.
[workspace]
",
        toml(package),
        toml(&format!("The operations of the stage {stage}")),
    )
}

/// A text as TOML has it.
fn toml(text: &str) -> String {
    let mut out = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => {
                out.push('\\');
                out.push(sign);
            }
            sign if sign.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(sign));
            }
            sign => out.push(sign),
        }
    }
    out.push('"');
    out
}

fn root(stage: &str, modules: &[Module<'_>]) -> String {
    let mut out = format!(
        "\
//! The operations of the stage `{stage}`, for Headwater.
//!
//! Each has a file of its own, whose `run` is to be written; until then a task that needs it fails and names the file.
//! `main.rs` runs a workflow file with them: `cargo run -- stage.json data.yaml`.

"
    );
    let mut names: Vec<&str> = modules.iter().map(|module| &*module.name).collect();
    names.push("ports");
    names.sort_unstable();
    for name in names {
        let _ = writeln!(out, "pub mod {name};");
    }
    out += "
use headwater::graph::{Registry, RegistryError};

/// Adds these operations to those that a program knows.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
";
    for module in modules {
        let library = match module.library {
            Some(library) => format!("Some({})", literal(library)),
            None => "None".to_owned(),
        };
        let name = &module.name;
        let _ = writeln!(
            out,
            "    registry.register({library}, {name}::operation())?;"
        );
    }
    out += "    Ok(())\n}\n";
    out
}

fn main(package: &str) -> String {
    include_str!("main.txt")
        .replace("@PACKAGE@", package)
        .replace("@CRATE@", &package.replace('-', "_"))
}

fn test(package: &str, modules: &[Module<'_>]) -> String {
    let names: String = modules
        .iter()
        .map(|module| format!("    {},\n", literal(&module.signature.name)))
        .collect();
    include_str!("test.txt")
        .replace("@CRATE@", &package.replace('-', "_"))
        .replace("    @NAMES@\n", &names)
}

/// A data file for the stage, with what only its user knows left open.
fn data(file: &WorkflowFile) -> String {
    let workflow = &file.workflow;
    let inputs = workflow.inputs.iter();
    let inputs: Vec<(String, String)> = inputs
        .map(|input| {
            let name = quoted(&input.name);
            (format!("{name}:"), input.input_type.to_string())
        })
        .collect();
    let parameters = workflow.parameters.iter().map(|parameter| {
        let (name, kind) = (quoted(&parameter.name), parameter.scalar_type.name());
        match &parameter.default {
            None => (format!("{name}:"), kind.to_owned()),
            Some(default) => {
                let mut value = String::new();
                write(default, &mut value);
                (format!("{name}: {value}"), format!("{kind}; its default"))
            }
        }
    });
    let parameters: Vec<(String, String)> = parameters.collect();
    let mut out = String::from(
        "\
# What stage.json is run on: put a value after each colon. `headwater check data.yaml` says where one is missing.
# More: docs/workflow-files.md#data-files
headwater: 1
",
    );
    for (heading, lines) in [("inputs", inputs), ("parameters", parameters)] {
        if !lines.is_empty() {
            let _ = write!(out, "{heading}:\n{}", commented(&lines));
        }
    }
    out
}
