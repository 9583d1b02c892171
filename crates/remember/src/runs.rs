//! What ran when, and how it ended.
//!
//! Law: a run is `running` exactly while the process that began it is there; one that has neither ended nor a process
//! is `interrupted`. That is found out by looking, never written down, so that a crash needs no tidying up.

use std::os::unix::ffi::OsStrExt;

use headwater_graph::{
    Attachments, FoundRun, RunRecord, RunStatus, RunTask, Runs, StoreError, Tally,
};
use rusqlite::{Connection, OptionalExtension, Params, Statement};

use crate::claims;
use crate::clock::now;
use crate::disk::cannot;
use crate::run_rows::{
    CIRCUMSTANCES, COLUMNS, add_circumstances, from_row, line, read_line, read_task,
};
use crate::store::FolderStore;

impl FolderStore {
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

impl Runs for FolderStore {
    fn begin_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        let database = self.writable()?;
        if !RunRecord::is_name(&run.id) {
            let message = format!("`{}` cannot be the name of a run", run.id);
            return Err(StoreError::Database(message));
        }
        self.check_places(&run.id)?;
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
                self.release_run(&run.id)?;
                Err(error)
            }
        }
    }

    fn end_run(
        &self,
        id: &str,
        status: RunStatus,
        counts: Tally,
        reason: &str,
    ) -> Result<(), StoreError> {
        let ended = now();
        let changed = self.writable()?.write(|transaction, _| {
            let changed = transaction.execute(
                "UPDATE runs SET ended = ?, status = ?, tasks = ?, executed = ?, reused = ?, failed = ? WHERE id = ?",
                (
                    ended,
                    status.name(),
                    counts.tasks as i64,
                    counts.executed as i64,
                    counts.reused as i64,
                    counts.failed as i64,
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

    fn runs(&self, limit: usize) -> Result<Vec<RunRecord>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.select_runs(
            &format!("SELECT {COLUMNS} FROM runs ORDER BY number DESC LIMIT ?"),
            [limit],
        )
    }

    fn find_run(&self, text: &str) -> Result<FoundRun, StoreError> {
        let runs = if text == "last" {
            self.runs(1)?
        } else {
            let question = format!(
                "SELECT {COLUMNS} FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number"
            );
            self.select_runs(&question, [text])?
        };
        Ok(FoundRun::among(text, runs))
    }

    fn put_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
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
        let _ = self.remove_attachment(run, ENDED_TASKS);
        if found { Ok(()) } else { self.without_row(run) }
    }

    fn note_run_tasks(&self, run: &str, tasks: &[RunTask]) -> Result<(), StoreError> {
        let lines: String = tasks.iter().map(line).collect();
        let noted = self.add_to_attachment(run, ENDED_TASKS, lines.as_bytes());
        noted.map_err(cannot("write", &self.attachment_place(run, ENDED_TASKS)))
    }

    fn run_tasks(&self, run: &str) -> Result<Vec<RunTask>, StoreError> {
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
            let noted = self.attachment(run, ENDED_TASKS).unwrap_or_default();
            // The last line may be half written, and a line that means nothing is none.
            let noted = String::from_utf8_lossy(&noted);
            let whole = noted.split_inclusive('\n');
            return Ok(whole.filter_map(read_line).collect());
        }
        Ok(tasks.into_iter().flatten().collect())
    }

    fn is_alive(&self, run: &str) -> bool {
        claims::is_alive(self.beneath(), run)
    }

    fn tasks_before(
        &self,
        run: &str,
        address: &str,
        runs: usize,
    ) -> Result<Vec<(String, RunTask)>, StoreError> {
        let Some(database) = self.database() else {
            return Ok(Vec::new());
        };
        let runs = i64::try_from(runs).unwrap_or(i64::MAX);
        database.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT task.address, task.recipe, task.state, task.started, task.wall, earlier.id
                 FROM (SELECT one.number, one.id FROM runs AS one, runs AS this
                       WHERE this.id = ?1 AND one.number < this.number AND one.workflow = this.workflow
                       ORDER BY one.number DESC LIMIT ?3) AS earlier
                 JOIN run_tasks AS task ON task.run = earlier.number
                 WHERE task.address = ?2 ORDER BY earlier.number DESC",
            )?;
            let found = statement.query_map((run, address, runs), |row| {
                Ok((row.get::<_, String>(5)?, read_task(row)?))
            })?;
            let whole = |(run, task): (String, Option<RunTask>)| task.map(|task| (run, task));
            Ok(found
                .collect::<rusqlite::Result<Vec<_>>>()?
                .into_iter()
                .filter_map(whole)
                .collect())
        })
    }
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
