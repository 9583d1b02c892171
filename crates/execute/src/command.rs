//! A program as a task.
//!
//! Law: each attempt has a folder of its own. The folder of a success is removed (in batches), the folder
//! of a failure is kept, with a script that runs the program again alone. What a program says on standard
//! output and standard error is kept wherever it said anything: all of it up to [`LOG`] bytes of each, and of more
//! the beginning and the end. A stream that the operation declares as a file is a product, and is kept whole.
//!
//! Making a file costs more than starting a small program does, so nothing is made that stays empty: a
//! folder that is empty again serves the next attempt, and a silent program leaves no log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_graph::text::shell_quote;
use headwater_graph::{
    Collect, CommandTemplate, Failure, FailureKind, Outputs, Placeholder, Scalar, Signature, Text,
    Threads, Value,
};

use crate::allowance::{inherited_threads, thread_allowance};
use crate::collect::{Collecting, Wanted};
use crate::ended::Usage;
use crate::folder::{FolderError, below, hold_links, remove_tree};
use crate::give::Giving;
use crate::held::speaks_of_files;
use crate::proof::Shelter;
use crate::protect::{Allowance, Protection};
use crate::render::{Fill, Filled};
use crate::spawn::{Cancel, Exit, ExitStatusKind, Request, SpawnError, Spawner};
use crate::watch::{Spoiled, Trouble, Watched};

/// Variables that programs inherit. Everything else has to be said in the file, where it is part of the
/// recipe.
const INHERITED: [&str; 7] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "SHELL",
];

/// The part of this process's environment that programs inherit.
pub fn inherited_environment() -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = INHERITED
        .iter()
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
        .collect();
    // The order of words and the form of numbers must not depend on who runs a task: one locale for all,
    // unless the operation says otherwise.
    environment.push(("LC_ALL".into(), "C.UTF-8".into()));
    environment
}

/// What programs get.
#[derive(Debug, Clone)]
pub(crate) struct CommandSettings {
    /// Work folders are made below this one; it is made when the first one is.
    pub work: PathBuf,
    /// Collected files are moved here; same file system as the objects.
    pub staging: PathBuf,
    /// What successful programs said goes here, as `<label>.stdout` and `<label>.stderr`.
    pub logs: PathBuf,
    /// Counts the bytes that went there.
    pub logged: Arc<AtomicU64>,
    /// See [`inherited_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// What lies below this folder is gone after the run; a folder that is kept holds such files itself.
    pub temporary: PathBuf,
    /// The files of the user.
    pub watched: Arc<Watched>,
    /// Folders with files that tasks are given and that no task writes to: objects, collected files, files that
    /// operations use.
    pub sheltered: Vec<PathBuf>,
}

/// One attempt at a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) signature: &'a Signature,
    pub(crate) template: &'a CommandTemplate,
    pub(crate) inputs: &'a [Value],
    pub(crate) parameters: &'a [Scalar],
    pub(crate) timeout: Option<Duration>,
    /// Names its log.
    pub(crate) label: &'a str,
}

/// What became of an attempt.
#[derive(Debug)]
pub(crate) struct Attempted {
    /// Its outputs; `Err(None)` if a product that it reads has to be made again first.
    pub(crate) result: Result<Outputs, Option<Failure>>,
    pub(crate) usage: Usage,
    /// Products that are not what was made.
    pub(crate) spoiled: Vec<Spoiled>,
    /// How many bytes it wrote to its standard output and error, where these are captured.
    said: [u64; 2],
}

impl Attempted {
    /// It could not be given what it reads.
    fn not_given(trouble: Trouble) -> Attempted {
        match trouble {
            Trouble::Changed(failure) => Attempted::failed(failure),
            Trouble::Spoiled(spoiled) => Attempted {
                result: Err(None),
                usage: Usage::default(),
                spoiled: vec![spoiled],
                said: [0; 2],
            },
        }
    }

    fn failed(failure: Failure) -> Attempted {
        Attempted {
            result: Err(Some(failure)),
            usage: Usage::default(),
            spoiled: Vec::new(),
            said: [0; 2],
        }
    }
}

/// Runs programs.
#[derive(Debug)]
pub(crate) struct CommandRunner {
    settings: CommandSettings,
    protection: Protection,
    /// What the user has said about threads, for operations that want to hear it.
    inherited_threads: Vec<(OsString, OsString)>,
    /// The folder of the captures is there, and with it the one of all work folders.
    ready: AtomicBool,
    captures: AtomicU64,
    trash: Mutex<Vec<PathBuf>>,
    /// Empty folders to be used again.
    spare: Mutex<Vec<PathBuf>>,
    /// Numbers of files for standard output and standard error that are free.
    free_captures: Mutex<Vec<u64>>,
}

/// The numbers of work folders and of collected files. A run may have several pools one after the other, and
/// what an earlier one has left may still be needed, so a number is given out once in a process.
static FOLDERS: AtomicU64 = AtomicU64::new(0);
static STAGED: AtomicU64 = AtomicU64::new(0);
/// So many folders are removed at a time.
const BATCH: usize = 32;
/// So much of standard error is shown.
const TAIL: u64 = 4096;
/// At most this many bytes are kept of standard output, and as many of standard error: half from the beginning, half
/// from the end.
pub(crate) const LOG: u64 = 2 << 20;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CommandRunner {
    pub(crate) fn new(settings: &CommandSettings) -> CommandRunner {
        CommandRunner {
            settings: settings.clone(),
            protection: Protection::from_environment(),
            inherited_threads: inherited_threads(),
            ready: AtomicBool::new(false),
            captures: AtomicU64::new(0),
            trash: Mutex::new(Vec::new()),
            spare: Mutex::new(Vec::new()),
            free_captures: Mutex::new(Vec::new()),
        }
    }

    /// Where a file that a task made is to lie until it is stored.
    pub(crate) fn staged_path(&self) -> PathBuf {
        let number = STAGED.fetch_add(1, Ordering::Relaxed);
        // A folder per thousand keeps folders small.
        self.settings
            .staging
            .join((number / 1000).to_string())
            .join(number.to_string())
    }

    /// Removes a folder, soon.
    pub(crate) fn discard(&self, folder: PathBuf) {
        let batch = {
            let mut trash = locked(&self.trash);
            trash.push(folder);
            if trash.len() >= BATCH {
                std::mem::take(&mut *trash)
            } else {
                Vec::new()
            }
        };
        remove(&batch);
    }

    /// Removes what is left to remove.
    pub(crate) fn clean_up(&self) {
        remove(&std::mem::take(&mut *locked(&self.trash)));
        remove(&std::mem::take(&mut *locked(&self.spare)));
        let _ = fs::remove_dir_all(self.captures_folder());
        // Only if nothing was kept in it.
        let _ = fs::remove_dir(&self.settings.work);
    }

    /// How far tasks are kept from writing to what native operations read.
    pub(crate) fn shelter(&self) -> Shelter {
        self.protection.shelter()
    }

    fn captures_folder(&self) -> PathBuf {
        self.settings.work.join("captures")
    }

    pub(crate) fn run(&self, attempt: &Attempt<'_>, cancel: &Cancel) -> Attempted {
        let folder = match self.folder() {
            Ok(folder) => folder,
            Err(error) => {
                let message = format!(
                    "cannot make a folder in `{}`: {error}",
                    self.settings.work.display()
                );
                return Attempted::failed(Failure::new(FailureKind::NotStarted, message));
            }
        };
        let number = locked(&self.free_captures).pop();
        let number = number.unwrap_or_else(|| self.captures.fetch_add(1, Ordering::Relaxed));
        let capture = |name: &str| self.captures_folder().join(format!("{number}.{name}"));
        let captures = [capture("stdout"), capture("stderr")];
        let allowance = self.protection.allowance();
        let home = Home::of(&folder);
        let mut attempted = self.attempt(attempt, &home, &captures, cancel, allowance);
        match &mut attempted.result {
            Ok(_) => {
                self.keep_logs(attempt.label, &captures, attempted.said);
                self.give_back(folder);
            }
            // What stands there is somebody else's.
            Err(_) if !home.is_there() => {}
            Err(Some(failure)) if failure.kind != FailureKind::Cancelled => {
                for (capture, name) in captures.iter().zip([".stdout", ".stderr"]) {
                    // One that said nothing has an empty log, for whoever looks for it.
                    let log = folder.join(name);
                    let moved = fs::rename(capture, &log);
                    let _ = moved.or_else(|_| fs::File::create_new(&log).map(drop));
                }
                hold_links(&folder, &self.settings.temporary);
                failure.folder = Some(folder);
            }
            Err(_) => self.discard(folder),
        }
        for (capture, said) in captures.iter().zip(attempted.said) {
            if said > 0 && attempted.result.is_err() {
                // Where it is still there, nobody wants it, and the next one must not be taken for it.
                let _ = fs::remove_file(capture);
            }
        }
        locked(&self.free_captures).push(number);
        attempted
    }

    fn folder(&self) -> std::io::Result<PathBuf> {
        if let Some(folder) = locked(&self.spare).pop() {
            return Ok(folder);
        }
        if !self.ready.load(Ordering::Acquire) {
            // Whoever comes too early makes it as well; nobody goes on before it is there.
            fs::create_dir_all(self.captures_folder())?;
            self.ready.store(true, Ordering::Release);
        }
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = self.settings.work.join(number.to_string());
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    fn give_back(&self, folder: PathBuf) {
        let empty = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none());
        if empty {
            locked(&self.spare).push(folder);
        } else {
            self.discard(folder);
        }
    }

    fn keep_logs(&self, label: &str, captures: &[PathBuf; 2], said: [u64; 2]) {
        for ((capture, extension), said) in captures.iter().zip(["stdout", "stderr"]).zip(said) {
            if said == 0 {
                continue;
            }
            let log = self.settings.logs.join(format!("{label}.{extension}"));
            let move_it = || fs::rename(capture, &log);
            let moved = move_it().or_else(|error| match error.kind() {
                ErrorKind::NotFound => {
                    fs::create_dir_all(&self.settings.logs).and_then(|()| move_it())
                }
                _ => Err(error),
            });
            match moved.and_then(|()| fs::symlink_metadata(&log)) {
                Ok(kept) => {
                    let logged = &self.settings.logged;
                    logged.fetch_add(kept.len(), Ordering::Relaxed);
                }
                // A log that cannot be kept is no reason to fail a task that succeeded.
                Err(_) => drop(fs::remove_file(capture)),
            }
        }
    }

    fn attempt(
        &self,
        attempt: &Attempt<'_>,
        home: &Home<'_>,
        captures: &[PathBuf; 2],
        cancel: &Cancel,
        allowance: Allowance,
    ) -> Attempted {
        let folder = home.folder;
        let not_started =
            |error: FolderError| Attempted::failed(Failure::new(FailureKind::NotStarted, error.0));
        let mut giving = Giving::new(
            folder,
            attempt.inputs,
            &self.settings.watched,
            allowance,
            &self.settings.sheltered,
        );
        let fill = match lay_out(folder, attempt, &mut giving) {
            Ok(fill) => fill,
            Err(error) => {
                let trouble = giving.take_trouble();
                return trouble.map_or_else(|| not_started(error), Attempted::not_given);
            }
        };
        let arguments = fill.invocation(&attempt.template.invocation);
        let request = self.request(folder, captures, attempt, &fill, &arguments);
        let mut request = match request {
            Ok(request) => request,
            Err(error) => return not_started(error),
        };
        request.namespace = giving.namespace();
        let ended = Spawner::global().run(&request, cancel);
        if let Err(SpawnError::Namespace { source }) = &ended {
            // What was to be mounted is not what it was a moment ago.
            if matches!(source.raw_os_error(), Some(libc::ESTALE | libc::ENOENT)) {
                let message = "a file that it reads was replaced when it was to start".to_owned();
                return Attempted::failed(Failure::new(FailureKind::Input, message));
            }
            Protection::namespace_refused(source);
            return match emptied(folder) {
                Ok(()) => {
                    let otherwise = allowance.without_mounts();
                    self.attempt(attempt, home, captures, cancel, otherwise)
                }
                Err(error) => not_started(error),
            };
        }
        let (mut usage, mut said) = (Usage::default(), [0; 2]);
        if let Ok(exit) = &ended {
            said = exit.said;
            usage = usage_of(exit);
        }
        // A file of this name may be left from another program.
        let has_stderr = ended.is_ok() && (request.most[1].is_none() || said[1] > 0);
        // Whatever became of the program, it may have written to what it was to read.
        let (changed, spoiled) = giving.after();
        if !home.is_there() {
            let message = "something else is in the place of the folder that it ran in".to_owned();
            return Attempted {
                result: Err(Some(Failure::new(FailureKind::Output, message))),
                usage,
                spoiled,
                said,
            };
        }
        let unmounted = giving.unmount();
        let output = |error: FolderError| Failure::new(FailureKind::Output, error.0);
        let result = match ended {
            Err(error) => Err(spawn_failure(&error)),
            Ok(exit) => match with_cause(exit_failure(&exit, attempt.timeout), changed) {
                Some(failure) => Err(failure),
                None => unmounted
                    .and_then(|()| self.collect_all(folder, attempt, &fill))
                    .map_err(output),
            },
        };
        let result = result.map_err(|failure| {
            if failure.kind != FailureKind::Cancelled {
                write_script(folder, &request);
            }
            Some(Failure {
                command: Some(arguments.clone()),
                stderr: if has_stderr {
                    tail(&request.stderr)
                } else {
                    String::new()
                },
                ..failure
            })
        });
        Attempted {
            result,
            usage,
            spoiled,
            said,
        }
    }

    fn request(
        &self,
        folder: &Path,
        captures: &[PathBuf; 2],
        attempt: &Attempt<'_>,
        fill: &Fill,
        arguments: &[String],
    ) -> Result<Request, FolderError> {
        let template = attempt.template;
        let stream = |text: &Option<Text>, capture: &PathBuf| match text {
            Some(text) => {
                let name = fill.text(text);
                let path = below(folder, &name)?;
                if fill.is_laid_out(&name) {
                    return Err(FolderError(format!(
                        "the output stream of the program would overwrite the input `{name}`: give `stdout` or \
                         `stderr` another file name"
                    )));
                }
                if fs::symlink_metadata(&path).is_ok() {
                    // It may be a link to the copy that all tasks of the run use.
                    return Err(FolderError(format!(
                        "the output stream of the program would overwrite `{name}`, which the operation uses: give \
                         `stdout` or `stderr` another file name"
                    )));
                }
                if let Some(parent) = path.parent().filter(|parent| *parent != folder) {
                    fs::create_dir_all(parent).map_err(|error| FolderError(error.to_string()))?;
                }
                Ok(path)
            }
            None => Ok(capture.clone()),
        };
        let (stdout, stderr) = (
            stream(&template.stdout, &captures[0])?,
            stream(&template.stderr, &captures[1])?,
        );
        let program = arguments
            .first()
            .ok_or_else(|| FolderError("the command is empty".to_owned()))?;
        let mut request = Request::new(program, folder, stdout, stderr);
        request.arguments = arguments[1..].iter().map(OsString::from).collect();
        request.environment = self.settings.environment.clone();
        // Before what the operation says, which wins.
        match template.threads {
            Threads::Allowance => request.environment.extend(thread_allowance(fill.threads)),
            Threads::Inherit => request
                .environment
                .extend_from_slice(&self.inherited_threads),
        }
        for (name, text) in &template.environment {
            request
                .environment
                .push((OsString::from(&**name), fill.text(text).into()));
        }
        request.timeout = attempt.timeout;
        let bound = |text: &Option<Text>| text.is_none().then_some(LOG);
        request.most = [bound(&template.stdout), bound(&template.stderr)];
        if let Some(text) = &template.stdin {
            request.stdin = Some(stdin(
                folder,
                text,
                fill,
                attempt.signature,
                attempt.inputs,
            )?);
        }
        Ok(request)
    }

    fn collect_all(
        &self,
        folder: &Path,
        attempt: &Attempt<'_>,
        fill: &Fill,
    ) -> Result<Outputs, FolderError> {
        let (signature, template) = (attempt.signature, attempt.template);
        let mut stage = || self.staged_path();
        let is_input = |path: &Path| {
            let mut found = false;
            for value in attempt.inputs {
                value.for_each_file(&mut |file| {
                    if let Some(input) = file.handle.path() {
                        // Most paths are real already, and looking one up costs.
                        found = found
                            || **input == *path
                            || (input.file_name() == path.file_name() || input.is_symlink())
                                && fs::canonicalize(input).is_ok_and(|input| input == path);
                    }
                });
            }
            found
        };
        let laid_out = |name: &str| {
            fill.is_laid_out(name) || template.used_files.iter().any(|file| *file.name == *name)
        };
        let wanted = signature.outputs.iter().map(|port| Wanted {
            port: &port.name,
            output: template.outputs.get(&port.name),
            path: fill.outputs.get(&port.name).map_or("", String::as_str),
        });
        let wanted: Vec<Wanted<'_>> = wanted.collect();
        let collecting = Collecting {
            folder,
            is_input: &is_input,
            laid_out: &laid_out,
        };
        collecting.collect(&wanted, &mut stage)
    }
}

/// Puts everything in its place that the program needs.
fn lay_out(
    folder: &Path,
    attempt: &Attempt<'_>,
    giving: &mut Giving<'_>,
) -> Result<Fill, FolderError> {
    let Attempt {
        signature,
        template,
        inputs,
        parameters,
        ..
    } = attempt;
    let mut fill = Fill {
        threads: usize::try_from(signature.resources.cores()).unwrap_or(1),
        ..Fill::default()
    };
    for (port, value) in signature.inputs.iter().zip(*inputs) {
        let extension = template
            .inputs
            .get(&port.name)
            .and_then(|input| input.extension.as_deref());
        let filled = giving.input(&port.name, extension, value, port.keep_name)?;
        if speaks_of_files(value) {
            fill.placed.extend_from_slice(filled.texts());
        }
        fill.inputs.insert(Arc::clone(&port.name), filled);
    }
    for (declared, value) in signature.parameters.iter().zip(*parameters) {
        fill.parameters
            .insert(Arc::clone(&declared.name), value.to_string());
    }
    for (port, output) in &template.outputs {
        if let Collect::Path(path) = &output.collect {
            let path = fill.text(path);
            let at = below(folder, &path)?;
            if let Some(parent) = at.parent().filter(|parent| *parent != folder) {
                fs::create_dir_all(parent).map_err(|error| FolderError(error.to_string()))?;
            }
            if fs::symlink_metadata(&at).is_ok() && fill.is_laid_out(&path) {
                return Err(FolderError(format!(
                    "output `{port}` would overwrite the input `{path}`"
                )));
            }
            fill.outputs.insert(Arc::clone(port), path);
        }
    }
    let texts = texts(template);
    for placeholder in texts.iter().flat_map(|text| text.placeholders()) {
        if let Placeholder::ListFile(port) = placeholder {
            let names = fill.inputs.get(port).map(Filled::texts).unwrap_or_default();
            if let Some(name) = names.iter().find(|name| name.contains('\n')) {
                return Err(FolderError(format!(
                    "input `{port}`: {name:?} does not fit in a line of a list file"
                )));
            }
            let text: String = names.iter().flat_map(|name| [name, "\n"]).collect();
            let name = format!("{port}.list");
            write_new(folder, &name, &text)?;
            fill.list_files.insert(Arc::clone(port), name);
        }
    }
    for file in &template.used_files {
        let is_output = |(_, path): &(&Arc<str>, &String)| is_at_or_below(&file.name, path);
        if let Some((port, path)) = fill.outputs.iter().find(is_output) {
            return Err(FolderError(format!(
                "output `{port}` would overwrite `{path}`, which the operation uses"
            )));
        }
    }
    giving.used(&template.used_files)?;
    Ok(fill)
}

/// Empties a folder in which something was laid out; it stays the same folder.
fn emptied(folder: &Path) -> Result<(), FolderError> {
    let empty = || -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                remove_tree(&entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    empty().map_err(|error| FolderError(format!("cannot empty `{}`: {error}", folder.display())))
}

/// Whether a relative path names the same place as another, or one below it.
fn is_at_or_below(one: &str, other: &str) -> bool {
    let parts = |name: &str| {
        let part = |part: &Component<'_>| matches!(part, Component::Normal(_));
        Path::new(name)
            .components()
            .filter(part)
            .collect::<PathBuf>()
    };
    parts(one).starts_with(parts(other))
}

/// Writes a file of ours beside what was laid out. A port or a file that the operation uses may have the same name,
/// and would be written to: both may be links to files of others.
fn write_new(folder: &Path, name: &str, text: &str) -> Result<(), FolderError> {
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(folder.join(name))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => FolderError(format!(
            "Headwater writes a file `{name}` for the program, but an input or a used file of the operation has the \
             same name; rename the input or the used file"
        )),
        _ => FolderError(format!("cannot write `{name}`: {error}")),
    })
}

/// All texts of a template that may speak of a list file.
fn texts(template: &CommandTemplate) -> Vec<&Text> {
    let mut texts: Vec<&Text> = match &template.invocation {
        headwater_graph::Invocation::Arguments(arguments) => arguments.iter().collect(),
        headwater_graph::Invocation::Shell(script) => vec![script],
    };
    texts.extend(template.environment.values());
    texts.extend(&template.stdin);
    texts
}

/// The file that is read on standard input: a file input or a list file as it is, anything else as a text of
/// its own.
/// The folder that a task runs in, and how it is known again: a program may put something else in its place, from which
/// nothing is to be taken, and to which nothing is to be written.
struct Home<'a> {
    folder: &'a Path,
    identity: Option<(u64, u64)>,
}

impl Home<'_> {
    fn of(folder: &Path) -> Home<'_> {
        Home {
            folder,
            identity: identity(folder),
        }
    }

    fn is_there(&self) -> bool {
        self.identity.is_some() && identity(self.folder) == self.identity
    }
}

/// The device and inode of a folder; `None` where there is none, or a link to one.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(folder).ok();
    let found = found.filter(fs::Metadata::is_dir)?;
    Some((found.dev(), found.ino()))
}

fn stdin(
    folder: &Path,
    text: &Text,
    fill: &Fill,
    signature: &Signature,
    inputs: &[Value],
) -> Result<PathBuf, FolderError> {
    if let Some(Placeholder::ListFile(_)) = text.only_placeholder() {
        return below(folder, &fill.text(text));
    }
    if let Some(Placeholder::Input(port)) = text.only_placeholder() {
        let position = signature.input_index(port);
        if position.is_some_and(|position| matches!(inputs.get(position), Some(Value::File(_)))) {
            return below(folder, &fill.text(text));
        }
    }
    write_new(folder, ".stdin", &fill.text(text))?;
    Ok(folder.join(".stdin"))
}

fn usage_of(exit: &Exit) -> Usage {
    Usage {
        cpu: exit.user_cpu + exit.system_cpu,
        peak_memory: exit.peak_memory,
        peak_reliable: exit.peak_reliable,
    }
}

fn spawn_failure(error: &SpawnError) -> Failure {
    let kind = if matches!(error, SpawnError::Cancelled) {
        FailureKind::Cancelled
    } else {
        FailureKind::NotStarted
    };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    match error {
        SpawnError::NotFound { program } if is_below(Path::new(program)) => {
            message.push_str(
                "; a script that lies beside the workflow file has to be listed in `uses`",
            );
        }
        SpawnError::NotFound { .. } => message.push_str("; is it installed and on the PATH?"),
        SpawnError::Start { source, .. } if source.raw_os_error() == Some(libc::E2BIG) => {
            message.push_str("; a file holds more, such as {in.PORT.listfile} or `stdin:`");
        }
        _ => {}
    }
    Failure::new(kind, message)
}

/// A path from the folder of the task.
fn is_below(program: &Path) -> bool {
    program.is_relative() && program.components().count() > 1
}

fn exit_failure(exit: &Exit, timeout: Option<Duration>) -> Option<Failure> {
    if exit.success() {
        return None;
    }
    if exit.cancelled {
        return Some(Failure::new(FailureKind::Cancelled, "cancelled".to_owned()));
    }
    if exit.timed_out {
        let message = format!(
            "still running after {:?}, so it was ended",
            timeout.unwrap_or_default()
        );
        return Some(Failure::new(FailureKind::TimedOut, message));
    }
    Some(match exit.status {
        ExitStatusKind::Code(code) => Failure::new(
            FailureKind::Exit(code),
            format!("ended with exit code {code}"),
        ),
        ExitStatusKind::Signal(signal) => {
            let more = if signal == 9 {
                " (killed; perhaps the machine ran out of memory)"
            } else {
                ""
            };
            Failure::new(
                FailureKind::Signal(signal),
                format!("ended by signal {signal}{more}"),
            )
        }
    })
}

/// How a program failed; what changed under it may be why.
fn with_cause(failure: Option<Failure>, changed: Option<Failure>) -> Option<Failure> {
    match (failure, changed) {
        (Some(failure), Some(changed)) if failure.kind != FailureKind::Cancelled => Some(Failure {
            message: format!("{}; and {}", failure.message, changed.message),
            ..failure
        }),
        (failure, changed) => failure.or(changed),
    }
}

/// The last lines of a file.
fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<String> {
        // The program may have put something else there; opening a pipe would wait for ever.
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(String::new());
        }
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if length > TAIL {
            // The first line is cut; leave it out.
            text = text
                .split_once('\n')
                .map_or(text.clone(), |(_, rest)| rest.to_owned());
        }
        Ok(text)
    };
    read().unwrap_or_default()
}

/// The links below a folder that lead to files elsewhere, by their names in it.
fn links_below(folder: &Path, name: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder.join(name))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = name.join(entry.file_name());
        let leads_away = || fs::read_link(entry.path()).is_ok_and(|target| target.is_absolute());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => links_below(folder, &name, found),
            Ok(kind) if kind.is_symlink() && leads_away() && entry.path().is_file() => {
                found.push(name);
            }
            Ok(kind) if kind.is_file() && entry.metadata().is_ok_and(|it| it.nlink() > 1) => {
                found.push(name);
            }
            _ => {}
        }
    }
}

/// Leaves a script in the folder that runs the program again. It has no namespace in which inputs are read-only, so it
/// begins by copying those that are links, or that have other names.
fn write_script(folder: &Path, request: &Request) {
    let mut environment: BTreeMap<&OsString, &OsString> = BTreeMap::new();
    environment.extend(
        request
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    let mut script = String::from(
        "#!/bin/sh\n# Runs this task again, alone, in its own folder.\ncd \"$(dirname \"$0\")\" || exit 1\n",
    );
    let mut links = Vec::new();
    links_below(folder, Path::new("."), &mut links);
    links.sort();
    if !links.is_empty() {
        script.push_str(
            "# Inputs that are links become copies, so that the program cannot change what they lead to.\n",
        );
    }
    for link in &links {
        let (link, copy) = (link.to_string_lossy(), format!("{}.copy", link.display()));
        let (link, copy) = (shell_quote(&link), shell_quote(&copy));
        script.push_str(&format!(
            "if [ -L {link} ] || [ -n \"$(find {link} -prune -links +1)\" ]; then\n  \
               cp -L {link} {copy} && mv -f {copy} {link} || exit 1\nfi\n"
        ));
    }
    script.push_str("exec env -i");
    for (name, value) in environment {
        script.push_str(&format!(
            " \\\n  {}={}",
            name.to_string_lossy(),
            shell_quote(&value.to_string_lossy())
        ));
    }
    let program = request.program.to_string_lossy();
    // To `env` a word with `=` is one more variable, and the next word the program.
    let start = if program.contains('=') {
        "/bin/sh -c 'exec \"$0\" \"$@\"' "
    } else {
        ""
    };
    script.push_str(&format!(" \\\n  {start}{}", shell_quote(&program)));
    for argument in &request.arguments {
        script.push_str(&format!(" {}", shell_quote(&argument.to_string_lossy())));
    }
    if let Some(stdin) = &request.stdin {
        script.push_str(&format!(" < {}", shell_quote(&stdin.to_string_lossy())));
    }
    script.push('\n');
    // It is a convenience; the failure is reported anyway. Whatever the program has put there is not written to.
    let path = folder.join(".again.sh");
    let _ = fs::remove_file(&path);
    let _ = fs::write(path, script);
}

fn remove(folders: &[PathBuf]) {
    for folder in folders {
        // What cannot be removed now is removed with the run's folder later.
        let _ = remove_tree(folder);
    }
}

#[cfg(test)]
mod tests {
    use headwater_graph::Part;

    use super::*;

    #[test]
    fn a_list_file_alone_is_read_on_standard_input() {
        let folder = Path::new("work");
        let mut fill = Fill::default();
        fill.list_files.insert("n".into(), "n.list".to_owned());
        let text = Text(vec![Part::Placeholder(Placeholder::ListFile("n".into()))]);
        let found = stdin(folder, &text, &fill, &Signature::new("r", ""), &[]);
        assert_eq!(found.ok(), Some(folder.join("n.list")));
    }
}
