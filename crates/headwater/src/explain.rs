//! Why a task ran, or what it reused: from records to reasons.
//!
//! Law: an explanation is read off the records; it opens no workflow file and computes nothing. What a task is
//! compared with was there before its run began its work: never a product of the same run, never a later one. What a
//! task computes is what it computes itself; a product that it was found to be equal to is named as that and no more.
//!
//! | file | noun |
//! | --- | --- |
//! | `source` | what a port read, from text to a tree |
//! | `own` | `OwnRecords`: what a recipe computes, also where another product stands for it |
//! | `change` | [`Change`]: the differences between two records |
//! | `causes` | [`Cause`]: from a product upstream to what changed first |
//! | `stale` | [`Stale`]: products that do not fit what they were made from |
//! | `runs` | [`RunDifference`]: two runs side by side |

mod causes;
mod change;
mod own;
mod runs;
mod source;
mod stale;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use headwater_engine::notes::Lost;
use headwater_engine::runs::{find_run, runs_before};
use headwater_engine::{Error, failures, notes};
use headwater_graph::{
    FailedTask, FoundRun, Outcome, ProductRecord, Recipe, RunRecord, RunStatus, RunTask, Store,
    StoreError, VersionParts,
};

pub use causes::Cause;
use causes::{Causes, Found, Memory};
use change::distance;
pub use change::{Change, Named};
pub(crate) use own::OwnRecords;
pub use runs::{Group, RunDifference, diff_runs};
pub(crate) use source::Source;
pub use stale::Stale;

/// Earlier runs of a workflow that are searched for the same address.
const EARLIER_RUNS: usize = 50;
/// Products of the same operation that are compared to find the nearest.
const CANDIDATES: usize = 3000;

/// How a product came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its recipe.
    pub recipe: Recipe,
    /// The run that made it.
    pub run: String,
    /// The task of that run, where its list of tasks tells.
    pub task: Option<String>,
    /// When, in seconds since 1970.
    pub time: i64,
    /// How long it took, in nanoseconds.
    pub wall: u64,
    /// The processor time that it took, in nanoseconds; 0 where that was not noted.
    pub cpu: u64,
    /// The role of the database that gave it to the group, where the group has it.
    pub giver: Option<String>,
}

/// Why a task stands as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It ran: it is not what was remembered.
    Changed {
        /// The remembered product that it was compared with.
        compared: Made,
        /// The latest earlier run of the workflow that has something at this address; `None` where none has, and the
        /// nearest product of the operation was taken.
        since: Option<String>,
        /// What it reads, itself or upstream, that the run before did not read at all.
        never_read: Vec<Named>,
        /// What changed, the task's own changes first.
        causes: Vec<Cause>,
        /// Some causes may be missing.
        incomplete: bool,
    },
    /// It ran: nothing of its operation was remembered.
    First,
    /// It ran: its operation is not pure and always runs.
    Impure,
    /// It ran, and another run that was under way at the same time made the same product.
    AtOnce {
        /// That product.
        made: Made,
    },
    /// It was remembered.
    Reused {
        /// The product.
        made: Made,
    },
    /// Nothing that had to run needed it.
    NotNeeded,
    /// It was new, but all that it reads has the contents that it had: the product of an equal task was taken.
    CutOff {
        /// That product.
        made: Made,
        /// What made it new.
        causes: Vec<Cause>,
        /// Some causes may be missing.
        incomplete: bool,
    },
    /// It had been made before, but its bytes were not there, and they were needed: it ran again.
    Restored {
        /// Why they were not there, where that was noted.
        lost: Option<Lost>,
        /// How it was made before, where that is still known.
        made: Option<Made>,
        /// Why it ran in the first place, where it was this run that had made it before.
        because: Option<Box<Why>>,
    },
    /// It ran and failed.
    Failed {
        /// Why it ran, where that is known.
        because: Option<Box<Why>>,
        /// What was said about it.
        description: Option<String>,
        /// Where to look.
        look: Vec<PathBuf>,
    },
    /// Something that it needs failed.
    Blocked {
        /// The task that failed.
        by: Option<String>,
        /// What was said about that.
        description: Option<String>,
        /// Where to look.
        look: Vec<PathBuf>,
    },
    /// There is no record that could tell.
    NoRecord,
}

/// A task of a run, and why it stands as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The run.
    pub run: String,
    /// The task.
    pub task: RunTask,
    /// Another address of it, by which it was asked for.
    pub other_address: Option<String>,
    /// Its operation, where a record tells.
    pub operation: Option<Arc<str>>,
    /// Why.
    pub why: Why,
    /// What of it, or of what it was made from, was made from bytes that are not there any more: something upstream was
    /// made again and came out different.
    pub stale: Vec<Stale>,
}

/// The tasks of a run; an error if it has left no list of them.
fn tasks_of(store: &dyn Store, run: &RunRecord) -> Result<Vec<RunTask>, Error> {
    let tasks = store.run_tasks(&run.id)?;
    if !tasks.is_empty() || run.tasks == 0 {
        return Ok(tasks);
    }
    let (state, hint) = match run.status {
        RunStatus::Running => ("is still running", "ask again when it has ended"),
        _ => (
            "ended before it could write its list of tasks",
            "give its command again: what it finished is remembered",
        ),
    };
    Err(Error::usage(
        format!("run `{}` {state}", run.id),
        hint.to_owned(),
    ))
}

/// The task that a person means: an address, a part of one that says enough, or the beginning of a recipe.
fn find_task(
    run: &RunRecord,
    tasks: &[RunTask],
    text: &str,
    is_study: bool,
) -> Result<RunTask, Error> {
    if let Some(task) = tasks.iter().find(|task| task.address == text) {
        return Ok(task.clone());
    }
    let is_recipe = text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found: Vec<&RunTask> = tasks
        .iter()
        .filter(|task| is_recipe && task.recipe.hex().starts_with(&text.to_lowercase()))
        .collect();
    found.dedup_by_key(|task| task.recipe);
    if found.is_empty() {
        found = tasks
            .iter()
            .filter(|task| is_short_for(text, &task.address))
            .collect();
    }
    if let [only] = found.as_slice() {
        return Ok((*only).clone());
    }
    let message = if found.is_empty() {
        format!("run `{}` has no task `{text}`", run.id)
    } else {
        let some = found.iter().take(5).map(|task| &task.address);
        let some: Vec<String> = some.map(|address| format!("`{address}`")).collect();
        let more = if found.len() > 5 { ", …" } else { "" };
        format!("`{text}` could be any of {}{more}", some.join(", "))
    };
    if !found.is_empty() {
        let hint = "give the address of one task, or no task for all of the run";
        return Err(Error::usage(message, hint.to_owned()));
    }
    let hint = match near(text, tasks).as_slice() {
        [] => format!(
            "`headwater runs show {} --tasks` lists its tasks; helpers, such as reading or splitting an image, are not recorded",
            run.id
        ),
        [only] => format!("did you mean `{only}`?"),
        several => {
            let quoted: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            format!("did you mean one of {}?", quoted.join(", "))
        }
    };
    let hint = if is_study {
        format!("in a study a task has the name of the first set that asks for it; {hint}")
    } else {
        hint
    };
    Err(Error::usage(message, hint))
}

/// Whether a text says enough of an address: its stage, its stage and index, or its name without the index.
fn is_short_for(text: &str, address: &str) -> bool {
    let (name, index) = match address.split_once('[') {
        Some((name, _)) => (name, &address[name.len()..]),
        None => (address, ""),
    };
    let stage = name.split_once('.').map_or(name, |(stage, _)| stage);
    text == name
        || text
            .strip_prefix(stage)
            .is_some_and(|rest| rest.is_empty() || rest == index)
}

/// Addresses like this one: those that begin like it, else those that are spelt like it.
fn near<'a>(text: &str, tasks: &'a [RunTask]) -> Vec<&'a str> {
    let addresses = || tasks.iter().map(|task| task.address.as_str());
    let begin = |start: &str| -> Vec<&'a str> {
        if start.is_empty() {
            return Vec::new();
        }
        addresses()
            .filter(|address| address.starts_with(start))
            .take(3)
            .collect()
    };
    let whole = begin(text);
    if !whole.is_empty() {
        return whole;
    }
    let length = text.chars().count();
    let mut by_spelling: Vec<(usize, &str)> = addresses()
        .take(20_000)
        .filter(|address| address.chars().count().abs_diff(length) <= 3)
        .map(|address| (strsim::damerau_levenshtein(address, text), address))
        .filter(|(distance, _)| *distance <= 3)
        .collect();
    by_spelling.sort_by_key(|(distance, _)| *distance);
    if by_spelling.is_empty() {
        return begin(text.split('[').next().unwrap_or_default());
    }
    by_spelling
        .into_iter()
        .take(3)
        .map(|(_, address)| address)
        .collect()
}

/// A store as the search for causes sees it, from one run.
struct Remembered<'a> {
    store: &'a dyn Store,
    run: &'a str,
    own: OwnRecords<'a>,
    addresses: HashMap<Recipe, &'a str>,
    names: RefCell<HashMap<String, HashMap<String, String>>>,
}

impl<'a> Remembered<'a> {
    fn new(store: &'a dyn Store, run: &'a str, tasks: &'a [RunTask]) -> Remembered<'a> {
        // Of equal recipes the first address counts.
        let tasks = tasks.iter().rev();
        Remembered {
            store,
            run,
            own: OwnRecords::new(store, Some(run)),
            addresses: tasks.map(|task| (task.recipe, &*task.address)).collect(),
            names: RefCell::default(),
        }
    }
}

impl Memory for Remembered<'_> {
    fn records(&self, recipes: &[Recipe]) -> Result<Vec<Option<Found>>, StoreError> {
        self.own.of(recipes)
    }

    fn parts(&self, version: &str) -> Result<Option<VersionParts>, StoreError> {
        self.store.version_parts(version)
    }

    fn name(&self, run: &str, identity: &str) -> Option<String> {
        let mut names = self.names.borrow_mut();
        // The run that made the product knows best; another may know, too.
        [run, self.run].into_iter().find_map(|run| {
            let known = names
                .entry(run.to_owned())
                .or_insert_with(|| notes::externals(self.store, run));
            known.get(identity).cloned()
        })
    }

    fn was_read(&self, run: &str, identity: &str, name: Option<&str>) -> bool {
        let mut names = self.names.borrow_mut();
        let known = names
            .entry(run.to_owned())
            .or_insert_with(|| notes::externals(self.store, run));
        // Where nothing was noted, nobody knows.
        let has_name = |name: &str| known.values().any(|known| known == name);
        known.is_empty() || known.contains_key(identity) || name.is_some_and(has_name)
    }

    fn address(&self, recipe: &Recipe) -> Option<String> {
        self.addresses
            .get(recipe)
            .map(|address| (*address).to_owned())
    }
}

/// How a product came to be.
pub(crate) fn made(store: &dyn Store, record: &ProductRecord) -> Result<Made, Error> {
    let tasks = store.run_tasks(&record.run)?;
    let task = tasks.into_iter().find(|task| task.recipe == record.recipe);
    Ok(Made {
        recipe: record.recipe,
        run: record.run.to_string(),
        task: task.map(|task| task.address),
        time: record.time,
        wall: record.wall,
        cpu: record.cpu,
        giver: giver(store, &record.recipe, &record.run),
    })
}

/// The role that gave a product to the group, if there is one.
fn giver(store: &dyn Store, recipe: &Recipe, run: &str) -> Option<String> {
    store.behind()?.giver(recipe, run)
}

fn fetch(store: &dyn Store, recipe: &Recipe) -> Result<Option<ProductRecord>, Error> {
    Ok(store.fetch(std::slice::from_ref(recipe))?.pop().flatten())
}

/// Says why a task of a run ran, or what it reused. `run` is an id, the beginning of one or `last`; `task` is an
/// address or enough of one, the beginning of a recipe, or a file among the outputs of a run.
///
/// ```no_run
/// use headwater::StorePlace;
/// use headwater::explain::Why;
///
/// let store = headwater::open_store(&StorePlace::default(), ".".as_ref())?;
/// let explanation = headwater::explain(&*store, "last", "segment.watershed[3-1]")?;
/// if let Why::Changed { .. } = explanation.why {
///     println!("something that it is made from is another thing now");
/// }
/// # Ok::<(), headwater::Error>(())
/// ```
pub fn explain(store: &dyn Store, run: &str, task: &str) -> Result<Explanation, Error> {
    let run = find_run(store, run)?;
    let tasks = tasks_of(store, &run)?;
    let found = task_of(store, &run, &tasks, task)?;
    let explanation = explain_task(store, &run, &tasks, &found)?;
    Ok(Explanation {
        other_address: notes::shared(store, &run.id, task)
            .filter(|first| *first == found.address)
            .map(|_| task.to_owned()),
        ..explanation
    })
}

/// The task of a run that a person means, however it is called.
fn task_of(
    store: &dyn Store,
    run: &RunRecord,
    tasks: &[RunTask],
    text: &str,
) -> Result<RunTask, Error> {
    let is_study = store.has_attachment(&run.id, headwater_study::SUMMARY);
    let error = match find_task(run, tasks, text, is_study) {
        Ok(task) => return Ok(task),
        Err(error) => error,
    };
    // Equal tasks are one, which goes by the first of its addresses.
    let other = notes::shared(store, &run.id, text).or_else(|| maker(store, run, text));
    if let Some(task) = other.and_then(|other| tasks.iter().find(|task| task.address == other)) {
        return Ok(task.clone());
    }
    if let Some(operation) = notes::left(store, &run.id, text) {
        return Err(Error::usage(
            format!(
                "run `{}` did not reach `{text}`, of operation `{operation}`",
                run.id
            ),
            "give its command again: what it finished is remembered".to_owned(),
        ));
    }
    Err(error)
}

/// The task that a person means where no run is given: of the run whose output the text names as a file, else of the
/// latest one.
pub(crate) fn task_anywhere(store: &dyn Store, text: &str) -> Result<RunTask, Error> {
    let path = Path::new(text).canonicalize().ok();
    let holds = |run: &RunRecord| {
        let folder = run.outputs.canonicalize().ok();
        path.as_ref()
            .zip(folder)
            .is_some_and(|(path, folder)| path.starts_with(folder))
    };
    let run = if path.is_some() {
        store.runs(1000)?.into_iter().find(holds)
    } else {
        None
    };
    let run = match run {
        Some(run) => run,
        None => find_run(store, "last")?,
    };
    let tasks = tasks_of(store, &run)?;
    task_of(store, &run, &tasks, text)
}

/// The task that made an output: a file below the folder of outputs, or `output`, or `output[index]`.
fn maker(store: &dyn Store, run: &RunRecord, text: &str) -> Option<String> {
    let names = match Path::new(text).canonicalize() {
        Ok(path) => {
            let folder = run.outputs.canonicalize().ok()?;
            outputs_at(path.strip_prefix(folder).ok()?)
        }
        Err(_) => vec![text.to_owned()],
    };
    let makers = notes::makers(store, &run.id);
    let find = |name: &String| makers.iter().find(|(output, _)| output == name);
    if let Some((_, task)) = names.iter().find_map(find) {
        return Some(task.clone());
    }
    // An output of one item has an index nobody has to know.
    let mut one = makers
        .iter()
        .filter(|(output, _)| definition(output) == text);
    match (one.next(), one.next()) {
        (Some((_, task)), None) => Some(task.clone()),
        _ => None,
    }
}

/// The outputs that a file below the folder of outputs may belong to.
fn outputs_at(path: &Path) -> Vec<String> {
    let part = |part: std::path::Component<'_>| part.as_os_str().to_string_lossy().into_owned();
    let mut parts = path.components().map(part);
    let Some(first) = parts.next() else {
        return Vec::new();
    };
    let without = |name: &str| match name.rsplit_once('.') {
        Some((stem, _)) => stem.to_owned(),
        None => name.to_owned(),
    };
    let mut names = Vec::new();
    if let Some(second) = parts.next() {
        names.push(format!("{first}[{}]", without(&second)));
        names.push(format!("{first}[{second}]"));
    }
    names.extend([without(&first), first]);
    names
}

fn explain_task(
    store: &dyn Store,
    run: &RunRecord,
    tasks: &[RunTask],
    task: &RunTask,
) -> Result<Explanation, Error> {
    let record = fetch(store, &task.recipe)?;
    let impure = notes::impure(store, &run.id, &task.address);
    let question = Question {
        store,
        run,
        task,
        memory: Remembered::new(store, &run.id, tasks),
    };
    let why = match task.state {
        Outcome::Executed if impure.is_some() => Why::Impure,
        Outcome::Executed => question.executed(record.as_ref())?,
        Outcome::Reused => match &record {
            Some(record) => Why::Reused {
                made: made(store, record)?,
            },
            None => Why::NotNeeded,
        },
        Outcome::CutOff => question.cut_off(record.as_ref())?,
        Outcome::Restored => question.restored(record.as_ref())?,
        Outcome::Failed => {
            let (description, look) = question.failure(&task.address);
            let because = match (impure.is_some(), question.memory.own.one(&task.recipe)?) {
                (true, _) => Some(Why::Impure),
                (false, Some(Found { own: Some(own), .. })) => Some(question.changed(&own)?),
                (false, _) => None,
            };
            Why::Failed {
                because: because.map(Box::new),
                description,
                look,
            }
        }
        Outcome::Blocked => {
            let by = notes::blocked_by(store, &run.id, &task.address);
            let (description, look) = question.failure(by.as_deref().unwrap_or_default());
            Why::Blocked {
                by,
                description,
                look,
            }
        }
    };
    let stale = match &record {
        Some(_) => stale::stale(
            store,
            &question.memory.own,
            &[task.recipe],
            stale::Extent::Upstream,
            &|recipe| question.memory.address(recipe),
        )?,
        None => Vec::new(),
    };
    let operation = match (record, impure) {
        (Some(record), _) => Some(record.operation),
        (None, Some(impure)) => Some(impure.into()),
        (None, None) => {
            let found = question.memory.own.one(&task.recipe)?;
            found.and_then(|found| Some(found.own?.operation))
        }
    };
    Ok(Explanation {
        operation,
        other_address: None,
        stale,
        run: run.id.clone(),
        task: task.clone(),
        why,
    })
}

struct Question<'a> {
    store: &'a dyn Store,
    run: &'a RunRecord,
    task: &'a RunTask,
    memory: Remembered<'a>,
}

impl Question<'_> {
    fn executed(&self, record: Option<&ProductRecord>) -> Result<Why, Error> {
        let Some(record) = record else {
            return Ok(Why::NoRecord);
        };
        if *record.run != *self.run.id {
            // Its record is older than it: it was remembered all the while, or became so while it ran.
            let made = made(self.store, record)?;
            return Ok(if self.ended_before(&record.run)? {
                Why::Restored {
                    lost: None,
                    made: Some(made),
                    because: None,
                }
            } else {
                Why::AtOnce { made }
            });
        }
        self.changed(record)
    }

    /// Compares what a task computes with what stood in its place before, or with what is nearest.
    fn changed(&self, record: &ProductRecord) -> Result<Why, Error> {
        let before = self.before(record)?;
        let (since, nearest) = match before {
            Some((run, before)) => (Some(run), Some(before)),
            None => (None, self.nearest(record)?),
        };
        let Some(nearest) = nearest else {
            return Ok(Why::First);
        };
        if nearest.recipe == record.recipe {
            return Ok(Why::Restored {
                lost: None,
                made: None,
                because: None,
            });
        }
        let pair = (nearest.recipe, record.recipe);
        let (mut causes, mut incomplete) = self.causes(Causes::new(&self.memory), pair)?;
        if causes.is_empty() {
            // No contents differ, as far as is known; so it was the recipe.
            let causes_of_recipe = Causes::through_equals(&self.memory);
            (causes, incomplete) = self.causes(causes_of_recipe, pair)?;
        }
        let never_read = match &since {
            Some(_) => Vec::new(),
            None => self.never_read(&causes)?,
        };
        Ok(Why::Changed {
            compared: self.compared(nearest)?,
            since,
            never_read,
            causes,
            incomplete,
        })
    }

    /// How what a task is compared with came to be: the product that stands for it.
    fn compared(&self, nearest: ProductRecord) -> Result<Made, Error> {
        let product = fetch(self.store, &nearest.recipe)?;
        let made = made(self.store, product.as_ref().unwrap_or(&nearest))?;
        Ok(made)
    }

    /// What causes bring in that the run before this one did not read.
    fn never_read(&self, causes: &[Cause]) -> Result<Vec<Named>, Error> {
        let Some(before) = runs_before(self.store, self.run)?.into_iter().next() else {
            return Ok(Vec::new());
        };
        let known = notes::externals(self.store, &before.id);
        let new = causes.iter().filter_map(|cause| match &cause.change {
            Change::Input { new: Some(new), .. } => Some(new),
            _ => None,
        });
        Ok(new
            .filter(|new| !known.contains_key(&new.identity))
            .cloned()
            .collect())
    }

    /// The product of its operation that is most like a task whose address is new. Of equals it is one that a neighbour
    /// was in the latest earlier run of the workflow that has any.
    fn nearest(&self, record: &ProductRecord) -> Result<Option<ProductRecord>, Error> {
        let name = definition(&self.task.address);
        let suits = |other: &ProductRecord| {
            other.operation == record.operation && *other.run != *self.run.id
        };
        let mut candidates: Vec<ProductRecord> = Vec::new();
        for run in (runs_before(self.store, self.run)?.into_iter()).take(EARLIER_RUNS) {
            let tasks = self.store.run_tasks(&run.id)?;
            let neighbours = tasks
                .iter()
                .filter(|task| definition(&task.address) == name);
            let recipes: Vec<Recipe> = neighbours
                .take(CANDIDATES)
                .map(|task| task.recipe)
                .collect();
            let found = self.memory.own.of(&recipes)?.into_iter().flatten();
            candidates.extend(found.filter_map(|found| found.own).filter(suits));
            if !candidates.is_empty() {
                break;
            }
        }
        candidates.extend(self.store.products_before(record, CANDIDATES)?);
        let by_distance = |candidate: &ProductRecord| distance(candidate, record);
        Ok(candidates.into_iter().min_by_key(by_distance))
    }

    /// Whether a run had ended when this one began; one that nobody knows any more had.
    fn ended_before(&self, other: &str) -> Result<bool, Error> {
        Ok(match self.store.find_run(other)? {
            FoundRun::One(other) => match other.ended {
                Some(ended) => ended <= self.run.started,
                None => other.status != RunStatus::Running && other.started <= self.run.started,
            },
            FoundRun::None | FoundRun::Several(_) => true,
        })
    }

    /// What stood at the same address in the latest earlier run that has something there, and that run.
    fn before(&self, record: &ProductRecord) -> Result<Option<(String, ProductRecord)>, Error> {
        let earlier = self
            .store
            .tasks_before(&self.run.id, &self.task.address, EARLIER_RUNS)?;
        let recipes: Vec<Recipe> = earlier.iter().map(|(_, task)| task.recipe).collect();
        let found = self.memory.own.of(&recipes)?;
        // An earlier run may have gone on while this one made its products.
        let suits = |found: &ProductRecord| {
            found.operation == record.operation && *found.run != *self.run.id
        };
        let found = earlier
            .into_iter()
            .zip(found)
            .filter_map(|((run, _), found)| {
                let own = found?.own.filter(suits)?;
                Some((run, own))
            });
        Ok(found.into_iter().next())
    }

    fn causes(
        &self,
        mut causes: Causes<'_, Remembered<'_>>,
        pair: (Recipe, Recipe),
    ) -> Result<(Vec<Cause>, bool), Error> {
        let numbers = causes.of(&[pair])?.pop().unwrap_or_default();
        let named = numbers
            .into_iter()
            .map(|number| causes.cause(number).clone());
        Ok((named.collect(), causes.incomplete))
    }

    /// The record is that of the product that was taken. What made the task new is what its own recipe has that the one
    /// before it had not, or else the recipe of that product.
    fn cut_off(&self, record: Option<&ProductRecord>) -> Result<Why, Error> {
        let Some(record) = record else {
            return Ok(Why::NoRecord);
        };
        let found = self.memory.own.one(&self.task.recipe)?;
        let (causes, incomplete) = match found.and_then(|found| found.own) {
            None => (Vec::new(), false),
            Some(own) => {
                let before = self.before(&own)?.map(|(_, before)| before.recipe);
                let pair = (before.unwrap_or(record.recipe), own.recipe);
                self.causes(Causes::through_equals(&self.memory), pair)?
            }
        };
        Ok(Why::CutOff {
            made: made(self.store, record)?,
            causes,
            incomplete,
        })
    }

    fn restored(&self, record: Option<&ProductRecord>) -> Result<Why, Error> {
        let noted = notes::restored(self.store, &self.run.id, &self.task.recipe);
        let lost = noted.as_ref().map(|noted| noted.reason);
        let made = match (noted.and_then(|noted| noted.made), record) {
            (Some((run, time, wall)), _) => {
                let tasks = self.store.run_tasks(&run)?;
                let task = tasks
                    .into_iter()
                    .find(|task| task.recipe == self.task.recipe);
                Some(Made {
                    giver: giver(self.store, &self.task.recipe, &run),
                    recipe: self.task.recipe,
                    run: run.to_string(),
                    task: task.map(|task| task.address),
                    time,
                    wall,
                    cpu: 0,
                })
            }
            (None, Some(record)) if *record.run != *self.run.id => Some(made(self.store, record)?),
            (None, _) => None,
        };
        let because = match (lost, self.memory.own.one(&self.task.recipe)?) {
            (Some(Lost::NotKept), Some(Found { own: Some(own), .. })) => Some(self.changed(&own)?),
            _ => None,
        };
        Ok(Why::Restored {
            lost,
            made,
            because: because.map(Box::new),
        })
    }

    /// What was said about a failed task, and where to look.
    fn failure(&self, address: &str) -> (Option<String>, Vec<PathBuf>) {
        // Sequences of calls have no folder of outputs.
        let all = if self.run.outputs.as_os_str().is_empty() {
            (self.store).attachment_place(&self.run.id, failures::FAILURES)
        } else {
            self.run.outputs.join(failures::FAILURES)
        };
        let work = self.store.run_folders(&self.run.id).work;
        let mut look: Vec<PathBuf> = vec![all, work];
        look.retain(|path| path.exists());
        let noted = failures::noted(self.store, &self.run.id);
        let failed = noted.iter().find(|failed| failed.address == address);
        (failed.map(FailedTask::description), look)
    }
}

/// The stage and the name of a task, without its index.
fn definition(address: &str) -> &str {
    address.split_once('[').map_or(address, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(address: &str, number: u8) -> RunTask {
        RunTask {
            address: address.to_owned(),
            recipe: Recipe([number; 32]),
            state: Outcome::Executed,
            started: 0,
            wall: 0,
        }
    }

    fn ask(text: &str) -> Result<String, (String, String)> {
        let run = RunRecord {
            id: "r".to_owned(),
            workflow: String::new(),
            started: 0,
            status: RunStatus::Done,
            tasks: 4,
            ..RunRecord::default()
        };
        let tasks = vec![
            task("raise.add[0]", 0xab),
            task("raise.add[1]", 0xac),
            task("sum.sum", 0xad),
            task("copy.same", 0xad),
        ];
        find_task(&run, &tasks, text, false)
            .map(|task| task.address)
            .map_err(|error| (error.to_string(), error.hint().unwrap_or_default()))
    }

    #[test]
    fn a_task_by_address_or_recipe() {
        assert_eq!(ask("raise.add[1]"), Ok("raise.add[1]".to_owned()));
        assert_eq!(ask("abab"), Ok("raise.add[0]".to_owned()));
        assert_eq!(
            ask("ADADAD"),
            Ok("sum.sum".to_owned()),
            "one recipe, two addresses"
        );
    }

    #[test]
    fn a_part_of_an_address_that_says_enough() {
        assert_eq!(ask("raise[1]"), Ok("raise.add[1]".to_owned()));
        assert_eq!(ask("sum"), Ok("sum.sum".to_owned()));
        assert_eq!(ask("copy"), Ok("copy.same".to_owned()));
        for several in ["raise", "raise.add"] {
            let (message, _) = ask(several).unwrap_err();
            let expected = format!("`{several}` could be any of `raise.add[0]`, `raise.add[1]`");
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn a_wrong_one_gets_suggestions() {
        let none = |text: &str| format!("run `r` has no task `{text}`");
        let none_near = "`headwater runs show r --tasks` lists its tasks; helpers, such as reading or splitting an image, are not \
                         recorded";
        let expected = [
            (
                "raise.add[7]",
                "did you mean one of `raise.add[0]`, `raise.add[1]`?",
            ),
            ("sum.sun", "did you mean `sum.sum`?"),
            (
                "raise.add[12-34]",
                "did you mean one of `raise.add[0]`, `raise.add[1]`?",
            ),
            ("abc", none_near),
            ("", none_near),
        ];
        for (text, hint) in expected {
            assert_eq!(ask(text), Err((none(text), hint.to_owned())), "{text}");
        }
    }

    #[test]
    fn files_among_outputs() {
        let names = |path: &str| outputs_at(Path::new(path));
        assert_eq!(names("scaled/3.dat")[0], "scaled[3]");
        assert_eq!(names("scaled/3-1/0.dat")[1], "scaled[3-1]");
        assert!(names("sum.txt").contains(&"sum".to_owned()));
        assert!(names("report/report.txt").contains(&"report".to_owned()));
    }
}
