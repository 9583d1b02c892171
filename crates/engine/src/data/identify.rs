//! What the items of a run are: files and folders by their contents.
//!
//! Law: each file is digested once. What it looked like then is noted together with its digest, so that whoever reads it
//! later sees whether it is still the file that was digested.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_enact::{Column, DataItem, DataSet};
use headwater_execute::Watched;
use headwater_graph::{FileValue, Handle, Identity, Store, Value};
use headwater_remember::named_directory;

use super::{Draft, DraftColumn};
use crate::Error;

/// Digests all files that are known by their contents, each once, and gives every item its identity.
pub(super) fn identify(
    columns: Vec<DraftColumn>,
    files: &[PathBuf],
    store: &dyn Store,
    threads: usize,
    watched: &mut Watched,
) -> Result<DataSet, Error> {
    let digests = store.digest_files(files, threads)?;
    for (path, digest) in files.iter().zip(&digests) {
        watched.digested(path, digest);
    }
    let file = |position: usize| {
        let found = &digests[position];
        Value::File(Arc::new(FileValue {
            digest: found.digest,
            size: found.mark.size,
            name: None,
            executable: false,
            handle: Handle::Path(files[position].as_path().into()),
        }))
    };
    let mut data_set = DataSet::default();
    for column in columns {
        let mut items = Vec::new();
        for draft in &column.items {
            let value = finish(draft, &file, store, watched)?;
            watched.add(&value);
            items.push((!matches!(draft, Draft::Nothing)).then(|| DataItem {
                identity: Identity::of(&value),
                value,
            }));
        }
        data_set.columns.push(Column {
            input: column.input,
            source: column.source,
            items,
            single: column.single,
        });
    }
    Ok(data_set)
}

fn finish(
    draft: &Draft,
    file: &dyn Fn(usize) -> Value,
    store: &dyn Store,
    watched: &mut Watched,
) -> Result<Value, Error> {
    Ok(match draft {
        Draft::Nothing => Value::Null,
        Draft::Scalar(scalar) => scalar.clone().into(),
        Draft::Value(value) => value.clone(),
        Draft::File(position) => file(*position),
        Draft::Directory(path) => {
            let (directory, files) = store.digest_directory(path)?;
            watched.digested_directory(&directory, &files);
            Value::Directory(directory)
        }
        Draft::Named {
            path,
            name,
            folder: true,
        } => Value::Directory(named_directory(path, name)?),
        Draft::Named {
            path,
            name,
            folder: false,
        } => {
            let found =
                std::fs::metadata(path).map_err(|source| Error::io("cannot find", path, source))?;
            Value::File(Arc::new(FileValue::known_by_name(name, path, found.len())))
        }
        Draft::List(items) => {
            let items: Result<Vec<Value>, Error> = items
                .iter()
                .map(|item| finish(item, file, store, watched))
                .collect();
            Value::List(items?.into())
        }
    })
}
