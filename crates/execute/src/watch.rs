//! Files that tasks read, and whether anybody has written to them meanwhile.
//!
//! Law: what a product was made from is what its recipe says. A file of the user has to be what it was when its
//! contents were digested (or look as it did when its name was taken for them), before a task that reads it and after
//! it. A product has to be what was made; one that is not is made again.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use headwater_graph::{
    Digest, DirectoryValue, Failure, FailureKind, FileDigest, FileValue, Handle, Mark, Signature,
    Value,
};

use crate::proof::{Look, Proven, Shelter, mark_at, mark_of, read_digest, shows_writes};

/// A product whose bytes are not those that were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spoiled {
    pub(crate) path: PathBuf,
    /// The bytes that were made.
    pub(crate) digest: Digest,
    /// For people.
    pub(crate) message: String,
}

/// Why a task cannot be given what it reads.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A file that nobody here can make is not what it was.
    Changed(Failure),
    /// A product has to be made again first.
    Spoiled(Spoiled),
}

/// The files of the user that a run reads, as they were when they were digested.
#[derive(Debug, Clone, Default)]
pub struct Watched(HashMap<PathBuf, Known>);

/// What was known of a file when the run began.
#[derive(Debug, Clone, Copy)]
struct Known {
    digest: Digest,
    /// What it looked like, and its mode; `None` if it was gone already.
    found: Option<(Mark, u32)>,
}

impl Watched {
    /// Remembers how a file was when it was digested. Looking at it only later would take what somebody put in its place
    /// meanwhile for what was digested.
    pub fn digested(&mut self, path: &Path, file: &FileDigest) {
        let known = Known {
            digest: file.digest,
            found: Some((file.mark, file.mode)),
        };
        self.0.insert(path.to_path_buf(), known);
    }

    /// Remembers how the files of a directory were when they were digested.
    pub fn digested_directory(&mut self, directory: &DirectoryValue, files: &[FileDigest]) {
        for (entry, file) in directory.entries.iter().zip(files) {
            if let Some(path) = entry.file.handle.path() {
                self.digested(path, file);
            }
        }
    }

    /// Remembers how those files of a value are now that nobody has digested: they are known by their names. One that is
    /// gone already has changed for good.
    pub fn add(&mut self, value: &Value) {
        value.for_each_file(&mut |file| {
            let Some(path) = file.handle.path() else {
                return;
            };
            let known = self.0.get(&**path);
            if known.is_none_or(|known| known.digest != file.digest) {
                let found = fs::metadata(path).ok();
                let known = Known {
                    digest: file.digest,
                    found: found.map(|found| (mark_of(&found), found.mode() & 0o777)),
                };
                self.0.insert(path.to_path_buf(), known);
            }
        });
    }

    /// Whether a file is the user's.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// The mode of a file of the user when the run began.
    pub(crate) fn mode(&self, path: &Path) -> Option<u32> {
        self.0.get(path)?.found.map(|(_, mode)| mode)
    }

    /// Whether a file of the user is what it was: it looks the same, or its bytes were read again and are the same.
    /// Of a file that is known by its name nobody knows the bytes.
    pub(crate) fn is_as_it_was(&self, file: &FileValue, path: &Path, shelter: Shelter) -> bool {
        let Some(known) = self.0.get(path) else {
            return false;
        };
        let now = mark_at(path).ok();
        if known.digest != file.digest || now.is_none() {
            return false;
        }
        let is_named = matches!(file.handle, Handle::Named { .. });
        let shows = || shelter == Shelter::Sheltered || shows_writes(path);
        now == known.found.map(|(mark, _)| mark) && (is_named || shows())
            || !is_named && read_digest(path).is_ok_and(|(found, _)| found == file.digest)
    }

    /// Looks at the inputs of a native task that is about to start.
    pub(crate) fn before<'a>(
        &'a self,
        signature: &'a Signature,
        inputs: &'a [Value],
        shelter: Shelter,
    ) -> Result<Reading<'a>, Trouble> {
        let (mut trouble, mut looks) = (None, Vec::new());
        for (port, value) in signature.inputs.iter().zip(inputs) {
            value.for_each_file(&mut |file| {
                let Some(path) = file.handle.path() else {
                    return;
                };
                if trouble.is_some() {
                    return;
                }
                if self.holds(file, path, shelter)
                    && let Ok(look) = Look::at(path)
                {
                    looks.push(look);
                    return;
                }
                trouble = Some(if self.has(path) {
                    let message = format!("`{}` changed since the run began", path.display());
                    Trouble::Changed(Failure::new(FailureKind::Input, message))
                } else {
                    Trouble::Spoiled(Spoiled {
                        path: path.to_path_buf(),
                        digest: file.digest,
                        message: format!("`{}` is no longer what was made", port.name),
                    })
                });
            });
        }
        match trouble {
            Some(trouble) => Err(trouble),
            None => Ok(Reading {
                watched: self,
                signature,
                inputs,
                shelter,
                looks,
            }),
        }
    }

    fn holds(&self, file: &FileValue, path: &Path, shelter: Shelter) -> bool {
        if self.has(path) {
            self.is_as_it_was(file, path, shelter)
        } else {
            Proven::here().holds(path, &file.digest, file.size, shelter)
        }
    }
}

/// The files that a native task reads.
pub(crate) struct Reading<'a> {
    watched: &'a Watched,
    signature: &'a Signature,
    inputs: &'a [Value],
    shelter: Shelter,
    /// What the files looked like before it, in their order.
    looks: Vec<Look>,
}

impl Reading<'_> {
    /// Looks again when the task has ended.
    pub(crate) fn after(&self) -> (Option<Failure>, Vec<Spoiled>) {
        let mut message = None;
        let mut spoiled = Vec::new();
        let mut looks = self.looks.iter();
        for (port, value) in self.signature.inputs.iter().zip(self.inputs) {
            value.for_each_file(&mut |file| {
                let Some(path) = file.handle.path() else {
                    return;
                };
                let written = looks.next().is_none_or(|look| look.was_changed(path));
                let is_right = self.watched.holds(file, path, self.shelter);
                if is_right && !written {
                    return;
                }
                if self.watched.has(path) {
                    message.get_or_insert(changed(&format!("`{}`", path.display())));
                    return;
                }
                let said = changed(&format!("`{}`", port.name));
                if !is_right {
                    spoiled.push(Spoiled {
                        path: path.to_path_buf(),
                        digest: file.digest,
                        message: said.clone(),
                    });
                }
                message.get_or_insert(said);
            });
        }
        let failure = message.map(|message| Failure::new(FailureKind::Input, message));
        (failure, spoiled)
    }
}
/// That an input changed, in words.
pub(crate) fn changed(what: &str) -> String {
    format!("{what} changed while the task ran; inputs are only there to be read")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Between reading the first of many files and the first task there is time to replace it.
    #[test]
    fn a_file_replaced_after_it_was_digested_is_not_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        let replacements: [(&str, &dyn Fn()); 2] = [
            ("written to", &|| fs::write(&path, "evil").unwrap()),
            ("replaced", &|| {
                fs::write(folder.path().join("other"), "evil").unwrap();
                fs::rename(folder.path().join("other"), &path).unwrap();
            }),
        ];
        for (how, replace) in replacements {
            fs::write(&path, "good").unwrap();
            let (digest, mark) = read_digest(&path).unwrap();
            let found = FileDigest {
                digest,
                mark,
                mode: 0o644,
            };
            let file = FileValue {
                digest,
                size: 4,
                name: None,
                executable: false,
                handle: Handle::Path(path.as_path().into()),
            };
            replace();
            let mut watched = Watched::default();
            watched.digested(&path, &found);
            watched.add(&Value::File(Arc::new(file.clone())));
            assert!(
                !watched.is_as_it_was(&file, &path, Shelter::Sheltered),
                "{how}"
            );
            fs::write(&path, "good").unwrap();
            assert!(
                watched.is_as_it_was(&file, &path, Shelter::Sheltered),
                "{how}, and the bytes are back"
            );
        }
    }
}
