//! Doing one task: a native operation or a program, with inputs that are here.
//!
//! Law: it decides nothing and keeps nothing. What it is given is what the task gets, and what comes out is what those get
//! who read it from a store. Several threads may use one hand at the same time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_graph::{
    Cancel, Context, Digest, Failure, FailureKind, Kind, Operation, Outputs, Port, ReadFile,
    Recipe, Scalar, Signature, Value,
};

use crate::command::{Attempt, CommandRunner, CommandSettings};
use crate::ended::Usage;
use crate::files::Scratch;
use crate::folder::{FolderError, known_by_contents};
use crate::folders::Folders;
use crate::held::speaks_of_files;
use crate::keeper::Fetch;
use crate::native;
use crate::processor::Watch;
use crate::stop::Stop;
use crate::watch::{Spoiled, Trouble, Watched};

/// Runs one task after the other, for whoever has their inputs.
pub struct Hand {
    runner: CommandRunner,
    watched: Arc<Watched>,
    /// Folders of native operations are made here.
    scratch: PathBuf,
    stop: Stop,
    /// Gets at files for native operations.
    files: Option<Arc<dyn ReadFile>>,
    /// Gets at files for programs.
    fetcher: Arc<dyn Fetch>,
}

/// A task with everything that it needs.
pub struct Order<'a> {
    /// What to do.
    pub operation: &'a Arc<Operation>,
    /// Names its log.
    pub recipe: &'a Recipe,
    /// What it reads, in the order of its ports.
    pub inputs: Vec<Value>,
    /// Its parameters, in the order of the signature.
    pub parameters: &'a [Scalar],
    /// How long it may take.
    pub timeout: Option<Duration>,
}

/// What became of a task.
pub struct Ran {
    /// Its outputs; `Err(None)` if a product that it reads is not what was made, and has to be made again first.
    pub result: Result<Outputs, Option<Failure>>,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub elapsed: Duration,
    /// What it used.
    pub usage: Usage,
    /// Products that are not what was made.
    pub(crate) spoiled: Vec<Spoiled>,
}

impl Hand {
    /// Files of tasks lie in these folders; `watched` are files of the user, which nobody may change while tasks read them.
    /// `files` gets at the files that native operations read, `fetcher` at those that
    /// programs read.
    pub fn new(
        folders: &Folders,
        watched: Arc<Watched>,
        stop: &Stop,
        files: Arc<dyn ReadFile>,
        fetcher: Arc<dyn Fetch>,
    ) -> Hand {
        let commands = folders.commands(watched);
        Hand::of(&commands, &folders.spilled(), stop, Some(files), fetcher)
    }

    pub(crate) fn of(
        commands: &CommandSettings,
        scratch: &Path,
        stop: &Stop,
        files: Option<Arc<dyn ReadFile>>,
        fetcher: Arc<dyn Fetch>,
    ) -> Hand {
        Hand {
            runner: CommandRunner::new(commands),
            watched: Arc::clone(&commands.watched),
            scratch: scratch.to_path_buf(),
            stop: stop.clone(),
            files,
            fetcher,
        }
    }

    /// Removes a folder that a failed task has left, soon.
    pub(crate) fn discard(&self, folder: PathBuf) {
        self.runner.discard(folder);
    }

    /// Removes what tasks have left in folders.
    pub fn clean_up(&self) {
        self.runner.clean_up();
    }

    /// Runs a task. Before the body of a native operation begins that changes what it is given where it lies, `give_away` is
    /// called: whoever has its inputs, too, lets go of them there.
    pub fn run(&self, order: Order<'_>, give_away: &dyn Fn()) -> Ran {
        let Order {
            operation,
            recipe,
            inputs,
            parameters,
            timeout,
        } = order;
        let signature = &operation.signature;
        let began = Instant::now();
        let watch = matches!(operation.kind, Kind::Native(_)).then(|| Watch::start(began));
        let mut elsewhere = Duration::ZERO;
        let mut usage = Usage::default();
        let mut spoiled = Vec::new();
        let result = if inputs.len() != operation.signature.inputs.len() {
            Err(Some(Failure::new(
                FailureKind::NotStarted,
                "its inputs are gone".to_owned(),
            )))
        } else {
            match &operation.kind {
                Kind::Native(body) => {
                    // From here on it is not put back.
                    if signature.inputs.iter().any(|port| port.in_place) {
                        give_away();
                    }
                    let scratch = Scratch::new(&self.scratch, signature);
                    let context = Context {
                        cancel: if timeout.is_some() {
                            Cancel::default()
                        } else {
                            self.stop.natives.clone()
                        },
                        threads: usize::try_from(operation.signature.resources.cores())
                            .unwrap_or(1),
                        scratch: scratch.path().cloned(),
                        log: Vec::new(),
                        reader: self.files.clone(),
                        helpers: Duration::ZERO,
                    };
                    let elsewhere = &mut elsewhere;
                    let run = |inputs| {
                        native::run(body, inputs, parameters, context, timeout, elsewhere)
                            .and_then(|outputs| complete(operation, outputs))
                            .and_then(|outputs| {
                                scratch
                                    .taken(signature, outputs, &|| self.runner.staged_path())
                                    .map_err(|error| Failure::new(FailureKind::Output, error.0))
                            })
                    };
                    if inputs.iter().any(speaks_of_files) {
                        // The body has everything else for itself.
                        let files: Vec<Value> = inputs.iter().map(files_of).collect();
                        let read = || run(inputs).and_then(by_contents);
                        self.watching(signature, &files, &mut spoiled, read)
                    } else {
                        run(inputs).map_err(Some)
                    }
                }
                Kind::Command(template) => match self.brought(signature, inputs, &mut spoiled) {
                    Err(failure) => Err(failure),
                    Ok(inputs) => {
                        let attempt = Attempt {
                            signature: &operation.signature,
                            template,
                            inputs: &inputs,
                            parameters,
                            timeout,
                            label: &recipe.short(),
                        };
                        let attempted = self.runner.run(&attempt, &self.stop.commands);
                        usage = attempted.usage;
                        spoiled = attempted.spoiled;
                        attempted.result
                    }
                },
            }
        };
        // Who reads a product now gets what those get who read it from the store.
        let result: Result<Outputs, Option<Failure>> = result.map(|outputs| {
            if outputs.iter().all(Value::is_plain) {
                outputs
            } else {
                outputs.into_iter().map(Value::plain).collect()
            }
        });
        let elapsed = began.elapsed();
        if let Some(watch) = watch {
            usage.cpu = watch.stop(elapsed) + elsewhere;
        }
        if !spoiled.is_empty() {
            // Nobody gets it from the store any more.
            let digests: Vec<Digest> = spoiled.iter().map(|spoiled| spoiled.digest).collect();
            self.fetcher.spoiled(&digests);
        }
        Ran {
            result,
            began,
            elapsed,
            usage,
            spoiled,
        }
    }

    /// Files of an input that the store should have, and does not.
    fn missing(&self, port: &Port, value: &Value) -> Vec<Spoiled> {
        let spoiled = |digest: Digest| Spoiled {
            path: PathBuf::new(),
            digest,
            message: format!("`{}` is no longer in the store", port.name),
        };
        let missing = self.fetcher.missing(value).into_iter();
        missing.map(spoiled).collect()
    }

    /// The inputs of a program, all files of which are on this machine.
    fn brought(
        &self,
        signature: &Signature,
        inputs: Vec<Value>,
        spoiled: &mut Vec<Spoiled>,
    ) -> Result<Vec<Value>, Option<Failure>> {
        let brought = |(port, value): (&Port, Value)| {
            self.fetcher.brought(value.clone()).ok_or_else(|| {
                spoiled.extend(self.missing(port, &value));
                let message = format!("the files of `{}` cannot be had from the store", port.name);
                let failure = Failure::new(FailureKind::NotStarted, message);
                spoiled.is_empty().then_some(failure)
            })
        };
        signature.inputs.iter().zip(inputs).map(brought).collect()
    }

    /// Runs a body that reads files, which have to be what they were before it and after it.
    fn watching(
        &self,
        signature: &Signature,
        files: &[Value],
        spoiled: &mut Vec<Spoiled>,
        run: impl FnOnce() -> Result<Outputs, Failure>,
    ) -> Result<Outputs, Option<Failure>> {
        let reading = match self.watched.before(signature, files, self.runner.shelter()) {
            Ok(reading) => reading,
            Err(Trouble::Changed(failure)) => return Err(Some(failure)),
            Err(Trouble::Spoiled(found)) => {
                spoiled.push(found);
                return Err(None);
            }
        };
        let outputs = run();
        let (changed, found) = reading.after();
        *spoiled = found;
        if outputs.is_err() {
            // It may have failed because the store does not have what it should have read.
            let ports = signature.inputs.iter().zip(files);
            let before = spoiled.len();
            spoiled.extend(ports.flat_map(|(port, value)| self.missing(port, value)));
            if spoiled.len() > before {
                return Err(None);
            }
        }
        match changed {
            None => outputs.map_err(Some),
            Some(failure) => outputs.and(Err(failure)).map_err(Some),
        }
    }
}

/// A value that speaks of files; null for one that does not.
fn files_of(value: &Value) -> Value {
    if speaks_of_files(value) {
        value.clone()
    } else {
        Value::Null
    }
}

/// Outputs with all their files known by contents.
fn by_contents(outputs: Outputs) -> Result<Outputs, Failure> {
    let known = outputs.into_iter().map(known_by_contents);
    known
        .collect::<Result<Outputs, FolderError>>()
        .map_err(|error| Failure::new(FailureKind::Output, error.0))
}

/// An operation that gives too few or too many outputs is at fault itself.
fn complete(operation: &Operation, outputs: Outputs) -> Result<Outputs, Failure> {
    let wanted = operation.signature.outputs.len();
    if outputs.len() == wanted {
        return Ok(outputs);
    }
    let message = format!(
        "`{}` gave {} outputs instead of {wanted}",
        operation.signature.name,
        outputs.len()
    );
    Err(Failure::new(FailureKind::Output, message))
}
