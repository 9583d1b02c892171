//! Why a task ran, or what it reused: from records to reasons.
//!
//! Law: an explanation is read off the records; it opens no workflow file and computes nothing. What a task is
//! compared with was there before its run began its work: never a product of the same run, never a later one.
//!
//! | file | noun |
//! | --- | --- |
//! | `source` | what a port read, from text to a tree |
//! | `change` | [`Change`]: the differences between two records |
//! | `causes` | [`Cause`]: from a product upstream to what changed first |
//! | `runs` | [`RunDifference`]: two runs side by side |

mod causes;
mod change;
mod runs;
mod source;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_graph::{ProductRecord, Recipe, Records, StoreError};
use headwater_remember::{FoundRun, RunRecord, RunStatus, RunTask, Store, TaskState, VersionParts};

use crate::runs::find_run;
use crate::{Error, notes};
pub use causes::Cause;
use causes::{Causes, Memory};
use change::distance;
pub use change::{Change, Named};
pub use runs::{Group, RunDifference, diff_runs};
pub(crate) use source::Source;

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
}

/// Why a task stands as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It ran: it is not what was remembered.
    Changed {
        /// The remembered product that it was compared with.
        compared: Made,
        /// Whether that stood at the same address, in an earlier run of the workflow.
        same_address: bool,
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
    /// It was remembered, but its bytes were gone, and something that had to run needed them.
    Restored {
        /// How it was made before, where that is still known.
        made: Option<Made>,
    },
    /// It ran and failed.
    Failed {
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
    /// Its operation, where a record tells.
    pub operation: Option<Arc<str>>,
    /// Why.
    pub why: Why,
}

/// The tasks of a run; an error if it has left no list of them.
fn tasks_of(store: &Store, run: &RunRecord) -> Result<Vec<RunTask>, Error> {
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

/// The task that a person means: an address, or the beginning of a recipe.
fn find_task(
    run: &RunRecord,
    tasks: Vec<RunTask>,
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
    if let [only] = found.as_slice() {
        return Ok((*only).clone());
    }
    let message = if found.is_empty() {
        format!("run `{}` has no task `{text}`", run.id)
    } else {
        let some: Vec<&str> = found.iter().take(5).map(|task| &*task.address).collect();
        format!("`{text}` could be any of {}", some.join(", "))
    };
    let hint = match near(text, &tasks).as_slice() {
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
    let hint = match is_study {
        true => format!("in a study a task goes by the first set that asks for it; {hint}"),
        false => hint,
    };
    Err(Error::usage(message, hint))
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
    store: &'a Store,
    run: &'a str,
    addresses: HashMap<Recipe, &'a str>,
    names: RefCell<HashMap<String, HashMap<String, String>>>,
}

impl<'a> Remembered<'a> {
    fn new(store: &'a Store, run: &'a str, tasks: &'a [RunTask]) -> Remembered<'a> {
        // Of equal recipes the first address counts.
        let tasks = tasks.iter().rev();
        Remembered {
            store,
            run,
            addresses: tasks.map(|task| (task.recipe, &*task.address)).collect(),
            names: RefCell::default(),
        }
    }
}

impl Memory for Remembered<'_> {
    fn records(&self, recipes: &[Recipe]) -> Result<Vec<Option<ProductRecord>>, StoreError> {
        self.store.fetch(recipes)
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

    fn address(&self, recipe: &Recipe) -> Option<String> {
        self.addresses
            .get(recipe)
            .map(|address| (*address).to_owned())
    }
}

/// How a product came to be.
pub(crate) fn made(store: &Store, record: &ProductRecord) -> Result<Made, Error> {
    let tasks = store.run_tasks(&record.run)?;
    let task = tasks.into_iter().find(|task| task.recipe == record.recipe);
    Ok(Made {
        recipe: record.recipe,
        run: record.run.to_string(),
        task: task.map(|task| task.address),
        time: record.time,
        wall: record.wall,
    })
}

fn fetch(store: &Store, recipe: &Recipe) -> Result<Option<ProductRecord>, Error> {
    Ok(store.fetch(std::slice::from_ref(recipe))?.pop().flatten())
}

/// Says why a task of a run ran, or what it reused. `run` is an id, the beginning of one or `last`; `task` is an
/// address or the beginning of a recipe.
///
/// ```no_run
/// use headwater::StorePlace;
/// use headwater::explain::Why;
///
/// let store = headwater::open_store(&StorePlace::default(), ".".as_ref())?;
/// let explanation = headwater::explain(&store, "last", "segment.watershed[3-1]")?;
/// if let Why::Changed { .. } = explanation.why {
///     println!("something that it is made from is another thing now");
/// }
/// # Ok::<(), headwater::Error>(())
/// ```
pub fn explain(store: &Store, run: &str, task: &str) -> Result<Explanation, Error> {
    let run = find_run(store, run)?;
    let tasks = tasks_of(store, &run)?;
    let is_study = store
        .run_folder(&run.id)
        .join(crate::study::SUMMARY)
        .is_file();
    let task = find_task(&run, tasks.clone(), task, is_study)?;
    let record = fetch(store, &task.recipe)?;
    let impure = notes::impure(store, &run.id, &task.address);
    let question = Question {
        store,
        run: &run,
        tasks: &tasks,
        task: &task,
    };
    let why = match task.state {
        TaskState::Executed if impure.is_some() => Why::Impure,
        TaskState::Executed => question.executed(record.as_ref())?,
        TaskState::Reused => match &record {
            Some(record) => Why::Reused {
                made: made(store, record)?,
            },
            None => Why::NotNeeded,
        },
        TaskState::CutOff => question.cut_off(record.as_ref())?,
        TaskState::Restored => Why::Restored {
            made: question.made_before(record.as_ref())?,
        },
        TaskState::Failed => {
            let (description, look) = question.failure(&task.address);
            Why::Failed { description, look }
        }
        TaskState::Blocked => {
            let by = notes::blocked_by(store, &run.id, &task.address);
            let (description, look) = question.failure(by.as_deref().unwrap_or_default());
            Why::Blocked {
                by,
                description,
                look,
            }
        }
    };
    Ok(Explanation {
        operation: record
            .map(|record| record.operation)
            .or(impure.map(Into::into)),
        run: run.id,
        task,
        why,
    })
}

/// Where recipes stood, in any of several runs.
#[derive(Default)]
struct Addresses {
    runs: HashSet<String>,
    of: HashMap<Recipe, String>,
}

impl Addresses {
    fn add(&mut self, store: &Store, run: &str) -> Result<(), Error> {
        if self.runs.insert(run.to_owned()) {
            for task in store.run_tasks(run)? {
                self.of.entry(task.recipe).or_insert(task.address);
            }
        }
        Ok(())
    }
}

struct Question<'a> {
    store: &'a Store,
    run: &'a RunRecord,
    tasks: &'a [RunTask],
    task: &'a RunTask,
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
                Why::Restored { made: Some(made) }
            } else {
                Why::AtOnce { made }
            });
        }
        let before = self.before(record)?;
        let same_address = before.is_some();
        let nearest = match before {
            Some(before) => Some(before),
            None => {
                let candidates = self.store.products_before(record, CANDIDATES)?;
                candidates
                    .into_iter()
                    .min_by_key(|candidate| distance(candidate, record))
            }
        };
        let Some(nearest) = nearest else {
            return Ok(Why::First);
        };
        if nearest.recipe == record.recipe {
            return Ok(Why::Restored { made: None });
        }
        let (causes, incomplete) = self.causes(&[(nearest.recipe, record.recipe)])?;
        Ok(Why::Changed {
            compared: made(self.store, &nearest)?,
            same_address,
            causes,
            incomplete,
        })
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

    /// The product that stood at the same address in the latest earlier run that has one.
    fn before(&self, record: &ProductRecord) -> Result<Option<ProductRecord>, Error> {
        let earlier = self
            .store
            .tasks_before(&self.run.id, &self.task.address, EARLIER_RUNS)?;
        let recipes: Vec<Recipe> = earlier.iter().map(|(_, task)| task.recipe).collect();
        let found = self.store.fetch(&recipes)?;
        // An earlier run may have gone on while this one made its products.
        let suits = |found: &ProductRecord| {
            found.operation == record.operation && *found.run != *self.run.id
        };
        Ok(found.into_iter().flatten().find(suits))
    }

    fn causes(&self, pairs: &[(Recipe, Recipe)]) -> Result<(Vec<Cause>, bool), Error> {
        let memory = Remembered::new(self.store, &self.run.id, self.tasks);
        let mut causes = Causes::new(&memory);
        let mut numbers: Vec<usize> = Vec::new();
        for found in causes.of(pairs)? {
            let fresh: Vec<usize> = found
                .into_iter()
                .filter(|number| !numbers.contains(number))
                .collect();
            numbers.extend(fresh);
        }
        let named = numbers
            .into_iter()
            .map(|number| causes.cause(number).clone());
        Ok((named.collect(), causes.incomplete))
    }

    /// The record is that of the product that was taken. The task itself has none, so what it would have read is found
    /// by address: what now stands where the inputs of the product stood. What was cut off there is followed in turn.
    fn cut_off(&self, record: Option<&ProductRecord>) -> Result<Why, Error> {
        let Some(record) = record else {
            return Ok(Why::NoRecord);
        };
        let now: HashMap<&str, &RunTask> = self
            .tasks
            .iter()
            .map(|task| (&*task.address, task))
            .collect();
        let mut addresses = Addresses::default();
        let earlier = self
            .store
            .tasks_before(&self.run.id, &self.task.address, 3)?;
        for (run, _) in earlier {
            addresses.add(self.store, &run)?;
        }
        let mut pairs = Vec::new();
        let mut seen = HashSet::new();
        let mut pending = VecDeque::from([record.clone()]);
        while let Some(record) = pending.pop_front() {
            addresses.add(self.store, &record.run)?;
            let mut cut_off = Vec::new();
            for (_, source) in &record.inputs {
                Source::parse(source).for_each_product(&mut |old, _| {
                    let address = addresses.of.get(&old);
                    let Some(task) = address.and_then(|address| now.get(address.as_str())) else {
                        return;
                    };
                    if task.recipe == old || !seen.insert(task.recipe) {
                        return;
                    }
                    match task.state {
                        TaskState::CutOff => cut_off.push(task.recipe),
                        _ => pairs.push((old, task.recipe)),
                    }
                });
            }
            pending.extend(self.store.fetch(&cut_off)?.into_iter().flatten());
        }
        let (causes, incomplete) = self.causes(&pairs)?;
        Ok(Why::CutOff {
            made: made(self.store, record)?,
            causes,
            incomplete,
        })
    }

    fn made_before(&self, record: Option<&ProductRecord>) -> Result<Option<Made>, Error> {
        match record {
            Some(record) if *record.run != *self.run.id => made(self.store, record).map(Some),
            _ => Ok(None),
        }
    }

    /// What was said about a failed task, and where to look.
    fn failure(&self, address: &str) -> (Option<String>, Vec<PathBuf>) {
        // Sequences of calls have no folder of outputs.
        let all = match self.run.outputs.as_os_str().is_empty() {
            true => self.store.run_folder(&self.run.id).join(FAILURES),
            false => self.run.outputs.join(FAILURES),
        };
        let text = fs::read(&all).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut look: Vec<PathBuf> = vec![all, self.store.work_folder(&self.run.id)];
        look.retain(|path| path.exists());
        (description(&text, address), look)
    }
}

/// Where runs say what went wrong.
pub(crate) const FAILURES: &str = "failures.txt";

/// What `failures.txt` says about a task.
fn description(text: &str, address: &str) -> Option<String> {
    let start = format!("task `{address}`: ");
    let at = if text.starts_with(&start) {
        0
    } else {
        text.find(&format!("\n\n{start}"))? + 2
    };
    let rest = &text[at..];
    // What a program said is indented, also its empty lines.
    let end = rest.find("\n\ntask `").unwrap_or(rest.len());
    Some(rest[..end].trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(address: &str, number: u8) -> RunTask {
        RunTask {
            address: address.to_owned(),
            recipe: Recipe([number; 32]),
            state: TaskState::Executed,
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
        find_task(&run, tasks, text, false)
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
    fn a_wrong_one_gets_suggestions() {
        let none = |text: &str| format!("run `r` has no task `{text}`");
        let none_near = "`headwater runs show r --tasks` lists its tasks; helpers, such as reading or splitting an image, are not \
                         recorded";
        let expected = [
            (
                "raise.add",
                "did you mean one of `raise.add[0]`, `raise.add[1]`?",
            ),
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
    fn descriptions_of_failures() {
        let text =
            "task `a.b[0]`: exit code 1\n  it said:\n    x\n    \n    y\n\ntask `a.b[1]`: gone\n";
        let first = "task `a.b[0]`: exit code 1\n  it said:\n    x\n    \n    y";
        assert_eq!(description(text, "a.b[0]").as_deref(), Some(first));
        assert_eq!(
            description(text, "a.b[1]").as_deref(),
            Some("task `a.b[1]`: gone")
        );
        assert_eq!(description(text, "a.b"), None);
        assert_eq!(description("", "a.b"), None);
    }
}
