//! How much memory the engine takes: by itself, and with a limit on what its tasks may take.

use std::process::Stdio;

use crate::examples::example;
use crate::place::{Place, delivered};

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

/// Runs `headwater`; what the engine takes at most, in MiB. It is asked while it runs: what the system says afterwards
/// covers the memory of the process that started it.
fn peak_of(place: &Place, arguments: &[&str]) -> i64 {
    let mut command = place.command(arguments);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("headwater can be started");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes =
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<i64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) / 1024);
        if let Some(ended) = child.try_wait().expect("it can be waited for") {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert!(ended.success());
    assert!(peak > 0, "nobody looked");
    println!("peak: {peak} MiB");
    peak
}

#[test]
fn a_run_of_6000_tasks_stays_below_200_megabytes() {
    let place = Place::with_flow(FLOW);
    let items: Vec<String> = (0..ITEMS).map(|item| item.to_string()).collect();
    place.write(
        "data.yaml",
        &format!("inputs: {{item: [{}]}}\n", items.join(", ")),
    );
    let peak = peak_of(
        &place,
        &["run", "flow.yaml", "--inputs", "data.yaml", "--json"],
    );
    assert!(peak < 200, "{peak} MiB");

    let table = place.read("outputs/last/outputs.csv");
    assert_eq!(table.lines().count(), 1 + ITEMS);
    assert_eq!(
        place.read(&format!("outputs/last/c/{}", ITEMS - 1)),
        format!("{}\n", ITEMS - 1)
    );
}

/// Four images of 2048 × 2048 pixels on eight workers, which would take half as much again as they may. The
/// accounts leave some 50 MiB to spare; what is asked here is the limit itself.
#[test]
fn images_on_many_workers_stay_within_a_limit_on_memory() {
    let (place, _) = example("nuclei");
    for seed in ["1", "2", "3", "4"] {
        let file = format!("tile-{seed}.png");
        let arguments = ["--size", "2048x2048", "--seed", seed, "-o", &file];
        let command = ["imaging", "synth"].iter().chain(&arguments);
        let command: Vec<&str> = command.copied().collect();
        place.headwater(&command).ended(0);
    }
    place.write("tiles.yaml", "inputs: {tile: \"tile-*.png\"}\n");
    let run = |more: &[&str]| {
        let arguments = ["run", "nuclei/nuclei.yaml", "--inputs", "tiles.yaml"].iter();
        let arguments = arguments.chain(&["--set", "Normalize=true", "-j", "8"]);
        let arguments: Vec<&str> = arguments.chain(more).copied().collect();
        peak_of(&place, &arguments)
    };
    let limited = run(&["--memory", "256MiB"]);
    let masks = delivered(&place.last());
    assert!(limited <= 256, "{limited} MiB");
    // A limit changes nothing of what comes out.
    std::fs::remove_dir_all(place.path(".headwater")).expect("a store");
    run(&[]);
    assert_eq!(delivered(&place.last()), masks);
}

/// A limit that nothing fits into is told, and the run comes to the same.
#[test]
fn a_limit_of_a_byte_is_told() {
    let (place, _) = example("nuclei");
    let arguments = ["run", "nuclei/nuclei.yaml", "--memory", "1"].iter();
    let arguments = arguments.chain(&["--inputs", "nuclei/inputs.yaml", "-j", "2"]);
    let arguments: Vec<&str> = arguments.copied().collect();
    place
        .headwater(&arguments)
        .ended(0)
        .says(&["with no other task at the same time, and may have used more than the memory of 1 B that --memory allows: about "]);
    let table = place.read("outputs/last/outputs.csv");
    assert!(table.lines().any(|line| line.contains(",566,")), "{table}");
}
