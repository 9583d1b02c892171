//! What the engine costs on top of the work: native tasks, commands, and the coordinator alone.

use std::ffi::CString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use headwater::graph::{
    CommandTemplate, Context, Digest, External, FileValue, Handle, Identity, Invocation, Kind,
    NewTask, Operation, OperationError, Outputs, Part, Scalar, ScalarType, Signature, Source,
    TaskGraph, TaskId, Text, Type, Value,
};
use headwater::{StorePlace, open_store, run_graph};
use headwater_bench::{Bar, Claims, median, resident, timed};
use headwater_enact::{Action, Capacity, Enactment, Ending, NothingRemembered, Options, Time};

const WORKERS: usize = 2;
const CHAIN: usize = 4;

/// How many commands are run that read a file.
const READING: usize = 2_000;

fn main() -> ExitCode {
    headwater::init();
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        // Memory is measured in a process of its own, which has not run anything before.
        Some("--memory-of") => {
            let tasks: usize = arguments
                .get(2)
                .and_then(|count| count.parse().ok())
                .unwrap_or(0);
            let before = resident().0;
            run_native(tasks, None);
            println!("{}", resident().1.saturating_sub(before));
            return ExitCode::SUCCESS;
        }
        Some("--native") => {
            let tasks: usize = arguments
                .get(2)
                .and_then(|count| count.parse().ok())
                .unwrap_or(0);
            println!("{}", run_native(tasks, None));
            return ExitCode::SUCCESS;
        }
        Some("--commands-with") => {
            let ballast: usize = arguments
                .get(2)
                .and_then(|bytes| bytes.parse().ok())
                .unwrap_or(0);
            let held = vec![1u8; ballast];
            let rate = command_rate(10_000, None);
            println!("{rate}");
            drop(held);
            return ExitCode::SUCCESS;
        }
        Some("--commands-reading") => {
            let bytes = arguments.get(2).and_then(|bytes| bytes.parse().ok());
            println!("{}", command_rate(READING, bytes));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let mut claims = Claims::new("overhead");
    coordinator(&mut claims);
    native(&mut claims);
    commands(&mut claims);
    claims.finish()
}

fn no_operation() -> Operation {
    let signature = Signature::new("bench/nothing", "1")
        .input("before", Type::Int)
        .output("after", Type::Int)
        .parameter("chain", ScalarType::Int, None);
    let mut signature = signature;
    signature.inputs[0].optional = true;
    Operation::native(
        signature,
        |inputs: &[Value], parameters: &[Scalar], _: &mut Context| {
            let before = match inputs.first() {
                Some(Value::Int(before)) => *before,
                _ => 0,
            };
            match parameters.first() {
                Some(Scalar::Int(chain)) => Ok(vec![Value::Int(before + chain)]),
                _ => Err(OperationError::Failed("no chain".to_owned())),
            }
        },
    )
}

/// A fan of chains of four tasks; returns the graph and the last task of each chain.
fn fan(tasks: usize) -> (TaskGraph, Vec<TaskId>) {
    let mut graph = TaskGraph::new();
    graph.reserve(tasks);
    let operation = graph.operation(&Arc::new(no_operation()));
    let mut wanted = Vec::with_capacity(tasks / CHAIN);
    for chain in 0..tasks / CHAIN {
        let mut before: Option<TaskId> = None;
        for _ in 0..CHAIN {
            let source = before.map(|task| (0, Source::Product { task, port: 0 }));
            let inputs: &[(u16, Source)] = source.as_slice();
            let new = NewTask {
                operation,
                // Not 0: adding that changes nothing, and the rest of the chain would be equal work.
                parameters: &[Scalar::Int(chain as i64 + 1)],
                inputs,
                address: "",
            };
            before = graph.add(&new).ok().map(|(task, _)| task);
        }
        wanted.extend(before);
    }
    (graph, wanted)
}

/// Builds and runs a fan; nanoseconds per task.
fn run_native(tasks: usize, store: Option<&Path>) -> f64 {
    let store = store.and_then(|folder| {
        let url = Some(folder.to_string_lossy().into_owned());
        open_store(
            &StorePlace {
                url,
                read_only: false,
                ..StorePlace::default()
            },
            folder,
        )
        .ok()
    });
    let ((), elapsed) = timed(|| {
        let (graph, wanted) = fan(tasks);
        let run = run_graph(graph, &wanted, WORKERS, store.map(|store| (store, "bench")));
        let executed = run.map_or(0, |run| run.counts.executed);
        assert_eq!(executed, tasks, "every task has to run");
    });
    elapsed.as_nanos() as f64 / tasks as f64
}

fn native(claims: &mut Claims) {
    // Medians of several, taken in turn, each in a process of its own: other programs on the machine
    // disturb both sizes alike, and both pay for fresh memory.
    let measured = |tasks: &str| own_output(&["--native", tasks]).unwrap_or(f64::INFINITY);
    let pairs: Vec<(f64, f64)> = (0..9)
        .map(|_| (measured("100000"), measured("1000000")))
        .collect();
    let small = median(pairs.iter().map(|pair| pair.0).collect());
    let large = median(pairs.iter().map(|pair| pair.1).collect());
    claims.claim(
        "1,000,000 native tasks, graph and hashing included",
        large / 1000.0,
        "µs per task",
        Bar::AtMost(3.0),
    );
    claims.claim(
        "1,000,000 tasks against 100,000",
        large * 10.0 / small,
        "times the time",
        Bar::AtMost(12.0),
    );
    let folder = scratch("native");
    let remembered = run_native(1_000_000, Some(&folder));
    claims.claim(
        "remembering a native task",
        (remembered - large) / 1000.0,
        "µs more per task",
        Bar::AtMost(15.0),
    );
    let _ = std::fs::remove_dir_all(&folder);
    let memory = own_output(&["--memory-of", "1000000"]).unwrap_or(f64::INFINITY) / 1e6;
    claims.claim(
        "memory of a native task",
        memory,
        "bytes",
        Bar::AtMost(1024.0),
    );
}

/// The coordinator without executor: starts and ends of tasks per second.
fn coordinator(claims: &mut Claims) {
    let tasks = 1_000_000;
    let (graph, wanted) = fan(tasks);
    let options = Options {
        capacity: Capacity::cores(64),
        ..Options::default()
    };
    let mut enactment = Enactment::of_graph(graph, options);
    let mut recall = NothingRemembered;
    if enactment.open_graph(&wanted, &mut recall).is_err() {
        return;
    }
    let outputs: Outputs = vec![Value::Null];
    let (events, elapsed) = timed(|| {
        let mut events = 0u64;
        let mut running = Vec::new();
        loop {
            match enactment.next(Time(events)) {
                Action::Start(start) => {
                    events += 1;
                    running.push(start.task);
                }
                Action::Finished => return events,
                _ => {
                    for task in running.drain(..) {
                        events += 1;
                        let outcome = Ending::Success {
                            memory: 8,
                            elapsed: Duration::from_micros(100),
                        };
                        if enactment
                            .finished(task, outcome, &outputs, Time(events), &mut recall)
                            .is_err()
                        {
                            return events;
                        }
                    }
                }
            }
        }
    });
    let rate = events as f64 / elapsed.as_secs_f64() / 1e6;
    claims.claim(
        "the coordinator alone",
        rate,
        "million events per second",
        Bar::AtLeast(1.0),
    );
}

fn scratch(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/bench")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let _ = std::fs::create_dir_all(&folder);
    folder
}

/// Runs this program again and reads the number that it prints.
fn own_output(arguments: &[&str]) -> Option<f64> {
    own_output_with(arguments, None)
}

/// The same, with inputs protected in a certain way.
fn own_output_with(arguments: &[&str], protection: Option<&str>) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .envs(protection.map(|word| ("HEADWATER_PROTECT", word)));
    let output = command.output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn true_operation(reads: bool) -> Operation {
    let literal = |text: &str| Text(vec![Part::Literal(text.into())]);
    let template = CommandTemplate {
        invocation: Invocation::Arguments(vec![literal("/bin/true")]),
        inputs: Default::default(),
        outputs: Default::default(),
        environment: Default::default(),
        threads: Default::default(),
        stdin: None,
        stdout: None,
        stderr: None,
        version: None,
        uses: Vec::new(),
        used_files: Vec::new(),
    };
    let mut signature =
        Signature::new("true", &template.version(None)).parameter("number", ScalarType::Int, None);
    if reads {
        signature = signature.input("file", Type::File);
    }
    Operation {
        signature,
        kind: Kind::Command(Arc::new(template)),
    }
}

/// Commands per second, with remembering; each is given the same file of that many bytes, if any.
fn command_rate(commands: usize, reads: Option<usize>) -> f64 {
    let folder = scratch(&format!("commands-{}", std::process::id()));
    let url = Some(folder.to_string_lossy().into_owned());
    let Ok(store) = open_store(
        &StorePlace {
            url,
            read_only: false,
            ..StorePlace::default()
        },
        &folder,
    ) else {
        return 0.0;
    };
    let mut graph = TaskGraph::new();
    let operation = graph.operation(&Arc::new(true_operation(reads.is_some())));
    let mut wanted = Vec::new();
    let path = folder.join("file");
    let mut inputs = Vec::new();
    if let Some(bytes) = reads {
        let bytes = vec![7u8; bytes];
        if std::fs::write(&path, &bytes).is_err() {
            return 0.0;
        }
        let file = FileValue {
            digest: Digest::of(&bytes),
            size: bytes.len() as u64,
            name: None,
            executable: false,
            handle: Handle::Path(path.as_path().into()),
        };
        let value = Value::File(Arc::new(file));
        let identity = Identity::of(&value);
        inputs.push((0, graph.external(External { identity, value })));
    }
    for number in 0..commands {
        let parameters = [Scalar::Int(number as i64)];
        let new = NewTask {
            operation,
            parameters: &parameters,
            inputs: &inputs,
            address: "",
        };
        wanted.extend(graph.add(&new).ok().map(|(task, _)| task));
    }
    let (executed, elapsed) = timed(|| {
        run_graph(graph, &wanted, WORKERS, Some((store, "bench")))
            .map_or(0, |run| run.counts.executed)
    });
    let _ = std::fs::remove_dir_all(&folder);
    executed as f64 / elapsed.as_secs_f64()
}

/// Bare `posix_spawn` and `waitpid` on as many threads; per second.
fn bare_rate(commands: usize, files: bool) -> f64 {
    let folder = scratch(&format!("bare-{}", std::process::id()));
    let ((), elapsed) = timed(|| {
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let folder = &folder;
                scope.spawn(move || {
                    for number in 0..commands / WORKERS {
                        let place = folder.join(format!("{worker}-{number}"));
                        if files {
                            let _ = std::fs::create_dir(&place);
                            let _ = std::fs::write(place.join("stdout"), "");
                            let _ = std::fs::write(place.join("stderr"), "");
                        }
                        spawn_true();
                        if files {
                            let _ = std::fs::remove_dir_all(&place);
                        }
                    }
                });
            }
        });
    });
    let _ = std::fs::remove_dir_all(&folder);
    commands as f64 / elapsed.as_secs_f64()
}

fn spawn_true() {
    let path = c"/bin/true";
    let arguments = [path.as_ptr().cast_mut(), std::ptr::null_mut()];
    // The same environment that the engine gives to programs: what the loader makes of it is not our doing.
    let pairs: Vec<CString> = headwater_execute::inherited_environment()
        .into_iter()
        .filter_map(|(name, value)| {
            CString::new(format!(
                "{}={}",
                name.to_string_lossy(),
                value.to_string_lossy()
            ))
            .ok()
        })
        .collect();
    let mut environment: Vec<*mut libc::c_char> =
        pairs.iter().map(|pair| pair.as_ptr().cast_mut()).collect();
    environment.push(std::ptr::null_mut());
    let mut process = 0;
    // SAFETY: the pointers are to strings and null-terminated arrays that live until the call returns, and
    // the process that is waited for is the one just started.
    unsafe {
        let started = libc::posix_spawn(
            &raw mut process,
            path.as_ptr(),
            std::ptr::null(),
            std::ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        );
        if started == 0 {
            libc::waitpid(process, std::ptr::null_mut(), 0);
        }
    }
}

fn commands(claims: &mut Claims) {
    // Alternating, and the best of each: other programs on the machine disturb both alike.
    let (mut bare, mut with_files, mut ours, mut large) = (0f64, 0f64, 0f64, 0f64);
    for _ in 0..3 {
        bare = bare.max(bare_rate(4_000, false));
        with_files = with_files.max(bare_rate(4_000, true));
        ours = ours.max(own_output(&["--commands-with", "0"]).unwrap_or(0.0));
        large = large.max(own_output(&["--commands-with", "2000000000"]).unwrap_or(0.0));
    }
    claims.note(&format!(
        "commands per second: bare {bare:.0}, bare with folder and files {with_files:.0}, ours {ours:.0}, ours with 2 GB held {large:.0}"
    ));
    for (bytes, size) in [("1024", "1 KiB"), ("2097152", "2 MiB")] {
        // The best of each; in microseconds.
        let rate = |word: Option<&str>| {
            let rates =
                (0..3).filter_map(|_| own_output_with(&["--commands-reading", bytes], word));
            1e6 / rates.fold(0f64, f64::max)
        };
        let (protected, compared) = (rate(None), rate(Some("check")));
        claims.note(&format!(
            "a command that reads a file of {size}, which it cannot change: {protected:.0} µs; where the file is only \
             compared afterwards: {compared:.0} µs"
        ));
    }
    claims.claim(
        "10,000 commands against a loop that makes the same folders and files",
        ours / with_files,
        "of its rate",
        Bar::AtLeast(0.85),
    );
    claims.claim(
        "10,000 commands against a bare spawn loop",
        ours / bare,
        "of its rate",
        Bar::AtLeast(0.60),
    );
    claims.claim(
        "the same while the parent holds 2 GB",
        large / bare,
        "of its rate",
        Bar::AtLeast(0.60),
    );
}
