//! Files that native operations read, and those that they give.
//!
//! Law: a file that an operation gives is what it says it is: its digest is found out here, whatever the
//! operation put there. A file in the operation's own folder is taken away from it, so that nobody writes to it
//! any more, and the folder goes; a file elsewhere is left where it is.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_graph::{
    DirectoryEntry, DirectoryValue, FileValue, Handle, OperationError, Outputs, ReadFile, ReadSeek,
    Signature, Type, Value,
};

use crate::folder::{FolderError, said, staged_value};
use crate::held::speaks_of_files;
use crate::system::open_to_read;

/// A number is given out once in a process.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// Whether a value of this type may hold files.
fn may_hold_files(port_type: &Type) -> bool {
    match port_type {
        Type::Any | Type::File | Type::Directory | Type::Record => true,
        Type::List(element) => may_hold_files(element),
        _ => false,
    }
}

/// The folder of one attempt at a native operation; it goes when this does.
pub(crate) struct Scratch(Option<PathBuf>);

impl Scratch {
    /// A folder below `parent` for an operation that may give files. It is not made.
    pub(crate) fn new(parent: &Path, signature: &Signature) -> Scratch {
        let gives_files = |port: &headwater_graph::Port| may_hold_files(&port.port_type);
        let folder = signature.outputs.iter().any(gives_files).then(|| {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            parent.join(format!("native-{number}"))
        });
        Scratch(folder)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        self.0.as_ref()
    }

    /// The outputs with their files as they are: those in the folder are moved to where `stage` says.
    pub(crate) fn taken(
        &self,
        signature: &Signature,
        outputs: Outputs,
        stage: &dyn Fn() -> PathBuf,
    ) -> Result<Outputs, FolderError> {
        let ports = signature.outputs.iter();
        let taken = ports.zip(outputs).map(|(port, value)| {
            if !speaks_of_files(&value) {
                return Ok(value);
            }
            self.value(value, stage)
                .map_err(|error| FolderError(format!("output `{}`: {}", port.name, error.0)))
        });
        taken.collect()
    }

    fn value(&self, value: Value, stage: &dyn Fn() -> PathBuf) -> Result<Value, FolderError> {
        Ok(match value {
            Value::File(file) => Value::File(match self.file(&file, stage)? {
                Some(taken) => Arc::new(taken),
                None => file,
            }),
            Value::Directory(directory) => {
                let entry = |entry: &DirectoryEntry| {
                    let taken = self.file(&entry.file, stage)?;
                    Ok(DirectoryEntry {
                        file: taken.unwrap_or_else(|| entry.file.clone()),
                        ..entry.clone()
                    })
                };
                let entries: Result<Vec<_>, FolderError> =
                    directory.entries.iter().map(entry).collect();
                let own =
                    |path: &Arc<Path>| self.0.as_ref().is_some_and(|own| path.starts_with(own));
                Value::Directory(DirectoryValue {
                    entries: entries?.into(),
                    path: directory.path.filter(|path| !own(path)),
                    name: directory.name,
                })
            }
            Value::List(items) => {
                let items = items.iter().map(|item| self.value(item.clone(), stage));
                Value::List(items.collect::<Result<Vec<_>, FolderError>>()?.into())
            }
            Value::Record(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, field)| Ok((Arc::clone(name), self.value(field.clone(), stage)?)));
                Value::Record(Arc::new(fields.collect::<Result<_, FolderError>>()?))
            }
            other => other,
        })
    }

    /// The file as it is, where that had to be found out.
    fn file(
        &self,
        file: &FileValue,
        stage: &dyn Fn() -> PathBuf,
    ) -> Result<Option<FileValue>, FolderError> {
        let path = match &file.handle {
            Handle::Memory(bytes) => {
                return Ok(Some(FileValue {
                    name: file.name.clone(),
                    executable: file.executable,
                    ..FileValue::of_bytes(Arc::clone(bytes))
                }));
            }
            Handle::Path(path) => path,
            Handle::Named { .. } | Handle::Stored => return Ok(None),
        };
        let Some(name) = self.0.as_ref().and_then(|own| path.strip_prefix(own).ok()) else {
            return Ok(None);
        };
        if !name
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err(FolderError(format!(
                "`{}` is not a file of the operation's own folder",
                name.display()
            )));
        }
        let is_file = fs::symlink_metadata(path).map(|found| found.is_file());
        if !is_file.is_ok_and(|is_file| is_file) {
            return Err(FolderError(format!(
                "the operation wrote no file `{}`",
                name.display()
            )));
        }
        let staged = stage();
        let moved = staged
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::rename(path, &staged));
        moved.map_err(|error| said("cannot move", path, &error))?;
        Ok(Some(FileValue {
            name: file.name.clone(),
            executable: file.executable,
            ..staged_value(&staged)?
        }))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // Most operations never make it; what cannot be removed goes with the run.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Reads files by path.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainFiles;

fn path_of(file: &FileValue) -> Result<&Path, OperationError> {
    let path = file.handle.path().map(|path| &**path);
    path.ok_or_else(|| OperationError::Failed("the file is not here".to_owned()))
}

fn failed(path: &Path, error: &io::Error) -> OperationError {
    OperationError::Failed(format!("{}: {error}", path.display()))
}

impl ReadFile for PlainFiles {
    fn read_file(&self, file: &FileValue) -> Result<Vec<u8>, OperationError> {
        if let Handle::Memory(bytes) = &file.handle {
            return Ok(bytes.to_vec());
        }
        let path = path_of(file)?;
        let mut bytes = Vec::new();
        open_to_read(path)
            .and_then(|mut opened| opened.read_to_end(&mut bytes))
            .map_err(|error| failed(path, &error))?;
        Ok(bytes)
    }

    fn open_file(&self, file: &FileValue) -> Result<Box<dyn ReadSeek>, OperationError> {
        if let Handle::Memory(bytes) = &file.handle {
            return Ok(Box::new(io::Cursor::new(bytes.to_vec())));
        }
        let path = path_of(file)?;
        let opened = open_to_read(path).map_err(|error| failed(path, &error))?;
        let size = opened
            .metadata()
            .map_err(|error| failed(path, &error))?
            .len();
        if size != file.size {
            let message = format!(
                "{} has {size} bytes now, but had {} bytes when it was first read",
                path.display(),
                file.size
            );
            return Err(OperationError::Failed(message));
        }
        Ok(Box::new(opened))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_graph::{Context, Digest};

    struct Case {
        folder: tempfile::TempDir,
        scratch: Scratch,
        signature: Signature,
    }

    impl Case {
        fn new() -> Case {
            let folder = tempfile::tempdir().expect("a folder");
            let signature = Signature::new("op", "1").output("any", Type::Any);
            let scratch = Scratch::new(&folder.path().join("scratch"), &signature);
            fs::create_dir_all(scratch.path().expect("a path")).expect("a folder");
            Case {
                folder,
                scratch,
                signature,
            }
        }

        fn write(&self, name: &str) {
            let path = self.scratch.path().expect("a path").join(name);
            fs::write(path, name).expect("a file");
        }

        fn given(&self, name: &str) -> FileValue {
            let context = Context {
                scratch: self.scratch.path().cloned(),
                ..Context::default()
            };
            match context.give_file(name) {
                Ok(Value::File(file)) => (*file).clone(),
                other => panic!("{other:?}"),
            }
        }

        fn taken(&self, value: Value) -> Result<Value, String> {
            let staged = self.folder.path().join("staged");
            let number = std::cell::Cell::new(0);
            let stage = || {
                number.set(number.get() + 1);
                staged.join(number.get().to_string())
            };
            let taken = self.scratch.taken(&self.signature, vec![value], &stage);
            taken
                .map(|mut outputs| outputs.remove(0))
                .map_err(|error| error.0)
        }
    }

    #[test]
    fn only_operations_that_may_give_files_have_a_folder() {
        let of = |port_type: Type| {
            let signature = Signature::new("op", "1").output("out", port_type);
            Scratch::new(Path::new("scratch"), &signature)
                .path()
                .is_some()
        };
        assert!(of(Type::File) && of(Type::File.list().list()) && of(Type::Record));
        assert!(!of(Type::Image) && !of(Type::Int.list()));
    }

    #[test]
    fn files_are_taken_out_of_directories_lists_and_records() {
        let case = Case::new();
        for name in ["one", "two", "three", "rest"] {
            case.write(name);
        }
        let entry = DirectoryEntry {
            path: "below/one".into(),
            executable: true,
            file: case.given("one"),
        };
        let directory = Value::Directory(DirectoryValue {
            entries: vec![entry].into(),
            path: case.scratch.path().map(|path| path.as_path().into()),
            name: None,
        });
        let list = Value::List(vec![Value::File(Arc::new(case.given("two")))].into());
        let record = [("three".into(), Value::File(Arc::new(case.given("three"))))];
        let record = Value::Record(Arc::new(record.into_iter().collect()));
        let all = Value::List(vec![directory, list, record].into());
        let taken = case.taken(all).expect("they are there");
        let own = case.scratch.path().cloned().expect("a path");
        let Case {
            scratch, folder, ..
        } = case;
        drop(scratch);
        assert!(!own.exists(), "the folder is gone, and what was not given");
        let mut found = Vec::new();
        taken.for_each_file(&mut |file| {
            let path = file.handle.path().expect("a path");
            let text = fs::read_to_string(path).expect("it is there");
            assert_eq!(file.digest, Digest::of(text.as_bytes()));
            assert_eq!(file.size, text.len() as u64);
            found.push(text);
        });
        assert_eq!(found, ["one", "two", "three"]);
        drop(folder);
    }

    #[test]
    fn what_is_not_the_operations_own_file_is_not_taken() {
        let case = Case::new();
        let elsewhere = case.folder.path().join("elsewhere");
        fs::write(&elsewhere, "elsewhere").expect("a file");
        let own = case.scratch.path().cloned().expect("a path");
        fs::create_dir(own.join("folder")).expect("a folder");
        std::os::unix::fs::symlink(&elsewhere, own.join("link")).expect("a link");
        for (name, expected) in [
            (
                "../../elsewhere",
                "`../../elsewhere` is not a file of the operation's own folder",
            ),
            ("none", "the operation wrote no file `none`"),
            ("folder", "the operation wrote no file `folder`"),
            ("link", "the operation wrote no file `link`"),
        ] {
            // As `give_file` makes them, which refuses the first of these itself.
            let value = FileValue {
                handle: Handle::Path(own.join(name).into()),
                ..case.given("none")
            };
            let taken = case.taken(Value::File(Arc::new(value)));
            assert_eq!(taken, Err(format!("output `any`: {expected}")));
        }
        for name in ["../../elsewhere", "/elsewhere", ""] {
            let context = Context {
                scratch: Some(own.clone()),
                ..Context::default()
            };
            assert!(context.give_file(name).is_err(), "{name}");
        }
        assert!(elsewhere.exists());
        let known = FileValue {
            handle: Handle::Path(elsewhere.as_path().into()),
            ..FileValue::of_bytes(*b"elsewhere")
        };
        let taken = case
            .taken(Value::File(Arc::new(known)))
            .expect("it is there");
        let Value::File(taken) = taken else {
            panic!("{taken:?}");
        };
        assert_eq!(taken.handle.path().map(|path| &**path), Some(&*elsewhere));
    }

    #[test]
    fn a_file_is_opened_only_if_it_has_the_size_that_it_had() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "12345").expect("a file");
        let file = FileValue {
            handle: Handle::Path(path.as_path().into()),
            ..FileValue::of_bytes(*b"12345")
        };
        assert!(PlainFiles.open_file(&file).is_ok());
        fs::write(&path, "1234").expect("a file");
        let Err(error) = PlainFiles.open_file(&file) else {
            panic!("it is another file");
        };
        assert!(
            error.to_string().contains("has 4 bytes now, but had 5"),
            "{error}"
        );
    }
}
