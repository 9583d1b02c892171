//! Runs and their tasks, and the rows that they are in.
//!
//! Law: a row that says what no run or task can be is damaged, and read as nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use headwater_graph::text::{from_line, on_a_line};
use headwater_graph::{Outcome, Recipe, RunRecord, RunStatus, RunTask};
use rusqlite::{Connection, ErrorCode, Params, Row};

/// The columns of a run.
pub(crate) const COLUMNS: &str =
    "id, workflow, file, started, ended, status, tasks, executed, reused, failed, outputs, command";

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
    if !RunRecord::is_name(&id) {
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
pub(crate) fn add_circumstances(
    connection: &Connection,
    run: &mut RunRecord,
) -> rusqlite::Result<()> {
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

/// A task as a line: state, start and duration, recipe, address.
pub(crate) fn line(task: &RunTask) -> String {
    let address = on_a_line(&task.address);
    let (state, started, wall) = (task.state.name(), task.started, task.wall);
    format!("{state}\t{started}\t{wall}\t{}\t{address}\n", task.recipe)
}

/// A task that [`line`] has written.
pub(crate) fn read_line(line: &str) -> Option<RunTask> {
    let mut parts = line.strip_suffix('\n')?.splitn(5, '\t');
    let mut part = || parts.next();
    let name = part()?;
    Some(RunTask {
        state: *Outcome::ALL.iter().find(|state| state.name() == name)?,
        started: part()?.parse().ok()?,
        wall: part()?.parse().ok()?,
        recipe: part()?.parse().ok()?,
        address: from_line(part()?),
    })
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
        .and_then(|state| Outcome::ALL.get(state).copied());
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
