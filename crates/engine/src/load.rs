//! From a workflow file to a workflow whose operations have their versions.
//!
//! Law: the version of a program covers its template, the files it `uses`, which of them may be executed, and what
//! its version command prints, so that a change of any of them is a change of the recipe. A run works with copies of these files,
//! which are what was digested.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use headwater_enact::{OpenError, ShapeError};
use headwater_graph::{
    CommandTemplate, Diagnostic, Digest, Kind, Operation, Place, Registry, Severity, Span, Store,
    Threads, UsedFile, VersionParts, VersionSource, Workflow,
};

use crate::sources::{WorkflowSource, named};
use crate::{Error, uses};

/// A workflow file that can be run.
#[derive(Debug)]
pub struct Loaded {
    /// What it says.
    pub workflow: Arc<Workflow>,
    /// Libraries' operations and its own.
    pub registry: Registry,
    /// Where it is.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the parts of the workflow stand in the file.
    pub places: BTreeMap<Place, Span>,
    /// What has to be copied before a task can run.
    pub copies: Vec<UsedCopy>,
    /// What the versions of its programs stand for.
    pub versions: Vec<Version>,
}

/// A version and its parts, as label and text.
pub type Version = (Arc<str>, VersionParts);

/// A file that programs use, and where the run has its own copy of it.
#[derive(Debug)]
pub struct UsedCopy {
    name: Arc<str>,
    from: PathBuf,
    to: PathBuf,
    digest: Digest,
    executable: bool,
}

impl UsedCopy {
    /// Makes the copy, read-only, and looks whether it is what was digested.
    pub fn make(&self, store: Option<&dyn Store>) -> Result<(), Error> {
        if let Some(parent) = self.to.parent() {
            fs::create_dir_all(parent)
                .map_err(|source| Error::io("cannot make folder", parent, source))?;
        }
        fs::copy(&self.from, &self.to)
            .map_err(|source| Error::io("cannot copy", &self.from, source))?;
        let copied = fs::metadata(&self.to).and_then(|found| {
            let mode = if self.executable { 0o555 } else { 0o444 };
            fs::set_permissions(&self.to, fs::Permissions::from_mode(mode))?;
            Ok(is_executable(&found) == self.executable)
        });
        let is_same =
            copied.map_err(|source| Error::io("cannot make read-only", &self.to, source))?;
        if is_same && digests(std::slice::from_ref(&self.to), store)? == [self.digest] {
            return Ok(());
        }
        Err(Error::usage(
            format!(
                "`{}` changed while the run was starting; give the command again",
                self.name
            ),
            None,
        ))
    }
}

impl Loaded {
    /// Copies the files that programs use to where the operations expect them.
    pub fn copy_used(&self, store: &dyn Store) -> Result<(), Error> {
        let mut copies = self.copies.iter();
        copies.try_for_each(|copy| copy.make(Some(store)))
    }

    /// Mistakes that showed when the workflow met its data, at their places in the file.
    pub fn mistakes(&self, errors: &[OpenError]) -> Error {
        let mut diagnostics = Vec::new();
        for error in errors {
            let candidates = match error {
                OpenError::Shape(ShapeError::Missing { input }) => {
                    vec![Place::Input(Arc::clone(input))]
                }
                OpenError::Shape(ShapeError::Parameter { parameter }) => {
                    vec![Place::Parameter(Arc::clone(parameter))]
                }
                OpenError::Shape(shape) => shape.stage().map_or(Vec::new(), |stage| {
                    let field = |name| Place::StageField(Arc::clone(stage), name);
                    let waits = matches!(
                        shape,
                        ShapeError::NotPer { .. }
                            | ShapeError::Straddles { .. }
                            | ShapeError::Several { .. }
                    );
                    vec![
                        field(if waits { "wait" } else { "iterate" }),
                        Place::Stage(Arc::clone(stage)),
                    ]
                }),
                OpenError::Plan(_) => Vec::new(),
            };
            let span = candidates.iter().find_map(|place| self.places.get(place));
            diagnostics.push(Diagnostic {
                severity: Severity::Error,
                span: span.copied(),
                message: error.to_string(),
                hint: error.hint(),
            });
        }
        Error::File {
            file: self.file.clone(),
            text: self.text.clone(),
            diagnostics,
        }
    }
}

/// What checking a file has shown.
#[derive(Debug)]
pub struct Checked {
    /// The file, then the files that it names.
    pub files: Vec<CheckedFile>,
    /// What it holds, where it can be used.
    pub summary: Option<String>,
}

impl Checked {
    /// What was found in one file, and what it is.
    pub fn one(
        path: &Path,
        text: String,
        diagnostics: Vec<Diagnostic>,
        summary: Option<String>,
    ) -> Self {
        let file = CheckedFile {
            file: path.to_owned(),
            text,
            diagnostics,
        };
        Checked {
            files: vec![file],
            summary,
        }
    }

    /// Takes in what is wrong besides what its readers have said.
    pub fn take_in(&mut self, found: Result<(), Error>) -> Result<(), Error> {
        match found {
            Ok(()) => Ok(()),
            Err(Error::File {
                file,
                text,
                diagnostics,
            }) => {
                self.summary = None;
                match self.files.iter_mut().find(|known| known.file == file) {
                    Some(known) => known.diagnostics.extend(diagnostics),
                    None => self.files.push(CheckedFile {
                        file,
                        text,
                        diagnostics,
                    }),
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// A file that was looked at.
#[derive(Debug)]
pub struct CheckedFile {
    /// Where it is.
    pub file: PathBuf,
    /// Its text.
    pub text: String,
    /// Everything there is to say about it.
    pub diagnostics: Vec<Diagnostic>,
}

impl From<CheckedFile> for Error {
    /// A file whose mistakes are told.
    fn from(checked: CheckedFile) -> Error {
        let CheckedFile {
            file,
            text,
            diagnostics,
        } = checked;
        Error::File {
            file,
            text,
            diagnostics,
        }
    }
}

/// A workflow file without mistakes, before anybody has looked at what its programs are made of.
#[derive(Debug)]
pub struct Parsed {
    /// What it says.
    pub workflow: Arc<Workflow>,
    operations: Vec<Operation>,
    file: PathBuf,
    text: String,
    diagnostics: Vec<Diagnostic>,
    places: BTreeMap<Place, Span>,
    /// Operations that can be planned and not run.
    placeholders: Vec<Arc<str>>,
}

/// What a workflow that is no file is called.
const WORKFLOW: &str = "workflow";

/// Reads a workflow and looks at nothing else. Paths are relative to `folder`.
pub fn parse(
    source: &WorkflowSource,
    folder: &Path,
    libraries: &Registry,
) -> Result<Parsed, Error> {
    match source {
        WorkflowSource::Document(document) => {
            let (path, text) = document.read(folder, WORKFLOW)?;
            parse_text(&path, text, libraries)
        }
        WorkflowSource::Value(workflow) => checked(workflow, &named(folder, WORKFLOW), libraries),
    }
}

/// A workflow that a program has put together, if it has no mistakes.
fn checked(workflow: &Arc<Workflow>, place: &Path, libraries: &Registry) -> Result<Parsed, Error> {
    let problems = headwater_graph::check(workflow, libraries);
    let diagnostics: Vec<Diagnostic> = problems
        .into_iter()
        .map(|problem| {
            let near = problem.unknown.as_ref().and_then(|(name, others)| {
                headwater_flow::suggestion(name, others.iter().map(|other| &**other))
            });
            Diagnostic {
                severity: problem.severity,
                span: None,
                message: problem.message,
                hint: problem.hint.or(near),
            }
        })
        .collect();
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Error::File {
            file: place.to_owned(),
            text: String::new(),
            diagnostics,
        });
    }
    Ok(Parsed {
        workflow: Arc::clone(workflow),
        operations: Vec::new(),
        file: place.to_owned(),
        text: String::new(),
        diagnostics,
        places: BTreeMap::new(),
        placeholders: Vec::new(),
    })
}

fn parse_text(path: &Path, text: String, libraries: &Registry) -> Result<Parsed, Error> {
    let mut read = headwater_flow::read_workflow(&text, libraries);
    if let Some(file) = &read.value {
        let said = uses::look(&file.operations, path, &file.operation_places);
        read.diagnostics.extend(said);
    }
    let wrong = read.diagnostics.iter().any(Diagnostic::is_error);
    let Some(file) = read.value.filter(|_| !wrong) else {
        return Err(Error::File {
            file: path.to_owned(),
            text,
            diagnostics: read.diagnostics,
        });
    };
    let workflow = Arc::new(file.workflow);
    let (operations, places) = (file.operations, file.places);
    Ok(Parsed {
        placeholders: file.placeholders,
        workflow,
        operations,
        file: path.to_owned(),
        text,
        diagnostics: read.diagnostics,
        places,
    })
}

impl Parsed {
    /// Where it is.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The file as it was read.
    pub fn checked(&self) -> CheckedFile {
        CheckedFile {
            file: self.file.clone(),
            text: self.text.clone(),
            diagnostics: self.diagnostics.clone(),
        }
    }

    /// An operation of the file or of a library; not one of those that nothing runs.
    pub fn runnable_operation<'a>(
        &'a self,
        name: &str,
        libraries: &'a Registry,
    ) -> Option<&'a Operation> {
        if self.placeholders.iter().any(|known| **known == *name) {
            return None;
        }
        let mut own = self.operations.iter();
        own.find(|operation| *operation.signature.name == *name)
            .or_else(|| libraries.operation(name).map(|operation| &**operation))
    }

    /// Takes back the warning that nobody reads an input, for inputs that are there to name rows.
    pub fn forget_unread<'a>(&mut self, inputs: impl Iterator<Item = &'a Arc<str>>) {
        for input in inputs {
            let span = self.places.get(&Place::Input(Arc::clone(input)));
            let unread = |found: &Diagnostic| {
                found.severity == Severity::Warning
                    && found.span.as_ref() == span
                    && found.message.ends_with("is not read by any task")
            };
            self.diagnostics.retain(|found| !unread(found));
        }
    }

    /// Refuses a workflow that names operations nothing runs.
    pub fn runnable(&self) -> Result<(), Error> {
        let names = &self.placeholders;
        if names.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = names.iter().map(|name| format!("  {name}")).collect();
        let message = format!(
            "`{}` is a stage descriptor, which says what tasks pass to each other and not how they run; missing {}:\n{}",
            self.file.display(),
            if names.len() == 1 { "is" } else { "are" },
            list.join("\n")
        );
        let hint = "it can be checked and planned as it is; to run it, write a workflow file whose operations are \
                    programs, or register these operations in a program of your own";
        Err(Error::usage(message, Some(hint.to_owned())))
    }

    /// Finds out the versions of the programs. With a folder for copies, they use the files there; it is
    /// [`Loaded::copy_used`] that brings them.
    pub fn with_versions(
        self,
        libraries: &Registry,
        store: &dyn Store,
        copies_folder: Option<&Path>,
    ) -> Result<Loaded, Error> {
        let Parsed {
            workflow,
            operations,
            file,
            text,
            diagnostics,
            places,
            placeholders: _,
        } = self;
        let Versioned {
            operations,
            copies,
            versions,
        } = with_versions(operations, &file, Some(store), copies_folder)?;
        let mut registry = libraries.clone();
        for operation in operations {
            let name = Arc::clone(&operation.signature.name);
            registry
                .register(None, operation)
                .map_err(|error| Error::usage(format!("`{name}`: {error}"), None))?;
        }
        Ok(Loaded {
            workflow,
            registry,
            file,
            text,
            diagnostics,
            places,
            copies,
            versions,
        })
    }
}

/// Operations with what their versions stand for and what has to be copied before a task can run.
#[derive(Debug)]
pub struct Versioned {
    /// The operations.
    pub operations: Vec<Operation>,
    /// What has to be copied.
    pub copies: Vec<UsedCopy>,
    /// What the versions stand for.
    pub versions: Vec<Version>,
}

/// Finds out the versions of the operations of `file`. Without a store, every file that they use is read.
pub fn with_versions(
    operations: Vec<Operation>,
    file: &Path,
    store: Option<&dyn Store>,
    copies_folder: Option<&Path>,
) -> Result<Versioned, Error> {
    let folder =
        std::path::absolute(file).map_err(|source| Error::io("cannot find", file, source))?;
    let folder = folder.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut versioned = Versioned {
        operations: Vec::with_capacity(operations.len()),
        copies: Vec::new(),
        versions: Vec::new(),
    };
    for (number, operation) in operations.into_iter().enumerate() {
        let mut operation = with_version(operation, &folder, store, &mut versioned.versions)?;
        if let (Some(to), Kind::Command(template)) = (copies_folder, &mut operation.kind) {
            // Each operation sees its own files only, with their places beside each other.
            redirect(
                Arc::make_mut(template),
                &to.join(number.to_string()),
                &mut versioned.copies,
            );
        }
        versioned.operations.push(operation);
    }
    Ok(versioned)
}

fn is_executable(found: &fs::Metadata) -> bool {
    found.permissions().mode() & 0o111 != 0
}

/// The digests of files, which a store need not read again if it has seen them.
fn digests(paths: &[PathBuf], store: Option<&dyn Store>) -> Result<Vec<Digest>, Error> {
    if let Some(store) = store {
        let found = store.digest_files(paths, 1)?;
        return Ok(found.into_iter().map(|file| file.digest).collect());
    }
    let digest = |path: &PathBuf| {
        let cannot = |source| Error::io("cannot read", path, source);
        if !fs::metadata(path).map_err(cannot)?.is_file() {
            return Err(cannot(std::io::Error::other("it is not a regular file")));
        }
        let bytes = fs::read(path).map_err(cannot)?;
        Ok(Digest::of(&bytes))
    };
    paths.iter().map(digest).collect()
}

/// Makes a template use copies below `folder`. Its version says what the files hold, not where they are.
fn redirect(template: &mut CommandTemplate, folder: &Path, copies: &mut Vec<UsedCopy>) {
    for file in &mut template.used_files {
        let name = Path::new(&*file.name);
        let inside = name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        // A name that leads elsewhere is refused when the work folder is made.
        if inside {
            let to = folder.join(name);
            let from = std::mem::replace(&mut file.path, to.as_path().into());
            copies.push(UsedCopy {
                name: Arc::clone(&file.name),
                from: from.to_path_buf(),
                to,
                digest: file.digest,
                executable: file.executable,
            });
        }
    }
}

fn with_version(
    operation: Operation,
    folder: &Path,
    store: Option<&dyn Store>,
    versions: &mut Vec<Version>,
) -> Result<Operation, Error> {
    let Operation {
        mut signature,
        kind,
    } = operation;
    let Kind::Command(template) = kind else {
        return Ok(Operation { signature, kind });
    };
    let mut template = CommandTemplate::clone(&template);
    template.used_files = used_files(&signature.name, &template, folder, store)?;
    let tool_version = match &template.version {
        None => None,
        Some(VersionSource::Text(text)) => Some(text.to_string()),
        Some(VersionSource::Command(command)) => Some(ask_version(
            &signature.name,
            command,
            template.threads,
            folder,
        )?),
    };
    signature.version = template.version_for(&signature, tool_version.as_deref());
    versions.push((
        Arc::clone(&signature.version),
        template.version_parts(&signature, tool_version.as_deref()),
    ));
    Ok(Operation {
        signature,
        kind: Kind::Command(Arc::new(template)),
    })
}

fn used_files(
    operation: &str,
    template: &CommandTemplate,
    folder: &Path,
    store: Option<&dyn Store>,
) -> Result<Vec<UsedFile>, Error> {
    let found = uses::used(template, folder)?;
    if let Some(pattern) = found.nothing.first() {
        let (message, hint) = uses::no_such_file(operation, pattern, folder);
        return Err(Error::usage(message, Some(hint)));
    }
    let (names, paths): (Vec<String>, Vec<PathBuf>) = found.files.into_iter().unzip();
    let digests = digests(&paths, store)?;
    let file = |((name, path), digest): ((String, PathBuf), _)| {
        let found =
            fs::metadata(&path).map_err(|source| Error::io("cannot find", &path, source))?;
        Ok(UsedFile {
            name: name.into(),
            path: path.into(),
            digest,
            executable: is_executable(&found),
        })
    };
    let files = names.into_iter().zip(paths).zip(digests);
    files.map(file).collect()
}

fn ask_version(
    operation: &str,
    command: &[Arc<str>],
    threads: Threads,
    folder: &Path,
) -> Result<String, Error> {
    let words: Vec<&str> = command.iter().map(|word| &**word).collect();
    let failed = |why: String| {
        Error::usage(
            format!(
                "operation `{operation}`: its version command `{}` {why}",
                words.join(" ")
            ),
            Some("install the program, or give `version:` as a text".to_owned()),
        )
    };
    headwater_execute::version_said(command, threads, folder).map_err(failed)
}
