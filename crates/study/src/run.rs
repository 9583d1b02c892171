//! A study, from its file to its answer.
//!
//! Law: giving the same request again continues where the last one stopped, and what is remembered is not made again.
//! Results are a function of the study, its inputs and the versions of its operations: the number of workers, the order
//! of events and what was remembered leave no trace in them. A failed task costs the evaluations that need it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use headwater_enact::{Counts, DataSet, Enactment, Options, Requested};
use headwater_engine::deliver::link_last;
use headwater_engine::failed::{FailedTask, alike};
use headwater_engine::keep::StoreKeeper;
use headwater_engine::limits::check_environment;
use headwater_engine::load::{CheckedFile, Loaded};
use headwater_engine::places::Places;
use headwater_engine::progress::{Clock, RunFacts};
use headwater_engine::results_folder::ResultsFolder;
use headwater_engine::trace::Trace;
use headwater_engine::{Error, Limits, StorePlace, budget, diagram, notes};
use headwater_execute::{PoolError, Stop, Watched};
use headwater_flow::Method;
use headwater_graph::{OutputBinding, Recipe, Registry, Scalar, TaskId, Value};
use headwater_remember::{RunRecord, RunStatus, Store};
use headwater_report::study::{Extremes, StudyExample, StudyFacts, StudyItem, StudySummary};

use super::extremes;
use crate::buckets::BUCKET_SIZE;
use crate::close::{self, Closer};
use crate::design::{self, Design};
use crate::examples::{Examples, examples};
use crate::facts::Book;
use crate::live::StudyProgress;
use crate::load::{Study, StudyData};
use crate::open::{MadeReference, Open, open_for};
use crate::phase::{self, Bucketing, Division, EndedPhase, Site, StudyReuse};
use crate::recall::RecalledRound;
use crate::round::{Ended, Ground};
use crate::{doubt, objective, write};

/// What study to run, and how.
#[derive(Debug, Clone, Default)]
pub struct StudyRunRequest {
    /// The study file.
    pub study: PathBuf,
    /// `PATH=VALUE` for values of the study file.
    pub settings: Vec<String>,
    /// The store that products are kept in.
    pub store: StorePlace,
    /// What it may take, and how it deals with failures.
    pub limits: Limits,
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
    /// How it ended.
    pub fn status(&self) -> RunStatus {
        match (self.summary.facts.stopped, self.succeeded()) {
            (true, _) => RunStatus::Cancelled,
            (false, true) => RunStatus::Done,
            (false, false) => RunStatus::Failed,
        }
    }

    /// Whether every evaluation has a value.
    pub fn succeeded(&self) -> bool {
        self.summary.is_complete()
            && self.errors.is_empty()
            && self.summary.facts.failures.is_empty()
    }
}

/// Runs a study until its answer is there or `stop` is asked for. As for a run of a workflow, `libraries` has the
/// operations that its workflow may use besides its own, and `current` is where outputs and the store are.
///
/// ```
/// use headwater::graph::{
///     Context, Operation, OperationError, Outputs, Registry, Scalar, ScalarType, Signature, Type, Value,
/// };
/// use headwater::study::Indices;
/// use headwater::{Stop, StudyProgress, StudyRunRequest};
///
/// fn line(_: &[Value], parameters: &[Scalar], _: &mut Context) -> Result<Outputs, OperationError> {
///     match parameters {
///         [Scalar::Float(a), Scalar::Float(b)] => Ok(vec![Value::Float(4.0 * a - b)]),
///         _ => Err(OperationError::Failed("not two numbers".to_owned())),
///     }
/// }
///
/// let signature = Signature::new("line", "1")
///     .parameter("a", ScalarType::Float, None)
///     .parameter("b", ScalarType::Float, None)
///     .output("y", Type::Float);
/// let mut libraries = Registry::new();
/// libraries.register(Some("example"), Operation::native(signature, line))?;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(folder.join("line.yaml"), "
/// headwater: 1
/// workflow: line
/// parameters:
///   a: {type: float, range: [0, 1], step: 0.25, default: 0}
///   b: {type: float, range: [0, 1], step: 0.25, default: 0}
/// stages:
///   line:
///     tasks: [{op: example/line, params: {a: $a, b: $b}, out: {y: y}}]
/// outputs: {y: y}
/// ")?;
/// std::fs::write(folder.join("study.yaml"), "
/// headwater: 1
/// study: which-matters
/// workflow: line.yaml
/// objective: y
/// method: {moat: {trajectories: 4, levels: 4}}
/// ")?;
/// let request = StudyRunRequest { study: folder.join("study.yaml"), ..StudyRunRequest::default() };
/// let (progress, stop) = (StudyProgress::default(), Stop::default());
/// let done = headwater::run_study(&request, &libraries, folder, &progress, &stop)?;
///
/// let phase = &done.summary.phases[0];
/// let most = phase.pooled.ranking()[0];
/// assert_eq!(&*phase.parameters[most].name, "a");
/// let Indices::Moat(rows) = &phase.pooled else { panic!("another method") };
/// assert!(rows[most].mu_star > rows[1 - most].mu_star);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_study(
    request: &StudyRunRequest,
    libraries: &Registry,
    current: &Path,
    progress: &StudyProgress,
    stop: &Stop,
) -> Result<StudyRun, Error> {
    let began = Instant::now();
    check_environment()?;
    let cores = request.limits.cores_here();
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
    let run = headwater_engine::identifier::new_run();
    // Held until everything is written.
    let results = ResultsFolder::take_empty(&match &request.outputs {
        Some(folder) => current.join(folder),
        None => current.join("outputs").join(&run),
    })?;
    let folder = results.path().to_owned();
    let store = headwater_engine::open_store(&request.store, current)?;
    let read_only = request.store.read_only;
    let StudyData {
        loaded,
        data_set,
        baseline,
    } = study.load(parsed, bound, libraries, &store, Some(&run))?;
    let open = open_for(&study, &loaded, &data_set, &baseline, &delivered, None)?;
    close::refuse(&study, &loaded, &open.graph, &open.blueprint, true)?;
    refuse_without_default(&study, &loaded.workflow)?;
    refuse_rules_in_buckets(request, &open, &loaded.workflow)?;
    let design = Design::new(&mut study)?;
    let mut told = design.notes();
    if !read_only {
        headwater_engine::places::tidy_work(&store);
    }
    let trace = Mutex::new(Trace::create(&results)?);
    let record = RunRecord {
        id: run.clone(),
        workflow: loaded.workflow.name.to_string(),
        file: std::path::absolute(&request.study).unwrap_or_else(|_| request.study.clone()),
        started: headwater_engine::identifier::now(),
        outputs: folder.clone(),
        command: request.command.clone(),
        ..RunRecord::default()
    };
    let facts = RunFacts {
        run: run.clone(),
        workflow: record.workflow.clone(),
        study: Some(study.name().to_string()),
        started: record.started,
        cores,
        folder: folder.clone(),
    };
    let stages = loaded.workflow.stages.iter();
    progress.about(
        facts,
        Clock::start(began, store.written()),
        stages.map(|stage| Arc::clone(&stage.name)).collect(),
    );
    if !read_only {
        store.begin_run(&record)?;
        // Notes are for explanations; a run does not fail for want of one.
        let _ = notes::write_study(&store, &run, study.name());
        let _ = store.note_versions(&loaded.versions);
        let _ = diagram::note(&store, &run, &loaded.workflow, &varied(&study), &[], &[]);
    }
    let places = Places::new(&store, &run, read_only);
    let base = record
        .file
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    budget::keep_to(request.limits.memory);
    let ground = Ground {
        registry: &loaded.registry,
        store: &store,
        run: &run,
        places: &places,
        watched: Arc::new(watched(&data_set)),
        options: Options {
            compares: request.reuse == StudyReuse::Content,
            ..request.limits.options()
        },
        stop,
        progress,
        limited_disk: request.limits.disk.is_some(),
        base: base.clone(),
        began,
        trace,
    };
    let mut keeper = division.remembers().then(|| {
        let room = budget::for_store(request.limits.memory);
        StoreKeeper::within(Arc::clone(&store), &run, request.limits.disk, room)
    });
    let mut book = Book::default();
    let subject = Subject {
        study: &study,
        loaded: &loaded,
        data_set: &data_set,
        baseline: &baseline,
        delivered: &delivered,
        images: &images,
    };
    let evaluated = loaded.copy_used(&store).and_then(|()| {
        let keeper = keeper.as_mut();
        evaluate(&subject, open, design, &ground, division, &mut book, keeper)
    });
    let kept = keeper
        .map_or(Ok(()), StoreKeeper::close)
        .map_err(|error| Error::Pool(PoolError::Keeper(error)).to_string());
    progress.finish();
    let ended =
        |status, counts| headwater_engine::places::end_run(&store, read_only, &run, status, counts);
    let failed = |counts| {
        ended(RunStatus::Failed, counts);
        places.forget(true);
    };
    let Evaluated {
        open,
        mut phases,
        unfit,
        blank,
        kept: about_kept,
        examples,
        extremes,
        notes: mut about_examples,
        is_kept,
    } = evaluated.inspect_err(|_| failed(book.counts()))?;
    let counts = book.counts();
    let mut errors = Vec::new();
    match kept {
        // What the answer rests on was durable by then: only what illustrates it could not be kept.
        Err(error) if is_kept => about_examples = vec![no_examples(&error)],
        kept => errors.extend(kept.err()),
    }
    let mut errors: Vec<String> = errors
        .into_iter()
        .chain(unfit.map(|error| error.to_string()))
        .collect();
    for ended in phases.iter_mut().flat_map(|phase| &mut phase.rounds) {
        errors.extend(ended.trouble.take().map(|error| error.to_string()));
    }
    // Where nothing is remembered there is nothing to explain either.
    let is_noted = !read_only && division.remembers();
    let finish = || -> Result<(StudySummary, Vec<PathBuf>), Error> {
        let mut notes = std::mem::take(&mut told);
        notes.extend(about_examples);
        let mut damage = store.take_damage();
        damage.sort();
        damage.dedup();
        notes.extend(headwater_engine::places::told_damage(damage));
        let forecast = phases.iter_mut().find_map(|phase| phase.forecast.take());
        let rounds = || phases.iter().flat_map(|phase| &phase.rounds);
        let (mut failures, mut seen) = (Vec::new(), HashSet::new());
        for ended in rounds() {
            notes.extend(ended.fetcher.take_notes());
            notes.extend(budget::told(
                ended.enactment.coordinator(),
                request.limits.memory,
                "--memory",
            ));
            // A task that several rounds have tried is told once.
            let mut found = failed_tasks(ended);
            found.retain(|(recipe, _)| !ended.remembers || seen.insert(*recipe));
            failures.extend(found.into_iter().map(|(_, failed)| failed));
        }
        book.trace(&mut headwater_engine::lock::locked(&ground.trace));
        if is_noted {
            note(&store, &run, &subject, &open, &phases, current);
        }
        let (delivered, said) = write::delivered(&loaded.registry, &delivered, &phases, &results)?;
        notes.extend(said);
        let facts = StudyFacts {
            run: run.clone(),
            started: record.started,
            seconds: began.elapsed().as_secs_f64(),
            running_seconds: book.running().as_secs_f64(),
            cores,
            sharing: division.in_words(),
            stopped: false,
            tasks: book.facts(&store)?,
            recomputed: book.recomputed,
            timeline: book.timeline(),
            forecast,
            failures: failures.iter().map(FailedTask::description).collect(),
            causes: by_cause(&failures),
            notes,
        };
        let items = items(&open, &data_set, &base);
        let mut summary = StudySummary {
            study: study.name().to_string(),
            workflow: loaded.workflow.name.to_string(),
            objective: study.resolved.objective.name.to_string(),
            method: design::in_words(&study.study.method, study.study.until.is_some()),
            seed: study.study.seed,
            inputs: inputs(&study, &loaded.workflow, &data_set, &base),
            doubts: doubt::about_blank(&blank, &open.made, &items)
                .into_iter()
                .chain(about_kept)
                .collect(),
            items,
            phases: phases.iter().map(|phase| phase.summary.clone()).collect(),
            phases_planned: phase::planned(&study),
            examples,
            extremes,
            facts,
        };
        // A wish to stop that came when everything was there has stopped nothing.
        summary.facts.stopped = stop.is_stopping() && !summary.is_complete();
        let mut files = write::results(&summary, &phases, &results)?;
        files.extend(delivered);
        if !read_only {
            write::remember(&summary, &store, &run)?;
        }
        Ok((summary, files))
    };
    // The list of tasks may be long: it is written beside everything else.
    let finished = std::thread::scope(|threads| {
        let list = || store.put_run_tasks(&run, &book.tasks);
        let list = is_noted.then(|| threads.spawn(list));
        let finished = finish();
        match list.map(std::thread::ScopedJoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            Some(Ok(Err(unlisted))) => finished.and(Err(unlisted.into())),
            Some(Ok(Ok(()))) | None => finished,
        }
    });
    let (summary, files) = finished.inspect_err(|_| failed(counts))?;
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
    ended(done.status(), counts);
    places.forget(done.summary.facts.failures.is_empty());
    // What was stopped may go on in the same folder.
    if !done.summary.facts.stopped {
        results.finish();
    }
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

/// What a study is about.
struct Subject<'a> {
    study: &'a Study,
    loaded: &'a Loaded,
    data_set: &'a DataSet,
    baseline: &'a BTreeMap<Arc<str>, Scalar>,
    /// Outputs that are written for every evaluation.
    delivered: &'a [OutputBinding],
    /// Outputs that are images.
    images: &'a [OutputBinding],
}

/// What came of it.
struct Evaluated {
    open: Open,
    phases: Vec<EndedPhase>,
    /// Why there is no second phase, where there should be one.
    unfit: Option<Error>,
    /// References without any difference in them.
    blank: Vec<MadeReference>,
    /// What there is to say about the parameters that the second phase kept.
    kept: Vec<String>,
    examples: Vec<StudyExample>,
    extremes: Option<Extremes>,
    /// Things worth telling.
    notes: Vec<String>,
    /// Whether everything was durable before the examples were made.
    is_kept: bool,
}

/// Runs whatever a study needs: what lists are made from, phases, examples.
fn evaluate(
    subject: &Subject<'_>,
    mut open: Open,
    design: Design,
    ground: &Ground<'_>,
    division: Division,
    book: &mut Book,
    mut keeper: Option<&mut StoreKeeper>,
) -> Result<Evaluated, Error> {
    let Subject {
        study,
        loaded,
        data_set,
        baseline,
        delivered,
        images,
    } = *subject;
    if !open.blueprint.open.is_empty() {
        let mut closer = Closer {
            study,
            loaded,
            ground,
            book,
            keeper: keeper.as_deref_mut(),
        };
        let closer = Some(&mut closer);
        open = open_for(study, loaded, data_set, baseline, delivered, closer)?;
    }
    let site = Site {
        study,
        loaded,
        open: &open,
        baseline,
        ground,
        division,
        delivers: !delivered.is_empty(),
    };
    let (phases, unfit) = phases(&site, design, book, keeper.as_deref_mut())?;
    let blank = phases.first().map(|phase| phase.blank.clone());
    let blank = blank.unwrap_or_default();
    let kept = match phases.as_slice() {
        [screen, _] => doubt::about_kept(study, &screen.summary),
        _ => Vec::new(),
    };
    let is_over = (phases.iter())
        .flat_map(|phase| &phase.rounds)
        .any(|round| ground.is_over(round));
    let is_kept = !is_over && keeper.as_deref().is_some_and(|keeper| keeper.is_durable());
    let shown = match is_over {
        true => Ok(Examples::default()),
        false => examples(&site, data_set, &phases, images, book, keeper),
    };
    // The answer is there, whether or not it can be illustrated.
    let Examples { found, notes } = shown.unwrap_or_else(|error| Examples {
        found: Vec::new(),
        notes: vec![no_examples(&error.to_string())],
    });
    let extremes = extremes::extremes(&site, &phases);
    Ok(Evaluated {
        open,
        phases,
        unfit,
        blank,
        kept,
        examples: found,
        extremes,
        notes,
        is_kept,
    })
}

/// Why there is nothing to look at.
fn no_examples(why: &str) -> String {
    format!("there are no examples: {why}")
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
    if ended[0]
        .rounds
        .iter()
        .any(|round| site.ground.is_over(round))
    {
        return Ok((ended, None));
    }
    let summary = &ended[0].summary;
    match phase::following(site.study, summary, summary.sets_planned) {
        Ok(None) => Ok((ended, None)),
        Ok(Some(next)) => match site.run(&next, book, keeper) {
            Ok(second) => {
                ended.push(second);
                Ok((ended, None))
            }
            // The screening is there all the same.
            Err(unfit) => Ok((ended, Some(unfit))),
        },
        Err(unfit) => Ok((ended, Some(unfit))),
    }
}

/// The parameters that vary.
fn varied(study: &Study) -> Vec<Arc<str>> {
    let studied = study.resolved.studied.iter();
    studied.map(|studied| Arc::clone(&studied.name)).collect()
}

/// Notes what explanations and drawings need of all rounds; a run does not fail for want of a note.
fn note(
    store: &Store,
    run: &str,
    subject: &Subject<'_>,
    open: &Open,
    phases: &[EndedPhase],
    current: &Path,
) {
    let rounds: Vec<&Ended> = phases.iter().flat_map(|phase| &phase.rounds).collect();
    let recalled: Vec<&RecalledRound> = phases.iter().flat_map(|phase| &phase.recalled).collect();
    let items: Vec<&Requested> = (open.items.iter())
        .map(|position| &open.blueprint.requested[*position])
        .collect();
    let known: Vec<_> = recalled
        .iter()
        .map(|round| {
            let others = |visit: &mut notes::VisitOther<'_>| round.for_each_other_address(visit);
            let outputs = |visit: &mut notes::VisitOutput<'_>| round.for_each_output(&items, visit);
            (others, outputs)
        })
        .collect();
    let addresses: Vec<_> = rounds
        .iter()
        .map(|ended| |task: TaskId| ended.names.address(&ended.enactment, task))
        .collect();
    let parts: Vec<(&Enactment, &dyn Fn(TaskId) -> String)> = rounds
        .iter()
        .zip(&addresses)
        .map(|(ended, address)| (&ended.enactment, address as &dyn Fn(TaskId) -> String))
        .collect();
    let others: Vec<_> = rounds
        .iter()
        .map(|ended| |visit: &mut notes::Visit<'_>| ended.names.for_each_other_address(visit))
        .collect();
    let noted = parts.iter().zip(&others);
    let mut noted = noted.map(|((enactment, address), others)| {
        notes::Part::Whole(notes::Round {
            enactment,
            address: *address,
            others,
        })
    });
    let mut known = known.iter().map(|(others, outputs)| {
        notes::Part::Recalled(notes::Recalled {
            given: &open.graph,
            others,
            outputs,
        })
    });
    let in_order = phases.iter().flat_map(|phase| &phase.is_recalled);
    let in_order: Vec<notes::Part<'_>> = in_order
        .filter_map(|is_recalled| match is_recalled {
            true => known.next(),
            false => noted.next(),
        })
        .collect();
    let _ = notes::write(store, run, &in_order, current);
    let definitions: Vec<_> = rounds
        .iter()
        .map(|ended| {
            |task: TaskId| {
                let step = ended.names.step(task)?;
                Some((step.stage, &*step.task))
            }
        })
        .collect();
    let drawn: Vec<diagram::Part<'_>> = parts
        .iter()
        .zip(&definitions)
        .map(|((enactment, address), definition)| diagram::Part {
            enactment,
            definition,
            address: *address,
        })
        .collect();
    let varied = varied(subject.study);
    let others: Vec<&diagram::Tally> = recalled.iter().map(|round| round.tally()).collect();
    let workflow = &subject.loaded.workflow;
    let _ = diagram::note(store, run, workflow, &varied, &drawn, &others);
}

/// The tasks that failed in a round, with their recipes.
fn failed_tasks(ended: &Ended) -> Vec<(Recipe, FailedTask)> {
    let mut blocked: BTreeMap<_, usize> = BTreeMap::new();
    for (task, cause) in ended.enactment.blocked() {
        let signature = &ended.enactment.graph().operation_at(*task).signature;
        if !signature.implicit {
            *blocked.entry(*cause).or_default() += 1;
        }
    }
    let failed = |seen: &headwater_engine::progress::SeenFailure| {
        let failed = FailedTask {
            address: ended.names.address(&ended.enactment, seen.task),
            failure: seen.failure.clone(),
            attempts: seen.attempts,
            blocked: blocked.get(&seen.task).copied().unwrap_or(0),
            from: Vec::new(),
        };
        (ended.enactment.graph().recipe(seen.task), failed)
    };
    ended.failures.iter().map(failed).collect()
}

/// What a value that was given is called.
fn called(value: &Value, base: &Path) -> Option<String> {
    // As the study names it; of what lies elsewhere the last part.
    let named = |path: &Path| {
        let last = || path.file_name().map(Path::new);
        let name = path.strip_prefix(base).ok().or_else(last);
        name.unwrap_or(path).display().to_string()
    };
    Some(match value {
        Value::File(file) => match file.handle.path() {
            Some(path) => named(path),
            None => "a file".to_owned(),
        },
        Value::Directory(directory) => match directory.path.as_deref() {
            Some(path) => named(path),
            None => "a folder".to_owned(),
        },
        other => other.as_scalar()?.to_string(),
    })
}

/// What failed, by cause: a task in full, and how many others say the same.
fn by_cause(failures: &[FailedTask]) -> Vec<String> {
    let describe = |kind: Vec<&FailedTask>| {
        let mut text = kind[0].description();
        let others = &kind[1..];
        if !others.is_empty() {
            let shown = others.iter().take(ALIKE);
            let shown: Vec<String> = shown.map(|one| format!("`{}`", one.address)).collect();
            let more = if others.len() > ALIKE { ", …" } else { "" };
            let tasks = if others.len() == 1 { "task" } else { "tasks" };
            text += &format!(
                "\n{} more {tasks} failed for the same reason: {}{more}",
                others.len(),
                shown.join(", ")
            );
        }
        text
    };
    alike(failures).into_iter().map(describe).collect()
}

/// How many tasks that failed like another are named.
const ALIKE: usize = 5;

/// What each input got, in words.
fn inputs(
    study: &Study,
    workflow: &headwater_graph::Workflow,
    data_set: &DataSet,
    base: &Path,
) -> Vec<(String, String)> {
    let references = study.references(workflow);
    let words = |input: &Arc<str>| {
        if let Some((_, output)) = references.iter().find(|(known, _)| known == input) {
            return Some(format!("output {} at the default parameters", output.name));
        }
        let items = &data_set.column(input)?.items;
        let given: Vec<_> = items.iter().flatten().collect();
        match given.as_slice() {
            [] => None,
            [only] => called(&only.value, base).or_else(|| Some("one item".to_owned())),
            several => Some(format!("{} items", several.len())),
        }
    };
    let inputs = workflow.inputs.iter();
    inputs
        .filter_map(|input| Some((input.name.to_string(), words(&input.name)?)))
        .collect()
}

/// What the objective is computed for.
fn items(open: &Open, data_set: &DataSet, base: &Path) -> Vec<StudyItem> {
    let called = |input: &Arc<str>, index: &headwater_graph::Index| {
        let column = data_set.column(input)?;
        let position = index.0.first().copied().unwrap_or(0) as usize;
        called(&column.items.get(position)?.as_ref()?.value, base)
    };
    let requested = open.items.iter().map(|position| {
        let found = &open.blueprint.requested[*position];
        (found, &open.ancestry[*position])
    });
    requested
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
