//! A study, from its file to its answer.
//!
//! Law: giving the same request again continues where the last one stopped, and what is remembered is not made again.
//! Results are a function of the study, its inputs and the versions of its operations: the number of workers, the order
//! of events and what was remembered leave no trace in them. A failed task costs the evaluations that need it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use headwater_enact::{Blueprint, DataSet, Enactment, Options, Requested};
use headwater_engine::deliver::link_last;
use headwater_engine::limits::check_environment;
use headwater_engine::listener::failed_tasks;
use headwater_engine::load::{CheckedFile, Loaded};
use headwater_engine::lock::locked;
use headwater_engine::results_folder::{Finishing, ResultsFolder, refuse_in_store};
use headwater_engine::run::About;
use headwater_engine::trace::Trace;
use headwater_engine::{Error, Run, Surroundings, budget, diagram, failures, notes};
use headwater_flow::Method;
use headwater_graph::progress::StudySnapshot;
use headwater_graph::{
    FailedTask, OutputBinding, RunStatus, Scalar, Store, Tally, TaskGraph, TaskId, Value, alike,
};
use headwater_report::study::{Extremes, StudyExample, StudyFacts, StudyItem, StudySummary};

use super::extremes;
use crate::buckets::BUCKET_SIZE;
use crate::close::{self, Closer};
use crate::design::Design;
use crate::examples::{Examples, examples};
use crate::facts::Book;
use crate::load::{Study, StudyData};
use crate::open::{Close, MadeReference, Open, open_for};
use crate::phase::{self, Bucketing, Division, EndedPhase, StudyReuse, Workplace};
use crate::recalled::RecalledRound;
use crate::round::{EndedRound, Ground};
use crate::source::StudySource;
use crate::words;
use crate::{doubt, objective, write};

/// What study to run, and how.
#[derive(Debug, Clone, Default)]
pub struct StudyRunRequest {
    /// The study.
    pub study: StudySource,
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
    /// Whether the folder of the results counts as unfinished until the report is dropped, for who reports to somebody:
    /// killed before that, the same command goes on in it.
    pub holds_folder: bool,
}

/// A study that was run.
#[derive(Debug)]
pub struct StudyRun {
    /// What it came to.
    pub summary: StudySummary,
    /// How many tasks stand where, over all rounds.
    pub counts: Tally,
    /// Where its results are.
    pub folder: PathBuf,
    /// The files of its results.
    pub files: Vec<PathBuf>,
    /// What went wrong besides tasks that failed.
    pub errors: Vec<String>,
    /// What the readers of the files said.
    pub said: Vec<CheckedFile>,
    /// The folder of the results, if it was asked to hold it: it counts as finished when this is dropped.
    pub finishing: Option<Finishing>,
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

/// Runs a study until its answer is there or a stop is asked for.
pub fn run_study(request: &StudyRunRequest, site: &Surroundings) -> Result<StudyRun, Error> {
    check_environment()?;
    fits_together(request)?;
    let libraries = &*site.libraries;
    let mut run = Run::new(site.executor()?, &site.stop);
    let (mut study, parsed) = Study::read(&request.study, site)?;
    parsed.runnable()?;
    let images = objective::images(&parsed, libraries);
    let delivered = delivered(request, &parsed.workflow.wanted())?;
    let bound = study.bind(&parsed.workflow, libraries)?;
    // Held until everything is written.
    let folder = site.results(request.outputs.as_deref(), run.name());
    refuse_in_store(&folder, &site.store_folder()?)?;
    let results = ResultsFolder::take_empty(&folder)?;
    let store = site.open_store()?;
    run.live_in(&store, site.is_read_only());
    let StudyData {
        loaded,
        data_set,
        watched,
        baseline,
    } = study.load(parsed, bound, libraries, &*store, Some(&run.uses()))?;
    run.watch(watched);
    let open = open_for(&study, &loaded, &data_set, &baseline, &delivered, None)?;
    close::refuse(&study, &loaded, &open.graph, &open.blueprint, true)?;
    refuse_without_default(&study, &loaded.workflow)?;
    refuse_rules_in_buckets(request, &open, &loaded.workflow)?;
    let design = Design::new(&mut study)?;
    let job = StudyJob {
        request,
        site,
        results: &results,
        store: &store,
        subject: Subject {
            study: &study,
            loaded: &loaded,
            data_set: &data_set,
            baseline: &baseline,
            delivered: &delivered,
            images: &images,
        },
        division: Division {
            reuse: request.reuse,
            buckets: request.buckets,
            max_bucket_size: request.max_bucket_size.unwrap_or(BUCKET_SIZE),
            max_buckets: request.max_buckets,
            workers: site.limits.cores_here(),
        },
    };
    let done = job.run(open, design, &mut run);
    match &done {
        Ok(done) => {
            let facts = &done.summary.facts;
            run.end(done.status(), done.counts, facts.failures.is_empty());
        }
        Err(error) => run.fail(error),
    }
    let done = done?;
    // What did not succeed may go on in the same folder.
    let finishing = done.succeeded().then(|| Finishing::new(results));
    let finishing = finishing.filter(|_| request.holds_folder);
    Ok(StudyRun {
        said: std::mem::take(&mut study.said),
        finishing,
        ..done
    })
}

/// What is asked of a run.
struct StudyJob<'a> {
    request: &'a StudyRunRequest,
    site: &'a Surroundings,
    results: &'a ResultsFolder,
    store: &'a Arc<dyn Store>,
    subject: Subject<'a>,
    division: Division,
}

impl StudyJob<'_> {
    /// Everything between the plan and the end.
    fn run(&self, open: Open, design: Design, run: &mut Run) -> Result<StudyRun, Error> {
        let loaded = self.subject.loaded;
        let mut told = design.notes();
        let trace = Mutex::new(Trace::create(self.results)?);
        let started = self.begin(run)?;
        let limits = &self.site.limits;
        let name = run.name().to_owned();
        let ground = Ground {
            registry: &loaded.registry,
            store: self.store,
            name: &name,
            options: Options {
                compares: self.request.reuse == StudyReuse::Content,
                ..limits.options()
            },
            progress: &self.site.progress,
            live: Mutex::default(),
            limited_disk: limits.disk.is_some(),
            base: file_of(self.request, self.site)
                .parent()
                .map(Path::to_path_buf)
                .unwrap_or_default(),
            trace,
            // Where nothing is remembered there is nothing to explain either.
            ledger: if self.division.remembers() {
                Arc::clone(run.ledger())
            } else {
                Arc::default()
            },
        };
        run.count_from_beginning();
        budget::keep_to(limits.memory);
        if self.division.remembers() {
            let keeper = run.keep_in(self.store, limits.disk, limits.memory);
            keeper.tells(&self.site.progress);
        }
        let mut book = Book::default();
        let evaluated = loaded.copy_used(&**self.store).and_then(|()| {
            evaluate(
                &self.subject,
                open,
                design,
                &ground,
                self.division,
                &mut book,
                run,
            )
        });
        let kept = run.close().map_err(|error| error.to_string());
        self.site.progress.finish();
        run.count(book.counts());
        let mut evaluated = evaluated?;
        let mut errors = Vec::new();
        match kept {
            // What the answer rests on was durable by then: only what illustrates it could not be kept.
            Err(error) if evaluated.is_kept => evaluated.notes = vec![no_examples(&error)],
            kept => errors.extend(kept.err()),
        }
        errors.extend(evaluated.unfit.take().map(|error| error.to_string()));
        for ended in (evaluated.phases.iter_mut()).flat_map(|phase| &mut phase.rounds) {
            errors.extend(ended.trouble.take().map(|error| error.to_string()));
        }
        told.append(&mut evaluated.notes);
        let counts = book.counts();
        let (summary, files) = self.conclude(evaluated, book, &ground, run, started, told)?;
        if self.request.outputs.is_none() {
            link_last(self.results.path());
        }
        Ok(StudyRun {
            summary,
            counts,
            folder: self.results.path().to_owned(),
            files,
            errors,
            said: Vec::new(),
            finishing: None,
        })
    }

    /// Begins the run; gives when, in seconds since 1970.
    fn begin(&self, run: &mut Run) -> Result<i64, Error> {
        let Subject { study, loaded, .. } = self.subject;
        let about = About {
            workflow: loaded.workflow.name.to_string(),
            study: Some(study.name().to_string()),
            file: file_of(self.request, self.site),
            tasks: 0,
            outputs: self.results.path().to_owned(),
            command: self.request.command.clone(),
        };
        let (facts, clock) = run.begin(about)?;
        let started = facts.started;
        let stages = loaded.workflow.stages.iter();
        let stages: Vec<_> = stages.map(|stage| Arc::clone(&stage.name)).collect();
        self.site
            .progress
            .study(|study| *study = StudySnapshot::default());
        self.site.progress.stages(&stages);
        self.site.progress.about(facts, clock);
        if let Some(store) = run.writable_store() {
            // Notes are for explanations; a run does not fail for want of one.
            let _ = notes::write_study(&**store, run.name(), study.name());
            let _ = store.note_versions(&loaded.versions);
            let varied = varied(study);
            let _ = diagram::note(&**store, run.name(), &loaded.workflow, &varied, &[], &[]);
        }
        Ok(started)
    }

    /// Sums up what came of it, and writes the results.
    fn conclude(
        &self,
        evaluated: Evaluated,
        book: Book,
        ground: &Ground<'_>,
        run: &Run,
        started: i64,
        notes: Vec<String>,
    ) -> Result<(StudySummary, Vec<PathBuf>), Error> {
        // Where nothing is remembered there is nothing to explain either.
        let listed = run.writable_store().filter(|_| self.division.remembers());
        // The list of tasks may be long: it is written beside everything else.
        std::thread::scope(|threads| {
            let tasks = &book.tasks;
            let name = run.name();
            let list = listed.map(|store| {
                let put = || store.put_run_tasks(name, tasks);
                let thread = std::thread::Builder::new();
                // Where there are no more threads it is written first.
                thread.spawn_scoped(threads, put).map_err(|_| put())
            });
            book.trace(&mut locked(&ground.trace));
            if let Some(store) = listed {
                let Evaluated { open, phases, .. } = &evaluated;
                note(
                    &**store,
                    run.name(),
                    &self.subject,
                    open,
                    phases,
                    &self.site.folder,
                );
            }
            let finished = self.write(evaluated, &book, ground, run, started, notes);
            let listed = match list {
                Some(Ok(thread)) => match thread.join() {
                    Ok(listed) => listed,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                Some(Err(listed)) => listed,
                None => Ok(()),
            };
            match listed {
                Err(unlisted) => finished.and(Err(unlisted.into())),
                Ok(()) => finished,
            }
        })
    }

    fn write(
        &self,
        evaluated: Evaluated,
        book: &Book,
        ground: &Ground<'_>,
        run: &Run,
        started: i64,
        mut notes: Vec<String>,
    ) -> Result<(StudySummary, Vec<PathBuf>), Error> {
        let Subject {
            study,
            loaded,
            data_set,
            delivered,
            ..
        } = self.subject;
        let Evaluated {
            open,
            mut phases,
            blank,
            kept,
            examples,
            extremes,
            ..
        } = evaluated;
        notes.extend(headwater_engine::places::take_damage(&**self.store));
        let forecast = phases.iter_mut().find_map(|phase| phase.forecast.take());
        let (mut failed, mut seen) = (Vec::new(), HashSet::new());
        for ended in phases.iter().flat_map(|phase| &phase.rounds) {
            notes.extend(ended.fetcher.take_notes());
            notes.extend(budget::told(
                ended.enactment.coordinator(),
                self.site.limits.memory,
                "--memory",
            ));
            // A task that several rounds have tried is told once.
            let found = &ended.failures;
            let found = failed_tasks(&ended.enactment, &ended.names, found, &|_| Vec::new());
            for (seen_failure, found) in ended.failures.iter().zip(found) {
                let recipe = ended.enactment.graph().recipe(seen_failure.task);
                if !ended.remembers || seen.insert(recipe) {
                    failed.push(found);
                }
            }
        }
        if let Some(store) = run.writable_store() {
            let _ = failures::note(&**store, run.name(), &failed);
        }
        let (mut files, said) =
            write::delivered(&loaded.registry, delivered, &phases, self.results)?;
        notes.extend(said);
        let facts = StudyFacts {
            run: run.name().to_owned(),
            started,
            seconds: run.began().elapsed().as_secs_f64(),
            running_seconds: book.running().as_secs_f64(),
            cores: self.division.workers,
            sharing: self.division.in_words(),
            stopped: false,
            tasks: book.facts(&**self.store)?,
            recomputed: book.recomputed,
            timeline: book.timeline(),
            forecast,
            failures: failed.iter().map(FailedTask::description).collect(),
            causes: by_cause(&failed),
            notes,
        };
        let items = items(&open, data_set, &ground.base);
        let mut summary = StudySummary {
            study: study.name().to_string(),
            workflow: loaded.workflow.name.to_string(),
            objective: study.resolved.objective.name.to_string(),
            method: words::in_words(&study.study.method, study.study.until.is_some()),
            seed: study.study.seed,
            inputs: inputs(study, &loaded.workflow, data_set, &ground.base),
            doubts: doubt::about_blank(&blank, &open.made, &items)
                .into_iter()
                .chain(kept)
                .collect(),
            items,
            phases: phases.iter().map(|phase| phase.summary.clone()).collect(),
            phases_planned: phase::planned(study),
            examples,
            extremes,
            facts,
        };
        // A wish to stop that came when everything was there has stopped nothing.
        summary.facts.stopped = run.is_stopping() && !summary.is_complete();
        let mut written = write::results(&summary, &phases, self.results)?;
        written.append(&mut files);
        if let Some(store) = run.writable_store() {
            write::remember(&summary, &**store, run.name())?;
        }
        Ok((summary, written))
    }
}

/// The study file, wherever somebody stands.
fn file_of(request: &StudyRunRequest, site: &Surroundings) -> PathBuf {
    request.study.absolute(&site.folder)
}

/// Refuses flags that contradict each other.
fn fits_together(request: &StudyRunRequest) -> Result<(), Error> {
    let wrong = |message: &str, hint: &str| Err(Error::usage(message, Some(hint.to_owned())));
    match (request.buckets, request.reuse) {
        (Some(_), StudyReuse::None | StudyReuse::Stage) => wrong(
            "buckets share tasks, and --reuse says that none is shared",
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

/// What a study is about.
#[derive(Clone, Copy)]
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
    run: &mut Run,
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
            run,
        };
        let mut close = |graph: &TaskGraph, blueprint: &Blueprint, varies| {
            closer.made(graph, blueprint, varies)
        };
        let close: Option<&mut Close<'_>> = Some(&mut close);
        open = open_for(study, loaded, data_set, baseline, delivered, close)?;
    }
    let site = Workplace {
        study,
        loaded,
        open: &open,
        baseline,
        ground,
        division,
        delivers: !delivered.is_empty(),
    };
    let (phases, unfit) = phases(&site, design, book, run)?;
    let blank = phases.first().map(|phase| phase.blank.clone());
    let blank = blank.unwrap_or_default();
    let kept = match phases.as_slice() {
        [screen, _] => doubt::about_kept(study, &screen.summary),
        _ => Vec::new(),
    };
    let is_over = (phases.iter())
        .flat_map(|phase| &phase.rounds)
        .any(|round| ground.is_over(round, run));
    let is_kept = !is_over && run.keeper().is_some_and(|keeper| keeper.is_durable());
    let shown = if is_over {
        Ok(Examples::default())
    } else {
        examples(&site, data_set, &phases, images, book, run)
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
    site: &Workplace<'_>,
    design: Design,
    book: &mut Book,
    run: &mut Run,
) -> Result<(Vec<EndedPhase>, Option<Error>), Error> {
    let first = phase::first(site.study, design);
    let mut ended = vec![site.run(&first, book, run)?];
    if ended[0]
        .rounds
        .iter()
        .any(|round| site.ground.is_over(round, run))
    {
        return Ok((ended, None));
    }
    let summary = &ended[0].summary;
    match phase::following(site.study, summary, summary.sets_planned) {
        Ok(None) => Ok((ended, None)),
        Ok(Some(next)) => match site.run(&next, book, run) {
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
    store: &dyn Store,
    run: &str,
    subject: &Subject<'_>,
    open: &Open,
    phases: &[EndedPhase],
    current: &Path,
) {
    let rounds: Vec<&EndedRound> = phases.iter().flat_map(|phase| &phase.rounds).collect();
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
        notes::Part::Whole(notes::WholeRound {
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
        .filter_map(|is_recalled| {
            if *is_recalled {
                known.next()
            } else {
                noted.next()
            }
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
    let others: Vec<&diagram::Census> = recalled.iter().map(|round| round.census()).collect();
    let workflow = &subject.loaded.workflow;
    let _ = diagram::note(store, run, workflow, &varied, &drawn, &others);
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
            index: if found.index.0.is_empty() {
                String::new()
            } else {
                found.index.to_string()
            },
            inputs: from
                .iter()
                .filter_map(|(input, index)| Some((input.to_string(), called(input, index)?)))
                .collect(),
        })
        .collect()
}
