//! How much memory the engine itself takes.

use std::mem::MaybeUninit;
use std::process::Stdio;

use crate::place::Place;

const FLOW: &str = r#"
headwater: 1
workflow: wide
inputs: {item: int}
stages:
  one:
    tasks: [{op: one, in: {item: item}, out: {file: a}}]
  two:
    tasks: [{op: copy, in: {file: a}, out: {file: b}}]
  three:
    tasks: [{op: copy, in: {file: b}, out: {file: c}}]
outputs: {c: c}
operations:
  one:
    command: [echo, "{in.item}"]
    inputs: {item: int}
    stdout: made
    outputs: {file: {type: file, path: made}}
  copy:
    command: [cp, "{in.file}", "{out.file}"]
    inputs: {file: file}
    outputs: {file: {type: file, path: made}}
"#;

const ITEMS: usize = 2000;

#[test]
#[expect(
    clippy::zombie_processes,
    reason = "`wait4` waits for it and tells its peak"
)]
fn a_run_of_6000_tasks_stays_below_200_megabytes() {
    let place = Place::with_flow(FLOW);
    let items: Vec<String> = (0..ITEMS).map(|item| item.to_string()).collect();
    place.write(
        "data.yaml",
        &format!("inputs: {{item: [{}]}}\n", items.join(", ")),
    );
    let mut command = place.command(&["run", "flow.yaml", "--inputs", "data.yaml", "--json"]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("headwater can be started");
    let process = libc::pid_t::try_from(child.id()).expect("a process number");
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to live variables of the right types, and nobody else waits for this child.
    let waited = unsafe { libc::wait4(process, &raw mut status, 0, usage.as_mut_ptr()) };
    assert_eq!((waited, status), (process, 0));
    // SAFETY: all-zero bytes are a valid `rusage`, and the kernel has filled it in.
    let usage = unsafe { usage.assume_init() };
    // Of the engine or of anything it waited for, whichever is largest.
    let peak = usage.ru_maxrss / 1024;
    println!("peak: {peak} MiB");
    assert!(peak < 200, "{peak} MiB");

    let table = place.read("outputs/last/outputs.csv");
    assert_eq!(table.lines().count(), 1 + ITEMS);
    assert_eq!(
        place.read(&format!("outputs/last/c/{}", ITEMS - 1)),
        format!("{}\n", ITEMS - 1)
    );
}
