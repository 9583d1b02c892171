//! Writing outputs where the user finds them.
//!
//! Law: outputs are copies, so nothing that happens to the store touches them; nothing that was there before
//! is overwritten, since every run has a folder of its own. `<output>/<index>.<extension>`, or
//! `<output>.<extension>` for an output that is there once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_enact::{Enactment, Requested, State};
use headwater_execute::{Fetch, Fetched, Ports, copy_value};
use headwater_graph::{Collect, Index, Kind, Part, Registry, Source, TaskId, Text, Value, encode};

use crate::Error;
use crate::fetch::StoreFetcher;
use crate::plan::Prepared;
use crate::{Delivered, OutputItem, RunRequest};

/// Writes outputs below a folder.
pub(crate) struct Deliverer<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) registry: &'a Registry,
    pub(crate) fetcher: &'a StoreFetcher,
    /// The task whose outputs were fetched last, and those outputs.
    pub(crate) last: Option<(TaskId, Option<Fetched>)>,
}

impl Deliverer<'_> {
    /// Writes one output; `None` if its value is not there (it failed, or was not made).
    pub(crate) fn deliver(
        &mut self,
        enactment: &Enactment,
        requested: &Requested,
        data: &str,
    ) -> Result<Option<OutputItem>, Error> {
        let Some(value) = self.value(enactment, &requested.source) else {
            return Ok(None);
        };
        let from = enactment
            .expander()
            .map(|expander| expander.ancestry(data, &requested.index))
            .unwrap_or_default();
        let what = match &value {
            Value::Null => Delivered::Value(Value::Null),
            scalar if scalar.as_scalar().is_some() => Delivered::Value(value),
            _ => {
                let extension = extension(enactment, &requested.source, &value);
                Delivered::Path(self.write(
                    &requested.output,
                    &requested.index,
                    &value,
                    extension,
                )?)
            }
        };
        Ok(Some(OutputItem {
            index: requested.index.clone(),
            what,
            from,
        }))
    }

    fn value(&mut self, enactment: &Enactment, source: &Source) -> Option<Value> {
        match source {
            Source::External(position) => {
                Some(enactment.graph().external_at(*position).value.clone())
            }
            Source::Product { task, port } => {
                if self.last.as_ref().is_none_or(|(last, _)| last != task) {
                    let recipe = enactment.stored_as(*task);
                    let fetched = self.fetcher.fetch(&recipe, &Ports::default());
                    self.last = Some((*task, fetched));
                }
                let fetched = self.last.as_ref()?.1.as_ref()?;
                let value = fetched.outputs.get(usize::from(*port)).cloned();
                value.filter(|_| !fetched.absent.contains(port))
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

    fn write(
        &self,
        output: &Arc<str>,
        index: &Index,
        value: &Value,
        extension: Option<String>,
    ) -> Result<PathBuf, Error> {
        // An output that is called like a file of ours gets a folder of its own.
        let reserved = ["failures", "inputs", "outputs", "trace"].contains(&&**output);
        let stem = match (index.0.is_empty(), reserved) {
            (true, false) => output.to_string(),
            (true, true) => format!("{output}/{output}"),
            (false, _) => format!("{output}/{index}"),
        };
        self.write_at(&stem, value, extension.as_deref())
    }

    fn write_at(
        &self,
        stem: &str,
        value: &Value,
        extension: Option<&str>,
    ) -> Result<PathBuf, Error> {
        let named = |extension: Option<&str>| match extension {
            Some(extension) => self.folder.join(format!("{stem}.{extension}")),
            None => self.folder.join(stem),
        };
        let make_parent = |path: &Path| match path.parent() {
            Some(parent) => fs::create_dir_all(parent)
                .map_err(|source| Error::io("cannot make folder", parent, source)),
            None => Ok(()),
        };
        match value {
            Value::File(_) => {
                let path = named(extension);
                make_parent(&path)?;
                copy_value(value, &path)
                    .map_err(|source| Error::io("cannot write", &path, source))?;
                Ok(path)
            }
            Value::Directory(_) => {
                let path = named(None);
                copy_value(value, &path)
                    .map_err(|source| Error::io("cannot write", &path, source))?;
                Ok(path)
            }
            Value::List(items)
                if items.is_empty()
                    || items
                        .iter()
                        .any(|item| matches!(item, Value::File(_) | Value::Directory(_))) =>
            {
                for (position, item) in items.iter().enumerate() {
                    self.write_at(&format!("{stem}/{position}"), item, extension)?;
                }
                let path = named(None);
                fs::create_dir_all(&path)
                    .map_err(|source| Error::io("cannot make folder", &path, source))?;
                Ok(path)
            }
            other => {
                let codec = self.registry.codec(&other.value_type());
                let encoded = codec.and_then(|codec| {
                    Some(((codec.encode)(other).ok()?, codec.extensions.first()?))
                });
                let (bytes, extension) = match encoded {
                    Some((bytes, extension)) => (bytes, extension.to_string()),
                    None => (encode(other), "hwv".to_owned()),
                };
                let path = named(Some(&extension));
                make_parent(&path)?;
                fs::write(&path, bytes)
                    .map_err(|source| Error::io("cannot write", &path, source))?;
                Ok(path)
            }
        }
    }
}

/// The extension that a file should have: as the operation names it, or as the original had it.
fn extension(enactment: &Enactment, source: &Source, value: &Value) -> Option<String> {
    match source {
        Source::Product { task, port } => {
            let operation = enactment.graph().operation_at(*task);
            let Kind::Command(template) = &operation.kind else {
                return None;
            };
            let output = template
                .outputs
                .get(&operation.signature.outputs.get(usize::from(*port))?.name)?;
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
pub(crate) struct DeliveredAll {
    pub(crate) outputs: BTreeMap<Arc<str>, Vec<OutputItem>>,
    /// What was made and could not be had, in words.
    pub(crate) missing: Vec<String>,
}

pub(crate) fn deliver(
    prepared: &Prepared,
    fetcher: &StoreFetcher,
    folder: &Path,
) -> Result<DeliveredAll, Error> {
    let mut missing = Vec::new();
    let mut deliverer = Deliverer {
        folder,
        registry: &prepared.loaded.registry,
        fetcher,
        last: None,
    };
    let wanted = prepared.loaded.workflow.wanted();
    let mut outputs: BTreeMap<Arc<str>, Vec<OutputItem>> = wanted
        .iter()
        .map(|output| (Arc::clone(&output.name), Vec::new()))
        .collect();
    let data: BTreeMap<&Arc<str>, &Arc<str>> = wanted
        .iter()
        .map(|output| (&output.name, &output.data))
        .collect();
    for requested in prepared.enactment.requested() {
        let name = data.get(&requested.output).map_or("", |data| data);
        if let Some(item) = deliverer.deliver(&prepared.enactment, requested, name)? {
            outputs
                .entry(Arc::clone(&requested.output))
                .or_default()
                .push(item);
        } else if is_made(&prepared.enactment, &requested.source) {
            let place = match requested.index.0.is_empty() {
                true => String::new(),
                false => format!("[{}]", requested.index),
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
    Ok(DeliveredAll { outputs, missing })
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

/// All outputs as a table: a row per item, with what it was made from.
pub(crate) fn table(outputs: &BTreeMap<Arc<str>, Vec<OutputItem>>, folder: &Path) -> String {
    let sources: BTreeSet<&Arc<str>> = outputs
        .values()
        .flatten()
        .flat_map(|item| item.from.iter().map(|(input, _)| input))
        .collect();
    let mut out = String::from("output,index,path,value");
    for source in &sources {
        let _ = write!(out, ",{}", quoted(&format!("from {source}")));
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
                "{},{},{},{}",
                quoted(name),
                item.index,
                quoted(&path),
                quoted(&value)
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
pub(crate) fn link_last(folder: &Path, request: &RunRequest) {
    if request.outputs.is_some() {
        return;
    }
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
