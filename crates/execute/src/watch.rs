//! Files that tasks read, and whether anybody has written to them meanwhile.
//!
//! Law: what a product was made from is what its recipe says. A file of the user has to be as it was when its
//! contents were digested (or when its name was taken for them: only its mark is looked at here), before a task that reads it and after it; a product only has to stay as it is while
//! a task reads it, since storing it gives it another name and another mode.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_graph::{Digest, Signature, Value};

use crate::pool::{Failure, FailureKind};

/// What the file system says of a file; it changes when somebody writes to the file or replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    /// The mark of the file at `path`, links followed.
    pub fn of(path: &Path) -> io::Result<Mark> {
        let found = fs::metadata(path)?;
        Ok(Mark {
            size: found.len(),
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// Without what another name or another mode changes.
    fn of_contents(self) -> Mark {
        Mark {
            changed: (0, 0),
            ..self
        }
    }
}

/// The files of the user that a run reads, as they were when they were digested.
#[derive(Debug, Clone, Default)]
pub struct Watched(HashMap<PathBuf, (Digest, Option<Mark>)>);

impl Watched {
    /// Remembers how the files of a value are now. One that is gone already has changed for good; one that was other
    /// contents before has changed for those who want these.
    pub fn add(&mut self, value: &Value) {
        value.for_each_file(&mut |file| {
            let Some(path) = file.handle.path() else {
                return;
            };
            let known = self.0.get(&**path);
            if known.is_none_or(|(digest, _)| *digest != file.digest) {
                let mark = Mark::of(path).ok();
                self.0.insert(path.to_path_buf(), (file.digest, mark));
            }
        });
    }

    /// Whether a file is the user's.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Looks at the inputs of a task that is about to start.
    pub(crate) fn before<'a>(
        &'a self,
        signature: &'a Signature,
        inputs: &'a [Value],
    ) -> Result<Reading<'a>, Failure> {
        let mut products = Vec::new();
        let mut wrong = None;
        for (port, value) in signature.inputs.iter().zip(inputs) {
            value.for_each_file(&mut |file| {
                let Some(path) = file.handle.path() else {
                    return;
                };
                let now = Mark::of(path).ok();
                match self.0.get(&**path) {
                    Some((digest, mark))
                        if now.is_none() || now != *mark || *digest != file.digest =>
                    {
                        let message = format!("`{}` changed since the run began", path.display());
                        wrong.get_or_insert(message);
                    }
                    Some(_) => {}
                    None if now.is_none_or(|now| now.size != file.size) => {
                        let message = format!("`{}` is no longer what was made", port.name);
                        wrong.get_or_insert(message);
                    }
                    None => products.push((&*port.name, &**path, now.map(Mark::of_contents))),
                }
            });
        }
        match wrong {
            Some(message) => Err(Failure::new(FailureKind::Input, message)),
            None => Ok(Reading {
                watched: self,
                inputs,
                products,
            }),
        }
    }
}

/// The files that a task reads, as they were before it.
pub(crate) struct Reading<'a> {
    watched: &'a Watched,
    inputs: &'a [Value],
    products: Vec<(&'a str, &'a Path, Option<Mark>)>,
}

impl Reading<'_> {
    /// Looks again when the task has ended.
    pub(crate) fn after(&self) -> Result<(), Failure> {
        let mut wrong = None;
        for value in self.inputs {
            value.for_each_file(&mut |file| {
                if let Some(path) = file.handle.path()
                    && let Some((_, mark)) = self.watched.0.get(&**path)
                    && Mark::of(path).ok() != *mark
                {
                    wrong.get_or_insert(format!(
                        "`{}` changed while the task ran; inputs are only there to be read",
                        path.display()
                    ));
                }
            });
        }
        for (port, path, before) in &self.products {
            if Mark::of(path).ok().map(Mark::of_contents) != *before {
                wrong.get_or_insert(format!("`{port}` changed while the task ran"));
            }
        }
        wrong.map_or(Ok(()), |message| {
            Err(Failure::new(FailureKind::Input, message))
        })
    }
}
