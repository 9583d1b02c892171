//! What ran when, and how it ended.
//!
//! Law: a run is `running` exactly while the process that began it is there; one that has neither ended nor a process
//! is `interrupted`. That is found out by looking, never written down, so that a crash needs no tidying up.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use headwater_graph::text::{from_line, on_a_line};
use headwater_graph::{Recipe, StoreError};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row, Statement};

use crate::clock::now;
use crate::disk::cannot;
use crate::store::Store;

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunStatus {
    /// Its process is at it.
    #[default]
    Running,
    /// Everything that was wanted is there.
    Done,
    /// Some of its tasks failed.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// Its process ended without a word.
    Interrupted,
}

impl RunStatus {
    const ALL: [RunStatus; 5] = [
        RunStatus::Running,
        RunStatus::Done,
        RunStatus::Failed,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Done => "done",
            RunStatus::Failed => "failed",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Interrupted => "interrupted",
        }
    }
}

impl std::fmt::Display for RunStatus {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(self.name())
    }
}

/// How many tasks a run had, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCounts {
    /// All of them.
    pub tasks: u64,
    /// Those that ran.
    pub executed: u64,
    /// Those that were remembered, without those that were found to be equal to something that was there.
    pub reused: u64,
    /// Those that failed.
    pub failed: u64,
}

/// A run. By default it is beginning: nothing has become of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRecord {
    /// Its name, `YYYYMMDD-HHMMSS-xxxx`.
    pub id: String,
    /// The name of the workflow.
    pub workflow: String,
    /// The file of the workflow; empty where there is none.
    pub file: PathBuf,
    /// When it began, in seconds since 1970.
    pub started: i64,
    /// When it ended, in seconds since 1970.
    pub ended: Option<i64>,
    /// How it stands.
    pub status: RunStatus,
    /// How many tasks it has.
    pub tasks: u64,
    /// Those that ran.
    pub executed: u64,
    /// Those that were remembered, without those that were found to be equal to something that was there.
    pub reused: u64,
    /// Those that failed.
    pub failed: u64,
    /// Where its outputs are; empty where there are none.
    pub outputs: PathBuf,
    /// The command that began it, argument by argument.
    pub command: Vec<String>,
    /// The machine that it ran on; empty where that was not written down.
    pub host: String,
    /// Who ran it; empty where that was not written down.
    pub user: String,
    /// Why it ended before everything was done, in words; empty where it did not, or nothing more can be said than how
    /// it stands.
    pub reason: String,
}

/// What became of a task in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It ran.
    Executed,
    /// It was remembered.
    Reused,
    /// It ran and failed.
    Failed,
    /// Something that it needs failed.
    Blocked,
    /// It was new, but what it would have read was not: the product of an equal task was taken.
    CutOff,
    /// It was remembered, but its bytes were gone and needed: it ran again.
    Restored,
}

impl TaskState {
    /// All of them; the position is the number in the table.
    const ALL: [TaskState; 6] = [
        TaskState::Executed,
        TaskState::Reused,
        TaskState::Failed,
        TaskState::Blocked,
        TaskState::CutOff,
        TaskState::Restored,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TaskState::Executed => "executed",
            TaskState::Reused => "reused",
            TaskState::Failed => "failed",
            TaskState::Blocked => "blocked",
            TaskState::CutOff => "cut-off",
            TaskState::Restored => "restored",
        }
    }
}

impl std::fmt::Display for TaskState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(self.name())
    }
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTask {
    /// Its address, such as `segment.watershed[3-1]`.
    pub address: String,
    /// Its recipe.
    pub recipe: Recipe,
    /// What became of it.
    pub state: TaskState,
    /// When it began, in nanoseconds since the start of the run.
    pub started: u64,
    /// How long it took, in nanoseconds.
    pub wall: u64,
}

/// What a person meant by the name of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundRun {
    /// This one.
    One(Box<RunRecord>),
    /// There is none of that name.
    None,
    /// Several begin like that; these.
    Several(Vec<String>),
}

const COLUMNS: &str =
    "id, workflow, file, started, ended, status, tasks, executed, reused, failed, outputs, command";

impl Store {
    /// Begins a run: from now on it is listed, its process counts as alive and its staging folder is there.
    pub fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        let database = self.writable()?;
        if !is_name(&run.id) {
            let message = format!("`{}` cannot be the name of a run", run.id);
            return Err(StoreError::Database(message));
        }
        self.claim_run(&run.id)?;
        let command: String = run
            .command
            .iter()
            .flat_map(|argument| [argument, "\0"])
            .collect();
        let written = database.write(|transaction, _| {
            transaction.execute_batch(CIRCUMSTANCES)?;
            transaction.execute(
                &format!(
                    "INSERT INTO runs ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                ),
                (
                    &run.id,
                    &run.workflow,
                    run.file.as_os_str().as_bytes(),
                    run.started,
                    run.ended,
                    run.status.name(),
                    run.tasks.cast_signed(),
                    run.executed.cast_signed(),
                    run.reused.cast_signed(),
                    run.failed.cast_signed(),
                    run.outputs.as_os_str().as_bytes(),
                    &command,
                ),
            )?;
            let number = transaction.last_insert_rowid();
            transaction.execute(
                "INSERT INTO circumstances (run, host, user, reason) VALUES (?, ?, ?, ?)",
                (number, &run.host, &run.user, &run.reason),
            )
        });
        match written {
            Ok(_) => Ok(()),
            Err(error) => {
                self.remove_staging(&run.id)?;
                Err(error)
            }
        }
    }

    /// Ends a run, now, for a reason if there is more to say than how it stands. Its staging folder stays until [`Store::remove_staging`].
    pub fn end_run(
        &self,
        id: &str,
        status: RunStatus,
        counts: RunCounts,
        reason: &str,
    ) -> Result<(), StoreError> {
        let ended = now();
        let changed = self.writable()?.write(|transaction, _| {
            let changed = transaction.execute(
                "UPDATE runs SET ended = ?, status = ?, tasks = ?, executed = ?, reused = ?, failed = ? WHERE id = ?",
                (
                    ended,
                    status.name(),
                    counts.tasks.cast_signed(),
                    counts.executed.cast_signed(),
                    counts.reused.cast_signed(),
                    counts.failed.cast_signed(),
                    id,
                ),
            )?;
            // A store of an earlier version may have begun it.
            transaction.execute_batch(CIRCUMSTANCES)?;
            transaction.execute(
                "UPDATE circumstances SET reason = ? WHERE run = (SELECT number FROM runs WHERE id = ?)",
                (reason, id),
            )?;
            Ok(changed)
        })?;
        if changed == 1 {
            Ok(())
        } else {
            self.without_row(id)
        }
    }

    /// The latest runs, the last one first.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunRecord>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.select_runs(
            &format!("SELECT {COLUMNS} FROM runs ORDER BY number DESC LIMIT ?"),
            [limit],
        )
    }

    /// The run that a person means: `last`, a whole id, or the beginning of exactly one.
    pub fn find_run(&self, text: &str) -> Result<FoundRun, StoreError> {
        let mut runs = if text == "last" {
            self.runs(1)?
        } else {
            let question = format!(
                "SELECT {COLUMNS} FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number"
            );
            self.select_runs(&question, [text])?
        };
        if let Some(position) = runs.iter().position(|run| run.id == text) {
            runs = vec![runs.swap_remove(position)];
        }
        Ok(match runs.len() {
            0 => FoundRun::None,
            1 => runs
                .pop()
                .map_or(FoundRun::None, |run| FoundRun::One(Box::new(run))),
            _ => FoundRun::Several(runs.into_iter().map(|run| run.id).collect()),
        })
    }

    /// Adds tasks to a run that was begun; they are listed in the order in which they were added.
    pub fn put_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        let found = self.writable()?.note(|transaction| {
            let Some(number) = run_number(transaction, run)? else {
                return Ok(false);
            };
            let first: i64 = transaction
                .prepare_cached(
                    "SELECT coalesce(max(position) + 1, 0) FROM run_tasks WHERE run = ?",
                )?
                .query_row([number], |row| row.get(0))?;
            let (together, rest) = tasks.as_chunks::<TOGETHER>();
            let mut insert = transaction.prepare_cached(INSERT_TOGETHER)?;
            let mut position = first;
            for tasks in together {
                let mut place = 1;
                for task in tasks {
                    bind(&mut insert, &mut place, number, position, task)?;
                    position += 1;
                }
                insert.raw_execute()?;
            }
            let mut insert = transaction.prepare_cached(INSERT)?;
            for (position, task) in (position..).zip(rest) {
                bind(&mut insert, &mut 1, number, position, task)?;
                insert.raw_execute()?;
            }
            Ok(true)
        })?;
        // What was noted on the way is in the list.
        let _ = self.remove_run_file(run, ENDED_TASKS);
        if found { Ok(()) } else { self.without_row(run) }
    }

    /// Notes tasks of a run that have ended, for those who ask before it has ended, or after it was interrupted: then
    /// they are its tasks, in the order in which they ended. It costs little, and nothing is made durable.
    pub fn note_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        let lines: String = tasks.iter().map(line).collect();
        let noted = self.add_to_run_file(run, ENDED_TASKS, lines.as_bytes());
        noted.map_err(cannot("write", &self.run_folder(run).join(ENDED_TASKS)))
    }

    /// The tasks of a run; none where there is no such run.
    pub fn run_tasks(&self, run: &str) -> Result<Vec<RunTask>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        let tasks = database.read(|connection| {
            let Some(number) = run_number(connection, run)? else { return Ok(Vec::new()) };
            connection
                .prepare_cached(
                    "SELECT address, recipe, state, started, wall FROM run_tasks WHERE run = ? ORDER BY position",
                )?
                .query_map([number], read_task)?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        if tasks.iter().any(Option::is_none) {
            self.note_damage(format!("the list of tasks of run `{run}`"));
        }
        if tasks.is_empty() {
            let noted = self.run_file(run, ENDED_TASKS).unwrap_or_default();
            // The last line may be half written, and a line that means nothing is none.
            let noted = String::from_utf8_lossy(&noted);
            let whole = noted.split_inclusive('\n');
            return Ok(whole.filter_map(read_line).collect());
        }
        Ok(tasks.into_iter().flatten().collect())
    }

    fn select_runs(
        &self,
        question: &str,
        arguments: impl Params + Clone,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        let runs = database.read(|connection| {
            connection
                .prepare_cached(question)?
                .query_map(arguments.clone(), |row| {
                    Ok((row.get::<_, String>(0)?, from_row(row, 0)?))
                })?
                .map(|found| {
                    let (id, mut run) = found?;
                    if let Some(run) = &mut run {
                        add_circumstances(connection, run)?;
                    }
                    Ok((id, run))
                })
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let look = |(id, run): (String, Option<RunRecord>)| {
            let Some(mut run) = run else {
                self.note_damage(format!("the record of run `{id}`"));
                return None;
            };
            if run.status == RunStatus::Running && !self.is_alive(&run.id) {
                run.status = RunStatus::Interrupted;
            }
            Some(run)
        };
        Ok(runs.into_iter().filter_map(look).collect())
    }

    /// For a run whose row is not there: damage if this process has begun it, else a mistake of the caller.
    fn without_row(&self, id: &str) -> Result<(), StoreError> {
        if self.has_claimed(id) {
            self.note_damage(format!("the record of run `{id}`, which was lost"));
            Ok(())
        } else {
            Err(no_run(id))
        }
    }
}

/// Whether a text can be the name of a run: it becomes the name of folders, and must stay inside the store.
fn is_name(id: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
    !id.is_empty() && id.chars().all(is_plain)
}

fn no_run(id: &str) -> StoreError {
    StoreError::Database(format!("there is no run `{id}`"))
}

fn run_number(connection: &Connection, run: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT number FROM runs WHERE id = ?")?
        .query_row([run], |row| row.get(0))
        .optional()
}

/// The tasks of a run that has not ended, line by line.
const ENDED_TASKS: &str = "tasks";

/// A task as a line: state, start and duration, recipe, address.
fn line(task: &RunTask) -> String {
    let address = on_a_line(&task.address);
    let (state, started, wall) = (task.state.name(), task.started, task.wall);
    format!("{state}\t{started}\t{wall}\t{}\t{address}\n", task.recipe)
}

/// A task that [`line`] has written.
fn read_line(line: &str) -> Option<RunTask> {
    let mut parts = line.strip_suffix('\n')?.splitn(5, '\t');
    let mut part = || parts.next();
    let name = part()?;
    Some(RunTask {
        state: *TaskState::ALL.iter().find(|state| state.name() == name)?,
        started: part()?.parse().ok()?,
        wall: part()?.parse().ok()?,
        recipe: part()?.parse().ok()?,
        address: from_line(part()?),
    })
}

/// Reads a run, whose columns begin at an offset; `None` where it is damaged.
pub(crate) fn from_row(row: &Row<'_>, offset: usize) -> rusqlite::Result<Option<RunRecord>> {
    let path = |column: usize| -> rusqlite::Result<PathBuf> {
        Ok(OsStr::from_bytes(row.get_ref(offset + column)?.as_blob()?).into())
    };
    let count = |column: usize| row.get::<_, i64>(offset + column).map(i64::cast_unsigned);
    let name: String = row.get(offset + 5)?;
    let Some(status) = RunStatus::ALL
        .into_iter()
        .find(|status| status.name() == name)
    else {
        return Ok(None);
    };
    let id: String = row.get(offset)?;
    if !is_name(&id) {
        return Ok(None);
    }
    let command: String = row.get(offset + 11)?;
    Ok(Some(RunRecord {
        id,
        workflow: row.get(offset + 1)?,
        file: path(2)?,
        started: row.get(offset + 3)?,
        ended: row.get(offset + 4)?,
        status,
        tasks: count(6)?,
        executed: count(7)?,
        reused: count(8)?,
        failed: count(9)?,
        outputs: path(10)?,
        command: command.split_terminator('\0').map(str::to_owned).collect(),
        ..RunRecord::default()
    }))
}

/// Where and by whom a run was run, and why it ended. The table came later than the others, and is made when it is needed:
/// who does not know it passes over it, so that the format of the store is the same.
pub(crate) const CIRCUMSTANCES: &str = "
CREATE TABLE IF NOT EXISTS circumstances (
    run    INTEGER PRIMARY KEY,
    host   TEXT NOT NULL,
    user   TEXT NOT NULL,
    reason TEXT NOT NULL
)";

/// Takes in where and by whom a run was run, where that was written down.
fn add_circumstances(connection: &Connection, run: &mut RunRecord) -> rusqlite::Result<()> {
    let found = || -> rusqlite::Result<(String, String, String)> {
        connection
            .prepare_cached(
                "SELECT host, user, reason FROM circumstances
                 WHERE run = (SELECT number FROM runs WHERE id = ?)",
            )?
            .query_row([&run.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    };
    match found() {
        Ok(found) => (run.host, run.user, run.reason) = found,
        Err(rusqlite::Error::QueryReturnedNoRows) => {}
        // There is no such table in a store of an earlier version.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// How many tasks one statement lists: a list may have a million.
const TOGETHER: usize = 16;

/// The statement that lists one task, and the one that lists [`TOGETHER`].
const INSERT: &str = "INSERT INTO run_tasks VALUES (?, ?, ?, ?, ?, ?, ?)";
const INSERT_TOGETHER: &str = "
INSERT INTO run_tasks VALUES
    (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?)
";

/// Gives a task to a statement, from a place on.
fn bind(
    insert: &mut Statement<'_>,
    place: &mut usize,
    run: i64,
    position: i64,
    task: &RunTask,
) -> rusqlite::Result<()> {
    insert.raw_bind_parameter(*place, run)?;
    insert.raw_bind_parameter(*place + 1, position)?;
    insert.raw_bind_parameter(*place + 2, &task.address)?;
    insert.raw_bind_parameter(*place + 3, &task.recipe.0[..])?;
    insert.raw_bind_parameter(*place + 4, task.state as i64)?;
    insert.raw_bind_parameter(*place + 5, task.started.cast_signed())?;
    insert.raw_bind_parameter(*place + 6, task.wall.cast_signed())?;
    *place += 7;
    Ok(())
}

/// The row of a task in `run_tasks`.
pub(crate) fn task_row(run: i64, position: i64, task: &RunTask) -> impl Params + '_ {
    (
        run,
        position,
        &task.address,
        &task.recipe.0[..],
        task.state as i64,
        task.started.cast_signed(),
        task.wall.cast_signed(),
    )
}

/// Reads a task of a run; `None` where it is damaged.
pub(crate) fn read_task(row: &Row<'_>) -> rusqlite::Result<Option<RunTask>> {
    let recipe = <[u8; 32]>::try_from(row.get_ref(1)?.as_blob()?)
        .ok()
        .map(Recipe);
    let state = usize::try_from(row.get::<_, i64>(2)?)
        .ok()
        .and_then(|state| TaskState::ALL.get(state).copied());
    let (Some(recipe), Some(state)) = (recipe, state) else {
        return Ok(None);
    };
    Ok(Some(RunTask {
        address: row.get(0)?,
        recipe,
        state,
        started: row.get::<_, i64>(3)?.cast_unsigned(),
        wall: row.get::<_, i64>(4)?.cast_unsigned(),
    }))
}
