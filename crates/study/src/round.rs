//! One round of a study: a graph is run, and the objective is read off what it made.
//!
//! Law: the values are a function of the graph, whatever order tasks ended in; a failed task costs the evaluations that
//! need it, and of several failures behind one evaluation the one that comes first in the graph is told.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_enact::{Enactment, NothingRemembered, Options, Requested, Start, State};
use headwater_engine::deliver::ValueReader;
use headwater_engine::fetch::StoreFetcher;
use headwater_engine::ledger::Ledger;
use headwater_engine::listener::{Heard, Listener, Ran, SeenFailure};
use headwater_engine::lock::locked;
use headwater_engine::lost::{Found, find_wanted, recompute_lost_inputs};
use headwater_engine::stash::Stash;
use headwater_engine::trace::Trace;
use headwater_engine::{Error, Progress, Run};
use headwater_execute::{Execution, Finished, Observer};
use headwater_graph::progress::StudySnapshot;
use headwater_graph::{Failure, Outputs, Recipe, Registry, Source, Store, TaskId, Value};
use headwater_report::study::ForecastFacts;

use crate::assemble::Assembled;
use crate::live::LiveValues;
use crate::names::Names;

/// What all rounds of a study stand on.
pub(crate) struct Ground<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) store: &'a Arc<dyn Store>,
    /// The name of the run.
    pub(crate) name: &'a str,
    pub(crate) options: Options,
    pub(crate) progress: &'a Progress,
    /// The values of the phase that goes on.
    pub(crate) live: Mutex<Option<Arc<LiveValues>>>,
    /// Whether the bytes that the store may take are limited.
    pub(crate) limited_disk: bool,
    /// The folder of the study: what is told of failures names files as the study does.
    pub(crate) base: PathBuf,
    pub(crate) trace: Mutex<Trace>,
    /// Where tasks are noted as they end.
    pub(crate) ledger: Arc<Ledger>,
}

/// What came of a round.
pub(crate) struct EndedRound {
    pub(crate) enactment: Enactment,
    pub(crate) names: Names,
    /// By task, how many sets and items ask for it.
    pub(crate) asks: Vec<u32>,
    /// By task, the nanoseconds of processor time that making it took, where it was remembered.
    pub(crate) remembered_cpu: Vec<Option<u64>>,
    /// By operation, how many tasks had to run, as far as that was known beforehand.
    to_do: Vec<usize>,
    /// Whether products were looked up and kept.
    pub(crate) remembers: bool,
    /// Tasks that ran, failed ones included, in the order in which they ended.
    pub(crate) ran: Vec<Ran>,
    /// Tasks that failed, in the order of the graph.
    pub(crate) failures: Vec<SeenFailure>,
    /// What ended it early.
    pub(crate) trouble: Option<Error>,
    /// Values that were heard of.
    heard: HashMap<(TaskId, u16), Value>,
    /// Gives what was made.
    pub(crate) fetcher: StoreFetcher,
    /// The folder of the study.
    base: PathBuf,
}

/// An evaluation: the set, the item, and where its value comes from.
pub(crate) struct Cell {
    pub(crate) set: usize,
    pub(crate) item: usize,
    pub(crate) source: Source,
}

/// What was heard of evaluations.
struct HeardValues {
    values: HashMap<(TaskId, u16), Value>,
    by_recipe: HashMap<(Recipe, u16), f64>,
    /// Evaluations that have no value yet.
    pending: Vec<usize>,
    looked: Instant,
}

/// Hears of tasks as everybody does, and of evaluations besides.
struct RoundListener<'a> {
    tasks: Listener<'a>,
    ground: &'a Ground<'a>,
    cells: &'a [Cell],
    /// Evaluations by the task that makes their value.
    by_task: HashMap<TaskId, Vec<usize>>,
    heard: Mutex<HeardValues>,
}

/// How often it is looked whether evaluations turned out to be equal to others.
const LOOK: Duration = Duration::from_millis(300);

/// A value as a number.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
        _ => None,
    }
}

impl RoundListener<'_> {
    /// An objective has a value: that of all evaluations that share it.
    fn value(&self, task: TaskId, outputs: &Outputs, recipe: Recipe) {
        let Some(cells) = self.by_task.get(&task) else {
            return;
        };
        let mut heard = locked(&self.heard);
        for cell in cells.iter().map(|cell| &self.cells[*cell]) {
            let Source::Product { port, .. } = &cell.source else {
                continue;
            };
            let Some(value) = outputs.get(usize::from(*port)) else {
                continue;
            };
            if let Some(number) = number(value) {
                heard.by_recipe.insert((recipe, *port), number);
                self.ground.value(cell.set, cell.item, number);
            }
            heard.values.insert((task, *port), value.clone());
        }
    }

    /// Evaluations that turned out to be equal to others have their value. That is not looked for all the time, but
    /// once more at the end of the round.
    fn look(&self, enactment: &Enactment, at_end: bool) {
        let mut heard = locked(&self.heard);
        if heard.looked.elapsed() < LOOK && !at_end {
            return;
        }
        let mut pending = std::mem::take(&mut heard.pending);
        let mut failed = 0;
        pending.retain(|position| {
            let cell = &self.cells[*position];
            let Source::Product { task, port } = &cell.source else {
                return false;
            };
            match enactment.coordinator().state(*task) {
                State::Done => false,
                State::Failed | State::Blocked => {
                    failed += 1;
                    false
                }
                State::Known => {
                    let recipe = enactment.stored_as(*task);
                    if let Some(number) = heard.by_recipe.get(&(recipe, *port)) {
                        self.ground.value(cell.set, cell.item, *number);
                    }
                    false
                }
                _ => true,
            }
        });
        heard.pending = pending;
        heard.looked = Instant::now();
        if failed > 0 {
            (self.ground.progress).study(|study| study.failed += failed);
        }
    }
}

impl Observer for RoundListener<'_> {
    fn started(&self, enactment: &Enactment, start: &Start) {
        self.tasks.started(enactment, start);
    }

    fn compared(&self, enactment: &Enactment) {
        self.look(enactment, false);
        self.tasks.compared(enactment);
    }

    fn returned(&self, enactment: &Enactment, task: TaskId) {
        self.tasks.returned(enactment, task);
    }

    fn finished(&self, enactment: &Enactment, execution: &Execution, how: &Finished<'_>) {
        self.look(enactment, false);
        if let Finished::Success(outputs) = how {
            let recipe = enactment.graph().recipe(execution.task);
            self.value(execution.task, outputs, recipe);
        }
        self.tasks.finished(enactment, execution, how);
    }
}

impl Ground<'_> {
    /// A phase begins, of which this is said, and whose values go there.
    pub(crate) fn begin(&self, study: StudySnapshot, live: LiveValues) {
        let live = Arc::new(live);
        *locked(&self.live) = Some(Arc::clone(&live));
        self.progress.ask(live);
        self.progress.study(|known| *known = study);
    }

    /// An evaluation has a value.
    pub(crate) fn value(&self, set: usize, item: usize, value: f64) {
        if let Some(live) = &*locked(&self.live) {
            live.value(set, item, value, self.progress);
        }
    }

    /// Whether nothing more is to be started after a round.
    pub(crate) fn is_over(&self, round: &EndedRound, run: &Run) -> bool {
        let failed = self.options.fail_fast && !round.failures.is_empty();
        run.is_stopping() || round.trouble.is_some() || failed
    }

    /// Runs a graph. Where nothing is remembered, everything is made.
    pub(crate) fn run(
        &self,
        assembled: Assembled,
        mut names: Names,
        cells: &[Cell],
        run: &mut Run,
    ) -> Result<EndedRound, Error> {
        names.at(assembled.places, assembled.shared);
        let remembers = run.remembers();
        let options = Options {
            remembers,
            compares: remembers && self.options.compares,
            ..self.options.clone()
        };
        let mut enactment = Enactment::of_stages(assembled.graph, options, &assembled.rules);
        let mut by_task: HashMap<TaskId, Vec<usize>> = HashMap::new();
        for (position, cell) in cells.iter().enumerate() {
            if let Source::Product { task, .. } = &cell.source {
                by_task.entry(*task).or_default().push(position);
            }
        }
        let listener = RoundListener {
            tasks: Listener {
                progress: self.progress,
                naming: &names,
                stages: names.stages(),
                trace: &self.trace,
                ledger: &self.ledger,
                heard: Mutex::default(),
            },
            ground: self,
            cells,
            by_task,
            heard: Mutex::new(HeardValues {
                values: HashMap::new(),
                by_recipe: HashMap::new(),
                pending: (0..cells.len()).collect(),
                looked: Instant::now(),
            }),
        };
        let open = |error| Error::Open(vec![error]);
        let requested = assembled.requested;
        let (wanted, occurrences) = (&assembled.wanted, &assembled.occurrences);
        let mut remembered_cpu = Vec::new();
        let mut deliver = Vec::new();
        let mut kept = None;
        match run.keeper() {
            Some(keeper) => {
                // What an earlier round has made is known when it is durable.
                let _ = keeper.eager_fetcher().flush();
                enactment
                    .open_stages(wanted, requested, occurrences, keeper)
                    .map_err(open)?;
                remembered_cpu = keeper.take_processor_times();
                let (found, _) = find_wanted(&mut enactment, keeper)?;
                while self.limited_disk && recompute_lost_inputs(&mut enactment, keeper)? {}
                let fetcher = keeper.resting_fetcher();
                let known = self.tell_known(&enactment, cells, &fetcher, &found);
                locked(&listener.heard).values = known;
                kept = Some(fetcher);
            }
            None => {
                deliver = products(&requested);
                enactment
                    .open_stages(wanted, requested, occurrences, &mut NothingRemembered)
                    .map_err(open)?;
            }
        }
        let to_do = work_to_do(&enactment);
        self.progress.begin(&enactment);
        // Where nothing is to do, nothing can get lost by it.
        let is_idle = enactment.counts().planned == 0;
        let trouble = if is_idle || !remembers {
            run.round(&mut enactment, &listener, &deliver).err()
        } else {
            run.make(&mut enactment, &listener)?
        };
        let made = run.made(&deliver);
        let fetcher = kept.unwrap_or_else(|| {
            let recipe = |(task, made)| (enactment.graph().recipe(task), made);
            let stash = Stash {
                products: made.into_iter().map(recipe).collect(),
                ..Stash::default()
            };
            StoreFetcher::of_stash(Arc::clone(self.store), self.name, stash)
        });
        if let Some(keeper) = run.keeper() {
            // What was made can be read from now on: from memory where it is not durable yet.
            let _ = keeper.eager_fetcher().pass();
        }
        listener.look(&enactment, true);
        self.progress.update(&enactment);
        let Heard { mut ran, failures } = listener.tasks.into_heard();
        // What was tried again, or ended on demand, has not ended.
        ran.retain(|ran| ran.state.last().is_some());
        let heard = listener.heard.into_inner();
        let values = heard.unwrap_or_else(PoisonError::into_inner).values;
        Ok(EndedRound {
            enactment,
            names,
            asks: assembled.asks,
            remembered_cpu,
            to_do,
            remembers,
            ran,
            failures,
            trouble: trouble.map(Error::Pool),
            heard: values,
            fetcher,
            base: self.base.clone(),
        })
    }

    /// Tells the values that are remembered, and gives them. The records of most have been found.
    fn tell_known(
        &self,
        enactment: &Enactment,
        cells: &[Cell],
        fetcher: &StoreFetcher,
        found: &Found,
    ) -> HashMap<(TaskId, u16), Value> {
        let is_known = |cell: &&Cell| match &cell.source {
            Source::Product { task, .. } => enactment.coordinator().state(*task) == State::Known,
            _ => false,
        };
        let record = |source: &Source| match source {
            Source::Product { task, port } => {
                let at = found.binary_search_by_key(task, |(task, _)| *task).ok()?;
                Some((&found[at].1, *port))
            }
            _ => None,
        };
        let known: Vec<&Cell> = cells.iter().filter(is_known).collect();
        let elsewhere = known.iter().map(|cell| &cell.source);
        let elsewhere = elsewhere.filter(|source| record(source).is_none());
        let mut reader = ValueReader::new(fetcher);
        let mut others = reader.values(enactment, elsewhere).into_iter();
        let mut heard = HashMap::with_capacity(known.len());
        for cell in known {
            let value = match record(&cell.source) {
                Some((record, port)) => fetcher.output(record, port),
                None => others.next().flatten(),
            };
            if let (Some(value), Source::Product { task, port }) = (value, &cell.source) {
                if let Some(number) = number(&value) {
                    self.value(cell.set, cell.item, number);
                }
                heard.insert((*task, *port), value);
            }
        }
        heard
    }
}

/// By operation, how many tasks have to run.
fn work_to_do(enactment: &Enactment) -> Vec<usize> {
    let graph = enactment.graph();
    let mut to_do = vec![0; graph.operations().len()];
    for task in graph.ids() {
        let signature = &graph.operation_at(task).signature;
        let state = enactment.coordinator().state(task);
        if !signature.implicit && !state.is_settled() {
            to_do[graph.operation_index(task) as usize] += 1;
        }
    }
    to_do
}

/// The tasks that make what is asked for, each once.
pub(crate) fn products(requested: &[Requested]) -> Vec<TaskId> {
    let mut tasks: HashSet<TaskId> = HashSet::new();
    for requested in requested {
        requested.source.for_each_product(&mut |task, _| {
            tasks.insert(task);
        });
    }
    let mut tasks: Vec<TaskId> = tasks.into_iter().collect();
    tasks.sort_unstable();
    tasks
}

/// What became of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Evaluation {
    /// It has a value.
    Number(f64),
    /// It has none, and this is why.
    Failed(String),
    /// It was not come to.
    Left,
}

impl EndedRound {
    /// What became of each evaluation, in order.
    pub(crate) fn values(&self, cells: &[Cell]) -> Vec<Evaluation> {
        let first_failed = self.first_failed();
        let heard = |cell: &Cell| match &cell.source {
            Source::Product { task, port } => self.heard.get(&(*task, *port)),
            _ => None,
        };
        let is_there = |cell: &&Cell| {
            let mut is_there = true;
            cell.source.for_each_task(&mut |task| {
                let state = self.enactment.coordinator().state(task);
                is_there &= matches!(state, State::Done | State::Known);
            });
            is_there && heard(cell).is_none()
        };
        let fetched = cells.iter().filter(is_there).map(|cell| &cell.source);
        let mut reader = ValueReader::new(&self.fetcher);
        let mut fetched = reader.values(&self.enactment, fetched).into_iter();
        let mut value = |cell: &Cell| {
            let fetched = if is_there(&cell) {
                fetched.next().flatten()
            } else {
                None
            };
            let mut why = None;
            let (mut left, mut blocked) = (false, false);
            cell.source.for_each_task(&mut |task| {
                let failed = first_failed[task.index()];
                if failed != NOBODY && why.is_none_or(|known| failed < known) {
                    why = Some(failed);
                }
                let state = self.enactment.coordinator().state(task);
                left |= !matches!(state, State::Done | State::Known);
                blocked |= state == State::Blocked;
            });
            if let Some(failed) = why {
                return Evaluation::Failed(self.why(TaskId(failed)));
            }
            if blocked {
                return Evaluation::Failed("a task that comes before it failed".to_owned());
            }
            if left {
                return Evaluation::Left;
            }
            match heard(cell).cloned().or(fetched) {
                None => Evaluation::Left,
                Some(value) => match number(&value) {
                    Some(number) if number.is_finite() => Evaluation::Number(number),
                    Some(number) => Evaluation::Failed(format!("its value is {number}")),
                    None => Evaluation::Failed("it has no value".to_owned()),
                },
            }
        };
        cells.iter().map(&mut value).collect()
    }

    /// What could be foreseen when the first evaluation had a value: by then every operation of an instance had run.
    pub(crate) fn foreseen(&self, cells: &[Cell], workers: usize) -> Option<ForecastFacts> {
        let mut objectives: HashSet<TaskId> = HashSet::new();
        for cell in cells {
            cell.source.for_each_task(&mut |task| {
                objectives.insert(task);
            });
        }
        let end = |ran: &Ran| ran.started + ran.wall;
        let first = self.ran.iter().filter(|ran| objectives.contains(&ran.task));
        let first = first.map(end).min()?;
        let graph = self.enactment.graph();
        let mut seen = vec![(0.0, 0_usize); self.to_do.len()];
        for ran in self.ran.iter().filter(|ran| end(ran) <= first) {
            let (seconds, count) = &mut seen[graph.operation_index(ran.task) as usize];
            *seconds += ran.wall as f64 / 1e9;
            *count += 1;
        }
        let all: usize = seen.iter().map(|(_, count)| count).sum();
        let average = seen.iter().map(|(seconds, _)| seconds).sum::<f64>() / all as f64;
        let cost = |(to_do, (seconds, count)): (&usize, &(f64, usize))| {
            let each = if *count > 0 {
                seconds / *count as f64
            } else {
                average
            };
            *to_do as f64 * each
        };
        let work: f64 = self.to_do.iter().zip(&seen).map(cost).sum();
        Some(ForecastFacts {
            from: "the first evaluation".to_owned(),
            tasks: self.to_do.iter().sum(),
            work_seconds: work,
            seconds: work / workers.max(1) as f64,
            fact: (0, 0.0, 0.0),
        })
    }

    /// By task: the first failed task that keeps it from being there; [`NOBODY`] where none does.
    fn first_failed(&self) -> Vec<u32> {
        let graph = self.enactment.graph();
        let mut first = vec![NOBODY; graph.len()];
        for task in graph.ids() {
            first[task.index()] = match self.enactment.coordinator().state(task) {
                State::Failed => task.0,
                State::Blocked => {
                    let mut least = NOBODY;
                    graph.for_each_input_task(task, |input| {
                        least = least.min(first[input.index()]);
                    });
                    least
                }
                _ => NOBODY,
            };
        }
        first
    }

    fn why(&self, task: TaskId) -> String {
        let place = self.failures.binary_search_by_key(&task, |seen| seen.task);
        let address = self.names.address(&self.enactment, task);
        match place {
            Ok(place) => format!(
                "task `{address}`: {}",
                without_folders(&self.failures[place].failure, &self.base)
            ),
            Err(_) => format!("task `{address}` failed"),
        }
    }
}

/// What a failure says, with files named as the study or the task names them: where their folders are depends on the run
/// and on the machine.
fn without_folders(failure: &Failure, base: &Path) -> String {
    let within = |text: &str, folder: &Path| text.replace(&format!("{}/", folder.display()), "");
    // The folder of a task may lie below that of the study.
    let named = match &failure.folder {
        None => failure.message.clone(),
        Some(folder) => {
            within(&failure.message, folder).replace(&folder.display().to_string(), "its folder")
        }
    };
    within(&named, base)
}

const NOBODY: u32 = u32::MAX;
