//! Programs as operations.
//!
//! Law: an operation is read whole or not at all, but its ports are told even if the rest is wrong, so that
//! one mistake in it does not become a mistake in each task that uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headwater_graph::{
    Collect, CommandInput, CommandOutput, CommandTemplate, Invocation, Kind, Operation,
    ParameterDeclaration, Part, Port, Resources, ScalarType, Signature, Span, Text, Threads, Type,
    VersionSource,
};

use crate::formats::{
    OPERATION, OPERATION_INPUT, OPERATION_OUTPUT, OPERATION_PARAMETER, OUTPUT_TYPES, RESOURCES,
    SCALAR_TYPES, THREADS_WORDS, VERSION,
};
use crate::leaf::{self, Scope};
use crate::report::Report;
use crate::shape::Fields;
use crate::tree::Node;
use crate::workflow::parameter::scalar_type;
use crate::workflow::template::{Ports, Role, template};

/// What was read of the `operations` of a file.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    /// All of them, in the order of the file.
    pub(crate) all: Vec<Operation>,
    /// Those whose ports or parameters have mistakes.
    pub(crate) doubtful: BTreeSet<Arc<str>>,
    /// Where they name files.
    pub(crate) places: OperationPlaces,
}

/// Where an operation and what it names stand in the file: by its name and the word, of `command` or `uses`; the
/// empty word is the operation itself.
pub type OperationPlaces = BTreeMap<(Arc<str>, Arc<str>), Span>;

/// Reads the operations of a file.
pub(crate) fn operations(node: &Node, scope: Scope<'_>, report: &mut Report) -> Operations {
    let mut read = Operations::default();
    let mut seen = BTreeSet::new();
    for (key, value) in node.entries().unwrap_or_default() {
        let Some(name) = leaf::text(key) else {
            continue;
        };
        if scope.registry.operation(&name).is_some() {
            let message = format!("there is an operation `{name}` already");
            report.error_with(key.span, message, "give this one another name");
            continue;
        }
        // A name given twice is reported by the parser.
        if !seen.insert(Arc::clone(&name)) {
            continue;
        }
        read.places.insert((Arc::clone(&name), "".into()), key.span);
        for field in ["command", "uses"] {
            let items = Fields::of(value, &OPERATION)
                .get(field)
                .and_then(Node::items);
            for item in items.unwrap_or_default() {
                if let Some(word) = leaf::text(item) {
                    read.places.insert((Arc::clone(&name), word), item.span);
                }
            }
        }
        let mut reader = Reader {
            name: Arc::clone(&name),
            fields: Fields::of(value, &OPERATION),
            scope,
            report,
            ports: Ports::default(),
            signature: Signature::new(&name, ""),
            doubtful: value.entries().is_none(),
        };
        let operation = reader.read();
        if reader.doubtful {
            read.doubtful.insert(name);
        }
        read.all.push(operation);
    }
    read
}

struct Reader<'n, 'a, 'r> {
    name: Arc<str>,
    fields: Fields<'n>,
    scope: Scope<'a>,
    report: &'r mut Report,
    ports: Ports,
    signature: Signature,
    doubtful: bool,
}

/// What an output says about itself.
struct OutputText<'n> {
    name: Arc<str>,
    key: &'n Node,
    output_type: Type,
    path: Option<&'n Node>,
    glob: Option<Arc<str>>,
    extension: Option<Arc<str>>,
    optional: bool,
    keep: Option<bool>,
}

impl<'n> Reader<'n, '_, '_> {
    fn read(&mut self) -> Operation {
        let inputs = self.inputs();
        self.parameters();
        let outputs = self.output_texts();
        for output in &outputs {
            self.ports
                .outputs
                .insert(Arc::clone(&output.name), output.glob.is_some());
        }
        let outputs = self.outputs(&outputs, &inputs);
        let invocation = self.invocation();
        let environment = self.environment();
        let stdin = self.text("stdin", Role::Stdin);
        let stdout = self.text("stdout", Role::Destination);
        let stderr = self.text("stderr", Role::Destination);
        let uses = self
            .fields
            .get("uses")
            .and_then(Node::items)
            .unwrap_or_default();
        let uses = uses
            .iter()
            .filter_map(|node| leaf::path(node).ok())
            .collect();
        let version = self.version();
        self.limits();
        let template = CommandTemplate {
            invocation,
            inputs,
            outputs,
            environment,
            threads: self.threads(),
            stdin,
            stdout,
            stderr,
            version,
            uses,
            used_files: Vec::new(),
        };
        self.signature.inputs.sort_by(|a, b| a.name.cmp(&b.name));
        self.signature.outputs.sort_by(|a, b| a.name.cmp(&b.name));
        self.signature
            .parameters
            .sort_by(|a, b| a.name.cmp(&b.name));
        Operation {
            signature: self.signature.clone(),
            kind: Kind::Command(Arc::new(template)),
        }
    }

    /// Names and values of a field; a name given twice counts once.
    fn named(&self, field: &str) -> Vec<(Arc<str>, &'n Node, &'n Node)> {
        let entries = self
            .fields
            .get(field)
            .and_then(Node::entries)
            .unwrap_or_default();
        let mut seen = BTreeSet::new();
        let named = entries
            .iter()
            .filter_map(|(key, value)| Some((leaf::text(key)?, key, value)));
        named
            .filter(|(name, ..)| seen.insert(Arc::clone(name)))
            .collect()
    }

    fn inputs(&mut self) -> BTreeMap<Arc<str>, CommandInput> {
        let mut inputs = BTreeMap::new();
        self.doubt("inputs");
        for (name, _, node) in self.named("inputs") {
            let fields = Fields::of(node, &OPERATION_INPUT);
            let type_node = if node.is_scalar() {
                Some(node)
            } else {
                fields.get("type")
            };
            let port_type =
                type_node.and_then(|node| leaf::type_name(node, self.scope.registry).ok());
            if let (Some(node), Some(found)) = (type_node, &port_type)
                && !is_for_programs(found)
            {
                let message = format!("a program cannot take `{found}`");
                let hint = "programs take files, directories, numbers, truth values, texts and lists of these";
                self.report.error_with(node.span, message, hint);
            }
            self.doubtful |= port_type.is_none();
            let extension = fields.get("extension").and_then(leaf::text);
            let port = Port {
                name: Arc::clone(&name),
                port_type: port_type.clone().unwrap_or(Type::Any),
                optional: flag(&fields, "optional"),
                keep_name: flag(&fields, "keep_name"),
                keep: None,
                extension: None,
                working: 0,
                in_place: false,
            };
            self.ports.inputs.insert(Arc::clone(&name), port_type);
            self.signature.inputs.push(port);
            inputs.insert(name, CommandInput { extension });
        }
        inputs
    }

    fn parameters(&mut self) {
        self.doubt("params");
        for (name, _, node) in self.named("params") {
            let fields = Fields::of(node, &OPERATION_PARAMETER);
            let type_node = if node.is_scalar() {
                Some(node)
            } else {
                fields.get("type")
            };
            let word = type_node.and_then(|node| leaf::word(node, SCALAR_TYPES).ok());
            let found = word.and_then(scalar_type);
            self.doubtful |= found.is_none();
            let declared = found.unwrap_or(ScalarType::Text);
            let truncate = flag(&fields, "truncate");
            if let Some((key, _)) = fields
                .entry("truncate")
                .filter(|_| truncate && declared != ScalarType::Int)
            {
                let message = format!("`truncate` belongs to an int, and `{name}` is not one");
                self.report.error(key.span, message);
            }
            let mut default = None;
            if let (Some(node), Some(_)) = (fields.get("default"), found)
                && let Ok(value) = leaf::literal(node)
            {
                default = value.coerce(declared, truncate);
                if default.is_none() {
                    let message = format!(
                        "`{name}` is of type {declared}, but its default {} does not have this type",
                        node.found()
                    );
                    self.report.error(node.span, message);
                }
            }
            // Whether it is a text matters only if that is known for sure.
            let known = found.unwrap_or(ScalarType::Int);
            self.ports.parameters.insert(Arc::clone(&name), known);
            self.signature.parameters.push(ParameterDeclaration {
                name,
                scalar_type: declared,
                default,
                truncate,
            });
        }
    }

    fn output_texts(&mut self) -> Vec<OutputText<'n>> {
        let mut outputs = Vec::new();
        self.doubt("outputs");
        for (name, key, node) in self.named("outputs") {
            let fields = Fields::of(node, &OPERATION_OUTPUT);
            let type_node = if node.is_scalar() {
                Some(node)
            } else {
                fields.get("type")
            };
            let word = type_node.map(|node| leaf::word(node, OUTPUT_TYPES));
            self.doubtful |= matches!(word, Some(Err(_)));
            let mut output_type = match word {
                Some(Ok("directory")) => Type::Directory,
                Some(Ok(word)) => scalar_type(word).map_or(Type::File, Type::from),
                _ => Type::File,
            };
            let glob = fields.get("glob").and_then(|node| leaf::path(node).ok());
            if fields.get("glob").is_some() {
                if output_type.scalar().is_some() {
                    let span = type_node.map_or(key.span, |node| node.span);
                    let message = format!(
                        "output `{name}` is of type {output_type}, and a `glob` finds files or directories"
                    );
                    self.report
                        .error_with(span, message, "write `type: file`, or give one `path`");
                }
                output_type = output_type.list();
            }
            if let Some((key, _)) = fields.entry("extension")
                && (fields.get("path").is_some() || fields.get("glob").is_some())
            {
                let message = "`extension` belongs to an output without `path` and `glob`";
                self.report
                    .error_with(key.span, message, "write it as part of the path");
            }
            outputs.push(OutputText {
                name,
                key,
                output_type,
                path: fields.get("path"),
                glob,
                extension: fields.get("extension").and_then(leaf::text),
                optional: flag(&fields, "optional"),
                keep: fields.get("keep").and_then(|node| leaf::flag(node).ok()),
            });
        }
        outputs
    }

    fn outputs(
        &mut self,
        texts: &[OutputText<'_>],
        inputs: &BTreeMap<Arc<str>, CommandInput>,
    ) -> BTreeMap<Arc<str>, CommandOutput> {
        let mut outputs = BTreeMap::new();
        let mut paths: BTreeMap<Arc<str>, &Arc<str>> = BTreeMap::new();
        let links = self.links(inputs);
        for output in texts {
            let port = Port {
                name: Arc::clone(&output.name),
                port_type: output.output_type.clone(),
                optional: output.optional,
                keep_name: false,
                keep: output.keep,
                extension: None,
                working: 0,
                in_place: false,
            };
            self.signature.outputs.push(port);
            let collect = match (&output.glob, output.path) {
                (Some(glob), _) => Collect::Glob(Arc::clone(glob)),
                (None, Some(node)) if leaf::path(node).is_ok() => {
                    let ports = &self.ports;
                    let path = template(node, Role::OutputPath, ports, self.scope, self.report);
                    Collect::Path(path.unwrap_or_default())
                }
                _ => Collect::Path(Text(vec![Part::Literal(default_path(output))])),
            };
            if let Collect::Path(path) = &collect {
                let span = output.path.map_or(output.key.span, |node| node.span);
                if let [Part::Literal(literal)] = path.0.as_slice()
                    && let Some(input) = links.get(first_step(literal, &links))
                {
                    let message = format!(
                        "output `{}` would lie where input `{input}` lies, at `{literal}`",
                        output.name
                    );
                    let hint = "give the output a `path` of its own";
                    self.report.error_with(span, message, hint);
                }
                let written = output
                    .path
                    .and_then(Node::text)
                    .map_or_else(|| default_path(output), Arc::clone);
                if let Some(other) = paths.insert(plain_path(&written), &output.name) {
                    let message =
                        format!("outputs `{other}` and `{}` have the same path", output.name);
                    self.report.error(span, message);
                }
            }
            let collected = CommandOutput {
                collect,
                output_type: output.output_type.clone(),
                optional: output.optional,
            };
            outputs.insert(Arc::clone(&output.name), collected);
        }
        outputs
    }

    /// The names under which inputs lie in the work folder, and whose they are.
    fn links(&self, inputs: &BTreeMap<Arc<str>, CommandInput>) -> BTreeMap<String, Arc<str>> {
        let mut links = BTreeMap::new();
        for port in &self.signature.inputs {
            let name = &port.name;
            let on_disk = |found: &Type| matches!(found, Type::File | Type::Directory);
            let extension = inputs
                .get(name)
                .and_then(|input| input.extension.as_deref());
            let link = match (&port.port_type, extension) {
                // With its own name a file lies in a folder that has the name of the port.
                (Type::File, Some(extension)) if !port.keep_name => format!("{name}.{extension}"),
                (Type::File | Type::Directory, _) => name.to_string(),
                (Type::List(element), _) if on_disk(element) => name.to_string(),
                _ => continue,
            };
            links.insert(link, Arc::clone(name));
        }
        links
    }

    fn invocation(&mut self) -> Invocation {
        if let Some(node) = self.fields.get("shell") {
            let text = template(node, Role::Shell, &self.ports, self.scope, self.report);
            return Invocation::Shell(text.unwrap_or_default());
        }
        let items = self
            .fields
            .get("command")
            .and_then(Node::items)
            .unwrap_or_default();
        if let Some(first) = items.first()
            && first.text().is_some_and(|text| text.trim().is_empty())
        {
            self.report
                .error(first.span, "the name of the program is empty");
        }
        let arguments = items.iter().filter_map(|node| {
            template(node, Role::Argument, &self.ports, self.scope, self.report)
        });
        Invocation::Arguments(arguments.collect())
    }

    fn environment(&mut self) -> BTreeMap<Arc<str>, Text> {
        let mut environment = BTreeMap::new();
        for (name, _, node) in self.named("env") {
            if let Some(text) = template(node, Role::Variable, &self.ports, self.scope, self.report)
            {
                environment.insert(name, text);
            }
        }
        environment
    }

    fn text(&mut self, field: &str, role: Role) -> Option<Text> {
        let node = self.fields.get(field)?;
        if role == Role::Destination && leaf::path(node).is_err() {
            return None;
        }
        template(node, role, &self.ports, self.scope, self.report)
    }

    fn version(&self) -> Option<VersionSource> {
        let node = self.fields.get("version")?;
        if let Some(text) = leaf::text(node) {
            return Some(VersionSource::Text(text));
        }
        let items = Fields::of(node, &VERSION).get("command")?.items()?;
        Some(VersionSource::Command(
            items.iter().filter_map(leaf::text).collect(),
        ))
    }

    fn threads(&self) -> Threads {
        let word = self
            .fields
            .get("threads")
            .and_then(|node| leaf::word(node, THREADS_WORDS).ok());
        word.map_or(Threads::Allowance, |_| Threads::Inherit)
    }

    fn limits(&mut self) {
        if let Some(node) = self.fields.get("resources") {
            self.signature.resources = resources(node);
        }
        self.signature.timeout = self
            .fields
            .get("timeout")
            .and_then(|node| leaf::duration(node).ok());
        let retries = self
            .fields
            .get("retries")
            .and_then(|node| leaf::whole(node, 0).ok());
        self.signature.retries = retries.map(|retries| u32::try_from(retries).unwrap_or(u32::MAX));
        let pure = self
            .fields
            .get("pure")
            .and_then(|node| leaf::flag(node).ok());
        self.signature.pure = pure.unwrap_or(true);
        if self.signature.pure && self.signature.outputs.is_empty() && !self.doubtful {
            let span = self
                .fields
                .get("outputs")
                .or(self.fields.get("command"))
                .or(self.fields.get("shell"));
            if let Some(node) = span {
                let message = format!("operation `{}` has no outputs", self.name);
                let hint = "declare what it makes under `outputs:`, or say `pure: false` if it acts on something else";
                self.report.error_with(node.span, message, hint);
            }
            self.doubtful = true;
        }
    }

    /// A field that is not even of the right kind leaves the ports unknown.
    fn doubt(&mut self, field: &str) {
        let node = self.fields.get(field);
        self.doubtful |= node.is_some_and(|node| node.entries().is_none() && !node.is_nothing());
    }
}

/// A path without what changes nothing: `./x` is `x`.
fn plain_path(path: &str) -> Arc<str> {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.collect::<Vec<&str>>().join("/").into()
}

/// The name of the port, with the extension if there is one.
fn default_path(output: &OutputText<'_>) -> Arc<str> {
    match &output.extension {
        Some(extension) => format!("{}.{extension}", output.name).into(),
        None => Arc::clone(&output.name),
    }
}

fn flag(fields: &Fields<'_>, name: &str) -> bool {
    fields
        .get(name)
        .and_then(|node| leaf::flag(node).ok())
        .unwrap_or(false)
}

/// Whether values of this type can be handed to a program.
fn is_for_programs(found: &Type) -> bool {
    let single =
        |found: &Type| matches!(found, Type::File | Type::Directory) || found.scalar().is_some();
    single(found) || found.element().is_some_and(single)
}

/// The part of a path that decides whether it lies on an input: all of it, or the folder of a list.
fn first_step<'p>(path: &'p str, links: &BTreeMap<String, Arc<str>>) -> &'p str {
    let path = path.strip_prefix("./").unwrap_or(path);
    let first = path.split('/').next().unwrap_or(path);
    if links.contains_key(first) {
        first
    } else {
        path
    }
}

fn resources(node: &Node) -> Resources {
    let mut counters = BTreeMap::new();
    let fields = Fields::of(node, &RESOURCES);
    let known = [
        (
            "cores",
            fields
                .get("cores")
                .and_then(|node| leaf::whole(node, 1).ok()),
        ),
        (
            "memory",
            fields.get("memory").and_then(|node| leaf::size(node).ok()),
        ),
    ];
    for (name, count) in known {
        if let Some(count) = count {
            counters.insert(Arc::from(name), count);
        }
    }
    for (key, value, _) in &fields.unknown {
        if let (Some(name), Ok(count)) = (leaf::text(key), leaf::whole(value, 0)) {
            counters.insert(name, count);
        }
    }
    Resources(counters)
}
