//! Tasks that do nothing and do not depend on each other, all results in one place at the end.
//!
//! Law: what is timed is from the first task that is made to the last result that is there; engines have started and
//! have run a small fan before. Headwater's side runs in a process of its own, as every engine does.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use headwater::graph::{
    Context, NewTask, Operation, OperationError, Scalar, ScalarType, Signature, TaskGraph, TaskId,
    Value,
};
use headwater::text::grouped;
use headwater::{StorePlace, open_store, run_graph};
use headwater_bench::timed;

use crate::jobs::{self, LIMIT, Turn, Way};
use crate::peers::Peer;
use crate::table::{Column, Measure, Table};
use crate::{Bench, CORES, process};

/// The argument that makes this program Headwater's side.
pub(crate) const OWN: &str = "--own-fan";
/// Tasks of the fan that runs before the clock does, as in `common.py`.
const WARM: usize = 200;
/// A Python for each function is so slow that fewer functions have to do.
const FUNCTIONS: usize = 25;

const IN_PROCESS: &str = "in process, nothing kept";
const REMEMBERED: &str = "remembered";

const WAYS: [Way; 9] = [
    Way::new(Peer::Headwater, IN_PROCESS),
    Way::new(Peer::Headwater, REMEMBERED),
    Way::new(Peer::Dask, "processes"),
    Way::new(Peer::Dask, "threads"),
    Way::new(Peer::Parsl, "processes"),
    Way::new(Peer::Parsl, "threads"),
    Way::new(Peer::Ray, ""),
    Way::new(Peer::Hyperqueue, "programs"),
    Way::new(Peer::Hyperqueue, "functions"),
];

/// Measures the fan.
pub(crate) fn run(bench: &Bench) -> Result<Vec<Table>, Box<dyn Error>> {
    let tasks = bench.options.tasks;
    let count = |way: Way| match (way.peer, way.mode) {
        (Peer::Hyperqueue, "functions") => (tasks / FUNCTIONS).max(1),
        _ => tasks,
    };
    let turn = |way: Way, folder: &Path| match way.peer {
        Peer::Headwater => own(way, folder, tasks),
        _ => bench.scripted_fan(way, folder, count(way)),
    };
    let columns = |way: Way, turn: &Turn| {
        let seconds = turn.seconds.first().copied();
        let rate = seconds.map(|seconds| count(way) as f64 / seconds);
        vec![rate, turn.start]
    };
    let rows = jobs::measure(bench, "fan", &WAYS, turn, columns);
    Ok(vec![Table {
        job: "fan",
        title: format!(
            "Fan: {} tasks that do nothing, {CORES} cores, median of {}",
            grouped(tasks as u64),
            bench.options.repeat
        ),
        columns: vec![
            Column { heading: "tasks/s".to_owned(), measure: Measure::Rate },
            Column { heading: "start-up, s".to_owned(), measure: Measure::Aside },
        ],
        rows,
        notes: vec![
            "start-up, until a first task has come back, is not part of the rate".to_owned(),
            "headwater's tasks are functions in Rust on threads of the same process; \"remembered\" keeps every result in \
             a store on disk, so that the next run has it"
                .to_owned(),
            "dask, parsl and ray send Python functions to two workers in processes of their own, which could as well be \
             other machines; their threads are the same engine without that; none keeps results on disk"
                .to_owned(),
            format!(
                "every task of hyperqueue is a process: /bin/true as a program, or a new Python for a function, of which \
                 there are {FUNCTIONS} times fewer; compare it with the commands below rather than with this row"
            ),
            "snakemake and cwltool have no tasks without a command".to_owned(),
        ],
    }])
}

/// Headwater's side, from here.
fn own(way: Way, folder: &Path, tasks: usize) -> Result<Turn, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args([OWN, &tasks.to_string()]);
    if way.mode == REMEMBERED {
        command.arg(folder.join("store"));
    }
    let ran = process::run(&mut command, folder, LIMIT)?;
    let told = ran.stdout.trim();
    let seconds: f64 = told.parse().map_err(|_| format!("it answered `{told}`"))?;
    Ok(Turn {
        start: Some((ran.seconds - seconds).max(0.0)),
        seconds: vec![seconds],
    })
}

/// Is Headwater's side: prints the seconds.
pub(crate) fn child(words: &[String]) -> ExitCode {
    let measured = match words {
        [tasks] => tasks
            .parse()
            .map_err(Into::into)
            .and_then(|tasks| once(tasks, None)),
        [tasks, store] => {
            let store = Path::new(store);
            tasks
                .parse()
                .map_err(Into::into)
                .and_then(|tasks| once(tasks, Some(store)))
        }
        _ => Err(format!("usage: {OWN} TASKS [STORE]").into()),
    };
    match measured {
        Ok(seconds) => {
            println!("{seconds}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a small fan, and then the one that counts.
fn once(tasks: usize, store: Option<&Path>) -> Result<f64, Box<dyn Error>> {
    // Numbers that no task of the other fan has.
    fan(tasks..tasks + WARM, store)?;
    let (done, took) = timed(|| fan(0..tasks, store));
    done?;
    Ok(took.as_secs_f64())
}

/// A fan over these numbers; every task has to run and to give its number.
fn fan(numbers: std::ops::Range<usize>, store: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let store = match store {
        Some(folder) => {
            let url = Some(folder.to_string_lossy().into_owned());
            Some(open_store(
                &StorePlace {
                    url,
                    read_only: false,
                    ..StorePlace::default()
                },
                folder,
            )?)
        }
        None => None,
    };
    let mut graph = TaskGraph::new();
    graph.reserve(numbers.len());
    let operation = graph.operation(&Arc::new(nothing()));
    let mut wanted: Vec<TaskId> = Vec::with_capacity(numbers.len());
    for number in numbers.clone() {
        let new = NewTask {
            operation,
            parameters: &[Scalar::Int(number as i64)],
            inputs: &[],
            address: "",
        };
        wanted.push(graph.add(&new)?.0);
    }
    let run = run_graph(graph, &wanted, CORES, store.map(|store| (store, "fan")))?;
    let given = |task: TaskId| match run.output(task).map(Vec::as_slice) {
        Some([Value::Int(number)]) => usize::try_from(*number).ok(),
        _ => None,
    };
    if run.counts.executed != numbers.len() {
        return Err(format!("{} of {} tasks ran", run.counts.executed, numbers.len()).into());
    }
    if wanted.iter().map(|task| given(*task)).eq(numbers.map(Some)) {
        Ok(())
    } else {
        Err("the results of the fan are wrong".into())
    }
}

/// An operation that gives what it is given.
fn nothing() -> Operation {
    let signature = Signature::new("bench/nothing", "1")
        .output("number", headwater::graph::Type::Int)
        .parameter("number", ScalarType::Int, None);
    Operation::native(
        signature,
        |_: &[Value], parameters: &[Scalar], _: &mut Context| match parameters.first() {
            Some(Scalar::Int(number)) => Ok(vec![Value::Int(*number)]),
            _ => Err(OperationError::Failed("no number".to_owned())),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::once;

    #[test]
    fn headwaters_fan_gives_every_number_with_and_without_a_store() {
        let folder =
            std::env::temp_dir().join(format!("headwater-peers-fan-{}", std::process::id()));
        assert!(once(50, None).unwrap() > 0.0);
        assert!(once(50, Some(&folder)).unwrap() > 0.0);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
