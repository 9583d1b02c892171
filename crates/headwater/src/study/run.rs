//! A study, from its file to its answer.
//!
//! Law: giving the same request again continues where the last one stopped, and what is remembered is not made again.
//! Results are a function of the study, its inputs and the versions of its operations: the number of workers, the order
//! of events and what was remembered leave no trace in them. A failed task costs the evaluations that need it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use headwater_enact::{Backoff, Capacity, Counts, DataSet, Options};
use headwater_execute::{PoolError, Stop, Watched};
use headwater_flow::Method;
use headwater_graph::{OutputBinding, Registry, Value};
use headwater_remember::{RunRecord, RunStatus};

use super::design::{self, Design};
use super::examples::examples;
use super::facts::Book;
use super::live::StudyProgress;
use super::load::{Study, StudyData};
use super::open::{Open, open_for};
use super::phase::{self, Bucketing, Division, EndedPhase, Site, StudyReuse};
use super::round::{Ended, Ground};
use super::summary::{StudyFacts, StudyItem, StudySummary};
use super::{objective, write};
use crate::deliver::link_last;
use crate::progress::TRACE_HEADER;
use crate::run::Places;
use crate::{CheckedFile, Error, FailedTask, StoreKeeper, StorePlace, notes};

/// What study to run, and how.
#[derive(Debug, Clone, Default)]
pub struct StudyRunRequest {
    /// The study file.
    pub study: PathBuf,
    /// `PATH=VALUE` for values of the study file.
    pub settings: Vec<String>,
    /// The store that products are kept in.
    pub store: StorePlace,
    /// Cores; `None`: those of this machine.
    pub cores: Option<usize>,
    /// Bytes for running tasks and live products.
    pub memory: Option<u64>,
    /// Bytes that the objects of the store may take.
    pub disk: Option<u64>,
    /// Other counters: gpu, a licence.
    pub resources: BTreeMap<Arc<str>, u64>,
    /// How often a failed task is tried again, unless its operation says otherwise.
    pub retries: u32,
    /// Start nothing more after the first failure.
    pub fail_fast: bool,
    /// What is shared.
    pub reuse: StudyReuse,
    /// Whether stages run in buckets, and how they are cut. For comparison; nothing is remembered or looked up.
    pub buckets: Option<Bucketing>,
    /// How many stages a bucket holds at most, for the algorithms that have that limit.
    pub max_bucket_size: Option<usize>,
    /// How many buckets there are at most, for the algorithms that have that limit.
    pub max_buckets: Option<usize>,
    /// Outputs that are written for every evaluation, besides the objective.
    pub deliver: Vec<String>,
    /// Where results go; `None`: `outputs/<run>` in the current folder.
    pub outputs: Option<PathBuf>,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// A study that was run.
#[derive(Debug)]
pub struct StudyRun {
    /// What it came to.
    pub summary: StudySummary,
    /// How many tasks stand where, over all rounds.
    pub counts: Counts,
    /// Where its results are.
    pub folder: PathBuf,
    /// The files of its results.
    pub files: Vec<PathBuf>,
    /// What went wrong besides tasks that failed.
    pub errors: Vec<String>,
    /// What the readers of the files said.
    pub said: Vec<CheckedFile>,
}

impl StudyRun {
    /// Whether every evaluation has a value.
    pub fn succeeded(&self) -> bool {
        let phases = self.summary.phases.iter();
        let whole = phases.into_iter().all(|phase| phase.failed.is_empty());
        whole
            && self.errors.is_empty()
            && self.summary.facts.failures.is_empty()
            && !self.summary.facts.stopped
    }
}

/// The buckets that the paper's figures are for.
pub(super) const BUCKET_SIZE: usize = 7;

/// Runs a study until its answer is there or `stop` is asked for.
pub fn run_study(
    request: &StudyRunRequest,
    libraries: &Registry,
    current: &Path,
    progress: &StudyProgress,
    stop: &Stop,
) -> Result<StudyRun, Error> {
    let began = Instant::now();
    let cores = request.cores.unwrap_or_else(crate::plan::machine_cores);
    let division = Division {
        reuse: request.reuse,
        buckets: request.buckets,
        max_bucket_size: request.max_bucket_size.unwrap_or(BUCKET_SIZE),
        max_buckets: request.max_buckets,
        workers: cores,
    };
    fits_together(request)?;
    let (mut study, parsed) = Study::read(&request.study, &request.settings, libraries)?;
    parsed.runnable()?;
    let images = objective::images(&parsed, libraries);
    let delivered = delivered(request, &parsed.workflow.wanted())?;
    let bound = study.bind(&parsed.workflow, libraries)?;
    let folder = folder(request, current)?;
    let store = crate::open_store(&request.store, current)?;
    let run = crate::identifier::new_run();
    let folder = folder.unwrap_or_else(|| current.join("outputs").join(&run));
    let read_only = request.store.read_only;
    let StudyData {
        loaded,
        data_set,
        baseline,
    } = study.load(parsed, bound, libraries, &store, Some(&run))?;
    let open = open_for(&study, &loaded, &data_set, &baseline, &delivered)?;
    refuse_open(&study, &open, &loaded.workflow)?;
    refuse_without_default(&study, &loaded.workflow)?;
    refuse_rules_in_buckets(request, &open, &loaded.workflow)?;
    let design = Design::new(&mut study)?;
    let mut told = design.notes();
    if study.study.until.is_some() && !division.remembers() {
        told.push(
            "`until` needs what is remembered, so the whole design is evaluated here".to_owned(),
        );
    }
    if !read_only {
        crate::run::tidy_work(&store);
    }
    fs::create_dir_all(&folder)
        .map_err(|source| Error::io("cannot make folder", &folder, source))?;
    let record = RunRecord {
        id: run.clone(),
        workflow: loaded.workflow.name.to_string(),
        file: std::path::absolute(&request.study).unwrap_or_else(|_| request.study.clone()),
        started: crate::identifier::now(),
        ended: None,
        status: RunStatus::Running,
        tasks: 0,
        executed: 0,
        reused: 0,
        failed: 0,
        outputs: folder.clone(),
        command: request.command.clone(),
    };
    if !read_only {
        store.begin_run(&record)?;
        // Notes are for explanations; a run does not fail for want of one.
        let _ = store.note_versions(&loaded.versions);
    }
    let places = Places::new(&store, &run, read_only);
    let ground = Ground {
        registry: &loaded.registry,
        store: &store,
        run: &run,
        places: &places,
        watched: Arc::new(watched(&data_set)),
        options: Options {
            capacity: Capacity {
                cores: cores as u64,
                memory: request.memory.or_else(crate::plan::machine_memory),
                others: request.resources.clone(),
            },
            retries: request.retries,
            backoff: Backoff::default(),
            fail_fast: request.fail_fast,
            compares: request.reuse == StudyReuse::Content,
            ..Options::default()
        },
        stop,
        progress,
        limited_disk: request.disk.is_some(),
        began,
        trace: Some(Mutex::new(trace(&folder)?)),
    };
    let site = Site {
        study: &study,
        loaded: &loaded,
        open: &open,
        baseline: &baseline,
        ground: &ground,
        division,
    };
    let mut keeper = division
        .remembers()
        .then(|| StoreKeeper::new(Arc::clone(&store), &run, request.disk));
    let mut book = Book::default();
    let ran = loaded
        .copy_used(&store)
        .and_then(|()| phases(&site, design, &mut book, keeper.as_mut()));
    // What was finished is worth showing, however the phases ended.
    let shown = ran.and_then(|(phases, unfit)| {
        let examples = match stop.is_stopping() {
            true => Ok(Vec::new()),
            false => examples(
                &site,
                &data_set,
                &phases,
                &images,
                &mut book,
                keeper.as_mut(),
            ),
        };
        Ok((phases, unfit, examples?))
    });
    let kept = keeper.map_or(Ok(()), StoreKeeper::close);
    progress.finish();
    let ended = |status, counts| crate::run::end_run(&store, read_only, &run, status, counts);
    let (mut phases, unfit, examples) =
        shown.inspect_err(|_| ended(RunStatus::Failed, Counts::default()))?;
    let counts = book.counts();
    let mut errors: Vec<String> = kept
        .err()
        .map(|error| Error::Pool(PoolError::Keeper(error)).to_string())
        .into_iter()
        .chain(unfit.map(|error| error.to_string()))
        .collect();
    for ended in phases.iter_mut().flat_map(|phase| &mut phase.rounds) {
        errors.extend(ended.trouble.take().map(|error| error.to_string()));
    }
    let finish = || -> Result<(StudySummary, Vec<PathBuf>), Error> {
        let mut notes = std::mem::take(&mut told);
        let mut damage = store.take_damage();
        damage.sort();
        damage.dedup();
        notes.extend(crate::run::told_damage(damage));
        let forecast = phases.iter_mut().find_map(|phase| phase.forecast.take());
        let rounds = || phases.iter().flat_map(|phase| &phase.rounds);
        let mut failures = Vec::new();
        for ended in rounds() {
            notes.extend(ended.fetcher.take_notes());
            failures.extend(failed_tasks(ended));
        }
        if !read_only {
            for ended in rounds() {
                let address = |task| ended.names.address(&ended.enactment, task);
                let _ = notes::write(&store, &run, &ended.enactment, current, &address);
            }
            store.put_run_tasks(&run, &book.tasks)?;
        }
        let (delivered, said) = write::delivered(&site, &delivered, &phases, &folder)?;
        notes.extend(said);
        let facts = StudyFacts {
            run: run.clone(),
            started: record.started,
            seconds: began.elapsed().as_secs_f64(),
            running_seconds: book.running().as_secs_f64(),
            cores,
            sharing: division.in_words(),
            stopped: stop.is_stopping(),
            tasks: book.facts(&store)?,
            recomputed: book.recomputed,
            timeline: book.timeline(),
            forecast,
            failures: failures.iter().map(FailedTask::description).collect(),
            notes,
        };
        let summary = StudySummary {
            study: study.name().to_string(),
            workflow: loaded.workflow.name.to_string(),
            objective: study.resolved.objective.name.to_string(),
            method: design::in_words(&study.study.method),
            seed: study.study.seed,
            items: items(&study, &open, &data_set),
            phases: phases.iter().map(|phase| phase.summary.clone()).collect(),
            examples,
            facts,
        };
        let mut files = write::results(&summary, &phases, &folder)?;
        files.extend(delivered);
        if !read_only {
            write::remember(&summary, &store.run_folder(&run))?;
        }
        Ok((summary, files))
    };
    let (summary, files) = finish().inspect_err(|_| ended(RunStatus::Failed, counts))?;
    if request.outputs.is_none() {
        link_last(&folder);
    }
    let done = StudyRun {
        summary,
        counts,
        folder,
        files,
        errors,
        said: std::mem::take(&mut study.said),
    };
    let status = match (stop.is_stopping(), done.succeeded()) {
        (true, _) => RunStatus::Cancelled,
        (false, true) => RunStatus::Done,
        (false, false) => RunStatus::Failed,
    };
    ended(status, counts);
    places.forget(done.summary.facts.failures.is_empty());
    Ok(done)
}

/// Refuses flags that contradict each other.
fn fits_together(request: &StudyRunRequest) -> Result<(), Error> {
    let wrong = |message: &str, hint: &str| Err(Error::usage(message, Some(hint.to_owned())));
    match (request.buckets, request.reuse) {
        (Some(_), StudyReuse::None | StudyReuse::Stage) => wrong(
            "buckets are there to share tasks, and --reuse says that none is shared",
            "leave --reuse out, or give it as chain or graph",
        ),
        _ => Ok(()),
    }
}

/// The outputs that are to be written for every evaluation.
fn delivered(
    request: &StudyRunRequest,
    known: &[OutputBinding],
) -> Result<Vec<OutputBinding>, Error> {
    let find = |name: &String| {
        let found = known.iter().find(|output| *output.name == **name);
        found.cloned().ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|known| known.name.to_string()).collect();
            Error::usage(
                format!("the workflow has no output `{name}`"),
                Some(format!("it has: {}", names.join(", "))),
            )
        })
    };
    request.deliver.iter().map(find).collect()
}

/// The folder that was asked for, if it is free.
fn folder(request: &StudyRunRequest, current: &Path) -> Result<Option<PathBuf>, Error> {
    let Some(folder) = &request.outputs else {
        return Ok(None);
    };
    let folder = current.join(folder);
    match fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
        true => Err(Error::usage(
            format!("the folder `{}` is not empty", folder.display()),
            Some("give a new one with -o, or leave -o out".to_owned()),
        )),
        false => Ok(Some(folder)),
    }
}

/// Refuses a workflow of which more is known only when something has run.
fn refuse_open(
    study: &Study,
    open: &Open,
    workflow: &headwater_graph::Workflow,
) -> Result<(), Error> {
    let Some(stage) = open.blueprint.open.first() else {
        return Ok(());
    };
    Err(study.mistake_at_objective(
        format!(
            "stage `{}` has instances that are known only when something has run (a list of unknown length, an impure \
             task, `tolerate`), and such a study can be planned but not run yet",
            workflow.stages[*stage].name
        ),
        "study an output that does not depend on that stage, or give its items as inputs",
    ))
}

/// Refuses buckets where stages have an order or a limit of their own: a bucket holds what it has, in any order.
fn refuse_rules_in_buckets(
    request: &StudyRunRequest,
    open: &Open,
    workflow: &headwater_graph::Workflow,
) -> Result<(), Error> {
    if request.buckets.is_none() {
        return Ok(());
    }
    let ordered = open.blueprint.stages.iter();
    let ordered = ordered.filter(|stage| !stage.after.is_empty() || !stage.after_stages.is_empty());
    let ordered = ordered.map(|stage| (stage.stage, "after"));
    let limited = open.blueprint.stages.iter();
    let limited = limited.filter(|stage| workflow.stages[stage.stage].concurrency.is_some());
    let limited = limited.map(|stage| (stage.stage, "concurrency"));
    match limited.chain(ordered).min() {
        None => Ok(()),
        Some((stage, rule)) => Err(Error::usage(
            format!(
                "stage `{}` has `{rule}`, which buckets do not heed",
                workflow.stages[stage].name
            ),
            Some("leave --buckets out".to_owned()),
        )),
    }
}

/// In a study of two phases, parameters that are not kept need a value.
fn refuse_without_default(
    study: &Study,
    workflow: &headwater_graph::Workflow,
) -> Result<(), Error> {
    if !matches!(study.study.method, Method::TwoPhase { .. }) {
        return Ok(());
    }
    for studied in &study.resolved.studied {
        let declared = workflow.parameters.iter();
        let mut declared = declared.filter(|known| known.name == studied.name);
        let has_default = declared.next().is_some_and(|known| known.default.is_some());
        if studied.default.is_none() && !has_default {
            return Err(study.mistake_at_parameter(
                &studied.name,
                format!(
                    "`{}` has no default, and if the second phase does not keep it, it needs a value",
                    studied.name
                ),
                "give it a `default` in the workflow",
            ));
        }
    }
    Ok(())
}

/// The files of the user, as they were when they were digested.
fn watched(data_set: &DataSet) -> Watched {
    let mut watched = Watched::default();
    let items = data_set.columns.iter().flat_map(|column| &column.items);
    items.flatten().for_each(|item| watched.add(&item.value));
    watched
}

fn trace(folder: &Path) -> Result<Box<dyn std::io::Write + Send>, Error> {
    let path = folder.join("trace.tsv");
    let failed = |source| Error::io("cannot write", &path, source);
    let file = fs::File::create(&path).map_err(failed)?;
    let mut trace = BufWriter::new(file);
    writeln!(trace, "{TRACE_HEADER}").map_err(failed)?;
    Ok(Box::new(trace))
}

/// Runs the phases of a study; also gives why one that was to follow did not.
fn phases(
    site: &Site<'_>,
    design: Design,
    book: &mut Book,
    mut keeper: Option<&mut StoreKeeper>,
) -> Result<(Vec<EndedPhase>, Option<Error>), Error> {
    let first = phase::first(site.study, design);
    let mut ended = vec![site.run(&first, book, keeper.as_deref_mut())?];
    let is_over = |ended: &EndedPhase| {
        let broken = ended.rounds.iter().any(|round| round.trouble.is_some());
        site.ground.stop.is_stopping() || broken
    };
    if is_over(&ended[0]) {
        return Ok((ended, None));
    }
    let summary = &ended[0].summary;
    match phase::following(site.study, summary, summary.sets_planned) {
        Ok(None) => Ok((ended, None)),
        Ok(Some(next)) => {
            ended.push(site.run(&next, book, keeper)?);
            Ok((ended, None))
        }
        Err(unfit) => Ok((ended, Some(unfit))),
    }
}

/// The tasks that failed in a round.
fn failed_tasks(ended: &Ended) -> Vec<FailedTask> {
    let mut blocked: BTreeMap<_, usize> = BTreeMap::new();
    for (task, cause) in ended.enactment.blocked() {
        let signature = &ended.enactment.graph().operation_at(*task).signature;
        if !signature.implicit {
            *blocked.entry(*cause).or_default() += 1;
        }
    }
    let failed = |seen: &crate::progress::SeenFailure| FailedTask {
        address: ended.names.address(&ended.enactment, seen.task),
        failure: seen.failure.clone(),
        attempts: seen.attempts,
        blocked: blocked.get(&seen.task).copied().unwrap_or(0),
    };
    ended.failures.iter().map(failed).collect()
}

/// What the objective is computed for.
fn items(study: &Study, open: &Open, data_set: &DataSet) -> Vec<StudyItem> {
    let objective = &study.resolved.objective.name;
    let requested = open.blueprint.requested.iter().zip(&open.ancestry);
    let called = |input: &Arc<str>, index: &headwater_graph::Index| {
        let column = data_set.column(input)?;
        let position = index.0.first().copied().unwrap_or(0) as usize;
        let item = column.items.get(position)?.as_ref()?;
        Some(match &item.value {
            Value::File(file) => match file.handle.path().and_then(|path| path.file_name()) {
                Some(name) => name.to_string_lossy().into_owned(),
                None => "a file".to_owned(),
            },
            Value::Directory(directory) => {
                let name = directory.path.as_deref().and_then(Path::file_name);
                name.map_or("a folder".to_owned(), |name| {
                    name.to_string_lossy().into_owned()
                })
            }
            other => other.as_scalar()?.to_string(),
        })
    };
    requested
        .filter(|(found, _)| found.output == *objective)
        .map(|(found, from)| StudyItem {
            index: match found.index.0.is_empty() {
                true => String::new(),
                false => found.index.to_string(),
            },
            inputs: from
                .iter()
                .filter_map(|(input, index)| Some((input.to_string(), called(input, index)?)))
                .collect(),
        })
        .collect()
}
