//! Writing outputs where the user finds them.
//!
//! Law: outputs are copies, so nothing that happens to the store touches them; nothing of others is overwritten: every
//! run has a folder of its own, and what somebody puts there meanwhile is refused. `<output>/<index>.<extension>`, or
//! `<output>.<extension>` for an output that is there once; the items of a list of files are in a folder of that
//! name. A value of a library's type is written in the library's format where that has room for it, and encoded
//! once however many outputs it is; else as `.hwv`, the engine's own encoding.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_enact::{Ancestry, Enactment, Requested, State};
use headwater_execute::{Fetch, Fetched, Ports, copy_value};
use headwater_graph::{
    Collect, Context, Index, Kind, OperationError, Outputs, Part, Recipe, Registry, Source, TaskId,
    Text, Value, encode,
};

use crate::Error;
use crate::fetch::StoreFetcher;
use crate::load::Loaded;
use crate::results_folder::{Claim, ResultsFolder};

/// An output as it was delivered.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivered {
    /// A file or folder.
    Path(PathBuf),
    /// A single value; or any other, where a program asked for values.
    Value(Value),
}

/// One item of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputItem {
    /// Its index path.
    pub index: Index,
    /// Where or what it is.
    pub what: Delivered,
    /// The workflow inputs it was made from.
    pub from: Vec<(Arc<str>, Index)>,
    /// What people call it by: the values of the inputs behind it and of their rows, as far as there is one.
    pub values: Vec<(Arc<str>, String)>,
    /// How many items are missing from the lists that it was made from.
    pub missing: usize,
}

/// Gives the values of outputs, and writes nothing.
pub struct ValueReader<'a> {
    fetcher: &'a StoreFetcher,
    /// The task whose outputs were fetched last, and those outputs.
    last: Option<(TaskId, Option<Fetched>)>,
}

impl<'a> ValueReader<'a> {
    /// Reads what was made from there.
    pub fn new(fetcher: &'a StoreFetcher) -> ValueReader<'a> {
        ValueReader {
            fetcher,
            last: None,
        }
    }

    /// The value of a source; `None` if it is not there.
    pub fn value(&mut self, enactment: &Enactment, source: &Source) -> Option<Value> {
        match source {
            Source::External(position) => {
                Some(enactment.graph().external_at(*position).value.clone())
            }
            Source::Product { task, port } => {
                if self.last.as_ref().is_none_or(|(last, _)| last != task) {
                    let fetched = if enactment.graph().operation_at(*task).signature.implicit {
                        self.made_again(enactment, *task).map(Fetched::from)
                    } else {
                        let recipe = enactment.stored_as(*task);
                        self.fetcher.fetch(&recipe, &Ports::default())
                    };
                    self.last = Some((*task, fetched));
                }
                let found = self.last.as_ref()?.1.as_ref()?.output(*port)?;
                self.fetcher.brought(found)
            }
            Source::List(sources) => {
                let values: Option<Vec<Value>> = sources
                    .iter()
                    .map(|source| self.value(enactment, source))
                    .collect();
                Some(Value::List(values?.into()))
            }
            Source::Record(_) => None,
        }
    }

    /// The values of sources, each `None` if it is not there. Products are asked for in one question.
    pub fn values<'s>(
        &mut self,
        enactment: &Enactment,
        sources: impl Iterator<Item = &'s Source> + Clone,
    ) -> Vec<Option<Value>> {
        let kept = |source: &Source| match source {
            Source::Product { task, port } => {
                let implicit = enactment.graph().operation_at(*task).signature.implicit;
                (!implicit).then(|| (enactment.stored_as(*task), *port))
            }
            _ => None,
        };
        let wanted: Vec<(Recipe, u16)> = sources.clone().filter_map(kept).collect();
        let mut found = self.fetcher.values(&wanted).into_iter();
        sources
            .map(|source| match kept(source) {
                Some(_) => self.fetcher.brought(found.next()??),
                None => self.value(enactment, source),
            })
            .collect()
    }

    /// The outputs of a helper task, which are not kept, from what it read.
    fn made_again(&mut self, enactment: &Enactment, task: TaskId) -> Option<Outputs> {
        let graph = enactment.graph();
        if enactment.coordinator().state(task) != State::Done {
            return None;
        }
        let operation = graph.operation_at(task);
        let mut inputs = vec![Value::Null; operation.signature.inputs.len()];
        for (port, source) in graph.inputs(task) {
            *inputs.get_mut(usize::from(*port))? = self.value(enactment, source)?;
        }
        let Kind::Native(body) = &operation.kind else {
            return None;
        };
        let mut context = Context {
            reader: Some(Arc::new(self.fetcher.clone())),
            ..Context::default()
        };
        let outputs = body.run(&inputs, graph.parameters(task), &mut context);
        outputs
            .ok()
            .filter(|outputs| outputs.len() == operation.signature.outputs.len())
    }
}

/// Writes outputs below a folder.
pub struct Deliverer<'a> {
    results: &'a ResultsFolder,
    registry: &'a Registry,
    values: ValueReader<'a>,
    /// Products that were written in the format of a library, and where: each is encoded once.
    encoded: HashMap<(Recipe, u16), PathBuf>,
    /// By output, how many values its library could not write, and the first reason.
    refused: BTreeMap<Arc<str>, (usize, String)>,
}

impl<'a> Deliverer<'a> {
    /// Writes into the folder of results, with the formats of `registry`.
    pub fn new(
        results: &'a ResultsFolder,
        registry: &'a Registry,
        fetcher: &'a StoreFetcher,
    ) -> Deliverer<'a> {
        Deliverer {
            results,
            registry,
            values: ValueReader::new(fetcher),
            encoded: HashMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Writes one output; `None` if its value is not there (it failed, or was not made).
    pub fn deliver(
        &mut self,
        enactment: &Enactment,
        requested: &Requested,
        data: &str,
    ) -> Result<Option<OutputItem>, Error> {
        if let Some(path) = self.copied(enactment, requested)? {
            let what = Delivered::Path(path);
            return Ok(Some(item(enactment, requested, data, what)));
        }
        let Some(value) = self.values.value(enactment, &requested.source) else {
            return Ok(None);
        };
        let what = match &value {
            Value::Null => Delivered::Value(Value::Null),
            scalar if scalar.as_scalar().is_some() => Delivered::Value(value),
            _ => {
                let extension = extension(enactment, &requested.source, &value);
                let stem = stem(&requested.output, &requested.index);
                let written = self.write_at(&requested.output, &stem, &value, extension.as_deref());
                let path = match written {
                    Err(error) if is_changed(&error) => {
                        // Somebody wrote to it; whoever asks for it next makes it again.
                        let mut digests = Vec::new();
                        value.for_each_file(&mut |file| digests.push(file.digest));
                        self.values.fetcher.spoiled(&digests);
                        return Ok(None);
                    }
                    written => written?,
                };
                if let Some(product) = product(enactment, &requested.source)
                    && self.registry.codec(&value.value_type()).is_some()
                {
                    self.encoded.insert(product, path.clone());
                }
                Delivered::Path(path)
            }
        };
        Ok(Some(item(enactment, requested, data, what)))
    }

    /// Things worth telling.
    pub fn into_notes(self) -> Vec<String> {
        let told = |(output, (count, reason)): (Arc<str>, (usize, String))| {
            let values = if count == 1 { "value" } else { "values" };
            format!("output `{output}`: {count} {values} written as `.hwv`, because: {reason}")
        };
        self.refused.into_iter().map(told).collect()
    }

    /// Whether an item of a list becomes a file that others can read.
    fn is_written(&self, item: &Value) -> bool {
        match item {
            Value::File(_) | Value::Directory(_) => true,
            Value::List(items) => items.iter().any(|item| self.is_written(item)),
            other => self.registry.codec(&other.value_type()).is_some(),
        }
    }

    /// A copy of what was encoded before.
    fn copied(
        &self,
        enactment: &Enactment,
        requested: &Requested,
    ) -> Result<Option<PathBuf>, Error> {
        let product = product(enactment, &requested.source);
        let Some(before) = product.and_then(|product| self.encoded.get(&product)) else {
            return Ok(None);
        };
        let mut path = self
            .results
            .path()
            .join(stem(&requested.output, &requested.index));
        if let Some(extension) = before.extension() {
            path.as_mut_os_string().push(".");
            path.as_mut_os_string().push(extension);
        }
        let bytes = fs::read(before).map_err(|source| Error::io("cannot read", before, source))?;
        self.write(&path, &bytes)?;
        Ok(Some(path))
    }

    /// Where a file is, from the folder of results.
    fn name(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.results.path())
            .unwrap_or(path)
            .to_owned()
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.results.write(self.name(path), bytes).map(drop)
    }

    fn write_at(
        &mut self,
        output: &Arc<str>,
        stem: &str,
        value: &Value,
        extension: Option<&str>,
    ) -> Result<PathBuf, Error> {
        let folder = self.results.path();
        let named = |extension: Option<&str>| match extension {
            Some(extension) => folder.join(format!("{stem}.{extension}")),
            None => folder.join(stem),
        };
        match value {
            Value::File(_) => {
                let path = named(extension);
                self.results.claim([Claim::File(self.name(&path))])?;
                make_parent(&path)?;
                copy_value(value, &path)
                    .map_err(|source| Error::io("cannot write", &path, source))?;
                self.results.made([&*self.name(&path)]);
                Ok(path)
            }
            Value::Directory(directory) => {
                let path = named(None);
                let name = self.name(&path);
                let files = directory.entries.iter();
                let files = files.map(|entry| Claim::File(name.join(&*entry.path)));
                self.results
                    .claim(files.chain([Claim::Folder(name.clone())]))?;
                copy_value(value, &path)
                    .map_err(|source| Error::io("cannot write", &path, source))?;
                let files = directory.entries.iter();
                let files: Vec<PathBuf> = files.map(|entry| name.join(&*entry.path)).collect();
                self.results.made(files.iter().map(PathBuf::as_path));
                Ok(path)
            }
            Value::List(items)
                if items.is_empty() || items.iter().any(|item| self.is_written(item)) =>
            {
                for (position, item) in items.iter().enumerate() {
                    self.write_at(output, &format!("{stem}/{position}"), item, extension)?;
                }
                let path = named(None);
                self.results.claim([Claim::Folder(self.name(&path))])?;
                fs::create_dir_all(&path)
                    .map_err(|source| Error::io("cannot make folder", &path, source))?;
                Ok(path)
            }
            other => {
                let codec = self.registry.codec(&other.value_type());
                let codec = codec.and_then(|codec| Some((codec, codec.extensions.first()?)));
                let encoded = match codec.map(|(codec, written)| ((codec.encode)(other), written)) {
                    Some((Ok(bytes), extension)) => Some((bytes, extension.to_string())),
                    // Its format has no room for this kind of value.
                    Some((Err(OperationError::Input { .. }), _)) | None => None,
                    Some((Err(error), _)) => {
                        let reason = || (0, error.to_string());
                        let refused = self.refused.entry(Arc::clone(output));
                        refused.or_insert_with(reason).0 += 1;
                        None
                    }
                };
                let (bytes, extension) =
                    encoded.unwrap_or_else(|| (encode(other), "hwv".to_owned()));
                let path = named(Some(&extension));
                self.write(&path, &bytes)?;
                Ok(path)
            }
        }
    }
}

/// Whether a file was not written because its bytes are not those that were made.
fn is_changed(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::InvalidData)
}

/// Where what was asked for goes, without its extension.
fn stem(output: &str, index: &Index) -> String {
    // An output that is called like a file of ours gets a folder of its own.
    let reserved = ["failures", "inputs", "outputs", "report", "trace"].contains(&output);
    match (index.0.is_empty(), reserved) {
        (true, false) => output.to_owned(),
        (true, true) => format!("{output}/{output}"),
        (false, _) => format!("{output}/{index}"),
    }
}

fn make_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent)
            .map_err(|source| Error::io("cannot make folder", parent, source)),
        None => Ok(()),
    }
}

/// Which product a source is, if it is one.
fn product(enactment: &Enactment, source: &Source) -> Option<(Recipe, u16)> {
    match source {
        Source::Product { task, port } => Some((enactment.stored_as(*task), *port)),
        _ => None,
    }
}

/// An item of an output, with what it was made from.
fn item(enactment: &Enactment, requested: &Requested, data: &str, what: Delivered) -> OutputItem {
    let expander = enactment.expander();
    let origin = expander.map(|expander| expander.origin(data, &requested.index));
    let Ancestry { inputs, missing } = origin.unwrap_or_default();
    OutputItem {
        index: requested.index.clone(),
        what,
        from: inputs,
        values: Vec::new(),
        missing,
    }
}

/// What people call the inputs behind something: single values as they are, files and folders by their paths, from
/// `folder` where they lie below it.
pub fn values(
    enactment: &Enactment,
    inputs: &[(Arc<str>, Index)],
    folder: &Path,
) -> Vec<(Arc<str>, String)> {
    let Some(expander) = enactment.expander() else {
        return Vec::new();
    };
    let short = |path: &Path| {
        let inside = path.strip_prefix(folder).unwrap_or(path);
        inside.to_string_lossy().into_owned()
    };
    let told = |value: &Value| match value {
        Value::File(file) => file.handle.path().map(|path| short(path)),
        Value::Directory(directory) => directory.path.as_deref().map(short),
        other => other.as_scalar().map(|scalar| scalar.to_string()),
    };
    let values = expander.values(enactment.graph(), inputs).into_iter();
    values
        .filter_map(|(input, value)| Some((input, told(value)?)))
        .collect()
}

/// The extension that a file should have: as the operation names it, or as the original had it.
fn extension(enactment: &Enactment, source: &Source, value: &Value) -> Option<String> {
    match source {
        Source::Product { task, port } => {
            let operation = enactment.graph().operation_at(*task);
            let port = operation.signature.outputs.get(usize::from(*port))?;
            let Kind::Command(template) = &operation.kind else {
                // An item of a list is called as the items of the list are.
                let inputs = enactment.graph().inputs(*task);
                return match (&port.extension, inputs) {
                    (Some(extension), _) => Some(extension.to_string()),
                    (None, [(_, list)]) if operation.signature.implicit => {
                        extension(enactment, list, value)
                    }
                    _ => None,
                };
            };
            let output = template.outputs.get(&port.name)?;
            match &output.collect {
                Collect::Path(path) => last_literal(path).and_then(suffix),
                Collect::Glob(pattern) => suffix(pattern),
            }
        }
        Source::External(_) => match value {
            Value::File(file) => {
                let extension = file.handle.path()?.extension()?;
                Some(extension.to_string_lossy().into_owned())
            }
            _ => None,
        },
        Source::List(sources) => extension(enactment, sources.first()?, value),
        Source::Record(_) => None,
    }
}

fn last_literal(text: &Text) -> Option<&str> {
    match text.0.last()? {
        Part::Literal(literal) => Some(literal),
        Part::Placeholder(_) => None,
    }
}

fn suffix(name: &str) -> Option<String> {
    let (_, suffix) = name.rsplit('/').next()?.rsplit_once('.')?;
    let plain = !suffix.is_empty() && suffix.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| suffix.to_owned())
}

/// What was delivered, by output.
pub struct DeliveredAll {
    /// The items, in the order of their indices.
    pub outputs: BTreeMap<Arc<str>, Vec<OutputItem>>,
    /// What was made and could not be had, in words.
    pub missing: Vec<String>,
    /// Things worth telling.
    pub notes: Vec<String>,
}

/// Where outputs go.
enum Way<'a> {
    Files(Deliverer<'a>),
    Values(ValueReader<'a>),
}

impl Way<'_> {
    fn deliver(
        &mut self,
        enactment: &Enactment,
        requested: &Requested,
        data: &str,
    ) -> Result<Option<OutputItem>, Error> {
        match self {
            Way::Files(deliverer) => deliverer.deliver(enactment, requested, data),
            Way::Values(values) => {
                let value = values.value(enactment, &requested.source);
                let what = value.map(Delivered::Value);
                Ok(what.map(|what| item(enactment, requested, data, what)))
            }
        }
    }

    fn into_notes(self) -> Vec<String> {
        match self {
            Way::Files(deliverer) => deliverer.into_notes(),
            Way::Values(_) => Vec::new(),
        }
    }
}

/// Writes all outputs of a workflow into the folder of results, or without one gives them as values. Files that they were
/// made from are named from `current`.
pub fn deliver(
    enactment: &Enactment,
    loaded: &Loaded,
    current: &Path,
    fetcher: &StoreFetcher,
    results: Option<&ResultsFolder>,
) -> Result<DeliveredAll, Error> {
    let mut missing = Vec::new();
    let mut deliverer = match results {
        Some(results) => Way::Files(Deliverer::new(results, &loaded.registry, fetcher)),
        None => Way::Values(ValueReader::new(fetcher)),
    };
    let wanted = loaded.workflow.wanted();
    let mut outputs: BTreeMap<Arc<str>, Vec<OutputItem>> = wanted
        .iter()
        .map(|output| (Arc::clone(&output.name), Vec::new()))
        .collect();
    let data: BTreeMap<&Arc<str>, &Arc<str>> = wanted
        .iter()
        .map(|output| (&output.name, &output.data))
        .collect();
    for requested in enactment.requested() {
        let name = data.get(&requested.output).map_or("", |data| data);
        if let Some(mut item) = deliverer.deliver(enactment, requested, name)? {
            item.values = values(enactment, &item.from, current);
            outputs
                .entry(Arc::clone(&requested.output))
                .or_default()
                .push(item);
        } else if is_made(enactment, &requested.source) {
            let place = if requested.index.0.is_empty() {
                String::new()
            } else {
                format!("[{}]", requested.index)
            };
            missing.push(format!(
                "output `{}{place}` was made, but cannot be had from the store",
                requested.output
            ));
        }
    }
    outputs
        .values_mut()
        .for_each(|items| items.sort_by(|a, b| a.index.cmp(&b.index)));
    Ok(DeliveredAll {
        outputs,
        missing,
        notes: deliverer.into_notes(),
    })
}

/// Whether everything that a source consists of has ended well.
fn is_made(enactment: &Enactment, source: &Source) -> bool {
    let mut made = true;
    source.for_each_task(&mut |task| {
        let state = enactment.coordinator().state(task);
        made &= matches!(state, State::Done | State::Known);
    });
    made
}

/// All outputs as a table: a row per item, with how much is missing from the lists behind it, what it was made from
/// and what that is called.
pub fn table(outputs: &BTreeMap<Arc<str>, Vec<OutputItem>>, folder: &Path) -> String {
    let sources: BTreeSet<&Arc<str>> = outputs
        .values()
        .flatten()
        .flat_map(|item| item.from.iter().map(|(input, _)| input))
        .collect();
    let mut out = String::from("output,index,path,value,missing");
    for source in &sources {
        let _ = write!(out, ",{}", quoted(&format!("from {source}")));
    }
    let named: BTreeSet<&Arc<str>> = outputs
        .values()
        .flatten()
        .flat_map(|item| item.values.iter().map(|(input, _)| input))
        .collect();
    for input in &named {
        let _ = write!(out, ",{}", quoted(&format!("value of {input}")));
    }
    out.push('\n');
    for (name, items) in outputs {
        for item in items {
            let (path, value) = match &item.what {
                Delivered::Path(path) => (
                    path.strip_prefix(folder)
                        .unwrap_or(path)
                        .to_string_lossy()
                        .into_owned(),
                    String::new(),
                ),
                Delivered::Value(value) => (
                    String::new(),
                    value
                        .as_scalar()
                        .map(|scalar| scalar.to_string())
                        .unwrap_or_default(),
                ),
            };
            let _ = write!(
                out,
                "{},{},{},{},{}",
                quoted(name),
                item.index,
                quoted(&path),
                quoted(&value),
                item.missing
            );
            for source in &sources {
                let from = item.from.iter().filter(|(input, _)| input == *source);
                let indices: Vec<String> = from
                    .map(|(_, index)| {
                        if index.0.is_empty() {
                            "all".to_owned()
                        } else {
                            index.to_string()
                        }
                    })
                    .collect();
                let _ = write!(out, ",{}", indices.join(" "));
            }
            for input in &named {
                let value = item.values.iter().find(|(name, _)| name == *input);
                let _ = write!(
                    out,
                    ",{}",
                    value.map_or(String::new(), |(_, value)| quoted(value))
                );
            }
            out.push('\n');
        }
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// `outputs/last` points to the newest run.
pub fn link_last(folder: &Path) {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return;
    };
    let last = parent.join("last");
    let is_ours = fs::symlink_metadata(&last).map_or(true, |metadata| metadata.is_symlink());
    if is_ours {
        let fresh = parent.join(format!(".last-{}", name.to_string_lossy()));
        if std::os::unix::fs::symlink(name, &fresh).is_ok() && fs::rename(&fresh, &last).is_err() {
            let _ = fs::remove_file(&fresh);
        }
    }
}
